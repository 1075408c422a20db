"""Native code that closes the loops of rolled recursions.

A multiplier pushes the two links of its cut joint. On the way to the ground each joint passes on what it does not
yield (F: wrench on the link, z = SᵀF: force on the joint's velocities):

    F_P += X* (F − Wᵀ z),      K_ab = Σ z_aᵀ D⁻¹ z_b  over all joints that both multipliers reach

K is the matrix A M⁻¹ Aᵀ, sparse and never formed from M. It is semidefinite, so K + ε is factorized and the solution is
refined until K λ = r holds: redundant equations and singular positions need no special case.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.dynamics.project import POSITION_TOLERANCE, SOFT, correct
from dalembert.dynamics.rolled_passes import (
    RolledContext,
    add,
    back_pass,
    clear,
    driven,
    inward_pass,
    outward_pass,
    put,
)
from dalembert.native import native
from dalembert.numerics.context import NO_CONVERGENCE, OK, finite, give_up, watch
from dalembert.numerics.sparse import factor, multiply, substitute

__all__ = ["closed_approach", "closed_retract", "closed_rhs", "residuals_along", "sparse_rows"]

# Added to the diagonal of K, whose rows are scaled so that it would be 1 if the links were free. Directions that are
# more mobile than this are found to rounding by a few turns.
SOFTENING = 1e-11
TURNS = 12
ENOUGH = 1e-14

# Pivots of K + ε below this are those of redundant rows.
REDUNDANT = 1e3 * SOFTENING

NEWTON_STEPS = 12


@native
def _measure(r: RolledContext):
    """Values of all cut joints; poses and twists of links are known."""
    p, of, x, loops, memory = r.program, r.program.kinds, r.numbers, r.loops, r.memory
    inputs = memory.inputs
    for c in range(loops.n):
        count = loops.numbers[c]
        put(inputs, 0, loops.data, loops.first_number[c], count)
        for end in range(2):
            link, to = loops.link[c, end], count + 18 * end
            if link < 0:
                clear(inputs, to, 18)
                inputs[to] = inputs[to + 4] = inputs[to + 8] = 1.0
            else:
                at, kind = p.at[link], p.kind[link]
                put(inputs, to, x, at + of.X_W[kind], 12)
                put(inputs, to + 12, x, at + of.V[kind], 6)
        loops.kernels[loops.kernel[c]].run(inputs, memory.measured[loops.first_value[c] :])


@native
def _start(r: RolledContext, c: int):
    """Wrenches of unit multipliers on both links of a cut joint; none elsewhere on its way."""
    loops, F, values = r.loops, r.memory.wrenches, r.memory.measured
    m, at = loops.equations[c], loops.first_value[c] + 3 * loops.equations[c]
    clear(F, 0, loops.steps[c] * 6 * m)
    for end in range(2):
        place = loops.end[c, end]
        if place >= 0:
            for i in range(m):
                add(F, (place * m + i) * 6, values, at + 12 * i + 6 * end, 6)


@native
def _pass_on(x: np.ndarray, pose: int, F: np.ndarray, begin: int, to: int):
    """F[to] += X* F[begin]: a wrench in the parent's axes, about its origin."""
    R, p = pose, pose + 9
    f0, f1, f2 = F[begin + 3], F[begin + 4], F[begin + 5]
    n0, n1, n2 = F[begin], F[begin + 1], F[begin + 2]
    g0 = x[R] * f0 + x[R + 1] * f1 + x[R + 2] * f2
    g1 = x[R + 3] * f0 + x[R + 4] * f1 + x[R + 5] * f2
    g2 = x[R + 6] * f0 + x[R + 7] * f1 + x[R + 8] * f2
    F[to] += x[R] * n0 + x[R + 1] * n1 + x[R + 2] * n2 + x[p + 1] * g2 - x[p + 2] * g1
    F[to + 1] += x[R + 3] * n0 + x[R + 4] * n1 + x[R + 5] * n2 + x[p + 2] * g0 - x[p] * g2
    F[to + 2] += x[R + 6] * n0 + x[R + 7] * n1 + x[R + 8] * n2 + x[p] * g1 - x[p + 1] * g0
    F[to + 3] += g0
    F[to + 4] += g1
    F[to + 5] += g2


