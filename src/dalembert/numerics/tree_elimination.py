"""The constrained equations of a hierarchy, eliminated from its leaves to its root and solved on the way back.

    M u̇ = f + Aᵀλ,   A u̇ + γ = 0

with M of any kind, symmetric or not, and A of any rank. Letters at a node, all of them small dense blocks:

    R = (1, S₁, S₂, …)    its own columns and what its children left free
    B = A⊕ R              its own rows there;  B = [L 0] Qᵀ by reflections,  Q = [D C],  B C = 0
    S = R C               its own complement;  L y = −γ⊕ is the particular solution along D
    Cᵀ M C, Cᵀ (f − M D y)  what it hands on, together with C in the rows of its ancestors

What no row of an ancestor touches any more is free for good. It is eliminated at once, M by the Schur complement, so
that a node hands on no more than the ancestors ask for: the cost is that of the nodes, not of the whole. C has
orthonormal columns, hence S too: however deep the hierarchy, nothing grows.

Reference: R. M. M. Orsino, "Recursive modular modelling methodology for lumped-parameter dynamic systems", theorem 2.10
and section 4.2; J. W. H. Liu, "The multifrontal method for sparse matrix solution", SIAM Rev. 34 (1992).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalembert.native import native
from dalembert.numerics.elimination_memory import (
    ABOVE,
    BORDER,
    BORDER_SLOTS,
    COLUMNS,
    DONE,
    ENTRIES,
    FREE,
    LEFT,
    LEFT_SLOTS,
    LOWER,
    MORE_PLACES,
    MORE_STARTS,
    MORE_TAU,
    MORE_VALUES,
    ORDER,
    PLACES,
    RANK,
    ROWS,
    SLOTS,
    STARTS,
    STEP,
    TAU,
    TOUCHES,
    TURNED,
    UPPER,
    VALUES,
    WIDTH,
    Memory,
    block_of,
    keep,
    keep_whole,
    turns_of,
    wholes_of,
)
from dalembert.numerics.elimination_plan import Plan, room
from dalembert.numerics.linear import FAILED, OK, RANK_TOLERANCE, ROUNDING
from dalembert.numerics.reflections import Reflections, Triangle, dot, reduce_rows, reflect
from dalembert.numerics.tree_multipliers import hierarchy_multipliers

__all__ = ["solve_hierarchy"]

# The memory was not enough.
MORE = 2

# A pivot of the mass below this fraction of its row is none.
SINGULAR = 1e-14
# A diagonal entry is taken as pivot if it is this large against its column.
STRONG = 0.1
# What is left of a row of an ancestor below this fraction of the longest row is rounding.
DUST = 1e-15


class Front(NamedTuple):
    """A node while it is eliminated: slots of its columns and of its border, its own rows B, and over the same columns
    the rows of ancestors, M from the border's rows, M to the border's columns (transposed), f, and M itself, one below
    the other; ``tail``: where M begins."""

    slots: np.ndarray
    border: np.ndarray
    B: np.ndarray
    G: np.ndarray
    tail: int


@native
def _couple(p: Plan, M: np.ndarray, W: np.ndarray) -> None:
    """The entries of M that the elimination may ask for."""
    for k in range(p.n_pairs):
        a, b = p.pair_first[k], p.pair_second[k]
        for i in p.column_index[p.column_start[a] : p.column_start[a + 1]]:
            for j in p.column_index[p.column_start[b] : p.column_start[b + 1]]:
                W[i, j] = M[i, j]


@native
def _longest(p: Plan, A: np.ndarray) -> float:
    """The length of the longest row of A."""
    squares, longest = np.zeros(p.m), 0.0
    for x in range(p.nodes):
        for j in p.column_index[p.column_start[x] : p.column_start[x + 1]]:
            for row in p.row_index[p.row_start[x] : p.row_start[x + 1]]:
                squares[row] += A[row, j] * A[row, j]
            for row in p.touch_index[p.touch_start[x] : p.touch_start[x + 1]]:
                squares[row] += A[row, j] * A[row, j]
    for square in squares:
        longest = max(longest, square)
    return math.sqrt(longest)


@native
def _slots_of(p: Plan, s: Memory, x: int) -> tuple[np.ndarray, np.ndarray]:
    """Slots of a node's columns, its own and what its children left, and slots of its border that are alive."""
    width = p.column_start[x + 1] - p.column_start[x]
    for child in p.child_index[p.child_start[x] : p.child_start[x + 1]]:
        width += s.head[child, LEFT]
    slots, at = np.empty(width, dtype=np.int64), 0
    for column in p.column_index[p.column_start[x] : p.column_start[x + 1]]:
        slots[at] = column
        at += 1
    for child in p.child_index[p.child_start[x] : p.child_start[x + 1]]:
        for slot in wholes_of(s, child, LEFT_SLOTS, s.head[child, LEFT]):
            slots[at] = slot
            at += 1
    border, count = np.empty(p.border_start[x + 1] - p.border_start[x], dtype=np.int64), 0
    for slot in p.border_index[p.border_start[x] : p.border_start[x + 1]]:
        if s.alive[slot]:
            border[count] = slot
            count += 1
    return slots, border[:count]


