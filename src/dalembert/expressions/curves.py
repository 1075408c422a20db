"""Functions given by points, and the node by which a formula calls one.

A curve is a polynomial of third degree on each interval:  y = c₀ + c₁ s + c₂ s² + c₃ s³,  s = x − x_k. In every algebra
the interval is chosen by comparisons, so that derivatives are those of its polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import sympy as sp

from dalembert.algebra import Algebra

__all__ = ["MOST_POINTS", "Curve", "TableCall", "call", "tables_in"]

MOST_POINTS = 500  # each is a comparison in every evaluation; 2000 take minutes to compile
MOST_KINKS = 40  # of a curve that a run steps onto; one with more is evaluated as it is
STRAIGHT = 1e-12  # relative difference of slopes that is no kink
CLOSED = 1e-9  # difference of first and last value of what repeats, relative to the largest


class Curve(sp.AtomicExpr):
    """A function of one variable, as a leaf of formulas.

    Attributes:
        knots: where pieces meet, the ends of the range included, rising.
        pieces: (x_k, c₀ … c₃): one before the first knot, one between each two, one behind the last.
        kinks: knots at which the slope jumps, if they are few.
        period: after which it repeats, or 0.
    """

    is_commutative = True
    is_real = True
    name: str
    knots: tuple[float, ...]
    pieces: tuple[tuple[float, ...], ...]
    kinks: tuple[float, ...]
    period: float
    outside: str

    def __new__(
        cls, name: str, knots: tuple[float, ...], pieces: tuple[tuple[float, ...], ...], period: float, outside: str
    ) -> Curve:
        made = cast(Curve, sp.AtomicExpr.__new__(cls))
        made.name, made.knots, made.pieces, made.period, made.outside = name, knots, pieces, period, outside
        bends = tuple(x for x, a, b in zip(knots, pieces, pieces[1:], strict=False) if _bends(x, a, b))
        made.kinks = bends if not period and len(bends) <= MOST_KINKS else ()
        return made

    @classmethod
    def of(cls, name: str, x: Sequence[float], y: Sequence[float], kind: str, outside: str) -> Curve:
        """The curve through points.

        Raises:
            ValueError: saying what is wrong with the points.
        """
        _check(x, y, kind)
        knots, values = tuple(map(float, x)), tuple(map(float, y))
        if kind == "linear" or len(knots) == 2:
            slopes = [(b - a) / (d - c) for a, b, c, d in zip(values, values[1:], knots, knots[1:], strict=False)]
            inner = [(k, v, m, 0.0, 0.0) for k, v, m in zip(knots, values, slopes, strict=False)]
        else:
            from scipy.interpolate import CubicSpline

            ends = "periodic" if kind == "periodic" else "not-a-knot"
            closed = (*values[:-1], values[0]) if kind == "periodic" else values
            rows: Any = CubicSpline(knots, closed, bc_type=ends).c[::-1].T
            inner = [(k, *map(float, row)) for k, row in zip(knots, rows, strict=False)]
        if kind == "periodic":
            return cls(name, knots[1:-1], tuple(inner), knots[-1] - knots[0], outside)
        first, last = inner[0], inner[-1]
        end = last[1] + _slope(last, knots[-1], 0)
        slopes_out = (first[2], _slope(last, knots[-1], 1)) if outside == "extrapolate" else (0.0, 0.0)
        if outside == "error":
            values, slopes_out = (math.nan, math.nan), (0.0, 0.0)
        else:
            values = (values[0], end)
        before = (knots[0], values[0], slopes_out[0], 0.0, 0.0)
        behind = (knots[-1], values[1], slopes_out[1], 0.0, 0.0)
        return cls(name, knots, (before, *inner, behind), 0.0, outside)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.name, self.knots, repr(self.pieces), self.period, self.outside)

    def __reduce__(self) -> Any:
        return Curve, (self.name, self.knots, self.pieces, self.period, self.outside)

    def _sympystr(self, printer: Any) -> str:
        return self.name

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{{self.name}}}"

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return set()

    def value(self, al: Algebra, x: Any, order: int = 0, below: Callable[[float, Any], Any] | None = None) -> Any:
        """The value, or a derivative, at a scalar of the algebra.

        Args:
            below: the condition that x is below a knot, if comparing is not all there is to it.
        """
        if self.period:
            turn = 2 * math.pi / self.period
            middle = self.pieces[0][0] + self.period / 2
            phase = (x - middle) * turn
            x = middle + al.atan2(al.sin(phase), al.cos(phase)) / turn

        def is_below(knot: float) -> Any:
            return al.less(x, knot) if below is None or knot not in self.kinks else below(knot, x)

        start, *c = _chosen(al, [_derived(piece, order) for piece in self.pieces], self.knots, is_below)
        s = x - start
        result = c[-1]
        for coefficient in c[-2::-1]:
            result = result * s + coefficient
        return result


def _check(x: Sequence[float], y: Sequence[float], kind: str) -> None:
    if len(x) != len(y):
        raise ValueError(f"expected as many y as x, got {len(x)} x and {len(y)} y")
    least = 4 if kind == "periodic" else 2
    if len(x) < least:
        raise ValueError(f"expected at least {least} points, got {len(x)}")
    for name, values in (("x", x), ("y", y)):
        for i, value in enumerate(values):
            if not math.isfinite(value):
                raise ValueError(f"expected finite numbers, got {name}[{i}] = {value}")
    for i, (a, b) in enumerate(pairwise(x)):
        if not a < b:
            what = "twice" if a == b else "after"
            detail = f"{b:g} comes twice" if what == "twice" else f"{b:g} comes after {a:g}"
            raise ValueError(f"x must rise from point to point, but x[{i + 1}] does not: {detail}; sort the points")
    if kind == "periodic" and abs(y[-1] - y[0]) > CLOSED * max(map(abs, y)):
        raise ValueError(f"what repeats must end as it begins, got y[0] = {y[0]:g} and y[-1] = {y[-1]:g}")


def _slope(piece: tuple[float, ...], x: float, order: int) -> float:
    """What a piece adds to its first value at x (order 0), or its slope there (order 1)."""
    s, (_, _, c1, c2, c3) = x - piece[0], piece
    return c1 * s + c2 * s * s + c3 * s**3 if order == 0 else c1 + 2 * c2 * s + 3 * c3 * s * s


def _bends(x: float, before: tuple[float, ...], behind: tuple[float, ...]) -> bool:
    one, other = _slope(before, x, 1), _slope(behind, x, 1)
    return abs(one - other) > STRAIGHT * max(abs(one), abs(other))


def _derived(piece: tuple[float, ...], order: int) -> tuple[float, ...]:
    """Start and coefficients of a derivative."""
    start, *c = piece
    for _ in range(order):
        c = [k * value for k, value in enumerate(c)][1:] or [0.0]
    return (start, *c)


def _chosen(al: Algebra, rows: list[tuple[float, ...]], knots: Sequence[float], is_below: Any) -> list[Any]:
    """The row of numbers that belongs to x, by halving."""
    if len(rows) == 1:
        return [al.constant(value) for value in rows[0]]
    middle = len(rows) // 2
    low = _chosen(al, rows[:middle], knots[: middle - 1], is_below)
    high = _chosen(al, rows[middle:], knots[middle:], is_below)
    condition = is_below(knots[middle - 1])
    return [al.where(condition, a, b) for a, b in zip(low, high, strict=True)]


class TableCall(sp.Function):
    """A table at some x: ``TableCall(name, x)``, or a derivative of it: ``TableCall(name, x, order)``.

    The first argument is the symbol of the table's name; once models are written out it is the curve itself.
    """

    is_real = True

    @classmethod
    def eval(cls, *args: Any) -> None:
        return None

    @property
    def order(self) -> int:
        """Which derivative."""
        return int(cast(Any, self.args[2])) if len(self.args) > 2 else 0

    @property
    def table(self) -> str:
        """The name of the table."""
        return cast(Any, self.args[0]).name

    def _eval_derivative(self, s: Any) -> Any:
        curve, x = cast("tuple[Any, Any]", self.args[:2])
        return TableCall(curve, x, sp.Integer(self.order + 1)) * x.diff(s)

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return self.args[1].free_symbols

    def _sympystr(self, printer: Any) -> str:
        return f"{self.table}{chr(39) * self.order}({printer.doprint(self.args[1])})"

    def _latex(self, printer: Any) -> str:
        primes = "'" * self.order
        return rf"\operatorname{{{self.table}}}{primes}\left({printer.doprint(self.args[1])}\right)"


def call(table: Any, x: sp.Expr) -> sp.Expr:
    """A table, by its symbol or as a curve, at x."""
    return cast(sp.Expr, TableCall(table, x))


def tables_in(expression: sp.Expr) -> set[TableCall]:
    """All calls of tables inside a formula."""
    return expression.atoms(TableCall)
