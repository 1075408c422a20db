"""Equilibria and steady motions that were found, with their stability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.rank import hold_rank
from dalembert.analyses.linearization.linear_model import LinearModel
from dalembert.analyses.simulation.resample import resample
from dalembert.arguments import entry_of, public_methods
from dalembert.dynamics import Dynamics
from dalembert.elements import Load
from dalembert.equations import Equations
from dalembert.errors import DalembertError, unknown
from dalembert.integrators.base import Result, Status
from dalembert.state import State
from dalembert.trajectory import Certificate, Trajectory
from dalembert.trajectory.outcome import Outcome
from dalembert.trajectory.record import record

__all__ = ["Equilibria", "Equilibrium", "SystemEquilibrium"]

GROWS = 1e-6  # of the largest eigenvalue: real parts below are rounding of zeros that coincide


def has_zero(eigenvalues: np.ndarray) -> bool:
    """Whether one of them is zero, up to rounding."""
    sizes = np.abs(eigenvalues)
    return bool(np.any(sizes <= GROWS * sizes.max(initial=0.0)))


class Stability:
    """What small motions next to an equilibrium do; the names are those of ``Equilibrium``."""

    linear: LinearModel | None
    trouble: str
    neutral: tuple[tuple[str, ...], ...]
    moving: bool

    def __str__(self) -> str:
        text = "; ".join(f"{key} {value}" if key != "kind" else value for key, value in self.row().items())
        return text + (f"; {self.trouble}" if self.trouble else "")

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @property
    def eigenvalues(self) -> np.ndarray:
        """λ (1/s) of small motions, by increasing real parts; empty where they are not linear."""
        return np.zeros(0, dtype=complex) if self.linear is None else self.linear.eigenvalues()

    @property
    def growth(self) -> float:
        """The largest real part (1/s); what is rounding is zero, not a number where motions are not linear."""
        if self.linear is None:
            return float("nan")
        real = np.real(self.eigenvalues)
        largest = float(real.max(initial=0.0))
        return largest if largest > GROWS * np.abs(self.eigenvalues).max(initial=0.0) else 0.0

    @property
    def kind(self) -> str:
        """``stable``: nothing grows, and at rest nothing is neutral; ``unstable``; ``neutral``; ``singular``."""
        if self.linear is None:
            return "singular"
        if self.growth > 0:
            return "unstable"
        return "neutral" if self.neutral and not self.moving else "stable"

    @property
    def stable(self) -> bool:
        """True if ``kind`` is ``stable``: small disturbances stay small, to first order."""
        return self.kind == "stable"

    def row(self) -> dict[str, str]:
        """The row that a table shows."""
        raise NotImplementedError

    def stability_row(self) -> dict[str, str]:
        """The end of it."""
        shown = {"leading eigenvalue (1/s)": _leading(self.eigenvalues) if self.linear is not None else "–"}
        if self.neutral:
            shown["neutral"] = "; ".join(" with ".join([one[0], ", ".join(one[1:4])] if one[1:] else one)
                                         for one in self.neutral[:4])  # fmt: skip
        return shown


@public_methods
@dataclass(frozen=True)
class Equilibrium(Stability):
    """A state in which all forces balance, or a steady motion.

    Attributes:
        state: position, velocities, and the parameters that were asked for or found.
        linear: small motions next to it; None where they are not linear, ``trouble`` says why.
        neutral: directions in which the balance stays: coordinates that move together, one tuple for each.
        moving: True for a steady motion.
        potential: energy (J).
        multipliers, accelerations: λ of the constraints, and u̇ of velocities that are carried along.
        contacts: force (N) or torque (N m) of limits and rigid contacts that are closed, by name.

    Example:
        rest = da.equilibrium(da.library.desk_lamp())[0]
        print(rest.stable, rest.preloads())
    """

    dynamics: Dynamics = field(repr=False)
    state: State
    linear: LinearModel | None = field(repr=False)
    trouble: str
    neutral: tuple[tuple[str, ...], ...]
    moving: bool
    potential: float
    multipliers: np.ndarray = field(repr=False)
    accelerations: np.ndarray = field(repr=False)
    contacts: dict[str, float] = field(default_factory=lambda: {})

    @property
    def parameters(self) -> dict[str, float]:
        """Values that differ from the model's, those that were found among them."""
        return dict(self.state.parameters)

    @cached_property
    def at_rest(self) -> Trajectory:
        """The state as a trajectory of one instant, for all that a trajectory shows."""
        d, state = self.dynamics, self.state
        if d.coordinates.name == "relative":
            hold_rank(d, state)
        x = np.concatenate([state.q, state.u, [0.0]])[None]
        time = np.array([state.time])
        outcome = Outcome(Result(time, x, Status.FINISHED, state.time, x[0], 0, 0, 0), [(0, dict(state.parameters))])
        data = record(d, outcome, "none", lambda name: state.joint(name)[0])
        data.attrs |= {"reason": "equilibrium", "seconds": 0.0}
        return Trajectory(data, Certificate(True, "all forces balance"), d, resample)

    def joint(self, name: str) -> np.ndarray:
        """Coordinates of a joint."""
        return self.state.joint(name)[0]

    def reaction(self, name: str) -> Any:
        """Wrench of a joint on its second body (torque and force in world axes), or the force or torque of a constraint
        or drive."""
        return self.at_rest.reaction(name).isel(time=0, drop=True)

    def reactions(self) -> dict[str, Any]:
        """All of ``reaction`` by name."""
        return {name: value.isel(time=0, drop=True) for name, value in self.at_rest.reactions().items()}

    def preload(self, name: str) -> float:
        """What a spring or another force exerts: force (N) on its second body, or on its joint (N, N m); a spring that
        pulls its ends together counts positive."""
        flat = self.dynamics.flat
        if name not in flat.forces:
            raise unknown("no force", name, flat.forces, "the model has")
        force, scope = flat.forces[name]
        tree = self.dynamics.coordinates.place(NUMPY, {**flat.parameters, **self.state.parameters})
        motion = Equations(tree, self.state.time, self.state.q, self.state.u).motion
        load = Load()
        force.loads(motion.within(scope), load)
        if load.joint_forces:
            total = sum((values for _, values, _ in load.joint_forces), np.zeros(1))
            return float(total[np.argmax(np.abs(total))])
        last = load.wrenches[-1][0]
        wrench = sum((value for body, value, _ in load.wrenches if body == last), np.zeros(6))
        size = float(np.linalg.norm(wrench[3:]) or np.linalg.norm(wrench[:3]))
        ends = force.ends()
        if not ends:
            return size
        places = [
            motion.body(body)[0].apply(motion.within(scope).local_point(body, at, frame)) for body, at, frame in ends
        ]
        along = places[0] - places[1]
        return float(np.sign(motion.body(last)[0].R @ wrench[3:] @ along) * size) if size else 0.0

    def preloads(self) -> dict[str, float]:
        """All of ``preload`` by name."""
        return {name: self.preload(name) for name in self.dynamics.flat.forces}

    def row(self) -> dict[str, str]:
        """The row that a table shows."""
        d, entries = self.dynamics, zip(self.dynamics.q_names, self.state.q, strict=True)
        places = ", ".join(f"{name} {_short(value)}" for name, value in list(entries)[:8])
        shown = {"kind": self.kind, "position": places + (", …" if d.nq > 8 else "")}
        if self.moving:
            rates = [f"{n} {v:.6g}" for n, v in zip(d.u_names, self.state.u, strict=True) if abs(v) > 1e-9]
            shown["velocities"] = ", ".join(rates[:8]) or "none"
        if self.parameters:
            shown["parameters"] = ", ".join(f"{name} {value:.6g}" for name, value in self.parameters.items())
        if self.contacts:
            shown["pressed"] = ", ".join(f"{name} {push:.6g}" for name, push in self.contacts.items())
        shown["potential (J)"] = f"{self.potential:.6g}"
        return shown | self.stability_row()