@native
def _rows_of(p: Plan, x: int) -> tuple[np.ndarray, np.ndarray]:
    """Own rows of a node, and rows of its ancestors that touch it."""
    return (
        p.row_index[p.row_start[x] : p.row_start[x + 1]],
        p.touch_index[p.touch_start[x] : p.touch_start[x + 1]],
    )


@native
def _front(p: Plan, s: Memory, x: int, M: np.ndarray, A: np.ndarray, slots: np.ndarray, border: np.ndarray) -> Front:
    """A node's own blocks, and those that its children left."""
    own = p.column_index[p.column_start[x] : p.column_start[x + 1]]
    rows, touching = _rows_of(p, x)
    k, r, a, b = slots.shape[0], rows.shape[0], touching.shape[0], border.shape[0]
    tail = a + 2 * b + 1
    B, G = np.zeros((r, k)), np.zeros((tail + k, k))
    F, joined = G[tail:], s.W.shape[0] > 0
    now = s.W if joined else M
    for j in range(own.shape[0]):
        for i in range(r):
            B[i, j] = A[rows[i], own[j]]
        for i in range(a):
            G[i, j] = A[touching[i], own[j]]
        for i in range(own.shape[0]):
            F[i, j] = now[own[i], own[j]]
    at = own.shape[0]
    for child in p.child_index[p.child_start[x] : p.child_start[x + 1]]:
        begin, left = p.touch_start[child], s.head[child, LEFT]
        count = p.touch_start[child + 1] - begin
        E = block_of(s, child, TOUCHES, count, left)
        for i in range(count):
            place = p.touch_front[begin + i]
            for j in range(left):
                if place < r:
                    B[place, at + j] = E[i, j]
                else:
                    G[place - r, at + j] = E[i, j]
        free = block_of(s, child, FREE, left, left)
        for i in range(left):
            for j in range(left):
                F[at + i, at + j] = now[slots[at + i], slots[at + j]] if joined else free[i, j]
        at += left
    if p.coupled[x]:
        for i in range(k):
            for j in range(k):
                F[i, j] = s.W[slots[i], slots[j]]
    for j in range(k):
        for i in range(b):
            G[a + i, j] = s.W[border[i], slots[j]]
            G[a + b + i, j] = s.W[slots[j], border[i]]
        G[tail - 1, j] = s.g[slots[j]]
    return Front(slots, border, B, G, tail)


@native
def _turn(Q: Reflections, rank: int, G: np.ndarray, tail: int) -> None:
    """Rows of G ← their coordinates along Q; the square block from ``tail`` on from both sides."""
    F = G[tail:]
    reflect(Q, 0, rank, 1, G)
    _transpose(F)
    reflect(Q, 0, rank, 1, F)
    _transpose(F)


@native
def _transpose(F: np.ndarray) -> None:
    for i in range(F.shape[0]):
        for j in range(i):
            F[i, j], F[j, i] = F[j, i], F[i, j]


@native
def _particular(T: Triangle, rank: int, rows: np.ndarray, c: np.ndarray, y: np.ndarray) -> float:
    """y with L y = −γ; returns how much the rows that depend on others contradict them."""
    conflict = 0.0
    for k in range(rows.shape[0]):
        row = T.rows[k]
        residual = c[rows[row]]
        if k < rank or k < T.used:
            for i in range(min(k, rank)):
                residual += T.L[row, T.columns[i]] * y[i]
        if k < rank:
            y[k] = -residual * T.L[row, T.columns[k]]
        else:
            conflict = max(conflict, abs(residual))
    return float(conflict)


