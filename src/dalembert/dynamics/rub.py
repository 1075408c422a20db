"""Forces that follow from reactions which follow from them, as native code.

What an evaluation assumes, x: the forces of friction, and the accelerations and reactions that formulas name. With it
u̇ and λ are solved for, and give what is found, h(x). Newton's method makes them equal: x ← x + (1 − G)⁻¹ (h − x),
G = ∂h/∂x. The inverse is kept from evaluation to evaluation, improved by Broyden's rule, and made anew where it leads
nowhere. Where det(1 − G) has fallen to zero there is no solution, or more than one.
"""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.evaluate import hold_blocks
from dalembert.native import Matrix, Outputs, Vector, native, whole
from dalembert.numerics.broyden import learn
from dalembert.numerics.context import (
    JAMMED,
    NO_MASS,
    OK,
    UNSETTLED,
    Blocks,
    Context,
    finite,
    give_up,
    residual_rates,
    stabilized,
    watch,
)
from dalembert.numerics.linear import (
    constrained_factors,
    constrained_solution,
    free_part,
    held_part,
    lu_factor,
    lu_solve,
)

__all__ = [
    "Feedback", "Pushes", "Slopes", "assumed_response", "factored_rhs", "feed_back", "parameters_along", "rubbing_rhs",
    "watch_feedback",
]  # fmt: skip

MOST_TURNS = 60
CLOSE = 1e-12  # of the largest force
ROUNDED = 1e-9  # of the largest one: less, if it does not shrink any more, is rounding
SURE = 1e-13  # of the largest one: how near a step must lead so that it is believed
LEARN = 1e-7  # of the largest one: from smaller steps only rounding could be learned
SLOW = 0.1  # a step must leave less than this
FLAT = 1e-12  # a determinant that is zero
ROUNDING = 1e-14  # of the largest force so far: what is left where a contact is about to open is no more than that


class Slopes(Outputs):
    """What the kernel ``friction_slopes`` gives: h by x, u̇ and λ; the forces f by x; M and A."""

    h_x = Matrix("n_assumed", "n_assumed")
    h_a = Matrix("n_assumed", "nv")
    h_m = Matrix("n_assumed", "rows")
    f_x = Matrix("nv", "n_assumed")
    M = Matrix("nv", "nv")
    A = Matrix("rows", "nv")


class Pushes(Outputs):
    """What the kernel ``friction_push`` gives: the forces f by those of friction."""

    f_x = Matrix("nv", "n_assumed")


@native
def _place(c: Context, i: int) -> int:
    """Which parameter is the i-th that is assumed."""
    return c.friction_force[i] if i < c.n_frictions else c.feedback_place[i - c.n_frictions]


@native
def _slips(c: Context, t: float, y: np.ndarray, du: np.ndarray, r: np.ndarray):
    """What friction is found to be less what it is assumed to be, from u̇ and λ."""
    found = c.friction(t, y[: c.nq + c.nv], c.parameters, du, c.multipliers)
    for i in range(c.n_frictions):
        r[i] = -c.parameters[c.friction_force[i]]
        if c.parameters[c.friction_switch[i]] == 0.0:
            r[i] -= c.parameters[c.friction_slip[i]] * found[2 * i]
    for i in range(c.n_feedback):
        r[c.n_frictions + i] = found[2 * c.n_frictions + i] - c.parameters[c.feedback_place[i]]


@native
def _missing(c: Context, t: float, y: np.ndarray, dy: np.ndarray, r: np.ndarray) -> int:
    """What is found less what is assumed."""
    status = c.frictionless(t, y, dy)
    if status != OK:
        return status
    _slips(c, t, y, dy[c.nq : c.nq + c.nv], r)
    return OK


@native
def assumed_response(c: Context, t: float, y: np.ndarray, du: np.ndarray, H: np.ndarray, U: np.ndarray) -> float:
    """H = (1 − G)⁻¹ and U = ∂u̇/∂x; returns det(1 − G), 0 where there is no inverse."""
    n = c.n_assumed
    S = Slopes.of(c, c.friction_slopes(t, y[: c.nq + c.nv], c.parameters, du, c.multipliers))
    status, _, _, Q, R, free = constrained_factors(S.M, S.A)
    if status != OK:
        return 0.0
    K, a, m, none = np.eye(n), np.empty(c.nv), np.empty(c.rows), np.zeros(c.rows)
    for j in range(n):
        constrained_solution(S.M, S.f_x[:, j].copy(), none, Q, R, free, a, m)
        U[:, j] = a
        for i in range(n):
            K[i, j] -= S.h_x[i, j]
            for k in range(c.nv):
                K[i, j] -= S.h_a[i, k] * a[k]
            for k in range(c.rows):
                K[i, j] -= S.h_m[i, k] * m[k]
    pivots = np.zeros(n, dtype=np.int64)
    if not lu_factor(K, pivots):
        return 0.0
    determinant = 1.0
    for i in range(n):
        determinant /= K[i, i] if pivots[i] == i else -K[i, i]  # inverses of pivots are on the diagonal
    column = np.empty(n)
    for j in range(n):
        column[:] = 0.0
        column[j] = 1.0
        lu_solve(K, pivots, column)
        H[:, j] = column
    return determinant


