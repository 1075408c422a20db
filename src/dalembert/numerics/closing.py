"""Loops closed by multipliers, once it is known what each multiplier moves."""

from __future__ import annotations

import numpy as np

from dalembert.native import native
from dalembert.numerics.elimination import equilibrate
from dalembert.numerics.linear import dot, orthogonal_factors, pseudo_solve, ranked_factors

__all__ = ["close_loops"]

# Pivots of the scaled compliance below this fraction of its first: it squares the condition of A.
REDUNDANT = 1e-12

# The second turn corrects what the condition of the compliance cost the first.
TURNS = 3


@native
def close_loops(
    A: np.ndarray, gamma: np.ndarray, Y: np.ndarray, compliance: np.ndarray, du: np.ndarray, multipliers: np.ndarray
) -> tuple[int, float, float]:
    """u̇ ← u̇ + Y λ with  A u̇ + γ = 0,  compliance = A Y + diag(0 … 0, rows that yield);  rank, pivots and conflict of A.

    Rows beyond the number of multipliers yield. With redundant rows λ is the one of least norm.
    """
    k, nv, rows = A.shape[0], A.shape[1], multipliers.shape[0]
    K = compliance.copy()
    scale = equilibrate(K)
    _weigh(A, K, scale)
    full, _, Q, R, pivots = orthogonal_factors(K, REDUNDANT, 0.0)
    total, residual, step = np.zeros(k), np.empty(k), np.empty(k)
    for _ in range(TURNS):
        for i in range(k):
            s = -gamma[i]
            for j in range(nv):
                s -= A[i, j] * du[j]
            if i >= rows:
                s -= _own(A, Y, compliance, i) * total[i]
            residual[i] = s * scale[i]
        pseudo_solve(full, Q, R, pivots, residual, step)
        for i in range(k):
            step[i] *= scale[i]
            total[i] += step[i]
        for j in range(nv):
            for i in range(k):
                du[j] += Y[j, i] * step[i]
    conflict = 0.0
    for i in range(rows):
        s = gamma[i]
        for j in range(nv):
            s += A[i, j] * du[j]
        conflict = max(conflict, abs(s))
        multipliers[i] = total[i]
    stiff = A[:rows].copy()
    rank, ratio, Q, R, pivots = ranked_factors(stiff)
    if rank < rows:
        pseudo_solve(rank, Q, R, pivots, stiff.T @ multipliers.copy(), multipliers)
    return rank, ratio, conflict


@native
def _weigh(A: np.ndarray, K: np.ndarray, scale: np.ndarray):
    """Inertias are scaled away, lengths of rows are not: a row that all but vanishes must not have the say of a whole
    one, such as that of the height of a disc that a loop keeps upright."""
    k, lengths, longest = A.shape[0], np.zeros(A.shape[0]), 0.0
    for i in range(k):
        lengths[i] = np.sqrt(dot(A[i], A[i]))
        longest = max(longest, lengths[i])
    if longest == 0.0:
        return
    for i in range(k):
        scale[i] *= lengths[i] / longest
        for j in range(k):
            K[i, j] *= lengths[i] / longest * (lengths[j] / longest)


@native
def _own(A: np.ndarray, Y: np.ndarray, compliance: np.ndarray, i: int) -> float:
    """How much a row yields by itself."""
    s = compliance[i, i]
    for j in range(A.shape[1]):
        s -= A[i, j] * Y[j, i]
    return s
