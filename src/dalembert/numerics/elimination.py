"""Elimination, semi-definite Cholesky factors and singular values in native code, for small dense matrices.

Reference: G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th ed., secs. 3.4 (pivoting), 4.2.8, 8.6.3 (one-sided
Jacobi).
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import native
from dalembert.numerics.linear import RANK_TOLERANCE, largest_entry, rounding_of

__all__ = [
    "echelon", "echelon_along", "echelon_basis", "equilibrate", "jacobi_svd", "lower_substitute", "semi_cholesky",
    "upper_substitute",
]  # fmt: skip


# Each halves the distance of the largest entries from 1, in digits.
SCALINGS = 4


@native
def _reduce(T: np.ndarray, k: int, column: int) -> None:
    """Take row k out of the rows below it."""
    for i in range(k + 1, T.shape[0]):
        factor = T[i, column] / T[k, column]
        if factor != 0.0:
            for j in range(T.shape[1]):
                T[i, j] -= factor * T[k, j]
            T[i, column] = 0.0


@native
def _swap(T: np.ndarray, rows: np.ndarray, i: int, k: int) -> None:
    for j in range(T.shape[1]):
        T[i, j], T[k, j] = T[k, j], T[i, j]
    rows[i], rows[k] = rows[k], rows[i]


@native
def echelon(A: np.ndarray, gamma: np.ndarray) -> tuple[int, float, np.ndarray, np.ndarray, np.ndarray]:
    """[A γ] by Gaussian elimination with complete pivoting.

    Returns:
        rank, ratio of the smallest to the largest pivot, the eliminated [A γ] with its columns in their old places,
        rows in the order taken, columns in the order taken: the first ``rank`` hold the pivots, the others are free.
    """
    m: int = A.shape[0]
    n: int = A.shape[1]
    T, rows, columns = np.empty((m, n + 1)), np.arange(m), np.arange(n)
    T[:, :n] = A
    T[:, n] = gamma
    least, rank, ratio, first = rounding_of(A), 0, 1.0, 0.0
    for k in range(min(m, n)):
        best, row, column = 0.0, k, k
        for i in range(k, m):
            for j in range(k, n):
                if abs(T[i, columns[j]]) > best:
                    best, row, column = abs(T[i, columns[j]]), i, j
        first = max(first, best)
        if not best > max(RANK_TOLERANCE * first, least):
            break
        _swap(T, rows, row, k)
        columns[k], columns[column] = columns[column], columns[k]
        _reduce(T, k, columns[k])
        ratio = best / first
        rank += 1
    return rank, ratio, T, rows, columns


@native
def echelon_along(
    A: np.ndarray, gamma: np.ndarray, columns: np.ndarray, rank: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """[A γ] by Gaussian elimination with pivots in the first ``rank`` of the given columns; rows are free to choose.

    Returns:
        ratio of the smallest to the largest pivot, 0 if these columns do not carry all equations; the eliminated [A γ];
        rows in the order taken.
    """
    m: int = A.shape[0]
    n: int = A.shape[1]
    T, rows = np.empty((m, n + 1)), np.arange(m)
    T[:, :n] = A
    T[:, n] = gamma
    smallest, largest, least = np.inf, 0.0, rounding_of(A)
    for k in range(rank):
        row = k
        for i in range(k, m):
            if abs(T[i, columns[k]]) > abs(T[row, columns[k]]):
                row = i
        pivot = abs(T[row, columns[k]])
        if not pivot > least:
            return 0.0, T, rows
        smallest, largest = min(smallest, pivot), max(largest, pivot)
        _swap(T, rows, row, k)
        _reduce(T, k, columns[k])
    for i in range(rank, m):
        for j in range(n):
            if abs(T[i, j]) > max(RANK_TOLERANCE * largest, least):
                return 0.0, T, rows
    return (smallest / largest if rank else 1.0), T, rows


@native
def echelon_basis(T: np.ndarray, rank: int, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R and p with u̇ = p + R z from an echelon form; z are the free entries of u̇ in the order of ``columns``."""
    n = columns.shape[0]
    R, p = np.zeros((n, n - rank)), np.zeros(n)
    for j in range(n - rank):
        R[columns[rank + j], j] = 1.0
    for k in range(rank - 1, -1, -1):
        row, pivot = columns[k], T[k, columns[k]]
        p[row] = -T[k, n]
        for j in range(n - rank):
            R[row, j] = -T[k, columns[rank + j]]
        for i in range(k + 1, rank):
            c = T[k, columns[i]]
            if c != 0.0:
                p[row] -= c * p[columns[i]]
                for j in range(n - rank):
                    R[row, j] -= c * R[columns[i], j]
        p[row] /= pivot
        for j in range(n - rank):
            R[row, j] /= pivot
    return R, p


