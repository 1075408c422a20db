"""Who gives which force: unknown forces from the balance of a mechanism, for any number of actuators.

The balance  Aᵀλ + B τ = r  is projected onto the directions in which the mechanism can move, E τ = e. As many unknowns
as freedoms: τ is unique. More: of all τ the one with the least Σ wᵢ τᵢ², within the limits if there are any,

    min ½ τᵀWτ   with   E τ = e,   low ≤ τ ≤ high,

a convex problem that is solved exactly: as the point of a polyhedron closest to the origin, by non-negative least
squares. Fewer, or limits too tight: the τ that leaves the least |E τ − e|; what it leaves is reported.

Reference: C. L. Lawson, R. J. Hanson, "Solving Least Squares Problems", ch. 23 (LDP, least distance programming).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.numerics.allocation import allocate_along, balance_along

__all__ = ["Allocation", "allocate"]

RANK = 1e-9  # of E, relative
FEASIBLE = 1e-9  # what limits may be exceeded by, relative


@dataclass(frozen=True)
class Allocation:
    """The forces at all instants.

    Attributes:
        tau: unknowns.  multipliers: λ.
        left: what no unknown can balance, as forces on all velocities.
        E, e: the projected balance E τ = e, with zeros behind.
        limited: True where a limit is reached.
        unique: True where no other τ does the same.
    """

    tau: np.ndarray
    multipliers: np.ndarray
    left: np.ndarray
    E: np.ndarray
    e: np.ndarray
    limited: np.ndarray
    unique: np.ndarray


def allocate(A: np.ndarray, r: np.ndarray, B: np.ndarray, weights: np.ndarray, limits: np.ndarray) -> Allocation:
    """Unknown forces and multipliers at all instants.

    Args:
        A, r, B: of the balance, one for each instant.
        weights: w of each unknown.
        limits: least and largest value of each unknown, infinite where there are none.
    """
    count, n = r.shape
    m = len(weights)
    E, e, tau, short = np.zeros((count, n, m)), np.zeros((count, n)), np.zeros((count, m)), np.zeros(count)
    allocate_along(A, r, B, weights, E, e, tau, short)
    for i in np.flatnonzero(short):
        tau[i] = _least_squares(E[i], e[i], weights)
    low, high = limits.T
    scale = FEASIBLE * (1.0 + np.abs(tau).max(initial=0.0))
    outside = np.flatnonzero(np.any((tau < low - scale) | (tau > high + scale), axis=1))
    for i in outside:
        tau[i] = within_limits(E[i], e[i], weights, low, high)
    limited = np.zeros(count, dtype=bool)
    limited[outside] = True
    multipliers, left = np.zeros(A.shape[:2]), np.empty((count, n))
    balance_along(A, r - np.einsum("tij,tj->ti", B, tau), multipliers, left)
    return Allocation(tau, multipliers, left, E, e, limited, _unique(E))


def _unique(E: np.ndarray) -> np.ndarray:
    """True where E has independent columns."""
    count, m = int(E.shape[0]), int(E.shape[2])
    if m == 0:
        return np.ones(count, dtype=bool)
    if m == 1:
        return np.asarray(np.any(E[:, :, 0] != 0, axis=1))
    sizes = np.linalg.svd(E, compute_uv=False)
    return np.asarray(np.sum(sizes > RANK * np.maximum(sizes[:, :1], 1e-300), axis=1) == int(m))


def _least_squares(E: np.ndarray, e: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of all τ with the least |E τ − e| the one with the least Σ wᵢ τᵢ²."""
    root = 1.0 / np.sqrt(weights)
    return root * np.linalg.lstsq(E * root, e, rcond=RANK)[0]


def within_limits(E: np.ndarray, e: np.ndarray, weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The τ within limits with E τ = e and the least Σ wᵢ τᵢ²; if there is none, that with the least |E τ − e|."""
    root = 1.0 / np.sqrt(weights)
    scaled = E * root
    first = np.linalg.lstsq(scaled, e, rcond=RANK)[0]
    if np.abs(scaled @ first - e).max(initial=0.0) > FEASIBLE * (1.0 + np.abs(e).max(initial=0.0)):
        return _bounded_least_squares(E, e, low, high)
    _, sizes, right = np.linalg.svd(scaled)
    rank = int(np.sum(sizes > RANK * max(sizes[0], 1e-300)))
    N = right[rank:].T  # x = √W τ = first + N z, first ⟂ N: |x|² = |first|² + |z|²
    if not N.size:
        return _bounded_least_squares(E, e, low, high)
    rows, sides = list[np.ndarray](), list[float]()
    for i, scale in enumerate(root):
        for sign, bound in ((1.0, low[i]), (-1.0, high[i])):
            if np.isfinite(bound):
                rows.append(sign * scale * N[i])
                sides.append(sign * (bound - scale * first[i]))
    z = _least_distance(np.array(rows), np.array(sides))
    if z is None:
        return _bounded_least_squares(E, e, low, high)
    return np.clip(root * (first + N @ z), low, high)


def _least_distance(G: np.ndarray, h: np.ndarray) -> np.ndarray | None:
    """The shortest z with G z ≥ h, or None if there is none."""
    import scipy.optimize

    scale = np.abs(h).max(initial=0.0) or 1.0
    F = np.vstack([G.T, h / scale])
    side = np.zeros(len(F))
    side[-1] = 1.0
    optimize: Any = scipy.optimize
    y, distance = optimize.nnls(F, side)
    if distance <= FEASIBLE:
        return None
    rest = F @ y - side
    return -scale * rest[:-1] / rest[-1]


def _bounded_least_squares(E: np.ndarray, e: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The τ within limits with the least |E τ − e|."""
    import scipy.optimize

    above = np.where(high > low, high, np.nextafter(low, np.inf))  # SciPy wants some room
    optimize: Any = scipy.optimize
    found = optimize.lsq_linear(E, e, (low, above), method="bvls", tol=1e-14)
    return np.clip(found.x, low, high)
