"""Native code that closes the loops of rolled recursions.

A multiplier pushes the two links of its cut joint. On the way to the ground each joint passes on what it does not
yield (F: wrench on the link, z = SᵀF: force on the joint's velocities):

    F_P += X* (F − Wᵀ z),      K_ab = Σ z_aᵀ D⁻¹ z_b  over all joints that both multipliers reach

K is the matrix A M⁻¹ Aᵀ, sparse and never formed from M. It is semidefinite, so K + ε is factorised and the solution is
refined until K λ = r holds: redundant equations and singular positions need no special case.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.codegen import call_kernel_offset
from dalembert.dynamics.rolled_loops import Loops, Table
from dalembert.dynamics.rolled_passes import (
    AT,
    AT_Q,
    AT_U,
    BACK,
    KIND,
    MOVE,
    NQ,
    NV,
    X_W,
    YIELD,
    A,
    E,
    G,
    Q,
    S,
    V,
    W,
    X,
    add,
    back_pass,
    clear,
    inward_pass,
    load_pass,
    outward_pass,
)  # fmt: skip
from dalembert.numerics.native import float_pointer, integer_pointer, put
from dalembert.numerics.sparse import Pattern, factor, multiply, substitute

__all__ = [
    "Memory", "approach", "close_positions", "close_velocities", "forward_closed", "loops_at", "memory_at", "memory_of",
    "residuals", "sparse_rows",
]  # fmt: skip

# Added to the diagonal of K, whose rows are scaled so that it would be 1 if the links were free. Directions that are
# more mobile than this are found to rounding by a few turns.
SOFTENING = 1e-11
TURNS = 12
ENOUGH = 1e-14

# Pivots of K + ε below this are those of redundant rows.
REDUNDANT = 1e3 * SOFTENING

NEWTON_STEPS = 12


class Memory(NamedTuple):
    """Numbers of one evaluation.

    Attributes:
        values: of cut joints (see ``rolled_loops.PER_ROW``).  pushed, yielded: z and D⁻¹z.
        K, scale, lower, pivots: the scaled matrix of the multipliers and its factor, in the order of elimination.
        rhs: what the multipliers shall do, then the multipliers, in the order of the rows.
        inputs, wrenches: of one cut joint.
    """

    values: np.ndarray
    pushed: np.ndarray
    yielded: np.ndarray
    K: np.ndarray
    scale: np.ndarray
    lower: np.ndarray
    pivots: np.ndarray
    rhs: np.ndarray
    goal: np.ndarray
    rest: np.ndarray
    step: np.ndarray
    solution: np.ndarray
    work: np.ndarray
    inputs: np.ndarray
    wrenches: np.ndarray
    fill: np.ndarray


def memory_of(loops: Loops) -> Memory:
    """Fresh memory for one user of the loops."""
    n, longest = loops.rows, int(loops.table.cuts[:, 8].max())
    sizes = {
        "values": loops.n_values, "pushed": loops.n_moved, "yielded": loops.n_moved, "K": len(loops.pattern.index),
        "lower": len(loops.pattern.column_index), "inputs": 96, "wrenches": longest * 36,
    }  # fmt: skip
    vectors = {name: np.zeros(sizes.get(name, n)) for name in Memory._fields if name != "fill"}
    return Memory(**vectors, fill=np.zeros(n, dtype=np.int64))


@njit(cache=True, nogil=True)
def loops_at(address):
    """The table and the pattern whose ``Loops.addresses`` are found here."""
    a = carray(integer_pointer(address), (14, 2))
    table = Table(
        carray(integer_pointer(a[0, 0]), (a[0, 1], 12)),
        carray(integer_pointer(a[1, 0]), (a[1, 1], 4)),
        carray(integer_pointer(a[2, 0]), (a[2, 1], 7)),
        carray(integer_pointer(a[3, 0]), (a[3, 1], 3)),
        carray(integer_pointer(a[4, 0]), (a[4, 1],)),
        carray(float_pointer(a[5, 0]), (a[5, 1],)),
        carray(float_pointer(a[6, 0]), (a[6, 1],)),
    )
    pattern = Pattern(
        carray(integer_pointer(a[7, 0]), (a[7, 1],)),
        carray(integer_pointer(a[8, 0]), (a[8, 1],)),
        carray(integer_pointer(a[9, 0]), (a[9, 1],)),
        carray(integer_pointer(a[10, 0]), (a[10, 1],)),
        carray(integer_pointer(a[11, 0]), (a[11, 1],)),
        carray(integer_pointer(a[12, 0]), (a[12, 1],)),
        carray(integer_pointer(a[13, 0]), (a[13, 1],)),
    )
    return table, pattern


@njit(cache=True, nogil=True)
def memory_at(address):
    """The memory whose parts' addresses and lengths are found here."""
    a = carray(integer_pointer(address), (16, 2))
    return Memory(
        carray(float_pointer(a[0, 0]), (a[0, 1],)),
        carray(float_pointer(a[1, 0]), (a[1, 1],)),
        carray(float_pointer(a[2, 0]), (a[2, 1],)),
        carray(float_pointer(a[3, 0]), (a[3, 1],)),
        carray(float_pointer(a[4, 0]), (a[4, 1],)),
        carray(float_pointer(a[5, 0]), (a[5, 1],)),
        carray(float_pointer(a[6, 0]), (a[6, 1],)),
        carray(float_pointer(a[7, 0]), (a[7, 1],)),
        carray(float_pointer(a[8, 0]), (a[8, 1],)),
        carray(float_pointer(a[9, 0]), (a[9, 1],)),
        carray(float_pointer(a[10, 0]), (a[10, 1],)),
        carray(float_pointer(a[11, 0]), (a[11, 1],)),
        carray(float_pointer(a[12, 0]), (a[12, 1],)),
        carray(float_pointer(a[13, 0]), (a[13, 1],)),
        carray(float_pointer(a[14, 0]), (a[14, 1],)),
        carray(integer_pointer(a[15, 0]), (a[15, 1],)),
    )


