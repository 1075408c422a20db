"""Roots of squares: √(cos² θ) is cos θ where cos θ > 0, and that is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra.sympy_algebra import readable_number
from dalembert.derivation.simplify import each_entry, simplify
from dalembert.derivation.trigonometric_field import Budget, TooLarge, TrigonometricField

__all__ = ["Roots", "readable"]

_UNDECIDED = 1e-9


def readable(value: Any) -> Any:
    """An expression with 1.0 written 1 and 0.5 written 1/2."""
    floats = value.atoms(sp.Float)
    return value.xreplace({f: readable_number(float(f)) for f in floats}) if floats else value


class Roots:
    """Replaces √(p²) and |p| by p or −p, with the sign at a reference position.

    Args:
        reference: values of all symbols there.

    Attributes:
        assumptions: what must be positive for the result to hold.
    """

    def __init__(self, reference: Mapping[Any, float], moving: Any, budget: Budget):
        self.reference, self.moving, self.budget = dict(reference), moving, budget
        self.assumptions: list[sp.Expr] = []
        self._known: dict[Any, Any] = {}

    def array(self, values: np.ndarray) -> np.ndarray:
        return each_entry(self.expression, values)

    def expression(self, value: Any) -> Any:
        value = readable(value)
        found = [node for node in value.atoms(sp.Pow, sp.Abs) if _is_root(node)]
        swap = {}
        for node in found:
            if node not in self._known:
                self._known[node] = self._replaced(node)
            if self._known[node] is not None:
                swap[node] = self._known[node]
        return value.xreplace(swap) if swap else value

    def _replaced(self, node: Any) -> Any:
        """√(p²) without its root; None if there is none to be drawn."""
        if not node.is_Pow:
            inner = node.args[0]
            base = inner if inner.free_symbols else None
        else:
            base = self._root(node.base)
        if base is None:
            return None
        if base.is_number:
            return base ** (2 * node.exp) if node.is_Pow else base
        sign = self._sign(base)
        if sign is None:
            return None
        positive = simplify(sign * base, self.moving, self.budget)
        if positive not in self.assumptions:
            self.assumptions.append(positive)
        return positive ** (2 * node.exp) if node.is_Pow else positive

    def _root(self, base: Any) -> Any:
        """p of p², if the radicand is a square."""
        try:
            field = TrigonometricField([base], self.budget)
            n, d = field.cancel(*field.convert(base))
            parts: list[Any] = []
            for polynomial in (n, d):
                number, factors = polynomial.sqf_list()
                above, below = math.isqrt(abs(int(number.numerator))), math.isqrt(int(number.denominator))
                whole = number > 0 and above**2 == number.numerator and below**2 == number.denominator
                if not whole or any(e % 2 for _, e in factors):
                    return None
                root = polynomial.ring.ground_new(polynomial.ring.domain(above, below))
                for f, e in factors:
                    root = root * f ** (e // 2)
                parts.append(field.plain(root))
        except TooLarge:
            return None
        return parts[0] / parts[1]

    def _sign(self, value: Any) -> int | None:
        size = value.subs(self.reference)
        if not size.is_number or abs(float(size)) < _UNDECIDED:
            return None
        return 1 if float(size) > 0 else -1


def _is_root(node: Any) -> bool:
    if isinstance(node, sp.Abs):
        return True
    return node.exp.is_Rational and node.exp.q == 2 and bool(node.base.free_symbols)
