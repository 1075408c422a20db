"""The result of inverse dynamics of a subsystem."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, ModelError
from dalembert.expressions import TIME
from dalembert.modular import Subsystem
from dalembert.trajectory import Certificate, Check
from dalembert.trajectory.recorded import Recorded
from dalembert.trajectory.system_trajectory import MOST_PANELS, SystemTrajectory
from dalembert.trajectory.time_series import labeled

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.analyses.motions.allocate import Allocation
    from dalembert.analyses.motions.friction import Friction

__all__ = ["INVERSE", "Quality", "Reversal", "SystemInverse"]

RESIDUAL_LIMIT = 1e-9
LEFT_LIMIT = 1e-8
FORWARD_LIMIT = 1e-6
INTEGRATED_LIMIT = 1e-8
INVERSE = "dalembert_inverse"  # attribute of a saved file
CHECKED = 5  # instants at which forward dynamics is asked


class Reversal(NamedTuple):
    """A velocity that changes its sign, and with it friction: when, which, the unknowns just before and just after."""

    time: float
    velocity: str
    before: dict[str, float]
    after: dict[str, float]


class Quality(NamedTuple):
    """How well the motion was followed: residual of the invariants, relative; worst pivot; what halving the steps of
    integrated variables changed."""

    residual: float
    pivot: float
    change: float | None


class SystemInverse(SystemTrajectory):
    """Inputs, constraint forces and variables of a subsystem along a prescribed motion.

    ``inverse["u1"]`` is an unknown, ``inverse["slider.s"]`` a variable over time.

    Attributes:
        unknowns: names of the inputs that were found.
        unique: True at the instants where no other values do the same.
        friction: μ|∂N/∂x| (with several sizes: a spectral radius) over time; from 1 on friction has no unique
            solution (jamming). None without friction on unknown forces.
        events: reversals of friction.
        residual: forces that no unknown can give, by variable; zero if the motion is feasible.
    """

    unknowns: tuple[str, ...]
    unique: np.ndarray
    friction: np.ndarray | None
    residual: np.ndarray
    multipliers: np.ndarray

    @classmethod
    def made(
        cls, subsystem: Subsystem, owner: Any, motion: tuple[np.ndarray, np.ndarray, np.ndarray], forces: Any,
        events: list[Reversal], quality: Quality, values: Mapping[str, float],
    ) -> SystemInverse:  # fmt: skip
        """From the numbers of the analysis."""
        times, states, want = motion
        found: Allocation = forces.found
        equations = subsystem.equations()
        speeds = _speeds(owner, forces.B, states)
        # Jerks, which currents may need, are left out: the variables are those of the subsystem.
        place = {str(label): k for k, label in enumerate([*owner.state, *owner.top])}
        states = states[:, [place[str(label)] for label in (*equations.state, *equations.top)]]
        names = list(equations.inputs)
        inputs = np.zeros((len(times), len(names)))
        for j, name in enumerate(names):
            if name in owner.unknowns:
                inputs[:, j] = found.tau[:, owner.unknowns.index(name)]
            elif name in owner.given:
                inputs[:, j] = want[:, owner.driven.index(name)]
        n = len(equations.state)
        data = Recorded(
            times,
            {"states": states[:, :n], "tops": states[:, n:], "inputs": inputs},
            labels={"state": list(map(str, equations.state)), "top": list(map(str, equations.top)), "input": names},
            attrs={
                "model": subsystem.name,
                "integrator": "prescribed motion",
                "seconds": 0.0,
                "order": equations.order,
            },
        )
        made = cls(data, Certificate(False, ""), equations)
        made.unknowns, made._reversals = owner.unknowns, events
        made.unique, made.residual, made.multipliers = found.unique, found.left, found.multipliers
        made.friction = None if forces.friction is None else forces.friction.number
        made._speeds = speeds
        made.certificate = _certificate(made, forces, quality, dict(values))
        return made

    _speeds: np.ndarray
    _reversals: list[Reversal]

    @property
    def events(self) -> list[Any]:
        """Velocities that change their sign, and with it friction."""
        return self._reversals

    def __repr__(self) -> str:
        peaks = ", ".join(f"{name} up to {np.nanmax(np.abs(self.values(name))):.4g}" for name in self.unknowns)
        time = self.values("time")
        return (
            f"<Inverse dynamics of {self.attrs['model']!r}: {len(time)} instants, {time[0]:g} … {time[-1]:g} s; "
            f"{peaks}; "
            f"{self.certificate.verdict}>"
        )

    def save(self, path: str | Path, attrs: dict[str, Any] | None = None) -> Path:
        """NetCDF with motion, forces and certificate; ``da.load`` reads it back."""
        more = {
            "unknowns": self.unknowns, "unique": self.unique.tolist(), "residual": self.residual.tolist(),
            "multipliers": self.multipliers.tolist(), "speeds": self._speeds.tolist(),
            "friction": None if self.friction is None else self.friction.tolist(),
            "reversals": [event._asdict() for event in self._reversals],
        }  # fmt: skip
        return super().save(path, {**(attrs or {}), INVERSE: json.dumps(more)})

    @classmethod
    def loaded(cls, run: SystemTrajectory) -> SystemInverse:
        """From a file that ``save`` wrote, read as a trajectory.

        Raises:
            DalembertError: if the file is damaged.
        """
        made = cls(run.recorded, run.certificate, None)
        try:
            more = json.loads(made.attrs.pop(INVERSE))
            made.unknowns = tuple(map(str, more["unknowns"]))
            made.unique, made.residual = np.array(more["unique"], dtype=bool), np.array(more["residual"], dtype=float)
            made.multipliers, made._speeds = np.array(more["multipliers"]), np.array(more["speeds"], dtype=float)
            made.friction = None if more["friction"] is None else np.array(more["friction"], dtype=float)
            made._reversals = [Reversal(**event) for event in more["reversals"]]
        except (ValueError, KeyError, TypeError) as error:
            raise DalembertError(f"the saved inverse dynamics is damaged: {error}.  Fix: solve it again") from None
        return made

    def values(self, name: str) -> np.ndarray:
        try:
            return super().values(name)
        except DalembertError:
            found = [known for known in self.names if known.endswith(f".{name}")]
            if len(found) == 1:
                return super().values(found[0])
            raise

    @property
    def speeds(self) -> xr.DataArray:
        """Velocity that each unknown acts on: force times speed is power."""
        return labeled(self._speeds, self.values("time"), unknown=list(self.unknowns))

    @property
    def power(self) -> xr.DataArray:
        """Power of each unknown (W)."""
        return self.speeds * np.stack([self.values(name) for name in self.unknowns], axis=1)

    def plot(self, path: str | Path | None = None, *, quantities: Any = None) -> Any:
        """Curves over time: the unknowns, then variables; or those named. Thin lines mark reversals of friction;
        instants where friction jams are left out.

        Args:
            path: a PNG, SVG or PDF file.
            quantities: names of unknowns and variables.
        """
        from dalembert.view import Plot, plot_series, with_file

        default = [*self.unknowns, *(n for n in self.recorded.labels["state"] if not n.endswith(".d"))]
        names = [quantities] if isinstance(quantities, str) else list(quantities or default[:MOST_PANELS])
        good = np.all([np.isfinite(self.values(name)) for name in names], axis=0)
        if not good.any():
            raise DalembertError("nothing to plot: friction jams at all instants (see the certificate)")
        plots = [Plot(name, "", {name: self.values(name)[good]}) for name in names]
        note = "thin lines: reversals" if self.events else ""
        marks = [event.time for event in self.events]
        title = str(self.attrs["model"])
        return with_file(plot_series(self.values("time")[good], plots, title=title, marks=marks, note=note), path)


def _speeds(owner: Any, B: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Bᵀ q⟨1⟩: what each unknown acts on, from the variables of order 1."""
    place = {label: k for k, label in enumerate([*owner.state, *owner.top])}
    at = [place.get(label.at(1), -1) for label in owner.top]
    rates = np.stack([states[:, k] if k >= 0 else np.zeros(len(states)) for k in at], axis=1)
    return np.einsum("tij,ti->tj", B, rates)