# Cut joints: kernel, equations, data and count, links, first row, way and length, ends on the way, values
(_KERNEL, _M, _DATA, _N_DATA, _FIRST, _SECOND, _ROW, _WAY, _LENGTH, _END_1, _END_2, _VALUES) = range(12)  # fmt: skip


@njit(cache=True, nogil=True)
def _measure(program, table, record, memory, work):
    """Values of all cut joints; poses and twists of links are in the record."""
    links, layout, cuts, inputs = program.links, program.layout, table.cuts, memory.inputs
    for c in range(cuts.shape[0]):
        count = cuts[c, _N_DATA]
        put(inputs, 0, table.data, cuts[c, _DATA], count)
        for end in range(2):
            link, to = cuts[c, _FIRST + end], count + 18 * end
            if link < 0:
                clear(inputs, to, 18)
                inputs[to] = inputs[to + 4] = inputs[to + 8] = 1.0
            else:
                at, kind = links[link, AT], layout[links[link, KIND]]
                put(inputs, to, record, at + kind[X_W], 12)
                put(inputs, to + 12, record, at + kind[V], 6)
        call_kernel_offset(cuts[c, _KERNEL], inputs, 0, memory.values, cuts[c, _VALUES], work)


@njit(cache=True, nogil=True)
def _start(table, memory, c):
    """Wrenches of unit multipliers on both links of a cut joint; none elsewhere on its way."""
    cuts, F = table.cuts, memory.wrenches
    m, at = cuts[c, _M], cuts[c, _VALUES] + 3 * cuts[c, _M]
    clear(F, 0, cuts[c, _LENGTH] * 6 * m)
    for end in range(2):
        place = cuts[c, _END_1 + end]
        if place >= 0:
            for i in range(m):
                add(F, (place * m + i) * 6, memory.values, at + 12 * i + 6 * end, 6)


@njit(cache=True, nogil=True)
def _pass_on(record, pose, F, begin, to):
    """F[to] += X* F[begin]: a wrench in the parent's axes, about its origin."""
    R, p = pose, pose + 9
    f0, f1, f2 = F[begin + 3], F[begin + 4], F[begin + 5]
    n0, n1, n2 = F[begin], F[begin + 1], F[begin + 2]
    g0 = record[R] * f0 + record[R + 1] * f1 + record[R + 2] * f2
    g1 = record[R + 3] * f0 + record[R + 4] * f1 + record[R + 5] * f2
    g2 = record[R + 6] * f0 + record[R + 7] * f1 + record[R + 8] * f2
    F[to] += record[R] * n0 + record[R + 1] * n1 + record[R + 2] * n2 + record[p + 1] * g2 - record[p + 2] * g1
    F[to + 1] += record[R + 3] * n0 + record[R + 4] * n1 + record[R + 5] * n2 + record[p + 2] * g0 - record[p] * g2
    F[to + 2] += record[R + 6] * n0 + record[R + 7] * n1 + record[R + 8] * n2 + record[p] * g1 - record[p + 1] * g0
    F[to + 3] += g0
    F[to + 4] += g1
    F[to + 5] += g2


