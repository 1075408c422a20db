"""Write a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from dalembert.errors import DalembertError

__all__ = ["ViewError", "write_whole"]


class ViewError(DalembertError):
    """The page or picture cannot be made or written."""


def write_whole(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write ``data`` beside ``path`` and move it there in one step.

    Returns:
        The path as given. An older file there is replaced only when the new one is complete.

    Raises:
        ViewError: the folder is missing, the target is not a plain file, or the system refuses.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise ViewError(f"cannot write {path}: there is no folder {target.parent}")
    if target.exists() and not target.is_file():
        raise ViewError(f"cannot write {path}: it is not a plain file")
    part = target.parent / f".dalembert-{secrets.token_hex(8)}.part"
    try:
        with open(part, "xb") as file:
            file.write(data)
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ViewError(f"cannot write {path}: {error.strerror or error}") from error
    return path
