"""A folder that keeps the blocks of a sweep: whole files only, so that a sweep that was killed goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.atomic import make_folder, write_atomic
from dalembert.errors import DalembertError
from dalembert.netcdf import read_sealed, write_sealed
from dalembert.values import MISSHAPEN

__all__ = ["Block", "Store"]

_FORMAT = 1
_NOTES = "sweep.json"


class Block:
    """Results of consecutive samples.

    Attributes:
        arrays: with an axis of samples first, by name.
        failed: why samples failed, by number within the block.
    """

    def __init__(self, arrays: dict[str, np.ndarray], failed: dict[int, str]):
        self.arrays, self.failed = arrays, failed


class Store:
    """One folder, one sweep.

    Args:
        path: the folder; it is made if it is not there.
        fingerprint: of all that the results depend on; a folder of another sweep is refused.
    """

    def __init__(self, path: str | Path, fingerprint: str, samples: int):
        self.path = Path(path)
        make_folder(self.path)
        notes = {"format": _FORMAT, "fingerprint": fingerprint, "samples": samples}
        file = self.path / _NOTES
        if file.exists():
            try:
                found = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                found = None
            if found != notes:
                raise DalembertError(
                    f"store: {path} keeps another sweep: its model, samples, outputs or options differ.  "
                    "Fix: another folder, or remove this one"
                )
        else:
            if any(self.path.iterdir()):
                raise DalembertError(
                    f"store: {path} is not a folder of a sweep, and is not empty.  Fix: another folder"
                )
            write_atomic(file, json.dumps(notes, indent=1))

    def _file(self, first: int) -> Path:
        return self.path / f"samples-{first:09d}.nc"

    def read(self, first: int, count: int) -> Block | None:
        """A block that was written; None if it is missing or cannot be read."""
        file = self._file(first)
        if not file.exists():
            return None
        try:
            data, _ = read_sealed(file)
            failed = {int(i): str(text) for i, text in json.loads(data.attrs["failed"]).items()}
            arrays = {name[2:]: np.asarray(data[name]) for name in map(str, data) if name.startswith("v_")}
            for name in [name for name in arrays if f"i_{name}" in data]:
                arrays[name] = arrays[name] + 1j * np.asarray(data[f"i_{name}"])
            names: dict[str, str] = json.loads(data.attrs["names"])
            block = Block({str(names[key]): array for key, array in arrays.items()}, failed)
        except (DalembertError, *MISSHAPEN):
            return None
        fits = all(array.shape[:1] == (count,) and array.dtype.kind in "biufc" for array in arrays.values())
        return block if fits else None

    def write(self, first: int, block: Block) -> None:
        """A file for a block, whole or not at all."""
        import xarray as xr

        names = {str(k): name for k, name in enumerate(block.arrays)}
        variables: dict[str, Any] = {}
        for key, array in zip(names, block.arrays.values(), strict=True):
            dims = ["sample", *(f"{key}_{axis}" for axis in range(1, array.ndim))]
            variables[f"v_{key}"] = (dims, np.real(array))
            if np.iscomplexobj(array):
                variables[f"i_{key}"] = (dims, np.imag(array))
        attrs = {"failed": json.dumps(block.failed), "names": json.dumps(names)}
        write_sealed(self._file(first), xr.Dataset(variables, attrs=attrs))
