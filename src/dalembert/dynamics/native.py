"""The equations of motion as native functions of (context, t, y, dy), for any model and formulation.

The state is y = (q, u, W) with the work W of forces without potential and of drives. The context is described in
``numerics.layout``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import carray, cfunc, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.codegen import call_kernel
from dalembert.dynamics.rolled import forward
from dalembert.dynamics.rolled_closing import (
    approach,
    close_positions,
    close_velocities,
    forward_closed,
    loops_at,
    memory_at,
)
from dalembert.dynamics.rolled_passes import program_at
from dalembert.numerics.closing import close_loops
from dalembert.numerics.layout import (
    APPROACH,
    BASE,
    CONFLICT,
    CONSTRAINTS,
    DYNAMICS,
    EVENT,
    EXTRA,
    FAILURE,
    HOLONOMIC,
    HOLONOMIC_RANK,
    INNER,
    LARGEST_CORRECTION,
    LOOP_MEMORY,
    LOOPS,
    MOVE,
    MULTIPLIERS,
    N_EVENTS,
    N_INPUT,
    N_OUTPUT,
    N_RECORD,
    N_WORK,
    NO_CONVERGENCE,
    NO_MASS,
    NOT_FINITE,
    NP,
    NQ,
    NV,
    PARAMETERS,
    PROGRAM,
    PROJECTION,
    PROJECTIONS,
    RANK,
    RECORD,
    RHS,
    ROWS,
    SOLVER,
    STABILISATION,
    TAU,
    WORK,
    YIELDING,
    blocks_of,
    entries,
    finite,
    stabilised,
    statistics,
    watch,
)  # fmt: skip
from dalembert.numerics.linear import (
    FAILED,
    OK,
    cholesky,
    cholesky_substitute,
    hold_rank,
    partition_step,
    solve_constrained,
)
from dalembert.numerics.native import SIGNATURE, call_address, float_pointer, put

__all__ = ["accelerations_along", "evaluate", "function_address", "workspace"]

# Newton's method on the position constraints: the error is a length or an angle. What is not corrected now is corrected
# at once later, a jump that multistep methods feel; so this is close to rounding.
POSITION_TOLERANCE = 1e-14
NEWTON_STEPS = 12

# How soft states are led towards the constraints before an evaluation: of the square of the stiffest direction.
SOFT = 1e-9

# How far redundant velocity equations may contradict each other before no velocity satisfies them.
CONFLICT_TOLERANCE = 1e-6


@njit(cache=True, nogil=True)
def workspace(c):
    """Input, output and scratch space of kernels."""
    work = carray(float_pointer(c[WORK]), c[N_INPUT] + c[N_OUTPUT] + c[N_WORK])
    return work[: c[N_INPUT]], work[c[N_INPUT] : c[N_INPUT] + c[N_OUTPUT]], work[c[N_INPUT] + c[N_OUTPUT] :]


@njit(cache=True, nogil=True)
def evaluate(c, kernel, t, y, inp, out, work):
    """Call a kernel of (t, q, u, parameters); returns how much of the input is filled."""
    n, parameters = c[NQ] + c[NV], c[NP]
    inp[0] = t
    put(inp, 1, y, 0, n)
    put(inp, 1 + n, float_pointer(c[PARAMETERS]), 0, parameters)
    call_kernel(kernel, inp, out, work)


@njit(cache=True, nogil=True)
def _evaluated(c, t, state, rate):
    """The dynamics kernel; q̇ and the power go to the rates, the formulation's blocks are returned."""
    nq, nv = c[NQ], c[NV]
    inp, out, work = workspace(c)
    at = 1 + nq + nv + c[NP]
    put(inp, at, float_pointer(c[TAU]), 0, nv)
    evaluate(c, c[DYNAMICS], t, state, inp, out, work)
    put(rate, 0, out, 0, nq)
    rate[nq + nv] = out[nq]
    return out[nq + 1 :]


# The right-hand side in the three ways in which u̇ is found. All leave λ in the context.


@njit(cache=True, nogil=True)
def _explicit_rhs(context, t, y, dy):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    put(rate, nq, _evaluated(c, t, state, rate), 0, nv)
    return finite(c, rate)


