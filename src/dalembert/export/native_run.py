"""A whole run as one native function: assembly, time loop, events, measurements. No Python in between."""

from __future__ import annotations

import math

import numpy as np

from dalembert.export.native_events import HAPPENED, Events, react
from dalembert.export.native_start import READY, Start, assemble_natively
from dalembert.export.native_watch import Watch, finish, watch_outputs
from dalembert.integrators.ends import EVENT, FAILED, FINISHED, STIFF
from dalembert.integrators.loop import integrate
from dalembert.integrators.problem import Memory, Monitor, Problem, Stepper
from dalembert.integrators.switching import find_at_once, write
from dalembert.native import Flag, Function, Int, Kernel, Matrix, Real, Record, Ref, Vector, native
from dalembert.numerics.context import OK, Context

__all__ = [
    "ACTED", "NOT_A_NUMBER", "NO_START", "Live", "evaluate_rates", "first_state", "go", "react_to_all", "restart",
    "run_live",
]  # fmt: skip

# How a run ends besides the ways of a time loop: it could not begin; an event ended it or could not act.
NO_START, ACTED = 20, 30
NOT_A_NUMBER = 9  # why a run could not begin, besides what assembly says


class Live(Record):
    """A run that can be made again and again.

    Attributes:
        n_times: outputs; nx: length of (q, u, W).
        start, watch, events: what the parts of the run work on.
        react: ``react_to_all`` of this run; None in models without events, whose code then has none of it.
        context, problem, memory, stepper: equations and method, as ``analyses.simulation.drive`` makes them.
        stiff: what takes over where the problem turns out stiff is there: ``slow_…``.
        converted: kernel of (t, q, u, p): the start in other coordinates, if ``converts``, and the angles and
            quaternions that poses do not tell there.
        times, states: outputs; there is room for one more, where the run ended.
        status, reaction: how it ended; why it could not begin, or why an event ended it.
        written, steps, rejected, evaluations, narrow: counts.
        geometry: kernel of the parameters: the numbers of what is drawn, ``drawn``.
        changed: the time when the method changed; NaN if it did not.
        end: the time reached.
    """

    n_times, nx, nq, nv, n_drawn, status, reaction, written, steps, rejected, evaluations, narrow = 12 * Int()
    stiff, converts, slow = 3 * Flag()
    end, changed = 2 * Real()
    times = Vector("n_times")
    states = Matrix("n_times + 1", "nx")
    q = Vector("nq")
    u = Vector("nv")
    start = Ref(Start)
    watch = Ref(Watch)
    events = Ref(Events)
    context, slow_context = 2 * Ref(Context)
    problem, slow_problem = 2 * Ref(Problem)
    memory, slow_memory = 2 * Ref(Memory)
    stepper, slow_stepper = 2 * Ref(Stepper)
    monitor = Ref(Monitor)
    converted, geometry = 2 * Kernel()
    react = Function(float, Vector)
    drawn = Vector("n_drawn")


@native
def first_state(a: Live, x: np.ndarray) -> int:
    """The start, assembled."""
    a.reaction = assemble_natively(a.start, a.q, a.u)
    if a.reaction != READY:
        return NO_START
    nx = a.nx - 1
    if a.converts:
        made, w = a.converted(a.start.time, a.q, a.u, a.start.parameters), a.watch
        x[:nx] = made[:nx]
        w.first_angle[:] = made[nx : nx + w.n_angles]
        for k in range(w.n_balls):
            at = nx + w.n_angles + 4 * k
            w.first_ball[k] = made[at : at + 4]
    else:
        x[: len(a.q)] = a.q
        x[len(a.q) : nx] = a.u
    x[nx] = 0.0
    for v in x:
        if not np.isfinite(v):
            a.reaction = NOT_A_NUMBER
            return NO_START
    return FINISHED


@native
def _begin(p: Problem, m: Memory, t: float, x: np.ndarray, written: int, happened: int) -> int:
    """A new start of a method at (t, x)."""
    m.t, m.h, m.written, m.event, m.started = t, 0.0, written, happened, False
    m.stiff, m.cuts, m.segment_count, m.segment_index = 0, 0, 0, 0
    m.seen, m.seen_at = m.steps + m.rejected, t
    m.largest[:] = 0.0
    m.g[:] = 0.0
    if p.encode:
        m.y[:] = 0.0
        return FAILED if p.encode(t, x, m.y) > OK else FINISHED
    m.y[:] = x
    return FINISHED


