"""Points of tables from text files: numbers in columns, as spreadsheets and measuring programs write them."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from dalembert.arguments import public
from dalembert.errors import InputError
from dalembert.expressions.curves import MOST_POINTS

__all__ = ["read_grid", "read_table"]

MAX_BYTES = 2_000_000
SEPARATORS = (";", "\t", ",")  # in this order: where ; separates, a comma may be a decimal sign


@public
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


@public
def read_grid(path: str | Path) -> dict[str, Any]:
    """A height map, or any function of two variables, from a file: ``model.table("hill", **da.read_grid("hill.csv"))``.

    Two forms. Numbers in columns: the first line holds y (its first cell does not count), each further line an x and
    the values there. Or the ASCII grid of maps (.asc): lines ``ncols``, ``nrows``, ``xllcorner`` or ``xllcenter``,
    ``yllcorner`` or ``yllcenter``, ``cellsize``, then rows from north to south; x runs east and y north.

    Args:
        path: of the file, at most 2 MB.

    Returns:
        ``x``, ``y`` and ``z``.
    """
    rows = _rows(Path(path))
    if rows[0][1][0].strip().lower() == "ncols":
        return _map_grid(path, rows)
    if len(rows) < 3 or len(rows[0][1]) < 3:
        raise InputError(
            f"{path}: a grid needs two lines and two columns of values at least.  Fix: y in the first line"
        )
    y = [_finite(path, rows[0][0], cell) for cell in rows[0][1][1:]]
    table = [_numbers_in(path, line, cells, len(y) + 1) for line, cells in rows[1:]]
    return {"x": tuple(row[0] for row in table), "y": tuple(y), "z": tuple(row[1:] for row in table)}


def _map_grid(path: Any, rows: list[tuple[int, list[str]]]) -> dict[str, Any]:
    """The ASCII grid of maps: north on top, so that its rows are turned into those of x."""
    head: dict[str, float] = {}
    while rows and not _is_number(rows[0][1][0]):
        line, cells = rows.pop(0)
        head[cells[0].strip().lower()] = _numbers_in(path, line, cells[1:], 1)[0]
    wide, high, size = (head.get(key, math.nan) for key in ("ncols", "nrows", "cellsize"))
    corners = [head.get(f"{axis}llcenter", head.get(f"{axis}llcorner", math.nan) + size / 2) for axis in "xy"]
    if not all(map(math.isfinite, (wide, high, size, *corners))):
        needed = "ncols, nrows, xllcorner, yllcorner and cellsize"
        raise InputError(f"{path}: the head of a map needs {needed}; got {', '.join(head)}")
    if not (wide >= 2 and high >= 2 and wide == int(wide) and size > 0):
        sizes = f"ncols {wide:g}, nrows {high:g}, cellsize {size:g}"
        raise InputError(f"{path}: a map needs two columns and two rows at least, and cells of a size; got {sizes}")
    if len(rows) != high:
        raise InputError(f"{path}: expected nrows = {high:g} rows of heights, got {len(rows)}")
    heights = [_numbers_in(path, line, cells, int(wide)) for line, cells in rows]
    missing = head.get("nodata_value")
    for (line, _), row in zip(rows, heights, strict=True):
        if missing in row:
            raise InputError(
                f"{path}:{line}: no height in column {row.index(missing)}.  Fix: a part of the map without gaps"
            )
    x = tuple(corners[0] + size * k for k in range(int(wide)))
    y = tuple(corners[1] + size * k for k in range(int(high)))
    return {"x": x, "y": y, "z": tuple(zip(*heights[::-1], strict=True))}


def _numbers_in(path: Any, line: int, cells: list[str], count: int) -> tuple[float, ...]:
    if len(cells) != count:
        raise InputError(f"{path}:{line}: expected {count} numbers, got {len(cells)}")
    return tuple(_finite(path, line, cell) for cell in cells)


def _finite(path: Any, line: int, cell: str) -> float:
    if not _is_number(cell) or not math.isfinite(float(cell.replace(",", "."))):
        raise InputError(f"{path}:{line}: expected a finite number, got {cell.strip()[:40]!r}")
    return float(cell.replace(",", "."))


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and cells."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES // 1_000_000} MB.  Fix: fewer points")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text.  Fix: a file with numbers in columns, such as CSV") from None
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip() and line.lstrip()[0] != "#"]
    if not lines:
        raise InputError(f"{path}: is empty.  Fix: one line for each point, e.g. 0.5, 0.02")
    mark = next((mark for mark in SEPARATORS if mark in lines[-1][1]), None)
    if mark is None:
        return [(i, line.split()) for i, line in lines]
    try:
        return [(i, row) for i, line in lines for row in csv.reader([line], delimiter=mark)]
    except csv.Error as error:  # such as a cell of more than 100 000 letters
        raise InputError(f"{path}: is not a table: {error}.  Fix: one number in each cell") from None


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