@native
def _complement(G: np.ndarray, tail: int, Q: Reflections, columns: np.ndarray, rank: int, y: np.ndarray) -> np.ndarray:
    """G over the complement C instead of all columns, M from both sides, f without what the particular solution takes.

    Either Q goes through M from both sides, or C is written out: what is cheaper. Rows above f end up along Q.
    """
    k, length = G.shape[1], Q.starts[rank]
    free = k - rank
    rest, F, f = np.empty((tail + free, free)), G[tail:], G[tail - 1]
    if free * (2 * length + k * (k + free)) < 4 * k * length:
        C, v = np.zeros((free + 1, k)), np.empty(k)
        for j in range(free):
            C[j, columns[rank + j]] = 1.0
        for j in range(rank):
            C[free, columns[j]] = y[j]
        reflect(Q, rank - 1, rank, -1, C)
        reflect(Q, 0, rank, 1, G[: tail - 1])
        v[:] = F @ C[free]
        for i in range(k):
            f[i] -= v[i]
        for j in range(free):
            v[:] = F @ C[j]
            rest[tail - 1, j] = dot(C[j], f)
            for i in range(free):
                rest[tail + i, j] = dot(C[i], v)
    else:
        _turn(Q, rank, G, tail)
        for j in range(free):
            row = columns[rank + j]
            for i in range(rank):
                f[row] -= F[row, columns[i]] * y[i]
            rest[tail - 1, j] = f[row]
            for i in range(free):
                rest[tail + j, i] = F[row, columns[rank + i]]
    for i in range(tail - 1):
        for j in range(free):
            rest[i, j] = G[i, columns[rank + j]]
    return rest


@native
def _constrain(p: Plan, s: Memory, x: int, front: Front, limit: float) -> tuple[int, float, float, np.ndarray]:
    """A node's own rows, with the columns that they determine: rank, smallest pivot, conflict, what is left of G."""
    rows, touching = _rows_of(p, x)
    G, tail, h = front.G, front.tail, s.head[x]
    k, a, b = G.shape[1], touching.shape[0], front.border.shape[0]
    rank, _, T, Q = reduce_rows(front.B, 0.0, limit)
    y, L, above = np.empty(rank), np.empty((rows.shape[0], rank)), np.empty((a, rank))
    conflict, smallest = _particular(T, rank, rows, s.c, y), np.inf
    for j in range(rank):
        smallest = min(smallest, 1.0 / abs(T.L[T.rows[j], T.columns[j]]))
        for i in range(rows.shape[0]):
            L[i, j] = T.L[T.rows[i], T.columns[j]]
    rest = G
    if rank > 0:
        rest = _complement(G, tail, Q, T.columns, rank, y)
        for j in range(rank):
            column = T.columns[j]
            for i in range(a):
                above[i, j] = G[i, column]
                s.c[touching[i]] += G[i, column] * y[j]
            for i in range(b):
                s.g[front.border[i]] -= G[a + i, column] * y[j]
    h[WIDTH], h[RANK], h[BORDER] = k, rank, b
    h[SLOTS], h[COLUMNS], h[ROWS] = keep_whole(s, front.slots), keep_whole(s, T.columns), keep_whole(s, T.rows)
    h[STARTS], h[PLACES] = keep_whole(s, Q.starts[: rank + 1]), keep_whole(s, Q.places[: Q.starts[rank]])
    h[VALUES], h[TAU] = keep(s, Q.values[: Q.starts[rank]]), keep(s, Q.tau[:rank])
    h[LOWER], h[ABOVE], h[STEP] = keep(s, L), keep(s, above), keep(s, y)
    h[BORDER_SLOTS] = keep_whole(s, front.border)
    return rank, smallest, conflict, rest


@native
def _separate(s: Memory, x: int, G: np.ndarray, tail: int, a: int, dust: float) -> tuple[np.ndarray, int]:
    """Turn what is left so that rows of ancestors touch as few columns as they can; columns in order, those that are
    free for good first, and the number of these."""
    k, h = G.shape[1], s.head[x]
    if k <= a or k == 0:
        h[TURNED] = 0
        return np.arange(k), 0
    rank, _, T, Q = reduce_rows(G[:a], 0.0, dust)
    if rank > 0:
        _turn(Q, rank, G, tail)
    h[TURNED] = rank
    h[MORE_STARTS], h[MORE_PLACES] = keep_whole(s, Q.starts[: rank + 1]), keep_whole(s, Q.places[: Q.starts[rank]])
    h[MORE_VALUES], h[MORE_TAU] = keep(s, Q.values[: Q.starts[rank]]), keep(s, Q.tau[:rank])
    order = np.empty(k, dtype=np.int64)
    order[: k - rank] = T.columns[rank:]
    order[k - rank :] = T.columns[:rank]
    return order, k - rank


