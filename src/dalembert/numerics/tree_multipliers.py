"""The multipliers of a hierarchy, from its root to its leaves, once its accelerations are known.

Along the columns D that a node's own rows determine, rows of the node and of its ancestors balance what is left of the
equations of motion:  Lᵀλ = Dᵀ(M u̇ − f) − (A_above D)ᵀ λ_above.  Rows that depend on others get those of least norm:
λ ← λ − N (NᵀN)⁻¹ Nᵀλ, with the combinations N of rows that vanish, each of which concerns one subtree.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import native
from dalembert.numerics.elimination_memory import (
    ABOVE,
    COLUMNS,
    DONE,
    LEFT,
    LEFT_SLOTS,
    LOWER,
    ORDER,
    RANK,
    ROWS,
    SLOTS,
    STEP,
    TURNED,
    WIDTH,
    Memory,
    block_of,
    turns_of,
    wholes_of,
)
from dalembert.numerics.elimination_plan import Plan
from dalembert.numerics.reflections import dot, reflect

__all__ = ["hierarchy_multipliers"]

# An entry of a combination of rows, the last of which has 1, that is rounding.
DUST = 1e-15


@native
def _residual(p: Plan, M: np.ndarray, f: np.ndarray, du: np.ndarray) -> np.ndarray:
    """M u̇ − f."""
    r = np.empty(p.n)
    for i in range(p.n):
        r[i] = -f[i]
    if p.n_pairs == 0:
        for x in range(p.nodes):
            own = p.column_index[p.column_start[x] : p.column_start[x + 1]]
            for i in own:
                for j in own:
                    r[i] += M[i, j] * du[j]
    for k in range(p.n_pairs):
        a, b = p.pair_first[k], p.pair_second[k]
        others = p.column_index[p.column_start[b] : p.column_start[b + 1]]
        for i in p.column_index[p.column_start[a] : p.column_start[a + 1]]:
            for j in others:
                r[i] += M[i, j] * du[j]
    return r


@native
def _project(p: Plan, s: Memory, r: np.ndarray) -> None:
    """Leaves D ᵀ r of each node where its particular solution was."""
    for x in range(p.nodes):
        h = s.head[x]
        k, rank = h[WIDTH], h[RANK]
        slots, columns, along = wholes_of(s, x, SLOTS, k), wholes_of(s, x, COLUMNS, k), s.reals[h[STEP] :][:rank]
        order, left = wholes_of(s, x, ORDER, k - rank), wholes_of(s, x, LEFT_SLOTS, h[LEFT])
        both = np.empty((2, k))
        for j in range(k):
            both[0, j] = r[slots[j]]
        if rank > 0:
            reflect(turns_of(s, x, rank, False), 0, rank, 1, both[:1])
        for j in range(rank):
            along[j] = both[0, columns[j]]
        for j in range(k - rank):
            both[1, j] = both[0, columns[rank + j]]
        if h[TURNED] > 0:
            reflect(turns_of(s, x, h[TURNED], True), 0, h[TURNED], 1, both[1:])
        for j in range(h[LEFT]):
            r[left[j]] = both[1, order[h[DONE] + j]]


@native
def _balance(p: Plan, s: Memory, x: int, end: int, rest: np.ndarray, forces: np.ndarray) -> None:
    """Forces of a node's independent rows, from what is to be balanced along D, which is used up, and the forces of its
    other rows and of its ancestors' rows before the ``end``; forces by the places of rows."""
    h, begin, first = s.head[x], p.row_start[x], p.touch_start[x]
    rank, r, a = h[RANK], p.row_start[x + 1] - begin, p.touch_start[x + 1] - first
    order, L, above = wholes_of(s, x, ROWS, r), block_of(s, x, LOWER, r, rank), block_of(s, x, ABOVE, a, rank)
    for t in range(a):
        place = p.place[p.touch_index[first + t]]
        if place < end and forces[place] != 0.0:
            for i in range(rank):
                rest[i] -= above[t, i] * forces[place]
    for t in range(rank, r):
        force = forces[begin + order[t]]
        if force != 0.0:
            for i in range(rank):
                rest[i] -= L[t, i] * force
    for i in range(rank - 1, -1, -1):
        force = rest[i] * L[i, i]
        forces[begin + order[i]] = force
        if force != 0.0:
            for j in range(i):
                rest[j] -= L[i, j] * force


