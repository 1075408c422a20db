"""Small dense linear algebra for any scalar: unrolled, no pivoting, for symmetric positive definite blocks."""

from __future__ import annotations

import numpy as np

from dalembert.algebra.base import Algebra

__all__ = ["solve_spd"]


def solve_spd(al: Algebra, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹ B for a symmetric positive definite A, by A = L D Lᵀ.

    B may be a vector or a matrix.
    """
    n = len(A)
    L, D = al.eye(n), al.zeros(n)
    for j in range(n):
        D[j] = A[j, j] - sum(L[j, k] * L[j, k] * D[k] for k in range(j))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] * D[k] for k in range(j))) / D[j]
    x = np.array(B, copy=True)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i, k] * x[k]
    for i in range(n):
        x[i] = x[i] / D[i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
    return x
