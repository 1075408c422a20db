"""What all time loops share: their memory, and what happens between two steps (outputs and events).

A loop reads one table of numbers: addresses of native functions

    int64 f(int64 context, double t, const double* y, double* out)        0 if it succeeded, positive if not

and sizes. It keeps all it must remember in one array: a header, the state y, the events g, then its own.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dalembert.numerics.native import call_address, put

__all__ = [
    "HEADER",
    "TABLE",
    "begin",
    "close_fixed",
    "end_step",
    "fixed_step",
    "hermite",
    "problem_events",
    "smallest_step",
    "state",
    "write",
]

# The table.
#   size          length of y
#   rhs           ẏ = f(t, y)
#   retract       y back onto its manifold, in place; out is scratch space as long as y. Negative if it succeeded and y
#                 means something else from now on: what was remembered of former steps is worthless
#   decode        from y: (q, u, W), which is what outputs show; 0 if y is that itself
#   events        g(t, y), n_events values; an event happens where one of them rises through zero
#   jacobian      ∂f/∂y, row by row
#   nq, nv, rows  y = (q, u, rest): lengths of q on its manifold, of u in its tangent space, of multipliers λ
#   exponential   from (q, δ): q ∘ exp(δ), D(δ) and its inverse, with u = D δ̇
#   residual      from (q, u, u̇, λ): r = M u̇ − f − Aᵀλ, the constraints φ(q) or A u + b; then their derivatives along
#                 the tangent of q, by u and by u̇, and A, each row by row
#   multipliers   from y: u̇ and λ
#   discrete      from (q, δ, h): momenta before and after the step of a discrete Lagrangian, work done, and the
#                 derivative of the momentum before
#   project       from y: constraints φ, A, M at (t, q)
#   dae           B ż = F(t, z), z = (y, algebraic variables), B = diag(1 … 1, 0 … 0)
#   dae_jacobian  ∂F/∂z, row by row
#   dae_size      length of z
#   dae_start     algebraic variables that fit y, in place
#   dae_index     of all algebraic variables: 1 or 2
#   staged        1 if rhs looks at the state on the manifold only: then errors across it do not matter
TABLE = (
    "context", "size", "rhs", "retract", "events", "n_events", "jacobian", "nq", "nv", "rows", "exponential",
    "residual", "multipliers", "discrete", "project", "dae", "dae_jacobian", "dae_size", "dae_start",
    "dae_index", "staged", "decode",
)  # fmt: skip
(
    CONTEXT, SIZE, RHS, RETRACT, EVENTS, N_EVENTS, JACOBIAN, NQ, NV, ROWS, EXPONENTIAL,
    RESIDUAL, MULTIPLIERS, DISCRETE, PROJECT, DAE, DAE_JACOBIAN, DAE_SIZE, DAE_START,
    DAE_INDEX, STAGED, DECODE,
) = range(22)  # fmt: skip

# The header of a memory. SEGMENT_*: fixed-step methods divide the way to the next output into equal steps.
(
    T, H, WRITTEN, STEPS, REJECTED, EVALUATIONS, STARTED, EVENT_INDEX,
    SEGMENT_START, SEGMENT_STEP, SEGMENT_COUNT, SEGMENT_INDEX,
) = range(12)  # fmt: skip
HEADER = 12

# How a loop can end.
FINISHED, STEP_TOO_SMALL, FAILED, TOO_MANY_STEPS, STOPPED, PAUSED, EVENT, STIFF, NO_CONVERGENCE = range(9)
GO_ON = -1

# Wishes in monitor[1].
STOP, PAUSE = 1.0, 2.0

# A step is searched for events at so many places, so that two crossings within one long step are not missed.
EVENT_SAMPLES = 8

# How far ahead (s) the start of a run looks which way an event moves that just happened, and a value just below zero.
EVENT_NUDGE = 1e-8
ARMED = 1e-300


@njit(cache=True, nogil=True)
def state(table, memory):
    """The state, a view into the memory."""
    return memory[HEADER : HEADER + table[SIZE]]


@njit(cache=True, nogil=True)
def problem_events(table, memory):
    """The values of all events at the present time, a view into the memory."""
    return memory[HEADER + table[SIZE] : HEADER + table[SIZE] + table[N_EVENTS]]


@njit(cache=True, nogil=True)
def own(table, memory):
    """What the method itself remembers, a view into the memory."""
    return memory[HEADER + table[SIZE] + table[N_EVENTS] :]


@njit(cache=True, nogil=True)
def begin(table, memory):
    """Values of the events at the start.

    An event that just happened is at zero, but for rounding: if its value falls from there, it may happen again soon;
    if it rises, it sleeps until it has been below zero.
    """
    memory[STARTED] = 1.0
    if table[N_EVENTS] == 0:
        return GO_ON
    g, y, t, context = problem_events(table, memory), state(table, memory), memory[T], table[CONTEXT]
    if call_address(table[EVENTS], context, t, y, g) != 0:
        return FAILED
    happened = int(memory[EVENT_INDEX]) - 1
    memory[EVENT_INDEX] = 0.0
    if happened < 0:
        return GO_ON
    rate, later, moved = np.empty(y.shape[0]), np.empty(g.shape[0]), np.empty(y.shape[0])
    if call_address(table[RHS], context, t, y, rate) != 0:
        return FAILED
    tiny = EVENT_NUDGE * (1.0 + abs(t))
    for j in range(y.shape[0]):
        moved[j] = y[j] + tiny * rate[j]
    if call_address(table[EVENTS], context, t + tiny, moved, later) != 0:
        return FAILED
    reach = 4.0 * abs(g[happened]) + 1e-14
    for i in range(g.shape[0]):
        if abs(g[i]) <= reach:
            g[i] = -ARMED if later[i] < g[i] else 0.0
    return GO_ON


@njit(cache=True, nogil=True)
def wish(memory, monitor, most):
    """What the caller wants, or what the number of steps forbids."""
    monitor[0] = memory[T]
    if monitor[1] == STOP:
        return STOPPED
    if monitor[1] == PAUSE:
        return PAUSED
    if memory[STEPS] + memory[REJECTED] >= most:
        return TOO_MANY_STEPS
    return GO_ON


@njit(cache=True, nogil=True)
def smallest_step(t, end):
    """Below it time does not advance any more."""
    return max(16.0 * 2.3e-16 * abs(t), 1e-26 * abs(end))


@njit(cache=True, nogil=True)
def wants_between(table, memory, times, t_new):
    """True if an output or an event may fall strictly within the step."""
    written = int(memory[WRITTEN])
    return table[N_EVENTS] > 0 or (written < times.shape[0] and times[written] < t_new)


@njit(cache=True, nogil=True)
def _at(D, theta, y):
    """y(θ) = Σ D[p] θᵖ."""
    for j in range(y.shape[0]):
        s = 0.0
        for p in range(D.shape[0] - 1, -1, -1):
            s = s * theta + D[p, j]
        y[j] = s


@njit(cache=True, nogil=True)
def hermite(D, h, y, f, y_new, f_new):
    """The cubic through both ends of a step, as coefficients of powers of θ."""
    for j in range(y.shape[0]):
        rise = y_new[j] - y[j]
        D[0, j] = y[j]
        D[1, j] = h * f[j]
        D[2, j] = 3.0 * rise - h * (2.0 * f[j] + f_new[j])
        D[3, j] = -2.0 * rise + h * (f[j] + f_new[j])


@njit(cache=True, nogil=True)
def _first_event(table, memory, D, t, h, y_new, y, g, g_before):
    """Index and place θ of the first event within the step, −1 if there is none; g becomes that at its end."""
    n, context = table[N_EVENTS], table[CONTEXT]
    put(g_before, 0, problem_events(table, memory), 0, n)
    before = 0.0
    for sample in range(1, EVENT_SAMPLES + 1):
        theta = sample / EVENT_SAMPLES
        if sample == EVENT_SAMPLES:
            put(y, 0, y_new, 0, y.shape[0])
        else:
            _at(D, theta, y)
        if call_address(table[EVENTS], context, t + theta * h, y, g) != 0:
            return -1, 1.0, FAILED
        first, place = -1, 2.0
        for i in range(n):
            if g_before[i] < 0.0 and g[i] >= 0.0:
                low, high = before, theta
                probe = np.empty(n)
                for _ in range(60):
                    middle = 0.5 * (low + high)
                    if middle <= low or middle >= high:
                        break
                    _at(D, middle, y)
                    if call_address(table[EVENTS], context, t + middle * h, y, probe) != 0:
                        return -1, 1.0, FAILED
                    if probe[i] >= 0.0:
                        high = middle
                    else:
                        low = middle
                if high < place:
                    first, place = i, high
        if first >= 0:
            return first, place, GO_ON
        put(g_before, 0, g, 0, n)
        before = theta
    return -1, 1.0, GO_ON


@njit(cache=True, nogil=True)
def write(table, t, y, row):
    """A state on its manifold becomes an output; returns the status of the function that decodes it."""
    if table[DECODE] != 0:
        return call_address(table[DECODE], table[CONTEXT], t, y, row)
    put(row, 0, y, 0, y.shape[0])
    return 0


@njit(cache=True, nogil=True)
def end_step(table, memory, D, t_new, y_new, times, out):
    """Close an accepted step from (T, y) to (t_new, y_new), y_new on its manifold.

    Writes the outputs on the way and looks for events. ``D`` are the coefficients of the solution within the step in
    powers of θ; needed only if ``wants_between`` says so. Returns GO_ON, EVENT, FAILED, or FINISHED.
    """
    context, retract = table[CONTEXT], table[RETRACT]
    y, t = state(table, memory), memory[T]
    h, n = t_new - t, y.shape[0]
    scratch, between = np.empty(n), np.empty(n)
    happened, limit = -1, t_new
    if table[N_EVENTS] > 0:
        g, g_before, probe = np.empty(table[N_EVENTS]), np.empty(table[N_EVENTS]), np.empty(n)
        happened, theta, status = _first_event(table, memory, D, t, h, y_new, probe, g, g_before)
        if status != GO_ON:
            return status
        put(problem_events(table, memory), 0, g, 0, table[N_EVENTS])
        if happened >= 0:
            limit = t + theta * h
    written = int(memory[WRITTEN])
    while written < times.shape[0] and times[written] < limit:
        _at(D, (times[written] - t) / h, between)
        if (
            call_address(retract, context, times[written], between, scratch) > 0
            or write(table, times[written], between, out[written]) != 0
        ):
            memory[WRITTEN] = written
            return FAILED
        written += 1
    if happened >= 0:
        _at(D, theta, scratch)
        put(y, 0, scratch, 0, n)
        if call_address(retract, context, limit, y, scratch) > 0:
            memory[WRITTEN] = written
            return FAILED
        memory[T], memory[EVENT_INDEX] = limit, happened + 1
    else:
        memory[T] = t_new
        put(y, 0, y_new, 0, n)
    while written < times.shape[0] and times[written] <= limit:
        if write(table, limit, y, out[written]) != 0:
            memory[WRITTEN] = written
            return FAILED
        written += 1
    memory[WRITTEN] = written
    memory[STEPS] += 1
    if happened >= 0:
        return EVENT
    return FINISHED if written == times.shape[0] else GO_ON


@njit(cache=True, nogil=True)
def fixed_step(memory, times, step):
    """The next step of a method with fixed steps: (h, time at its end). Outputs are met by whole numbers of steps."""
    if memory[SEGMENT_INDEX] >= memory[SEGMENT_COUNT]:
        target = times[int(memory[WRITTEN])]
        span = target - memory[T]
        count = max(1, math.ceil(span / step - 1e-9))
        memory[SEGMENT_START], memory[SEGMENT_STEP] = memory[T], span / count
        memory[SEGMENT_COUNT], memory[SEGMENT_INDEX] = count, 0.0
    index = memory[SEGMENT_INDEX] + 1.0
    memory[SEGMENT_INDEX] = index
    if index >= memory[SEGMENT_COUNT]:
        t_new = times[int(memory[WRITTEN])]
    else:
        t_new = memory[SEGMENT_START] + index * memory[SEGMENT_STEP]
    return memory[SEGMENT_STEP], t_new


@njit(cache=True, nogil=True)
def close_fixed(table, memory, t_new, new, times, out):
    """Close a step of a method with fixed steps, new on its manifold; between its ends the solution is a cubic."""
    n = new.shape[0]
    D = np.empty((4, n))
    if wants_between(table, memory, times, t_new):
        f, f_new, y = np.empty(n), np.empty(n), state(table, memory)
        if (
            call_address(table[RHS], table[CONTEXT], memory[T], y, f) != 0
            or call_address(table[RHS], table[CONTEXT], t_new, new, f_new) != 0
        ):
            return FAILED
        memory[EVALUATIONS] += 2
        hermite(D, t_new - memory[T], y, f, new, f_new)
    return end_step(table, memory, D, t_new, new, times, out)
