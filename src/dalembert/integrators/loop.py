"""The time loop of all methods: requests of the caller, outputs, events, retraction, the watch for stiffness, ends."""

from __future__ import annotations

import math

import numpy as np

from dalembert.integrators.ends import (
    EVENT,
    FAILED,
    FINISHED,
    GO_ON,
    ILL_CONDITIONED,
    NO_CONVERGENCE,
    NO_HEADWAY,
    PAUSED,
    REJECTED,
    RESTARTED,
    STEP_TOO_SMALL,
    STIFF,
    STOPPED,
    TOO_MANY_STEPS,
)
from dalembert.integrators.first_event import first_event, landed_crossing, learn_slopes, stays, within
from dalembert.integrators.problem import Memory, Monitor, Problem, Step, Stepper
from dalembert.integrators.switching import (
    ARMED,
    EVENT_NUDGE,
    LEAST_SIZE,
    ROUNDED,
    choose_branches,
    events_at,
    is_open,
    switch,
    write,
)
from dalembert.native import native, rare
from dalembert.numerics.context import CHOOSE

__all__ = ["PAUSE", "STOP", "hermite", "integrate", "land", "wind"]

# Requests in ``Monitor.request``.
STOP, PAUSE = 1, 2

# A problem is stiff if stability, not accuracy, limits the step so many times in a row (Hairer, Wanner, IV.2).
STIFF_STEPS = 15

# Steps are looked at beside the outputs, by this share of their distance: a singular position may lie at an output, and
# a step that passes over it does well.
BESIDE = 0.382

# So often in a row a step is cut that passes over something.
MOST_CUTS = 12

# So many steps, tried or done, must bring a run forward by this share of its length at least.
HEADWAY_STEPS, HEADWAY = 50_000, 1e-5

# After so many rejections in a row formulas are evaluated as they are written: a branch may end where another begins.
PATIENCE = 12
# A step of a lenient method that meets a branch behind which nothing leads on is cut to end there, so often in a row,
# unless that is at its start, or at its end and it knew.
MOST_SHORTENED, SOON, LATE = 4, 1e-3, 0.999


@native
def _remember_sizes(m: Memory):
    """The largest values of y so far."""
    for j in range(len(m.y)):
        m.largest[j] = max(m.largest[j], abs(m.y[j]))


@native
def _begin(p: Problem, m: Memory) -> int:
    """Values of the events at the start.

    An event that just happened is at zero, but for rounding: if its value falls from there, it may happen again soon;
    if it rises, it sleeps until it has been below zero. So do others that are at zero, as far as rounding shows in the
    one that happened, unless what it did moved its value away from zero.
    """
    m.started, m.seen_at, m.switched_at = True, m.t, m.t
    _remember_sizes(m)
    if p.n_events == 0:
        return GO_ON
    g, y, t = m.g, m.y, m.t
    if p.n_branches > 0 and choose_branches(p, m, False) != GO_ON:
        return FAILED
    if events_at(p, m, t, y, g) != 0:
        return FAILED
    happened = m.event - 1
    m.event = 0
    if happened < 0:
        return GO_ON
    rate, later = np.empty_like(y), np.empty_like(g)
    if p.rhs(t, y, rate) != 0:
        return FAILED
    tiny = EVENT_NUDGE * (1.0 + abs(t))
    if events_at(p, m, t + tiny, y + tiny * rate, later) != 0:
        return FAILED
    seen = 0.0
    if abs(g[happened]) <= abs(later[happened] - g[happened]):
        seen = 4.0 * abs(g[happened])
    for i in range(len(g) - p.n_branches):
        if abs(g[i]) > (ROUNDED * p.units[i] if p.n_units > 0 else ROUNDED) + seen:
            continue
        if later[i] < g[i]:
            g[i] = -ARMED
        elif i == happened or later[i] >= 0.0:
            g[i] = 0.0
    return GO_ON


