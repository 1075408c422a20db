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

__all__ = [
    "FAILED",
    "OK",
    "RANK_TOLERANCE",
    "cholesky",
    "cholesky_substitute",
    "constrained_factors",
    "constrained_solution",
    "largest_entry",
    "least_norm_multipliers",
    "orthogonal_factors",
    "partition_step",
    "pseudo_solve",
    "solve_constrained",
]

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
def cholesky(H):
    """The lower Cholesky factor of H in place; False if H is not positive definite."""
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
    return True


@njit(cache=True, nogil=True)
def cholesky_substitute(H, x):
    """Solve with the Cholesky factor, in place."""
    n = H.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= H[i, k] * x[k]
        x[i] /= H[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= H[k, i] * x[k]
        x[i] /= H[i, i]


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
def constrained_factors(M, A):
    """Factors of the constrained equations, for any number of right-hand sides.

    Returns:
        status (OK, or FAILED if a direction has neither mass nor constraint), rank of A, ratio of the smallest to the
        largest pivot, then Q, R, pivots and the Cholesky factor of Q₂ᵀ M Q₂.
    """
    m, n = A.shape
    R, largest = np.empty((n, m)), 1.0
    for j in range(m):
        for i in range(n):
            R[i, j] = A[j, i]
            largest = max(largest, abs(A[j, i]))
    V, pivots = np.empty((n, min(n, m))), np.empty(m, dtype=np.int64)
    rank, ratio = pivoted_qr(R, V, pivots, RANK_TOLERANCE, ROUNDING * largest)
    Q = np.zeros((n, n))
    for i in range(n):
        Q[i, i] = 1.0
    for j in range(n):
        for k in range(rank - 1, -1, -1):
            _reflect(V[:, k], k, Q, j)
    free = n - rank
    MZ, H = np.zeros((n, free)), np.zeros((free, free))
    for i in range(n):
        for k in range(n):
            if M[i, k] != 0.0:
                for j in range(free):
                    MZ[i, j] += M[i, k] * Q[k, rank + j]
    for j in range(free):
        for k in range(free):
            for i in range(n):
                H[j, k] += Q[i, rank + j] * MZ[i, k]
    status = OK if cholesky(H) else FAILED
    return status, rank, ratio, Q, R, pivots, H


@njit(cache=True, nogil=True)
def constrained_solution(M, f, gamma, rank, Q, R, pivots, H, du, multipliers):
    """u̇ and λ from the factors; returns the largest residual of redundant rows (0 if all constraints are compatible)."""
    n, m = R.shape
    y, conflict = np.zeros(rank), 0.0
    for i in range(rank):
        s = -gamma[pivots[i]]
        for k in range(i):
            s -= R[k, i] * y[k]
        y[i] = s / R[i, i]
    for j in range(rank, m):
        s = gamma[pivots[j]]
        for k in range(rank):
            s += R[k, j] * y[k]
        conflict = max(conflict, abs(s))
    for i in range(n):
        s = 0.0
        for k in range(rank):
            s += Q[i, k] * y[k]
        du[i] = s
    free = n - rank
    if free > 0:
        z = np.zeros(free)
        for i in range(n):
            s = f[i]
            for k in range(n):
                s -= M[i, k] * du[k]
            for j in range(free):
                z[j] += Q[i, rank + j] * s
        cholesky_substitute(H, z)
        for i in range(n):
            for j in range(free):
                du[i] += Q[i, rank + j] * z[j]
    _multipliers(M, f, du, Q, R, rank, pivots, multipliers)
    return conflict


@njit(cache=True, nogil=True)
def solve_constrained(M, f, A, gamma, du, multipliers):
    """u̇ and λ of the constrained equations.

    Returns:
        status (OK, or FAILED if a direction has neither mass nor constraint), rank of A, ratio of the smallest to the
        largest pivot, largest residual of redundant rows (0 if all constraints are compatible).
    """
    status, rank, ratio, Q, R, pivots, H = constrained_factors(M, A)
    if status != OK:
        return status, rank, ratio, 0.0
    conflict = constrained_solution(M, f, gamma, rank, Q, R, pivots, H, du, multipliers)
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


@njit(cache=True, nogil=True)
def _alignment(M, Q, rank):
    """Δ_c of every coordinate: the part of its direction that is normal to the constraints, squared, in the metric M.

    With N = Q₁ an orthonormal basis of the rows of A:  Δ_c = (N (Nᵀ M⁻¹ N)⁻¹ Nᵀ)ᵢᵢ / Mᵢᵢ.  Where M is singular the
    metric is the Euclidean one.
    """
    n = Q.shape[0]
    L, S, share = M.copy(), np.zeros((rank, rank)), np.zeros(n)
    weighted = cholesky(L)
    for k in range(rank):
        column = Q[:, k].copy()
        if weighted:
            cholesky_substitute(L, column)
        for i in range(rank):
            for j in range(n):
                S[i, k] += Q[j, i] * column[j]
    cholesky(S)
    row = np.empty(rank)
    for i in range(n):
        for k in range(rank):
            row[k] = Q[i, k]
        cholesky_substitute(S, row)
        for k in range(rank):
            share[i] += Q[i, k] * row[k]
        if weighted:
            share[i] /= M[i, i]
    return share


@njit(cache=True, nogil=True)
def partition_step(M, A, residual, du):
    """A du = −residual by moving only as many coordinates as there are independent equations: those whose directions
    are most normal to the constraints. Returns (status, largest residual of redundant rows).

    Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
    sec. 5.3, eq. 67.
    """
    n = A.shape[1]
    status, rank, _, Q, R, pivots, H = constrained_factors(M, A)
    if status != OK:
        return status, 0.0
    conflict = constrained_solution(M, np.zeros(n), residual, rank, Q, R, pivots, H, du, np.empty(A.shape[0]))
    wanted = np.zeros((rank, 1))
    for k in range(rank):
        for i in range(n):
            wanted[k, 0] += Q[i, k] * du[i]
    order = np.argsort(-_alignment(M, Q, rank))
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
                B[k, found] = Q[i, k]
            for k in range(found):
                _reflect(V[:, k], k, B, found)
            size, rest = 0.0, 0.0
            for k in range(rank):
                size += B[k, found] ** 2
                rest += B[k, found] ** 2 if k >= found else 0.0
            if rest > least * least * size and size > 0.0:
                _householder(B, found, V)
                chosen[found] = i
                found += 1
    for k in range(rank):
        _reflect(V[:, k], k, wanted, 0)
    for k in range(rank - 1, -1, -1):
        for j in range(k + 1, rank):
            wanted[k, 0] -= B[k, j] * wanted[j, 0]
        wanted[k, 0] /= B[k, k]
    du[:] = 0.0
    for k in range(rank):
        du[chosen[k]] = wanted[k, 0]
    return OK, conflict


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def lu_factor(A, pivots):
    """P A = L U in place with row pivoting, real or complex; False if A is singular or not finite.

    L has ones on its diagonal, which are not stored; on the diagonal are the inverses of the pivots.
    """
    n = A.shape[0]
    for k in range(n):
        best, largest = k, 0.0
        for i in range(k, n):
            size = abs(A[i, k].real) + abs(A[i, k].imag)
            if not size <= largest:
                largest, best = size, i
        if not (largest > 0.0 and largest < np.inf):
            return False
        pivots[k] = best
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        inverse = 1.0 / A[k, k]
        A[k, k] = inverse
        for i in range(k + 1, n):
            if A[i, k] != 0.0:
                factor = A[i, k] * inverse
                A[i, k] = factor
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def lu_solve(A, pivots, b):
    """Solve A x = b in place with the factors of ``lu_factor``."""
    n = A.shape[0]
    for k in range(n):
        best = pivots[k]
        if best != k:
            b[k], b[best] = b[best], b[k]
    for i in range(1, n):
        s = b[i]
        for j in range(i):
            s -= A[i, j] * b[j]
        b[i] = s
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i, j] * b[j]
        b[i] = s * A[i, i]