def _certificate(made: SystemInverse, forces: Any, quality: Quality, values: dict[str, float]) -> Certificate:
    found: Allocation = forces.found
    friction: Friction | None = forces.friction
    checks = [
        Check("invariants", quality.residual, RESIDUAL_LIMIT, "", "of all orders below the highest, relative"),
        Check("conditioning", 1.0 / max(quality.pivot, 1e-300), 1e5, "", "large near singular positions"),
    ]
    if quality.change is not None:
        checks.append(
            Check("integrated variables", quality.change, INTEGRATED_LIMIT, "", "change when steps are halved")
        )
    size = 1.0 + float(np.abs(found.e).max(initial=0.0))
    left = float(np.abs(found.left).max(initial=0.0)) / size
    checks.append(Check("feasibility residual", left, LEFT_LIMIT, "", "forces that no unknown can give, relative"))
    checks += _forward(made, values)
    remarks: list[str] = []
    if made.events:
        remarks.append(f"{len(made.events)} reversals of friction; instants there have the value just after")
    if friction is not None:
        worst = int(np.argmax(friction.number))
        number, t = float(friction.number[worst]), float(made.values("time")[worst])
        checks.append(Check("friction number", number, np.nextafter(1.0, 0.0), "", "μ|∂N/∂x|: unique below 1"))
        if number >= 1.0:
            many = {0: "no solution", 2: "two solutions"}.get(int(friction.solutions[worst]), "none or several")
            jams = int(np.sum(friction.number >= 1))
            remarks.append(
                f"friction jams at {jams} instants: at t = {t:.4g} s μ|∂N/∂x| = {number:.4g} ≥ 1, Coulomb's law has "
                f"{many} there (Painlevé)"
            )
    if not found.unique.all() and friction is None:
        remarks.append("more unknowns than freedoms: those with the least weighted squares are given")
    feasible = left <= LEFT_LIMIT and (friction is None or bool(np.all(friction.number < 1.0)))
    jammed = friction is not None and bool(np.any(friction.number >= 1.0))
    message = "the unknowns produce the motion" if feasible else "the unknowns cannot produce this motion"
    message = "friction has no unique solution along this motion" if jammed else message
    return Certificate(feasible, message, tuple(checks), tuple(remarks), {"instants": len(made.values("time"))})


