"""What the labeled results of one and of many simulations share."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["TimeSeries", "csv_of", "labeled"]


def labeled(values: np.ndarray, time: Any, unit: str = "", **axes: Any) -> xr.DataArray:
    """Values over time with names on their other axes, in order; None where an axis has no names."""
    import xarray as xr

    names = {name: along for name, along in axes.items() if along is not None}
    dims, attrs = ("time", *axes), {"units": unit} if unit else {}
    return xr.DataArray(values, dims=dims, coords={"time": time, **names}, attrs=attrs)


def csv_of(names: Sequence[str], table: np.ndarray) -> str:
    """A table with its names in the first line, numbers with all their digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([[repr(float(x)) for x in row] for row in table])
    return out.getvalue()


class TimeSeries(ABC):
    """States over time, with names on all axes; those of a batch have an axis of samples first."""

    @property
    @abstractmethod
    def data(self) -> xr.Dataset:
        """All that was recorded."""

    @property
    def time(self) -> xr.DataArray:
        """Output times (s)."""
        return self.data.time

    @property
    def q(self) -> xr.DataArray:
        """Coordinates: (time, coordinate)."""
        return self.data.q

    @property
    def u(self) -> xr.DataArray:
        """Velocities: (time, velocity)."""
        return self.data.u