# What the other routes to u̇ and λ stand on.


@njit(cache=True, nogil=True)
def orthogonal_factors(B, tolerance, rounding):
    """B P = Q R with column pivoting; returns rank, ratio of the smallest to the largest pivot, Q, R and pivots."""
    n, m = B.shape
    R = B.copy()
    V, pivots, Q = np.empty((n, min(n, m))), np.empty(m, dtype=np.int64), np.eye(n)
    rank, ratio = pivoted_qr(R, V, pivots, tolerance, rounding)
    for j in range(n):
        for k in range(rank - 1, -1, -1):
            _reflect(V[:, k], k, Q, j)
    return rank, ratio, Q, R, pivots


@njit(cache=True, nogil=True)
def largest_entry(A):
    """The largest entry of A in size, at least 1: against it rounding is measured."""
    largest = 1.0
    for x in A.flat:
        largest = max(largest, abs(x))
    return largest


@njit(cache=True, nogil=True)
def pseudo_solve(rank, Q, R, pivots, rhs, out):
    """x = B⁺ rhs with the factors of ``orthogonal_factors``: of all x that miss rhs least, the shortest."""
    n, m = R.shape
    y, permuted = np.zeros(rank), np.zeros(m)
    for k in range(rank):
        for i in range(n):
            y[k] += Q[i, k] * rhs[i]
    _least_norm(R, rank, y, permuted)
    for j in range(m):
        out[pivots[j]] = permuted[j]


@njit(cache=True, nogil=True)
def least_norm_multipliers(M, f, A, du, multipliers):
    """λ of least norm with Aᵀλ = M u̇ − f."""
    rank, _, Q, R, pivots = orthogonal_factors(A.T.copy(), RANK_TOLERANCE, ROUNDING * largest_entry(A))
    pseudo_solve(rank, Q, R, pivots, M @ du - f, multipliers)