@native
def _advance(a: Live) -> int:
    if a.slow:
        return integrate(a.slow_stepper, a.slow_problem, a.slow_memory, a.times, a.states, a.monitor)
    return integrate(a.stepper, a.problem, a.memory, a.times, a.states, a.monitor)


@native
def _state(a: Live, x: np.ndarray) -> tuple[float, int, int]:
    """Where the method stands: x; the time, outputs written, the event that just happened."""
    x[:] = math.nan
    if a.slow:
        write(a.slow_problem, a.slow_memory.t, a.slow_memory.y, x)
        return a.slow_memory.t, a.slow_memory.written, a.slow_memory.event
    write(a.problem, a.memory.t, a.memory.y, x)
    return a.memory.t, a.memory.written, a.memory.event


@native
def restart(a: Live, t: float, x: np.ndarray, written: int, happened: int) -> int:
    if a.slow:
        return _begin(a.slow_problem, a.slow_memory, t, x, written, happened)
    return _begin(a.problem, a.memory, t, x, written, happened)


@native
def _as_written(c: Context):
    """Formulas by the signs of their functions again: former outputs, and states after an event, lie on other branches
    than the one that the time loop has chosen."""
    c.parameters[c.n_parameters - c.n_branches :] = 0.0


@native
def react_to_all(a: Live, t: float, x: np.ndarray) -> int:
    """Let all events act that happen at the same time, in the order of the model; what ends the run is last."""
    p, m, e, found = a.problem, a.memory, a.events, np.empty(a.problem.n_events)
    if a.slow:
        find_at_once(a.slow_problem, a.slow_memory, found)
    else:
        find_at_once(p, m, found)
    for ending in range(2):
        for i in range(e.n_owners):
            if found[i] > 0.0 and (e.ends[e.owner[i]] != 0) == (ending == 1):
                reaction = react(e, i, t, x)
                if reaction != HAPPENED:
                    return reaction
    return HAPPENED


@native
def go(a: Live, x: np.ndarray, watching: bool) -> int:
    """Through all outputs, events and changes of method; ``watching``: outputs are recorded and measured."""
    watched = 0
    while True:
        status = _advance(a)
        t, written, event = _state(a, x)
        _as_written(a.context)
        if watching:
            watch_outputs(a.watch, watched, written)
        watched = written
        if status == STIFF:
            a.changed = t
            if a.stiff:
                a.slow = True
                status = restart(a, t, x, written, 0)
            else:
                # The explicit method goes on: slower, and as good.
                a.stepper.current.watch = False
                status = FINISHED
            if status != FINISHED:
                return status
        elif status == EVENT:
            reaction = a.react(t, x)
            if reaction != HAPPENED:
                a.reaction = reaction
                return ACTED
            if written == a.n_times:
                return FINISHED
            if restart(a, t, x, written, event) != FINISHED:
                return FAILED
        else:
            return status


@native
def run_live(a: Live) -> int:
    """The run with the parameters and the start as they are now; returns how it ended."""
    x, w = np.empty(a.nx), a.watch
    if a.geometry:
        a.drawn[:] = a.geometry(a.start.parameters)
    a.status = first_state(a, x)
    if a.status != FINISHED:
        return a.status
    a.states[0] = x
    if restart(a, a.times[0], x, 1, 0) != FINISHED:
        a.status = FAILED
        return FAILED
    a.status = go(a, x, True)
    t, written, _ = _state(a, x)
    a.end, a.written = t, written
    if t > a.times[written - 1] and np.isfinite(x.sum()):
        a.states[written] = x
        w.time[written] = t
        watch_outputs(w, written, written + 1)
        a.written += 1
    m, s = a.memory, a.slow_memory
    a.steps, a.rejected, a.evaluations, a.narrow = m.steps, m.rejected, m.evaluations, m.narrow
    if a.stiff:
        a.steps += s.steps
        a.rejected += s.rejected
        a.evaluations += s.evaluations
        a.narrow += s.narrow
    finish(w, a.context, a.written)
    return a.status


@native
def evaluate_rates(a: Live, t: float, x: np.ndarray, rate: np.ndarray) -> int:
    """The right-hand side by itself."""
    return a.context.rhs(t, x, rate)