@native
def _renew(c: Context, t: float, y: np.ndarray, du: np.ndarray) -> int:
    """The response at this state; gives up where it is not unique."""
    determinant = assumed_response(c, t, y, du, c.response, np.empty((c.nv, c.n_assumed)))
    if not determinant > FLAT:
        c.statistics.uniqueness = determinant
        return give_up(c, UNSETTLED if c.n_frictions == 0 else JAMMED)
    c.trusts_response = 1
    return OK


@native
def _size(c: Context) -> float:
    """The largest of what is assumed."""
    size = 0.0
    for i in range(c.n_assumed):
        size = max(size, float(abs(c.parameters[_place(c, i)])))
    return size


@native
def _stands(c: Context, r: np.ndarray, last: float) -> tuple[bool, float]:
    """Whether what is found is what is assumed, or as near as rounding lets it come; and the largest difference."""
    missed, size = 0.0, 1e-300
    for i in range(c.n_assumed):
        missed = max(missed, float(abs(r[i])))
        size = max(size, max(float(abs(c.parameters[_place(c, i)])), float(abs(r[i]))))
    if not missed > ROUNDING * c.friction_size:
        return True, missed
    stands = not missed > CLOSE * size or (not missed < 0.5 * last and missed < ROUNDED * size)
    if stands:
        c.friction_size = max(c.friction_size, size)
    return stands, missed


@native
def _assume(c: Context, t: float, y: np.ndarray, du: np.ndarray, r: np.ndarray, anew: bool, step: np.ndarray) -> int:
    """A step of Newton's method; ``anew``: with the response at this state."""
    if c.trusts_response == 0 or anew:
        status = _renew(c, t, y, du)
        if status != OK:
            return status
    step[:] = c.response @ r
    for i in range(c.n_assumed):
        c.parameters[_place(c, i)] += step[i]
    return OK


@native
def _gave_up(c: Context) -> int:
    c.statistics.uniqueness = np.nan
    return give_up(c, UNSETTLED if c.n_frictions == 0 else JAMMED)


@native
def rubbing_rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """ẏ with the forces that the reactions and accelerations demand."""
    n = c.n_assumed
    r, before, step = np.zeros(n), np.zeros(n), np.zeros(n)
    status = _missing(c, t, y, dy, r)
    last, fresh = np.inf, False
    for _ in range(MOST_TURNS):
        if status != OK:
            return status
        stands, missed = _stands(c, r, last)
        if stands and (c.n_feedback == 0 or c.trusts_response != 0):
            return OK
        if stands:
            # What is assumed may fit by chance, where anything would: whether it is the only answer must be known once.
            return _renew(c, t, y, dy[c.nq : c.nq + c.nv])
        anew = missed > SLOW * last and not fresh
        fresh = fresh or anew or c.trusts_response == 0
        status = _assume(c, t, y, dy[c.nq : c.nq + c.nv], r, anew, step)
        if status != OK:
            return status
        last = missed
        before[:] = r
        status = _missing(c, t, y, dy, r)
        if status == OK and last > LEARN * _size(c) and not learn(c.response, step, before - r):
            c.trusts_response = 0
    return _gave_up(c)


@native
def _rows_in_use(c: Context) -> int:
    """The number of rows before the last ones, of friction that does not stick."""
    used = c.rows
    for k in range(c.n_frictions):
        i = c.n_frictions - 1 - k
        if c.parameters[c.friction_switch[i]] == 0.0 and c.friction_row[i] + c.friction_rows[i] == used:
            used = c.friction_row[i]
    return used