@njit(cache=True, nogil=True)
def _rolled_rhs(context, t, y, dy):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    record = carray(float_pointer(c[RECORD]), c[N_RECORD])
    tau, base = carray(float_pointer(c[TAU]), nv), carray(float_pointer(c[BASE]), 6)
    _, _, work = workspace(c)
    q, u, qdot, du = state[:nq], state[nq : nq + nv], rate[:nq], rate[nq : nq + nv]
    rate[nq + nv] = forward(program_at(c[PROGRAM]), record, t, q, u, tau, base, qdot, du, work)
    return finite(c, rate)


@njit(cache=True, nogil=True)
def _hold_blocks(c, blocks):
    """A, γ, b and φ of the known rank."""
    _, _, A, gamma, b, phi, _ = blocks_of(c, blocks)
    rows, holonomic = c[ROWS], c[HOLONOMIC]
    sides = np.zeros((rows, 3))
    for i in range(rows):
        sides[i, 0], sides[i, 1] = gamma[i], b[i]
        if i < holonomic:
            sides[i, 2] = phi[i]
    hold_rank(A, c[RANK], sides)
    for i in range(rows):
        gamma[i], b[i] = sides[i, 0], sides[i, 1]
        if i < holonomic:
            phi[i] = sides[i, 2]


@njit(cache=True, nogil=True)
def _closed_rhs(context, t, y, dy):
    """A large tree with cut joints."""
    c = entries(context)
    nq, nv, rows = c[NQ], c[NV], c[ROWS]
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    record, (table, pattern) = carray(float_pointer(c[RECORD]), c[N_RECORD]), loops_at(c[LOOPS])
    memory, baumgarte = memory_at(c[LOOP_MEMORY]), carray(float_pointer(c[STABILISATION]), 2)
    tau, base = carray(float_pointer(c[TAU]), nv), carray(float_pointer(c[BASE]), 6)
    _, _, work = workspace(c)
    q, u, qdot, du = state[:nq], state[nq : nq + nv], rate[:nq], rate[nq : nq + nv]
    rate[nq + nv], rank, ratio, conflict = forward_closed(
        program_at(c[PROGRAM]), table, pattern, record, memory, t, q, u, tau, base, baumgarte, qdot, du, work
    )
    put(float_pointer(c[MULTIPLIERS]), 0, memory.rhs, 0, rows)
    watch(c, rank, ratio, conflict)
    return finite(c, rate)


@njit(cache=True, nogil=True)
def _closed_retract(context, t, y, quality):
    """Position and velocity of a large tree back onto its cut joints."""
    c = entries(context)
    quality[0] = 1.0
    if c[PROJECTION] == 0:
        return OK
    nq, nv, stats = c[NQ], c[NV], statistics(c)
    stats[PROJECTIONS] += 1
    state, du = carray(y, nq + nv + 1), np.zeros(nv)
    record, (table, pattern) = carray(float_pointer(c[RECORD]), c[N_RECORD]), loops_at(c[LOOPS])
    program, memory = program_at(c[PROGRAM]), memory_at(c[LOOP_MEMORY])
    _, _, work = workspace(c)
    q, u = state[:nq], state[nq : nq + nv]
    tolerance = POSITION_TOLERANCE if c[INNER] == 0 else 0.0
    ratio = close_positions(program, table, pattern, record, memory, tolerance, q, u, du, work)
    if not ratio > 0.0:
        stats[FAILURE] = NO_CONVERGENCE
        return FAILED
    close_velocities(program, table, pattern, record, memory, u, du, work)
    _correct(stats, u, du)
    quality[0] = ratio
    return OK


@njit(cache=True, nogil=True)
def _correct(stats, u, du):
    """u += du. A velocity that has to be bent much to fit the constraints has jumped to another branch of motion."""
    correction, size = 0.0, 0.0
    for i in range(u.shape[0]):
        correction = max(correction, abs(du[i]))
        size = max(size, abs(u[i]))
        u[i] += du[i]
    stats[LARGEST_CORRECTION] = max(stats[LARGEST_CORRECTION], correction / (1.0 + size))


