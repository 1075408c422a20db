"""The balance of forces of a mechanism at rest or in steady motion, as equations that Newton's method solves.

Unknown are the position, along its tangent as ξ, some velocities, some accelerations and the multipliers:

    r = M u̇ − f − Aᵀλ = 0,    φ = 0,    v = A u + b = 0,    g = A u̇ + γ = 0

At rest u = u̇ = 0. In a steady motion a velocity rests, is constant, or is carried along by the constraints, such as the
path of a wheel that runs in a circle. Rows are divided by a force, so that meters, radians and newtons compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dalembert.analyses.assembly.rank import Positions, dependent_rows, rank_to_hold, settled_rank
from dalembert.dynamics import Dynamics
from dalembert.dynamics.perturb import Point
from dalembert.state import State

__all__ = ["BALANCED", "LARGEST_MOVE", "Balance", "Candidate", "Roles", "eliminated", "named", "newton", "null_space"]

BALANCED = 1e-9  # of forces against those that a move by 1 rad or 1 m gives, and of gaps (m, rad)
DOWN_STEPS, NEWTON_STEPS = 400, 120
LARGEST_MOVE = 0.5  # rad or m, of one step
NEAR = 1e-5  # from where on Newton's method goes on alone
RANK = 1e-9  # of singular values


Place = TypeVar("Place")


@dataclass(frozen=True)
class Candidate:
    """A position and a motion that may balance."""

    q: np.ndarray
    u: np.ndarray
    du: np.ndarray
    multipliers: np.ndarray
    p: np.ndarray


@dataclass(frozen=True)
class Roles:
    """What is unknown.

    Attributes:
        moves: velocities along whose directions the position may change.
        rates, carried: directions, as columns, along which velocities and accelerations may change.
        parameters: names of unknown parameters.
        moving: True for steady motions.
    """

    moves: tuple[int, ...]
    rates: np.ndarray
    carried: np.ndarray
    parameters: tuple[str, ...] = ()
    moving: bool = False

    @staticmethod
    def resting(nv: int, moves: Sequence[int], parameters: Sequence[str] = ()) -> Roles:
        """Of a mechanism at rest."""
        none = np.zeros((nv, 0))
        return Roles(tuple(moves), none, none, tuple(parameters))


class Balance:
    """The equations of one mechanism.

    Args:
        state: gives time and parameters.
    """

    def __init__(self, dynamics: Dynamics, state: State, roles: Roles):
        self.dynamics, self.roles, self.time = dynamics, roles, state.time
        self.perturb = dynamics.kernels.perturbations
        self.positions = Positions(dynamics, state)
        self.acting, self.holonomic = self._independent(state)
        self._columns = [dynamics.parameter_names.index(name) for name in roles.parameters]

    def _independent(self, state: State) -> tuple[list[int], list[int]]:
        """Rows to use: all that act, but of an over-constrained mechanism, such as Bennett's, only as many as are
        independent where it is closed. Off there the others would be, too, and hold it still."""
        positions, d = self.positions, self.dynamics
        held = rank_to_hold(d, state) if d.coordinates.name == "relative" else None
        if held is None:
            return positions.acting, positions.holonomic
        _, A, rank = settled_rank(positions, state.q)
        dependent = dependent_rows(A, rank)
        acting = [row for i, row in enumerate(positions.acting) if i not in dependent]
        return acting, [row for row in acting if row in positions.holonomic]

    def candidate(self, q: np.ndarray, u: np.ndarray, p: np.ndarray) -> Candidate:
        """With the multipliers that balance best."""
        made = Candidate(q, u, np.zeros(self.dynamics.nv), np.zeros(len(self.dynamics.rows)), p)
        return self.with_multipliers(made)

    def tangent(self, at: Candidate) -> dict[str, Any]:
        """Residuals and their derivatives."""
        return self.perturb.tangent(Point(self.time, at.q, at.u, at.p, at.du, at.multipliers))

    def with_multipliers(self, at: Candidate) -> Candidate:
        """λ of least norm that leaves the smallest forces; accelerations of carried velocities as the rows want."""
        T = self.tangent(replace(at, multipliers=np.zeros(len(self.dynamics.rows))))
        carried, accelerations = self.roles.carried, at.du
        if carried.shape[1]:
            accelerations = accelerations + carried @ _least(T["A"][self.acting] @ carried, -T["g"][self.acting])
            T = self.tangent(replace(at, multipliers=np.zeros(len(self.dynamics.rows)), du=accelerations))
        multipliers = np.zeros(len(self.dynamics.rows))
        if self.acting:
            multipliers[self.acting] = _least(T["A"][self.acting].T, T["r"])
        return replace(at, multipliers=multipliers, du=accelerations)

    # The system

    def force(self, T: dict[str, Any]) -> float:
        """What forces are compared with: the largest that a move by 1 gives, or that acts now."""
        return float(max(np.abs(T["r_q"] @ T["W"]).max(initial=0.0), np.abs(T["r"]).max(initial=0.0))) or 1.0

    def system(self, at: Candidate, force: float) -> tuple[np.ndarray, np.ndarray]:
        """Scaled residuals and their derivatives by the scaled unknowns."""
        T, roles, n = self.tangent(at), self.roles, len(self.holonomic)
        speed = 1.0 + np.abs(at.u).max(initial=0.0)
        A, W = T["A"], T["W"]
        act, hol = A[self.acting], A[self.holonomic]
        moves, B, C = list(roles.moves), roles.rates, roles.carried
        nb, nc, m = B.shape[1], C.shape[1], len(act)
        rows = [T["r"] / force, T["phi"][self.holonomic]]
        blocks = [
            [(T["r_q"] @ W)[:, moves] / force, T["r_u"] @ B / force, T["M"] @ C / force, -act.T],
            [hol[:, moves], np.zeros((n, nb + nc + m))],
        ]
        if roles.moving:
            rows += [T["v"][self.acting] / speed, T["g"][self.acting] / speed**2]
            v_q, g_q = (T[key][self.acting] @ W for key in ("v_q", "g_q"))
            g_u = T["g_u"][self.acting]
            blocks += [
                [v_q[:, moves] / speed, act @ B / speed, np.zeros((m, nc + m))],
                [g_q[:, moves] / speed**2, g_u @ B / speed**2, act @ C / speed**2, np.zeros((m, m))],
            ]
        J = np.block(blocks) if sum(map(len, rows)) else np.zeros((0, 0))
        if roles.parameters:
            J = np.hstack([J, self._by_parameters(at, force, speed)])
        return np.concatenate(rows), J

    def _by_parameters(self, at: Candidate, force: float, speed: float) -> np.ndarray:
        point = Point(self.time, at.q, at.u, at.p, at.du, at.multipliers)
        by = self.perturb.by_parameters(self.roles.parameters, point)
        parts = [by["r_p"] / force, by["phi_p"][self.holonomic]]
        if self.roles.moving:
            parts += [by["v_p"][self.acting] / speed, by["g_p"][self.acting] / speed**2]
        return np.concatenate(parts) * self._sizes(at.p)

    def _sizes(self, p: np.ndarray) -> np.ndarray:
        """By which steps of parameters are counted."""
        values = np.abs(p[self._columns])
        return np.where(values > 0, values, 1.0)

    def moved(self, at: Candidate, step: np.ndarray, force: float) -> Candidate:
        """After a step of the scaled unknowns."""
        roles, nv = self.roles, self.dynamics.nv
        a, b, c = len(roles.moves), roles.rates.shape[1], roles.carried.shape[1]
        xi, multipliers, p = np.zeros(nv), at.multipliers.copy(), at.p.copy()
        xi[list(roles.moves)] = step[:a]
        u, du = at.u + roles.rates @ step[a : a + b], at.du + roles.carried @ step[a + b : a + b + c]
        multipliers[self.acting] += force * step[a + b + c : a + b + c + len(self.acting)]
        p[self._columns] += step[a + b + c + len(self.acting) :] * self._sizes(at.p)
        return Candidate(self.shifted(at.q, xi), u, du, multipliers, p)

    def shifted(self, q: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """q along a tangent."""
        if not np.any(xi):
            return q.copy()
        return self.positions.moved(q, xi)

    # Ways to a solution

    def solve(self, at: Candidate) -> tuple[Candidate, float]:
        """By Newton's method with damping: the best that was found, and what is left."""
        at = self.with_multipliers(at)
        force = self.force(self.tangent(at))
        at = newton(
            at, lambda one: self.system(one, force), lambda one, step: self.moved(one, self._limited(step), force)
        )
        at = self.with_multipliers(at)
        return at, self.left(at)

    def _limited(self, step: np.ndarray) -> np.ndarray:
        longest = np.abs(step[: len(self.roles.moves)]).max(initial=0.0)
        return step * min(1.0, LARGEST_MOVE / longest) if longest > 0 else step

    def descend(self, at: Candidate) -> tuple[Candidate, float]:
        """Along the forces until they vanish, as with much friction; for mechanisms at rest."""
        radius = LARGEST_MOVE
        before: tuple[float, np.ndarray] | None = None
        for _ in range(DOWN_STEPS):
            at = self.with_multipliers(at)
            T = self.tangent(at)
            force = self.force(T)
            N = null_space(T["A"][self.acting])
            free = [i not in self.roles.moves for i in range(self.dynamics.nv)]
            N = N @ null_space(N[free]) if any(free) else N
            f, K = -N.T @ T["r"] / force, N.T @ (T["r_q"] @ T["W"]) @ N / force
            gap = _least(T["A"][self.holonomic], -T["phi"][self.holonomic])
            if before is not None and before[1] @ (N @ f) < -0.5 * before[0]:
                radius *= 0.5
            else:
                radius = min(LARGEST_MOVE, 1.5 * radius)
            if not np.isfinite(f).all() or np.abs(f).max(initial=0.0) < NEAR or radius < 1e-9:
                break
            step: np.ndarray = N @ _downhill(K, f, radius)
            before = float(step @ (N @ f)), step
            at = replace(at, q=self.shifted(at.q, step + gap))
        return self.solve(at)

    # What is left

    def left(self, at: Candidate) -> float:
        """The largest scaled residual."""
        force = self.force(self.tangent(replace(at, multipliers=np.zeros(len(self.dynamics.rows)))))
        F, _ = self.system(at, force)
        return float(np.abs(F).max(initial=0.0)) if np.isfinite(F).all() else float("inf")

    def unbalanced(self, at: Candidate) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces on all velocities that nothing balances, gaps of all rows, and rates of all rows."""
        T = self.tangent(self.with_multipliers(at))
        phi, v = np.zeros(len(self.dynamics.rows)), np.zeros(len(self.dynamics.rows))
        phi[self.holonomic], v[self.acting] = T["phi"][self.holonomic], T["v"][self.acting]
        return -T["r"], phi, v

    def neutral(self, at: Candidate, aside: np.ndarray | None = None) -> list[tuple[str, ...]]:
        """Directions in which nothing changes the balance: names of coordinates, and of velocities with ``.d``.

        Args:
            aside: positions along these columns do not count.
        """
        force = self.force(self.tangent(at))
        _, J = self.system(at, force)
        roles, names = self.roles, self.dynamics.u_names
        labels = [*(names[i] for i in roles.moves), *(f"{name}.d" for name in names), *roles.parameters]
        if not len(J):
            return []
        _, s, Vt = np.linalg.svd(J)
        free = Vt[int(np.sum(s > 1e-7 * s.max(initial=1.0))) :]
        a, b = len(roles.moves), roles.rates.shape[1]
        rest = a + b + roles.carried.shape[1] + len(self.acting)
        if aside is not None:
            xi = np.zeros((len(free), self.dynamics.nv))
            xi[:, list(roles.moves)] = free[:, :a]
            free = np.hstack([(xi - xi @ aside @ aside.T)[:, list(roles.moves)], free[:, a:]])
        return named(np.hstack([free[:, :a], free[:, a : a + b] @ roles.rates.T, free[:, rest:]]), labels)


def newton(
    at: Place, system: Callable[[Place], tuple[np.ndarray, np.ndarray]], moved: Callable[[Place, np.ndarray], Place]
) -> Place:
    """Newton's method with damping (Levenberg and Marquardt): the best place that was found.

    Args:
        system: scaled residuals at a place, and their derivatives.
        moved: a place after a step.
    """

    def step(damping: float) -> tuple[tuple[Place, np.ndarray, np.ndarray] | None, float]:
        """A step that leaves less, with more damping until it does; None if none does."""
        scale = float(np.linalg.norm(J))
        for _ in range(12):
            trial = moved(at, _damped(J, F, damping * min(1.0, best) * scale if damping > 1e-12 else 0.0))
            F_trial, J_trial = system(trial)
            size = float(np.linalg.norm(F_trial))
            if np.isfinite(size) and size < best:
                return (trial, F_trial, J_trial), damping
            damping = max(4 * damping, 1e-6)
        return None, damping

    F, J = system(at)
    best, damping = float(np.linalg.norm(F)), 1e-3
    for _ in range(NEWTON_STEPS):
        if not np.isfinite(best) or best < 1e-15:
            break
        taken, damping = step(damping)
        if taken is None:
            break
        at, F, J = taken
        before, best, damping = best, float(np.linalg.norm(F)), damping / 10
        if best > 0.9 * before and best < BALANCED:
            break
    return at


def named(directions: np.ndarray, labels: Sequence[str]) -> list[tuple[str, ...]]:
    """What moves in each of the independent directions."""
    found: list[tuple[str, ...]] = []
    for j, row in zip(*eliminated(directions, 1e-6), strict=True):
        others = [k for k in np.flatnonzero(np.abs(row) > 1e-5).tolist() if k != j]
        found.append((labels[j], *(labels[k] for k in others)))
    return found


def eliminated(rows: np.ndarray, least: float) -> tuple[list[int], np.ndarray]:
    """Rows of the same span by elimination with complete pivoting, and the columns in which one has 1 and the others 0;
    rows of which no entry is above ``least`` are left out."""
    rest, done, columns = rows.copy(), np.zeros((0, rows.shape[1])), list[int]()
    while rest.size and np.abs(rest).max() > least:
        i, j = np.unravel_index(np.argmax(np.abs(rest)), rest.shape)
        row = rest[i] / rest[i, j]
        rest = np.delete(rest - np.outer(rest[:, j], row), i, axis=0)
        done = np.vstack([done - np.outer(done[:, j], row), row])
        columns.append(int(j))
    return columns, done


def _least(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x of least norm that brings A x closest to b."""
    found: Any = np.linalg.lstsq(A, b, rcond=RANK)
    return found[0]


