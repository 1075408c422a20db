"""Symbols of a subsystem as scalars of an algebra, and time derivatives along its kinematics."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import sympy as sp

from dalembert.algebra import Algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.algebra.forward import formula_gradients, formula_rates, formula_without, operands_first
from dalembert.expressions import evaluate, symbols_of, values_by_name
from dalembert.modular.description import Description
from dalembert.modular.variables import local

__all__ = ["Scope"]


class Scope:
    """Symbols of a description as scalars of an algebra.

    Args:
        symbol: gives the scalar of a name; without, new ones are made.
    """

    def __init__(self, al: Algebra, description: Description, symbol: Callable[[str], Any] | None = None):
        self.al, self.description = al, description
        self.scalars: dict[str, Any] = {}
        self._symbol: Callable[[str], Any] = symbol or al.symbol
        self._walked: tuple[list[Any], Any] = [], None
        self._values: dict[sp.Basic, Any] = {}  # terms that formulas have in common are one scalar

    def __getitem__(self, name: str) -> Any:
        if name not in self.scalars:
            self.scalars[name] = self._symbol(name)
        return self.scalars[name]

    def value(self, expression: sp.Expr) -> Any:
        if self.al.name == "sympy":
            for symbol in symbols_of(expression):
                self[symbol.name]
            return expression
        return evaluate(self.al, expression, values_by_name(self), self._chosen, self._values)

    @cached_property
    def _chosen(self) -> dict[sp.Expr, Any]:
        """Modes that choose branches, by the functions whose signs do otherwise."""
        return {switch: self[mode] for mode, switch in self.description.branches}

    def rate(self, value: Any, names: frozenset[str]) -> tuple[Any, frozenset[str]]:
        """The time derivative of a scalar that depends on some symbols, and the symbols that it depends on."""
        return self.rates([value], [names])[0]

    def rates(self, values: list[Any], names: list[frozenset[str]]) -> list[tuple[Any, frozenset[str]]]:
        """The same of several scalars."""
        speeds = {name: self._speed(name) for name in sorted({name for one in names for name in one})}
        moving = {name: found for name, found in speeds.items() if found is not None}
        more = [one.union(*(moving[name][1] for name in one if name in moving)) for one in names]
        al = self.al
        if self.al.name == "sympy":  # each along its own symbols
            found = []
            for value, one in zip(values, names, strict=True):
                mine = [name for name in sorted(one) if name in moving]
                found.append(self._along(value, mine, moving) if mine else al.constant(0))
        elif moving and al is CASADI and (rates := self._formula_rates(values, moving)) is not None:
            found = rates
        elif moving:
            directions = al.vector([speed for speed, _ in moving.values()])
            found = list(al.rate(al.vector(values), al.vector([self[name] for name in moving]), directions))
        else:
            found = [al.constant(0)] * len(values)
        return list(zip(found, more, strict=True))

    def rates_at_rest(self, values: list[Any], names: list[frozenset[str]], order: int) -> list[Any] | None:
        """The same where all variables of an order are zero: what stays of the rates of scalars of lower order.

        None where the scalars cannot be walked: then ``without`` does it, of the whole rates.
        """
        walk = self.order(values) if self.al is CASADI else None
        if walk is None:
            return None
        speeds: dict[int, Any] = {}
        for name in sorted(frozenset[str]().union(*names)):
            speed = self.description.next(local(name))
            if isinstance(speed, sp.Symbol):
                label = self.description.label(speed.name)
                if label is None or label.order < order:
                    speeds[id(self[name])] = self[speed.name]
            elif speed is not sp.S.Zero:  # given by kinematics
                held = [one for one in self.description.names(speed) if self._is_of(one, order)]
                speeds[id(self[name])] = self.without([self.value(speed)], [held])[0] if held else self.value(speed)
        return formula_rates(values, speeds, walk)

    def _is_of(self, name: str, order: int) -> bool:
        label = self.description.label(name)
        return label is not None and label.order == order

    def _formula_rates(self, values: list[Any], moving: dict[str, tuple[Any, frozenset[str]]]) -> list[Any] | None:
        order = self.order(values)
        if order is None:
            return None
        return formula_rates(values, {id(self[name]): speed for name, (speed, _) in moving.items()}, order)

    def order(self, values: list[Any]) -> list[Any] | None:
        """All scalars in these, operands first; those walked last are not walked again while nothing is built."""
        before, order = self._walked
        same = len(before) == len(values) and all(a is b for a, b in zip(before, values, strict=True))
        if not same or order is None or any(node.made is not None for node in order):
            order = operands_first(values, {id(scalar): scalar for scalar in self.scalars.values()})
            self._walked = list(values), order
        return order

    def _along(self, value: Any, names: list[str], moving: dict[str, tuple[Any, frozenset[str]]]) -> Any:
        al = self.al
        directions = al.vector([moving[name][0] for name in names])
        return al.rate(al.vector([value]), al.vector([self[name] for name in names]), directions)[0]

    def _speed(self, name: str) -> tuple[Any, frozenset[str]] | None:
        """The rate of a symbol and the symbols in it; None for what does not move."""
        speed = self.description.next(local(name))
        if speed is sp.S.Zero:
            return None
        if isinstance(speed, sp.Symbol):
            return self[speed.name], frozenset((speed.name,))
        return self.value(speed), self.description.names(speed)

    def gradients(self, values: list[Any], names: list[list[str]]) -> list[dict[str, Any]]:
        """Derivatives of each scalar by symbols of its own, those that are not zero as they stand."""
        al = self.al
        if al is not CASADI:
            found: list[dict[str, Any]] | None = []
            for value, one in zip(values, names, strict=True):
                row = al.gradient(value, al.vector([self[name] for name in one])) if one else ()
                found.append(dict(zip(one, row, strict=True)))
            return found
        every = list(dict.fromkeys(name for one in names for name in one))
        table: list[dict[str, Any]] = [{} for _ in values]
        if not every:
            return table
        order = self.order(values)
        if order is not None:
            found = formula_gradients(values, {id(self[name]): name for name in every}, order)
            return [{name: row[name] for name in one if name in row} for row, one in zip(found, names, strict=True)]
        for i, j, entry in CASADI.derivatives(al.vector(values), al.vector([self[name] for name in every])):
            table[i][every[j]] = entry
        return table

    def without(self, values: list[Any], names: list[list[str]]) -> list[Any]:
        """Scalars where symbols, given for each, are zero."""
        al = self.al
        if al is CASADI:
            every = list(dict.fromkeys(name for one in names for name in one))
            if not every:
                return values
            order = self.order(values)
            if order is not None:
                return formula_without(values, {id(self[name]) for name in every}, order)
            symbols = al.vector([self[name] for name in every])
            return list(al.substitute(al.vector(values), symbols, al.zeros(len(every))))
        left: list[Any] = []
        for value, one in zip(values, names, strict=True):
            if one:
                symbols = al.vector([self[name] for name in one])
                value = al.substitute(al.vector([value]), symbols, al.zeros(len(one)))[0]
            left.append(value)
        return left
