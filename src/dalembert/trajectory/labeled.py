"""What the labeled results of one and of many simulations share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Labeled"]


class Labeled(ABC):
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
