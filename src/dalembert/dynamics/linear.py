"""Small dense linear algebra in native code: the constrained equations of motion with any rank.

    M u̇ = f + Aᵀλ,   A u̇ + γ = 0

is solved by the null space of A, so that redundant rows of A and massless directions of M need no special care:
with  Aᵀ P = Q R  (column pivoting, rank r),  Q = [Q₁ Q₂],

    u̇ = Q₁ y + Q₂ z,    R₁₁ᵀ y = −γ₁,    (Q₂ᵀ M Q₂) z = Q₂ᵀ (f − M Q₁ y),    R λ = Q₁ᵀ (M u̇ − f),  λ of least norm.

Reference: J. García de Jalón, E. Bayo, "Kinematic and Dynamic Simulation of Multibody Systems", ch. 5 (matrix R).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["FAILED", "OK", "RANK_TOLERANCE", "cholesky_solve", "solve_constrained"]

OK = 0
FAILED = 1

# A pivot below this fraction of the first one counts as zero: positions are kept to about 1e-10, so redundant rows
# look independent to that order, and a mechanism this close to a singular position is treated as singular.
RANK_TOLERANCE = 1e-8

# A row whose entries are below this, against 1 (an angle per angle) or the largest entry, is rounding and no equation.
ROUNDING = 1e-11


@njit(cache=True, nogil=True)
def _reflect(v, start, B, column):
    """Apply 1 − 2 v vᵀ (v a unit vector, zero before ``start``) to one column of B."""
    s = 0.0
    for i in range(start, v.shape[0]):
        s += v[i] * B[i, column]
    s *= 2.0
    for i in range(start, v.shape[0]):
        B[i, column] -= s * v[i]


@njit(cache=True, nogil=True)
def _householder(B, k, V):
    """The reflection that zeroes B[k+1:, k]; its unit vector goes to V[:, k]."""
    n = B.shape[0]
    norm = 0.0
    for i in range(k, n):
        norm = math.hypot(norm, B[i, k])
    for i in range(n):
        V[i, k] = 0.0
    if norm == 0.0:
        return
    alpha = -norm if B[k, k] >= 0.0 else norm
    V[k, k] = B[k, k] - alpha
    for i in range(k + 1, n):
        V[i, k] = B[i, k]
    length = 0.0
    for i in range(k, n):
        length = math.hypot(length, V[i, k])
    for i in range(k, n):
        V[i, k] /= length
    B[k, k] = alpha
    for i in range(k + 1, n):
        B[i, k] = 0.0


@njit(cache=True, nogil=True)
def pivoted_qr(B, V, pivots, tolerance, rounding):
    """B P = Q R in place with column pivoting; returns the rank and the smallest accepted pivot over the largest.

    Pivots below ``tolerance`` times the first one, or below ``rounding``, count as zero.
    """
    n, m = B.shape
    for j in range(m):
        pivots[j] = j
    rank, ratio, first = 0, 1.0, 0.0
    for k in range(min(n, m)):
        best, largest = k, -1.0
        for j in range(k, m):
            s = 0.0
            for i in range(k, n):
                s += B[i, j] * B[i, j]
            if s > largest:
                largest, best = s, j
        largest = math.sqrt(largest)
        if k == 0:
            first = largest
        if largest <= max(tolerance * first, rounding):
            break
        ratio = largest / first
        if best != k:
            for i in range(n):
                B[i, k], B[i, best] = B[i, best], B[i, k]
            pivots[k], pivots[best] = pivots[best], pivots[k]
        _householder(B, k, V)
        for j in range(k + 1, m):
            _reflect(V[:, k], k, B, j)
        rank += 1
    return rank, ratio


@njit(cache=True, nogil=True)
def cholesky_solve(H, x):
    """Solve H x = rhs in place for a symmetric positive definite H; False if it is not."""
    n = H.shape[0]
    for j in range(n):
        d = H[j, j]
        for k in range(j):
            d -= H[j, k] * H[j, k]
        if not d > 1e-14 * abs(H[j, j]):
            return False
        d = math.sqrt(d)
        H[j, j] = d
        for i in range(j + 1, n):
            s = H[i, j]
            for k in range(j):
                s -= H[i, k] * H[j, k]
            H[i, j] = s / d
    for i in range(n):
        for k in range(i):
            x[i] -= H[i, k] * x[k]
        x[i] /= H[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= H[k, i] * x[k]
        x[i] /= H[i, i]
    return True


@njit(cache=True, nogil=True)
def _least_norm(R, rank, rhs, out):
    """The shortest λ with R[:rank] λ = rhs, by the QR factors of R[:rank]ᵀ."""
    m = R.shape[1]
    B = np.empty((m, rank))
    for i in range(rank):
        for j in range(m):
            B[j, i] = R[i, j]
    V = np.empty((m, rank))
    for k in range(rank):
        _householder(B, k, V)
        for j in range(k + 1, rank):
            _reflect(V[:, k], k, B, j)
    column = np.zeros((m, 1))
    for i in range(rank):
        s = rhs[i]
        for k in range(i):
            s -= B[k, i] * column[k, 0]
        column[i, 0] = s / B[i, i]
    for k in range(rank - 1, -1, -1):
        _reflect(V[:, k], k, column, 0)
    for j in range(m):
        out[j] = column[j, 0]


@njit(cache=True, nogil=True)
def solve_constrained(M, f, A, gamma, du, multipliers):
    """u̇ and λ of the constrained equations.

    Returns:
        status (OK, or FAILED if a direction has neither mass nor constraint), rank of A, ratio of the smallest to the
        largest pivot, largest residual of redundant rows (0 if all constraints are compatible).
    """
    m, n = A.shape
    B, largest = np.empty((n, m)), 1.0
    for j in range(m):
        for i in range(n):
            B[i, j] = A[j, i]
            largest = max(largest, abs(A[j, i]))
    V, pivots = np.empty((n, min(n, m))), np.empty(m, dtype=np.int64)
    rank, ratio = pivoted_qr(B, V, pivots, RANK_TOLERANCE, ROUNDING * largest)
    Q = np.zeros((n, n))
    for i in range(n):
        Q[i, i] = 1.0
    for j in range(n):
        for k in range(rank - 1, -1, -1):
            _reflect(V[:, k], k, Q, j)
    y, conflict = np.zeros(rank), 0.0
    for i in range(rank):
        s = -gamma[pivots[i]]
        for k in range(i):
            s -= B[k, i] * y[k]
        y[i] = s / B[i, i]
    for j in range(rank, m):
        s = gamma[pivots[j]]
        for k in range(rank):
            s += B[k, j] * y[k]
        conflict = max(conflict, abs(s))
    for i in range(n):
        s = 0.0
        for k in range(rank):
            s += Q[i, k] * y[k]
        du[i] = s
    free = n - rank
    if free > 0:
        MZ = np.zeros((n, free))
        rest = np.empty(n)
        for i in range(n):
            s = f[i]
            for k in range(n):
                if M[i, k] != 0.0:
                    s -= M[i, k] * du[k]
                    for j in range(free):
                        MZ[i, j] += M[i, k] * Q[k, rank + j]
            rest[i] = s
        H, z = np.zeros((free, free)), np.zeros(free)
        for j in range(free):
            for i in range(n):
                z[j] += Q[i, rank + j] * rest[i]
            for k in range(free):
                for i in range(n):
                    H[j, k] += Q[i, rank + j] * MZ[i, k]
        if not cholesky_solve(H, z):
            return FAILED, rank, ratio, conflict
        for i in range(n):
            for j in range(free):
                du[i] += Q[i, rank + j] * z[j]
    _multipliers(M, f, du, Q, B, rank, pivots, multipliers)
    return OK, rank, ratio, conflict


@njit(cache=True, nogil=True)
def _multipliers(M, f, du, Q, R, rank, pivots, multipliers):
    """λ of least norm with Aᵀλ = M u̇ − f."""
    n, m = Q.shape[0], R.shape[1]
    force, rhs, permuted = np.empty(n), np.zeros(rank), np.zeros(m)
    for i in range(n):
        s = -f[i]
        for k in range(n):
            s += M[i, k] * du[k]
        force[i] = s
    for k in range(rank):
        for i in range(n):
            rhs[k] += Q[i, k] * force[i]
    _least_norm(R, rank, rhs, permuted)
    for j in range(m):
        multipliers[pivots[j]] = permuted[j]
