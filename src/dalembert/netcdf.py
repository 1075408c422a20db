"""NetCDF files with a seal: what was changed or damaged since it was written is noticed.

The seal is a line behind the data, with the hash of everything before it; other programs read the file as ever. A file
is made in memory and written whole or not at all, so a full disk is an error and no half-written file.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dalembert.atomic import STALE, atomic_file, check_suffix, remove_parts
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["read_sealed", "write_sealed"]

_MARK = b"\ndalembert-sha256 "
_LENGTH = len(_MARK) + 64


class Writable(Protocol):
    """What writes itself as NetCDF, as an ``xarray.Dataset`` does."""

    def to_netcdf(self, path: Any, /, *, engine: Any = None) -> Any: ...


class _Image(io.BytesIO):
    """A file in memory; some versions of xarray close what they were given."""

    def close(self) -> None:
        """Stay open: the content is still wanted."""


def write_sealed(path: str | Path, data: Writable, *, sync: bool = False) -> Path:
    """Write a data set with its seal; see ``atomic_file`` for ``sync`` and errors."""
    check_suffix(path, "results are written as NetCDF", ".nc", ".h5")
    image = _Image()
    data.to_netcdf(image, engine="h5netcdf")
    content = image.getbuffer()
    remove_parts(path, STALE)
    with atomic_file(path, sync=sync) as part, open(part, "xb") as file:
        file.write(content)
        file.write(_MARK + hashlib.sha256(content).hexdigest().encode())
    return Path(path)


def read_sealed(path: str | Path, what: str = "a result", *, fix: str = "simulate again") -> tuple[xr.Dataset, bool]:
    """The data set of a file, and whether it has a seal; files of earlier versions have none.

    Args:
        what: that the file should be, for messages.
        fix: what to do about a damaged file.

    Raises:
        DalembertError: there is no such file, it is no NetCDF file, or it is not as it was written.
    """
    import h5py
    import xarray as xr

    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DalembertError(f"{path} is not a plain file")  # a device or a pipe may never end
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DalembertError(f"no such file: {path}") from None
    except OSError as error:
        raise DalembertError(f"{path} cannot be read: {error.strerror or error}") from None
    mark = content.rfind(_MARK, -_LENGTH)
    sealed = mark >= 0
    if sealed and hashlib.sha256(memoryview(content)[:mark]).hexdigest().encode() != content[mark + len(_MARK) :]:
        raise DalembertError(
            f"{path} was changed or damaged since it was written; its numbers cannot be trusted.  Fix: {fix}"
        )
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            file.attrs.get("_nc3_strict")  # where this fails, h5netcdf fails once more, when it forgets the file
        return xr.load_dataset(io.BytesIO(content), engine="h5netcdf"), sealed
    except Exception as error:  # whatever a library makes of untrusted bytes
        raise DalembertError(f"{path} is not {what} (a NetCDF file): {error}") from None
