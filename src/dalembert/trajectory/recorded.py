"""The arrays of a motion with their labels; an ``xarray.Dataset`` when one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["AXES", "DIMENSIONS", "Recorded"]

AXES = ["x", "y", "z"]

DIMENSIONS = {
    "q": ("time", "coordinate"), "u": ("time", "velocity"), "position": ("time", "body", "axis"),
    "orientation": ("time", "body", "component"), "angular_velocity": ("time", "body", "axis"),
    "linear_velocity": ("time", "body", "axis"), "kinetic": ("time",), "potential": ("time",), "work": ("time",),
    "balance": ("time",), "momentum": ("time", "moment", "axis"), "joint_coordinates": ("time", "joint_q"),
    "joint_velocities": ("time", "joint_u"), "outputs": ("time", "output"),
    "states": ("time", "state"), "tops": ("time", "top"), "inputs": ("time", "input"),
}  # fmt: skip
UNITS = {
    "time": "s", "position": "m", "angular_velocity": "rad/s", "linear_velocity": "m/s",
    "kinetic": "J", "potential": "J", "work": "J", "balance": "J",
}  # fmt: skip


@dataclass
class Recorded:
    """All quantities of a motion at the output times, as plain arrays: labels cost more than a short run.

    Attributes:
        time: output times (s).
        values: arrays by name, with the dimensions that ``DIMENSIONS`` tells.
        labels: names of the entries along the other dimensions.
        attrs: what holds for all of it.
    """

    time: np.ndarray
    values: dict[str, np.ndarray]
    labels: Mapping[str, Sequence[str]]
    attrs: dict[str, Any] = field(default_factory=lambda: {})

    def __getitem__(self, name: str) -> np.ndarray:
        """A quantity, the times, or the labels along a dimension."""
        if name == "time":
            return self.time
        return self.values[name] if name in self.values else np.asarray(self.labels[name])

    def dataset(self) -> xr.Dataset:
        """The same with its labels."""
        import xarray as xr

        fields = {name: (DIMENSIONS[name], values, _units(name)) for name, values in self.values.items()}
        names = {dimension: list(entries) for dimension, entries in self.labels.items()}
        return xr.Dataset(fields, coords={"time": ("time", self.time, _units("time")), **names}, attrs=self.attrs)

    def to_netcdf(self, path: Any, /, *, engine: Any = None) -> None:
        """Write the file that ``dataset().to_netcdf(path, engine="h5netcdf")`` would write."""
        import h5netcdf
        import h5py

        text_type = cast(Any, h5py.string_dtype())
        with h5netcdf.File(path, "w") as file:
            file.dimensions = {"time": len(self.time)} | {name: len(entries) for name, entries in self.labels.items()}
            for name, values in self.values.items():
                field = cast(Any, file.create_variable(name, DIMENSIONS[name], data=values, fillvalue=np.nan))
                field.attrs.update(_units(name))
            file.create_variable("time", ("time",), data=self.time, fillvalue=np.nan).attrs.update(_units("time"))
            for name, entries in self.labels.items():
                text = np.array(list(entries), dtype=object)
                file.create_variable(name, (name,), dtype=text_type, data=text)
            file.attrs.update(self.attrs)


def _units(name: str) -> dict[str, str]:
    return {"units": UNITS[name]} if name in UNITS else {}