@native
def semi_cholesky(H: np.ndarray, order: np.ndarray, tolerance: float) -> int:
    """The lower Cholesky factor of a semi-definite H in place, the largest pivot first; returns its rank."""
    n = H.shape[0]
    for k in range(n):
        order[k] = k
    first = 0.0
    for k in range(n):
        best = k
        for i in range(k, n):
            if H[i, i] > H[best, best]:
                best = i
        first = max(first, H[best, best])
        if not H[best, best] > tolerance * first:
            return k
        order[k], order[best] = order[best], order[k]
        for j in range(n):
            H[k, j], H[best, j] = H[best, j], H[k, j]
        for i in range(n):
            H[i, k], H[i, best] = H[i, best], H[i, k]
        H[k, k] = math.sqrt(H[k, k])
        for i in range(k + 1, n):
            H[i, k] /= H[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                H[i, j] -= H[i, k] * H[j, k]
    return n


@native
def jacobi_svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U Σ = A V by rotations of the columns of A (Hestenes): returns U Σ, V and the singular values, unsorted."""
    m, n = A.shape
    B, V, sizes = A.copy(), np.eye(n), np.zeros(n)
    floor = (1e-15 * largest_entry(A)) ** 2
    for _ in range(40):
        turned = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                a, b, c = 0.0, 0.0, 0.0
                for i in range(m):
                    a += B[i, p] * B[i, p]
                    b += B[i, q] * B[i, q]
                    c += B[i, p] * B[i, q]
                if abs(c) <= 1e-15 * math.sqrt(a * b) or abs(c) <= floor:
                    continue
                turned = True
                zeta = (b - a) / (2.0 * c)
                t = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + math.hypot(1.0, zeta))
                cos = 1.0 / math.hypot(1.0, t)
                sin = cos * t
                for i in range(m):
                    x, y = B[i, p], B[i, q]
                    B[i, p], B[i, q] = cos * x - sin * y, sin * x + cos * y
                for i in range(n):
                    x, y = V[i, p], V[i, q]
                    V[i, p], V[i, q] = cos * x - sin * y, sin * x + cos * y
        if not turned:
            break
    for j in range(n):
        for i in range(m):
            sizes[j] = math.hypot(sizes[j], B[i, j])
    return B, V, sizes


@native
def lower_substitute(L: np.ndarray, x: np.ndarray) -> None:
    """Solve with the lower triangle of L, in place."""
    for i in range(L.shape[0]):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]


@native
def upper_substitute(L: np.ndarray, x: np.ndarray) -> None:
    """Solve with the transpose of the lower triangle of L, in place."""
    for i in range(L.shape[0] - 1, -1, -1):
        for k in range(i + 1, L.shape[0]):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@native
def equilibrate(K: np.ndarray) -> np.ndarray:
    """Scale rows and columns of a symmetric K alike until the largest entry of each is about 1; returns the scale."""
    n = K.shape[0]
    scale, d = np.ones(n), np.ones(n)
    for _ in range(SCALINGS):
        for i in range(n):
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(K[i, j]))
            d[i] = 1.0 / math.sqrt(largest) if largest > 0.0 else 1.0
        for i in range(n):
            scale[i] *= d[i]
            for j in range(n):
                K[i, j] *= d[i] * d[j]
    return scale
