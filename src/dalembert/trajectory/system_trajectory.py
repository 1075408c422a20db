"""The motion of a system of subsystems: its variables by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import public_methods
from dalembert.errors import unknown
from dalembert.netcdf import write_sealed
from dalembert.notebook import frame
from dalembert.trajectory.certificate import Certificate
from dalembert.trajectory.outcome import Occurrence, pieces
from dalembert.trajectory.recorded import Recorded
from dalembert.trajectory.trajectory import read_certificate, understood
from dalembert.trajectory.whole import check_whole

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.modular import ModularEquations
    from dalembert.modular.drawings import Drawing

__all__ = ["SystemTrajectory", "system_run_of"]

MOST_PANELS = 8
_FORMAT = 2  # files of format 1 have no seal
# What every file has: notes, and arrays by dimensions.
_ALWAYS = ("model", "integrator")
_ARRAYS = ("states", "tops", "inputs")


@public_methods
class SystemTrajectory:
    """Variables of a subsystem over time, with a certificate.

        run = da.simulate(robot, 2.0, inputs={"AL.voltage": "6*sin(t)"})
        run["AL.i"], run["R.theta.d"]

    Attributes:
        certificate: how far to trust it.
        equations: those that were integrated; None if it was read from a file.
        drawings: what is drawn of it; nothing if it was read from a file.
    """

    def __init__(
        self,
        data: Recorded,
        certificate: Certificate,
        equations: ModularEquations | None,
        drawings: Sequence[Drawing] = (),
    ):
        self.recorded, self.certificate, self.equations = data, certificate, equations
        self.drawings = tuple(drawings)

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Any:
            if name in dir(type(self)):
                return object.__getattribute__(self, name)  # raises what its property raised
            raise AttributeError(
                f"a run of a subsystem has no {name!r}; it has values, time, events, plot, animate, save and its "
                f"variables, run['…']; what bodies and joints do is known of a da.Model"
            )

    def __repr__(self) -> str:
        time, attrs = self.values("time"), self.attrs
        return (
            f"<SystemTrajectory of {attrs['model']!r}: {len(time)} times, {time[0]:g} … {time[-1]:g} s; "
            f"{len(self.names)} variables, {attrs['integrator']}; {self.certificate.verdict}>"
        )

    @property
    def attrs(self) -> dict[str, Any]:
        """What holds for the whole run."""
        return self.recorded.attrs

    @property
    def events(self) -> list[Occurrence]:
        """The events that happened, with ``time`` and ``name``."""
        return [Occurrence(**event) for event in json.loads(str(self.attrs.get("events", "[]")))]

    @property
    def names(self) -> list[str]:
        """Names of all variables: those of the state, and those of the highest order."""
        return [*self.recorded.labels["state"], *self.recorded.labels["top"], *self.recorded.labels["input"]]

    def values(self, name: str) -> np.ndarray:
        """``time``, ``states``, ``tops`` (variables of the highest order), ``inputs``, or one variable by its name.

        Raises:
            DalembertError: for an unknown name.
        """
        if name in ("time", *self.recorded.values):
            return self.recorded[name]
        for whole, labels in (("states", "state"), ("tops", "top"), ("inputs", "input")):
            known = list(self.recorded.labels[labels])
            if name in known:
                return self.recorded[whole][:, known.index(name)]
        raise unknown("no variable", name, self.names, "the run has")

    def __getitem__(self, name: Any) -> xr.DataArray:
        """One variable over time, by its name (``"AL.i"``, ``"theta.d"``) or symbol."""
        import xarray as xr

        text = getattr(name, "name", None) or str(name)
        return xr.DataArray(self.values(text), dims=("time",), coords={"time": self.values("time")}, name=text)

    @property
    def time(self) -> xr.DataArray:
        """Output times (s)."""
        return self.data.time

    @property
    def data(self) -> xr.Dataset:
        """All of it as an ``xarray.Dataset``: ``states``, ``tops``, ``inputs``."""
        return self.recorded.dataset()

    def plot(self, path: str | Path | None = None, *, quantities: Sequence[str] | None = None) -> Any:
        """Curves over time, one panel for each variable: those of the lowest order, or those named.

        Args:
            path: a PNG, SVG or PDF file.
            quantities: names of variables.
        """
        from dalembert.view import Plot, plot_series, with_file

        given = [quantities] if isinstance(quantities, str) else quantities
        names = list(given) if given is not None else list(self.recorded.labels["state"])[:MOST_PANELS]
        plots = [Plot(name, "", {name: self.values(name)}) for name in names]
        return with_file(plot_series(self.values("time"), plots, title=str(self.attrs["model"])), path)

    def animate(self, path: str | Path) -> Path:
        """One self-contained HTML file: bodies and lines of all parts, moving, with plots beside them.

        Raises:
            DalembertError: if nothing is drawn.
        """
        from dalembert.view import write_html
        from dalembert.view.system_scene import system_scene

        return write_html(system_scene(self), path)

    def _repr_html_(self) -> str:
        """The page of ``animate`` in a notebook; a line of text where nothing is drawn."""
        from dalembert.view import html
        from dalembert.view.system_scene import system_scene

        return frame(html(system_scene(self))) if self.drawings else f"<pre>{escape(repr(self))}</pre>"

    def known(self) -> dict[str, np.ndarray]:
        """Values of every symbol over time: variables, inputs, parameters and t."""
        time = self.values("time")
        found = {"t": time} | {name: self.values(name) for name in self.names}
        if self.equations is not None:
            for name, value in self.equations.parameters.items():
                found[name] = np.full(len(time), np.nan if value is None else value)
        for part, changed in pieces(json.loads(str(self.attrs.get("parameters", "[[0, {}]]"))), len(time)):
            for name, value in changed.items():
                found[name][part] = value
        return found

    def save(self, path: str | Path, attrs: dict[str, Any] | None = None) -> Path:
        """NetCDF with the data and the certificate; ``da.load`` reads it back.

        Args:
            attrs: more to keep, numbers or text.
        """
        more = {**(attrs or {}), "dalembert_system": _FORMAT, "certificate": json.dumps(asdict(self.certificate))}
        return write_sealed(path, replace(self.recorded, attrs=self.attrs | more))


def system_run_of(path: Path, data: xr.Dataset, sealed: bool) -> SystemTrajectory:
    """The motion of a subsystem in a file; equations are no part of it.

    Args:
        sealed: the content is as it was written.

    Raises:
        DalembertError: if the file is damaged.
    """
    with understood(path):
        if data.attrs.pop("dalembert_system") == _FORMAT and not sealed:
            raise ValueError("it was changed by another program")
        certificate = read_certificate(data)
        check_whole(data, _ALWAYS, _ARRAYS)
        values = {name: data[name].values for name in _ARRAYS}
        labels = {name: [str(label) for label in data[name].values] for name in ("state", "top", "input")}
        return SystemTrajectory(Recorded(data["time"].values, values, labels, dict(data.attrs)), certificate, None)
