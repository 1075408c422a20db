"""Formulas as text that ``parse`` reads back to the same formula."""

from __future__ import annotations

import json
from keyword import iskeyword
from typing import Any, cast

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.str import StrPrinter

from dalembert.expressions.symbols import COMPONENTS, REACTION, as_reference

__all__ = ["to_text"]


class _Printer(StrPrinter):
    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))

    def _print_Mul(self, expr: Any) -> str:
        number, rest = expr.as_coeff_Mul()
        bases = [factor.as_base_exp()[0] for factor in sp.Mul.make_args(rest)]
        if number != 1 and not rest.is_Add and any(base.is_Add for base in bases):
            # Read from the left, the number would be multiplied into the sum: 2*(a + b)/c gives (2*a + 2*b)/c.
            sign = "-" if number == -1 else f"{self._print(number)}*"
            return f"{sign}({self._print(rest)})"
        return cast(str, super()._print_Mul(expr))

    def _print_Exp1(self, expr: Any) -> Any:
        return "exp(1)"

    def _print_Function(self, expr: Any) -> str:
        names = {sp.Abs: "abs"}
        name = names.get(expr.func, expr.func.__name__)
        return f"{name}({', '.join(self._print(argument) for argument in expr.args)})"

    def _print_TableCall(self, expr: Any) -> str:
        return f"{expr.table}{chr(39) * expr.order}({self._print(expr.args[1])})"

    def _print_GridCall(self, expr: Any) -> str:
        mark = "_" * bool(expr.order) + "x" * expr.orders[0] + "y" * expr.orders[1]
        return f"{expr.table}{mark}({self._print(expr.args[1])}, {self._print(expr.args[2])})"

    def _print_Abs(self, expr: sp.Abs) -> str:
        return f"abs({self._print(expr.args[0])})"

    def _print_cot(self, expr: Any) -> str:
        # SymPy turns tan(x + π/2) into −cot(x), so this reads back as it was.
        return f"(-tan({self._print(expr.args[0])} + pi/2))"

    def _print_AppliedUndef(self, expr: AppliedUndef) -> str:
        ref = as_reference(expr)
        parts = ref.element.split(".")
        plain = all(part.isidentifier() and part[0] != "_" and not iskeyword(part) for part in parts)
        name = ref.element if plain else json.dumps(ref.element)
        if ref.quantity == REACTION:
            return f"{ref.quantity}({name}, {json.dumps(COMPONENTS[ref.index])})"
        return f"{ref.quantity}({name}, {ref.index})" if ref.index else f"{ref.quantity}({name})"

    def _print_LatticeOp(self, expr: Any) -> str:
        name = "min" if isinstance(expr, sp.Min) else "max"
        arguments: list[Any] = sorted(expr.args, key=cast(Any, sp.default_sort_key))
        text = self._print(arguments[0])
        for argument in arguments[1:]:
            text = f"{name}({text}, {self._print(argument)})"
        return text

    _print_Min = _print_Max = _print_LatticeOp

    def _print_Piecewise(self, expr: sp.Piecewise) -> str:
        (value, condition), *rest = cast(list[Any], expr.args)
        if condition == sp.true:
            return f"({self._print(value)})"
        other = self._print(sp.Piecewise(*rest, evaluate=False)) if rest else "0"
        return f"(({self._print(value)}) if {self._print(condition)} else {other})"


def to_text(expression: sp.Expr) -> str:
    """The formula as text."""
    return _Printer({"order": "none"}).doprint(expression)
