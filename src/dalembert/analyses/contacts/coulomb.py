"""Coulomb's law in what touches, as a complementarity problem: for impulses in an impact, for forces at rest.

With normal parts n ≥ 0, tangential parts p, and the rates  (w, s) = W (n, p) + q  that they leave:

    0 ≤ w  ⊥  n − least ≥ 0,      −p ∈ μ n Sgn(s)

In plane motion each p is a number. With p = p⁺ − p⁻ it becomes a linear problem
(D. E. Stewart, J. C. Trinkle, "An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and
Coulomb friction", Int. J. Numer. Meth. Engng 39 (1996) 2673-2691), whose matrix is copositive where W is positive
semidefinite: Lemke's method finds a solution.

What slides any way in a plane has two parts, and −p ∈ μ n s/|s|, |p| ≤ μ n where s = 0. From the solution with each
part on its own, Newton's method on projections leads there (P. Alart, A. Curnier, "A mixed formulation for frictional
contact problems prone to Newton like solution methods", Comput. Methods Appl. Mech. Engrg. 92 (1991) 353-375):

    n = max(least, n − ρ w),      p = (p − ρ s) cut to the length μ n
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.analyses.contacts.complementarity import lemke, solve_complementarity

__all__ = ["Rubs"]

TINY = 1e-9  # of the largest rate or impulse: what is smaller may be none
MOST_STEPS, CLOSE, SHORTEST = 60, 1e-13, 1e-3  # of Newton's method: how many, how near, how far shortened


@dataclass(frozen=True)
class Rubs:
    """Which tangential parts there are.

    Attributes:
        gaps: the normal part that each belongs to.
        grip: μ of each.
        directions: how many parts each friction has, in their order; default: one.
    """

    gaps: Sequence[int]
    grip: Sequence[float]
    directions: Sequence[int] = ()

    @classmethod
    def of(cls, rubs: Sequence[tuple[int, float, int]]) -> Rubs:
        """From the normal part, μ and the number of directions of each friction."""
        gaps = [gap for gap, _, directions in rubs for _ in range(directions)]
        grip = [mu for _, mu, directions in rubs for _ in range(directions)]
        return cls(gaps, grip, [directions for *_, directions in rubs])

    def solve(self, W: np.ndarray, q: np.ndarray, least: np.ndarray | None = None) -> np.ndarray | None:
        """(n, p), or None if there is no solution; W and q have the normal parts first."""
        z = self._apart(W, q, least)
        if z is None or all(directions == 1 for directions in self.directions):
            return z
        for _ in range(MOST_STEPS):
            r, slopes = self._projected(W, q, least, z)
            missed = np.abs(r).max()
            if missed <= CLOSE * np.abs(z).max():
                return z
            step, share = np.linalg.lstsq(slopes, -r, rcond=CLOSE)[0], 1.0
            while share > SHORTEST and np.abs(self._projected(W, q, least, z + share * step)[0]).max() >= missed:
                share /= 2
            z = z + share * step
        return None

    def _projected(
        self, W: np.ndarray, q: np.ndarray, least: np.ndarray | None, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """By how much n and p are not their projections, and its derivatives by them."""
        n, w, unit = len(q) - len(self.gaps), W @ z + q, np.eye(len(q))
        floor = np.zeros(n) if least is None else least
        r, slopes = z.copy(), unit.copy()
        for i in range(n):
            rho = 1.0 / max(W[i, i], 1e-300)
            if z[i] - rho * w[i] > floor[i]:
                r[i], slopes[i] = rho * w[i], rho * W[i]
            else:
                r[i] -= floor[i]
        first = n
        for directions in self.directions:
            own, gap, mu = slice(first, first + directions), self.gaps[first - n], self.grip[first - n]
            first = own.stop
            rho = directions / max(float(np.trace(W[own, own])), 1e-300)
            way, limit = z[own] - rho * w[own], mu * max(z[gap], 0.0)
            size = float(np.linalg.norm(way))
            if size <= limit:
                r[own], slopes[own] = rho * w[own], rho * W[own]
                continue
            d = way / size
            r[own] -= limit * d
            slopes[own] -= limit / size * (np.eye(directions) - np.outer(d, d)) @ (unit[own] - rho * W[own])
            slopes[own, gap] -= mu * d if z[gap] > 0.0 else 0.0
        return r, slopes

    def _apart(self, W: np.ndarray, q: np.ndarray, least: np.ndarray | None = None) -> np.ndarray | None:
        """The same with every part on its own."""
        m = len(self.gaps)
        n = len(q) - m
        floor = np.zeros(n) if least is None else least
        if m == 0:
            push = solve_complementarity(W, q + W[:, :n] @ floor)
            return None if push is None else push + floor
        C = np.zeros((m, n))
        C[np.arange(m), self.gaps] = self.grip
        start = q + W[:, :n] @ floor
        # Everything of the size 1: lengths of W in impulses, of q in rates.
        unit = max(float(np.abs(W).max()), 1e-300)
        rate = float(np.abs(start).max(initial=0.0))
        if rate == 0.0:
            return np.concatenate([floor, np.zeros(m)])
        N, T, E = slice(0, n), slice(n, n + m), np.eye(m)
        V, r, scale = W / unit, start / rate, rate / unit
        plus, minus, rest = T, slice(n + m, n + 2 * m), slice(n + 2 * m, n + 3 * m)
        problem = np.zeros((n + 3 * m, n + 3 * m))
        problem[: n + m, : n + m], problem[N, minus], problem[plus, minus] = V, -V[N, T], -V[T, T]
        problem[minus, N], problem[minus, plus], problem[minus, minus] = -V[T, N], -V[T, T], V[T, T]
        problem[plus, rest] = problem[minus, rest] = E
        problem[rest, N], problem[rest, plus], problem[rest, minus] = C, -E, -E
        found = lemke(problem, np.concatenate([r[N], r[T], -r[T], C @ floor / scale]))
        if found is None:
            return None
        z = np.concatenate([found[N], found[plus] - found[minus]])
        return self._polished(V, r, C, floor / scale, z) * scale + np.concatenate([floor, np.zeros(m)])

    def _polished(self, V: np.ndarray, r: np.ndarray, C: np.ndarray, floor: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The same solution with the accuracy of one linear solution; of least norm where loads are shared."""
        n, w = len(floor), V @ z + r
        push = z[:n] + floor
        for closed in (w[:n] <= TINY, (w[:n] <= TINY) & (z[:n] > TINY)):
            rows, sides = list[np.ndarray](), list[float]()
            unit = np.eye(len(z))
            for i in range(n):
                rows.append(V[i] if closed[i] else unit[i])
                sides.append(-r[i] if closed[i] else 0.0)
            for k in range(len(z) - n):
                i, limit = n + k, float(C[k] @ push)
                if abs(w[i]) <= TINY and abs(z[i]) <= limit + TINY:
                    rows.append(V[i])
                    sides.append(-r[i])
                else:  # p = ∓ μ n
                    side = -np.sign(w[i]) if abs(w[i]) > TINY else np.sign(z[i])
                    row = unit[i].copy()
                    row[:n] -= side * C[k]
                    rows.append(row)
                    sides.append(float(side * C[k] @ floor))
            A, b = np.array(rows), np.array(sides)
            better = np.linalg.lstsq(A, b, rcond=1e-12)[0]
            exact = float(np.abs(A @ better - b).max()) <= 1e-12 * (1.0 + np.abs(better).max())
            if exact and self._holds(V @ better + r, better, C, floor):
                return better
        return z

    def _holds(self, w: np.ndarray, z: np.ndarray, C: np.ndarray, floor: np.ndarray) -> bool:
        """Whether nothing pulls, enters, or rubs by more than it may."""
        n = len(floor)
        limits = C @ (z[:n] + floor)
        return bool(np.all(z[:n] >= -TINY) and np.all(w[:n] >= -TINY) and np.all(np.abs(z[n:]) <= limits + TINY))
