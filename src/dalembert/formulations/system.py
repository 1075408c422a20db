"""What the native solvers of formulations share: how they get their system, and steps that several have in common."""

from __future__ import annotations

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.numerics.elimination import echelon, echelon_basis
from dalembert.numerics.layout import HOLONOMIC, NV, ROWS, blocks_of, entries, stabilised
from dalembert.numerics.linear import FAILED, OK, cholesky, cholesky_substitute

__all__ = ["conflict_below", "largest_residual", "move_freely", "received", "reduced_mass"]


@njit(cache=True, nogil=True)
def received(context, blocks, out):
    """The context, M, f, A, γ with Baumgarte's terms, φ, A u + b, and where u̇ and λ go."""
    c = entries(context)
    nv, rows, holonomic = c[NV], c[ROWS], c[HOLONOMIC]
    data = carray(blocks, nv * nv + nv + rows * nv + 2 * rows + holonomic + nv)
    M, f, A, gamma, _, phi, rate = blocks_of(c, data)
    result = carray(out, nv + rows)
    return c, M, f, A, stabilised(c, gamma, phi, rate), phi, rate, result[:nv], result[nv:]


@njit(cache=True, nogil=True)
def conflict_below(T, rank):
    """How much the rows that an elimination left without pivot contradict the others: their last column."""
    conflict = 0.0
    for i in range(rank, T.shape[0]):
        conflict = max(conflict, abs(T[i, T.shape[1] - 1]))
    return conflict


@njit(cache=True, nogil=True)
def move_freely(M, f, R, p, du):
    """u̇ = p + R z with  (Rᵀ M R) z = Rᵀ (f − M p);  FAILED if some free direction moves no mass."""
    H = R.T @ (M @ R)
    z = R.T @ (f - M @ p)
    if not cholesky(H):
        return FAILED
    cholesky_substitute(H, z)
    du[:] = p + R @ z
    return OK


@njit(cache=True, nogil=True)
def largest_residual(A, gamma, du):
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