@njit(cache=True, nogil=True)
def _reach(program, table, record, memory):
    """z and D⁻¹z of all multipliers, on their ways to the ground."""
    links, layout, cuts, ways, F = program.links, program.layout, table.cuts, table.ways, memory.wrenches
    z, y = memory.pushed, memory.yielded
    for c in range(cuts.shape[0]):
        _start(table, memory, c)
        m, way = cuts[c, _M], cuts[c, _WAY]
        for k in range(cuts[c, _LENGTH]):
            link, parent, to, nv = ways[way + k, 0], ways[way + k, 1], ways[way + k, 2], ways[way + k, 3]
            at, kind = links[link, AT], layout[links[link, KIND]]
            s, w, g = at + kind[S], at + kind[W], at + kind[G]
            for i in range(m):
                force, mine = (k * m + i) * 6, to + i * nv
                for j in range(nv):
                    total = 0.0
                    for a in range(6):
                        total += record[s + a * nv + j] * F[force + a]
                    z[mine + j] = total
                for j in range(nv):
                    total = 0.0
                    for b in range(nv):
                        total += record[g + j * nv + b] * z[mine + b]
                    y[mine + j] = total
                    for a in range(6):
                        F[force + a] -= record[w + 6 * j + a] * z[mine + j]
                if parent >= 0:
                    _pass_on(record, at + kind[X], F, force, (parent * m + i) * 6)


@njit(cache=True, nogil=True)
def _factorise(table, pattern, memory, softening):
    """K, scaled to a diagonal of 1, and the factor of K + ε; returns the rank and the smallest pivot that counts."""
    z, y, K, scale = memory.pushed, memory.yielded, memory.K, memory.scale
    pairs, meetings, slots = table.pairs, table.meetings, table.slots
    clear(K, 0, K.shape[0])
    for p in range(pairs.shape[0]):
        m, n, slot = pairs[p, 1], pairs[p, 3], pairs[p, 6]
        for k in range(pairs[p, 4], pairs[p, 4] + pairs[p, 5]):
            first, second, nv = meetings[k, 0], meetings[k, 1], meetings[k, 2]
            for i in range(m):
                for j in range(n):
                    to = slots[slot + i * n + j]
                    if to >= 0:
                        total = 0.0
                        for a in range(nv):
                            total += z[first + i * nv + a] * y[second + j * nv + a]
                        K[to] += total
    n = scale.shape[0]
    _scale(table, pattern, memory)
    for k in range(n):
        for at in range(pattern.start[k], pattern.start[k + 1]):
            K[at] *= scale[k] * scale[pattern.index[at]]
        K[pattern.start[k + 1] - 1] += softening
    factor(pattern, K, memory.lower, memory.pivots, memory.fill, memory.work)
    rank, smallest = 0, 1.0
    for k in range(n):
        K[pattern.start[k + 1] - 1] -= softening
        if memory.pivots[k] > REDUNDANT:
            rank += 1
            smallest = min(smallest, memory.pivots[k])
    return rank, math.sqrt(smallest)


@njit(cache=True, nogil=True)
def _scale(table, pattern, memory):
    """1/√k for each row, with k = J I⁻¹ Jᵀ of its two links."""
    cuts, values, mobility = table.cuts, memory.values, table.mobility
    for c in range(cuts.shape[0]):
        m, row = cuts[c, _M], cuts[c, _ROW]
        for i in range(m):
            total = 0.0
            for end in range(2):
                J, of = cuts[c, _VALUES] + 3 * m + 12 * i + 6 * end, 72 * c + 36 * end
                for a in range(6):
                    for b in range(6):
                        total += values[J + a] * mobility[of + 6 * a + b] * values[J + b]
            memory.scale[pattern.place[row + i]] = 1.0 / math.sqrt(total) if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _solve(pattern, memory, turns):
    """K λ = r in place of ``rhs``; returns how much of r is left."""
    scale, goal, rest, step, total, product = (
        memory.scale, memory.goal, memory.rest, memory.step, memory.solution, memory.work,
    )  # fmt: skip
    n, size = scale.shape[0], 0.0
    for r in range(n):
        goal[pattern.place[r]] = memory.rhs[r] * scale[pattern.place[r]]
    for k in range(n):
        rest[k], total[k] = goal[k], 0.0
        size = max(size, abs(goal[k]))
    left = size
    for _ in range(turns):
        put(step, 0, rest, 0, n)
        substitute(pattern, memory.lower, memory.pivots, step)
        for k in range(n):
            total[k] += step[k]
        multiply(pattern, memory.K, total, product)
        previous, left = left, 0.0
        for k in range(n):
            rest[k] = goal[k] - product[k]
            left = max(left, abs(rest[k]))
        if left <= ENOUGH * size or left > 0.5 * previous:
            break
    for r in range(n):
        memory.rhs[r] = total[pattern.place[r]] * scale[pattern.place[r]]
    return left


