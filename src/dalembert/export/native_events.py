"""What events do, as native code: parameters that change, constraints that are switched, velocities that jump.

The same as ``analyses.contacts.impact`` and the driver of runs do, for programs that run without Python.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import Int, Integers, Kernel, Real, Record, Ref, Vector, native
from dalembert.numerics.context import OK, Closure, Context
from dalembert.numerics.linear import solve_constrained

__all__ = ["CONFLICTING", "ENDED", "ENDLESS", "HAPPENED", "MASSLESS", "NOT_CLOSED", "Events", "react"]

# How a reaction ends: the run goes on, the event ends it, or it cannot act.
HAPPENED, ENDED, ENDLESS, NOT_CLOSED, MASSLESS, CONFLICTING = range(6)


class Events(Record):
    """Events and what they do.

    Attributes:
        n_values, n_targets, n_switches: formulas of all events, velocities that they set, constraints that they switch.
        owner: event of each of the functions that pass zero.
        ends: 1 for events that end the run.
        first_value, first_target, first_switch: where those of each event begin; one more at the end.
        target_parameter: parameter that each formula sets, −1 for velocities.
        switch, switch_to: parameter of each switch, and its value.
        formulas: kernel of (t, q, u, p): parameters and velocities, then rows (J, b) of the velocities J u + b.
        at_rates, at_rows: where velocities and rows begin.
        tolerance: how far positions may be open where a constraint is switched on.
        quick, quick_time, most: so many of one event, among the ``n_last`` latest ones, within so short a time, or so
            many in all, have no end.
        last, last_time: the latest events and their times; ``count``: of all so far.
    """

    n_events, n_owners, n_values, n_targets, n_switches, n_kept, n_last = 7 * Int()
    at_rates, at_rows, quick, most, count = 5 * Int()
    tolerance, quick_time = 2 * Real()
    owner = Integers("n_owners")
    ends = Integers("n_events")
    first_value, first_target, first_switch = 3 * Integers("n_events + 1")
    parameter = Integers("n_values")
    switch = Integers("n_switches")
    switch_to = Vector("n_switches")
    last = Integers("n_last")
    last_time = Vector("n_last")
    happened = Integers("n_kept")
    happened_at = Vector("n_kept")
    context = Ref(Context)
    formulas, energies = 2 * Kernel()


@native
def _energy(e: Events, t: float, x: np.ndarray) -> float:
    c = e.context
    seen = e.energies(t, x[: c.nq + c.nv], c.parameters)
    return seen[0] + seen[1]


@native
def _endless(e: Events, t: float, which: int) -> bool:
    """Keep the latest events; True if this one happens faster and faster."""
    if e.count < e.n_kept:
        e.happened[e.count], e.happened_at[e.count] = which, t
    e.count += 1
    n, same, quick = e.n_last, 0, False
    for k in range(n - 1):
        e.last[k], e.last_time[k] = e.last[k + 1], e.last_time[k + 1]
    e.last[n - 1], e.last_time[n - 1] = which, t
    for k in range(n - 1, max(0, n - e.count) - 1, -1):
        # Others may happen in between.
        if e.last[k] == which:
            same += 1
            quick = quick or (same == e.quick and t - e.last_time[k] < e.quick_time)
    return quick or e.count >= e.most


@native
def _impact(e: Events, t: float, x: np.ndarray, rates: np.ndarray, rows: np.ndarray) -> int:
    """New velocities, so that all constraints hold and joints have the rates that were asked for."""
    c, n = e.context, rates.shape[0]
    f = Closure.of(c, c.constraints(t, x[: c.nq + c.nv], c.parameters))
    for phi in f.phi:
        if abs(phi) > e.tolerance:
            return NOT_CLOSED
    A, rate, u = np.empty((c.rows + n, c.nv)), np.empty(c.rows + n), x[c.nq : c.nq + c.nv]
    A[: c.rows] = f.A
    rate[: c.rows] = f.rate
    for i in range(n):
        A[c.rows + i] = rows[i, : c.nv]
        rate[c.rows + i] = (rows[i, : c.nv] * u).sum() + rows[i, c.nv] - rates[i]
    du, largest = np.zeros(c.nv), 0.0
    status, _, _, conflict = solve_constrained(f.M, np.zeros(c.nv), A, rate, du, np.zeros(c.rows + n))
    if status != OK:
        return MASSLESS
    for r in rate:
        largest = max(largest, abs(r))
    if conflict > 1e-6 * (1.0 + largest):
        return CONFLICTING
    u += du
    return HAPPENED


@native
def react(e: Events, number: int, t: float, x: np.ndarray) -> int:
    """Let an event act on the state x = (q, u, W) and on the parameters, in place."""
    which, c = e.owner[number], e.context
    endless = _endless(e, t, which)
    if e.ends[which] != 0:
        return ENDED
    if endless:
        return ENDLESS
    before = _energy(e, t, x)
    seen = e.formulas(t, x[: c.nq + c.nv], c.parameters).copy()
    for k in range(e.first_value[which], e.first_value[which + 1]):
        c.parameters[e.parameter[k]] = seen[k]
    for k in range(e.first_switch[which], e.first_switch[which + 1]):
        c.parameters[e.switch[k]] = e.switch_to[k]
    first, last = e.first_target[which], e.first_target[which + 1]
    changes = last > first or e.first_value[which + 1] > e.first_value[which]
    if changes or e.first_switch[which + 1] > e.first_switch[which]:
        # Velocities are J u + b at the parameters that hold from now on.
        rows = e.formulas(t, x[: c.nq + c.nv], c.parameters)[e.at_rows :].copy().reshape(e.n_targets, c.nv + 1)
        status = _impact(e, t, x, seen[e.at_rates + first : e.at_rates + last], rows[first:last])
        if status != HAPPENED:
            return status
    x[c.nq + c.nv] += _energy(e, t, x) - before
    return HAPPENED if math.isfinite(x[c.nq + c.nv]) else MASSLESS