@native
def _reach(r: RolledContext):
    """z and D⁻¹z of all multipliers, on their ways to the ground."""
    p, of, x, loops = r.program, r.program.kinds, r.numbers, r.loops
    F, z, y = r.memory.wrenches, r.memory.pushed, r.memory.yielded
    for c in range(loops.n):
        _start(r, c)
        m, way = loops.equations[c], loops.first_step[c]
        for k in range(loops.steps[c]):
            link, parent, to = loops.step_link[way + k], loops.step_parent[way + k], loops.step_moved[way + k]
            at, kind, nv = p.at[link], p.kind[link], loops.step_nv[way + k]
            s, w, g, pose = at + of.S[kind], at + of.W[kind], at + of.G[kind], at + of.X[kind]
            for i in range(m):
                force, mine = (k * m + i) * 6, to + i * nv
                for j in range(nv):
                    total = 0.0
                    for a in range(6):
                        total += x[s + a * nv + j] * F[force + a]
                    z[mine + j] = total
                for j in range(nv):
                    total = 0.0
                    for b in range(nv):
                        total += x[g + j * nv + b] * z[mine + b]
                    y[mine + j] = total
                    for a in range(6):
                        F[force + a] -= x[w + 6 * j + a] * z[mine + j]
                if parent >= 0:
                    _pass_on(x, pose, F, force, (parent * m + i) * 6)


@native
def _couple(r: RolledContext):
    """K = Σ zᵀ D⁻¹ z, block by block."""
    loops, z, y, K = r.loops, r.memory.pushed, r.memory.yielded, r.memory.K
    firsts, seconds, sizes, slots = loops.meeting_first, loops.meeting_second, loops.meeting_nv, loops.slots
    clear(K, 0, K.shape[0])
    for pair in range(loops.n_pairs):
        m, n, slot = loops.pair_rows[pair], loops.pair_columns[pair], loops.first_slot[pair]
        begin = loops.first_meeting[pair]
        for k in range(begin, begin + loops.pair_meetings[pair]):
            first, second, nv = firsts[k], seconds[k], sizes[k]
            for i in range(m):
                for j in range(n):
                    to = slots[slot + i * n + j]
                    if to >= 0:
                        total = 0.0
                        for a in range(nv):
                            total += z[first + i * nv + a] * y[second + j * nv + a]
                        K[to] += total


@native
def _factorize(r: RolledContext, softening: float):
    """K, scaled to a diagonal of 1, and the factor of K + ε; returns the rank and the smallest pivot that counts."""
    memory, pattern = r.memory, r.loops.pattern
    K, scale, pivots, start, index = memory.K, memory.scale, memory.pivots, pattern.start, pattern.index
    _couple(r)
    _scale(r)
    n = scale.shape[0]
    for k in range(n):
        for at in range(start[k], start[k + 1]):
            K[at] *= scale[k] * scale[index[at]]
        K[start[k + 1] - 1] += softening
    factor(pattern, K, memory.lower, pivots, memory.fill, memory.work)
    rank, smallest = 0, 1.0
    for k in range(n):
        K[start[k + 1] - 1] -= softening
        if pivots[k] > REDUNDANT:
            rank += 1
            smallest = min(smallest, pivots[k])
    return rank, math.sqrt(smallest)


@native
def _scale(r: RolledContext):
    """1/√k for each row, with k = J I⁻¹ Jᵀ of its two links."""
    loops, values, mobility, place = r.loops, r.memory.measured, r.loops.mobility, r.loops.pattern.place
    for c in range(loops.n):
        m, row, at = loops.equations[c], loops.first_row[c], loops.first_value[c]
        for i in range(m):
            total = 0.0
            for end in range(2):
                J, of = at + 3 * m + 12 * i + 6 * end, 72 * c + 36 * end
                for a in range(6):
                    for b in range(6):
                        total += values[J + a] * mobility[of + 6 * a + b] * values[J + b]
            r.memory.scale[place[row + i]] = 1.0 / math.sqrt(total) if total > 0.0 else 0.0


@native
def _solve(r: RolledContext, turns: int) -> float:
    """K λ = r in place of ``rhs``; returns how much of r is left."""
    memory, pattern, place = r.memory, r.loops.pattern, r.loops.pattern.place
    scale, goal, rest, step, total, product = (
        memory.scale, memory.goal, memory.rest, memory.step, memory.solution, memory.work,
    )  # fmt: skip
    n, size, rhs = scale.shape[0], 0.0, memory.rhs
    for i in range(n):
        goal[place[i]] = rhs[i] * scale[place[i]]
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
    for i in range(n):
        rhs[i] = total[place[i]] * scale[place[i]]
    return left