@native
def _request(m: Memory, monitor: Monitor, most: int) -> int:
    """What the caller wants, or what the number of steps forbids."""
    monitor.reached, tried = m.t, m.steps + m.rejected
    if monitor.request == STOP:
        return STOPPED
    if monitor.request == PAUSE or tried == monitor.pause_at > 0:
        return PAUSED
    if tried >= most:
        return TOO_MANY_STEPS
    return GO_ON


@native
def _headway(m: Memory, s: Step, span: float) -> int:
    """Whether time still passes: a force that switches back and forth leaves steps that are hardly any."""
    tried = m.steps + m.rejected
    if s.fixed > 0.0 or tried < m.seen + HEADWAY_STEPS:
        return GO_ON
    stuck = m.t - m.seen_at < HEADWAY * span
    m.seen, m.seen_at = tried, m.t
    return NO_HEADWAY if stuck else GO_ON


@native
def _smallest_step(t: float, end: float) -> float:
    """Below it time does not advance any more."""
    return max(16.0 * 2.3e-16 * abs(t), 1e-26 * abs(end))


@native
def hermite(D: np.ndarray, h: float, y: np.ndarray, f: np.ndarray, y_new: np.ndarray, f_new: np.ndarray):
    """The cubic through both ends of a step, as coefficients of powers of θ."""
    for j in range(len(y)):
        rise = y_new[j] - y[j]
        D[0, j] = y[j]
        D[1, j] = h * f[j]
        D[2, j] = 3.0 * rise - h * (2.0 * f[j] + f_new[j])
        D[3, j] = -2.0 * rise + h * (f[j] + f_new[j])


@native
def _write_within(p: Problem, m: Memory, D: np.ndarray, h: float, limit: float, times: np.ndarray, out: np.ndarray):
    """Outputs before ``limit``, a time within the step; False if one cannot be found."""
    y, scratch = np.empty_like(m.y), np.empty_like(m.y)
    while m.written < len(times) and times[m.written] < limit:
        t = times[m.written]
        within(D, (t - m.t) / h, y)
        if p.retract(t, y, scratch) > 0 or write(p, t, y, out[m.written]) != 0:
            return False
        m.written += 1
    return True


@native
def _end_step(p: Problem, m: Memory, s: Step, times: np.ndarray, out: np.ndarray) -> int:
    """End an accepted step, ``new`` on its manifold: outputs on the way, events, and the new state into the memory.

    Returns GO_ON, EVENT, FAILED, FINISHED, or REJECTED.
    """
    y, D, t, h = m.y, s.D, m.t, s.t_new - m.t
    happened, theta, limit = -1, 1.0, s.t_new
    if p.n_events > 0:
        m.before[:] = m.g
        if p.n_straight == 0 or not stays(p, m, D, h, s.t_new, s.new):
            happened, theta, status = first_event(p, m, D, h, s.new)
            if status != GO_ON:
                return status
        if happened >= 0:
            limit = t + theta * h
        rough = s.lenient and happened >= p.n_events - p.n_rough and m.shortened < MOST_SHORTENED
        if rough and theta > SOON and (theta < LATE or not m.nears):
            m.g[:], m.h = m.before, theta * h
            m.nears, m.bend = True, limit
            m.shortened += 1
            return REJECTED
        if happened >= 0 and happened < p.n_events - p.n_branches and p.nv > 0:
            theta = landed_crossing(p, m, D, h, happened, theta)
            limit = t + theta * h
    m.shortened = 0
    if not _write_within(p, m, D, h, limit, times, out):
        return FAILED
    if happened >= 0:
        within(D, theta, y)
        if p.retract(limit, y, s.scratch) > 0:
            return FAILED
        m.event = happened + 1
    else:
        y[:] = s.new
    _remember_sizes(m)
    m.t = limit
    while m.written < len(times) and times[m.written] <= limit:
        if write(p, limit, y, out[m.written]) != 0:
            return FAILED
        m.written += 1
    m.steps += 1
    if happened >= 0:
        return EVENT
    return FINISHED if m.written == len(times) else GO_ON


