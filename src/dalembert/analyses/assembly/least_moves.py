"""Least moves that meet equations, dense ones and the sparse ones of large models."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from dalembert.values import ARRAY

__all__ = ["along_null_space", "least", "scaled", "stacked"]

_RCOND = 1e-10
SOFTENING = 1e-9  # of sparse least squares, and turns that take it back
TURNS = 6


def stacked(matrices: list[Any]) -> Any:
    """Rows of all matrices; sparse if the constraints of a large model are."""
    if isinstance(matrices[0], ARRAY):
        return np.concatenate(matrices)
    from scipy import sparse

    library: Any = sparse
    return library.vstack(matrices, "csr")


def scaled(A: Any, columns: np.ndarray) -> Any:
    """A with its columns multiplied."""
    return A * columns if isinstance(A, ARRAY) else A.multiply(columns[None]).tocsr()


def least(A: Any, b: np.ndarray) -> np.ndarray:
    """The x of least norm that brings A x closest to b."""
    if isinstance(A, ARRAY):
        return np.linalg.lstsq(cast(np.ndarray, A), b, rcond=_RCOND)[0]
    from scipy import sparse
    from scipy.sparse import linalg

    library: Any = sparse
    solvers: Any = linalg

    # x = Aᵀ (A Aᵀ + ε)⁻¹ b, refined until A x = b as far as it goes.
    factor: Any = solvers.splu((A @ A.T + SOFTENING * library.eye_array(A.shape[0])).tocsc())
    x = np.zeros(A.shape[1])
    for _ in range(TURNS):
        x += A.T @ factor.solve(b - A @ x)
    return x


def along_null_space(A: Any, J: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The step with A x = 0 that brings J x closest to what is missing."""
    A = A if isinstance(A, ARRAY) else A.toarray()
    _, sizes, Vt = np.linalg.svd(A)
    rank = int(np.sum(sizes > _RCOND * max(sizes.max(initial=0.0), 1e-300)))
    N = Vt[rank:].T
    return N @ np.linalg.lstsq(J @ N, missing, rcond=_RCOND)[0]