@native
def _push(r: RolledContext):
    """The multipliers in ``rhs`` push the joints on their ways: D⁻¹e += D⁻¹z λ."""
    p, x, loops, y, multipliers = r.program, r.numbers, r.loops, r.memory.yielded, r.memory.rhs
    for c in range(loops.n):
        m, way, row = loops.equations[c], loops.first_step[c], loops.first_row[c]
        for k in range(way, way + loops.steps[c]):
            link, to, nv = loops.step_link[k], loops.step_moved[k], loops.step_nv[k]
            at = p.at[link] + p.kinds.e[p.kind[link]]
            for i in range(m):
                for j in range(nv):
                    x[at + j] += y[to + i * nv + j] * multipliers[row + i]


@native
def _accelerated(r: RolledContext, out: np.ndarray):
    """A u̇ + γ from the accelerations of the links; the ground has the one that stands for gravity."""
    p, x, loops, values = r.program, r.numbers, r.loops, r.memory.measured
    for c in range(loops.n):
        m, at, row = loops.equations[c], loops.first_value[c], loops.first_row[c]
        for i in range(m):
            total = values[at + 2 * m + i]
            for end in range(2):
                link, J = loops.link[c, end], at + 3 * m + 12 * i + 6 * end
                if link < 0:
                    for a in range(6):
                        total += values[J + a] * r.base[a]
                else:
                    of = p.at[link] + p.kinds.A[p.kind[link]]
                    for a in range(6):
                        total += values[J + a] * x[of + a]
            out[row + i] = total


@native
def _eliminate(r: RolledContext, softening: float):
    inward_pass(r)
    _reach(r)
    return _factorize(r, softening)


@native
def _forward(r: RolledContext, t: float, q: np.ndarray, u: np.ndarray, qdot: np.ndarray, du: np.ndarray):
    """q̇ and u̇, with λ left in ``memory.rhs``; returns power, rank, smallest pivot and what is left of A u̇ + γ."""
    loops, values, rhs, tau = r.loops, r.memory.measured, r.memory.rhs, r.context.tau
    alpha, beta = r.context.alpha, r.context.beta
    power = driven(r, t, q, u, tau, qdot)
    _measure(r)
    rank, ratio = _eliminate(r, SOFTENING)
    back_pass(r, False, r.base, du)
    _accelerated(r, rhs)
    for c in range(loops.n):
        m, at, row = loops.equations[c], loops.first_value[c], loops.first_row[c]
        for i in range(m):
            damped = 2.0 * alpha * values[at + m + i] + beta**2 * values[at + i]
            rhs[row + i] = -(rhs[row + i] + damped)
    left = _solve(r, TURNS)
    _push(r)
    back_pass(r, False, r.base, du)
    return power, rank, ratio, left


