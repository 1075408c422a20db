"""Files that are written whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dalembert.errors import DalembertError

__all__ = ["STALE", "atomic_file", "check_suffix", "make_folder", "remove_parts", "write_atomic"]

STALE = 3600.0  # seconds after which a part that nobody finished was left behind by a process that was killed

# Endings that promise a format.
FORMATS = {
    ".avi", ".csv", ".gif", ".h5", ".htm", ".html", ".jpeg", ".jpg", ".json", ".mat", ".mp4", ".nc", ".npy", ".npz",
    ".pdf", ".pickle", ".pkl", ".png", ".svg", ".tex", ".txt", ".webm", ".xls", ".xlsx", ".xml", ".yaml", ".yml",
}  # fmt: skip


def check_suffix(
    path: str | os.PathLike[str], what: str, *known: str, error: type[DalembertError] = DalembertError
) -> str:
    """The ending of a file's name, in small letters; refused if it promises a format that is not written.

    Args:
        what: that is written, in words.
        known: endings that are right, the usual one first.
    """
    try:
        name = os.fspath(path)
    except TypeError as reason:
        raise error(f"cannot write {path}: {reason}") from None
    stem, suffix = os.path.splitext(name if isinstance(name, str) else "")
    if suffix.lower() in FORMATS.difference(known):
        raise error(f"cannot write {name}: {what}, not {suffix[1:]}.  Fix: {os.path.basename(stem) + known[0]!r}")
    return suffix.lower()


@contextmanager
def atomic_file(
    path: str | os.PathLike[str], error: type[DalembertError] = DalembertError, *, sync: bool = False
) -> Generator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends.

    An older file is replaced only when the new one is complete; if the block fails, nothing is left behind.

    Args:
        error: what to raise.
        sync: wait until the content is on the disk.

    Raises:
        DalembertError: the folder is missing, the target is not a plain file, or the system refuses.
    """
    try:
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise error(f"cannot write {path}: there is no folder {target.parent}")
        if target.exists() and not target.is_file():
            raise error(f"cannot write {path}: it is not a plain file")
    except (OSError, TypeError, ValueError) as reason:  # no name that a file can have
        raise error(f"cannot write {path}: {getattr(reason, 'strerror', None) or reason}") from None
    part = target.parent / f"{_prefix(target)}{secrets.token_hex(8)}.part"
    try:
        yield part
        if sync:
            with open(part, "rb") as file:
                os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as reason:
        raise error(f"cannot write {path}: {reason.strerror or reason}") from None
    finally:
        part.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """A folder with all those above it, if there is none yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as reason:
        raise DalembertError(f"cannot make the folder {path}: {getattr(reason, 'strerror', None) or reason}") from None


def _prefix(target: Path) -> str:
    return f".{target.name[:80]}."


def remove_parts(path: str | os.PathLike[str], age: float = 0.0) -> None:
    """Remove what killed processes left of this file.

    Args:
        age: seconds; younger parts may still be written by somebody.
    """
    target = Path(os.path.realpath(path))
    for part in target.parent.glob(f"{glob.escape(_prefix(target))}{'[0-9a-f]' * 16}.part"):
        try:
            if time.time() - part.stat().st_mtime >= age:
                part.unlink(missing_ok=True)
        except OSError:
            continue  # somebody else's, or gone by now


def write_atomic(path: str | os.PathLike[str], data: str | bytes, error: type[DalembertError] = DalembertError) -> Path:
    """Write text (as UTF-8) or bytes; returns the path."""
    with atomic_file(path, error) as part, open(part, "xb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return Path(path)
