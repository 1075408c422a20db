"""A mechanism along a prescribed motion: states and accelerations at every instant, on one branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.prescribe import Given, targets_of
from dalembert.analyses.motions.signals import Signals
from dalembert.dynamics import Dynamics
from dalembert.dynamics.prescribed import (
    CONTRADICTION,
    FOLLOWED,
    JUMP,
    NO_CONVERGENCE,
    SINGULAR,
    Follower,
    close,
    follow,
    prescribed_kernel,
)
from dalembert.equations import Level
from dalembert.errors import DalembertError, SimulationError
from dalembert.state import State
from dalembert.trajectory import Check

__all__ = ["FINER", "FINEST", "Followed", "Following", "MotionFollower", "with_halved_steps", "with_middles"]

STAGE = 0.25  # how far (rad, m) a quantity is led at once at the start
FINER = 8  # parts of an interval that was too long for Newton's method
FINEST = 3  # times that intervals are divided
MOST_HALVINGS = 6  # of the steps of integrated positions
INTEGRATED = 1e-11  # change of integrated positions when steps are halved
INTEGRATED_LIMIT = 1e-8  # of that change, in a certificate
PIVOT_LIMIT = 1e-5
RANK = 1e-8
WEAK = 0.3  # entries of a null vector that name their joint


class Followed(NamedTuple):
    """States and accelerations along a motion, what the integration of positions is worth, the worst pivot."""

    q: np.ndarray
    u: np.ndarray
    du: np.ndarray
    change: float | None
    pivot: float

    def checks(self) -> list[Check]:
        """What the integration is worth, and how near to a singular position the motion comes."""
        found: list[Check] = []
        if self.change is not None:
            about = "positions that are integrated: change when the steps are halved"
            found.append(Check("integrated position", self.change, INTEGRATED_LIMIT, "", about))
        about = (
            "smallest over largest pivot of constraints and prescribed motion, inverse: large near singular positions"
        )
        return [*found, Check("conditioning", 1.0 / max(self.pivot, 1e-300), 1.0 / PIVOT_LIMIT, "", about)]


class MotionFollower:
    """A mechanism without drives, and the quantities that are prescribed.

    Attributes:
        defaults: values of the parameters that formulas of the motion may name.
    """

    def __init__(self, dynamics: Dynamics, given: list[Given], defaults: Mapping[str, float]):
        self.dynamics, self.defaults, self.names = dynamics, defaults, [one.name for one in given]
        self.targets = targets_of(given)
        self.kernel = prescribed_kernel(dynamics.kernels, self.targets)
        self._check_linear()
        levels = [target.level for target in self.targets]
        positions = [i for i, level in enumerate(levels) if level is Level.POSITION]
        velocities = [i for i, level in enumerate(levels) if level is Level.VELOCITY]
        d = dynamics
        self.n_positions = d.holonomic + len(positions)
        self.n_rows = len(d.rows) + len(levels)
        rolling = len(d.rows) - d.holonomic
        # Where the prescribed quantities stand among the rows.
        self.at_positions = (positions, d.holonomic + np.arange(len(positions)))
        self.at_rates = (positions, velocities, self.n_positions + rolling + np.arange(len(velocities)))

    def _check_linear(self) -> None:
        """Quantities of the velocity must be linear in velocities, or u would not follow from one equation."""
        moving = [(i, target) for i, target in enumerate(self.targets) if target.level is Level.VELOCITY]
        if not moving:
            return
        d, rng = self.dynamics, np.random.default_rng(0)
        q, u = d.coordinates.neutral(), rng.normal(size=(2, d.nv))
        p = d.parameters()
        rates = [np.asarray(self.kernel(0.0, q, x, p).rate) for x in (u[0], u[1], u[0] + u[1], 0 * u[0])]
        off = np.abs(rates[2] - rates[0] - rates[1] + rates[3])[-len(moving) :]
        for (_, target), value in zip(moving, off, strict=True):
            if not value <= 1e-9 * (1.0 + np.abs(rates[2]).max()):
                raise DalembertError(f"motion: {target.name} is not linear in velocities.  Fix: prescribe its parts")

    def follow(
        self, times: np.ndarray, signals: Signals, initial: Any, parameters: dict[str, float], joints: list[Any]
    ) -> Followed:
        """The states at all times.

        Args:
            initial: joint coordinates by name to begin with, or a state: it decides about the branch.
            joints: of each prescribed quantity: the joint and index, or None.
        """
        run = Following(self, signals, parameters)
        y = run.begin(times[0], initial, joints)
        return run.along(times, y)


class Following:
    """One call: values of the parameters, and the record that native code works on.

    Attributes:
        reached: states up to where the last walk ended, if it did not come to its end.
        freedoms: of the mechanism where the motion begins.
    """

    reached: np.ndarray
    freedoms: float = np.inf

    def __init__(self, owner: MotionFollower, signals: Signals, parameters: dict[str, float]):
        self.owner, self.signals, self.parameters = owner, signals, parameters
        d = self.dynamics = owner.dynamics
        self.values = d.parameters(parameters)
        self.record = Follower(
            nq=d.nq, nv=d.nv, n_positions=owner.n_positions, n_rows=owner.n_rows, smallest_pivot=1.0,
            n_windings=len(d.coordinates.windings), n_parameters=len(self.values), parameters=self.values.copy(),
        )  # fmt: skip
        self.record.set(kernel=owner.kernel, move=d.kernels.move_kernel)

    def given(self, times: np.ndarray) -> np.ndarray:
        """The prescribed functions with their rates."""
        return self.signals.at(times, {**self.owner.defaults, **self.parameters})

    def wanted(self, times: np.ndarray) -> np.ndarray:
        """Values at position level, velocity level and acceleration level for all rows; zero for constraints."""
        o = self.owner
        n, rows = o.n_positions, o.n_rows
        s = self.given(times)
        want = np.zeros((len(times), n + 2 * rows))
        positions, places = o.at_positions
        want[:, places] = s[:, 0, positions]
        want[:, n + places] = s[:, 1, positions]
        want[:, n + rows + places] = s[:, 2, positions]
        _, velocities, at = o.at_rates
        want[:, n + at] = s[:, 0, velocities]
        want[:, n + rows + at] = s[:, 1, velocities]
        return want

    def third(self, times: np.ndarray) -> np.ndarray:
        """What the rows want one derivative beyond accelerations."""
        o = self.owner
        values = {**o.defaults, **self.parameters}
        s, third = self.given(times), self.signals.third(times, values)
        want = np.zeros((len(times), o.n_rows))
        positions, places = o.at_positions
        want[:, places] = third[:, positions]
        _, velocities, at = o.at_rates
        want[:, at] = s[:, 2, velocities]
        return want

    def columns(self) -> list[int]:
        """Where the prescribed quantities stand among the rows, in the order in which they were given."""
        o = self.owner
        positions, places = o.at_positions
        _, velocities, at = o.at_rates
        row = dict(zip([*positions, *velocities], [*places, *at], strict=True))
        return [int(row[i]) for i in range(len(o.targets))]

    # The first instant

    def begin(self, t: float, initial: Any, joints: list[Any]) -> np.ndarray:
        """A state close to the first instant: assembled, then led to the prescribed values."""
        d = self.dynamics
        want = self.wanted(np.array([t]))[0]
        if isinstance(initial, State):
            q = initial.to(d.coordinates)[0]
        else:
            values = self.given(np.array([t]))[0, 0]
            near = dict(initial or {})
            for place, value in zip(joints, values, strict=True):
                if place is not None and d.coordinates.nominal_joint(place[0]).joint.nq == 1:
                    near[place[0]] = value
            q = assemble_state(d.relative, near, None, self.parameters, t).q
        y = np.concatenate([q, np.zeros(d.nv)])
        now = np.asarray(self.owner.kernel(t, q, y[d.nq :], self.values).position)
        way = want[: len(now)] - now
        for stage in np.linspace(0, 1, int(np.ceil(np.abs(way).max(initial=0.0) / STAGE)) + 1)[1:]:
            partly = want.copy()
            partly[: len(now)] = now + stage * way
            status = close(self.record, t, partly, y)
            if status != FOLLOWED:
                raise self.trouble(status, t, y, partly)
        J = np.asarray(self.owner.kernel(t, y[: d.nq], np.zeros(d.nv), self.values).jacobian)
        self.record.integrates = _rank(J[: self.owner.n_positions]) < _rank(J)
        self.freedoms = d.nv - _rank(J[self._constraint_rows()])
        return y

    # All instants

    def along(self, times: np.ndarray, y: np.ndarray) -> Followed:
        if not self.record.integrates:
            states, du = self.walk(times, y, FINEST)
            return self.result(states, du, None)
        (states, du), change = with_halved_steps(lambda fine: self.walk(fine, y, 0), times, MOST_HALVINGS)
        return self.result(states, du, change)

    def result(self, states: np.ndarray, du: np.ndarray, change: float | None) -> Followed:
        q, u = states[:, : self.dynamics.nq], states[:, self.dynamics.nq :]
        return Followed(q, u, du, change, self.record.smallest_pivot)

    def walk(self, times: np.ndarray, y: np.ndarray, finer: int) -> tuple[np.ndarray, np.ndarray]:
        """States and accelerations; intervals that are too long for Newton's method are divided."""
        n, d = len(times), self.dynamics
        self.reached = np.empty((0, d.nq + d.nv))
        states, du = np.empty((n, d.nq + d.nv)), np.empty((n, d.nv))
        done = 0
        while True:
            wanted = self.wanted(with_middles(times[done:]) if self.record.integrates else times[done:])
            states[done] = y
            status, more = follow(self.record, times[done:], wanted, states[done:], du[done:])
            done += more
            if status == FOLLOWED:
                return states, du
            if status not in (JUMP, NO_CONVERGENCE) or not finer or not more or done >= n:
                at, self.reached = min(done, n - 1), states[:done]
                raise self.trouble(status, float(times[at]), states[at], self.wanted(times[at : at + 1])[0])
            inner = np.linspace(times[done - 1], times[done], FINER + 1)
            try:
                y = self.walk(inner, states[done - 1], finer - 1)[0][-1]
            except SimulationError:
                self.reached = states[:done]
                raise

    # Why it cannot

    def trouble(self, status: int, t: float, y: np.ndarray, want: np.ndarray) -> DalembertError:
        """What went wrong, with the time and the joints."""
        d, o = self.dynamics, self.owner
        seen = o.kernel(t, y[: d.nq], np.zeros(d.nv), self.values)
        J, when = np.asarray(seen.jacobian), f"at t = {t:.6g} s"
        # A singular position has more freedoms than the mechanism has elsewhere.
        freedoms, wanted = min(d.nv - _rank(J[self._constraint_rows()]), self.freedoms), len(o.targets)
        if not np.all(np.isfinite(J)):
            return SimulationError(f"{when} positions are not finite: look for a division by zero in the formulas")
        if status == SINGULAR and wanted < freedoms:
            loose = self.loose(J)
            return DalembertError(
                f"the motion does not determine the mechanism: it has {freedoms} degrees of freedom, given are "
                f"{', '.join(o.names)}; {loose} can still move.  Fix: prescribe {freedoms - wanted} more"
            )
        if status == SINGULAR:
            return SimulationError(
                f"{when} the mechanism is in a singular position: there {self.loose(J)} can move while "
                f"{', '.join(o.names)} stand still (a dead point), or the given quantities depend on each other.  "
                f"Fix: prescribe another quantity, or end before"
            )
        if status == CONTRADICTION or wanted > freedoms:
            return DalembertError(
                f"the motion over-determines the mechanism: of degrees of freedom it has {freedoms}, and what is given "
                f"contradicts itself {when}: {self._off(seen, want)}.  Fix: leave out {max(wanted - freedoms, 1)} of "
                f"{', '.join(o.names)}"
            )
        sizes = np.linalg.svd(J, compute_uv=False)
        close_by = f", near a dead point of {self.loose(J)}" if sizes[-1] < 0.05 * sizes[0] else ""
        return SimulationError(
            f"{when} the prescribed motion cannot be reached: {self._off(seen, want)}{close_by}.  Fix: check lengths "
            f"and amplitude, or give initial= for another branch"
        )

    def _constraint_rows(self) -> list[int]:
        d, o = self.dynamics, self.owner
        return [*range(d.holonomic), *range(o.n_positions, o.n_positions + len(d.rows) - d.holonomic)]

    def loose(self, J: np.ndarray) -> str:
        """Joints that move in the direction that is least determined."""
        _, _, right = np.linalg.svd(J)
        size: np.ndarray = np.abs(right[-1])
        order: list[int] = np.argsort(-size).tolist()
        names = [self.dynamics.u_names[i] for i in order if size[i] > WEAK * size.max()]
        return ", ".join(dict.fromkeys(names[:4]))

    def _off(self, seen: Any, want: np.ndarray) -> str:
        """What is missed, and by how much."""
        d, o = self.dynamics, self.owner
        residual = np.abs(np.asarray(seen.position) - want[: o.n_positions])
        owners = [row.owner for row in d.rows[: d.holonomic]]
        owners += [o.names[i] for i in o.at_positions[0]]
        off: dict[str, float] = {}
        for name, value in zip(owners, residual, strict=True):
            off[name] = max(off.get(name, 0.0), value)
        parts = [f"{name} is off by {value:.3g}" for name, value in off.items() if value > 1e-9]
        return ("; ".join(parts) + " (m or rad)") if parts else "their rates do not fit"


def _rank(J: np.ndarray) -> int:
    if not J.size:
        return 0
    sizes = np.linalg.svd(J, compute_uv=False)
    return int(np.sum(sizes > RANK * max(sizes[0], 1e-300)))


def with_halved_steps(
    walk: Callable[[np.ndarray], tuple[np.ndarray, ...]], times: np.ndarray, most: int
) -> tuple[tuple[np.ndarray, ...], float]:
    """What is integrated through these times, with steps that are halved until the states, which come first, stay as
    they are, or so many times at most; and how much they changed last."""
    found, change, fine = walk(times), np.inf, times
    for _ in range(most):
        fine = with_middles(fine)
        step = (len(fine) - 1) // max(len(times) - 1, 1)
        more = tuple(part[::step] for part in walk(fine))
        change, found = float(np.abs(more[0] - found[0]).max()), more
        if change <= INTEGRATED * (1.0 + np.abs(found[0]).max()):
            break
    return found, change


def with_middles(times: np.ndarray) -> np.ndarray:
    """The times and those half-way between."""
    both = np.empty(2 * len(times) - 1)
    both[::2], both[1::2] = times, (times[1:] + times[:-1]) / 2
    return both