@native
def _eliminate(Z: np.ndarray, inner: int, order: np.ndarray) -> int:
    """Gaussian elimination of the first ``inner`` rows and columns of Z, with pivots there; returns how many had one.

    The largest entry of the diagonal is taken where it is strong, which it is in all mass matrices, else the largest
    entry. Rows, columns and ``order`` are swapped; what had no pivot comes behind the others.
    """
    size = np.zeros(inner)
    for i in range(inner):
        for j in range(inner):
            size[i] = max(size[i], abs(Z[i, j]))
    for k in range(inner):
        row, best = -1, 0.0
        for i in range(k, inner):
            if abs(Z[i, i]) > max(best, SINGULAR * size[i]):
                row, best = i, abs(Z[i, i])
        column = row
        if row < 0 or not best >= STRONG * _largest_below(Z, k, inner, row):
            row, column, best = -1, -1, 0.0
            for i in range(k, inner):
                for j in range(k, inner):
                    if abs(Z[i, j]) > max(best, SINGULAR * size[i]):
                        row, column, best = i, j, abs(Z[i, j])
            if row < 0:
                return k
        _exchange(Z, k, row, column)
        size[row], order[column], order[k] = size[k], order[k], order[column]
        for i in range(k + 1, Z.shape[0]):
            factor = Z[i, k] / Z[k, k]
            if factor != 0.0:
                for j in range(k + 1, Z.shape[1]):
                    Z[i, j] -= factor * Z[k, j]
    return inner


@native
def _largest_below(Z: np.ndarray, k: int, end: int, column: int) -> float:
    largest = 0.0
    for i in range(k, end):
        largest = max(largest, abs(Z[i, column]))
    return largest


@native
def _exchange(Z: np.ndarray, k: int, row: int, column: int) -> None:
    """Row and column k with another row and another column."""
    if row != k:
        for j in range(Z.shape[1]):
            Z[k, j], Z[row, j] = Z[row, j], Z[k, j]
    if column != k:
        for i in range(Z.shape[0]):
            Z[i, k], Z[i, column] = Z[i, column], Z[i, k]


@native
def _release(s: Memory, x: int, front: Front, G: np.ndarray, a: int, dust: float) -> None:
    """Eliminate what is free for good, and hand on the rest."""
    k, b, tail, h = G.shape[1], front.border.shape[0], front.tail, s.head[x]
    order, inner = _separate(s, x, G, tail, a, dust)
    # Equations of the columns and of the border; the columns, the border and the right-hand side.
    Z = np.zeros((k + b, k + b + 1))
    for i in range(k):
        for j in range(k):
            Z[i, j] = G[tail + order[i], order[j]]
        for j in range(b):
            Z[i, k + j] = G[a + b + j, order[i]]
            Z[k + j, i] = G[a + j, order[i]]
        Z[i, k + b] = G[tail - 1, order[i]]
    done = _eliminate(Z, inner, order)
    left = k - done
    E = np.zeros((a, left))
    for j in range(inner - done, left):
        for i in range(a):
            E[i, j] = G[i, order[done + j]]
    columns, slots = wholes_of(s, x, COLUMNS, h[WIDTH])[h[RANK] :], np.empty(left, dtype=np.int64)
    for slot in front.slots:
        s.alive[slot] = False
    for j in range(left):
        slot = front.slots[columns[order[done + j]]]
        slots[j], s.alive[slot], s.g[slot] = slot, True, Z[done + j, k + b]
    h[DONE], h[LEFT] = done, left
    h[ORDER], h[LEFT_SLOTS] = keep_whole(s, order), keep_whole(s, slots)
    h[TOUCHES], h[FREE] = keep(s, E), keep(s, Z[done:k, done:k].copy())
    h[UPPER] = keep(s, Z[:done].copy())
    if s.W.shape[0] > 0:
        _hand_on(s, front.border, slots, Z, done)


@native
def _hand_on(s: Memory, border: np.ndarray, slots: np.ndarray, Z: np.ndarray, done: int) -> None:
    """Where M couples nodes: what is left of a node among itself, with its border, and what changed in the border."""
    k = done + slots.shape[0]
    for i in range(slots.shape[0]):
        for j in range(slots.shape[0]):
            s.W[slots[i], slots[j]] = Z[done + i, done + j]
        for j in range(border.shape[0]):
            s.W[slots[i], border[j]] = Z[done + i, k + j]
            s.W[border[j], slots[i]] = Z[k + j, done + i]
    for i in range(border.shape[0]):
        s.g[border[i]] += Z[k + i, Z.shape[1] - 1]
        for j in range(border.shape[0]):
            s.W[border[i], border[j]] += Z[k + i, k + j]


