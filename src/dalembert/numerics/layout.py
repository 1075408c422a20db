"""The block of numbers that native code of one model shares: addresses of kernels, sizes, options, statistics.

A *solver* of a formulation is a native function  int64 f(int64 context, double t, double* blocks, double* out):  it
reads the blocks of the equations of motion at one state and writes u̇ and λ.
"""

from __future__ import annotations

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.numerics.native import float_pointer, integer_pointer

__all__ = [
    "CONTEXT", "CONTEXT_SIZE", "STATISTICS", "blocks_of", "entries", "finite", "give_up", "options", "statistics",
    "watch",
]  # fmt: skip

# Context entries.
#   dynamics … discrete      kernels
#   nq, nv, rows, holonomic  sizes; holonomic rows come first
#   yielding                 further rows of the recursive formulation: armatures of cut joints
#   rhs                      native function ẏ = f(t, y), which leaves λ in multipliers
#   inner, approach          rhs and way towards the constraints, for an rhs that goes there before it evaluates
#   solver                   native function of the formulation, 0 for the null space
#   options                  numbers of the formulation
#   stabilisation            two numbers: Baumgarte's α and β, zero if not wanted
#   projection               native function that leads states back onto the constraints, 0 for none
#   extra                    numbers of blocks that a formulation adds behind the usual ones
#   form … n_windings        of formulations that integrate other variables than (q, u), see ``formulations.base.Form``:
#                            kernel and number of its outputs; native functions that take x = (q, u, W), or y; length
#                            of y, entries of it that vary; angles at the end of q that follow cut joints
#   rank, holonomic_rank     of A, and of its holonomic rows, where it is known to be less than it looks off the
#                            constraints; else 0
#   active                   independent rows that implicit methods keep, n_active of them, active_holonomic holonomic
CONTEXT = (
    "dynamics", "constraints", "move", "tangent", "exponential", "discrete", "event",
    "nq", "nv", "rows", "holonomic", "yielding", "n_parameters", "n_events",
    "rhs", "inner", "approach", "multipliers", "solver", "options",
    "stabilisation", "projection", "parameters", "tau", "statistics", "work", "n_input", "n_output", "n_work",
    "active", "n_active", "active_holonomic",
    "program", "record", "n_record", "base", "loops", "loop_memory", "rank", "holonomic_rank", "extra",
    "form", "n_form", "retract", "closure", "rates", "shift", "form_rhs", "encode", "decode", "n_state", "varying",
    "n_windings",
)  # fmt: skip
(
    DYNAMICS, CONSTRAINTS, MOVE, TANGENT, EXPONENTIAL, DISCRETE, EVENT,
    NQ, NV, ROWS, HOLONOMIC, YIELDING, NP, N_EVENTS, RHS, INNER, APPROACH, MULTIPLIERS, SOLVER, OPTIONS, STABILISATION,
    PROJECTION, PARAMETERS, TAU, STATS, WORK, N_INPUT, N_OUTPUT, N_WORK,
    ACTIVE, N_ACTIVE, ACTIVE_HOLONOMIC,
    PROGRAM, RECORD, N_RECORD, BASE, LOOPS, LOOP_MEMORY, RANK, HOLONOMIC_RANK, EXTRA,
    FORM, N_FORM, RETRACT, CLOSURE, RATES, SHIFT, FORM_RHS, ENCODE, DECODE, N_STATE, VARYING,
    N_WINDINGS,
) = range(53)  # fmt: skip
CONTEXT_SIZE = 53
N_OPTIONS = 8

# What the native functions report on the way.
STATISTICS = (
    "smallest_pivot", "lowest_rank", "highest_rank", "largest_conflict", "projections", "failure", "largest_correction",
)  # fmt: skip
SMALLEST_PIVOT, LOWEST_RANK, HIGHEST_RANK, LARGEST_CONFLICT, PROJECTIONS, FAILURE, LARGEST_CORRECTION = range(7)
N_STATISTICS = 7

# Reasons in the FAILURE slot.
NO_MASS, NOT_FINITE, NO_CONVERGENCE, CONFLICT, WORN_OUT = 1, 2, 3, 4, 5


@njit(cache=True, nogil=True)
def entries(context):
    """The context as an array."""
    return carray(integer_pointer(context), CONTEXT_SIZE)


@njit(cache=True, nogil=True)
def options(c):
    """The numbers of the formulation."""
    return carray(float_pointer(c[OPTIONS]), N_OPTIONS)


@njit(cache=True, nogil=True)
def statistics(c):
    return carray(float_pointer(c[STATS]), N_STATISTICS)


@njit(cache=True, nogil=True)
def watch(c, rank, ratio, conflict):
    """Remember the worst that a solver met."""
    stats = statistics(c)
    stats[SMALLEST_PIVOT] = min(stats[SMALLEST_PIVOT], ratio)
    stats[LOWEST_RANK] = min(stats[LOWEST_RANK], rank)
    stats[HIGHEST_RANK] = max(stats[HIGHEST_RANK], rank)
    stats[LARGEST_CONFLICT] = max(stats[LARGEST_CONFLICT], conflict)


@njit(cache=True, nogil=True)
def give_up(c, reason):
    """Why a native function failed; returns its status."""
    statistics(c)[FAILURE] = reason
    return 1


@njit(cache=True, nogil=True)
def finite(c, rate):
    """0 if all numbers are finite."""
    for i in range(rate.shape[0]):
        if not np.isfinite(rate[i]):
            return give_up(c, NOT_FINITE)
    return 0


@njit(cache=True, nogil=True)
def blocks_of(c, data):
    """M, f, A, γ, b, φ and the velocity residual A u + b, from what a solver gets: these blocks in order, then those
    that its formulation adds, then u."""
    nv, rows, holonomic = c[NV], c[ROWS], c[HOLONOMIC]
    M = data[: nv * nv].reshape(nv, nv)
    at = nv * nv
    f = data[at : at + nv]
    at += nv
    A = data[at : at + rows * nv].reshape(rows, nv)
    at += rows * nv
    gamma, b, phi = (
        data[at : at + rows],
        data[at + rows : at + 2 * rows],
        data[at + 2 * rows : at + 2 * rows + holonomic],
    )
    at += 2 * rows + holonomic + c[EXTRA]
    u = data[at : at + nv]
    rate = b.copy()
    for i in range(rows):
        for j in range(nv):
            rate[i] += A[i, j] * u[j]
    return M, f, A, gamma, b, phi, rate


@njit(cache=True, nogil=True)
def stabilised(c, gamma, phi, rate):
    """γ with Baumgarte's terms:  γ + 2 α φ̇ + β² φ  (nonholonomic rows:  γ + 2 α ψ)."""
    given = carray(float_pointer(c[STABILISATION]), 2)
    alpha, beta = given[0], given[1]
    if alpha == 0.0 and beta == 0.0:
        return gamma
    out = np.empty_like(gamma)
    for i in range(gamma.shape[0]):
        out[i] = gamma[i] + 2.0 * alpha * rate[i]
        if i < phi.shape[0]:
            out[i] += beta * beta * phi[i]
    return out