@njit(cache=True, nogil=True)
def _solved_rhs(context, t, y, dy):
    c = entries(context)
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    multipliers = carray(float_pointer(c[MULTIPLIERS]), rows)
    size = nv * nv + nv + rows * nv + 2 * rows + holonomic + c[EXTRA]
    blocks = _evaluated(c, t, state, rate)[: size + nv]
    put(blocks, size, state, nq, nv)
    if c[RANK] != 0:
        _hold_blocks(c, blocks)
    M, f, A, gamma, b, phi, velocity = blocks_of(c, blocks)
    if c[SOLVER] != 0:
        solution = np.empty(nv + rows)
        status = call_address(c[SOLVER], context, t, blocks, solution)
        put(rate, nq, solution, 0, nv)
        put(multipliers, 0, solution, nv, rows)
    else:
        gamma = stabilised(c, gamma, phi, velocity)
        status, rank, ratio, conflict = solve_constrained(M, f, A, gamma, rate[nq : nq + nv], multipliers)
        watch(c, rank, ratio, conflict)
    if status != OK:
        statistics(c)[FAILURE] = NO_MASS
        return status
    # Constraint forces have the power uᵀAᵀλ = −bᵀλ.
    for i in range(rows):
        rate[nq + nv] -= b[i] * multipliers[i]
    return finite(c, rate)


@njit(cache=True, nogil=True)
def _hold_loops(c, A, gamma, b, phi, Y, compliance):
    """A of the known rank is E A; then γ, b and φ become E γ …, Y = M⁻¹Aᵀ becomes Y Eᵀ, the compliance E C Eᵀ."""
    rows, holonomic, k = c[ROWS], c[HOLONOMIC], A.shape[0]
    E = np.eye(k)
    hold_rank(A[:rows], c[RANK], E[:rows])
    old = phi.copy()
    for i in range(holonomic):
        phi[i] = 0.0
        for j in range(holonomic):
            phi[i] += E[i, j] * old[j]
    b[:] = E[:rows, :rows].copy() @ b.copy()
    gamma[:] = E @ gamma.copy()
    Y[:] = Y.copy() @ E.T.copy()
    compliance[:] = E @ (compliance.copy() @ E.T.copy())


@njit(cache=True, nogil=True)
def _eliminated_rhs(context, t, y, dy):
    """The loops of ``formulations.recursive``."""
    c = entries(context)
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    k = rows + c[YIELDING]
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    multipliers = carray(float_pointer(c[MULTIPLIERS]), rows)
    blocks = _evaluated(c, t, state, rate)
    b, phi, du = blocks[:rows], blocks[rows : rows + holonomic], rate[nq : nq + nv]
    at = rows + holonomic
    put(rate, nq, blocks, at, nv)
    at += nv
    A = blocks[at : at + k * nv].reshape(k, nv)
    at += k * nv
    gamma = blocks[at : at + k].copy()
    at += k
    Y, compliance = blocks[at : at + nv * k].reshape(nv, k), blocks[at + nv * k : at + nv * k + k * k].reshape(k, k)
    if c[RANK] != 0:
        _hold_loops(c, A, gamma, b, phi, Y, compliance)
    velocity = b.copy()
    for i in range(rows):
        for j in range(nv):
            velocity[i] += A[i, j] * state[nq + j]
    put(gamma, 0, stabilised(c, gamma[:rows], phi, velocity), 0, rows)
    rank, ratio, conflict = close_loops(A, gamma, Y, compliance, du, multipliers)
    watch(c, rank, ratio, conflict)
    for i in range(rows):
        rate[nq + nv] -= b[i] * multipliers[i]
    return finite(c, rate)


@njit(cache=True, nogil=True)
def _staged_rhs(context, t, y, dy):
    """ẏ at a state that is led towards the constraints first: what is off them has little say, so the equations stay
    smooth near singular positions. There the direction that degenerates is left alone: the way back is as long as it
    is uncertain.
    """
    c = entries(context)
    near, rate = np.empty(c[NQ] + c[NV] + 1), carray(dy, c[NQ] + c[NV] + 1)
    put(near, 0, y, 0, near.shape[0])
    call_address(c[APPROACH], context, t, near, rate)
    return call_address(c[INNER], context, t, near, rate)