@public_methods
@dataclass(frozen=True)
class SystemEquilibrium(Stability):
    """Values of a subsystem's variables at which nothing changes.

    Attributes:
        state: all variables of the state by name, and the inputs.
        parameters: values that were used instead of the subsystem's.
        linear, trouble, neutral: as of ``Equilibrium``.
        multipliers: what the invariants exert, by name.
    """

    state: dict[str, float]
    parameters: dict[str, float]
    linear: LinearModel | None = field(repr=False)
    trouble: str
    neutral: tuple[tuple[str, ...], ...]
    multipliers: dict[str, float] = field(repr=False)
    moving: bool = False

    def __getitem__(self, name: str) -> float:
        if name not in self.state:
            raise unknown("no variable", name, self.state)
        return self.state[name]

    def row(self) -> dict[str, str]:
        """The row that a table shows."""
        values = [f"{name} {_short(value)}" for name, value in self.state.items() if abs(value) > 1e-9]
        place = ", ".join(values[:8]) or "all zero"
        return {"kind": self.kind, "position": place + (", …" if len(values) > 8 else "")} | self.stability_row()


def _short(value: float) -> str:
    return f"{value if abs(value) > 1e-9 else 0.0:.6g}"


def _leading(values: np.ndarray) -> str:
    """The eigenvalue that decides, with the sign of its imaginary part left open."""
    if not len(values):
        return "–"
    moving = values[np.abs(values) > GROWS * np.abs(values).max()]
    value = moving[np.argmax(np.real(moving))] if len(moving) else 0.0 + 0.0j
    real = value.real if abs(value.real) > GROWS * abs(value) else 0.0
    return f"{real:.6g}" + (f" ± {abs(value.imag):.6g}i" if value.imag else "")


