"""−B⋆⁻¹ B# over symbols, sparsely: pivots that are numbers first, then blocks that have nothing in common.

Blocks of up to three rows are solved by minors, which have no fractions inside. Larger ones over SymPy by elimination
in the order in which their pivots were chosen, long entries with names; over CasADi by orthogonal columns, which need
no pivots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.algebra.dense_solve import MOST_BY_MINORS, solve
from dalembert.errors import DalembertError
from dalembert.modular.labeled_matrix import LabeledMatrix
from dalembert.modular.labels import Label

__all__ = ["dependent_rows"]

Row = dict[Label, Any]
LEAST = 1e-3  # of the largest number in its row; smaller numbers are no pivots


def dependent_rows(
    B: LabeledMatrix,
    pivots: Sequence[tuple[Label, Label]],
    independent: Sequence[Label],
    short: Callable[[Any], Any] | None = None,
) -> dict[Label, Row]:
    """Rows of  −B⋆⁻¹ B#  by dependent column.

    Args:
        pivots: (row, dependent column).
        short: gives long expressions names.
    """
    al, name = B.al, short or _same
    rows = {row: dict(B.entries.get(row, {})) for row, _ in pivots}
    column_of = dict(pivots)
    order = _numbers_first(al, rows, column_of, name)
    left = [(row, column) for row, column in pivots if row in rows and row not in order]
    found: dict[Label, Row] = {}
    stars, free = {column for _, column in left}, set(independent)
    for block in _blocks(rows, left, stars):
        found |= _solve_block(al, rows, block, independent, name)
    for row in reversed(order):
        column, line = column_of[row], rows[row]
        found[column] = _substituted(al, line, column, found, free, name)
    return found


def _numbers_first(al: Algebra, rows: dict[Label, Row], column_of: dict[Label, Label], name: Any) -> list[Label]:
    """Eliminate by pivots that are numbers as long as there are any; the rows taken, in order."""
    users: dict[Label, set[Label]] = {}
    for row, line in rows.items():
        for column in line:
            users.setdefault(column, set()).add(row)
    order: list[Label] = []
    todo = sorted(rows, key=lambda row: len(rows[row]))
    done: set[Label] = set()
    while todo:
        later: list[Label] = []
        progress = False
        for row in todo:
            column, line = column_of[row], rows[row]
            if not _is_pivot(al, line, column):
                later.append(row)
                continue
            progress = True
            order.append(row)
            done.add(row)
            for other in list(users[column]):
                if other in done:
                    continue
                factor = rows[other].pop(column) / line[column]
                users[column].discard(other)
                _subtract(al, rows[other], line, column, factor, users, other, name)
        todo = later
        if not progress:
            break
    return order


def _is_pivot(al: Algebra, line: Row, column: Label) -> bool:
    value = al.value(line[column]) if column in line else None
    if value is None or value == 0:
        return False
    numbers = (al.value(entry) for entry in line.values())
    return abs(value) >= LEAST * max(abs(number) for number in numbers if number is not None)


def _subtract(
    al: Algebra, target: Row, line: Row, column: Label, factor: Any, users: Any, target_row: Label, name: Any
) -> None:
    """target −= factor · line, but for the pivot's column."""
    for other, value in line.items():
        if other == column:
            continue
        new = target[other] - factor * value if other in target else -factor * value
        if _zero(al, new):
            target.pop(other, None)
            users[other].discard(target_row)
        else:
            target[other] = name(new)
            users.setdefault(other, set()).add(target_row)


def _zero(al: Algebra, value: Any) -> bool:
    return bool(value == 0) if al.name == "sympy" else al.value(value) == 0


def _blocks(
    rows: dict[Label, Row], left: list[tuple[Label, Label]], stars: set[Label]
) -> list[list[tuple[Label, Label]]]:
    """Pivots that hang together by dependent columns."""
    parent = {row: row for row, _ in left}

    def find(row: Label) -> Label:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    owner = {column: row for row, column in left}
    for row, _ in left:
        for column in rows[row]:
            if column in stars:
                parent[find(row)] = find(owner[column])
    groups: dict[Label, list[tuple[Label, Label]]] = {}
    for pivot in left:
        groups.setdefault(find(pivot[0]), []).append(pivot)
    return list(groups.values())


def _solve_block(
    al: Algebra, rows: dict[Label, Row], block: list[tuple[Label, Label]], independent: Sequence[Label], name: Any
) -> dict[Label, Row]:
    columns = [column for _, column in block]
    used = [label for label in independent if any(label in rows[row] for row, _ in block)]
    if not used:
        return {column: {} for column in columns}
    if al.name == "sympy" and len(block) > MOST_BY_MINORS:
        return _eliminated(al, rows, block, set(used), name)
    zero = al.constant(0)
    left = np.array([[rows[row].get(column, zero) for column in columns] for row, _ in block], dtype=object)
    right = np.array([[rows[row].get(label, zero) for label in used] for row, _ in block], dtype=object)
    X = solve(al, left, right)
    return {
        column: {label: name(-value) for label, value in zip(used, line, strict=True) if not _zero(al, value)}
        for column, line in zip(columns, X, strict=True)
    }


def _eliminated(
    al: Algebra, rows: dict[Label, Row], block: list[tuple[Label, Label]], free: set[Label], name: Any
) -> dict[Label, Row]:
    """A larger block by elimination, in the order of its pivots."""
    lines = [dict(rows[row]) for row, _ in block]
    for k, (row, column) in enumerate(block):
        if column not in lines[k]:  # its pivot vanished: take another row that has the column
            other = next((i for i in range(k + 1, len(lines)) if column in lines[i]), None)
            if other is None:
                raise DalembertError(f"invariant {row.text!r} does not determine {column}: choose other variables")
            lines[k], lines[other] = lines[other], lines[k]
        for line in lines[k + 1 :]:
            if column in line:
                factor = name(line.pop(column) / lines[k][column])
                for other, value in lines[k].items():
                    if other != column:
                        new = line.get(other, al.constant(0)) - factor * value
                        if _zero(al, new):
                            line.pop(other, None)
                        else:
                            line[other] = name(new)
    found: dict[Label, Row] = {}
    for (_, column), line in zip(reversed(block), reversed(lines), strict=True):
        found[column] = _substituted(al, line, column, found, free, name)
    return found


def _substituted(al: Algebra, line: Row, column: Label, found: dict[Label, Row], free: set[Label], name: Any) -> Row:
    """The row of one dependent column from its equation and those already found."""
    terms: dict[Label, Any] = {}
    for other, value in line.items():
        if other == column:
            continue
        for label, known in ({other: al.constant(1)} if other in free else found[other]).items():
            product = value * known
            terms[label] = terms[label] + product if label in terms else product
    pivot = line[column]
    return {label: name(-(value / pivot)) for label, value in terms.items() if not _zero(al, value)}


def _same(value: Any) -> Any:
    return value