@njit(cache=True, nogil=True)
def _soft_step(c, residual, A, M, du):
    """The du that is short and brings A du close to −residual; 0 if it is not determined."""
    nv, rows = c[NV], A.shape[0]
    heaviest, longest = 0.0, 0.0
    for i in range(nv):
        heaviest = max(heaviest, abs(M[i, i]))
    for i in range(rows):
        for j in range(nv):
            longest = max(longest, abs(A[i, j]))
    stiffness = heaviest / (SOFT * longest * longest) if longest > 0.0 else 0.0
    H = np.empty((nv, nv))
    for i in range(nv):
        du[i] = 0.0
        for j in range(nv):
            H[i, j] = M[i, j]
    for r in range(rows):
        for i in range(nv):
            if A[r, i] != 0.0:
                du[i] -= stiffness * A[r, i] * residual[r]
                for j in range(nv):
                    H[i, j] += stiffness * A[r, i] * A[r, j]
    if cholesky(H):
        cholesky_substitute(H, du)
    else:
        for i in range(nv):
            du[i] = 0.0


@njit(cache=True, nogil=True)
def _approach(context, t, y, unused):
    """A step of position and velocity towards the constraints."""
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    state, du = carray(y, nq + nv + 1), np.zeros(nv)
    inp, out, work = workspace(c)
    evaluate(c, c[CONSTRAINTS], t, state, inp, out, work)
    residual, A, M = _open(c, True)
    _soft_step(c, residual, A, M, du)
    _move(c, state, du, inp, out, work)
    evaluate(c, c[CONSTRAINTS], t, state, inp, out, work)
    residual, A, M = _open(c, False)
    _soft_step(c, residual, A, M, du)
    for i in range(nv):
        state[nq + i] += du[i]
    return OK


@njit(cache=True, nogil=True)
def _closed_approach(context, t, y, unused):
    """A step of position and velocity of a large tree towards its cut joints."""
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    state, du = carray(y, nq + nv + 1), np.zeros(nv)
    record, (table, pattern) = carray(float_pointer(c[RECORD]), c[N_RECORD]), loops_at(c[LOOPS])
    program, memory = program_at(c[PROGRAM]), memory_at(c[LOOP_MEMORY])
    _, _, work = workspace(c)
    approach(program, table, pattern, record, memory, SOFT, state[:nq], state[nq : nq + nv], du, work)
    return OK


@njit(cache=True, nogil=True)
def _events(context, t, y, g):
    c = entries(context)
    inp, out, work = workspace(c)
    evaluate(c, c[EVENT], t, carray(y, c[NQ] + c[NV] + 1), inp, out, work)
    put(g, 0, out, 0, c[N_EVENTS])
    return OK


@njit(cache=True, nogil=True)
def _move(c, q, du, inp, out, work):
    """q ← q moved along the tangent du (also normalises quaternions)."""
    nq, nv, parameters = c[NQ], c[NV], c[NP]
    put(inp, 0, q, 0, nq)
    put(inp, nq, du, 0, nv)
    put(inp, nq + nv, float_pointer(c[PARAMETERS]), 0, parameters)
    call_kernel(c[MOVE], inp, out, work)
    put(q, 0, out, 0, nq)


@njit(cache=True, nogil=True)
def _open(c, positions):
    """What projection works on, as the constraint kernel left it: residuals, A, M of the level asked for; A has the
    rank that is known."""
    nv, rows, holonomic = c[NV], c[ROWS], c[HOLONOMIC]
    _, out, _ = workspace(c)
    at = holonomic + rows
    count = holonomic if positions else rows
    residual = out[:holonomic] if positions else out[holonomic:at]
    A = out[at : at + count * nv].reshape(count, nv)
    at += rows * nv
    rank = c[HOLONOMIC_RANK] if positions else c[RANK]
    if rank != 0:
        sides = residual.copy().reshape(count, 1)
        A = A.copy()
        hold_rank(A, rank, sides)
        residual = sides[:, 0].copy()
    return residual, A, out[at : at + nv * nv].reshape(nv, nv)


# The step du with A du = −residual at position level (t ≠ 0) or velocity level, then the conflict of redundant rows.


@njit(cache=True, nogil=True)
def _shortest(context, positions, unused, out):
    """The shortest way in the metric of the mass matrix; then how close A is to losing rank."""
    c = entries(context)
    residual, A, M = _open(c, positions != 0.0)
    step = carray(out, c[NV] + 2)
    zero, multipliers = np.zeros(c[NV]), np.empty(A.shape[0])
    status, _, step[c[NV] + 1], step[c[NV]] = solve_constrained(M, zero, A, residual, step[: c[NV]], multipliers)
    return status