@njit(cache=True, nogil=True)
def _push(program, table, record, memory):
    """The multipliers in ``rhs`` push the joints on their ways: D⁻¹e += D⁻¹z λ."""
    links, layout, cuts, ways, y = program.links, program.layout, table.cuts, table.ways, memory.yielded
    for c in range(cuts.shape[0]):
        m, way, row = cuts[c, _M], cuts[c, _WAY], cuts[c, _ROW]
        for k in range(cuts[c, _LENGTH]):
            link, to, nv = ways[way + k, 0], ways[way + k, 2], ways[way + k, 3]
            at = links[link, AT] + layout[links[link, KIND]][E]
            for i in range(m):
                for j in range(nv):
                    record[at + j] += y[to + i * nv + j] * memory.rhs[row + i]


@njit(cache=True, nogil=True)
def _accelerated(program, table, record, base, values, out):
    """A u̇ + γ from the accelerations in the record; the ground has the one that stands for gravity."""
    links, layout, cuts = program.links, program.layout, table.cuts
    for c in range(cuts.shape[0]):
        m, at, row = cuts[c, _M], cuts[c, _VALUES], cuts[c, _ROW]
        for i in range(m):
            total = values[at + 2 * m + i]
            for end in range(2):
                link, J = cuts[c, _FIRST + end], at + 3 * m + 12 * i + 6 * end
                if link < 0:
                    for a in range(6):
                        total += values[J + a] * base[a]
                else:
                    of = links[link, AT] + layout[links[link, KIND]][A]
                    for a in range(6):
                        total += values[J + a] * record[of + a]
            out[row + i] = total


@njit(cache=True, nogil=True)
def _eliminate(program, table, pattern, record, memory, softening, work):
    inward_pass(program, record, work)
    _reach(program, table, record, memory)
    return _factorise(table, pattern, memory, softening)


@njit(cache=True, nogil=True)
def forward_closed(program, table, pattern, record, memory, t, q, u, tau, base, baumgarte, qdot, du, work):
    """q̇ and u̇, with λ left in ``memory.rhs``; returns power, rank, smallest pivot and what is left of A u̇ + γ."""
    outward_pass(program, record, q, u, tau, qdot, False, work)
    power = load_pass(program, record, t, work)
    for i in range(u.shape[0]):
        power += tau[i] * u[i]
    _measure(program, table, record, memory, work)
    rank, ratio = _eliminate(program, table, pattern, record, memory, SOFTENING, work)
    back_pass(program, record, BACK, base, du, work)
    _accelerated(program, table, record, base, memory.values, memory.rhs)
    cuts, values = table.cuts, memory.values
    for c in range(cuts.shape[0]):
        m, at, row = cuts[c, _M], cuts[c, _VALUES], cuts[c, _ROW]
        for i in range(m):
            damped = 2.0 * baumgarte[0] * values[at + m + i] + baumgarte[1] ** 2 * values[at + i]
            memory.rhs[row + i] = -(memory.rhs[row + i] + damped)
    left = _solve(pattern, memory, TURNS)
    _push(program, table, record, memory)
    back_pass(program, record, BACK, base, du, work)
    return power, rank, ratio, left


# Back onto the constraints


@njit(cache=True, nogil=True)
def _largest(table, memory, level):
    """The largest residual of level 0 (position) or 1 (velocity); −residuals go to ``rhs``."""
    cuts, largest = table.cuts, 0.0
    for c in range(cuts.shape[0]):
        m, at, row = cuts[c, _M], cuts[c, _VALUES], cuts[c, _ROW]
        for i in range(m):
            value = memory.values[at + level * m + i]
            memory.rhs[row + i] = -value
            largest = max(largest, abs(value)) if value == value else math.inf
    return largest


@njit(cache=True, nogil=True)
def _yield_to(program, table, pattern, record, memory, turns, du, work):
    """The shortest du, in the metric of the mass matrix, that moves the cut joints by ``rhs``."""
    links, layout = program.links, program.layout
    for i in range(links.shape[0]):
        kind = layout[links[i, KIND]]
        clear(record, links[i, AT] + kind[E], kind[NV])
    left = _solve(pattern, memory, turns)
    _push(program, table, record, memory)
    back_pass(program, record, YIELD, np.zeros(6), du, work)
    return left


