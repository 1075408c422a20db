"""Letters for long expressions of parameters, as they come from drawn positions: c₁ = √(b² − (a² + b²)²/4a²)."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.derivation.simplify import each_entry, is_quotient, simplify
from dalembert.derivation.trigonometric_field import Budget

__all__ = ["Abbreviations"]


class Abbreviations:
    """Gives a letter to sums and products of parameters that have roots or quotients of sums in them.

    Attributes:
        known: what each letter stands for.
    """

    def __init__(self, setup: Any, budget: Budget):
        self.setup, self.budget = setup, budget
        self.known: dict[sp.Symbol, sp.Expr] = {}
        self._letters: dict[sp.Expr, sp.Expr] = {}
        self._done: dict[Any, Any] = {}
        self._put_off: dict[sp.Expr, sp.Expr] = {}

    def array(self, values: np.ndarray) -> np.ndarray:
        return each_entry(self.expression, values)

    def put_off(self, values: np.ndarray) -> np.ndarray:
        """With a symbol for each entry that may need a letter, until it is seen in use (see ``settled``): a planar
        mechanism feels one of nine moments of inertia."""
        return each_entry(self._later, values)

    def _later(self, node: Any) -> Any:
        if not _is_ugly(node):
            return node
        symbol = sp.Dummy(real=True)
        self._put_off[symbol] = node
        return symbol

    def settled(self, values: np.ndarray) -> np.ndarray:
        """With what the symbols of ``put_off`` stand for, in letters."""
        return each_entry(self._settle, values)

    def _settle(self, node: Any) -> Any:
        seen = node.free_symbols & self._put_off.keys()
        return node.xreplace({one: self.expression(self._put_off[one]) for one in seen}) if seen else node

    def expression(self, node: Any) -> Any:
        if not node.args or not _is_ugly(node):
            return node
        if node not in self._done:
            self._done[node] = self._shortened(node)
        return self._done[node]

    def _shortened(self, node: Any) -> Any:
        if self._is_fixed(node):
            return self._letter(node)
        if node.is_Add or node.is_Mul:
            fixed = [part for part in node.args if self._is_fixed(part)]
            moving = [part for part in node.args if not self._is_fixed(part)]
            whole = self.expression(node.func(*fixed)) if fixed else node.func.identity
            return node.func(whole, *(self.expression(part) for part in moving))
        return node.func(*(self.expression(part) for part in node.args))

    def _is_fixed(self, node: Any) -> bool:
        return not any(map(self.setup.moving, node.free_symbols))

    def _letter(self, node: Any) -> Any:
        """The letter of an expression, times what is not part of it: a number and plain parameters."""
        value = simplify(node, (), self.budget)
        if not _is_ugly(value):
            return value
        plain: list[Any] = []
        core: list[Any] = []
        for factor in sp.Mul.make_args(value):
            (core if factor.is_Add or _is_ugly(factor) else plain).append(factor)
        inner = sp.Mul(*core)
        if inner not in self._letters:
            self._letters[inner] = self._multiple(inner)
        return sp.Mul(*plain, self._letters[inner])

    def _multiple(self, inner: sp.Expr) -> sp.Expr:
        """A letter, or a multiple of one that is there already: two letters never stand for the same."""
        for symbol, other in self.known.items():
            if is_quotient(inner / other, self.budget):
                continue
            ratio = simplify(inner / other, (), self.budget)
            if not ratio.free_symbols or (not _is_ugly(ratio) and not sp.denom(ratio).free_symbols):
                return ratio * symbol
        symbol = self.setup.abbreviation(len(self.known) + 1)
        self.known[symbol] = inner
        return symbol


def _is_ugly(node: Any) -> bool:
    """True if there is a root or the inverse of a sum inside."""
    return any(
        (part.exp.is_Rational and part.exp.q != 1 and part.base.free_symbols)
        or (part.exp.is_Rational and part.exp < 0 and part.base.is_Add)
        for part in node.atoms(sp.Pow)
    )
