"""Equations of motion row by row, as a textbook prints them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import sympy as sp

from dalembert.derivation.build_equations import Mathematics, Setup
from dalembert.derivation.collect import length
from dalembert.derivation.simplify import Budget, common_factor, simplify

__all__ = ["Rows", "opened"]

_WORK = 50_000  # for common factors
_DISTRIBUTED = 8  # terms of a bracket that is opened at the outermost level


class Rows:
    """K ẇ − k + Q = Q + Dᵀλ,  each row divided by what all its terms have in common.

    A row of the unit matrix is solved already:  ẇ = k + Dᵀλ.
    """

    def __init__(self, mathematics: Mathematics, setup: Setup):
        self.mathematics, self.setup = mathematics, setup

    @cached_property
    def sides(self) -> list[tuple[sp.Expr, sp.Expr]]:
        """Left and right sides."""
        budget = Budget(_WORK)
        return [self._row(i, budget) for i in range(len(self.mathematics.k))]

    def _row(self, i: int, budget: Budget) -> tuple[sp.Expr, sp.Expr]:
        m: Any = self.mathematics
        zero = sp.S.Zero
        D = [m.D[j, i] for j in range(len(m.D))]
        multipliers = self.setup.multipliers[: len(D)]
        held = [d * symbol for d, symbol in zip(D, multipliers, strict=True) if d != 0]
        solved = all(value == (1 if j == i else 0) for j, value in enumerate(m.K[i]))
        if solved or m.definitions is not None:
            left = sp.Add(*(value * symbol for value, symbol in zip(m.K[i], m.dw, strict=True)))
            return left, sp.Add(self._shown(i), *held)
        force = m.Q[i] if m.Q is not None else zero
        rest = self._shorter(force - m.k[i], budget) if force != 0 else _negative(m.k[i])
        factor = common_factor([*m.K[i], rest, force, *D], self.setup.moving, budget)
        if factor != 1:
            row = [self._shorter(value / factor, budget) for value in m.K[i]]
            rest, force = (self._shorter(value / factor, budget) for value in (rest, force))
            held = [self._shorter(d / factor, budget) * s for d, s in zip(D, multipliers, strict=True) if d != 0]
        else:
            row = list(m.K[i])
        terms = [_times(value, symbol) for value, symbol in zip(row, m.dw, strict=True) if value != 0]
        moving = self.setup.moving
        return sp.Add(*terms, *opened(rest, moving)), sp.Add(*opened(force, moving), *held)

    def _shown(self, i: int) -> sp.Expr:
        """k, or the same with rates left standing, where that is shorter."""
        m: Any = self.mathematics
        return (
            m.k[i] if m.by_rates is None else min(m.k[i], sp.Add(*opened(m.by_rates[i], self.setup.moving)), key=length)
        )

    def _shorter(self, value: sp.Expr, budget: Budget) -> sp.Expr:
        return simplify(value, self.setup.moving, budget)


def _times(value: Any, symbol: sp.Symbol) -> sp.Expr:
    """A coefficient times an acceleration; an unevaluated 2 (a + b) stays together."""
    if value.is_Mul:
        return sp.Mul(*value.args, symbol)
    return value * symbol


def _negative(value: Any) -> sp.Expr:
    if value.is_Add:
        return sp.Add(*(-term for term in value.args))
    for factor in value.args if value.is_Mul and not value.args[0].is_Number else ():
        if factor.is_Add and 2 * sum(term.could_extract_minus_sign() for term in factor.args) >= len(factor.args):
            others = [one for one in value.args if one is not factor]
            return sp.Mul(*others, sp.Add(*(-term for term in factor.args)))  # (a − b) c, not −(b − a) c
    return -value


def opened(value: Any, moving: Callable[[Any], bool]) -> tuple[Any, ...]:
    """The terms of a sum, also of one in brackets behind a common factor, unless it holds parameters alone."""
    if value.is_Mul:
        sums = [factor for factor in value.args if factor.is_Add]
        if len(sums) == 1 and len(sums[0].args) <= _DISTRIBUTED and any(map(moving, sums[0].free_symbols)):
            others = [factor for factor in value.args if factor is not sums[0]]
            return tuple(sp.Mul(*others, *sp.Mul.make_args(term)) for term in sums[0].args)
    return sp.Add.make_args(value)
