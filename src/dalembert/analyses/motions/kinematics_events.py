"""What is remarkable along a driven motion: dead points, singular positions, changes of branch.

A joint is at a *dead point* where a unit of the drive does not move it: dq/ds = 0. Led by that joint instead, the
mechanism would be singular there. It is *singular* where drives and constraints together leave a motion free,
det J = 0; a motion that passes through such a position changes its branch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.analyses.motions.follow import Followed, Following
from dalembert.analyses.motions.motion_contacts import MotionContacts
from dalembert.dynamics import Dynamics
from dalembert.dynamics.gaps import closed_gaps
from dalembert.dynamics.motion_rates import solve_along
from dalembert.errors import SimulationError
from dalembert.numerics.reflections import independent_rows
from dalembert.state import State

if TYPE_CHECKING:
    from dalembert.analyses.motions.kinematics_result import Rates
    from dalembert.trajectory import Trajectory

__all__ = ["Found", "Watch", "find_events"]

EXACT = 1e-13  # of an instant, relative
STILL = 1e-9  # of what a drive moves, relative to the largest: nothing
SINGULAR = 1e-5  # smallest over largest singular value
MOST_EVENTS = 1000
ROOT_STEPS = 60
END = "limit"  # where a motion ends
BEYOND = "beyond"  # where it enters what is in its way


@dataclass(frozen=True)
class Found:
    """Something remarkable.

    Attributes:
        time: when (s).
        kind: ``dead point``, ``singular``, ``change of branch``, ``beyond``, where a limit or rigid contact is entered,
            or ``limit``, where the motion ends.
        joint: whose, or those that are loose there; the limit or contact that is entered.
        value: of the joint's coordinate (rad, m).
        text: more about it, in words.
    """

    time: float
    kind: str
    joint: str
    value: float
    text: str = ""

    def __str__(self) -> str:
        if self.kind == END:
            return f"the motion ends at t = {self.time:.9g} s: {self.text}"
        at = f", {self.joint} = {round(self.value, 12) + 0.0:.9g}" if np.isfinite(self.value) else f" ({self.joint})"
        return f"{self.kind} at t = {self.time:.9g} s{at}" + (f": {self.text}" if self.text else "")


@dataclass
class Watch:
    """A followed motion, and what can be evaluated between its instants.

    Attributes:
        drives: names of what is prescribed.
        run: the motion as recorded.
        joint_map: velocities of all joints by unit velocities, at a time and state.
        contacts: what may be in the way.
    """

    dynamics: Dynamics
    following: Following
    times: np.ndarray
    followed: Followed
    rates: Rates
    drives: list[str]
    run: Trajectory
    joint_map: Callable[[float, np.ndarray], np.ndarray]
    contacts: MotionContacts

    def state(self, t: float) -> np.ndarray:
        """q, u and u̇ at any time within."""
        k = int(np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 1))
        first = np.concatenate([self.followed.q[k], self.followed.u[k]])
        if t <= self.times[k]:
            return first
        return self.following.walk(np.array([self.times[k], t]), first, 3)[0][-1]

    def jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        """J of constraints and drives at a state."""
        d = self.dynamics
        seen = self.following.owner.kernel(t, y[: d.nq], y[d.nq :], self.following.values)
        return np.asarray(seen.jacobian).reshape(-1, d.nv)

    def moved(self, t: float, y: np.ndarray) -> np.ndarray:
        """What a unit of each drive does to all velocities at a state: (drive, velocity)."""
        J = np.ascontiguousarray(self.jacobian(t, y)[None])
        columns = self.following.columns()
        sides = np.zeros((1, len(columns), J.shape[1]))
        for k, row in enumerate(columns):
            sides[0, k, row] = -1.0
        out = np.empty((1, len(columns), self.dynamics.nv))
        solve_along(J, sides, out)
        return out[0]

    def coordinate(self, t: float, joint: str) -> float:
        """The coordinate of a joint, with its turns counted as at the instants."""
        d, y = self.dynamics, self.state(t)
        state = State(t, y[: d.nq], y[d.nq :], d.coordinates, self.following.parameters)
        value = float(state.joint(joint)[0][0])
        entries = [str(entry) for entry in self.run.values("joint_q")]
        k = int(np.argmin(np.abs(self.times - t)))
        seen = float(self.run.values("joint_coordinates")[k, entries.index(joint)])
        if d.coordinates.nominal_joint(joint).joint.angles:
            value += 2 * np.pi * round((seen - value) / (2 * np.pi))
        return value

    @cached_property
    def independent(self) -> list[int]:
        """Rows of J that are independent at the first instant."""
        J = self.rates.jacobian[0]
        return independent_rows(J, J.shape[1])


def find_events(watch: Watch, ended: Found | None) -> list[Found]:
    """All events in the order of time."""
    found = [*_singular(watch), *_dead_points(watch), *_entered(watch)]
    return sorted(found, key=lambda event: event.time)[:MOST_EVENTS] + ([ended] if ended is not None else [])


def _root(f: Callable[[float], float], a: float, b: float, fa: float, fb: float) -> float:
    """Where f changes its sign, by regula falsi with halving (Illinois), to the last digits."""
    for _ in range(ROOT_STEPS):
        if abs(b - a) <= EXACT * (1.0 + abs(b)):
            break
        c = (a * fb - b * fa) / (fb - fa) if fb != fa else (a + b) / 2
        c = c if min(a, b) < c < max(a, b) else (a + b) / 2
        fc = f(c)
        if fc == 0.0:
            return c
        if (fc < 0) != (fb < 0):
            a, fa = b, fb
        else:
            fa /= 2
        b, fb = c, fc
    return b


def _crossings(values: np.ndarray, tolerance: float) -> list[tuple[int, int]]:
    """Pairs of instants between which values change their sign; (i, i) where they vanish at an instant."""
    small = np.abs(values) <= tolerance
    pairs = [(int(i), int(i)) for i in np.flatnonzero(small)]
    change = (values[:-1] < 0) != (values[1:] < 0)
    return pairs + [(int(i), int(i) + 1) for i in np.flatnonzero(change & ~small[:-1] & ~small[1:])]


def _dead_points(watch: Watch) -> list[Found]:
    """Joints with one freedom that a unit of the only drive does not move."""
    if len(watch.drives) != 1 or watch.following.record.integrates:
        return []
    rates, times = watch.rates, watch.times
    found: list[Found] = []
    for k, name in enumerate(rates.joint_names):
        if "[" in name or name == watch.drives[0]:
            continue
        ratio = rates.joint_ratios[:, k, 0]
        largest = float(np.abs(ratio).max(initial=0.0))
        if largest < STILL:
            continue
        for i, j in _crossings(ratio, 1e-12 * largest):
            t = float(times[i])
            if i != j:

                def f(s: float, k: int = k) -> float:
                    y = watch.state(s)
                    return float(watch.joint_map(s, y)[k] @ watch.moved(s, y)[0])

                try:
                    t = _root(f, float(times[i]), float(times[j]), float(ratio[i]), float(ratio[j]))
                except SimulationError:
                    continue
            value = watch.coordinate(t, name)
            found.append(Found(t, "dead point", name, value, f"{watch.drives[0]} does not move it here"))
    return found


def _entered(watch: Watch) -> list[Found]:
    """Where gaps of limits and rigid contacts become negative."""
    contacts, times, d, found = watch.contacts, watch.times, watch.dynamics, list[Found]()
    if not contacts.gaps:
        return found
    values = watch.following.parameters
    gaps = contacts.gaps_at(times, watch.followed.q, watch.followed.u, values)
    for k, (name, least) in enumerate(zip(contacts.gaps, closed_gaps(d), strict=True)):

        def gap(s: float, k: int = k) -> float:
            y = watch.state(s)
            return float(contacts.gaps_at(s, y[: d.nq], y[d.nq :], values)[0, k])

        for i in np.flatnonzero((gaps[:-1, k] >= -least) & (gaps[1:, k] < -least)).tolist():
            a, b = float(gaps[i, k]), float(gaps[i + 1, k])
            t = _root(gap, float(times[i]), float(times[i + 1]), a, b) if a > 0 else float(times[i])
            found.append(Found(t, BEYOND, name, float("nan"), "the motion goes on beyond it"))
    return found


def _singular(watch: Watch) -> list[Found]:
    """Positions in which constraints and drives leave a motion free."""
    J, times = watch.rates.jacobian, watch.times
    sign, logarithm = np.linalg.slogdet(J[:, watch.independent])
    size = np.exp(np.clip(logarithm - logarithm.max(initial=-np.inf), -700, 0))
    values = sign * size
    found: list[Found] = []
    for i, j in _crossings(values, 1e-14):
        t = float(times[i])
        if i != j:

            def f(s: float) -> float:
                try:
                    J = watch.jacobian(s, watch.state(s))[watch.independent]
                except SimulationError:
                    return 0.0  # so singular that nothing follows
                sign, size = np.linalg.slogdet(J)
                return float(sign * np.exp(np.clip(size - logarithm.max(), -700, 700)))

            t = _root(f, float(times[i]), float(times[j]), float(values[i]), float(values[j]))
        here = _degenerate(watch, t)
        if here is None:
            continue
        loose = watch.following.loose(here)
        if i == j:
            before, after = values[max(i - 1, 0)], values[min(i + 1, len(values) - 1)]
            passes = 0 < i < len(values) - 1 and before * after < 0
        else:
            passes = True
        text = "the loops may close in another way from here on" if passes else ""
        found.append(Found(t, "change of branch" if passes else "singular", loose, float("nan"), text))
    return found


def _degenerate(watch: Watch, t: float) -> np.ndarray | None:
    """J at an instant, if it is singular there; where nothing follows at all, that of the nearest instant."""
    try:
        J = watch.jacobian(t, watch.state(t))
    except SimulationError:
        k = int(np.argmin(np.abs(watch.times - t)))
        return watch.jacobian(t, np.concatenate([watch.followed.q[k], watch.followed.u[k]]))
    sizes = np.linalg.svd(J, compute_uv=False)
    return J if sizes[-1] <= SINGULAR * sizes[0] else None
