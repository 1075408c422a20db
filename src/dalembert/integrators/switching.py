"""Branches of formulas in the time loop: which are taken, where they end, and what jumps there."""

from __future__ import annotations

import numpy as np

from dalembert.integrators.ends import FAILED, GO_ON, NO_HEADWAY
from dalembert.integrators.problem import Memory, Problem
from dalembert.native import native, rare

__all__ = [
    "ARMED", "EVENT_NUDGE", "LEAST_SIZE", "ROUNDED", "choose_branches", "events_at", "find_at_once", "is_open",
    "switch", "write",
]  # fmt: skip

# So often branches of formulas may change within this share of a run's length; more often, they switch back and forth.
MOST_SWITCHES, SWITCHING = 64, 1e-9

# What constraints leave where another branch is taken counts as a jump beyond this, relative, and so many times the
# distance from the place where the branch ends.
JUMP, APART = 1e-6, 100.0

# How far ahead (s) the start of a run looks which way an event moves that just happened, and a value just below zero.
EVENT_NUDGE = 1e-8
ARMED = 1e-300

# An event as near to zero as this (in its unit) where another one just happened is there too.
ROUNDED = 1e-14

LEAST_SIZE = 0.01  # of an entry of y, to which a relative tolerance refers


@native
def events_at(p: Problem, m: Memory, t: float, y: np.ndarray, g: np.ndarray) -> int:
    """Values that rise through zero where an event happens, or where a branch of a formula ends."""
    status = p.events(t, y, g)
    for i in range(p.n_events - p.n_branches, p.n_events):
        g[i] *= -m.branches[i]
    return status


@rare
def find_at_once(p: Problem, m: Memory, found: np.ndarray) -> int:
    """Which events rise through zero together with the one that just happened (1, others 0; itself among them)."""
    n, happened, g = p.n_events - p.n_branches, m.event - 1, np.empty(p.n_events)
    found[:] = 0.0
    found[happened] = 1.0
    if p.events(m.t, m.y, g) > 0:
        return FAILED
    for i in range(n):
        near = (ROUNDED * p.units[i] if p.n_units > 0 else ROUNDED) + 4.0 * abs(g[happened])
        if m.before[i] < 0.0 and abs(g[i]) <= near:
            found[i] = 1.0
    return GO_ON


@native
def _sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


@rare
def choose_branches(p: Problem, m: Memory, open_only: bool) -> int:
    """Take the branches of formulas that hold at the state, or a moment later where that is not decided; what is not
    decided then either is left open, as written. ``open_only``: those that were left open."""
    first, chosen, x, undecided = p.n_events - p.n_branches, m.branches, np.empty(p.n_events), False
    for i in range(first, p.n_events):
        if not open_only:
            chosen[i] = 0.0
    p.choose(chosen)
    if p.events(m.t, m.y, x) != 0:
        return FAILED
    for i in range(first, p.n_events):
        if chosen[i] == 0.0:
            chosen[i] = _sign(x[i])
            undecided = undecided or chosen[i] == 0.0
    if undecided and not open_only:
        rate, tiny = np.empty_like(m.y), EVENT_NUDGE * (1.0 + abs(m.t))
        m.evaluations += 1
        if p.rhs(m.t, m.y, rate) != 0 or p.events(m.t + tiny, m.y + tiny * rate, x) != 0:
            return FAILED
        for i in range(first, p.n_events):
            if chosen[i] == 0.0:
                chosen[i] = _sign(x[i])
    p.choose(chosen)
    return GO_ON


@native
def is_open(p: Problem, m: Memory) -> bool:
    """Whether some branch of a formula is not chosen."""
    found = False
    for i in range(p.n_events - p.n_branches, p.n_events):
        found = found or m.branches[i] == 0.0
    return found


@native
def write(p: Problem, t: float, y: np.ndarray, row: np.ndarray) -> int:
    """A state on its manifold becomes an output; returns the status of the function that decodes it."""
    if p.decode:
        return p.decode(t, y, row)
    row[:] = y
    return 0


@native
def _output_size(p: Problem) -> int:
    """How many numbers an output has."""
    if p.decode:
        return p.nq + p.nv + 1
    return p.size


@native
def _imposed(p: Problem, t: float, x: np.ndarray, left: np.ndarray) -> int:
    """What constraints with branches leave at an output."""
    return p.imposed(t, x, left) if len(left) > 0 else 0


@native
def _jumps(p: Problem, m: Memory, before: np.ndarray, after: np.ndarray, happened: int, apart: float) -> bool:
    """Whether positions would have to jump to another branch; velocities that have to are noted."""
    size, place, given, speed = LEAST_SIZE, 0.0, 0.0, 0.0
    for x in m.y:
        size = max(size, abs(x))
    for i in range(len(after)):
        change = abs(after[i] - before[i])
        if i < p.n_places:
            place = max(place, change)
        elif i >= len(after) - p.n_given:
            given = max(given, change)
        else:
            speed = max(speed, change)
    limit = JUMP * size + APART * apart
    if max(place, given) > limit:
        m.jump, m.jumped_by = place if place > limit else -given, happened + 1
        return True
    if speed > limit:
        m.jolts += 1
        if speed > m.jolt:
            m.jolt, m.jolted_at, m.jolted_by = speed, m.t, happened + 1
    return False


@rare
def switch(p: Problem, m: Memory, span: float) -> int:
    """Take the branch behind the one that just ended, and others that end at the same place."""
    first, chosen, x, happened = p.n_events - p.n_branches, m.branches, np.empty(p.n_events), m.event - 1
    output, before = np.empty(_output_size(p)), np.empty(p.n_places + p.n_speeds)
    after = np.empty_like(before)
    if write(p, m.t, m.y, output) != 0 or _imposed(p, m.t, output, before) != 0:
        return FAILED
    chosen[happened] = -chosen[happened]
    m.event = 0
    m.switches += 1
    m.bent, m.bent_at, m.nears = True, m.t, False
    for _ in range(p.n_branches):
        p.choose(chosen)
        if p.events(m.t, m.y, x) != 0:
            return FAILED
        changed = False
        for i in range(first, p.n_events):
            if i != happened and chosen[i] * x[i] < 0.0:
                chosen[i], changed = -chosen[i], True
        if not changed:
            break
    p.choose(chosen)
    if _imposed(p, m.t, output, after) != 0 or _jumps(p, m, before, after, happened, abs(x[happened])):
        return FAILED
    # Where a drive or an equation goes over to another branch, velocities may have to.
    if p.retract(m.t, m.y, np.empty_like(m.y)) > 0:
        return FAILED
    if events_at(p, m, m.t, m.y, m.g) != 0:
        return FAILED
    for i in range(p.n_events):
        missed = m.before[i] < 0.0 and m.g[i] >= 0.0
        if i == happened or missed:
            m.g[i] = min(m.g[i], -ARMED)
    m.segment_count, m.segment_index = 0, 0
    if m.switches < m.switches_seen + MOST_SWITCHES:
        return GO_ON
    stuck = m.t - m.switched_at < SWITCHING * span
    m.switches_seen, m.switched_at = m.switches, m.t
    return NO_HEADWAY if stuck else GO_ON
