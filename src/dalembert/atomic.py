"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dalembert.errors import DalembertError

__all__ = ["atomic_file", "write_atomic"]


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
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise error(f"cannot write {path}: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise error(f"cannot write {path}: it is not a plain file")
    part = target.parent / f".dalembert-{secrets.token_hex(8)}.part"
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


def write_atomic(path: str | os.PathLike[str], data: str | bytes, error: type[DalembertError] = DalembertError) -> Path:
    """Write text (as UTF-8) or bytes; returns the path."""
    with atomic_file(path, error) as part, open(part, "xb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return Path(path)
