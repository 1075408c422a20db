"""A mechanism as others drive it, as native code: its states for a foreign integrator, and steps of our own.

Model Exchange: an importer integrates ``states``. Without loops and quaternions they are (q, u); otherwise independent
coordinates and velocities, which are chosen anew where the choice wears out (``formulations.shared``).
Co-Simulation: ``live`` goes from one communication point to the next, with projection, error control and events.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.export.native_events import ENDED, HAPPENED, react
from dalembert.export.native_run import ACTED, Live, first_state, go, restart
from dalembert.integrators.ends import FAILED, FINISHED, GO_ON
from dalembert.integrators.problem import Memory, Problem, Stepper
from dalembert.integrators.switching import write
from dalembert.native import Flag, Int, Matrix, Real, Record, Ref, Vector, native
from dalembert.numerics.context import OK, RESTART

__all__ = [
    "BEGIN", "COMPLETE", "EVENTS", "EXPOSE", "INDICATE", "OBSERVE", "OTHER_FREEDOM", "OVER", "RATES", "STEP", "Device",
    "serve",
]  # fmt: skip

# What a device is asked to do.
BEGIN, RATES, INDICATE, OBSERVE, COMPLETE, EVENTS, STEP, EXPOSE = range(8)

# How it may end besides the ways of a run: an event ended the run; the number of independent states is another one.
OVER, OTHER_FREEDOM = 40, 41

POOR, GOOD = -1.0, 1.0  # indicator of the choice of states
MOST_AT_ONCE = 32  # events at one time

# How the next state of an importer is found from the last one: what a prediction may be off, relative to the motion;
# legs at most; by how much corrections become smaller with twice the legs; what is the same place; what is rounding.
ABOUT, MOST_LEGS, SHORTER, SAME, SMALL = 0.05, 64, 0.7, 1e-6, 1e-9


class Device(Record):
    """A mechanism that others drive.

    Attributes:
        n_states, nx, n_y: lengths of the states of an importer, of x = (q, u, W), and of y of ``problem``.
        n_events, n_acting: functions that rise through zero; how many of them are events that act, the first ones.
        n_indicators: of these functions, with that of the choice of states.
        exchange: an importer integrates; direct: its states are (q, u).
        at_windings, at_slots, at_velocities, at_positions: parts of y (see ``IndependentState``).
        time, states, rates, indicators: as the importer knows them.
        target: next communication point.
        changed: parameters or the state are others than the method knows; happened: the event that just happened.
        halfway: the method stands at the end of a step, and has not made ready for the next one.
        again: states mean something else now, or have jumped.
        x, y: the state; anchor, since: the y that the next one is found from, and its time; slope: rates of y, where
            they were last asked for.
        was: indicators at the last completed step.
        seen: all that is observed; turns, speeds, turned_at: of angles that poses tell up to whole turns only, when
            they were last looked at; counting: they were; balls: quaternions that poses tell up to their sign, then.
        problem: of Model Exchange; live: of Co-Simulation, with the start, the events and what is observed.
    """

    n_states, nx, n_y, n_events, n_acting, n_indicators, n_seen, n_angles, n_balls, at_windings = 10 * Int()
    at_slots, at_velocities, at_positions, happened = 4 * Int()
    exchange, direct, changed, halfway, counting, again = 6 * Flag()
    time, target, since, turned_at = 4 * Real()
    states, rates = 2 * Vector("n_states")
    indicators, was = 2 * Vector("n_indicators")
    x = Vector("nx")
    y, slope, anchor = 3 * Vector("n_y")
    seen = Vector("n_seen")
    turns, speeds = 2 * Vector("n_angles")
    balls = Matrix("n_balls", 4)
    live = Ref(Live)
    problem = Ref(Problem)


@native
def _gather(d: Device, y: np.ndarray, s: np.ndarray) -> bool:
    """States of an importer, or their rates, from y or ẏ; False if there is another number of them."""
    n = len(s)
    if d.direct:
        s[:] = y[:n]
        return True
    k, nv = 0, d.at_windings
    for i in range(nv):
        if d.y[d.at_positions + i] != 0.0:
            if k < n:
                s[k] = y[i]
            k += 1
    for i in range(d.at_windings, d.at_slots):
        if k < n:
            s[k] = y[i]
        k += 1
    for i in range(nv):
        if d.y[d.at_velocities + i] != 0.0:
            if k < n:
                s[k] = y[d.at_slots + i]
            k += 1
    return k == n


@native
def _put(d: Device, y: np.ndarray):
    """The states of an importer into their places in y."""
    s, k, nv = d.states, 0, d.at_windings
    for i in range(nv):
        if y[d.at_positions + i] != 0.0:
            y[i] = s[k]
            k += 1
    for i in range(d.at_windings, d.at_slots):
        y[i] = s[k]
        k += 1
    for i in range(nv):
        if y[d.at_velocities + i] != 0.0:
            y[d.at_slots + i] = s[k]
            k += 1


@native
def _predicted(d: Device, end: np.ndarray) -> bool:
    """``end``: y where the last rates lead to, closed there. False if that is not about where the importer is."""
    nv, ahead, y = d.at_windings, d.time - d.since, d.anchor
    end[:] = y
    _put(d, end)
    off, moved = 0.0, 0.0
    for i in range(nv):
        if y[d.at_positions + i] != 0.0:
            off = max(off, abs(end[i] - y[i] - ahead * d.slope[i]))
        else:
            end[i] += ahead * d.slope[i]
    closed, scratch = end.copy(), np.empty(d.n_y)
    if d.problem.retract(d.time, closed, scratch) != OK:
        return False
    for i in range(nv):
        off, moved = max(off, abs(closed[i] - end[i])), max(moved, abs(closed[i] - y[i]))
        end[i] = closed[i]
    return off <= ABOUT * moved


@native
def _walked(d: Device, end: np.ndarray, legs: int):
    """``end``: y at the importer's states, reached in a straight line of these; each leg closes the loops from where
    the last one did. Returns the largest correction of a leg, inf if loops stay open, and whether the choice is good.
    """
    nv, n, y, largest, status = d.at_windings, d.at_velocities, d.anchor, 0.0, OK
    wanted, closed, scratch = y.copy(), np.empty(d.n_y), np.empty(d.n_y)
    _put(d, wanted)
    end[:] = y
    for leg in range(1, legs + 1):
        end[:n] += (wanted[:n] - y[:n]) / legs
        if leg == legs:
            _put(d, end)
        closed[:] = end
        status = d.problem.retract(d.since + leg / legs * (d.time - d.since), closed, scratch)
        if status > OK:
            return math.inf, False
        if status == OK:  # else a new choice would be better, in whose terms ``closed`` is
            for i in range(nv):
                largest = max(largest, abs(closed[i] - end[i]))
                end[i] = closed[i]
    return largest, status == OK


@native
def _scatter(d: Device) -> bool:
    """y from the states of an importer; False if loops stay open there.

    Trial states may lie far from each other, and the equations of loops have several solutions. So the way is walked
    in more and more legs, until these lead to the same place and corrections become smaller with them: a leap to
    another solution would stay as large as it is.
    """
    if d.direct:
        d.y[: d.n_states] = d.states
        return True
    nv, end, before, last = d.at_windings, d.y, np.zeros(d.n_y), math.inf
    found, legs, good = _predicted(d, end), 1, True
    while not found and legs <= MOST_LEGS:
        correction, good = _walked(d, end, legs)
        apart, moved = np.abs(end[:nv] - before[:nv]).max(), np.abs(end[:nv] - d.anchor[:nv]).max()
        found = correction <= SMALL or (correction < SHORTER * last and apart <= SMALL + SAME * moved)
        if legs == MOST_LEGS and correction < math.inf:
            found = True
        before[:], last = end, correction
        legs *= 2
    if found and good:
        d.anchor[:], d.since = end, d.time
    return found


@native
def _begin_from_here(d: Device):
    """The next state is found from this one."""
    d.slope[:] = 0.0
    d.anchor[:], d.since = d.y, d.time


@native
def _take(d: Device) -> int:
    """y and the states of an importer from x."""
    p = d.problem
    if p.encode:
        d.y[:] = 0.0
        if p.encode(d.time, d.x, d.y) > OK:
            return FAILED
    else:
        d.y[:] = d.x
    _begin_from_here(d)
    d.again = True
    return FINISHED if _gather(d, d.y, d.states) else OTHER_FREEDOM


@native
def _begin(d: Device) -> int:
    a = d.live
    a.start.time = d.time
    status = first_state(a, d.x)
    if status != FINISHED:
        return status
    d.happened, d.changed, d.halfway, d.counting = 0, False, False, False
    status = _take(d) if d.exchange else restart(a, d.time, d.x, 1, 0)
    if status == FINISHED and d.exchange:
        status = _indicate(d)
        d.was[:] = d.indicators
        d.again = False
    return _observe(d, True) if status == FINISHED else status


@native
def _rates(d: Device) -> int:
    dy = np.zeros(d.n_y)
    if not _scatter(d) or d.problem.rhs(d.time, d.y, dy) != OK:
        return FAILED
    d.slope[:] = dy
    _gather(d, dy, d.rates)
    return FINISHED


@native
def _indicate(d: Device) -> int:
    """Functions of events; whether the choice of states is good."""
    p, n = d.problem, d.n_events
    if not _scatter(d) or (n > 0 and p.events(d.time, d.y, d.indicators[:n]) != OK):
        return FAILED
    if not d.direct:
        y, scratch = d.y.copy(), np.empty(d.n_y)
        status = p.retract(d.time, y, scratch)
        if status > OK:
            return FAILED
        d.indicators[n] = POOR if status == RESTART else GOOD
    return FINISHED


@native
def _observe(d: Device, keep: bool) -> int:
    """All that is observed; ``keep``: whole turns are counted from here on."""
    a, w = d.live, d.live.watch
    if d.exchange:
        d.x[:] = math.nan
        if not _scatter(d) or write(d.problem, d.time, d.y, d.x) != OK:
            return FAILED
    d.seen[:] = w.observer(d.time, d.x[: d.nx - 1], a.context.parameters)
    turn, passed = 2.0 * math.pi, d.time - d.turned_at
    for k in range(d.n_angles):
        angle, speed = d.seen[w.angle[k]], d.seen[w.angle_rate[k]]
        if d.counting:
            expected = d.turns[k] + 0.5 * passed * (d.speeds[k] + speed)
            angle += turn * math.floor((expected - angle) / turn + 0.5)
            d.seen[w.angle[k]] = angle
        if keep:
            d.turns[k], d.speeds[k] = angle, speed
    for k in range(d.n_balls):
        q = d.seen[w.ball[k] : w.ball[k] + 4]
        agreement = 0.0
        for j in range(4):
            agreement += q[j] * d.balls[k, j]
        if d.counting and agreement < 0.0:
            q *= -1.0
        if keep:
            d.balls[k] = q
    if keep:
        d.turned_at, d.counting = d.time, True
    return FINISHED


@native
def _complete(d: Device) -> int:
    """A step of the importer is done. ``again``: event mode is wanted."""
    d.again = False
    if not d.direct:
        if _rates(d) != FINISHED:
            return FAILED
        y, scratch = d.y.copy(), np.empty(d.n_y)
        status = d.problem.retract(d.time, y, scratch)
        if status > OK:
            return FAILED
        d.again = status == RESTART
    if _indicate(d) != FINISHED:
        return FAILED
    for i in range(d.n_events):
        if d.was[i] < 0.0 and d.indicators[i] >= 0.0:
            d.again = True
        else:
            d.was[i] = d.indicators[i]
    return _observe(d, True)


@native
def _jump(d: Device, which: int) -> int:
    """Let an event act."""
    a = d.live
    reaction = react(a.events, which, d.time, d.x)
    a.reaction = reaction
    if reaction == ENDED:
        return OVER
    return _take(d) if reaction == HAPPENED else ACTED


@native
def _settle(d: Device) -> int:
    """Event mode: events that have risen through zero act, ill-conditioned states are chosen anew."""
    d.again, jumped, scratch = False, False, np.empty(d.n_y)
    for _ in range(MOST_AT_ONCE):
        if _indicate(d) != FINISHED:
            return FAILED
        which = -1
        for i in range(d.n_acting):
            if which < 0 and d.was[i] < 0.0 and d.indicators[i] >= 0.0:
                which = i
        for i in range(d.n_events):
            if which < 0 or i == which:
                d.was[i] = d.indicators[i]
        if which < 0:
            break
        if _observe(d, True) != FINISHED:
            return FAILED
        status = _jump(d, which)
        if status != FINISHED:
            return status
        jumped = True
        if _indicate(d) != FINISHED:
            return FAILED
        d.was[which] = d.indicators[which]
    if not d.direct:
        status = d.problem.retract(d.time, d.y, scratch)
        if status > OK:
            return FAILED
        if status == RESTART:
            _begin_from_here(d)
            jumped = True
            if not _gather(d, d.y, d.states):
                return OTHER_FREEDOM
    d.again = jumped
    return _observe(d, True)


@native
def _led_back(p: Problem, m: Memory) -> int:
    """Onto the constraints as they are with the parameters of now."""
    return p.retract(m.t, m.y, np.empty(len(m.y)))


@native
def _go_on(s: Stepper, p: Problem, m: Memory) -> int:
    """What the next step of a method needs, on the branches of formulas that it has chosen."""
    if p.n_branches > 0:
        p.choose(m.branches)
    return s.go_on() if s.go_on else GO_ON


@native
def _count_anew(m: Memory):
    """One output is known; the limit of steps holds from one communication point to the next."""
    m.written, m.steps, m.rejected, m.seen, m.seen_at = 1, 0, 0, 0, m.t
    m.segment_count, m.segment_index = 0, 0


@native
def _step(d: Device) -> int:
    """To the next communication point."""
    a = d.live
    if d.changed:
        if restart(a, d.time, d.x, 1, d.happened) != FINISHED:
            return FAILED
        if a.slow and _led_back(a.slow_problem, a.slow_memory) > OK:
            return FAILED
        if not a.slow and _led_back(a.problem, a.memory) > OK:
            return FAILED
    elif d.halfway:
        problem, memory = a.slow_problem if a.slow else a.problem, a.slow_memory if a.slow else a.memory
        if _go_on(a.slow_stepper if a.slow else a.stepper, problem, memory) != GO_ON:
            return FAILED
    d.changed, d.happened, d.halfway = False, 0, False
    a.times[0], a.times[1] = d.time, d.target
    _count_anew(a.memory)
    if a.stiff:
        _count_anew(a.slow_memory)
    status = go(a, d.x, False)
    event = a.slow_memory.event if a.slow else a.memory.event
    d.time = a.slow_memory.t if a.slow else a.memory.t
    if status == ACTED and a.reaction == ENDED:
        return OVER
    if status != FINISHED:
        return status
    if event > 0:  # at the communication point itself: x has jumped, the method does not know yet
        d.happened, d.changed = event, True
    d.halfway = True
    return _observe(d, True)


@native
def serve(d: Device, what: int) -> int:
    """Do what is asked; FINISHED if it was done."""
    if what == BEGIN:
        return _begin(d)
    if what == RATES:
        return _rates(d)
    if what == INDICATE:
        return _indicate(d)
    if what == OBSERVE:
        return _observe(d, False)
    if what == COMPLETE:
        return _complete(d)
    if what == EVENTS:
        return _settle(d)
    if what == STEP:
        return _step(d)
    # The states of an importer where nobody integrates them.
    status = _take(d)
    return _rates(d) if status == FINISHED else status
