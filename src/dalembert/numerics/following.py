"""Variables that follow given functions of time, instant by instant, as native code.

    h(t, x) = 0                    all equations below the highest order: Newton's method from the former instant
    A y + b = 0                    the variables y of the highest order
    ẋ = r(t, x, y)                 where equations leave some of x open, these are integrated between the instants

by the classical method of Runge and Kutta, and led back onto the equations.
"""

from __future__ import annotations

import numpy as np

from dalembert.native import Flag, Int, Kernel, Matrix, Outputs, Real, Record, Vector, native
from dalembert.numerics.linear import solve_constrained

__all__ = [
    "CONTRADICTION", "FOLLOWED", "JUMP", "NOT_FINITE", "NO_CONVERGENCE", "SINGULAR", "States", "follow_states",
]  # fmt: skip

# How following ended.
FOLLOWED, NO_CONVERGENCE, JUMP, NOT_FINITE, SINGULAR, CONTRADICTION = 0, 1, 2, 3, 4, 5

NEWTON_STEPS = 20
EXACT = 1e-14  # residual, relative to the largest variable, at which Newton's method stops trying to do better
CLOSE = 1e-9  # residual that counts if it does not shrink any more
LONGEST_WAY = 0.6  # of all steps at one instant, relative to the largest variable: beyond it the branch is not sure
CONTRADICTION_LIMIT = 1e-6  # of redundant equations, relative


class Rows(Outputs):
    """What the kernel gives: h and its Jacobian, A and b, ẋ."""

    h = Vector("lower")
    J = Matrix("lower", "states")
    A = Matrix("rows", "tops")
    b = Vector("rows")
    rates = Vector("states")


class States(Record):
    """Equations of a system that is led.

    Attributes:
        kernel: of (t, x, y, given values, parameters).
        integrates: the equations leave some of x open.
        smallest_pivot: the worst that was met.  residual: of the last instant.
    """

    states, tops, lower, rows, given, n_parameters = 6 * Int()
    integrates = Flag()
    smallest_pivot, residual = 2 * Real()
    parameters = Vector("n_parameters")
    kernel = Kernel()


@native
def _close(c: States, t: float, want: np.ndarray, y: np.ndarray, bounded: bool) -> int:
    """Newton's method on all equations below the highest order."""
    n, rows, error, way = c.states, c.lower, 1e300, 0.0
    if rows == 0:
        return FOLLOWED
    du, unit, none = np.zeros(n), np.eye(n), np.zeros(n)
    for _ in range(NEWTON_STEPS):
        e = Rows.of(c, c.kernel(t, y, want, c.parameters))
        previous, error, size = error, 0.0, 1.0
        for x in y[:n]:
            size = max(size, abs(x))
        for x in e.h:
            if not np.isfinite(x):
                return NOT_FINITE
            error = max(error, abs(x))
        error /= size
        c.residual = error
        if error <= EXACT or (error < CLOSE and error > 0.5 * previous):
            return FOLLOWED
        solve_constrained(unit, none, e.J, e.h, du, np.empty(0))
        longest = 0.0
        for x in du:
            longest = max(longest, abs(x))
        if not np.isfinite(longest):
            return NOT_FINITE
        if longest > 0.5 * size:
            du *= 0.5 * size / longest
        way += min(longest / size, 0.5)
        if bounded and way > LONGEST_WAY:
            return JUMP
        y[:n] += du
    return NO_CONVERGENCE


@native
def _tops(c: States, t: float, want: np.ndarray, y: np.ndarray, rates: np.ndarray) -> int:
    """Variables of the highest order, and ẋ."""
    n, m = c.states, c.tops
    y[n:] = 0.0
    e = Rows.of(c, c.kernel(t, y, want, c.parameters))
    x, size = np.empty(m), 1.0
    _, rank, ratio, conflict = solve_constrained(np.eye(m), np.zeros(m), e.A, e.b, x, np.empty(0))
    c.smallest_pivot = min(c.smallest_pivot, ratio)
    if rank < m:
        return SINGULAR
    for value in e.b:
        size = max(size, abs(value))
    if conflict > CONTRADICTION_LIMIT * size:
        return CONTRADICTION
    y[n:] = x
    rates[:] = Rows.of(c, c.kernel(t, y, want, c.parameters)).rates
    for value in rates:
        if not np.isfinite(value):
            return NOT_FINITE
    return FOLLOWED


@native
def _stage(c: States, t: float, h: float, want: np.ndarray, y: np.ndarray, k: np.ndarray, out: np.ndarray) -> int:
    """ẋ at x + h k."""
    stage = y.copy()
    stage[: c.states] = y[: c.states] + h * k
    return _tops(c, t, want, stage, out)


@native
def follow_states(c: States, times: np.ndarray, wanted: np.ndarray, states: np.ndarray) -> tuple[int, int]:
    """Variables at all instants; the first row of ``states`` is where to begin.

    Args:
        wanted: given values; every second row is half-way between two instants if something is integrated.

    Returns:
        how it ended, and the number of instants that were done.
    """
    n = c.states
    y, k1 = states[0].copy(), np.zeros(n)
    k2, k3, k4 = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(times.shape[0]):
        t, at, status = times[i], i, FOLLOWED
        if c.integrates:
            at = 2 * i
        if i > 0:
            h, middle = t - times[i - 1], 0.5 * (t + times[i - 1])
            if c.integrates:
                status = _stage(c, middle, 0.5 * h, wanted[at - 1], y, k1, k2)
                if status == FOLLOWED:
                    status = _stage(c, middle, 0.5 * h, wanted[at - 1], y, k2, k3)
                if status == FOLLOWED:
                    status = _stage(c, t, h, wanted[at], y, k3, k4)
                if status != FOLLOWED:
                    return status, i
                for j in range(n):
                    y[j] += h / 6.0 * (k1[j] + 2.0 * (k2[j] + k3[j]) + k4[j])
            else:
                y[:n] += h * k1
        status = _close(c, t, wanted[at], y, i > 0)
        if status == FOLLOWED:
            status = _tops(c, t, wanted[at], y, k1)
        states[i] = y
        if status != FOLLOWED:
            return status, i
    return FOLLOWED, times.shape[0]
