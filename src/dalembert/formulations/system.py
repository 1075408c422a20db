"""What the native solvers of formulations share: how they get their system, and steps that several have in common."""

from __future__ import annotations

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.numerics.elimination import echelon, echelon_basis
from dalembert.numerics.layout import CLOSURE, EXTRA, HOLONOMIC, NQ, NV, ROWS, blocks_of, entries, stabilised
from dalembert.numerics.linear import FAILED, OK, cholesky, cholesky_substitute
from dalembert.numerics.native import call_address, put

__all__ = [
    "conflict_below", "constraints_at", "dot", "largest_residual", "move_freely", "onto_rows", "product", "received",
    "reduced_mass",
]  # fmt: skip


@njit(cache=True, nogil=True)
def received(context, blocks, out):
    """The context, M, f, A, γ with Baumgarte's terms, φ, A u + b, and where u̇ and λ go."""
    c = entries(context)
    nv, rows, holonomic = c[NV], c[ROWS], c[HOLONOMIC]
    data = carray(blocks, nv * nv + nv + rows * nv + 2 * rows + holonomic + c[EXTRA] + nv)
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


@njit(cache=True, nogil=True)
def constraints_at(context, c, t, x):
    """φ, b, A and M at the position in x."""
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    still, values = np.zeros(nq + nv), np.empty(holonomic + rows + rows * nv + nv * nv)
    put(still, 0, x, 0, nq)
    call_address(c[CLOSURE], context, t, still, values)
    at = holonomic + rows
    A, M = values[at : at + rows * nv].reshape(rows, nv), values[at + rows * nv :].reshape(nv, nv)
    return values[:holonomic], values[holonomic:at], A, M


# Products as loops: these compile in a fraction of the time that @ takes.


@njit(cache=True, nogil=True)
def dot(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


@njit(cache=True, nogil=True)
def product(A, x):
    """A x."""
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i] += A[i, j] * x[j]
    return out


@njit(cache=True, nogil=True)
def onto_rows(A, x):
    """Aᵀ x."""
    out = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[j] += A[i, j] * x[i]
    return out


def reduced_mass(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Rᵀ M R with the R of an elimination of A with complete pivoting."""
    rank, _, T, _, columns = echelon(A, np.zeros(len(A)))
    R, _ = echelon_basis(T, rank, columns)
    return R.T @ M @ R
