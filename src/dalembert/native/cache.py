"""Compiled object files kept on disk between runs.

A file is named by the SHA-256 of all that its machine code depends on, and holds a header, the SHA-256
of its name and content, and the object file. It is written under a temporary name and moved into place, so that
a reader, or another writer of the same key, never sees half of it. What does not verify is deleted and
built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from pathlib import Path

from dalembert.atomic import write_atomic
from dalembert.errors import DalembertError

__all__ = ["cache_directory", "read_object", "write_object"]

_HEADER = b"dalembert object 1\n"
_SUFFIX = ".dao"
_LARGEST = 1 << 30

# Whether this process has already looked at the size of the cache.
_pruned = [False]


def cache_directory() -> Path:
    """Directory of compiled kernels: ``DALEMBERT_CACHE_DIR``, or the platform's place for caches."""
    chosen = os.environ.get("DALEMBERT_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        return base / "dalembert" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "dalembert"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dalembert"


def _trusted(directory: Path) -> bool:
    """Machine code is run as it is found: only from a directory that no other user can write to."""
    if not hasattr(os, "getuid"):
        return True
    status = directory.stat()
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & stat.S_IWOTH


def _head(key: str, data: bytes) -> bytes:
    return _HEADER + hashlib.sha256(key.encode() + data).digest()


def read_object(key: str) -> bytes | None:
    """The object file stored under a key, or None if there is none that verifies."""
    try:
        path = cache_directory() / (key + _SUFFIX)
        if not path.exists() or not _trusted(path.parent):
            return None
        content = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    start = len(_HEADER) + 32
    data = content[start:]
    if content[:start] == _head(key, data):
        return data
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def write_object(key: str, data: bytes) -> bool:
    """Store an object file; False if the directory cannot be used, which is no error."""
    try:
        directory = cache_directory()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _trusted(directory):
            return False
        write_atomic(directory / (key + _SUFFIX), _head(key, data) + data)
    except (OSError, RuntimeError, DalembertError):
        return False
    _prune(directory)
    return True


def _prune(directory: Path) -> None:
    """Once per process: if the cache is larger than a gibibyte, drop the oldest half."""
    if _pruned[0]:
        return
    _pruned[0] = True
    with contextlib.suppress(OSError):
        files = [(path.stat().st_mtime, path.stat().st_size, path) for path in directory.glob("*" + _SUFFIX)]
        total = sum(size for _, size, _ in files)
        if total <= _LARGEST:
            return
        for _, size, path in sorted(files):
            path.unlink(missing_ok=True)
            total -= size
            if total <= _LARGEST // 2:
                return
