"""Gauss's elimination with row pivoting in native code, for real and complex matrices."""

from __future__ import annotations

import numpy as np

from dalembert.native import native

__all__ = ["lu_factor", "lu_solve"]


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
