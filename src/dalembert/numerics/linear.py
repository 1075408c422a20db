"""Small dense linear algebra in native code: the constrained equations of motion with any rank.

    M u̇ = f + Aᵀλ,   A u̇ + γ = 0

is solved by the null space of A, so that redundant rows of A and massless directions of M need no special care:
with  P A = L Qᵀ  (``reflections``; rank r),  Q = [Q₁ Q₂],

    u̇ = Q₁ y + Q₂ z,    L₁₁ y = −γ₁,    (Q₂ᵀ M Q₂) z = Q₂ᵀ (f − M Q₁ y),    Lᵀλ = Q₁ᵀ (M u̇ − f).

Where rows depend on others, A₂ = S A₁, the shortest λ follows from p = L₁₁⁻ᵀ Q₁ᵀ (M u̇ − f):

    λ₁ = (1 + SᵀS)⁻¹ p,  λ₂ = S λ₁,    or the same by the smaller matrix  λ₂ = (1 + S Sᵀ)⁻¹ S p,  λ₁ = p − Sᵀλ₂.

Reference: J. García de Jalón, E. Bayo, "Kinematic and Dynamic Simulation of Multibody Systems", ch. 5 (matrix R).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalembert.native import native, rare, whole
from dalembert.numerics.reflections import Reflections, basis, dot, dot_along, reduce_rows, reflect

__all__ = [
    "FAILED", "OK", "RANK_TOLERANCE", "cholesky", "cholesky_substitute", "constrained_factors",
    "constrained_solution", "free_part", "held_part", "hold_rank", "largest_entry", "least_norm_multipliers",
    "lu_factor", "lu_solve", "orthogonal_factors", "pseudo_solve", "ranked_factors", "rounding_of", "solve_constrained",
]  # fmt: skip

OK = 0
FAILED = 1

# A pivot below this fraction of the first one counts as zero: positions are kept to about 1e-10, so redundant rows
# look independent to that order, and a mechanism this close to a singular position is treated as singular.
RANK_TOLERANCE = 1e-8

# A row shorter than this, against 1 (an angle per angle), is rounding and no equation. Against longer rows the rank
# tolerance decides.
ROUNDING = 1e-11


@native
def cholesky(H: np.ndarray) -> bool:
    """The lower Cholesky factor of H in place; False if H is not positive definite."""
    for j in range(H.shape[0]):
        d = H[j, j]
        least = 1e-14 * abs(d)
        for i in range(j):
            x = (H[j, i] - dot(H[j, :i], H[i, :i])) / H[i, i]
            H[j, i] = x
            d -= x * x
        if not d > least:
            return False
        H[j, j] = math.sqrt(d)
    return True


@native
def cholesky_substitute(H: np.ndarray, x: np.ndarray) -> None:
    """Solve with the Cholesky factor, in place."""
    n = H.shape[0]
    for i in range(n):
        s = x[i]
        for k in range(i):
            s -= H[i, k] * x[k]
        x[i] = s / H[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= H[i, i]
        for k in range(i):
            x[k] -= x[i] * H[i, k]


class Rows(NamedTuple):
    """The reduced rows of A (see ``Triangle``), how the rows beyond the rank depend on those before, A₂ = S A₁, and the
    Cholesky factor of the smaller of 1 + S Sᵀ and 1 + SᵀS."""

    L: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    used: int
    S: np.ndarray
    K: np.ndarray


class Free(NamedTuple):
    """The null space of A: entries of its basis vectors one after the other, their coordinates, where each begins; the
    Cholesky factor of Q₂ᵀ M Q₂."""

    values: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    H: np.ndarray


@rare
def _depend(L: np.ndarray, rows: np.ndarray, columns: np.ndarray, S: np.ndarray, K: np.ndarray) -> None:
    """How rows beyond the rank depend on those before."""
    (count, rank), n, size = S.shape, columns.shape[0], K.shape[0]
    row = np.empty(n)
    for j in range(count):
        row[:] = L[rows[rank + j]]
        for k in range(rank - 1, -1, -1):
            taken, c = rows[k], columns[k]
            factor = row[c] * L[taken, c]
            S[j, k] = factor
            if factor != 0.0:
                for i in range(n):
                    row[i] -= factor * L[taken, i]
    T = S if count <= rank else S.T.copy()
    for i in range(size):
        for j in range(i + 1):
            K[i, j] = dot(T[i], T[j]) + (1.0 if i == j else 0.0)
    cholesky(K)


@native
def _rows(L: np.ndarray, rows: np.ndarray, columns: np.ndarray, used: int, rank: int) -> Rows:
    """The reduced rows with what is known of those that depend on others."""
    count = used - rank
    size = min(count, rank)
    S, K = np.empty((count, rank)), np.empty((size, size))
    if count > 0:
        _depend(L, rows, columns, S, K)
    return Rows(L, rows, columns, used, S, K)


@native
def _combine(values: np.ndarray, places: np.ndarray, begin: int, end: int, M: np.ndarray, x: np.ndarray) -> None:
    """x ← zᵀM for a vector z with few entries, four rows of M side by side."""
    x[:] = 0.0
    whole = end - (end - begin) % 4
    for k in range(begin, whole, 4):
        a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
        Ma, Mb, Mc, Md = M[places[k]], M[places[k + 1]], M[places[k + 2]], M[places[k + 3]]
        for i in range(x.shape[0]):
            x[i] += (a * Ma[i] + b * Mb[i]) + (c * Mc[i] + d * Md[i])
    for k in range(whole, end):
        a, Ma = values[k], M[places[k]]
        for i in range(x.shape[0]):
            x[i] += a * Ma[i]


@native
def _free(M: np.ndarray, Q: Reflections, columns: np.ndarray, rank: int) -> tuple[int, Free]:
    """OK or FAILED, the null space of A and its mass matrix."""
    n = M.shape[0]
    free = n - rank
    values, places, starts = np.empty(free * n), np.empty(free * n, dtype=np.int64), np.empty(free + 1, dtype=np.int64)
    H, Z, x, end = np.empty((free, free)), np.empty((free, n)), np.empty(n), 0
    Z[:] = 0.0
    for j in range(free):
        Z[j, columns[rank + j]] = 1.0
    reflect(Q, rank - 1, rank, -1, Z)
    starts[0] = 0
    for j in range(free):
        for k in range(n):
            if Z[j, k] != 0.0:
                values[end], places[end] = Z[j, k], k
                end += 1
        starts[j + 1] = end
        _combine(values, places, starts[j], end, M, x)
        for i in range(j + 1):
            H[j, i] = dot_along(values, places, starts[i], starts[i + 1], x)
    return (OK if cholesky(H) else FAILED), Free(values, places, starts, H)


@native
def constrained_factors(M: np.ndarray, A: np.ndarray) -> tuple[int, int, float, Reflections, Rows, Free]:
    """Factors of the constrained equations, for any number of right-hand sides.

    Returns:
        status (OK, or FAILED if a direction has neither mass nor constraint), rank of A, ratio of the smallest pivot to
        the longest row, then Q, the reduced rows, the free directions.
    """
    rank, ratio, T, Q = reduce_rows(A, RANK_TOLERANCE, ROUNDING)
    status, free = _free(M, Q, T.columns, rank)
    return status, rank, ratio, Q, _rows(T.L, T.rows, T.columns, T.used, rank), free


@native
def constrained_solution(
    M: np.ndarray,
    f: np.ndarray,
    gamma: np.ndarray,
    Q: Reflections,
    R: Rows,
    H: Free,
    du: np.ndarray,
    multipliers: np.ndarray,
) -> float:
    """u̇ and λ from the factors; λ only if ``multipliers`` has room for it.

    Returns:
        the largest residual of redundant rows (0 if all constraints are compatible).
    """
    held = np.zeros((2, M.shape[0]))
    conflict = held_part(M, gamma, Q, R, held)
    free_part(M, f, Q, R, H, held, du, multipliers)
    return conflict


@native
def held_part(M: np.ndarray, gamma: np.ndarray, Q: Reflections, R: Rows, held: np.ndarray) -> float:
    """What the constraints alone say of u̇, which is the same for all forces: x with A x = −γ, and M x, in two rows that
    are zero before.

    Returns:
        as ``constrained_solution``.
    """
    n, m, rank, conflict = M.shape[0], R.rows.shape[0], R.S.shape[1], 0.0
    x = held[0]
    for k in range(rank):
        row = R.rows[k]
        s = -gamma[row]
        for i in range(k):
            c = R.columns[i]
            s -= R.L[row, c] * x[c]
        c = R.columns[k]
        x[c] = s * R.L[row, c]
    for k in range(rank, m):
        row = R.rows[k]
        conflict = max(conflict, abs(gamma[row] + (dot(R.L[row], x) if k < R.used else 0.0)))
    reflect(Q, rank - 1, rank, -1, held[:1])
    if rank < n:
        held[1] = M @ x
    return float(conflict)


@native
def free_part(
    M: np.ndarray,
    f: np.ndarray,
    Q: Reflections,
    R: Rows,
    H: Free,
    held: np.ndarray,
    du: np.ndarray,
    multipliers: np.ndarray,
):
    """u̇ and λ for the forces f, from ``held_part``."""
    n, rank = M.shape[0], R.S.shape[1]
    own = np.empty((1, n))
    rest = own[0]
    du[:] = held[0]
    if rank < n:
        z = np.empty(n - rank)
        for i in range(n):
            rest[i] = f[i] - held[1, i]
        for j in range(n - rank):
            z[j] = dot_along(H.values, H.places, H.starts[j], H.starts[j + 1], rest)
        cholesky_substitute(H.H, z)
        for j in range(n - rank):
            for k in range(H.starts[j], H.starts[j + 1]):
                du[H.places[k]] += z[j] * H.values[k]
    if multipliers.shape[0] > 0:
        rest[:] = M @ du
        for i in range(n):
            rest[i] -= f[i]
        reflect(Q, 0, rank, 1, own)
        _least_norm(R, rank, rest, multipliers)


@native
def _least_norm(R: Rows, rank: int, rest: np.ndarray, out: np.ndarray) -> None:
    """The shortest λ with Lᵀλ = rest, which is used up; zero for rows without entries."""
    n, p = rest.shape[0], np.empty(rank)
    for k in range(rank - 1, -1, -1):
        row, c = R.rows[k], R.columns[k]
        x = rest[c] * R.L[row, c]
        p[k] = x
        if x != 0.0:
            for i in range(n):
                rest[i] -= x * R.L[row, i]
    for j in range(rank, R.rows.shape[0]):
        out[R.rows[j]] = 0.0
    if rank < R.used:
        _shorten(R, p, R.rows[rank : R.used], out)
    for k in range(rank):
        out[R.rows[k]] = p[k]


@rare
def _shorten(R: Rows, p: np.ndarray, dependent: np.ndarray, out: np.ndarray) -> None:
    """p ← λ₁ of the shortest λ = (λ₁, λ₂) that does the same as (p, 0); λ₂ goes to the places of the dependent rows."""
    count, rank = R.S.shape
    other = np.empty(count)
    if count > rank:
        # λ₁ = (1 + SᵀS)⁻¹ p,  λ₂ = S λ₁
        cholesky_substitute(R.K, p)
        other[:] = R.S @ p
    else:
        # λ₂ = (1 + S Sᵀ)⁻¹ S p,  λ₁ = p − Sᵀλ₂
        other[:] = R.S @ p
        cholesky_substitute(R.K, other)
        for j in range(count):
            for k in range(rank):
                p[k] -= other[j] * R.S[j, k]
    for j in range(count):
        out[dependent[j]] = other[j]


@whole
def solve_constrained(
    M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, du: np.ndarray, multipliers: np.ndarray
) -> tuple[int, int, float, float]:
    """u̇ and λ of the constrained equations; λ only if ``multipliers`` has room for it.

    Returns:
        status (OK, or FAILED if a direction has neither mass nor constraint), rank of A, ratio of the smallest pivot to
        the longest row, largest residual of redundant rows (0 if all constraints are compatible).
    """
    rank, ratio, T, Q = reduce_rows(A, RANK_TOLERANCE, ROUNDING)
    status, free = _free(M, Q, T.columns, rank)
    if status != OK:
        return status, rank, ratio, 0.0
    R = _rows(T.L, T.rows, T.columns, T.used, rank)
    return OK, rank, ratio, constrained_solution(M, f, gamma, Q, R, free, du, multipliers)


@rare
def hold_rank(A: np.ndarray, rank: int, sides: np.ndarray) -> None:
    """Make A have a rank that is known, in place, with the right-hand sides (columns) that belong to its rows.

    Rows that depend on others at every position of an over-constrained mechanism look independent where the position
    is a little off, by as much as it is. Elimination with complete pivoting takes the ``rank`` strongest rows; of the
    others only what these say is kept.
    """
    m, n, k = A.shape[0], A.shape[1], sides.shape[1]
    # [A sides], and the largest entry of each row of A with its column; −1 for rows that were taken.
    B, sizes, places = np.empty((m, n + k)), np.empty(m), np.empty(m, dtype=np.int64)
    B[:, :n] = A
    B[:, n:] = sides
    for i in range(m):
        sizes[i], places[i] = _largest(B[i, :n])
    for _ in range(min(rank, m)):
        row = 0
        for i in range(1, m):
            if sizes[i] > sizes[row]:
                row = i
        if not sizes[row] > ROUNDING:
            return
        sizes[row], column = -1.0, places[row]
        for i in range(m):
            if sizes[i] >= 0.0 and B[i, column] != 0.0:
                factor = B[i, column] / B[row, column]
                for j in range(n + k):
                    B[i, j] -= factor * B[row, j]
                sizes[i], places[i] = _largest(B[i, :n])
    for i in range(m):
        if sizes[i] >= 0.0:
            for j in range(n):
                A[i, j] -= B[i, j]
            for j in range(k):
                sides[i, j] -= B[i, n + j]


@native
def _largest(row: np.ndarray) -> tuple[float, int]:
    """The largest entry of a row in size, and its place."""
    size, place = 0.0, 0
    for j in range(row.shape[0]):
        if abs(row[j]) > size:
            size, place = abs(row[j]), j
    return size, place


@native
def lu_factor(A: np.ndarray, pivots: np.ndarray) -> bool:
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


@native
def lu_solve(A: np.ndarray, pivots: np.ndarray, b: np.ndarray) -> None:
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


@native
def orthogonal_factors(
    B: np.ndarray, tolerance: float, rounding: float
) -> tuple[int, float, np.ndarray, np.ndarray, np.ndarray]:
    """Bᵀ P = Q R; returns rank, ratio of the smallest pivot to the longest row, Q, Rᵀ and pivots, vectors as rows."""
    m, n = B.shape
    rank, ratio, T, reflections = reduce_rows(B, tolerance, rounding)
    Q, R = np.empty((n, n)), np.empty((m, n))
    basis(reflections, T.columns, rank, 0, Q)
    for k in range(n):
        for j in range(m):
            R[j, k] = T.L[T.rows[j], T.columns[k]]
    for k in range(rank):
        R[k, k] = 1.0 / R[k, k]
    return rank, ratio, Q, R, T.rows


@native
def largest_entry(A: np.ndarray) -> float:
    """The largest entry of A in size, at least 1: against it rounding is measured."""
    largest = 1.0
    for x in A.flat:
        largest = max(largest, abs(x))
    return largest


@native
def rounding_of(A: np.ndarray) -> float:
    """A row of A that is shorter than this is rounding and no equation."""
    return ROUNDING * largest_entry(A)


@native
def ranked_factors(A: np.ndarray) -> tuple[int, float, np.ndarray, np.ndarray, np.ndarray]:
    """``orthogonal_factors`` of constraints, with their rank."""
    return orthogonal_factors(A, RANK_TOLERANCE, rounding_of(A))


@native
def pseudo_solve(rank: int, Q: np.ndarray, R: np.ndarray, pivots: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> None:
    """x = (Bᵀ)⁺ rhs with the factors of ``orthogonal_factors``: of all x that miss rhs least, the shortest."""
    m, n = R.shape
    L, rest, permuted = R.copy(), np.zeros(n), np.empty(m)
    for k in range(rank):
        L[k, k] = 1.0 / R[k, k]
        rest[k] = dot(Q[k], rhs)
    _least_norm(_rows(L, np.arange(m), np.arange(n), m, rank), rank, rest, permuted)
    for j in range(m):
        out[pivots[j]] = permuted[j]


@native
def least_norm_multipliers(
    M: np.ndarray, f: np.ndarray, A: np.ndarray, du: np.ndarray, multipliers: np.ndarray
) -> None:
    """λ of least norm with Aᵀλ = M u̇ − f."""
    rank, _, T, Q = reduce_rows(A, RANK_TOLERANCE, ROUNDING)
    rest = np.empty((1, du.shape[0]))
    rest[0] = M @ du - f
    reflect(Q, 0, rank, 1, rest)
    _least_norm(_rows(T.L, T.rows, T.columns, T.used, rank), rank, rest[0], multipliers)
