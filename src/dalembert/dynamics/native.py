"""The equations of motion as native functions of (context, t, y, dy), for any model and formulation.

The state is y = (q, u, W) with the work W of forces without potential and of drives. The context is described in
``numerics.layout``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.codegen import call_kernel
from dalembert.dynamics.rolled import forward, program_at
from dalembert.numerics.layout import (
    BASE, CONFLICT, CONSTRAINTS, DYNAMICS, EVENT, EXPLICIT, FAILURE, HOLONOMIC, LARGEST_CORRECTION, MASS_METRIC,
    MODE, MOVE, N_EVENTS, N_INPUT, N_OUTPUT, N_RECORD, N_WORK, NO_CONVERGENCE, NO_MASS,
    NONE, NOT_FINITE, NP, NQ, NV, PARAMETERS, PROGRAM, PROJECTION, PROJECTIONS, RECORD, ROLLED, ROWS, SOLVER, TAU, WORK,
    blocks_of, entries, stabilised, statistics, watch,
)  # fmt: skip
from dalembert.numerics.linear import FAILED, OK, partition_step, solve_constrained
from dalembert.numerics.native import SIGNATURE, call_address, float_pointer

__all__ = ["accelerations", "accelerations_along", "evaluate", "native_events", "native_retract", "native_rhs"]

# Newton's method on the position constraints: the error is a length or an angle.
POSITION_TOLERANCE = 1e-12
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
    inp[1 : 1 + n] = y[:n]
    inp[1 + n : 1 + n + parameters] = carray(float_pointer(c[PARAMETERS]), parameters)
    call_kernel(kernel, inp, out, work)


@njit(cache=True, nogil=True)
def accelerations(context, t, y, qdot, du, multipliers):
    """q̇, u̇, λ and the power that changes T + V at one state; returns (status, power)."""
    c = entries(context)
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    inp, out, work = workspace(c)
    tau = carray(float_pointer(c[TAU]), nv)
    if c[MODE] == ROLLED:
        record = carray(float_pointer(c[RECORD]), c[N_RECORD])
        base = carray(float_pointer(c[BASE]), 6)
        program = program_at(c[PROGRAM])
        return OK, forward(program, record, t, y[:nq], y[nq : nq + nv], tau, base, qdot, du, work)
    at = 1 + nq + nv + c[NP]
    inp[at : at + nv] = tau
    evaluate(c, c[DYNAMICS], t, y, inp, out, work)
    qdot[:] = out[:nq]
    power = out[nq]
    if c[MODE] == EXPLICIT:
        du[:] = out[nq + 1 : nq + 1 + nv]
        return OK, power
    size = nv * nv + nv + rows * nv + 2 * rows + holonomic
    blocks = out[nq + 1 : nq + 1 + size + nv]
    blocks[size:] = y[nq : nq + nv]
    M, f, A, gamma, b, phi, rate = blocks_of(c, blocks)
    if c[SOLVER] != 0:
        solution = np.empty(nv + rows)
        status = call_address(c[SOLVER], context, t, blocks, solution)
        du[:] = solution[:nv]
        multipliers[:] = solution[nv:]
    else:
        gamma = stabilised(c, gamma, phi, rate)
        status, rank, ratio, conflict = solve_constrained(M, f, A, gamma, du, multipliers)
        watch(c, rank, ratio, conflict)
    if status != OK:
        statistics(c)[FAILURE] = NO_MASS
        return status, power
    # Constraint forces have the power uᵀAᵀλ = −bᵀλ.
    for i in range(rows):
        power -= b[i] * multipliers[i]
    return OK, power


@njit(cache=True, nogil=True)
def _rhs(context, t, y, dy):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    multipliers = np.empty(c[ROWS])
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    status, power = accelerations(context, t, state, rate[:nq], rate[nq : nq + nv], multipliers)
    rate[nq + nv] = power
    if status != OK:
        return status
    for i in range(nq + nv + 1):
        if not np.isfinite(rate[i]):
            statistics(c)[FAILURE] = NOT_FINITE
            return FAILED
    return OK


@njit(cache=True, nogil=True)
def _events(context, t, y, g):
    c = entries(context)
    inp, out, work = workspace(c)
    evaluate(c, c[EVENT], t, carray(y, c[NQ] + c[NV] + 1), inp, out, work)
    values = carray(g, c[N_EVENTS])
    values[:] = out[: c[N_EVENTS]]
    return OK


@njit(cache=True, nogil=True)
def _move(c, q, du, inp, out, work):
    """q ← q moved along the tangent du (also normalises quaternions)."""
    nq, nv, parameters = c[NQ], c[NV], c[NP]
    inp[:nq] = q
    inp[nq : nq + nv] = du
    inp[nq + nv : nq + nv + parameters] = carray(float_pointer(c[PARAMETERS]), parameters)
    call_kernel(c[MOVE], inp, out, work)
    q[:] = out[:nq]


@njit(cache=True, nogil=True)
def _correction(c, M, A, residual, du):
    """The step du with A du = −residual, as the projection wants it; returns (status, conflict of redundant rows)."""
    if c[PROJECTION] == MASS_METRIC:
        status, _, _, conflict = solve_constrained(M, np.zeros(c[NV]), A, residual, du, np.empty(A.shape[0]))
        return status, conflict
    return partition_step(M, A, residual, du)


@njit(cache=True, nogil=True)
def _close_positions(c, t, state):
    """Newton's method on the position constraints."""
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    inp, out, work = workspace(c)
    du, error = np.zeros(nv), 1e300
    for attempt in range(NEWTON_STEPS):
        evaluate(c, c[CONSTRAINTS], t, state, inp, out, work)
        phi = out[:holonomic]
        previous, error = error, 0.0
        for i in range(holonomic):
            error = max(error, abs(phi[i]))
        if not np.isfinite(error):
            return NOT_FINITE
        # Converged, or as close as rounding allows.
        if error <= POSITION_TOLERANCE or (error < 1e-9 and error > 0.5 * previous):
            return OK
        at = holonomic + rows
        A = out[at : at + holonomic * nv].reshape(holonomic, nv)
        at += rows * nv
        M = out[at : at + nv * nv].reshape(nv, nv)
        status, _ = _correction(c, M, A, phi, du)
        if status != OK:
            return NO_MASS
        _move(c, state[:nq], du, inp, out, work)
    return NO_CONVERGENCE