def _forward(made: SystemInverse, values: dict[str, float]) -> list[Check]:
    """Highest derivatives by forward dynamics with the unknowns found, at some instants where friction slides."""
    equations, off = made.equations, 0.0
    assert equations is not None
    times = made.values("time")
    near = np.array([event.time for event in made.events])
    good = [
        k
        for k in np.unique(np.linspace(0, len(times) - 1, CHECKED + 2).astype(int))[1:-1]
        if made.unique[k] and not np.any(np.abs(near - times[k]) < 1e-9)
    ]
    names = [*made.recorded.labels["state"], *made.recorded.labels["input"]]
    tops = made.recorded.labels["top"]
    for k in good:
        state = {name: float(made.values(name)[k]) for name in names}
        known = {name: value for name, value in values.items() if name in equations.parameters}
        try:
            found = equations.acceleration({TIME.name: float(times[k]), **known, **state})
        except ModelError:  # what holds massless variables may be relaxed
            return []
        mine = np.array([made.values(name)[k] for name in tops])
        theirs = np.array([found[equations.label(name)] for name in tops])
        off = max(off, float(np.abs(mine - theirs).max(initial=0.0)) / (1.0 + float(np.abs(mine).max(initial=0.0))))
    about = "highest derivatives by forward dynamics with these forces, at some instants, relative"
    return [Check("forward dynamics", off, FORWARD_LIMIT, "", about)] if good else []
