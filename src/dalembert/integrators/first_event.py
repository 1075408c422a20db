"""Where the first event within a step is: by places evenly spread over it, maxima between them, and bounds of those
that are straight."""

from __future__ import annotations

import math

import numpy as np

from dalembert.integrators.ends import FAILED, GO_ON
from dalembert.integrators.problem import Memory, Problem
from dalembert.integrators.switching import events_at
from dalembert.native import native, rare

__all__ = ["first_event", "landed_crossing", "learn_slopes", "stays", "within"]

# A step is searched for events at so many places at least, and as closely as it is compared with the equations: what
# a formula does between two places of a long step is seen there only if it is an event.
EVENT_SAMPLES = 8
BISECTIONS = 60
# By so much of what adds up to it, bounds of an event within a step must be away from zero.
BOUNDED = 1e-6
# A maximum below zero between places where events are looked at is refined so many times.
REFINEMENTS = 5
# Events are looked for on the manifold this near to where they happen beside it, in steps, and by so many secants.
NEAR, SECANTS, ROUNDING = 1e-3, 6, 1e-14


@native
def within(D: np.ndarray, theta: float, y: np.ndarray):
    """y(θ) = Σ D[p] θᵖ."""
    for j in range(len(y)):
        s = 0.0
        for p in range(D.shape[0] - 1, -1, -1):
            s = s * theta + D[p, j]
        y[j] = s


@native
def _crossing(p: Problem, m: Memory, D: np.ndarray, h: float, i: int, low: float, high: float) -> tuple[float, int]:
    """Where event i rises through zero between two places of a step, by bisection; and whether all went well."""
    y, g = np.empty(D.shape[1]), np.empty(p.n_events)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        within(D, middle, y)
        if events_at(p, m, m.t + middle * h, y, g) != 0:
            return high, FAILED
        if g[i] >= 0.0:
            high = middle
        else:
            low = middle
    return high, GO_ON


@rare
def _peak(
    p: Problem, m: Memory, D: np.ndarray, h: float, i: int, theta: float, apart: float, three: np.ndarray
) -> tuple[float, int]:
    """Where event i is above zero between three places of a step at which it is below, ``apart`` from the middle one θ;
    2 if nowhere.

    Parabolas lead to the maximum, if they promise one that comes near zero.
    """
    y, g = np.empty(D.shape[1]), np.empty(p.n_events)
    left, middle, right = theta - apart, theta, theta + apart
    a, b, c = three[0], three[1], three[2]
    reach = 0.5 * max(abs(a - b), abs(c - b))
    for _ in range(REFINEMENTS):
        # The parabola through three places that need not be evenly spaced, by divided differences.
        rise, bend = (b - a) / (middle - left), (c - b) / (right - middle)
        curve = (bend - rise) / (right - left)
        if not curve < 0.0:
            return 2.0, GO_ON
        place = 0.5 * (left + middle) - 0.5 * rise / curve
        if place <= left or place >= right or place == middle:
            return 2.0, GO_ON
        top = a + (place - left) * (rise + (place - middle) * curve)
        if top < -reach:
            return 2.0, GO_ON
        within(D, place, y)
        if events_at(p, m, m.t + place * h, y, g) != 0:
            return 2.0, FAILED
        if g[i] >= 0.0:
            return place, GO_ON
        if place < middle:
            if g[i] > b:
                right, c, middle, b = middle, b, place, g[i]
            else:
                left, a = place, g[i]
        elif g[i] > b:
            left, a, middle, b = middle, b, place, g[i]
        else:
            right, c = place, g[i]
        reach *= 0.5
    return 2.0, GO_ON


@rare
def _note_undefined(m: Memory, t: float):
    """Events that are no number at a place of the motion: they pass through nothing, and cannot happen."""
    for i in range(len(m.g)):
        if m.g[i] != m.g[i]:
            if m.undefined[i] == 0:
                m.undefined_at[i] = t
            m.undefined[i] += 1


@rare
def learn_slopes(p: Problem, m: Memory):
    """How what passes through zero at straight events depends on y and t; the first is no number if that has no
    value."""
    y, n, g, there = m.y.copy(), len(m.y), np.empty(p.n_events), np.empty(p.n_events)
    status = events_at(p, m, m.t, y, g)
    for j in range(n + 1):
        t, far = m.t, 1.0 + abs(m.t if j == n else y[j])
        if j == n:
            t += far
        else:
            y[j] += far
        status = max(status, events_at(p, m, t, y, there))
        for i in range(p.n_straight):
            p.slopes[i, j] = (there[i] - g[i]) / far
        if j < n:
            y[j] = m.y[j]
    if status != 0:
        p.slopes[0, 0] = math.nan


