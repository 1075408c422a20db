"""The file of an FMU: description, source, and shared libraries for the platforms that a compiler here can serve."""

from __future__ import annotations

import importlib.util
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dalembert.errors import CompileError, DalembertError, unknown

__all__ = ["PLATFORMS", "Platform", "compile_for", "platforms_asked", "this_platform", "zip_fmu"]

_OPTIONS = ("-std=c99", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-shared", "-s", "-g0")
_PATIENCE = 600.0  # seconds for one platform


@dataclass(frozen=True)
class Platform:
    """A platform: its folder in FMI 3 and in FMI 2 (None if that has no name for it), the suffix of shared libraries,
    and the name by which ``zig cc`` knows it."""

    folder: str
    old_folder: str | None
    suffix: str
    target: str


PLATFORMS = {
    "linux-x86-64": Platform("x86_64-linux", "linux64", "so", "x86_64-linux-gnu.2.17"),
    "linux-arm64": Platform("aarch64-linux", None, "so", "aarch64-linux-gnu.2.17"),
    "windows-x86-64": Platform("x86_64-windows", "win64", "dll", "x86_64-windows-gnu"),
    "macos-x86-64": Platform("x86_64-darwin", "darwin64", "dylib", "x86_64-macos"),
    "macos-arm64": Platform("aarch64-darwin", None, "dylib", "aarch64-macos"),
}


def this_platform() -> str | None:
    """The name of this platform; None if it is none of those."""
    system = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}.get(platform.system())
    machine = {"x86_64": "x86-64", "amd64": "x86-64", "arm64": "arm64", "aarch64": "arm64"}.get(
        platform.machine().lower()
    )
    name = f"{system}-{machine}"
    return name if name in PLATFORMS else None


def _zig() -> list[str] | None:
    found = importlib.util.find_spec("ziglang") is not None
    if found:
        return [sys.executable, "-m", "ziglang", "cc"]
    return [zig, "cc"] if (zig := shutil.which("zig")) else None


def _compiler() -> list[str] | None:
    """The machine's own compiler, as ``CC`` names it, or by its usual names."""
    given = os.environ.get("CC")
    names = [given] if given else ["cc", "gcc", "clang"]
    return next(([path] for name in names if (path := shutil.which(name)) is not None), None)


def _command(name: str) -> list[str] | None:
    """What compiles for a platform; None if nothing here does."""
    own = _compiler() if name == this_platform() and not name.startswith("windows") else None
    if own is not None:
        return own
    zig = _zig()
    return [*zig, "-target", PLATFORMS[name].target] if zig is not None else None


def platforms_asked(platforms: str | Sequence[str] | None, version: int) -> list[str]:
    """Names of the platforms; None: this one, if something here compiles for it; ``all``: all that FMI names."""
    known = [name for name, one in PLATFORMS.items() if version == 3 or one.old_folder is not None]
    if platforms is None:
        here = this_platform()
        return [here] if here in known and _command(here) is not None else []
    asked = known if platforms == "all" else [platforms] if isinstance(platforms, str) else list(platforms)
    for name in asked:
        if name not in PLATFORMS:
            raise unknown("platforms: unknown", name, [*PLATFORMS, "all"])
        if name not in known:
            raise DalembertError(f"platforms: FMI 2 has no name for {name!r}.  Fix: version=3")
        if _command(name) is None:
            raise DalembertError(f"platforms: nothing here compiles for {name!r}.  Fix: pip install 'dalembert[fmu]', "
                                 "or platforms=[] for an FMU with its source only")  # fmt: skip
    return list(dict.fromkeys(asked))


def compile_for(name: str, source: str, identifier: str) -> bytes:
    """A shared library for a platform."""
    command, suffix = _command(name), PLATFORMS[name].suffix
    assert command is not None
    with tempfile.TemporaryDirectory() as folder:
        text, made = Path(folder) / f"{identifier}.c", Path(folder) / f"{identifier}.{suffix}"
        text.write_text(source, encoding="utf-8")
        options = [*_OPTIONS, *([] if suffix == "dll" else ["-fPIC"]), *(["-lm"] if suffix == "so" else [])]
        try:
            done = subprocess.run([*command, str(text), "-o", str(made), *options], capture_output=True, text=True,
                                  check=False, timeout=_PATIENCE)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(f"the FMU could not be compiled for {name}: {error}") from error
        if done.returncode != 0 or not made.exists():
            raise CompileError(f"the FMU could not be compiled for {name} by {command[0]}:\n{done.stderr[-1000:]}")
        return made.read_bytes()


def zip_fmu(files: dict[str, bytes]) -> bytes:
    """The archive; the same files give the same bytes."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    return memory.getvalue()
