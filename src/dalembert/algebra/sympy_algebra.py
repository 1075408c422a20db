"""SymPy expressions: equations to read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra.base import FUNCTIONS, Algebra
from dalembert.values import INTEGER

__all__ = ["SYMPY", "SympyAlgebra", "readable_number"]

_LARGEST_DENOMINATOR = 64  # 0.5 reads 1/2; 0.083 stays 0.083


def readable_number(value: float) -> Any:
    """A number as a person would write it: exact integers and small fractions, else a decimal."""
    if isinstance(value, INTEGER):
        return sp.Integer(int(value))
    fraction = Fraction(float(value))
    if fraction.denominator <= _LARGEST_DENOMINATOR:
        return sp.Rational(fraction.numerator, fraction.denominator)
    return sp.Float(float(value))


class SympyAlgebra(Algebra):
    """Arrays of SymPy expressions."""

    name = "sympy"
    tiny = 0

    def constant(self, value: float) -> sp.Number:
        return readable_number(value)

    def number(self, value: Any) -> sp.Expr:
        return value

    def atan2(self, y: Any, x: Any) -> sp.Expr:
        return sp.atan2(y, x)

    def power(self, base: Any, exponent: Any) -> sp.Expr:
        return sp.Pow(base, exponent)

    def minimum(self, a: Any, b: Any) -> sp.Expr:
        return cast(sp.Expr, sp.Min(a, b))

    def maximum(self, a: Any, b: Any) -> sp.Expr:
        return cast(sp.Expr, sp.Max(a, b))

    def less(self, a: Any, b: Any) -> Any:
        return cast(Any, sp.Lt(a, b))

    def where(self, condition: Any, a: Any, b: Any) -> sp.Expr:
        return cast(sp.Expr, sp.Piecewise((a, condition), (b, True)))

    def symbol(self, name: str) -> sp.Symbol:
        return sp.Symbol(name, real=True)

    def jacobian(self, values: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        out = self.zeros(len(values), len(symbols))
        for i, value in enumerate(values):
            present = cast(Any, sp.sympify(value, strict=True)).free_symbols
            for j, symbol in enumerate(symbols):
                if not symbol.free_symbols.isdisjoint(present):
                    out[i, j] = sp.diff(value, symbol)
        return out

    def rate(self, values: np.ndarray, symbols: np.ndarray, direction: np.ndarray) -> np.ndarray:
        flat = np.asarray(values, dtype=object).reshape(-1)
        return (self.jacobian(flat, symbols) @ direction).reshape(np.shape(values))

    def substitute(self, values: np.ndarray, symbols: np.ndarray, replacements: np.ndarray) -> np.ndarray:
        swap = dict(zip(symbols, replacements, strict=True))
        flat = np.asarray(values, dtype=object).reshape(-1)
        changed = [cast(Any, value.xreplace(swap)) if isinstance(value, sp.Basic) else value for value in flat]
        return self.vector(changed).reshape(np.shape(values))

    def value(self, scalar: Any) -> float | None:
        return float(scalar) if getattr(scalar, "is_number", True) else None


for _name in FUNCTIONS:
    setattr(SympyAlgebra, _name, staticmethod(getattr(sp, {"absolute": "Abs"}.get(_name, _name))))

SYMPY = SympyAlgebra()
