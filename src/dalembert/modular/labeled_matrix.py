"""Matrices whose rows and columns have names, of scalars of any algebra.

    W = assemble(X, Y):    rows and columns of W are the unions,    W.i.j = X.i.j + Y.i.j    with 0 for what is missing

The union-sum is commutative and associative, so a matrix of a system is the sum of what its parts contribute. Entries
that are zero are not stored: a product costs what its non-zero entries cost.

Reference: R. M. M. Orsino, thesis (2016), sec. 1.4 and def. 2.9.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY, Algebra
from dalembert.errors import DalembertError
from dalembert.modular.labels import Label, match
from dalembert.values import LIST, TUPLE

__all__ = ["ONE", "LabeledMatrix", "assemble"]

ONE = Label((), "1", 0)  # the column of a vector


class LabeledMatrix:
    """A matrix with named rows and columns. Equal are matrices that are equal as maps, in whatever order.

    Args:
        al: the algebra of the entries.
        rows, columns: labels, in the order in which they are printed.
        entries: non-zero entries by row, then by column.
    """

    def __init__(
        self, al: Algebra, rows: Iterable[Label], columns: Iterable[Label], entries: Mapping[Label, dict[Label, Any]]
    ):
        self.al, self.rows, self.columns = al, tuple(dict.fromkeys(rows)), tuple(dict.fromkeys(columns))
        self.entries = {row: values for row in self.rows if (values := entries.get(row))}

    @classmethod
    def made(
        cls, al: Algebra, rows: tuple[Label, ...], columns: tuple[Label, ...], entries: dict[Label, dict[Label, Any]]
    ) -> LabeledMatrix:
        """From labels that are known to differ, and entries in their rows only: what the constructor checks."""
        self = cls.__new__(cls)
        self.al, self.rows, self.columns = al, rows, columns
        self.entries = {row: values for row, values in entries.items() if values}
        return self

    @classmethod
    def from_array(cls, al: Algebra, rows: Iterable[Label], columns: Iterable[Label], array: Any) -> LabeledMatrix:
        """From a dense array."""
        rows, columns = tuple(rows), tuple(columns)
        entries: dict[Label, dict[Label, Any]] = {}
        for i, row in enumerate(rows):
            values = {column: array[i][j] for j, column in enumerate(columns) if not _zero(al, array[i][j])}
            if values:
                entries[row] = values
        return cls(al, rows, columns, entries)

    @classmethod
    def identity(cls, al: Algebra, labels: Iterable[Label]) -> LabeledMatrix:
        labels = tuple(labels)
        one = al.constant(1)
        return cls.made(al, labels, labels, {label: {label: one} for label in labels})

    @classmethod
    def vector(cls, al: Algebra, values: Mapping[Label, Any]) -> LabeledMatrix:
        """A column of named values."""
        return cls(al, values, (ONE,), {row: {ONE: value} for row, value in values.items() if not _zero(al, value)})

    @classmethod
    @functools.cache
    def empty(cls, al: Algebra) -> LabeledMatrix:
        return cls.made(al, (), (), {})

    # Looking into it

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    def get(self, row: Label, column: Label) -> Any:
        """One entry by labels; 0 for what is missing."""
        value = self.entries.get(row, {}).get(column)
        return self.al.constant(0) if value is None else value

    def __getitem__(self, key: Any) -> Any:
        """``M[row, column]``: an entry, or a matrix if either is a list or a slice; ``v[row]``: of a vector."""
        row, column = key if isinstance(key, TUPLE) else (key, slice(None))
        if not isinstance(key, TUPLE) and self.columns == (ONE,) and not isinstance(row, (list, slice)):
            return self.get(match(self.rows, row, "row"), ONE)
        rows, columns = _chosen(self.rows, row, "row"), _chosen(self.columns, column, "column")
        if not isinstance(row, (list, slice)) and not isinstance(column, (list, slice)):
            return self.get(rows[0], columns[0])
        return self.part(rows, columns)

    def part(self, rows: Iterable[Label] | None = None, columns: Iterable[Label] | None = None) -> LabeledMatrix:
        """The submatrix of these rows and columns."""
        rows = self.rows if rows is None else tuple(rows)
        if columns is None:
            return LabeledMatrix(self.al, rows, self.columns, self.entries)
        columns = tuple(columns)
        kept = set(columns)
        chosen = {
            row: {column: value for column, value in self.entries.get(row, {}).items() if column in kept}
            for row in rows
        }
        return LabeledMatrix(self.al, rows, columns, chosen)

    def values(self) -> dict[Label, Any]:
        """A vector as a dictionary."""
        if self.columns not in ((ONE,), ()):
            raise DalembertError(f"a matrix of {self.shape[0]} rows and {self.shape[1]} columns is not a vector")
        return {row: self.get(row, ONE) for row in self.rows}

    def to_array(self) -> np.ndarray:
        """As a dense array, in the order of the labels."""
        out = self.al.zeros(*self.shape)
        place = {column: j for j, column in enumerate(self.columns)}
        for i, row in enumerate(self.rows):
            for column, value in self.entries.get(row, {}).items():
                out[i, place[column]] = value
        return out

    def numbers(self, rows: Iterable[Label], columns: Iterable[Label]) -> np.ndarray:
        """Some rows and columns of a matrix of numbers as a dense array of floats."""
        rows, place = tuple(rows), {column: j for j, column in enumerate(columns)}
        out = np.zeros((len(rows), len(place)))
        for i, row in enumerate(rows):
            for column, value in self.entries.get(row, {}).items():
                j = place.get(column)
                if j is not None:
                    out[i, j] = value
        return out

    # Algebra

    @property
    def T(self) -> LabeledMatrix:
        entries: dict[Label, dict[Label, Any]] = {}
        for row, values in self.entries.items():
            for column, value in values.items():
                entries.setdefault(column, {})[row] = value
        return LabeledMatrix.made(self.al, self.columns, self.rows, entries)

    def __matmul__(self, other: LabeledMatrix) -> LabeledMatrix:
        """The product by label: columns of this and rows of the other that have one name meet; others meet zeros."""
        entries: dict[Label, dict[Label, Any]] = {}
        for row, values in self.entries.items():
            found: dict[Label, list[Any]] = {}
            if len(values) == 1:  # one row of the other, as of a unit row
                ((middle, a),) = values.items()
                line = other.entries.get(middle)
                if line:
                    entries[row] = {column: a * b for column, b in line.items()}
                continue
            for middle, a in values.items():
                line = other.entries.get(middle)
                for column, b in line.items() if line else ():
                    if column in found:
                        found[column].append(a * b)
                    else:
                        found[column] = [a * b]
            entries[row] = _sums(self.al, found)
        return LabeledMatrix.made(self.al, self.rows, other.columns, entries)

    def __add__(self, other: LabeledMatrix) -> LabeledMatrix:
        return assemble(self, other, al=self.al)

    def __neg__(self) -> LabeledMatrix:
        return self.map(lambda value: -value)

    def __sub__(self, other: LabeledMatrix) -> LabeledMatrix:
        return self + (-other)

    def map(self, change: Callable[[Any], Any], al: Algebra | None = None) -> LabeledMatrix:
        """Every stored entry changed by a function that keeps zero, perhaps into another algebra."""
        al = al or self.al
        entries: dict[Label, dict[Label, Any]] = {}
        for row, values in self.entries.items():
            changed = {column: change(value) for column, value in values.items()}
            entries[row] = {column: value for column, value in changed.items() if not _zero(al, value)}
        return LabeledMatrix.made(al, self.rows, self.columns, entries)

    def renamed(self, rename: Callable[[Label], Label]) -> LabeledMatrix:
        """The same entries under other names."""
        entries = {rename(r): {rename(c): v for c, v in values.items()} for r, values in self.entries.items()}
        return LabeledMatrix(self.al, map(rename, self.rows), map(rename, self.columns), entries)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabeledMatrix):
            return NotImplemented
        if set(self.rows) != set(other.rows) or set(self.columns) != set(other.columns):
            return False
        for row in self.rows:
            mine, yours = self.entries.get(row, {}), other.entries.get(row, {})
            if mine.keys() != yours.keys() or any(mine[c] != yours[c] for c in mine):
                return False
        return True

    __hash__ = None  # type: ignore[assignment]

    # Showing it

    def __repr__(self) -> str:
        if self.shape[0] * self.shape[1] > 400:
            return f"<LabeledMatrix {self.shape[0]}×{self.shape[1]}>"
        head = [""] + [str(column) for column in self.columns]
        body = [[str(row)] + [str(self.get(row, column)) for column in self.columns] for row in self.rows]
        widths = [max(len(line[k]) for line in [head, *body]) for k in range(len(head))]
        return "\n".join(
            "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in [head, *body]
        )

    def latex(self) -> str:
        """A bordered matrix with its labels."""
        zero = self.al.constant(0)
        cells = [[row.latex()] + [_tex(self.get(row, c), zero) for c in self.columns] for row in self.rows]
        head = [""] + ["" if column == ONE else column.latex() for column in self.columns]
        lines = [" & ".join(line) for line in [head, *cells]]
        return r"\begin{array}{r|" + "c" * len(self.columns) + "}\n" + " \\\\\n".join(lines) + "\n\\end{array}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def to_matrix(self) -> sp.Matrix:
        """As a SymPy matrix, in the order of the labels."""
        return sp.Matrix(*self.shape, list(self.to_array().reshape(-1)))

    def to_xarray(self) -> Any:
        """As an ``xarray.DataArray`` with named coordinates."""
        import xarray as xr

        array = self.to_array()
        if self.al is NUMPY:
            array = array.astype(float)
        rows, columns = list(map(str, self.rows)), list(map(str, self.columns))
        return xr.DataArray(array, {"row": rows, "column": columns}, ("row", "column"))


def assemble(*parts: LabeledMatrix, al: Algebra | None = None) -> LabeledMatrix:
    """The union-sum of labeled matrices; labels keep the order in which they first occur."""
    algebras = {id(part.al): part.al for part in parts if part.entries}
    if len(algebras) > 1:
        raise DalembertError(f"matrices over different algebras: {', '.join(a.name for a in algebras.values())}")
    al = al or next(iter(algebras.values()), parts[0].al if parts else NUMPY)
    rows: dict[Label, None] = {}
    columns: dict[Label, None] = {}
    found: dict[Label, list[dict[Label, Any]]] = {}
    for part in parts:
        rows.update(dict.fromkeys(part.rows))
        columns.update(dict.fromkeys(part.columns))
        for row, values in part.entries.items():
            if row in found:
                found[row].append(values)
            else:
                found[row] = [values]
    return LabeledMatrix.made(
        al, tuple(rows), tuple(columns), {row: _united(al, lines) for row, lines in found.items()}
    )


def _united(al: Algebra, lines: list[dict[Label, Any]]) -> dict[Label, Any]:
    """The sum of rows; nearly always there is one."""
    if len(lines) == 1:
        return lines[0]
    terms: dict[Label, list[Any]] = {}
    for line in lines:
        for column, value in line.items():
            terms.setdefault(column, []).append(value)
    return _sums(al, terms)


def _sums(al: Algebra, terms: dict[Label, list[Any]]) -> dict[Label, Any]:
    out: dict[Label, Any] = {}
    for label, values in terms.items():
        if len(values) == 1:
            out[label] = values[0]  # a product of what is not zero
            continue
        total = _sum(al, values)
        if not _zero(al, total):
            out[label] = total
    return out


def _sum(al: Algebra, values: list[Any]) -> Any:
    if al.name == "sympy":
        return sp.Add(*values)  # SymPy orders all terms at once
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _zero(al: Algebra, value: Any) -> bool:
    """True for what is zero whatever the symbols are, as far as it shows."""
    if type(value) is float:
        return value == 0.0
    if al.name == "sympy":
        return value == 0
    return al.value(value) == 0


def _tex(value: Any, zero: Any) -> str:
    return r"\cdot" if value is zero or value == 0 else cast(Any, sp).latex(value)


def _chosen(labels: tuple[Label, ...], key: Any, what: str) -> list[Label]:
    if isinstance(key, slice):
        return list(labels[key])
    if isinstance(key, LIST):
        return [match(labels, one, what) for one in key]
    return [match(labels, key, what)]
