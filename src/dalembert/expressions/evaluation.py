"""The value of a formula in any algebra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Protocol

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.algebra import NUMPY, Algebra
from dalembert.errors import ExpressionError
from dalembert.expressions.branches import margin_of, switches_of
from dalembert.expressions.curves import Curve, TableCall
from dalembert.expressions.grids import Grid, GridCall
from dalembert.expressions.printing import to_text
from dalembert.expressions.symbols import Reference, as_reference

__all__ = ["evaluate", "is_number", "number", "values_by_name"]

_NAMES = {"Abs": "absolute"}
_UNARY = {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "Abs", "sign"}


def evaluate(
    al: Algebra,
    expression: sp.Expr,
    lookup: Callable[[sp.Symbol | Reference], Any],
    chosen: Mapping[sp.Expr, Any] | None = None,
    known: dict[sp.Basic, Any] | None = None,
) -> Any:
    """The formula as a scalar of the algebra.

    Args:
        lookup: gives the scalar of a symbol (parameter or time) or of a reference.
        chosen: scalars that choose branches (see ``switches_in``): 1 or −1 take that of a positive or negative
            function, whatever its value is; 0 takes that of its value.
        known: values of terms by what they are, of formulas before with the same lookup; those of this one are added.
    """
    if expression.is_Number:  # nearly all of a model's numbers
        return al.number(expression)
    done: dict[sp.Basic, Any] = {} if known is None else known

    def value(node: Any) -> Any:
        found = done.get(node)
        if found is None:
            found = _node(al, node, value, lookup) if not chosen else _branch(al, node, value, lookup, chosen)
            done[node] = found
        return found

    return value(expression)


class Named(Protocol):
    """What gives values by name."""

    def __getitem__(self, name: str, /) -> Any: ...


def values_by_name(values: Named) -> Callable[[Any], Any]:
    """What ``evaluate`` looks symbols up by: the value of their names."""
    return lambda symbol: values[symbol.name]


def _node(al: Algebra, node: Any, value: Callable[[Any], Any], lookup: Callable[[Any], Any]) -> Any:
    if node.is_Number or node.is_NumberSymbol:
        return al.number(node)
    if node.is_Symbol:
        return lookup(node)
    if isinstance(node, AppliedUndef):
        return lookup(as_reference(node))
    if node.is_Add:
        return reduce(lambda a, b: a + b, map(value, node.args))
    if node.is_Mul:
        return _product(al, value, node)
    if node.is_Pow:
        return _power(al, node.base, node.exp, value)
    if isinstance(node, GridCall):
        return _grid(al, node, value(node.args[1]), value(node.args[2]))
    if isinstance(node, TableCall):
        return _table(al, node, value(node.args[1]))
    name = str(node.func.__name__)
    if name in _UNARY:
        return getattr(al, _NAMES.get(name, name))(value(node.args[0]))
    if name == "cot":
        # SymPy turns tan(x + π/2) into −cot(x).
        return 1 / al.tan(value(node.args[0]))
    if name == "atan2":
        return al.atan2(value(node.args[0]), value(node.args[1]))
    if name in ("Min", "Max"):
        choose = al.minimum if name == "Min" else al.maximum
        return reduce(choose, map(value, node.args))
    if name == "Piecewise":
        return _piecewise(al, node, value)
    raise ExpressionError(f"{name} is not understood in a formula: {to_text(node)}")


def _branch(
    al: Algebra, node: Any, value: Callable[[Any], Any], lookup: Callable[[Any], Any], chosen: Mapping[sp.Expr, Any]
) -> Any:
    """A node with branches, the branch of which is chosen; others as they are."""
    switches = switches_of(node)
    if not switches or not any(switch in chosen for switch in switches):
        return _node(al, node, value, lookup)

    def sign(switch: sp.Expr) -> Any:
        if switch not in chosen:
            return value(switch)
        mode = chosen[switch]
        return al.where(al.less(0.5, mode * mode), mode, value(switch))

    if isinstance(node, sp.Abs):
        x = value(node.args[0])
        return al.where(al.less(sign(switches[0]), 0), -x, x)
    if isinstance(node, sp.sign):
        s, one = sign(switches[0]), al.constant(1)
        return al.where(al.less(0, s), one, al.where(al.less(s, 0), -one, 0 * one))
    if isinstance(node, sp.Piecewise):
        return _piecewise(al, node, value, sign)
    if isinstance(node, TableCall):
        signs = dict(zip(_curve(node).kinks, switches, strict=True))
        return _table(al, node, value(node.args[1]), lambda knot, x: al.less(sign(signs[knot]), 0))
    best = value(node.args[0])
    for switch, other in zip(switches, map(value, node.args[1:]), strict=True):
        a, b = (other, best) if isinstance(node, sp.Min) else (best, other)
        best = al.where(al.less(sign(switch), 0), a, b)
    return best


def _curve(node: TableCall) -> Curve:
    curve: Any = node.args[0]
    if not isinstance(curve, Curve):
        raise ExpressionError(f"unknown function {node.table!r}: no table of this name is known here")
    return curve


def _grid(al: Algebra, node: GridCall, x: Any, y: Any) -> Any:
    """The value of a table of two variables; over SymPy it stays a function with a name."""
    grid: Any = node.args[0]
    if not isinstance(grid, Grid):
        raise ExpressionError(f"unknown function {node.table!r}: no table of two variables has this name here")
    return node.func(grid, x, y, *node.args[3:]) if al.name == "sympy" else grid.value(al, x, y, node.orders)


def _table(al: Algebra, node: TableCall, x: Any, below: Callable[[float, Any], Any] | None = None) -> Any:
    """The value of a table; over SymPy it stays a function with a name."""
    if al.name == "sympy":
        return node.func(_curve(node), x, *node.args[2:])
    return _curve(node).value(al, x, node.order, below)


def _product(al: Algebra, value: Callable[[Any], Any], node: Any) -> Any:
    """One division for all factors with negative powers."""
    above: list[Any] = []
    below: list[Any] = []
    for factor in node.args:
        (below if factor.is_Pow and _divides(factor.exp) else above).append(factor)
    result = reduce(lambda a, b: a * b, map(value, above)) if above else 1
    if not below:
        return result
    return result / reduce(lambda a, b: a * b, (_power(al, f.base, -f.exp, value) for f in below))


def _divides(exponent: Any) -> bool:
    """True if a power with this exponent stands below the line."""
    return exponent.is_Rational and exponent.p < 0


def _power(al: Algebra, base: Any, exponent: Any, value: Callable[[Any], Any]) -> Any:
    if exponent is sp.S.One:
        return value(base)
    if exponent is sp.S.Half:
        return al.sqrt(value(base))
    if _divides(exponent):
        return 1 / _power(al, base, -exponent, value)
    if base is sp.S.Exp1:
        return al.exp(value(exponent))
    if exponent.is_Number:
        n = float(exponent)
        return al.power(value(base), int(n) if n.is_integer() else n)
    return al.power(value(base), value(exponent))


def _piecewise(
    al: Algebra, node: sp.Piecewise, value: Callable[[Any], Any], sign: Callable[[Any], Any] | None = None
) -> Any:
    """The first branch whose condition holds; ``sign`` tells the sign of the larger side minus the smaller one.

    Over floats the other branches are left alone: they may have no value there.
    """
    pairs: Any = node.args
    if al.name == "numpy":
        for branch, condition in pairs:
            if condition == sp.true:
                return value(branch)
            a, b = _sides(al, condition, value, sign)
            if al.less(a, b) if isinstance(condition, (sp.Lt, sp.Gt)) else not al.less(b, a):
                return value(branch)
        return al.constant(0)
    result: Any = al.constant(0)
    for branch, condition in reversed(pairs):
        if condition == sp.true:
            result = value(branch)
            continue
        a, b = _sides(al, condition, value, sign)
        if isinstance(condition, (sp.Lt, sp.Gt)):
            result = al.where(al.less(a, b), value(branch), result)
        else:
            # a ≤ b holds at equality:  not b < a
            result = al.where(al.less(b, a), result, value(branch))
    return result


def _sides(
    al: Algebra, condition: Any, value: Callable[[Any], Any], sign: Callable[[Any], Any] | None
) -> tuple[Any, Any]:
    """The smaller and the larger side that a condition asks for."""
    if not isinstance(condition, (sp.Lt, sp.Le, sp.Gt, sp.Ge)):
        raise ExpressionError(f"the condition {condition} must be one comparison with <, <=, > or >=")
    if sign is None:
        return value(condition.lts), value(condition.gts)
    return al.constant(0), sign(margin_of(condition))


def is_number(expression: sp.Expr) -> bool:
    """True if the formula contains no symbol."""
    return not expression.free_symbols and not expression.atoms(AppliedUndef)


def number(expression: sp.Expr, values: dict[str, float] | None = None) -> float:
    """The formula as a float, with parameters taken from ``values``."""

    def lookup(atom: sp.Symbol | Reference) -> float:
        if isinstance(atom, Reference):
            raise ExpressionError(
                f"{atom.quantity}({atom.element}) has no fixed value; only parameters are allowed here"
            )
        if values is None or atom.name not in values:
            raise ExpressionError(f"unknown name {atom.name!r} in {to_text(expression)}")
        return values[atom.name]

    try:
        return float(evaluate(NUMPY, expression, lookup))
    except (OverflowError, ValueError, ZeroDivisionError) as error:
        raise ExpressionError(f"{to_text(expression)} has no finite value: {error}") from None