@native
def closed_rhs(r: RolledContext, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """ẏ of a large tree with cut joints."""
    c = r.context
    nq, nv = c.nq, c.nv
    dy[nq + nv], rank, ratio, conflict = _forward(r, t, y[:nq], y[nq : nq + nv], dy[:nq], dy[nq : nq + nv])
    c.multipliers[:] = r.memory.rhs
    watch(c, rank, ratio, conflict)
    return finite(c, dy)


# Back onto the constraints


@native
def _largest(r: RolledContext, level: int) -> float:
    """The largest residual of level 0 (position) or 1 (velocity); −residuals go to ``rhs``."""
    loops, values, rhs = r.loops, r.memory.measured, r.memory.rhs
    largest = 0.0
    for c in range(loops.n):
        m, at, row = loops.equations[c], loops.first_value[c], loops.first_row[c]
        for i in range(m):
            value = float(values[at + level * m + i])
            rhs[row + i] = -value
            largest = max(largest, abs(value)) if value == value else math.inf
    return largest


@native
def _yield_to(r: RolledContext, turns: int, du: np.ndarray) -> float:
    """The shortest du, in the metric of the mass matrix, that moves the cut joints by ``rhs``."""
    p, of = r.program, r.program.kinds
    for i in range(p.n):
        clear(r.numbers, p.at[i] + of.e[p.kind[i]], of.nv[p.kind[i]])
    left = _solve(r, turns)
    _push(r)
    back_pass(r, True, np.zeros(6), du)
    return left


@native
def _look(r: RolledContext, q: np.ndarray, u: np.ndarray):
    """Motion of links and cut joints at a state."""
    outward_pass(r, q, u, np.zeros(u.shape[0]), np.empty(q.shape[0]), False)
    _measure(r)


@native
def _move(r: RolledContext, q: np.ndarray):
    """q moved along the du of the links."""
    p, of, x = r.program, r.program.kinds, r.numbers
    for i in range(p.n):
        at, kind = p.at[i], p.kind[i]
        put(x, at + of.q[kind], q, p.at_q[i], of.nq[kind])
        of.move[kind].run(x[at:], q[p.at_q[i] :])


@native
def closed_approach(r: RolledContext, t: float, y: np.ndarray) -> int:
    """One step of position and velocity toward the cut joints, short where they are nearly singular."""
    nq, nv = r.context.nq, r.context.nv
    q, u, du = y[:nq], y[nq : nq + nv], np.zeros(nv)
    _look(r, q, u)
    _largest(r, 0)
    _eliminate(r, SOFT)
    _yield_to(r, 1, du)
    _move(r, q)
    _look(r, q, u)
    _largest(r, 1)
    _eliminate(r, SOFT)
    _yield_to(r, 1, du)
    u += du
    return OK


@native
def _close_positions(r: RolledContext, tolerance: float, q: np.ndarray, u: np.ndarray, du: np.ndarray) -> float:
    """Newton's method on the positions, in place; leaves the factor of K there. Smallest pivot, 0 if it failed."""
    error = 1e300
    for _ in range(NEWTON_STEPS):
        _look(r, q, u)
        previous, error = error, _largest(r, 0)
        if not error < math.inf:
            return 0.0
        _, ratio = _eliminate(r, SOFTENING)
        if error <= tolerance or (error < 1e-9 and error > 0.5 * previous):
            return ratio
        _yield_to(r, TURNS, du)
        _move(r, q)
    return 0.0


@native
def closed_retract(r: RolledContext, t: float, y: np.ndarray, quality: np.ndarray) -> int:
    """Position and velocity of a large tree back onto its cut joints."""
    c = r.context
    quality[0] = 1.0
    if not c.projection:
        return OK
    c.statistics.projections += 1
    nq, nv = c.nq, c.nv
    q, u, du = y[:nq], y[nq : nq + nv], np.zeros(nv)
    ratio = _close_positions(r, 0.0 if c.inner else POSITION_TOLERANCE, q, u, du)
    if not ratio > 0.0:
        return give_up(c, NO_CONVERGENCE)
    _largest(r, 1)
    _yield_to(r, TURNS, du)
    correct(c, u, du)
    quality[0] = ratio
    return OK


# What is left open, and A itself


@native
def residuals_along(r: RolledContext, q: np.ndarray, u: np.ndarray, position: np.ndarray, velocity: np.ndarray):
    """φ and A u at many states."""
    for i in range(q.shape[0]):
        _look(r, q[i], u[i])
        _largest(r, 0)
        position[i] = -r.memory.rhs
        _largest(r, 1)
        velocity[i] = -r.memory.rhs


@native
def sparse_rows(
    r: RolledContext, q: np.ndarray, u: np.ndarray, rows: np.ndarray, columns: np.ndarray, entries: np.ndarray
) -> int:
    """A as triplets; returns their number. The order is that of the ways."""
    p, of, x, loops, F = r.program, r.program.kinds, r.numbers, r.loops, r.memory.wrenches
    _look(r, q, u)
    inward_pass(r)
    count = 0
    for c in range(loops.n):
        _start(r, c)
        m, way = loops.equations[c], loops.first_step[c]
        for k in range(loops.steps[c]):
            link, parent, nv = loops.step_link[way + k], loops.step_parent[way + k], loops.step_nv[way + k]
            at, kind = p.at[link], p.kind[link]
            for i in range(m):
                force = (k * m + i) * 6
                for j in range(nv):
                    total = 0.0
                    for a in range(6):
                        total += x[at + of.S[kind] + a * nv + j] * F[force + a]
                    rows[count], columns[count], entries[count] = loops.first_row[c] + i, p.at_u[link] + j, total
                    count += 1
                if parent >= 0:
                    _pass_on(x, at + of.X[kind], F, force, (parent * m + i) * 6)
    return count