@whole
def factored_rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """The same for friction alone, whose forces add up, and a formulation that takes ``constrained_factors``: one
    evaluation of the equations and one factorization serve all steps."""
    nq, nv, n = c.nq, c.nv, c.n_assumed
    e = Blocks.of(c, c.dynamics(t, y[: nq + nv], c.parameters, c.tau))
    if c.rank != 0:
        hold_blocks(c, e)
    u, du, power, force = y[nq : nq + nv], dy[nq : nq + nv], e.power, e.f.copy()
    rate = residual_rates(e.A, e.b, u)
    gamma = stabilized(c, e.gamma, e.phi, rate)
    used = _rows_in_use(c)
    multipliers = c.multipliers[:used]
    c.multipliers[used:] = 0.0
    status, rank, ratio, Q, R, free = constrained_factors(e.M, e.A[:used])
    if status != OK:
        return give_up(c, NO_MASS)
    push = Pushes.of(c, c.friction_push(t, y[: nq + nv], c.parameters)).f_x
    held = np.zeros((2, nv))
    conflict = held_part(e.M, gamma[:used], Q, R, held)
    r, before, step, last, fresh = np.zeros(n), np.zeros(n), np.zeros(n), np.inf, False
    sure = False
    for turn in range(MOST_TURNS):
        free_part(e.M, force, Q, R, free, held, du, multipliers)
        stands, missed = True, last
        if not sure:
            before[:] = r
            _slips(c, t, y, du, r)
            if turn > 0 and last > LEARN * _size(c) and not learn(c.response, step, before - r):
                c.trusts_response = 0
            stands, missed = _stands(c, r, last)
        if stands:
            watch(c, rank, ratio, conflict)
            for i in range(c.rows):
                power -= e.b[i] * c.multipliers[i]
            dy[:nq] = e.qdot
            dy[nq + nv] = power
            return finite(c, dy)
        anew = missed > SLOW * last and not fresh
        fresh = fresh or anew or c.trusts_response == 0
        status = _assume(c, t, y, du, r, anew, step)
        if status != OK:
            return status
        # The next step would miss by as much again, or less; then it need not be looked at.
        sure = turn > 0 and missed / last * missed < SURE * _size(c)
        last = missed
        more = push @ step
        force += more
        power += more @ u
    return _gave_up(c)


class Feedback(Outputs):
    """What the kernel ``friction_tangent`` gives: h by q and u, u̇ and λ; q̇ and the power by x."""

    h_q = Matrix("n_assumed", "nq")
    h_u, h_a = 2 * Matrix("n_assumed", "nv")
    h_m = Matrix("n_assumed", "rows")
    qdot_x = Matrix("nq", "n_assumed")
    power_x = Vector("n_assumed")


@native
def feed_back(c: Context, t: float, y: np.ndarray, du: np.ndarray, J: np.ndarray, L: np.ndarray) -> int:
    """Complete ∂ẏ/∂y, of which J has what holds where x stays, and L = ∂λ/∂y there: x follows what it is made of."""
    nq, nv, n = c.nq, c.nv, c.n_assumed
    H, U, change, x = np.empty((n, n)), np.empty((nv, n)), np.empty(n), np.empty(n)
    determinant = assumed_response(c, t, y, du, H, U)
    if not determinant > FLAT:
        c.statistics.uniqueness = determinant
        return give_up(c, UNSETTLED if c.n_frictions == 0 else JAMMED)
    F = Feedback.of(c, c.friction_tangent(t, y[: nq + nv], c.parameters, du, c.multipliers))
    for j in range(nq + nv):
        for i in range(n):
            change[i] = F.h_q[i, j] if j < nq else F.h_u[i, j - nq]
            for k in range(nv):
                change[i] += F.h_a[i, k] * J[nq + k, j]
            for k in range(c.rows):
                change[i] += F.h_m[i, k] * L[k, j]
        x[:] = H @ change
        for k in range(n):
            J[nq : nq + nv, j] += U[:, k] * x[k]
            J[:nq, j] += F.qdot_x[:, k] * x[k]
            J[nq + nv, j] += F.power_x[k] * x[k]
    return OK


@native
def watch_feedback(c: Context, t: float, y: np.ndarray, dy: np.ndarray):
    """Set the parameters that only outputs and events name, after an evaluation."""
    found = c.watched(t, y[: c.nq + c.nv], c.parameters, dy[c.nq : c.nq + c.nv], c.multipliers)
    for i in range(c.n_watched):
        c.parameters[c.watched_place[i]] = found[i]


@native
def parameters_along(c: Context, times: np.ndarray, states: np.ndarray, parameters: np.ndarray) -> int:
    """All parameters at many states, what is found there among them; returns the number of states done before one
    failed."""
    rate = np.empty(c.nq + c.nv + 1)
    for i in range(times.shape[0]):
        if c.rhs(times[i], states[i], rate) != OK:
            return i
        if c.n_watched > 0:
            watch_feedback(c, times[i], states[i], rate)
        parameters[i] = c.parameters
    return times.shape[0]
