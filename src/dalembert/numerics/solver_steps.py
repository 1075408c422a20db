"""What the native solvers of formulations share: the null space of A, and steps that several have in common."""

from __future__ import annotations

import numpy as np

from dalembert.native import native, rare
from dalembert.numerics.context import FAILED, NO_MASS, NOT_FINITE, OK, Context, Solution, System, give_up, watch
from dalembert.numerics.elimination import echelon, echelon_basis, equilibrate
from dalembert.numerics.linear import (
    RANK_TOLERANCE,
    ROUNDING,
    cholesky,
    cholesky_substitute,
    constrained_factors,
    least_norm_multipliers,
    orthogonal_factors,
    pseudo_solve,
    solve_constrained,
)

__all__ = [
    "conflict_below", "largest_residual", "move_freely", "move_what_has_mass", "multipliers_after", "null_space",
    "reduced_mass", "undetermined",
]  # fmt: skip


@native
def null_space(c: Context, t: float, e: System, out: Solution) -> int:
    """u̇ and λ of  M u̇ = f + Aᵀλ,  A u̇ + γ = 0  with the null space of A, λ of least norm; u̇ alone where λ is unread."""
    multipliers = out.multipliers[: 0 if c.still else c.rows]
    status, rank, ratio, conflict = solve_constrained(e.M, e.f, e.A, e.gamma, out.du, multipliers)
    watch(c, rank, ratio, conflict)
    if status != OK and move_what_has_mass(e.M, e.f, e.A, e.gamma, out.du, out.multipliers) == OK:
        return OK
    return OK if status == OK else undetermined(c, e.M, e.A, NO_MASS)


@rare
def move_what_has_mass(
    M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, du: np.ndarray, multipliers: np.ndarray
) -> int:
    """u̇ of least norm where some direction has neither mass nor constraint, and no force pushes there: the turn of a
    point mass about itself. FAILED if one does, or if nothing has mass."""
    n, m = M.shape[0], A.shape[0]
    heaviest = 0.0
    for value in M.flat:
        heaviest = max(heaviest, abs(value))
    if heaviest == 0.0:
        return FAILED
    K, rhs, x = np.zeros((n + m, n + m)), np.empty(n + m), np.empty(n + m)
    K[:n, :n] = M
    K[:n, n:] = A.T
    K[n:, :n] = A
    rhs[:n] = f
    rhs[n:] = -gamma
    scale = equilibrate(K)
    rank, _, Q, R, pivots = orthogonal_factors(K, RANK_TOLERANCE, ROUNDING)
    pseudo_solve(rank, Q, R, pivots, rhs * scale, x)
    largest, missed = 0.0, K @ x - rhs * scale
    for value in rhs * scale:
        largest = max(largest, abs(value))
    for value in missed:
        if not abs(value) <= RANK_TOLERANCE * max(1.0, largest):
            return FAILED
    x *= scale
    du[:] = x[:n]
    multipliers[:] = -x[n:]
    return OK


@rare
def undetermined(c: Context, M: np.ndarray, A: np.ndarray, otherwise: int) -> int:
    """Why M and A gave no accelerations: numbers that are none, a direction with neither mass nor constraint, or what
    the formulation says itself."""
    for x in M.flat:
        if not np.isfinite(x):
            return give_up(c, NOT_FINITE)
    for x in A.flat:
        if not np.isfinite(x):
            return give_up(c, NOT_FINITE)
    return give_up(c, NO_MASS if constrained_factors(M, A)[0] != OK else otherwise)


@native
def conflict_below(T: np.ndarray, rank: int) -> float:
    """How much the rows that an elimination left without pivot contradict the others: their last column."""
    conflict = 0.0
    for i in range(rank, T.shape[0]):
        conflict = max(conflict, abs(T[i, T.shape[1] - 1]))
    return conflict


@native
def move_freely(M: np.ndarray, f: np.ndarray, R: np.ndarray, p: np.ndarray, du: np.ndarray) -> int:
    """u̇ = p + R z with  (Rᵀ M R) z = Rᵀ (f − M p);  FAILED if some free direction moves no mass."""
    H = R.T @ (M @ R)
    z = R.T @ (f - M @ p)
    if not cholesky(H):
        return FAILED
    cholesky_substitute(H, z)
    du[:] = p + R @ z
    return OK


@native
def multipliers_after(c: Context, e: System, out: Solution, rank: int, ratio: float) -> int:
    """Multipliers of least norm where u̇ is found; rank, pivots and residual are remembered. Returns OK."""
    watch(c, rank, ratio, largest_residual(e.A, e.gamma, out.du))
    least_norm_multipliers(e.M, e.f, e.A, out.du, out.multipliers)
    return OK


@native
def largest_residual(A: np.ndarray, gamma: np.ndarray, du: np.ndarray) -> float:
    """The largest entry of A u̇ + γ in size."""
    largest = 0.0
    for value in A @ du + gamma:
        largest = max(largest, abs(value))
    return largest


def reduced_mass(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Rᵀ M R with the R of an elimination of A with complete pivoting."""
    rank, _, T, _, columns = echelon(A, np.zeros(len(A)))
    R, _ = echelon_basis(T, rank, columns)
    return R.T @ M @ R