One = TypeVar("One", bound=Stability)


@public_methods
class Equilibria(Sequence[One]):
    """All different equilibria that a search found.

    Attributes:
        name: of the model.
        starts: how many starts there were.

    Example:
        found = da.equilibrium(da.library.double_pendulum(), starts=16)
        found.plot("rest.png")
    """

    def __init__(self, name: str, found: Sequence[One], starts: int):
        self.name, self.starts, self._found = name, starts, list(found)

    @overload
    def __getitem__(self, index: int) -> One: ...
    @overload
    def __getitem__(self, index: slice) -> Equilibria[One]: ...
    def __getitem__(self, index: int | slice) -> One | Equilibria[One]:
        if isinstance(index, slice):
            return Equilibria(self.name, self._found[index], self.starts)
        return entry_of("equilibria", self._found, index)

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[One]:
        return iter(self._found)

    @property
    def state(self) -> Any:
        """The state of the only one, so that it can be used as a state."""
        if len(self) != 1:
            raise DalembertError(f"there are {len(self)} equilibria.  Fix: take one of them, such as found[0]")
        return self.states[0]

    @property
    def states(self) -> list[Any]:
        """A state for each; of a subsystem, values by name."""
        return [getattr(one, "state") for one in self]  # noqa: B009

    @property
    def stable(self) -> np.ndarray:
        """True where small disturbances stay small."""
        return np.array([one.stable for one in self])

    @property
    def eigenvalues(self) -> list[np.ndarray]:
        """λ (1/s) of each."""
        return [one.eigenvalues for one in self]

    def rows(self) -> list[list[str]]:
        """A table: the heading, and a line for each."""
        entries = [one.row() for one in self]
        heads = list(dict.fromkeys(key for entry in entries for key in entry))
        return [["", *heads], *([str(i), *(entry.get(key, "") for key in heads)] for i, entry in enumerate(entries))]

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        moving = any(one.moving for one in self)
        what = ("steady motion" + "s" * (len(self) > 1)) if moving else "equilibria" if len(self) > 1 else "equilibrium"
        starts = f"{self.starts} start{'s' * (self.starts != 1)}"
        return "\n".join([f"{self.name}: {len(self)} {what} from {starts}", *(f"  {line}" for line in lines)])

    def __repr__(self) -> str:
        kinds = ", ".join(one.kind for one in self)
        return f"<Equilibria of {self.name!r}: {len(self)} ({kinds})>"

    def plot(self, path: str | Path | None = None) -> Any:
        """The mechanism in each of them, side by side; a matplotlib figure, written to ``path`` if given."""
        from dalembert.view import with_file
        from dalembert.view.equilibrium_plots import still_pictures

        pictures = [one.at_rest for one in self if isinstance(one, Equilibrium)]
        if len(pictures) < len(self):
            raise DalembertError("plot: a subsystem has no bodies to draw.  Fix: print the equilibria")
        titles = [(f"{i}: {one.kind}", one.kind) for i, one in enumerate(self)]
        return with_file(still_pictures(self.name, pictures, titles), path)