@rare
def stays(p: Problem, m: Memory, D: np.ndarray, h: float, t_new: float, y_new: np.ndarray) -> bool:
    """Whether no event can happen within a step: of straight ones the largest and the least values there are bounded by
    the powers of θ. Then m.g becomes g at its end."""
    n = len(y_new)
    for i in range(p.n_events):
        change = h * p.slopes[i, n]
        high, low, size = max(change, 0.0), min(change, 0.0), abs(m.g[i]) + abs(change)
        for k in range(1, D.shape[0]):
            change = 0.0
            for j in range(n):
                part = p.slopes[i, j] * D[k, j]
                change += part
                size += abs(part)
            high += max(change, 0.0)
            low += min(change, 0.0)
        if not (m.g[i] + high < -BOUNDED * size or m.g[i] + low > BOUNDED * size):
            return False
    g = np.empty(p.n_events)
    if events_at(p, m, t_new, y_new, g) != 0:
        return False
    for i in range(p.n_events):
        if not (g[i] < 0.0 if m.g[i] < 0.0 else g[i] > 0.0):
            return False
    m.g[:] = g
    return True


@rare
def first_event(p: Problem, m: Memory, D: np.ndarray, h: float, y_new: np.ndarray) -> tuple[int, float, int]:
    """Index and place θ of the first event within the step, −1 if there is none; m.g becomes g at the last sample."""
    g, before, y, low = m.g, m.g.copy(), np.empty_like(y_new), 0.0
    earlier, three, samples = before.copy(), np.empty(3), EVENT_SAMPLES
    if p.spacing > 0.0:
        samples = max(samples, math.ceil(h / p.spacing))
    for sample in range(1, samples + 1):
        theta = sample / samples
        if sample == samples:
            y[:] = y_new
        else:
            within(D, theta, y)
        if events_at(p, m, m.t + theta * h, y, g) != 0:
            return -1, 1.0, FAILED
        first, place = -1, 2.0
        for i in range(len(g)):
            if before[i] < 0.0 and g[i] >= 0.0:
                here, status = _crossing(p, m, D, h, i, low, theta)
                if status != GO_ON:
                    return -1, 1.0, FAILED
                if here < place:
                    first, place = i, here
            elif sample > 1 and earlier[i] < 0.0 and before[i] < 0.0 and g[i] < 0.0:
                # Twice through zero between two places?
                three[0], three[1], three[2] = earlier[i], before[i], g[i]
                top, status = _peak(p, m, D, h, i, low, 1.0 / samples, three)
                if status != GO_ON:
                    return -1, 1.0, FAILED
                if top < 1.0:
                    here, status = _crossing(p, m, D, h, i, max(0.0, low - 1.0 / samples), top)
                    if status != GO_ON:
                        return -1, 1.0, FAILED
                    if here < place:
                        first, place = i, here
        if first >= 0:
            return first, place, GO_ON
        _note_undefined(m, m.t + theta * h)
        earlier[:], before[:] = before, g
        low = theta
    return -1, 1.0, GO_ON


@rare
def _landed_value(p: Problem, m: Memory, D: np.ndarray, h: float, i: int, theta: float) -> float:
    """Event i within a step, of the state led back onto its manifold; no number where that fails."""
    y, scratch, g = np.empty_like(m.y), np.empty_like(m.y), np.empty(p.n_events)
    within(D, theta, y)
    if p.retract(m.t + theta * h, y, scratch) > 0 or events_at(p, m, m.t + theta * h, y, g) != 0:
        return math.nan
    return g[i]


@rare
def landed_crossing(p: Problem, m: Memory, D: np.ndarray, h: float, i: int, theta: float) -> float:
    """Where event i is zero on the manifold, by secants from where it is zero beside it: leading the state back moves
    it by about a tolerance, which is far for a gap that closes."""
    before, here = theta - NEAR, theta
    early, value = _landed_value(p, m, D, h, i, before), _landed_value(p, m, D, h, i, here)
    for _ in range(SECANTS):
        slope = (value - early) / (here - before)
        if not slope > 0.0:
            break
        place = here - value / slope
        if not (abs(place - theta) < NEAR and 0.0 < place <= 1.0 and abs(place - here) > ROUNDING):
            break
        found = _landed_value(p, m, D, h, i, place)
        if not abs(found) < abs(value):
            break
        before, early, here, value = here, value, place, found
    return here
