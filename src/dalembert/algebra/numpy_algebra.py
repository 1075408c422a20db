"""Floats: the oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.algebra.base import Algebra

__all__ = ["NUMPY", "NumpyAlgebra"]


class NumpyAlgebra(Algebra):
    """Plain float64 arrays."""

    name = "numpy"
    sin, cos, tan = staticmethod(math.sin), staticmethod(math.cos), staticmethod(math.tan)
    asin, acos, atan = staticmethod(math.asin), staticmethod(math.acos), staticmethod(math.atan)
    sinh, cosh, tanh = staticmethod(math.sinh), staticmethod(math.cosh), staticmethod(math.tanh)
    exp, log, sqrt = staticmethod(math.exp), staticmethod(math.log), staticmethod(math.sqrt)
    absolute = staticmethod(abs)

    @staticmethod
    def sign(x: float) -> float:
        return float(np.sign(x))

    def constant(self, value: float) -> float:
        return float(value)

    def atan2(self, y: float, x: float) -> float:
        return math.atan2(y, x)

    def power(self, base: float, exponent: float) -> float:
        return math.pow(base, exponent)

    def minimum(self, a: float, b: float) -> float:
        return min(a, b)

    def maximum(self, a: float, b: float) -> float:
        return max(a, b)

    def less(self, a: float, b: float) -> bool:
        return a < b

    def where(self, condition: bool, a: float, b: float) -> float:
        return a if condition else b

    def find(self, x: float, knots: np.ndarray) -> float:
        return float(np.searchsorted(knots, x, side="right"))

    def pick(self, index: float, values: np.ndarray) -> float:
        return float(values[int(index)])

    def array(self, values: Any) -> np.ndarray:
        return np.array(values, dtype=float)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.zeros(shape)

    def eye(self, n: int) -> np.ndarray:
        return np.eye(n)


NUMPY = NumpyAlgebra()
