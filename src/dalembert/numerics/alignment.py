"""Dependent coordinates chosen by how well their directions are aligned with the constraints, in native code."""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import native
from dalembert.numerics.linear import OK, cholesky, cholesky_substitute, constrained_factors, constrained_solution
from dalembert.numerics.reflections import basis, dot

__all__ = ["alignment", "partition_step"]

# Dense reflections for the choice of coordinates: unit vectors are rows of V, with zeros before place k.


@native
def _reflect(V: np.ndarray, k: int, B: np.ndarray, j: int) -> None:
    """Apply 1 − 2 v vᵀ to B[j], where v = V[k]."""
    s = 2.0 * dot(V[k, k:], B[j, k:])
    for i in range(k, V.shape[1]):
        B[j, i] -= s * V[k, i]


@native
def _householder(B: np.ndarray, k: int, V: np.ndarray) -> None:
    """The reflection that zeroes B[k, k+1:]; its unit vector goes to V[k]."""
    norm = math.sqrt(dot(B[k, k:], B[k, k:]))
    alpha = -norm if B[k, k] >= 0.0 else norm
    factor = 1.0 / math.sqrt(2.0 * norm * (norm + abs(B[k, k])))
    V[k, :k] = 0.0
    V[k, k] = (B[k, k] - alpha) * factor
    B[k, k] = alpha
    for i in range(k + 1, B.shape[1]):
        V[k, i] = B[k, i] * factor
        B[k, i] = 0.0


@native
def alignment(M: np.ndarray, Q: np.ndarray, rank: int) -> np.ndarray:
    """Δ_c of every coordinate: the part of its direction that is normal to the constraints, squared, in the metric M.

    With N = Q₁ an orthonormal basis of the rows of A:  Δ_c = (N (Nᵀ M⁻¹ N)⁻¹ Nᵀ)ᵢᵢ / Mᵢᵢ.  Where M is singular the
    metric is the Euclidean one.
    """
    n = Q.shape[1]
    L, S, share = M.copy(), np.zeros((rank, rank)), np.zeros(n)
    weighted = cholesky(L)
    for k in range(rank):
        column = Q[k].copy()
        if weighted:
            cholesky_substitute(L, column)
        for i in range(rank):
            for j in range(n):
                S[i, k] += Q[i, j] * column[j]
    cholesky(S)
    row = np.empty(rank)
    for i in range(n):
        for k in range(rank):
            row[k] = Q[k, i]
        cholesky_substitute(S, row)
        for k in range(rank):
            share[i] += Q[k, i] * row[k]
        if weighted:
            share[i] /= M[i, i]
    return share


@native
def partition_step(M: np.ndarray, A: np.ndarray, residual: np.ndarray, du: np.ndarray) -> tuple[int, float]:
    """A du = −residual by moving only as many coordinates as there are independent equations: those whose directions
    are most normal to the constraints. Returns (status, largest residual of redundant rows).

    Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
    sec. 5.3, eq. 67.
    """
    n = A.shape[1]
    status, rank, _, reflections, R, H = constrained_factors(M, A)
    if status != OK:
        return status, 0.0
    conflict = constrained_solution(M, np.zeros(n), residual, reflections, R, H, du, np.empty(0))
    wanted, Q = np.zeros((1, rank)), np.empty((rank, n))
    basis(reflections, R.columns, rank, 0, Q)
    for k in range(rank):
        wanted[0, k] = dot(Q[k], du)
    share = alignment(M, Q, rank)
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        best = 0
        for k in range(1, n):
            best = k if share[k] > share[best] else best
        order[i], share[best] = best, -np.inf
    B, V, chosen, found = np.zeros((rank, rank)), np.zeros((rank, rank)), np.empty(rank, dtype=np.int64), 0
    # A coordinate that adds little to those already chosen is passed over at first.
    for least in (0.1, 1e-8):
        for i in order:
            if found == rank:
                break
            taken = False
            for k in range(found):
                taken = taken or chosen[k] == i
            if taken:
                continue
            for k in range(rank):
                B[found, k] = Q[k, i]
            for k in range(found):
                _reflect(V, k, B, found)
            size, rest = 0.0, 0.0
            for k in range(rank):
                size += B[found, k] ** 2
                rest += B[found, k] ** 2 if k >= found else 0.0
            if rest > least * least * size and size > 0.0:
                _householder(B, found, V)
                chosen[found] = i
                found += 1
    for k in range(rank):
        _reflect(V, k, wanted, 0)
    for k in range(rank - 1, -1, -1):
        for j in range(k + 1, rank):
            wanted[0, k] -= B[j, k] * wanted[0, j]
        wanted[0, k] /= B[k, k]
    du[:] = 0.0
    for k in range(rank):
        du[chosen[k]] = wanted[0, k]
    return OK, conflict
