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
from dalembert.dynamics.rolled import forward, program_at
from dalembert.numerics.layout import (
    BASE,
    CONFLICT,
    CONSTRAINTS,
    DYNAMICS,
    EVENT,
    EXTRA,
    FAILURE,
    HOLONOMIC,
    LARGEST_CORRECTION,
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
    RECORD,
    RHS,
    ROWS,
    SOLVER,
    TAU,
    WORK,
    blocks_of,
    entries,
    finite,
    stabilised,
    statistics,
    watch,
)  # fmt: skip
from dalembert.numerics.linear import FAILED, OK, partition_step, solve_constrained
from dalembert.numerics.native import SIGNATURE, call_address, float_pointer, put

__all__ = ["accelerations_along", "evaluate", "function_address", "workspace"]

# Newton's method on the position constraints: the error is a length or an angle. What is not corrected now is corrected
# at once later, a jump that multistep methods feel; so this is close to rounding.
POSITION_TOLERANCE = 1e-14
NEWTON_STEPS = 12

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
def _solved_rhs(context, t, y, dy):
    c = entries(context)
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    multipliers = carray(float_pointer(c[MULTIPLIERS]), rows)
    size = nv * nv + nv + rows * nv + 2 * rows + holonomic + c[EXTRA]
    blocks = _evaluated(c, t, state, rate)[: size + nv]
    put(blocks, size, state, nq, nv)
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
    """What projection works on, as the constraint kernel left it: residuals, A, M of the level asked for."""
    nv, rows, holonomic = c[NV], c[ROWS], c[HOLONOMIC]
    _, out, _ = workspace(c)
    at = holonomic + rows
    count = holonomic if positions else rows
    residual = out[:holonomic] if positions else out[holonomic:at]
    A = out[at : at + count * nv].reshape(count, nv)
    at += rows * nv
    return residual, A, out[at : at + nv * nv].reshape(nv, nv)


# The step du with A du = −residual at position level (t ≠ 0) or velocity level, then the conflict of redundant rows.


@njit(cache=True, nogil=True)
def _shortest(context, positions, unused, out):
    """The shortest way in the metric of the mass matrix."""
    c = entries(context)
    residual, A, M = _open(c, positions != 0.0)
    step = carray(out, c[NV] + 1)
    zero, multipliers = np.zeros(c[NV]), np.empty(A.shape[0])
    status, _, _, step[c[NV]] = solve_constrained(M, zero, A, residual, step[: c[NV]], multipliers)
    return status


@njit(cache=True, nogil=True)
def _along_dependent(context, positions, unused, out):
    """Along the best dependent coordinates."""
    c = entries(context)
    residual, A, M = _open(c, positions != 0.0)
    step = carray(out, c[NV] + 1)
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
        if error <= POSITION_TOLERANCE or (error < 1e-9 and error > 0.5 * previous):
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
    correction, size = 0.0, 0.0
    for i in range(nv):
        correction = max(correction, abs(du[i]))
        size = max(size, abs(state[nq + i]))
        state[nq + i] += du[i]
    # A velocity that has to be bent much to fit the constraints has jumped to another branch of the motion.
    stats = statistics(c)
    stats[LARGEST_CORRECTION] = max(stats[LARGEST_CORRECTION], correction / (1.0 + size))
    return OK


@njit(cache=True, nogil=True)
def _normalise(context, t, y, unused):
    """Quaternions of unit length; all that models without constraints need."""
    c = entries(context)
    if c[MOVE] != 0:
        inp, out, work = workspace(c)
        _move(c, carray(y, c[NQ]), np.zeros(c[NV]), inp, out, work)
    return OK


@njit(cache=True, nogil=True)
def _retract(context, t, y, unused):
    """Position and velocity back onto the constraints."""
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    state, du = carray(y, nq + nv + 1), np.zeros(nv + 1)
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
    "explicit": _explicit_rhs, "rolled": _rolled_rhs, "solved": _solved_rhs, "normalise": _normalise,
    "retract": _retract, "events": _events, "projection": _shortest, "partition": _along_dependent,
}  # fmt: skip


@lru_cache
def _native(name: str) -> Any:
    return cfunc(SIGNATURE, cache=True)(_FUNCTIONS[name].py_func)


def function_address(name: str) -> int:
    """The address of one of the functions, compiled at its first use."""
    return _native(name).address
