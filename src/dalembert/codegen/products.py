"""Outputs that are products of sparse matrices, computed by loops after the straight-line code.

Written out, the n³ multiplications of a product of matrices are hundreds of kilobytes of code, which runs as fast as it
is read from memory. Here they are data: each entry of a left factor has a slot of memory, the right factor is cut into
tiles (a row of a few columns), and tables say which entry multiplies which tile:

    target = Σ entry · tile

Tiles of zeros are in no table, so structural zeros cost no more than the rounding up to tiles. The sums stay in
registers, and the tiles of one block of columns in the first-level cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Call", "Factor", "Products", "plan_products"]

# Columns in a tile: as many sums, and a factor, fit into sixteen vector registers.
TILE = 8


@dataclass(frozen=True)
class Factor:
    """A sparse matrix.

    Attributes:
        rows, columns: its shape.
        entries: (row, column), row by row.
        values: for each entry the value of the tape.
    """

    rows: int
    columns: int
    entries: tuple[tuple[int, int], ...]
    values: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """Sums of products over the tiles of one block of columns.

    Attributes:
        columns: numbers in a tile.
        to_out: the sums are outputs, not tiles of the next product.
        table: the number of sums; for each its slot and its number of terms, for each term the slots of entry and tile.
    """

    columns: int
    to_out: bool
    table: tuple[int, ...]


@dataclass(frozen=True)
class Products:
    """All products of a kernel; slots are numbers of ``width`` doubles in the outputs or in the work memory.

    Attributes:
        n_out: number of outputs, which follow those of the straight-line code.
        n_work: slots of work memory.
        stores: (slot, value of the tape) that the straight-line code leaves there.
        cleared: slots that must be zero unless a value is stored in them.
        calls: what is computed, in order.
    """

    n_out: int = 0
    n_work: int = 0
    stores: tuple[tuple[int, int], ...] = ()
    cleared: range = range(0)
    calls: tuple[Call, ...] = ()


def plan_products(chains: Sequence[Sequence[Factor]], first_out: int) -> Products:
    """Lay out memory and write the tables.

    Args:
        chains: for each output the factors, from left to right; equal ones share their memory.
        first_out: number of outputs of the straight-line code.
    """
    stores: list[tuple[int, int]] = []
    left: dict[Factor, list[list[tuple[int, int]]]] = {}
    for factor in dict.fromkeys(factor for chain in chains for factor in chain[:-1]):
        left[factor] = [[] for _ in range(factor.rows)]
        for (row, column), value in zip(factor.entries, factor.values, strict=True):
            left[factor][row].append((column, len(stores)))
            stores.append((len(stores), value))
    first_tile = end = len(stores)
    tiles: list[list[dict[int, int]]] = []
    for chain in chains:
        tiles.append([])
        for block in _blocks(chain[-1].columns):
            inside = [(*at, v) for at, v in zip(chain[-1].entries, chain[-1].values, strict=True) if at[1] in block]
            rows = dict.fromkeys(row for row, _, _ in inside)
            tiles[-1].append(dict(zip(rows, itertools.count(end, len(block)), strict=False)))
            stores += [(tiles[-1][-1][row] + column - block.start, v) for row, column, v in inside]
            end += len(rows) * len(block)
    cleared = range(first_tile, end)
    # Tiles between the products of a chain lie behind, in the same place for every block.
    height = max((factor.rows for chain in chains for factor in chain[1:-1]), default=0) * TILE
    calls, out, last = [], first_out, end
    for chain, blocks in zip(chains, tiles, strict=True):
        columns = chain[-1].columns
        for block, source in zip(_blocks(columns), blocks, strict=True):
            for level, factor in enumerate(reversed(chain[1:-1])):
                start = end + level * height
                rows = [row for row, entries in enumerate(left[factor]) if any(k in source for k, _ in entries)]
                target = {row: start + row * len(block) for row in rows}
                calls.append(Call(len(block), False, _table(left[factor], source, target)))
                source, last = target, max(last, start + height)
            target = {row: out + row * columns + block.start for row in range(chain[0].rows)}
            calls.append(Call(len(block), True, _table(left[chain[0]], source, target)))
        out += chain[0].rows * columns
    return Products(out - first_out, last, tuple(stores), cleared, tuple(call for call in calls if call.table[0]))


def _blocks(columns: int) -> list[range]:
    """Columns cut into blocks of nearly the same width, at most ``TILE``."""
    count = -(-columns // TILE)
    return [range(columns * i // count, columns * (i + 1) // count) for i in range(count)]


def _table(left: list[list[tuple[int, int]]], source: dict[int, int], target: dict[int, int]) -> tuple[int, ...]:
    """The sums of the rows in ``target``; ``source`` has the tiles, by row, that are not zero."""
    table = [len(target)]
    for row, slot in target.items():
        terms = [(entry, source[column]) for column, entry in left[row] if column in source]
        table += [slot, len(terms), *itertools.chain.from_iterable(terms)]
    return tuple(table)