@native
def _is_touched(p: Plan, x: int, end: int, forces: np.ndarray) -> bool:
    """Whether a row of an ancestor that has a force, before the ``end`` of the rows, touches a node's subtree."""
    for row in p.touch_index[p.touch_start[x] : p.touch_start[x + 1]]:
        if p.place[row] < end and forces[p.place[row]] != 0.0:
            return True
    return False


@native
def _vanishing(p: Plan, s: Memory, node: int, place: int, forces: np.ndarray) -> int:
    """The combination of a redundant row and of those that it depends on, which vanishes; where its entries begin."""
    x, begin, end = node, p.row_start[node], p.row_start[node + 1]
    forces[place] = -1.0
    while x >= p.first[node]:
        if x < node and not _is_touched(p, x, end, forces):
            x = p.first[x] - 1
            continue
        if s.head[x, RANK] > 0:
            _balance(p, s, x, end, np.zeros(s.head[x, RANK]), forces)
            begin = min(begin, p.row_start[x])
            for i in range(p.row_start[x], p.row_start[x + 1]):
                if abs(forces[i]) < DUST:
                    forces[i] = 0.0
        x -= 1
    return begin


@native
def _combinations(p: Plan, s: Memory, N: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> None:
    """Combinations of rows that vanish, one for each redundant row; between which places of rows each has entries."""
    forces, count = np.zeros(p.used), 0
    for x in range(p.nodes):
        r, rank, end = p.row_start[x + 1] - p.row_start[x], s.head[x, RANK], p.row_start[x + 1]
        order = wholes_of(s, x, ROWS, r)
        for t in range(rank, r):
            begin = _vanishing(p, s, x, p.row_start[x] + order[t], forces)
            begins[count], ends[count] = begin, end
            for i in range(begin, end):
                N[count, i] = forces[i]
                forces[i] = 0.0
            count += 1


@native
def _shorten(p: Plan, s: Memory, redundant: int, forces: np.ndarray) -> None:
    """forces ← forces − N (NᵀN)⁻¹ Nᵀ forces, by a Cholesky factor whose rows begin where combinations overlap."""
    N, K, x = np.empty((redundant, p.used)), np.empty((redundant, redundant)), np.empty(redundant)
    begins, ends, firsts = (
        np.empty(redundant, dtype=np.int64), np.empty(redundant, dtype=np.int64), np.empty(redundant, dtype=np.int64),
    )  # fmt: skip
    _combinations(p, s, N, begins, ends)
    for i in range(redundant):
        # Ends rise with the numbers of the nodes.
        firsts[i] = i
        while firsts[i] > 0 and ends[firsts[i] - 1] > begins[i]:
            firsts[i] -= 1
        for j in range(firsts[i], i + 1):
            begin, end, first = max(begins[i], begins[j]), min(ends[i], ends[j]), max(firsts[i], firsts[j])
            value = dot(N[i, begin:end], N[j, begin:end]) - dot(K[i, first:j], K[j, first:j])
            K[i, j] = math.sqrt(value) if i == j else value / K[j, j]
        value = dot(N[i, begins[i] : ends[i]], forces[begins[i] : ends[i]])
        x[i] = (value - dot(K[i, firsts[i] : i], x[firsts[i] : i])) / K[i, i]
    for i in range(redundant - 1, -1, -1):
        x[i] /= K[i, i]
        for k in range(firsts[i], i):
            x[k] -= K[i, k] * x[i]
    for i in range(redundant):
        for k in range(begins[i], ends[i]):
            forces[k] -= x[i] * N[i, k]


@native
def hierarchy_multipliers(
    p: Plan, s: Memory, M: np.ndarray, f: np.ndarray, du: np.ndarray, redundant: int, multipliers: np.ndarray
) -> None:
    """λ of the whole; ``redundant``: how many of its rows depend on others."""
    _project(p, s, _residual(p, M, f, du))
    forces = np.zeros(p.m)
    for x in range(p.nodes - 1, -1, -1):
        _balance(p, s, x, p.used, s.reals[s.head[x, STEP] :][: s.head[x, RANK]], forces)
    if redundant > 0:
        _shorten(p, s, redundant, forces)
    for i in range(p.m):
        multipliers[p.row_index[i]] = forces[i]
