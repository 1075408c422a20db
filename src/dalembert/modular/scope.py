# pyright: basic
"""Symbols of a subsystem as scalars of an algebra, and time derivatives along its kinematics."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.algebra import Algebra
from dalembert.expressions import evaluate
from dalembert.modular.description import Description

__all__ = ["Scope"]


class Scope:
    """Symbols of a description as scalars of an algebra."""

    def __init__(self, al: Algebra, description: Description):
        self.al, self.description = al, description
        self.scalars: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.scalars:
            self.scalars[name] = self.al.symbol(name)
        return self.scalars[name]

    def value(self, expression: sp.Expr) -> Any:
        if self.al.name == "sympy":
            for symbol in expression.free_symbols:
                self[symbol.name]  # type: ignore[attr-defined]
            return expression
        return evaluate(self.al, expression, lambda symbol: self[symbol.name])  # type: ignore[union-attr]

    def rate(self, value: Any, names: set[str]) -> tuple[Any, set[str]]:
        """The time derivative of a scalar that depends on some symbols, and the symbols that it depends on."""
        moving: list[Any] = []
        directions: list[Any] = []
        more = set(names)
        for name in sorted(names):
            speed = self.description.next(sp.Symbol(name, real=True))
            if speed != 0:
                moving.append(self[name])
                directions.append(self.value(speed))
                more |= {symbol.name for symbol in speed.free_symbols}  # type: ignore[attr-defined]
        if not moving:
            return self.al.constant(0), more
        al = self.al
        return al.rate(al.vector([value]), al.vector(moving), al.vector(directions))[0], more
