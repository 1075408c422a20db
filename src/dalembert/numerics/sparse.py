"""Sparse symmetric systems whose pattern never changes: ordered and analyzed once, factorized in native code.

    K = L D Lᵀ,   rows in the order in which little fills in

The unknowns come in blocks (those of one constraint); the pattern is given block by block.

Reference: T. A. Davis, "Direct Methods for Sparse Linear Systems", SIAM 2006, chs. 4 and 7.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from dalembert.native import Int, Integers, Record, native

__all__ = ["Pattern", "factor", "multiply", "packed", "pattern_of", "substitute"]


class Pattern(Record):
    """The pattern of K and of its factor; all indices are places in the new order.

    Attributes:
        n, entries, fill: unknowns, entries of the upper half of K, and of L without its diagonal.
        place: where each unknown went.
        start, index: upper half of K by columns, diagonal last in its column; values of K come in this order.
        column_start, column_index: L by columns, without its diagonal.
        row_start, row_index: L by rows, columns in the order of elimination.
    """

    n, entries, fill = 3 * Int()
    place = Integers("n")
    start, column_start, row_start = 3 * Integers("n + 1")
    index = Integers("entries")
    column_index, row_index = 2 * Integers("fill")

    @property
    def slots(self) -> dict[tuple[int, int], int]:
        """Where the entry of a column and an earlier row is kept, by places."""
        columns = np.repeat(np.arange(len(self.place)), np.diff(self.start))
        return {(int(row), int(column)): k for k, (row, column) in enumerate(zip(self.index, columns, strict=True))}


def pattern_of(sizes: list[int], couplings: list[tuple[int, int]]) -> Pattern:
    """The pattern of a matrix of blocks.

    Args:
        sizes: unknowns of each block.
        couplings: pairs of blocks with entries.
    """
    neighbors: list[set[int]] = [set() for _ in sizes]
    for a, b in couplings:
        if a != b:
            neighbors[a].add(b)
            neighbors[b].add(a)
    order, later = _eliminate([set(near) for near in neighbors])
    rank = {block: k for k, block in enumerate(order)}
    first = np.zeros(len(sizes), dtype=np.int64)
    first[order] = np.concatenate([[0], np.cumsum([sizes[block] for block in order])])[:-1]
    spans = [range(first[block], first[block] + sizes[block]) for block in range(len(sizes))]
    place = np.concatenate([np.array(spans[block], dtype=np.int64) for block in range(len(sizes))] or [np.empty(0)])
    earlier: list[list[int]] = [[] for _ in sizes]
    for block in order:
        for other in later[block]:
            earlier[other].append(block)
    index: list[list[int]] = []
    columns: list[list[int]] = []
    rows: list[list[int]] = []
    for block in order:
        before = sorted((other for other in neighbors[block] if rank[other] < rank[block]), key=rank.__getitem__)
        filled = sorted(earlier[block], key=rank.__getitem__)
        after = sorted(later[block], key=rank.__getitem__)
        for k in spans[block]:
            own = range(first[block], k)
            index.append([i for other in before for i in spans[other]] + [*own, k])
            rows.append([i for other in filled for i in spans[other]] + [*own])
            columns.append([*range(k + 1, spans[block].stop)] + [i for other in after for i in spans[other]])
    parts: dict[str, np.ndarray] = {}
    for name, lists in (("", index), ("column_", columns), ("row_", rows)):
        parts[name + "start"], parts[name + "index"] = packed(lists)
    sizes_of = {"n": len(place), "entries": len(parts["index"]), "fill": len(parts["column_index"])}
    return Pattern(**sizes_of, place=place.astype(np.int64), **parts)


def _eliminate(neighbors: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """An order of least degree, and for each block the later ones that it touches when it is eliminated."""
    heap = [(len(near), block) for block, near in enumerate(neighbors)]
    heapq.heapify(heap)
    order: list[int] = []
    later: list[set[int]] = [set() for _ in neighbors]
    done = [False] * len(neighbors)
    while heap:
        degree, block = heapq.heappop(heap)
        if done[block] or degree != len(neighbors[block]):
            continue
        done[block] = True
        order.append(block)
        later[block] = set(neighbors[block])
        for other in later[block]:
            neighbors[other] |= later[block] - {other}
            neighbors[other].discard(block)
            heapq.heappush(heap, (len(neighbors[other]), other))
    return order, later


def packed(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists one after the other: where each begins, and the end; their entries."""
    start = np.concatenate([[0], np.cumsum([len(part) for part in lists])]).astype(np.int64)
    return start, np.array([i for part in lists for i in part], dtype=np.int64)


@native
def factor(
    pattern: Pattern, values: np.ndarray, lower: np.ndarray, pivots: np.ndarray, fill: np.ndarray, work: np.ndarray
) -> None:
    """L by columns and D of K; ``fill`` and ``work`` are scratch space as long as K. Pivots are not checked."""
    start, index = pattern.start, pattern.index
    columns, column_index = pattern.column_start, pattern.column_index
    rows, row_index = pattern.row_start, pattern.row_index
    n = pivots.shape[0]
    for k in range(n):
        fill[k] = columns[k]
        work[k] = 0.0
    for k in range(n):
        for at in range(start[k], start[k + 1]):
            work[index[at]] = values[at]
        pivot = work[k]
        work[k] = 0.0
        for at in range(rows[k], rows[k + 1]):
            i = row_index[at]
            y = work[i]
            work[i] = 0.0
            for p in range(columns[i], fill[i]):
                work[column_index[p]] -= lower[p] * y
            quotient = y / pivots[i]
            pivot -= quotient * y
            lower[fill[i]] = quotient
            fill[i] += 1
        pivots[k] = pivot


@native
def substitute(pattern: Pattern, lower: np.ndarray, pivots: np.ndarray, x: np.ndarray) -> None:
    """x ← K⁻¹ x."""
    columns, index = pattern.column_start, pattern.column_index
    n = pivots.shape[0]
    for k in range(n):
        for p in range(columns[k], columns[k + 1]):
            x[index[p]] -= lower[p] * x[k]
    for k in range(n):
        x[k] /= pivots[k]
    for k in range(n - 1, -1, -1):
        s = x[k]
        for p in range(columns[k], columns[k + 1]):
            s -= lower[p] * x[index[p]]
        x[k] = s


@native
def multiply(pattern: Pattern, values: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """out ← K x."""
    start, index = pattern.start, pattern.index
    out[:] = 0.0
    for k in range(x.shape[0]):
        last = start[k + 1] - 1
        s = values[last] * x[k]
        for at in range(start[k], last):
            s += values[at] * x[index[at]]
            out[index[at]] += values[at] * x[k]
        out[k] += s
