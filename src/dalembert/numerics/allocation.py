"""Unknown forces from the balance of a constrained mechanism, as native code.

    Aᵀλ + B τ = r,    projected:  Z B τ = Z r,    rows of Z span the null space of A.

Of all τ that fulfill it, the one with the least Σ wᵢ τᵢ² is taken; then the shortest λ. What no τ can do is left over.
"""

from __future__ import annotations

import numpy as np

from dalembert.native import native
from dalembert.numerics.linear import RANK_TOLERANCE, orthogonal_factors, solve_constrained

__all__ = ["allocate_along", "balance_along"]

ROUNDING = 1e-11  # rows shorter than this are none
SHORT = 1e-9  # what may be left over, relative to the forces that are balanced


@native
def allocate_along(
    A: np.ndarray,
    r: np.ndarray,
    B: np.ndarray,
    weights: np.ndarray,
    E: np.ndarray,
    e: np.ndarray,
    tau: np.ndarray,
    short: np.ndarray,
) -> None:
    """Unknown forces at many instants.

    Args:
        A, r, B: one matrix, vector, matrix for each instant.
        weights: w of each unknown.
        E, e: for Z B and Z r, with zeros behind.
        tau: for the forces.
        short: for how much the projected equations contradict each other; 0 where they do not.
    """
    n, m = r.shape[1], weights.shape[0]
    W, none = np.zeros((m, m)), np.zeros(m)
    for j in range(m):
        W[j, j] = weights[j]
    for i in range(r.shape[0]):
        E[i] = 0.0
        e[i] = 0.0
        tau[i] = 0.0
        rank, Q = 0, np.eye(n)
        if A.shape[1] > 0:
            rank, _, Q, _, _ = orthogonal_factors(A[i], RANK_TOLERANCE, ROUNDING)
        free = n - rank
        size = 0.0
        for k in range(free):
            for j in range(n):
                e[i, k] += Q[rank + k, j] * r[i, j]
                for l in range(m):
                    E[i, k, l] += Q[rank + k, j] * B[i, j, l]
            size = max(size, abs(e[i, k]))
        conflict = size
        if m > 0 and free > 0:
            _, _, _, conflict = solve_constrained(W, none, E[i, :free], -e[i, :free], tau[i], np.empty(0))
        short[i] = conflict if conflict > SHORT * (1.0 + size) else 0.0


@native
def balance_along(A: np.ndarray, rest: np.ndarray, multipliers: np.ndarray, left: np.ndarray) -> None:
    """The shortest λ with Aᵀλ closest to the rest, and what is left of it, at many instants."""
    n, rows = rest.shape[1], A.shape[1]
    unit, none = np.eye(n), np.zeros(rows)
    for i in range(rest.shape[0]):
        left[i] = rest[i]
        if rows > 0:
            solve_constrained(unit, -rest[i], A[i], none, left[i], multipliers[i])
            for j in range(n):
                left[i, j] = -left[i, j]