@rare
def _fixed_step(m: Memory, times: np.ndarray, step: float) -> tuple[float, float]:
    """The next step of a method with fixed steps: (h, time at its end). Outputs are met by whole numbers of steps."""
    target = times[m.written]
    if m.segment_index >= m.segment_count:
        span = target - m.t
        count = max(1, math.ceil(span / step - 1e-9))
        m.segment_start, m.segment_step = m.t, span / count
        m.segment_count, m.segment_index = count, 0
    m.segment_index += 1
    if m.segment_index >= m.segment_count:
        return m.segment_step, target
    return m.segment_step, m.segment_start + m.segment_index * m.segment_step


@native
def _plan(m: Memory, s: Step, times: np.ndarray) -> int:
    """Length and end of the next step: a fixed one, or the one that the method chose."""
    s.landed, s.limited, end = False, False, times[-1]
    if s.fixed > 0.0:
        s.h, s.t_new = _fixed_step(m, times, s.fixed)
        return GO_ON
    if not m.h >= _smallest_step(m.t, end):
        return STEP_TOO_SMALL
    s.last = m.t + m.h * (1.0 + s.stretch) >= end
    s.h = end - m.t if s.last else m.h
    s.t_new = end if s.last else m.t + m.h
    return GO_ON


@native
def land(s: Step) -> int:
    """Lead the end of a step back onto its manifold."""
    s.landed = True
    s.retracted = s.problem.retract(s.t_new, s.new, s.scratch)
    return FAILED if s.retracted > 0 else GO_ON


@native
def wind(s: Step, t: float, y: np.ndarray) -> int:
    """Entries of q that no δ moves, such as turns of cut joints, follow their rates from (t, y), by the trapezoidal
    rule."""
    p = s.problem
    if p.n_states == 0:
        return GO_ON
    f, f_new = np.empty_like(s.new), np.empty_like(s.new)
    if p.rhs(t, y, f) != 0 or p.rhs(s.t_new, s.new, f_new) != 0:
        return FAILED
    for j in range(p.first_state, p.first_state + p.n_states):
        s.new[j] = y[j] + 0.5 * (s.t_new - t) * (f[j] + f_new[j])
    return GO_ON


@rare
def _cubic(p: Problem, m: Memory, s: Step) -> int:
    """Between the ends of a step whose method does not know better."""
    f, f_new = np.empty_like(s.new), np.empty_like(s.new)
    if p.rhs(m.t, m.y, f) != 0 or p.rhs(s.t_new, s.new, f_new) != 0:
        return FAILED
    m.evaluations += 2
    hermite(s.D, s.t_new - m.t, m.y, f, s.new, f_new)
    return GO_ON


@native
def _defect_at(p: Problem, m: Memory, s: Step, theta: float, y: np.ndarray, f: np.ndarray) -> float:
    """By how many tolerances the solution within a step misses the equations at one place."""
    D, h, most = s.D, s.t_new - m.t, 0.0
    within(D, theta, y)
    m.evaluations += 1
    if p.rhs(m.t + theta * h, y, f) != 0:
        return 0.0  # where the equations cannot be solved, they cannot tell
    # The last entry of a mechanism's state is work, which nothing depends on.
    for j in range(len(y) - 1 if p.nv > 0 else len(y)):
        slope = 0.0
        for i in range(D.shape[0] - 1, 0, -1):
            slope = slope * theta + i * D[i, j]
        size = s.atol + s.rtol * max(m.largest[j], LEAST_SIZE)
        most = max(most, abs(slope - h * f[j]) / size)
    return most


@native
def _overlooks(p: Problem, m: Memory, s: Step, start: float) -> bool:
    """True if a step passes over something that its stages did not see; then a shorter one is to be tried.

    The solution within the step is compared with the equations at evenly spaced times of the whole run.
    """
    h, first = s.t_new - m.t, start + BESIDE * p.spacing
    y, f, count = np.empty_like(m.y), np.empty_like(m.y), math.floor((m.t - first) / p.spacing) + 1
    while first + count * p.spacing < s.t_new:
        theta = (first + count * p.spacing - m.t) / h
        missed = _defect_at(p, m, s, theta, y, f)
        if missed > s.guard and m.cuts < MOST_CUTS:
            m.narrow += 1
            m.cuts += 1
            m.h = max(min(0.5, theta) * s.h, min(p.spacing, 0.5 * s.h))
            return True
        m.defect = max(m.defect, missed)
        count += 1
    m.cuts = 0
    return False