def null_space(A: np.ndarray) -> np.ndarray:
    """Orthonormal columns N with A N = 0."""
    _, s, Vt = np.linalg.svd(A)
    rank = int(np.sum(s > RANK * s.max(initial=0.0))) if s.size and s.max() > 0 else 0
    return Vt[rank:].T


def _damped(J: np.ndarray, F: np.ndarray, damping: float) -> np.ndarray:
    """−J⁺ F, shorter with damping; the least step where several would do."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    kept = s > RANK * s.max(initial=0.0)
    factors = np.zeros_like(s)
    factors[kept] = s[kept] / (s[kept] ** 2 + damping**2)
    return -Vt.T @ (factors * (U.T @ F))


def _downhill(K: np.ndarray, f: np.ndarray, radius: float) -> np.ndarray:
    """(K + μ)⁻¹ f with μ so large that it goes along f and not farther than the radius."""
    least = float(np.linalg.eigvalsh((K + K.T) / 2)[0])
    mu = 0.0 if least > 1e-6 else 1e-4 - least
    for _ in range(80):
        step = np.linalg.solve(K + mu * np.eye(len(f)), f)
        if np.abs(step).max() <= radius:
            return step
        mu = max(2 * mu, 1e-4)
    return radius * f / np.abs(f).max()