@njit(cache=True, nogil=True)
def _along_dependent(context, positions, unused, out):
    """Along the best dependent coordinates."""
    c = entries(context)
    residual, A, M = _open(c, positions != 0.0)
    step = carray(out, c[NV] + 2)
    step[c[NV] + 1] = 1.0
    status, step[c[NV]] = partition_step(M, A, residual, step[: c[NV]])
    return status


@njit(cache=True, nogil=True)
def _close_positions(context, c, t, state, du):
    """Newton's method on the position constraints."""
    inp, out, work = workspace(c)
    error = 1e300
    for _ in range(NEWTON_STEPS):
        evaluate(c, c[CONSTRAINTS], t, state, inp, out, work)
        previous, error = error, 0.0
        for i in range(c[HOLONOMIC]):
            error = max(error, abs(out[i]))
        if not np.isfinite(error):
            return NOT_FINITE
        # Converged, or as close as rounding allows.
        if error <= (POSITION_TOLERANCE if c[INNER] == 0 else 0.0) or (error < 1e-9 and error > 0.5 * previous):
            return OK
        if call_address(c[PROJECTION], context, 1.0, state, du) != OK:
            return NO_MASS
        _move(c, state, du, inp, out, work)
    return NO_CONVERGENCE


@njit(cache=True, nogil=True)
def _close_velocities(context, c, state, du):
    """Velocities onto the constraints; the constraint kernel was evaluated at the present position just before."""
    nq, nv = c[NQ], c[NV]
    if call_address(c[PROJECTION], context, 0.0, state, du) != OK:
        return NO_MASS
    residual, _, _ = _open(c, False)
    largest = 0.0
    for i in range(c[ROWS]):
        largest = max(largest, abs(residual[i]))
    if du[nv] > CONFLICT_TOLERANCE * (1.0 + largest):
        return CONFLICT
    _correct(statistics(c), state[nq : nq + nv], du)
    return OK


@njit(cache=True, nogil=True)
def _normalise(context, t, y, quality):
    """Quaternions of unit length; all that models without constraints need."""
    c = entries(context)
    quality[0] = 1.0
    if c[MOVE] != 0:
        inp, out, work = workspace(c)
        _move(c, carray(y, c[NQ]), np.zeros(c[NV]), inp, out, work)
    return OK


@njit(cache=True, nogil=True)
def _retract(context, t, y, quality):
    """Position and velocity back onto the constraints."""
    c = entries(context)
    quality[0] = 1.0
    nq, nv = c[NQ], c[NV]
    state, du = carray(y, nq + nv + 1), np.zeros(nv + 2)
    inp, out, work = workspace(c)
    _move(c, state, du, inp, out, work)
    if c[PROJECTION] == 0:
        return OK
    stats = statistics(c)
    stats[PROJECTIONS] += 1
    failure = _close_positions(context, c, t, state, du)
    if failure == OK:
        failure = _close_velocities(context, c, state, du)
    if failure != OK:
        stats[FAILURE] = failure
        return FAILED
    quality[0] = du[nv + 1]
    return OK


@njit(cache=True, nogil=True)
def accelerations_along(context, times, states, forces, du, multipliers):
    """u̇ and λ at many states; returns the number of states done before one failed."""
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    rate = np.empty(nq + nv + 1)
    for i in range(times.shape[0]):
        put(float_pointer(c[TAU]), 0, forces[i], 0, nv)
        if call_address(c[RHS], context, times[i], states[i], rate) != OK:
            return i
        put(du[i], 0, rate, nq, nv)
        put(multipliers[i], 0, float_pointer(c[MULTIPLIERS]), 0, c[ROWS])
    return times.shape[0]


_FUNCTIONS = {
    "explicit": _explicit_rhs, "eliminated": _eliminated_rhs, "rolled": _rolled_rhs, "closed": _closed_rhs,
    "solved": _solved_rhs, "normalise": _normalise, "retract": _retract, "closed retract": _closed_retract,
    "staged": _staged_rhs, "approach": _approach, "closed approach": _closed_approach,
    "events": _events, "projection": _shortest, "partition": _along_dependent,
}  # fmt: skip


@lru_cache
def _native(name: str) -> Any:
    return cfunc(SIGNATURE, cache=True)(_FUNCTIONS[name].py_func)


def function_address(name: str) -> int:
    """The address of one of the functions, compiled at its first use."""
    return _native(name).address
