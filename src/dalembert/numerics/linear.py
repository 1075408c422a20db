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
    "hold_rank",
    "largest_entry",
    "least_norm_multipliers",
    "lu_factor",
    "lu_solve",
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


# Vectors are stored as rows: row j of A is column j of Aᵀ, and basis vector k of Q is Q[k].


@njit(cache=True, nogil=True, error_model="numpy")
def _reflect(V, k, B, j):
    """Apply 1 − 2 v vᵀ to B[j], where v = V[k] is a unit vector with zeros before place k."""
    s = 0.0
    for i in range(k, V.shape[1]):
        s += V[k, i] * B[j, i]
    s *= 2.0
    for i in range(k, V.shape[1]):
        B[j, i] -= s * V[k, i]


@njit(cache=True, nogil=True, error_model="numpy")
def _householder(B, k, V):
    """The reflection that zeroes B[k, k+1:]; its unit vector goes to V[k]."""
    n, square = B.shape[1], 0.0
    for i in range(k, n):
        square += B[k, i] * B[k, i]
    norm = math.sqrt(square)
    if norm == 0.0:
        for i in range(n):
            V[k, i] = 0.0
        return
    alpha = -norm if B[k, k] >= 0.0 else norm
    factor = 1.0 / math.sqrt(2.0 * norm * (norm + abs(B[k, k])))
    for i in range(k):
        V[k, i] = 0.0
    V[k, k] = (B[k, k] - alpha) * factor
    B[k, k] = alpha
    for i in range(k + 1, n):
        V[k, i] = B[k, i] * factor
        B[k, i] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def pivoted_qr(B, V, pivots, tolerance, rounding):
    """Bᵀ P = Q R in place, Rᵀ instead of B, with pivoting of rows of B; returns the rank and the smallest accepted
    pivot over the largest.

    Pivots below ``tolerance`` times the first one, or below ``rounding``, count as zero.
    """
    m, n = B.shape
    rank, ratio, first = 0, 1.0, 0.0
    for k in range(min(n, m)):
        best, largest = k, -1.0
        for j in range(k, m):
            s = 0.0
            for i in range(k, n):
                s += B[j, i] * B[j, i]
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
                B[k, i], B[best, i] = B[best, i], B[k, i]
            pivots[k], pivots[best] = pivots[best], pivots[k]
        _householder(B, k, V)
        for j in range(k + 1, m):
            _reflect(V, k, B, j)
        rank += 1
    return rank, ratio


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def _least_norm(R, rank, rhs, out):
    """The shortest λ with R[:, :rank]ᵀ λ = rhs, by the QR factors of R[:, :rank]."""
    m = R.shape[0]
    B, V, row = np.empty((rank, m)), np.empty((rank, m)), np.zeros((1, m))
    for i in range(rank):
        for j in range(m):
            B[i, j] = R[j, i]
    for k in range(rank):
        _householder(B, k, V)
        for j in range(k + 1, rank):
            _reflect(V, k, B, j)
    for i in range(rank):
        s = rhs[i]
        for k in range(i):
            s -= B[i, k] * row[0, k]
        row[0, i] = s / B[i, i]
    for k in range(rank - 1, -1, -1):
        _reflect(V, k, row, 0)
    for j in range(m):
        out[j] = row[0, j]


@njit(cache=True, nogil=True, error_model="numpy")
def constrained_factors(M, A):
    """Factors of the constrained equations, for any number of right-hand sides.

    Returns:
        status (OK, or FAILED if a direction has neither mass nor constraint), rank of A, ratio of the smallest to the
        largest pivot, then Q, R, pivots (rows of A that are zero come last, and are not in R) and the Cholesky factor
        of Q₂ᵀ M Q₂.
    """
    m, n = A.shape
    # One piece of memory for all: for a few bodies, asking for memory takes longer than computing.
    memory, pivots = np.empty((m + min(m, n) + 2 * n + 1, n)), np.empty(m, dtype=np.int64)
    used, zero, largest = 0, m, 1.0
    for j in range(m):
        size = 0.0
        for i in range(n):
            memory[used, i] = A[j, i]
            size = max(size, abs(A[j, i]))
        if size == 0.0:
            zero -= 1
            pivots[zero] = j
        else:
            pivots[used] = j
            used += 1
            largest = max(largest, size)
    R, V, Q, H = memory[:used], memory[m : m + min(m, n)], memory[-2 * n - 1 : -n - 1], memory[-n - 1 :]
    rank, ratio = pivoted_qr(R, V, pivots, RANK_TOLERANCE, ROUNDING * largest)
    for j in range(n):
        for i in range(n):
            Q[j, i] = 1.0 if i == j else 0.0
        for k in range(min(rank, j + 1) - 1, -1, -1):
            _reflect(V, k, Q, j)
    return _reduce_mass(M, Q, H, rank), rank, ratio, Q, R, pivots, H[: n - rank, : n - rank]


@njit(cache=True, nogil=True, error_model="numpy")
def _reduce_mass(M, Q, H, rank):
    """The Cholesky factor of Q₂ᵀ M Q₂ in the upper left of H, whose last row is scratch space; OK or FAILED."""
    n = M.shape[0]
    free = n - rank
    for j in range(free):
        for i in range(n):
            s = 0.0
            for k in range(n):
                s += M[i, k] * Q[rank + j, k]
            H[n, i] = s
        for k in range(free):
            s = 0.0
            for i in range(n):
                s += Q[rank + k, i] * H[n, i]
            H[k, j] = s
    return OK if cholesky(H[:free, :free]) else FAILED


