"""Outputs that are products of sparse matrices, computed by loops after the straight-line code.

Written out, the n³ multiplications of a product of matrices are hundreds of kilobytes of code. Here they are data: each
entry of a left factor has a slot of memory, the right factor is cut into tiles (a row of a few columns), and tables say
which entry multiplies which tile:

    target = Σ entry · tile

Tiles of zeros are in no table, and columns that have their entries in the same rows share their tiles, so structural
zeros cost little. The sums stay in registers, and the tiles of one block of columns in the first-level cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Call", "Factor", "Products", "plan_products"]

# Columns in a tile: as many sums, and an entry, fit into sixteen vector registers.
TILE = 8
# To read an entry and its place takes as long as this many multiplications.
OVERHEAD = 3


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

    def pattern(self) -> np.ndarray:
        """True where there are entries."""
        found = np.zeros((self.rows, self.columns), dtype=bool)
        found[tuple(np.array(self.entries, dtype=int).reshape(-1, 2).T)] = True
        return found


@dataclass(frozen=True)
class Call:
    """Sums of products over the tiles of one block of columns.

    Attributes:
        columns: where the numbers of a sum go, counted from its slot.
        to_out: the sums are outputs, not tiles of the next product.
        table: the number of sums; for each its slot and its number of terms, for each term the slots of entry and tile.
    """

    columns: tuple[int, ...]
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
    tiles: list[list[tuple[tuple[int, ...], dict[int, int]]]] = []
    for chain in chains:
        tiles.append([])
        values = dict(zip(chain[-1].entries, chain[-1].values, strict=True))
        for block in _blocks([factor.pattern() for factor in chain]):
            inside = [(row, block.index(column), v) for (row, column), v in values.items() if column in block]
            rows = dict.fromkeys(row for row, _, _ in inside)
            place = {row: end + k * len(block) for k, row in enumerate(rows)}
            stores += [(place[row] + k, v) for row, k, v in inside]
            tiles[-1].append((block, place))
            end += len(place) * len(block)
    # Tiles between the products of a chain lie behind, in the same place for every block.
    height = max((factor.rows for chain in chains for factor in chain[1:-1]), default=0) * TILE
    calls: list[Call] = []
    out, last = first_out, end
    for chain, blocks in zip(chains, tiles, strict=True):
        columns = chain[-1].columns
        for block, source in blocks:
            for level, factor in enumerate(reversed(chain[1:-1])):
                start = end + level * height
                rows = [row for row, entries in enumerate(left[factor]) if any(k in source for k, _ in entries)]
                target = {row: start + row * len(block) for row in rows}
                calls.append(Call(tuple(range(len(block))), False, _table(left[factor], source, target)))
                source, last = target, max(last, start + height)
            target = {row: out + row * columns for row in range(chain[0].rows)}
            calls.append(Call(block, True, _table(left[chain[0]], source, target)))
        out += chain[0].rows * columns
    calls = [call for call in calls if call.table[0]]
    return Products(out - first_out, last, tuple(stores), range(first_tile, end), tuple(calls))


def _blocks(patterns: list[np.ndarray]) -> list[tuple[int, ...]]:
    """The columns of a product in blocks of at most ``TILE``, such that it takes the least work.

    Columns with entries in the same rows come together if they are sorted by their first rows: in a tree, those of one
    branch. Then shortest paths: ``best[k]`` is the least work for the first k columns.
    """
    *left, right = patterns
    order = sorted(range(right.shape[1]), key=lambda column: tuple(np.flatnonzero(right[:, column])))
    best, cut = [0], [0]
    for k in range(1, len(order) + 1):
        found = [(best[i] + _work(left, right[:, order[i:k]]), i) for i in range(max(0, k - TILE), k)]
        best.append(min(found)[0])
        cut.append(min(found)[1])
    blocks: list[tuple[int, ...]] = []
    k = len(order)
    while k:
        blocks.insert(0, tuple(order[cut[k] : k]))
        k = cut[k]
    return blocks


def _work(left: list[np.ndarray], block: np.ndarray) -> int:
    """Time to multiply the left factors with a block of columns, in multiplications."""
    rows, work = block.any(axis=1), 0
    for pattern in reversed(left):
        terms = pattern[:, rows].sum(axis=1)
        work += int(terms.sum()) * (block.shape[1] + OVERHEAD)
        rows = terms > 0
    return work


def _table(left: list[list[tuple[int, int]]], source: dict[int, int], target: dict[int, int]) -> tuple[int, ...]:
    """The sums of the rows in ``target``; ``source`` has the tiles, by row, that are not zero."""
    table = [len(target)]
    for row, slot in target.items():
        terms = [(entry, source[column]) for column, entry in left[row] if column in source]
        table += [slot, len(terms), *itertools.chain.from_iterable(terms)]
    return tuple(table)
