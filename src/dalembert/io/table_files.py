"""Points of tables from text files: numbers in columns, as spreadsheets and measuring programs write them."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from dalembert.errors import InputError
from dalembert.expressions.curves import MOST_POINTS

__all__ = ["read_table"]

MAX_BYTES = 2_000_000
SEPARATORS = (";", "\t", ",")  # in this order: where ; separates, a comma may be a decimal sign


def read_table(path: str | Path, columns: tuple[int | str, int | str] = (0, 1)) -> dict[str, tuple[float, ...]]:
    """Points from a file with numbers in columns: ``model.table("road", **da.read_table("road.csv"))``.

    Columns are separated by commas, semicolons, tabs or spaces; lines that begin with # and empty ones are left out.
    The first line may hold names.

    Args:
        path: of the file, at most 2 MB.
        columns: of x and y, by number from 0, or by name.

    Returns:
        ``x`` and ``y``.
    """
    rows = _rows(Path(path))
    names = [] if _is_number(rows[0][1][0]) else [cell.strip() for cell in rows.pop(0)[1]]
    if not rows:
        raise InputError(f"{path}: no numbers in it.  Fix: one line for each point, e.g. 0.5, 0.02")
    if len(rows) > MOST_POINTS:
        raise InputError(f"{path}: {len(rows)} points; a table takes at most {MOST_POINTS}.  Fix: every tenth line")
    x, y = (_column(path, rows, names, column) for column in columns)
    return {"x": x, "y": y}


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and cells."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES // 1_000_000} MB.  Fix: fewer points")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no text.  Fix: a file with numbers in columns, such as CSV") from None
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip() and line.lstrip()[0] != "#"]
    if not lines:
        raise InputError(f"{path}: is empty.  Fix: one line for each point, e.g. 0.5, 0.02")
    mark = next((mark for mark in SEPARATORS if mark in lines[-1][1]), None)
    if mark is None:
        return [(i, line.split()) for i, line in lines]
    return [(i, row) for i, line in lines for row in csv.reader([line], delimiter=mark)]


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _column(path: Any, rows: list[tuple[int, list[str]]], names: list[str], column: int | str) -> tuple[float, ...]:
    if isinstance(column, str):
        if column not in names:
            raise InputError(f"{path}: no column {column!r}; there are {', '.join(names) or 'no names'}")
        column = names.index(column)
    found: list[float] = []
    for line, cells in rows:
        if not 0 <= column < len(cells):
            raise InputError(f"{path}:{line}: expected a column {column}, got {len(cells)} columns, counted from 0")
        cell = cells[column].strip()
        if not _is_number(cell) or not math.isfinite(float(cell.replace(",", "."))):
            raise InputError(f"{path}:{line}: expected a finite number in column {column}, got {cell[:40]!r}")
        found.append(float(cell.replace(",", ".")))
    return tuple(found)