@njit(cache=True, nogil=True)
def _look(program, table, record, memory, q, u, qdot, work):
    outward_pass(program, record, q, u, np.zeros(u.shape[0]), qdot, False, work)
    _measure(program, table, record, memory, work)


@njit(cache=True, nogil=True)
def _move(program, record, q, work):
    """q moved along the du in the record."""
    links, layout = program.links, program.layout
    for i in range(links.shape[0]):
        at, kind = links[i, AT], layout[links[i, KIND]]
        put(record, at + kind[Q], q, links[i, AT_Q], kind[NQ])
        call_kernel_offset(kind[MOVE], record, at, q, links[i, AT_Q], work)


@njit(cache=True, nogil=True)
def approach(program, table, pattern, record, memory, softness, q, u, du, work):
    """One step of q and u towards the constraints, short where they are nearly singular."""
    qdot = np.empty(q.shape[0])
    _look(program, table, record, memory, q, u, qdot, work)
    _largest(table, memory, 0)
    _eliminate(program, table, pattern, record, memory, softness, work)
    _yield_to(program, table, pattern, record, memory, 1, du, work)
    _move(program, record, q, work)
    _look(program, table, record, memory, q, u, qdot, work)
    _largest(table, memory, 1)
    _eliminate(program, table, pattern, record, memory, softness, work)
    _yield_to(program, table, pattern, record, memory, 1, du, work)
    for i in range(u.shape[0]):
        u[i] += du[i]


@njit(cache=True, nogil=True)
def close_positions(program, table, pattern, record, memory, tolerance, q, u, du, work):
    """Newton's method on the positions, in place; leaves the factor of K there. Smallest pivot, 0 if it failed."""
    qdot, error = np.empty(q.shape[0]), 1e300
    for _ in range(NEWTON_STEPS):
        _look(program, table, record, memory, q, u, qdot, work)
        previous, error = error, _largest(table, memory, 0)
        if not error < math.inf:
            return 0.0
        _, ratio = _eliminate(program, table, pattern, record, memory, SOFTENING, work)
        if error <= tolerance or (error < 1e-9 and error > 0.5 * previous):
            return ratio
        _yield_to(program, table, pattern, record, memory, TURNS, du, work)
        _move(program, record, q, work)
    return 0.0


@njit(cache=True, nogil=True)
def close_velocities(program, table, pattern, record, memory, u, du, work):
    """The correction du of velocities, where ``close_positions`` ended."""
    _largest(table, memory, 1)
    return _yield_to(program, table, pattern, record, memory, TURNS, du, work)


# What is left open, and A itself


@njit(cache=True, nogil=True)
def residuals(program, table, record, memory, q, u, position, velocity, work):
    """φ and A u."""
    _look(program, table, record, memory, q, u, np.empty(q.shape[0]), work)
    _largest(table, memory, 0)
    for r in range(position.shape[0]):
        position[r] = -memory.rhs[r]
    _largest(table, memory, 1)
    for r in range(velocity.shape[0]):
        velocity[r] = -memory.rhs[r]


@njit(cache=True, nogil=True)
def sparse_rows(program, table, record, memory, q, u, rows, columns, entries, work):
    """A as triplets; returns their number. The order is that of the ways."""
    links, layout, cuts, ways, F = program.links, program.layout, table.cuts, table.ways, memory.wrenches
    _look(program, table, record, memory, q, u, np.empty(q.shape[0]), work)
    inward_pass(program, record, work)
    count = 0
    for c in range(cuts.shape[0]):
        _start(table, memory, c)
        m, way = cuts[c, _M], cuts[c, _WAY]
        for k in range(cuts[c, _LENGTH]):
            link, parent, nv = ways[way + k, 0], ways[way + k, 1], ways[way + k, 3]
            at, kind = links[link, AT], layout[links[link, KIND]]
            for i in range(m):
                force = (k * m + i) * 6
                for j in range(nv):
                    total = 0.0
                    for a in range(6):
                        total += record[at + kind[S] + a * nv + j] * F[force + a]
                    rows[count], columns[count], entries[count] = cuts[c, _ROW] + i, links[link, AT_U] + j, total
                    count += 1
                if parent >= 0:
                    _pass_on(record, at + kind[X], F, force, (parent * m + i) * 6)
    return count