@njit(cache=True, nogil=True)
def _close_velocities(c, state):
    """Velocities onto the constraints; the constraint kernel was evaluated at the present position just before."""
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    _, out, _ = workspace(c)
    du = np.empty(nv)
    rate = out[holonomic : holonomic + rows]
    at = holonomic + rows
    A = out[at : at + rows * nv].reshape(rows, nv)
    at += rows * nv
    M = out[at : at + nv * nv].reshape(nv, nv)
    status, conflict = _correction(c, M, A, rate, du)
    if status != OK:
        return NO_MASS
    if conflict > CONFLICT_TOLERANCE * (1.0 + np.abs(rate).max()):
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
def _retract(context, t, y, unused):
    """Position and velocity back onto the constraints."""
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    state = carray(y, nq + nv + 1)
    if c[MOVE] != 0:
        inp, out, work = workspace(c)
        _move(c, state[:nq], np.zeros(nv), inp, out, work)
    if c[ROWS] == 0 or c[PROJECTION] == NONE:
        return OK
    stats = statistics(c)
    stats[PROJECTIONS] += 1
    failure = _close_positions(c, t, state)
    if failure == OK:
        failure = _close_velocities(c, state)
    if failure != OK:
        stats[FAILURE] = failure
        return FAILED
    return OK


@njit(cache=True, nogil=True)
def accelerations_along(context, times, states, forces, du, multipliers):
    """u̇ and λ at many states; returns the number of states done before one failed."""
    c = entries(context)
    qdot, tau = np.empty(c[NQ]), carray(float_pointer(c[TAU]), c[NV])
    for i in range(times.shape[0]):
        tau[:] = forces[i]
        status, _ = accelerations(context, times[i], states[i], qdot, du[i], multipliers[i])
        if status != OK:
            return i
    return times.shape[0]


def native_rhs() -> Any:
    """The right-hand side as a C function; ``.address`` is what loops take."""
    return cfunc(SIGNATURE, cache=True)(_rhs.py_func)


def native_retract() -> Any:
    """The retraction as a C function."""
    return cfunc(SIGNATURE, cache=True)(_retract.py_func)


def native_events() -> Any:
    """The events as a C function."""
    return cfunc(SIGNATURE, cache=True)(_events.py_func)