@njit(cache=True, nogil=True, error_model="numpy")
def constrained_solution(M, f, gamma, rank, Q, R, pivots, H, du, multipliers):
    """u̇ and λ from the factors.

    Returns:
        the largest residual of redundant rows (0 if all constraints are compatible).
    """
    n, m, used, free, conflict = Q.shape[0], pivots.shape[0], R.shape[0], Q.shape[0] - rank, 0.0
    memory = np.empty(max(n, m))
    for i in range(rank):
        s = -gamma[pivots[i]]
        for k in range(i):
            s -= R[i, k] * memory[k]
        memory[i] = s / R[i, i]
    for j in range(rank, m):
        s = gamma[pivots[j]]
        if j < used:
            for k in range(rank):
                s += R[j, k] * memory[k]
        conflict = max(conflict, abs(s))
    for i in range(n):
        s = 0.0
        for k in range(rank):
            s += Q[k, i] * memory[k]
        du[i] = s
    if free > 0:
        z = memory[:free]
        z[:] = 0.0
        for i in range(n):
            s = f[i]
            for k in range(n):
                s -= M[i, k] * du[k]
            for j in range(free):
                z[j] += Q[rank + j, i] * s
        cholesky_substitute(H, z)
        for i in range(n):
            for j in range(free):
                du[i] += Q[rank + j, i] * z[j]
    _multipliers(M, f, du, Q, R, rank, pivots, memory, multipliers)
    return conflict


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def _multipliers(M, f, du, Q, R, rank, pivots, memory, multipliers):
    """λ of least norm with Aᵀλ = M u̇ − f; zero for rows of A that are zero."""
    n, m, used = Q.shape[0], pivots.shape[0], R.shape[0]
    for k in range(rank):
        memory[k] = 0.0
    for i in range(n):
        s = -f[i]
        for k in range(n):
            s += M[i, k] * du[k]
        for k in range(rank):
            memory[k] += Q[k, i] * s
    if rank < used:
        _least_norm(R, rank, memory[:rank].copy(), memory)
    else:
        for i in range(rank - 1, -1, -1):
            for k in range(i + 1, rank):
                memory[i] -= R[k, i] * memory[k]
            memory[i] /= R[i, i]
    for j in range(m):
        multipliers[pivots[j]] = memory[j] if j < used else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def hold_rank(A, rank, sides):
    """Make A have a rank that is known, in place, with the right-hand sides (columns) that belong to its rows.

    Rows that depend on others at every position of an over-constrained mechanism look independent where the position
    is a little off, by as much as it is. Elimination with complete pivoting takes the ``rank`` strongest rows; of the
    others only what these say is kept.
    """
    m, n = A.shape
    k = sides.shape[1]
    B, taken = np.empty((m, n + k)), np.zeros(m, dtype=np.bool_)
    for i in range(m):
        for j in range(n):
            B[i, j] = A[i, j]
        for j in range(k):
            B[i, n + j] = sides[i, j]
    for _ in range(min(rank, m)):
        largest, row, column = 0.0, -1, -1
        for i in range(m):
            if not taken[i]:
                for j in range(n):
                    if abs(B[i, j]) > largest:
                        largest, row, column = abs(B[i, j]), i, j
        if not largest > ROUNDING:
            return
        taken[row] = True
        for i in range(m):
            factor = B[i, column] / B[row, column]
            if not taken[i] and factor != 0.0:
                for j in range(n + k):
                    B[i, j] -= factor * B[row, j]
    for i in range(m):
        if not taken[i]:
            for j in range(n):
                A[i, j] -= B[i, j]
            for j in range(k):
                sides[i, j] -= B[i, n + j]


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
    wanted = np.zeros((1, rank))
    for k in range(rank):
        for i in range(n):
            wanted[0, k] += Q[k, i] * du[i]
    share = _alignment(M, Q, rank)
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
    """Bᵀ P = Q R; returns rank, ratio of the smallest to the largest pivot, Q, Rᵀ and pivots, vectors as rows."""
    m, n = B.shape
    R, V, pivots, Q = B.copy(), np.empty((min(n, m), n)), np.arange(m), np.eye(n)
    rank, ratio = pivoted_qr(R, V, pivots, tolerance, rounding)
    for j in range(n):
        for k in range(rank - 1, -1, -1):
            _reflect(V, k, Q, j)
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
    """x = (Bᵀ)⁺ rhs with the factors of ``orthogonal_factors``: of all x that miss rhs least, the shortest."""
    m, n = R.shape
    y, permuted = np.zeros(rank), np.zeros(m)
    for k in range(rank):
        for i in range(n):
            y[k] += Q[k, i] * rhs[i]
    _least_norm(R, rank, y, permuted)
    for j in range(m):
        out[pivots[j]] = permuted[j]


@njit(cache=True, nogil=True)
def least_norm_multipliers(M, f, A, du, multipliers):
    """λ of least norm with Aᵀλ = M u̇ − f."""
    rank, _, Q, R, pivots = orthogonal_factors(A, RANK_TOLERANCE, ROUNDING * largest_entry(A))
    pseudo_solve(rank, Q, R, pivots, M @ du - f, multipliers)
