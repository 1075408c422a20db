"""Functions of two variables given on a grid, and the node by which a formula calls one.

On each cell a polynomial of third degree in both:  z = Σ c_mn sᵐ rⁿ,  s = x − x_i,  r = y − y_j. Cubic splines along x
of cubic splines along y: second derivatives are continuous everywhere. Cells are found by halving, in every algebra.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra import Algebra
from dalembert.expressions.curves import TableCall, TableLeaf, check_rising, starts, through

__all__ = ["Grid", "GridCall", "call_grid"]


class Grid(TableLeaf):
    """A function of two variables.

    Attributes:
        x, y: lines of the grid, rising.
        cells: coefficients c_mn, shaped (4, 4, len(x) + 1, len(y) + 1): those beyond the ends are the first and last.
    """

    x: np.ndarray
    y: np.ndarray
    cells: np.ndarray

    def __new__(cls, name: str, x: Any, y: Any, cells: Any, outside: str) -> Grid:
        made = cast(Grid, sp.AtomicExpr.__new__(cls))
        made.name, made.outside = name, outside
        made.x, made.y, made.cells = (np.ascontiguousarray(part, dtype=float) for part in (x, y, cells))
        made.digest = hashlib.sha256(made.x.tobytes() + made.y.tobytes() + made.cells.tobytes()).hexdigest()
        return made

    @classmethod
    def of(
        cls, name: str, x: Sequence[float], y: Sequence[float], z: Sequence[Sequence[float]], kind: str, outside: str
    ) -> Grid:
        """The function through z[i][j] at x[i], y[j].

        Raises:
            ValueError: saying what is wrong with the grid.
        """
        for axis, values in (("x", x), ("y", y)):
            if len(values) < 2:
                raise ValueError(f"expected at least 2 numbers in {axis} of a grid, got {len(values)}")
            check_rising(axis, values)
        if kind == "periodic":
            raise ValueError("a grid does not repeat; kind must be cubic or linear")
        lengths = {len(row) for row in z}
        if len(z) != len(x) or lengths != {len(y)}:
            got = f"{len(z)} rows of {' or '.join(map(str, sorted(lengths)))}"
            raise ValueError(
                f"expected z in {len(x)} rows, one for each x, of {len(y)} numbers, one for each y; got {got}"
            )
        lines, columns, values = (np.array(part, dtype=float) for part in (x, y, z))
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(f"expected finite numbers, got z[{i}][{j}] = {values[i, j]}")
        rule = "hold" if outside == "error" else outside
        along_x = through(lines, values, kind, rule)  # (4, nx + 1, ny)
        along_both = through(columns, np.moveaxis(along_x, 2, 0), kind, rule)  # (4, ny + 1, 4, nx + 1)
        cells = along_both.transpose(2, 0, 3, 1)
        if outside == "error":
            cells[0, 0, [0, -1], :] = cells[0, 0, :, [0, -1]] = math.nan
        return cls(name, lines, columns, cells, outside)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.name, self.digest, self.outside)

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.x, self.y, self.cells, self.outside)

    def value(self, al: Algebra, x: Any, y: Any, orders: tuple[int, int] = (0, 0)) -> Any:
        """The value, or a derivative ∂ᵐ⁺ⁿ/∂xᵐ∂yⁿ, at scalars of the algebra."""
        rows, columns = al.find(x, self.x), al.find(y, self.y)
        place = rows * float(len(self.y) + 1) + columns
        s = x - al.pick(rows, starts(self.x, "cubic"))
        r = y - al.pick(columns, starts(self.y, "cubic"))
        cells = _derived(_derived(self.cells, orders[0]), orders[1], axis=1)
        total: Any = None
        for line in cells[::-1]:
            inner: Any = None
            for coefficients in line[::-1]:
                c = al.pick(place, np.ascontiguousarray(coefficients).ravel())
                inner = c if inner is None else inner * r + c
            total = inner if total is None else total * s + inner
        return total


def _derived(cells: np.ndarray, order: int, axis: int = 0) -> np.ndarray:
    """Coefficients of a derivative along one axis."""
    parts = list(np.moveaxis(cells, axis, 0))
    for _ in range(order):
        parts = [k * part for k, part in enumerate(parts)][1:] or [np.zeros_like(parts[0])]
    return np.moveaxis(np.stack(parts), 0, axis)


class GridCall(TableCall):
    """A grid at some x and y: ``GridCall(name, x, y)``, or a derivative of it: ``GridCall(name, x, y, m, n)``."""

    @property
    def orders(self) -> tuple[int, int]:
        """Which derivative, by x and by y."""
        given: Any = self.args[3:]
        return (int(given[0]), int(given[1])) if given else (0, 0)

    @property
    def order(self) -> int:
        return sum(self.orders)

    def _eval_derivative(self, s: Any) -> Any:
        grid, x, y = cast("tuple[Any, Any, Any]", self.args[:3])
        m, n = self.orders
        by_x = GridCall(grid, x, y, sp.Integer(m + 1), sp.Integer(n)) * x.diff(s)
        return by_x + GridCall(grid, x, y, sp.Integer(m), sp.Integer(n + 1)) * y.diff(s)

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return self.args[1].free_symbols | self.args[2].free_symbols

    @property
    def _marks(self) -> str:
        return "x" * self.orders[0] + "y" * self.orders[1]

    def _sympystr(self, printer: Any) -> str:
        mark = f"_{self._marks}" if self._marks else ""
        return f"{self.table}{mark}({printer.doprint(self.args[1])}, {printer.doprint(self.args[2])})"

    def _latex(self, printer: Any) -> str:
        mark = f"_{{{self._marks}}}" if self._marks else ""
        at = f"{printer.doprint(self.args[1])}, {printer.doprint(self.args[2])}"
        return rf"\operatorname{{{self.table}}}{mark}\left({at}\right)"


def call_grid(grid: Any, x: sp.Expr, y: sp.Expr) -> sp.Expr:
    """A grid, by the symbol of its name or itself, at x and y."""
    return cast(sp.Expr, GridCall(grid, x, y))
