"""Singular values of many small matrices, as native code: rotations of pairs of rows until all are orthogonal.

Reference: G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th ed., sec. 8.6.3 (one-sided Jacobi).
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import native
from dalembert.numerics.reflections import dot

__all__ = ["changes_along", "singular_values", "sizes_of_rows"]

# Up to this many singular values rotations are quicker than LAPACK, whose calls take two microseconds each.
SMALL = 5
SWEEPS = 30
ORTHOGONAL = 1e-15
# Square of a length, relative to the largest, that is rounding.
DUST = 1e-30


def singular_values(matrices: np.ndarray) -> np.ndarray:
    """Singular values of matrices (n, rows, columns), largest first: (n, the smaller of rows and columns)."""
    n, rows, columns = matrices.shape
    if min(rows, columns) > SMALL or matrices.size == 0:
        return np.linalg.svd(matrices, compute_uv=False)
    sizes = np.empty((n, min(rows, columns)))
    _singular_values_along(matrices if rows <= columns else matrices.transpose(0, 2, 1), sizes)
    return sizes


def changes_along(matrices: np.ndarray, some: np.ndarray, each: int) -> np.ndarray:
    """How far at most, in the norm of Frobenius, matrices are from that one of ``some`` that stands for ``each`` of
    them in a row; the last one stands for the rest."""
    largest = np.zeros(len(some))
    _changes_along(matrices.reshape(len(matrices), -1), some.reshape(len(some), -1), each, largest)
    return largest


@native
def _changes_along(matrices: np.ndarray, some: np.ndarray, each: int, largest: np.ndarray):
    """The same for matrices as rows of numbers; NaN where one is."""
    for i in range(matrices.shape[0]):
        k = min(i // each, some.shape[0] - 1)
        square = 0.0
        for j in range(matrices.shape[1]):
            change = matrices[i, j] - some[k, j]
            square += change * change
        if square > largest[k] or square != square:
            largest[k] = square
    for k in range(largest.shape[0]):
        largest[k] = math.sqrt(largest[k])


@native
def _singular_values_along(matrices: np.ndarray, sizes: np.ndarray):
    """All of them; the matrices have no more rows than columns."""
    V = np.empty((matrices.shape[1], matrices.shape[2]))
    for i in range(matrices.shape[0]):
        V[:, :] = matrices[i]
        sizes_of_rows(V, sizes[i])


@native
def sizes_of_rows(V: np.ndarray, sizes: np.ndarray):
    """Singular values of one matrix with no more rows than columns, largest first; V is used up."""
    _orthogonalize(V)
    for j in range(V.shape[0]):
        size, k = math.sqrt(dot(V[j], V[j])), j
        while k > 0 and sizes[k - 1] < size:
            sizes[k] = sizes[k - 1]
            k -= 1
        sizes[k] = size


@native
def _orthogonalize(V: np.ndarray):
    """Rotate rows in pairs until all are orthogonal, but for those that are rounding."""
    largest = 0.0
    for i in range(V.shape[0]):
        largest += dot(V[i], V[i])
    for _ in range(SWEEPS):
        done = True
        for i in range(V.shape[0]):
            for j in range(i + 1, V.shape[0]):
                a, b, g = dot(V[i], V[i]), dot(V[j], V[j]), dot(V[i], V[j])
                if min(a, b) <= DUST * largest or abs(g) <= ORTHOGONAL * math.sqrt(a * b):
                    continue
                done = False
                ratio = (b - a) / (2.0 * g)
                tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                for k in range(V.shape[1]):
                    x, y = V[i, k], V[j, k]
                    V[i, k] = cosine * x - sine * y
                    V[j, k] = sine * x + cosine * y
        if done:
            break