@native
def _accelerations(p: Plan, s: Memory, z: np.ndarray) -> None:
    """The way back: z, by slots and at last by columns."""
    for x in range(p.nodes - 1, -1, -1):
        h = s.head[x]
        k, rank, done, b = h[WIDTH], h[RANK], h[DONE], h[BORDER]
        free = k - rank
        order, columns, slots = wholes_of(s, x, ORDER, free), wholes_of(s, x, COLUMNS, k), wholes_of(s, x, SLOTS, k)
        left, border = wholes_of(s, x, LEFT_SLOTS, h[LEFT]), wholes_of(s, x, BORDER_SLOTS, b)
        U, y = block_of(s, x, UPPER, done, free + b + 1), s.reals[h[STEP] :][:rank]
        v, both = np.empty(free), np.empty((2, k))
        for j in range(done, free):
            v[j] = z[left[j - done]]
        for i in range(done - 1, -1, -1):
            value = U[i, free + b]
            for j in range(i + 1, free):
                value -= U[i, j] * v[j]
            for j in range(b):
                value -= U[i, free + j] * z[border[j]]
            v[i] = value / U[i, i]
        for j in range(free):
            both[0, order[j]] = v[j]
        if h[TURNED] > 0:
            reflect(turns_of(s, x, h[TURNED], True), h[TURNED] - 1, h[TURNED], -1, both[:1])
        for j in range(free):
            both[1, columns[rank + j]] = both[0, j]
        for j in range(rank):
            both[1, columns[j]] = y[j]
        if rank > 0:
            reflect(turns_of(s, x, rank, False), rank - 1, rank, -1, both[1:])
        for j in range(k):
            z[slots[j]] = both[1, j]


@native
def _climb(p: Plan, s: Memory, M: np.ndarray, A: np.ndarray) -> tuple[int, int, float, float]:
    """From the leaves to the root: status, rank of A, ratio of the smallest pivot to the longest row, conflict."""
    longest = _longest(p, A)
    limit, dust = max(ROUNDING, RANK_TOLERANCE * longest), DUST * longest
    total, smallest, conflict = 0, longest, 0.0
    for row in p.row_index[p.used :]:
        conflict = max(conflict, abs(s.c[row]))
    for x in range(p.nodes):
        slots, border = _slots_of(p, s, x)
        r, a = p.row_start[x + 1] - p.row_start[x], p.touch_start[x + 1] - p.touch_start[x]
        reals, wholes = room(r, a, border.shape[0], slots.shape[0])
        if s.top[0] + reals > s.reals.shape[0] or s.top[1] + wholes > s.wholes.shape[0]:
            return MORE, 0, 0.0, 0.0
        front = _front(p, s, x, M, A, slots, border)
        rank, pivot, contradiction, rest = _constrain(p, s, x, front, limit)
        total, smallest, conflict = total + rank, min(smallest, pivot), max(conflict, contradiction)
        _release(s, x, front, rest, a, dust)
    status = OK if s.head[p.nodes - 1, LEFT] == 0 else FAILED
    return status, total, (smallest / longest if total > 0 else 1.0), float(conflict)


@native
def _attempt(
    p: Plan, M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, du: np.ndarray, multipliers: np.ndarray
) -> tuple[int, int, float, float]:
    coupled = p.n if p.n_pairs > 0 else 0
    s = Memory(
        np.empty((p.nodes, ENTRIES), dtype=np.int64), np.empty(p.reals), np.empty(p.wholes, dtype=np.int64),
        np.zeros(2, dtype=np.int64), np.empty((coupled, coupled)), f.copy(), gamma.copy(),
        np.ones(p.n, dtype=np.bool_),
    )  # fmt: skip
    _couple(p, M, s.W)
    status, rank, ratio, conflict = _climb(p, s, M, A)
    if status == OK:
        _accelerations(p, s, du)
        if p.m > 0:
            hierarchy_multipliers(p, s, M, f, du, p.used - rank, multipliers)
    return status, rank, ratio, conflict


@native
def solve_hierarchy(
    p: Plan, M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, du: np.ndarray, multipliers: np.ndarray
) -> tuple[int, int, float, float]:
    """u̇ and λ of the constrained equations of a hierarchy.

    Args:
        p: the plan, made for the structure of M and A.
        M: any matrix; where it is symmetric, only its mass decides.

    Returns:
        status (OK, or FAILED if a direction has neither mass nor constraint), rank of A, ratio of the smallest pivot to
        the longest row, largest residual of redundant rows (0 if all constraints are compatible).
    """
    status, rank, ratio, conflict = _attempt(p, M, f, A, gamma, du, multipliers)
    while status == MORE:
        p.reals *= 2
        p.wholes *= 2
        status, rank, ratio, conflict = _attempt(p, M, f, A, gamma, du, multipliers)
    return status, rank, ratio, conflict
