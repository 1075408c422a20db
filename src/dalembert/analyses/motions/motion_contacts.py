"""Limits, rigid contacts and friction along a prescribed motion: what is entered, what rubs, and what formulas feel.

With the motion given, the velocities v of friction are known, and its forces follow from the reactions, which follow
from them:  p = −sign(v) (μ N(λ, τ) + constant).  So do forces whose formulas name reactions. Broyden's method finds
both together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.analyses.motions.allocate import Allocation
from dalembert.analyses.motions.follow import Followed
from dalembert.dynamics import Dynamics
from dalembert.dynamics.gaps import closed_gaps
from dalembert.errors import SimulationError
from dalembert.numerics.broyden import learn_along, steps_along
from dalembert.trajectory import Check

__all__ = ["MotionContacts", "Rubbed"]

STANDS = 1e-9  # a velocity below this part of its largest value is zero
MOST_TURNS = 60
CLOSE = 1e-13  # of the largest force of friction
PENETRATION_LIMIT = 1e-8  # in even units: m or rad at everyday size


class Rubbed(NamedTuple):
    """Friction along a motion: names, forces along their velocities, the signs of these, and at how many instants each
    stands still."""

    names: list[str]
    forces: np.ndarray
    signs: np.ndarray
    standing: list[int]


class MotionContacts:
    """What touches and rubs in one mechanism."""

    def __init__(self, dynamics: Dynamics):
        self.dynamics, flat = dynamics, dynamics.flat
        self.frictions = list(flat.frictions)
        self.columns = [dynamics.parameter_names.index(f"{name}.force") for name in self.frictions]
        self.feedback, self.watched = dynamics.kernels.feedback
        self.gaps = [name for name, _ in flat.gap_names]

    # Gaps

    def gaps_at(self, times: Any, q: np.ndarray, u: np.ndarray, parameters: dict[str, float]) -> np.ndarray:
        """The gaps at some instants, one row for each."""
        found = self.dynamics.kernels.gap_kernel(times, q, u, self.dynamics.parameters(parameters))
        return np.asarray(found).reshape(-1, len(self.gaps))

    def checks(self, times: np.ndarray, followed: Followed, parameters: dict[str, float], forces: bool) -> list[Check]:
        """How far the motion enters what is in its way; where forces are asked for, how long it leans on something."""
        if not self.gaps:
            return []
        gaps, least = self.gaps_at(times, followed.q, followed.u, parameters), closed_gaps(self.dynamics)
        entered = -gaps / self.dynamics.even.gaps
        i, k = np.unravel_index(np.argmax(entered), entered.shape)
        about = "of limits and rigid contacts"
        if entered[i, k] > PENETRATION_LIMIT:
            first = times[int(np.argmax(gaps[:, k] < -least[k]))]
            about = f"the motion goes beyond {self.gaps[int(k)]!r} from t = {first:.6g} s on"
        fix = "a motion within the limits"
        found = [Check("penetration", max(0.0, float(entered[i, k])), PENETRATION_LIMIT, "", about, fix)]
        closed = np.abs(gaps) <= least
        leaning = closed[1:] & closed[:-1]
        if forces and leaning.any():
            who = self.gaps[int(np.argmax(leaning.any(axis=0)))]
            about = f"intervals in which the motion presses on {who!r}: that force is unknown, and taken as zero"
            found.append(
                Check("leaning", float(leaning.any(axis=1).sum()), 0.0, "", about, "a motion that stays clear")
            )
        return found

    # Friction

    def settle(
        self, times: np.ndarray, followed: Followed, p: np.ndarray, solve: Callable[[np.ndarray], Allocation]
    ) -> tuple[Allocation, np.ndarray, Rubbed | None]:
        """The unknowns, all parameters at every instant, and friction.

        Args:
            p: parameters, one row.
            solve: unknowns with the parameters at every instant, among which it puts them.
        """
        n, count = len(self.frictions), len(times)
        columns, k = [*self.columns, *self.feedback.tolist()], self.dynamics.kernels
        motion = times, followed.q, followed.u
        signs, standing = _signs(self._paces(*motion, p))

        def missing(x: np.ndarray) -> tuple[np.ndarray, Allocation, np.ndarray]:
            values = np.tile(p, (count, 1))
            values[:, columns] = x
            found = solve(values)
            if not columns:
                return np.zeros_like(x), found, values
            seen = k.friction_kernel(*motion, values, followed.du, found.multipliers)
            sizes, feedback = np.asarray(seen.sizes).reshape(count, n, 2), np.asarray(seen.feedback).reshape(count, -1)
            return np.concatenate([-signs * sizes[:, :, 0], feedback], axis=1) - x, found, values

        start = np.tile(p[columns], (count, 1))
        x, (found, values), stands = _broyden(missing, start)
        if not stands.all():
            raise self._no_answer(times, stands)
        if len(self.watched):
            feedback = k.watched_kernel(*motion, values, followed.du, found.multipliers)
            values[:, self.watched] = np.asarray(feedback).reshape(count, -1)
        return found, values, Rubbed(self.frictions, x[:, :n], signs, standing) if n else None

    def _paces(self, *given: np.ndarray) -> np.ndarray:
        """The velocity along which each friction acts, at all instants: |v| where it can slip in several directions."""
        if not self.frictions:
            return np.zeros((len(given[0]), 0))
        v = np.asarray(self.dynamics.kernels.slip_kernel(*given)).reshape(len(given[0]), -1)
        parts = [v[:, at] for at in self.dynamics.flat.slip_parts]
        return np.stack([p[:, 0] if p.shape[1] == 1 else np.linalg.norm(p, axis=1) for p in parts], axis=1)

    def _no_answer(self, times: np.ndarray, stands: np.ndarray) -> SimulationError:
        bad = np.flatnonzero(~stands)
        when, how_many = f"at t = {times[bad[0]]:.6g} s", f"({len(bad)} of {len(times)} instants)"
        if len(self.feedback):
            named = ", ".join([*self.dynamics.flat.feedback, *self.frictions][:4])
            return SimulationError(
                f"{when} forces depend on what they cause themselves ({named}), and no value or more than one fits "
                f"{how_many}.  Fix: a weaker dependence, or other unknowns"
            )
        return SimulationError(
            f"{when} friction ({', '.join(self.frictions)}) jams: it grows faster than the force that overcomes it, so "
            f"no force or two give this motion {how_many}.  Fix: less friction, or another drive"
        )


def _signs(v: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Signs of velocities; where one stands still, that of the coming motion, or of the last; and how often that is."""
    signs = np.where(np.abs(v) > STANDS * np.abs(v).max(axis=0, initial=0.0), np.sign(v), 0.0)
    still = (signs == 0).sum(axis=0).tolist()
    for k in range(v.shape[1]):
        moving = np.flatnonzero(signs[:, k])
        if len(moving):
            following = np.searchsorted(moving, np.arange(len(v)))
            signs[:, k] = signs[moving[np.minimum(following, len(moving) - 1)], k]
    return signs, [int(number) for number in still]


def _broyden(
    missing: Callable[[np.ndarray], tuple[np.ndarray, Allocation, np.ndarray]], x: np.ndarray
) -> tuple[np.ndarray, tuple[Allocation, np.ndarray], np.ndarray]:
    """x with which nothing is missing, at all instants together; False where it is not unique."""
    count, n = x.shape
    H, step = np.tile(np.eye(n), (count, 1, 1)), np.zeros((count, n))
    r, found, values = missing(x)
    done = np.zeros(count, dtype=bool)
    for _ in range(MOST_TURNS):
        size = np.maximum(np.abs(x).max(axis=1, initial=0.0), np.abs(r).max(axis=1, initial=0.0))
        done = np.abs(r).max(axis=1, initial=0.0) <= CLOSE * np.maximum(size, 1e-300)
        if done.all():
            break
        steps_along(H, r, done.astype(float), step)
        before, x = r, x + step
        r, found, values = missing(x)
        learn_along(H, step, before - r)
    return x, (found, values), done & np.isfinite(x).all(axis=1) & (np.linalg.det(H) > 0)
