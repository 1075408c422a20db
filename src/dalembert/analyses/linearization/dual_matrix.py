"""Matrices that carry their derivative along one direction: the same formulas give values and exact slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Dual", "join", "solve", "value_of"]


class Dual:
    """A matrix and its derivative."""

    __array_ufunc__ = None  # so that NumPy leaves products with us to us

    def __init__(self, value: np.ndarray, slope: np.ndarray):
        self.value, self.slope = value, slope

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def T(self) -> Dual:
        return Dual(self.value.T, self.slope.T)

    def __getitem__(self, at: Any) -> Dual:
        return Dual(self.value[at], self.slope[at])

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __add__(self, other: Any) -> Dual:
        other = _dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        return self + (-_dual(other))

    def __rsub__(self, other: Any) -> Dual:
        return -self + other

    def __matmul__(self, other: Any) -> Dual:
        other = _dual(other)
        return Dual(self.value @ other.value, self.slope @ other.value + self.value @ other.slope)

    def __rmatmul__(self, other: Any) -> Dual:
        return _dual(other) @ self


def _dual(matrix: Any) -> Dual:
    return matrix if isinstance(matrix, Dual) else Dual(np.asarray(matrix), np.zeros(np.shape(matrix)))


def value_of(matrix: Any) -> np.ndarray:
    """The matrix without its derivative."""
    return matrix.value if isinstance(matrix, Dual) else matrix


def solve(A: Any, b: Any) -> Any:
    """X of A X = B:  A Ẋ = Ḃ − Ȧ X."""
    linalg: Any = np.linalg
    if not isinstance(A, Dual) and not isinstance(b, Dual):
        return linalg.solve(A, b)
    A, b = _dual(A), _dual(b)
    x = linalg.solve(A.value, b.value)
    return Dual(x, linalg.solve(A.value, b.slope - A.slope @ x))


def join(*parts: Any) -> Any:
    """Matrices side by side."""
    if not any(isinstance(part, Dual) for part in parts):
        return np.concatenate(parts, axis=1)
    duals = [_dual(part) for part in parts]
    return Dual(
        np.concatenate([part.value for part in duals], axis=1), np.concatenate([part.slope for part in duals], axis=1)
    )