@native
def _close(stepper: Stepper, p: Problem, m: Memory, times: np.ndarray, out: np.ndarray) -> int:
    """Close a good step: interpolate where an output or an event may fall within it, land, go to its end."""
    s = stepper.current
    guarded = s.guard > 0.0 and not p.staged and p.spacing > 0.0 and s.t_new - m.t > p.spacing
    between = guarded or m.n_events > 0 or (m.written < len(times) and times[m.written] < s.t_new)
    if between and stepper.interpolate and stepper.interpolate() != GO_ON:
        return FAILED
    if guarded and _overlooks(p, m, s, times[0]):
        return REJECTED
    m.stiff = m.stiff + 1 if s.limited else max(0, m.stiff - 1)
    if not s.landed and land(s) != GO_ON:
        return FAILED
    if between and not stepper.interpolate and _cubic(p, m, s) != GO_ON:
        return FAILED
    return _end_step(p, m, s, times, out)


@rare
def _keep_branches(stepper: Stepper, p: Problem, m: Memory, times: np.ndarray, status: int) -> int:
    """What branches of formulas make of the end of a step: the next status of the loop."""
    if status == EVENT and m.event > p.n_events - p.n_branches:
        status = switch(p, m, times[-1] - times[0])
        if status == GO_ON and m.written == len(times):
            return FINISHED
        if status == GO_ON and stepper.begin:
            status = stepper.begin()
        m.rejections_in_row = 0
        return status if status != GO_ON else RESTARTED
    if status == GO_ON:
        m.rejections_in_row = 0
        if is_open(p, m) and choose_branches(p, m, True) == GO_ON:
            events_at(p, m, m.t, m.y, m.g)
        return GO_ON
    if status != REJECTED and status != FAILED and status != STEP_TOO_SMALL and status != NO_CONVERGENCE:
        return status
    lost = status != REJECTED
    m.rejections_in_row += 1
    if m.rejections_in_row != PATIENCE and not (lost and m.rejections_in_row < PATIENCE):
        return status
    # The branch may not reach to where it ends: here formulas are taken as they are written.
    m.rejections_in_row = PATIENCE + 1
    for i in range(p.n_events - p.n_branches, p.n_events):
        m.branches[i] = 0.0
    p.choose(m.branches)
    if events_at(p, m, m.t, m.y, m.g) != 0 or (stepper.begin and stepper.begin() != GO_ON):
        return FAILED
    return RESTARTED


@native
def integrate(stepper: Stepper, p: Problem, m: Memory, times: np.ndarray, out: np.ndarray, monitor: Monitor) -> int:
    """Go on from where the memory stands, through all output times; returns how it ended."""
    s, branches = stepper.current, p.n_branches > 0
    if branches and m.started:
        p.choose(m.branches)  # a run that goes on
    if not m.started and (_begin(p, m) != GO_ON or (stepper.begin and stepper.begin() != GO_ON)):
        return FAILED
    if p.n_straight > 0:
        learn_slopes(p, m)
    while True:
        status = _request(m, monitor, s.max_steps)
        if status == GO_ON:
            status = _headway(m, s, times[-1] - times[0])
        if status == GO_ON:
            status = _plan(m, s, times)
        if status == GO_ON:
            status = stepper.step()
        if status == GO_ON:
            status = _close(stepper, p, m, times, out)
        if branches:
            status = _keep_branches(stepper, p, m, times, status)
        if status == RESTARTED:
            if p.n_straight > 0:
                learn_slopes(p, m)
            continue
        if status == REJECTED:
            m.rejected += 1
            continue
        if status == GO_ON and stepper.go_on:
            status = stepper.go_on()
        if status == GO_ON and s.watch and m.stiff >= STIFF_STEPS:
            status = STIFF
        if status == GO_ON and s.retracted == CHOOSE:
            status = ILL_CONDITIONED
        if status != GO_ON:
            return status
