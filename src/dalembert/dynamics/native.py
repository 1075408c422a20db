"""The equations of motion as native functions of (context, t, y, dy), for any model and formulation.

The state is y = (q, u, W) with the work W of forces without potential and of drives. The context is a block of int64:
addresses of the compiled kernels, sizes, and addresses of parameters and scratch space.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.codegen import call_kernel
from dalembert.dynamics.linear import FAILED, OK, solve_constrained
from dalembert.dynamics.rolled import LAYOUT_COLUMNS, LINK_COLUMNS, forward
from dalembert.integrators.native import SIGNATURE, float_pointer, integer_pointer

__all__ = ["CONTEXT_SIZE", "STATISTICS", "accelerations", "accelerations_along", "native_retract", "native_rhs"]

# Context entries.
(
    DYNAMICS, CONSTRAINTS, MOVE, NQ, NV, ROWS, HOLONOMIC, NP, MODE, PARAMETERS, STATS, WORK, N_INPUT, N_OUTPUT,
    N_WORK, TAU, LAYOUT, N_KINDS, LINKS, N_LINKS, RECORD, N_RECORD, BASE,
) = range(23)  # fmt: skip
CONTEXT_SIZE = 23

# How u̇ is found: solved for together with λ, given by the kernel, or by rolled recursion.
SOLVED, EXPLICIT, ROLLED = 0, 1, 2

# What the native functions report on the way.
STATISTICS = (
    "smallest_pivot", "lowest_rank", "highest_rank", "largest_conflict", "projections", "failure", "largest_correction",
)  # fmt: skip
SMALLEST_PIVOT, LOWEST_RANK, HIGHEST_RANK, LARGEST_CONFLICT, PROJECTIONS, FAILURE, LARGEST_CORRECTION = range(7)
N_STATISTICS = 7

# Reasons in the FAILURE slot.
NO_MASS, NOT_FINITE, NO_CONVERGENCE, CONFLICT = 1, 2, 3, 4

# Newton's method on the position constraints: the error is a length or an angle.
POSITION_TOLERANCE = 1e-12
NEWTON_STEPS = 12

# How far redundant velocity equations may contradict each other before no velocity satisfies them.
CONFLICT_TOLERANCE = 1e-6


@njit(cache=True, nogil=True)
def _watch(stats, rank, ratio, conflict):
    stats[SMALLEST_PIVOT] = min(stats[SMALLEST_PIVOT], ratio)
    stats[LOWEST_RANK] = min(stats[LOWEST_RANK], rank)
    stats[HIGHEST_RANK] = max(stats[HIGHEST_RANK], rank)
    stats[LARGEST_CONFLICT] = max(stats[LARGEST_CONFLICT], conflict)


@njit(cache=True, nogil=True)
def accelerations(context, t, y, qdot, du, multipliers):
    """q̇, u̇, λ and the power that changes T + V at one state; returns (status, power)."""
    c = carray(integer_pointer(context), CONTEXT_SIZE)
    nq, nv, rows, parameters = c[NQ], c[NV], c[ROWS], c[NP]
    work = carray(float_pointer(c[WORK]), c[N_INPUT] + c[N_OUTPUT] + c[N_WORK])
    tau = carray(float_pointer(c[TAU]), nv)
    if c[MODE] == ROLLED:
        layout = carray(integer_pointer(c[LAYOUT]), (c[N_KINDS], LAYOUT_COLUMNS))
        links = carray(integer_pointer(c[LINKS]), (c[N_LINKS], LINK_COLUMNS))
        record = carray(float_pointer(c[RECORD]), c[N_RECORD])
        base = carray(float_pointer(c[BASE]), 6)
        forward(layout, links, record, y[:nq], y[nq : nq + nv], tau, base, qdot, du, work)
        return OK, 0.0
    inp = work[: c[N_INPUT]]
    out = work[c[N_INPUT] : c[N_INPUT] + c[N_OUTPUT]]
    inp[0] = t
    inp[1 : 1 + nq + nv] = y[: nq + nv]
    inp[1 + nq + nv : 1 + nq + nv + parameters] = carray(float_pointer(c[PARAMETERS]), parameters)
    inp[1 + nq + nv + parameters : 1 + nq + 2 * nv + parameters] = tau
    call_kernel(c[DYNAMICS], inp, out, work[c[N_INPUT] + c[N_OUTPUT] :])
    qdot[:] = out[:nq]
    power = out[nq]
    at = nq + 1
    if c[MODE] == EXPLICIT:
        du[:] = out[at : at + nv]
        return OK, power
    M = out[at : at + nv * nv].reshape(nv, nv)
    at += nv * nv
    f = out[at : at + nv]
    at += nv
    A = out[at : at + rows * nv].reshape(rows, nv)
    at += rows * nv
    gamma = out[at : at + rows]
    at += rows
    b = out[at : at + rows]
    stats = carray(float_pointer(c[STATS]), N_STATISTICS)
    status, rank, ratio, conflict = solve_constrained(M, f, A, gamma, du, multipliers)
    if status != OK:
        stats[FAILURE] = NO_MASS
        return status, power
    _watch(stats, rank, ratio, conflict)
    # Constraint forces have the power uᵀAᵀλ = −bᵀλ.
    for i in range(rows):
        power -= b[i] * multipliers[i]
    return OK, power


@njit(cache=True, nogil=True)
def _rhs(context, t, y, dy):
    c = carray(integer_pointer(context), CONTEXT_SIZE)
    nq, nv = c[NQ], c[NV]
    multipliers = np.empty(c[ROWS])
    state, rate = carray(y, nq + nv + 1), carray(dy, nq + nv + 1)
    status, power = accelerations(context, t, state, rate[:nq], rate[nq : nq + nv], multipliers)
    rate[nq + nv] = power
    if status != OK:
        return status
    for i in range(nq + nv + 1):
        if not np.isfinite(rate[i]):
            carray(float_pointer(c[STATS]), N_STATISTICS)[FAILURE] = NOT_FINITE
            return FAILED
    return OK


@njit(cache=True, nogil=True)
def _constraints(c, t, y, inp, out, work):
    nq, nv, parameters = c[NQ], c[NV], c[NP]
    inp[0] = t
    inp[1 : 1 + nq + nv] = y[: nq + nv]
    inp[1 + nq + nv : 1 + nq + nv + parameters] = carray(float_pointer(c[PARAMETERS]), parameters)
    call_kernel(c[CONSTRAINTS], inp, out, work)


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
def _retract(context, t, y, unused):
    """Position and velocity back onto the constraints, by the shortest way in the metric of the mass matrix."""
    c = carray(integer_pointer(context), CONTEXT_SIZE)
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    work = carray(float_pointer(c[WORK]), c[N_INPUT] + c[N_OUTPUT] + c[N_WORK])
    inp = work[: c[N_INPUT]]
    out = work[c[N_INPUT] : c[N_INPUT] + c[N_OUTPUT]]
    rest = work[c[N_INPUT] + c[N_OUTPUT] :]
    state = carray(y, nq + nv + 1)
    stats = carray(float_pointer(c[STATS]), N_STATISTICS)
    du, multipliers, zero = np.zeros(nv), np.empty(rows), np.zeros(nv)
    if c[MOVE] != 0:
        _move(c, state[:nq], zero, inp, out, rest)
    if rows == 0:
        return OK
    stats[PROJECTIONS] += 1
    size = rows * nv
    error = 1e300
    for attempt in range(NEWTON_STEPS):
        _constraints(c, t, state, inp, out, rest)
        phi, rate = out[:holonomic], out[holonomic : holonomic + rows]
        A = out[holonomic + rows : holonomic + rows + size].reshape(rows, nv)
        M = out[holonomic + rows + size : holonomic + rows + size + nv * nv].reshape(nv, nv)
        previous, error = error, 0.0
        for i in range(holonomic):
            error = max(error, abs(phi[i]))
        if not np.isfinite(error):
            stats[FAILURE] = NOT_FINITE
            return FAILED
        # Converged, or as close as rounding allows.
        if error <= POSITION_TOLERANCE or (error < 1e-9 and error > 0.5 * previous):
            break
        if attempt == NEWTON_STEPS - 1:
            stats[FAILURE] = NO_CONVERGENCE
            return FAILED
        status, _, _, _ = solve_constrained(M, zero, A[:holonomic], phi, du, multipliers[:holonomic])
        if status != OK:
            stats[FAILURE] = NO_MASS
            return status
        _move(c, state[:nq], du, inp, out, rest)
    status, _, _, conflict = solve_constrained(M, zero, A, rate, du, multipliers)
    if status != OK:
        stats[FAILURE] = NO_MASS
        return status
    if conflict > CONFLICT_TOLERANCE * (1.0 + np.abs(rate).max()):
        stats[FAILURE] = CONFLICT
        return FAILED
    correction, size = 0.0, 0.0
    for i in range(nv):
        correction = max(correction, abs(du[i]))
        size = max(size, abs(state[nq + i]))
        state[nq + i] += du[i]
    # A velocity that has to be bent much to fit the constraints has jumped to another branch of the motion.
    stats[LARGEST_CORRECTION] = max(stats[LARGEST_CORRECTION], correction / (1.0 + size))
    return OK


@njit(cache=True, nogil=True)
def accelerations_along(context, times, states, forces, du, multipliers):
    """u̇ and λ at many states; returns the number of states done before one failed."""
    c = carray(integer_pointer(context), CONTEXT_SIZE)
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
