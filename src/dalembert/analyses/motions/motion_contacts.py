"""Limits, rigid contacts and friction along a prescribed motion: what is entered, and what rubs.

With the motion given, the velocities v of friction are known, and its forces follow from the reactions, which follow
from them:  p = −sign(v) (μ N(λ, τ) + constant).  Multipliers and unknowns are linear in p; Broyden's method finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.analyses.motions.allocate import Allocation
from dalembert.analyses.motions.follow import Followed
from dalembert.codegen import Kernel
from dalembert.dynamics import Dynamics
from dalembert.dynamics.gaps import CLOSED, gap_kernel, slip_kernel
from dalembert.errors import SimulationError
from dalembert.trajectory import Check

__all__ = ["MotionContacts", "Rubbed"]

STANDS = 1e-9  # a velocity below this part of its largest value is zero
MOST_TURNS = 60
CLOSE = 1e-13  # of the largest force of friction
PENETRATION_LIMIT = 1e-8  # m or rad


class Rubbed(NamedTuple):
    """Friction along a motion: names, forces along their velocities, the same on all velocities u, power (W), and at
    how many instants each stands still."""

    names: list[str]
    forces: np.ndarray
    generalized: np.ndarray
    power: np.ndarray
    standing: list[int]


class MotionContacts:
    """What touches and rubs in one mechanism."""

    def __init__(self, dynamics: Dynamics):
        self.dynamics, flat = dynamics, dynamics.flat
        self.frictions = list(flat.frictions)
        self.columns = [dynamics.parameter_names.index(f"{name}.force") for name in self.frictions]
        sides = {name: flat.constraints[name][0].sides for name in flat.contacts}
        self.gaps = [name for name, count in sides.items() for _ in range(count)]

    # Gaps

    @cached_property
    def _gap_kernel(self) -> Kernel:
        return gap_kernel(self.dynamics.kernels)

    def gaps_at(self, times: Any, q: np.ndarray, u: np.ndarray, parameters: dict[str, float]) -> np.ndarray:
        """The gaps at some instants, one row for each."""
        found = self._gap_kernel(times, q, u, self.dynamics.parameters(parameters))
        return np.asarray(found).reshape(-1, len(self.gaps))

    def checks(self, times: np.ndarray, followed: Followed, parameters: dict[str, float], forces: bool) -> list[Check]:
        """How far the motion enters what is in its way; where forces are asked for, how long it leans on something."""
        if not self.gaps:
            return []
        gaps = self.gaps_at(times, followed.q, followed.u, parameters)
        i, k = np.unravel_index(np.argmin(gaps), gaps.shape)
        about = "of limits and rigid contacts"
        if gaps[i, k] < -PENETRATION_LIMIT:
            first = times[int(np.argmax(gaps[:, k] < -CLOSED))]
            about = f"the motion goes beyond {self.gaps[int(k)]!r} from t = {first:.6g} s on"
        fix = "a motion within the limits"
        found = [Check("penetration", max(0.0, -float(gaps[i, k])), PENETRATION_LIMIT, "", about, fix)]
        closed = np.abs(gaps) <= CLOSED
        leaning = closed[1:] & closed[:-1]
        if forces and leaning.any():
            who = self.gaps[int(np.argmax(leaning.any(axis=0)))]
            about = f"intervals in which the motion leans on {who!r}: what that bears is not known, and taken as none"
            found.append(
                Check("leaning", float(leaning.any(axis=1).sum()), 0.0, "", about, "a motion that stays clear")
            )
        return found

    # Friction

    @cached_property
    def _slip_kernel(self) -> Kernel:
        return slip_kernel(self.dynamics.kernels)

    def rub(
        self,
        times: np.ndarray,
        followed: Followed,
        p: np.ndarray,
        columns: np.ndarray,
        solve: Callable[[np.ndarray], tuple[Allocation, np.ndarray]],
    ) -> tuple[Allocation, Rubbed]:
        """The unknowns with friction.

        Args:
            p: parameters, one row.
            columns: forces on all velocities by each friction, (time, velocity, friction).
            solve: unknowns by forces on all velocities, and the parameters with them at every instant.
        """
        q, u, du = followed.q, followed.u, followed.du
        n, count = len(self.frictions), len(times)
        v = np.asarray(self._slip_kernel(times, q, u, p)).reshape(count, n)
        signs, standing = _signs(v)
        kernel = self.dynamics.kernels.friction_kernel

        def missing(forces: np.ndarray) -> tuple[np.ndarray, Allocation]:
            found, values = solve(np.einsum("tij,tj->ti", columns, forces))
            values[:, self.columns] = forces
            sizes = np.asarray(kernel(times, q, u, values, du, found.multipliers).sizes).reshape(count, n, 2)
            return -signs * sizes[:, :, 0] - forces, found

        forces, found, stands = _broyden(missing, count, n)
        if not stands.all():
            bad = np.flatnonzero(~stands)
            raise SimulationError(
                f"at t = {times[bad[0]]:.6g} s friction ({', '.join(self.frictions)}) jams: it grows faster than the "
                f"force that overcomes it, so no force or two give this motion ({len(bad)} of {count} instants).  "
                f"Fix: less friction, or another drive"
            )
        generalized = np.einsum("tij,tj->ti", columns, forces)
        return found, Rubbed(self.frictions, forces, generalized, np.sum(forces * v, axis=1), standing)


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
    missing: Callable[[np.ndarray], tuple[np.ndarray, Allocation]], count: int, n: int
) -> tuple[np.ndarray, Allocation, np.ndarray]:
    """Forces with which nothing is missing, at all instants together; False where they are not unique."""
    forces, H = np.zeros((count, n)), np.tile(np.eye(n), (count, 1, 1))
    r, found = missing(forces)
    done = np.zeros(count, dtype=bool)
    for _ in range(MOST_TURNS):
        size = np.maximum(np.abs(forces).max(axis=1, initial=0.0), np.abs(r).max(axis=1, initial=0.0))
        done = np.abs(r).max(axis=1, initial=0.0) <= CLOSE * np.maximum(size, 1e-300)
        if done.all():
            break
        step = np.where(done[:, None], 0.0, np.einsum("tij,tj->ti", H, r))
        before, forces = r, forces + step
        r, found = missing(forces)
        # H ← H + (s − H w) sᵀH / sᵀH w  with  w = before − r, so that H w = s
        image, row = np.einsum("tij,tj->ti", H, before - r), np.einsum("ti,tij->tj", step, H)
        scale = np.sum(step * image, axis=1)
        safe = np.where(scale == 0, 1.0, scale)
        H = H + np.where(
            (scale == 0)[:, None, None], 0.0, np.einsum("ti,tj->tij", step - image, row) / safe[:, None, None]
        )
    return forces, found, done & np.isfinite(forces).all(axis=1) & (np.linalg.det(H) > 0)
