"""Functions given by points, and the node by which a formula calls one.

A curve is a polynomial of third degree on each interval:  y = c₀ + c₁ s + c₂ s² + c₃ s³,  s = x − x_k. In every algebra
the interval is chosen by comparisons, so that derivatives are those of its polynomial.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra import Algebra

__all__ = [
    "MOST_POINTS", "Curve", "Outline", "TableCall", "TableLeaf", "call", "check_rising", "starts", "tables_in",
    "through",
]  # fmt: skip

MOST_POINTS = 200_000
MOST_KINKS = 40  # of a curve that a run steps onto; one with more is evaluated as it is
STEEP = 0.01  # of the largest slope: less counts as much
STRAIGHT = 1e-12  # relative difference of slopes that is no kink
CLOSED = 1e-9  # difference of first and last value of what repeats, relative to the largest


class TableLeaf(sp.AtomicExpr):
    """A function given by points, as a leaf of formulas; two with the same name and the same numbers are one."""

    is_commutative = True
    is_real = True
    name: str
    outside: str
    digest: str

    def _sympystr(self, printer: Any) -> str:
        return self.name

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{{self.name}}}"

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return set()


class Curve(TableLeaf):
    """A function of one variable.

    Attributes:
        knots: where pieces meet, the ends of the range included, rising.
        pieces: rows (x_k, c₀ … c₃): one before the first knot, one between each two, one behind the last.
        kinks: knots at which the slope jumps, if they are few.
        period: after which it repeats, or 0.
        long: pieces; of longer curves the piece is found by halving, not by comparisons in the graph.
    """

    long = 64
    knots: np.ndarray
    pieces: np.ndarray
    kinks: tuple[float, ...]
    period: float

    def __new__(cls, name: str, knots: Any, pieces: Any, period: float, outside: str) -> Curve:
        made = cast(Curve, sp.AtomicExpr.__new__(cls))
        made.knots, made.pieces = np.asarray(knots, dtype=float), np.asarray(pieces, dtype=float)
        made.name, made.period, made.outside = name, period, outside
        made.digest = hashlib.sha256(made.knots.tobytes() + made.pieces.tobytes()).hexdigest()
        bends = _bends(made.knots, made.pieces)
        made.kinks = tuple(bends.tolist()) if not period and len(bends) <= MOST_KINKS else ()
        return made

    @classmethod
    def of(cls, name: str, x: Sequence[float], y: Sequence[float], kind: str, outside: str) -> Curve:
        """The curve through points.

        Raises:
            ValueError: saying what is wrong with the points.
        """
        _check(x, y, kind)
        knots, values = np.array(x, dtype=float), np.array(y, dtype=float)
        pieces = np.concatenate([starts(knots, kind)[:, None], through(knots, values, kind, outside).T], axis=1)
        if kind == "periodic":
            return cls(name, knots[1:-1], pieces, float(knots[-1] - knots[0]), outside)
        # The last point belongs to the range: a drive by a table may end with it.
        return cls(name, np.append(knots[:-1], np.nextafter(knots[-1], math.inf)), pieces, 0.0, outside)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.name, self.digest, self.period, self.outside)

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.knots, self.pieces, self.period, self.outside)

    def value(self, al: Algebra, x: Any, order: int = 0, below: Callable[[float, Any], Any] | None = None) -> Any:
        """The value, or a derivative, at a scalar of the algebra.

        Args:
            below: the condition that x is below a knot, if comparing is not all there is to it.
        """
        if self.period:
            turn = 2 * math.pi / self.period
            middle = float(self.pieces[0][0]) + self.period / 2
            phase = (x - middle) * turn
            x = middle + al.atan2(al.sin(phase), al.cos(phase)) / turn

        def is_below(knot: float) -> Any:
            return al.less(x, knot) if below is None or knot not in self.kinks else below(knot, x)

        rows = _derived(self.pieces, order)
        if len(rows) <= self.long:
            start, *c = _chosen(al, rows.tolist(), self.knots.tolist(), is_below)
        else:
            start, *c = self._looked_up(al, x, rows, is_below)
        s = x - start
        result = c[-1]
        for coefficient in c[-2::-1]:
            result = result * s + coefficient
        return result

    def _looked_up(self, al: Algebra, x: Any, rows: np.ndarray, is_below: Any) -> list[Any]:
        """The row of numbers that belongs to x: found by halving between kinks, which are chosen one by one."""
        place = al.find(x, self.knots)
        cuts = np.searchsorted(self.knots, self.kinks)  # piece i ends at knot i
        firsts, lasts = [0, *(cuts + 1).tolist()], [*cuts.tolist(), len(rows) - 1]
        columns = [np.ascontiguousarray(column) for column in rows.T]

        def between(first: int, last: int) -> list[Any]:
            if first == last:
                return [al.constant(float(column[first])) for column in columns]
            held = al.minimum(al.maximum(place, al.constant(first)), al.constant(last)) if self.kinks else place
            return [al.pick(held, column) for column in columns]

        found = between(firsts[0], lasts[0])
        for kink, first, last in zip(self.kinks, firsts[1:], lasts[1:], strict=True):
            condition, beyond = is_below(kink), between(first, last)
            found = [al.where(condition, a, b) for a, b in zip(found, beyond, strict=True)]
        return found


def check_rising(name: str, values: Sequence[float]) -> None:
    """Raises:
    ValueError: naming the first number that does not rise, or is not finite.
    """
    _check_finite(name, values)
    for i, (a, b) in enumerate(pairwise(values)):
        if not a < b:
            detail = f"{b:g} comes twice" if a == b else f"{b:g} comes after {a:g}"
            raise ValueError(
                f"{name} must rise from point to point, but {name}[{i + 1}] does not: {detail}; sort the points"
            )


def _check_finite(name: str, values: Sequence[float]) -> None:
    for i, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"expected finite numbers, got {name}[{i}] = {value}")


def starts(knots: np.ndarray, kind: str) -> np.ndarray:
    """From where the pieces count: of what does not repeat there is one before the first knot, too."""
    return knots[:-1] if kind == "periodic" else np.append(knots[0], knots)


def through(knots: np.ndarray, values: np.ndarray, kind: str, outside: str) -> np.ndarray:
    """Coefficients c₀ … c₃ (rows) of all pieces through values; of several functions at once, in further axes."""
    widths = np.diff(knots).reshape(-1, *[1] * (values.ndim - 1))
    if kind == "linear" or len(knots) == 2:
        slopes = np.diff(values, axis=0) / widths
        inner = np.stack([values[:-1], slopes, 0 * slopes, 0 * slopes])
    else:
        from scipy.interpolate import CubicSpline

        ends = "periodic" if kind == "periodic" else "not-a-knot"
        closed = np.concatenate([values[:-1], values[:1]]) if kind == "periodic" else values
        inner = np.asarray(CubicSpline(knots, closed, bc_type=ends).c)[::-1]
    if kind == "periodic":
        return inner
    c0, c1, c2, c3 = inner[:, -1]
    w = widths[-1]
    last, slope = c0 + w * (c1 + w * (c2 + w * c3)), c1 + w * (2 * c2 + 3 * w * c3)
    sides = np.zeros((2, 4, *values.shape[1:]))
    sides[0, 0], sides[1, 0] = (math.nan, math.nan) if outside == "error" else (values[0], last)
    if outside == "extrapolate":
        sides[0, 1], sides[1, 1] = inner[1, 0], slope
    return np.concatenate([sides[0][:, None], inner, sides[1][:, None]], axis=1)


class Outline(Curve):
    """A coordinate of a curve through points, which is evaluated many times over where its nearest point is found."""

    long = 4


def _check(x: Sequence[float], y: Sequence[float], kind: str) -> None:
    if len(x) != len(y):
        raise ValueError(f"expected as many y as x, got {len(x)} x and {len(y)} y")
    least = 4 if kind == "periodic" else 2
    if len(x) < least:
        raise ValueError(f"expected at least {least} points, got {len(x)}")
    check_rising("x", x)
    _check_finite("y", y)
    if kind == "periodic" and abs(y[-1] - y[0]) > CLOSED * max(map(abs, y)):
        raise ValueError(f"what repeats must end as it begins, got y[0] = {y[0]:g} and y[-1] = {y[-1]:g}")


def _slopes(piece: Any, x: Any) -> Any:
    start, _, c1, c2, c3 = piece.T
    s = x - start
    return c1 + 2 * c2 * s + 3 * c3 * s * s


def _bends(knots: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Knots at which the slope jumps."""
    n = min(len(knots), len(pieces) - 1)
    before, behind = _slopes(pieces[:n], knots[:n]), _slopes(pieces[1 : n + 1], knots[:n])
    sizes = np.maximum(np.abs(before), np.abs(behind))
    least = STEEP * np.nanmax(sizes, initial=0.0)  # where a curve is flat its slope is rounding
    return knots[:n][np.abs(before - behind) > STRAIGHT * np.maximum(sizes, least)]


def _derived(pieces: np.ndarray, order: int) -> np.ndarray:
    """Starts and coefficients of a derivative."""
    parts = [pieces[:, k] for k in range(1, pieces.shape[1])]
    for _ in range(order):
        parts = [k * part for k, part in enumerate(parts)][1:] or [np.zeros(len(pieces))]
    return np.stack([pieces[:, 0], *parts], axis=1)


def _chosen(al: Algebra, rows: list[list[float]], knots: Sequence[float], is_below: Any) -> list[Any]:
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
