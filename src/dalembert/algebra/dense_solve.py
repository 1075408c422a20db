"""Small dense linear algebra for any scalar, unrolled: no choice depends on a value that is not known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.algebra.base import Algebra

__all__ = ["solve", "solve_spd"]

Tidy = Callable[[np.ndarray], np.ndarray]

MOST_BY_MINORS = 3
LEAST_PIVOT = 1e-3  # of the largest constant entry: smaller ones may be rounding


def solve_spd(al: Algebra, A: np.ndarray, B: np.ndarray, tidy: Tidy | None = None) -> np.ndarray:
    """A⁻¹ B for a symmetric positive definite A, by A = L D Lᵀ.

    B may be a vector or a matrix.

    Args:
        tidy: what is done to every number as soon as it is there: over expressions, quotients that cancel do not grow.
    """
    n, tidy = len(A), tidy or _as_it_is
    L, D = al.eye(n), al.zeros(n)
    for j in range(n):
        D[j : j + 1] = tidy(A[j : j + 1, j] - sum(L[j, k] * L[j, k] * D[k] for k in range(j)))
        for i in range(j + 1, n):
            L[i : i + 1, j] = tidy((A[i : i + 1, j] - sum(L[i, k] * L[j, k] * D[k] for k in range(j))) / D[j])
    x = np.array(B, copy=True)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i, k] * x[k]
    for i in range(n):
        x[i : i + 1] = tidy(x[i : i + 1] / D[i])
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
        x[i : i + 1] = tidy(x[i : i + 1])
    return x


def _as_it_is(values: np.ndarray) -> np.ndarray:
    return values


def solve(al: Algebra, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹ B for any regular A.

    Pivots are entries that cannot vanish: constants, and entries alone in their row. What is left falls into blocks
    that have nothing in common; each is solved by minors or, if it is large, by orthogonal columns.
    """
    A, B = np.array(A, dtype=object, copy=True), np.array(B, dtype=object, copy=True)
    vector = B.ndim == 1
    B = B.reshape(len(A), 1 if vector else B.shape[1])
    rows, columns = list(range(len(A))), list(range(len(A)))
    done: list[tuple[int, int]] = []
    while (pivot := _safe_pivot(al, A, rows, columns)) is not None:
        i, j = pivot
        done.append(pivot)
        rows.remove(i)
        columns.remove(j)
        for k in rows:
            if not _is_zero(al, A[k, j]):
                factor = A[k, j] / A[i, j]
                A[k] = A[k] - factor * A[i]
                A[k, j] = al.constant(0)
                B[k] = B[k] - factor * B[i]
    x = np.empty_like(B)
    for block_rows, block_columns in _blocks(al, A, rows, columns):
        x[block_columns] = _solve_block(al, A[np.ix_(block_rows, block_columns)], B[block_rows])
    known = list(columns)
    for i, j in reversed(done):
        rest = B[i]
        for k in known:
            rest = rest - A[i, k] * x[k]
        x[j] = rest / A[i, j]
        known.append(j)
    return x[:, 0] if vector else x


def _is_zero(al: Algebra, scalar: object) -> bool:
    return al.value(scalar) == 0


def _safe_pivot(al: Algebra, A: np.ndarray, rows: list[int], columns: list[int]) -> tuple[int, int] | None:
    """A constant entry, of the row with the fewest others, or an entry alone in its row."""
    best, least = None, (len(A) + 1, 0.0)
    constants = (al.value(A[i, j]) for i in rows for j in columns)
    enough = LEAST_PIVOT * max((abs(value) for value in constants if value is not None), default=0.0)
    for i in rows:
        filled = [j for j in columns if not _is_zero(al, A[i, j])]
        for j in filled:
            value = al.value(A[i, j])
            if len(filled) > 1 and (value is None or abs(value) < enough):
                continue
            cost = (len(filled), -abs(value) if value is not None else 0.0)
            if cost < least:
                best, least = (i, j), cost
    return best


def _blocks(al: Algebra, A: np.ndarray, rows: list[int], columns: list[int]) -> list[tuple[list[int], list[int]]]:
    """Rows and columns that hang together."""
    found: list[tuple[list[int], list[int]]] = []
    left = list(rows)
    while left:
        some_rows: list[int] = []
        some_columns: set[int] = set()
        new = [left[0]]
        while new:
            some_rows += new
            left = [i for i in left if i not in new]
            some_columns |= {j for i in new for j in columns if not _is_zero(al, A[i, j])}
            new = [i for i in left if any(not _is_zero(al, A[i, j]) for j in some_columns)]
        found.append((some_rows, sorted(some_columns)))
    return found


def _solve_block(al: Algebra, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    if A.shape[0] != A.shape[1]:
        raise ZeroDivisionError(f"{A.shape[0]} equations for {A.shape[1]} unknowns: the matrix is singular")
    if len(A) <= MOST_BY_MINORS:
        return _adjugate(al, A) @ B / _determinant(al, A)
    return _by_columns(al, A, B)


def _determinant(al: Algebra, A: np.ndarray) -> object:
    if len(A) == 0:
        return al.constant(1)
    total = al.constant(0)
    for j in range(len(A)):
        total = total + (-1) ** j * (A[0, j] * _determinant(al, np.delete(A[1:], j, axis=1)))
    return total


def _adjugate(al: Algebra, A: np.ndarray) -> np.ndarray:
    out = np.empty_like(A)
    for i in range(len(A)):
        for j in range(len(A)):
            minor = np.delete(np.delete(A, j, axis=0), i, axis=1)
            out[i, j] = (-1) ** (i + j) * _determinant(al, minor)
    return out


def _by_columns(al: Algebra, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A = Q R by modified Gram-Schmidt, with B carried along: as stable as reflections."""
    n = len(A)
    A, B = A.copy(), B.copy()
    R, y = al.zeros(n, n), np.empty_like(B)
    for k in range(n):
        R[k, k] = al.sqrt(A[:, k] @ A[:, k])
        q = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = q @ A[:, j]
            A[:, j] = A[:, j] - R[k, j] * q
        y[k] = q @ B
        B = B - np.outer(q, y[k])
    x = np.empty_like(B)
    for k in reversed(range(n)):
        rest = y[k]
        for j in range(k + 1, n):
            rest = rest - R[k, j] * x[j]
        x[k] = rest / R[k, k]
    return x
