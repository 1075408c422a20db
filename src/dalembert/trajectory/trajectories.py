"""The labeled result of many simulations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.arguments import Answering, public_methods
from dalembert.dynamics import Context, Dynamics
from dalembert.errors import DalembertError
from dalembert.netcdf import write_sealed
from dalembert.trajectory.outcome import Outcome
from dalembert.trajectory.record import gained, observe_along
from dalembert.trajectory.time_series import TimeSeries
from dalembert.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Batch", "SampleRun"]

# States that are observed in one go.
_ROWS = 65536


class SampleRun(NamedTuple):
    """How one sample went: its outcome, what native code saw on the way (see ``Statistics``), the integrator, and
    coordinates of joints at the start."""

    outcome: Outcome
    statistics: dict[str, float]
    integrator: str
    start: Callable[[str], np.ndarray]

    def context(self, dynamics: Dynamics) -> Context:
        """A context that has seen what that of the run had seen."""
        made = dynamics.context(self.outcome.segments[-1][1])
        made.statistics.restore(self.statistics)
        return made


_WORDS = {  # of other programs, and of single runs
    **dict.fromkeys(("final", "last", "end"), "q[:, -1]"),
    **dict.fromkeys(("plot", "animate", "certificate", "joint", "body", "output"), "trajectory(sample)"),
    **dict.fromkeys(("samples", "runs", "trajectories"), "trajectory(sample)"),
    **dict.fromkeys(("to_pandas", "to_dataframe"), "data.to_dataframe()"), "failures": "failed",
}  # fmt: skip


@public_methods
class Batch(Answering, TimeSeries):
    """Motions of many samples over time.

    Attributes:
        data: an ``xarray.Dataset``: ``q``, ``u`` and ``work`` by sample and time, ``status`` and ``end`` (s) by sample,
            the ``parameters`` that were given. NaN from where a sample ended on.
        failed: why samples did not reach their end, by number.
        dynamics: the equations that were integrated.

    Example:
        batch = da.simulate_many(da.library.pendulum(), 2.0, initial={"pivot": [0.1, 0.2]})
        batch.trajectory(1).certificate
    """

    _words = _WORDS

    def __init__(
        self,
        data: xr.Dataset,
        dynamics: Dynamics,
        failed: dict[int, str],
        parameters: np.ndarray,
        look: Callable[[int], SampleRun],
        finish: Callable[[SampleRun], Trajectory],
    ):
        self._data, self.dynamics, self.failed = data, dynamics, failed
        # look: how a sample went; finish: all its quantities, with a certificate.
        self._parameters, self._look, self._finish = parameters, look, finish

    def __repr__(self) -> str:
        first, last, attrs = float(self.data.time[0]), float(self.data.time[-1]), self.data.attrs
        failed = f"{len(self.failed)} FAILED" if self.failed else "all finished"
        return (
            f"<Batch of {attrs['model']!r}: {len(self)} samples, {len(self.data.time)} times, {first:g} … {last:g} s; "
            f"{attrs['formulation']}, {attrs['coordinate_kind']} coordinates, {attrs['integrator']}; {failed}>"
        )

    def __len__(self) -> int:
        return self.data.sizes["sample"]

    @property
    def data(self) -> xr.Dataset:
        return self._data

    @cached_property
    def energy(self) -> xr.Dataset:
        """kinetic, potential, work and balance = T + V − W (J) by sample and time."""
        import xarray as xr

        t, q, u = self.data.time.values, self.data.q.values, self.data.u.values
        kinetic, potential, work = np.empty(q.shape[:2]), np.empty(q.shape[:2]), self.data.work.values.copy()
        if self.dynamics.is_large or self.dynamics.flat.events:
            kinetic[:], potential[:] = np.nan, np.nan
            for i in range(len(self)):
                n = int(np.isfinite(self.data.work.values[i]).sum())
                if n:
                    seen = observe_along(self.dynamics, t[:n], q[i, :n], u[i, :n], self._look(i).outcome.segments)
                    kinetic[i, :n], potential[i, :n] = seen.kinetic, seen.potential
                    work[i, :n] += gained(seen)
        else:
            size = max(1, _ROWS // len(t))
            for first in range(0, len(self), size):
                part = slice(first, first + size)
                rows = [x[part].reshape(-1, x.shape[-1]) for x in (q, u)]
                count = len(rows[0]) // len(t)
                p = np.repeat(self._parameters[part], len(t), axis=0)
                seen = self.dynamics.kernels.observer(np.tile(t, count), *rows, p)
                kinetic[part] = np.reshape(seen.kinetic, (count, -1))
                potential[part] = np.reshape(seen.potential, (count, -1))
                if self.dynamics.coordinates.rheonomic:
                    carried = np.reshape(seen.carried, (count, -1))
                    work[part] += carried - carried[:, :1]
        dims, units = ("sample", "time"), {"units": "J"}
        fields = {"kinetic": kinetic, "potential": potential, "work": work}
        fields["balance"] = kinetic + potential - fields["work"]
        coords = {"time": self.data.time, "sample": self.data.sample}
        return xr.Dataset({name: (dims, values, units) for name, values in fields.items()}, coords=coords)

    @cached_property
    def drift(self) -> xr.DataArray:
        """|Δ(T + V − W)| of each sample over the energy that moves in it, as in a certificate."""
        import xarray as xr

        kinetic, potential, work, balance = (
            self.energy[name].values for name in ("kinetic", "potential", "work", "balance")
        )
        # fmax and fmin pass over the NaN that follows where a sample ended.
        ranges = [np.fmax.reduce(x, axis=1) - np.fmin.reduce(x, axis=1) for x in (kinetic, potential, work)]
        moved: np.ndarray = np.fmax.reduce([*ranges, np.fmax.reduce(kinetic, axis=1)], axis=0)
        drift: np.ndarray = np.fmax.reduce(np.abs(balance - balance[:, :1]), axis=1)
        values: np.ndarray = np.where(moved > 0, drift / np.where(moved > 0, moved, 1.0), drift)
        return xr.DataArray(values, dims="sample", coords={"sample": self.data.sample}, name="drift")

    def trajectory(self, sample: int) -> Trajectory:
        """All quantities of one sample, with its certificate."""
        if not 0 <= sample < len(self):
            raise DalembertError(f"there is no sample {sample}; they are numbered from 0 to {len(self) - 1}")
        if not np.isfinite(self.data.work.values[sample, 0]):
            raise DalembertError(f"sample {sample} has no motion: {self.failed[sample]}")
        return self._finish(self._look(sample))

    def save(self, path: str | Path) -> Path:
        """NetCDF with the data, why samples failed, the model and the recipe; ``xarray.load_dataset`` reads it."""
        from dalembert.io import dumps

        reasons = [self.failed.get(i, "") for i in range(len(self))]
        how = {"model_file": dumps(self.dynamics.model), "recipe": self.dynamics.recipe.to_json()}
        return write_sealed(path, self.data.assign(failure=("sample", reasons)).assign_attrs(how))
