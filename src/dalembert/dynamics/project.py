"""States back onto the constraints, as native functions.

Positions and velocities are corrected one after the other, by the shortest way in the metric of the mass matrix, or
along the best dependent coordinates.
"""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.rub import watch_feedback
from dalembert.native import native
from dalembert.numerics.alignment import partition_step
from dalembert.numerics.context import CONFLICT, NO_CONVERGENCE, NO_MASS, NOT_FINITE, OK, Closure, Context, give_up
from dalembert.numerics.linear import cholesky, cholesky_substitute, hold_rank, solve_constrained
from dalembert.numerics.scaling import even_matrix, even_rows, even_sides
from dalembert.numerics.solver_steps import move_what_has_mass

__all__ = [
    "PROJECTIONS", "along_dependent", "approach", "choose", "correct", "events", "imposed", "normalize", "retract",
    "shortest",
]  # fmt: skip

# Newton's method on the position constraints: the error is a length or an angle. What is not corrected now is corrected
# at once later, a jump that multistep methods feel; so this is close to rounding.
POSITION_TOLERANCE = 1e-14
NEWTON_STEPS = 12

# How soft states are led toward the constraints before an evaluation: of the square of the stiffest direction.
SOFT = 1e-9

# What sticks holds a little more than friction gives (relative): what just came to stick at its limit has not broken
# loose yet.
HOLDS = 2e-12

# How far redundant velocity equations may contradict each other before no velocity satisfies them.
CONFLICT_TOLERANCE = 1e-6


@native
def closure(c: Context, t: float, y: np.ndarray) -> Closure:
    """φ, A u + b, A and M at a state, in even units."""
    e = Closure.of(c, c.constraints(t, y[: c.nq + c.nv], c.parameters))
    if c.scaled != 0:
        even_sides(c, e.phi)
        even_sides(c, e.rate)
        even_rows(c, e.A)
        even_matrix(c, e.M)
    return e


@native
def _present(c: Context, e: Closure, positions: bool):
    """Residuals and A of one level; A has the rank that is known."""
    residual, A, rank = e.rate, e.A, c.rank
    if positions:
        residual, A, rank = e.phi, e.A[: c.holonomic], c.holonomic_rank
    if rank != 0:
        sides = residual.copy().reshape(-1, 1)
        A = A.copy()
        hold_rank(A, rank, sides)
        residual = sides.reshape(-1)
    return residual, A


@native
def _latest(c: Context) -> Closure:
    """What the constraint kernel gave when it was evaluated last."""
    return Closure.of(c, c.constraints.outputs)


@native
def shortest(c: Context, positions: bool, du: np.ndarray, seen: np.ndarray) -> int:
    """The shortest way in the metric of the mass matrix."""
    e = _latest(c)
    residual, A = _present(c, e, positions)
    still = np.zeros(c.nv)
    status, _, seen[1], seen[0] = solve_constrained(e.M, still, A, residual, du, np.empty(0))
    if status != OK:
        status = move_what_has_mass(e.M, still, A, residual, du, np.empty(A.shape[0]))
    if c.scaled != 0:
        du *= c.unit
    return status if status == OK else give_up(c, NO_MASS)


@native
def along_dependent(c: Context, positions: bool, du: np.ndarray, seen: np.ndarray) -> int:
    """Along the best dependent coordinates."""
    e = _latest(c)
    residual, A = _present(c, e, positions)
    seen[1] = 1.0
    status, seen[0] = partition_step(e.M, A, residual, du)
    if c.scaled != 0:
        du *= c.unit
    return status if status == OK else give_up(c, NO_MASS)


PROJECTIONS = {"projection": shortest, "partition": along_dependent}


@native
def _move(c: Context, q: np.ndarray, du: np.ndarray):
    """q ← q moved along the tangent du (also normalizes quaternions)."""
    q[: c.nq] = c.move(q[: c.nq], du, c.parameters)[: c.nq]


@native
def _close_positions(c: Context, t: float, y: np.ndarray, du: np.ndarray, seen: np.ndarray) -> int:
    """Newton's method on the position constraints. What has to be moved far to fit them has jumped. Where drift is
    allowed the constraint kernel was evaluated just before."""
    error, moved, size = 1e300, 0.0, 1.0
    for x in y[: c.nq]:
        size = max(size, 1.0 + abs(x))
    for k in range(NEWTON_STEPS):
        e = _latest(c)
        if k > 0 or c.drift == 0.0:
            e = closure(c, t, y)
        previous, error = error, 0.0
        for x in e.phi:
            error = max(error, abs(x))
        if not np.isfinite(error):
            return give_up(c, NOT_FINITE)
        # Converged, or as close as rounding allows.
        if error <= (0.0 if c.inner else POSITION_TOLERANCE) or (error < 1e-9 and error > 0.5 * previous):
            return OK
        status = c.projection(True, du, seen)
        if status != OK:
            return status
        longest = 0.0
        for x in du:
            longest = max(longest, abs(x))
        moved += longest / size
        c.statistics.largest_correction = max(c.statistics.largest_correction, moved)
        _move(c, y, du)
    return give_up(c, NO_CONVERGENCE)


@native
def _close_velocities(c: Context, u: np.ndarray, du: np.ndarray, seen: np.ndarray) -> int:
    """Velocities onto the constraints; the constraint kernel was evaluated at the present position just before."""
    status = c.projection(False, du, seen)
    if status != OK:
        return status
    residual, _ = _present(c, _latest(c), False)
    largest = 0.0
    for x in residual:
        largest = max(largest, abs(x))
    if seen[0] > CONFLICT_TOLERANCE * (1.0 + largest):
        return give_up(c, CONFLICT)
    correct(c, u, du)
    return OK


@native
def correct(c: Context, u: np.ndarray, du: np.ndarray):
    """u += du. A velocity that has to be bent much to fit the constraints has jumped to another branch of motion."""
    correction, size = 0.0, 0.0
    for i in range(u.shape[0]):
        unit = c.unit[i] if c.scaled != 0 else 1.0
        correction = max(correction, abs(du[i]) / unit)
        size = max(size, abs(u[i]) / unit)
        u[i] += du[i]
    s = c.statistics
    s.largest_correction = max(s.largest_correction, correction / (1.0 + size))


@native
def normalize(c: Context, t: float, y: np.ndarray, quality: np.ndarray) -> int:
    """Quaternions of unit length; all that models without constraints need."""
    quality[0] = 1.0
    if c.move:
        _move(c, y, np.zeros(c.nv))
    return OK


@native
def _is_tolerable(c: Context, t: float, y: np.ndarray) -> bool:
    """True if positions and velocities are off by no more than is allowed."""
    e, worst = closure(c, t, y), 0.0
    for x in e.phi:
        worst = max(worst, abs(x))
    for x in e.rate:
        worst = max(worst, abs(x))
    return worst <= c.drift


@native
def retract(c: Context, t: float, y: np.ndarray, quality: np.ndarray) -> int:
    """Position and velocity back onto the constraints."""
    quality[0] = 1.0
    du, seen = np.zeros(c.nv), np.zeros(2)
    _move(c, y, du)
    if not c.projection or (c.drift > 0.0 and _is_tolerable(c, t, y)):
        return OK
    c.statistics.projections += 1
    status = _close_positions(c, t, y, du, seen)
    if status == OK:
        status = _close_velocities(c, y[c.nq : c.nq + c.nv], du, seen)
    if status == OK:
        quality[0] = seen[1]
    return status


@native
def _soft_step(c: Context, residual: np.ndarray, A: np.ndarray, M: np.ndarray, du: np.ndarray):
    """The du that is short and brings A du close to −residual; 0 if it is not determined."""
    nv, rows = c.nv, A.shape[0]
    heaviest, longest = 0.0, 0.0
    for i in range(nv):
        heaviest = max(heaviest, abs(M[i, i]))
    for x in A.flat:
        longest = max(longest, abs(x))
    stiffness = heaviest / (SOFT * longest * longest) if longest > 0.0 else 0.0
    H = M.copy()
    du[:] = 0.0
    for r in range(rows):
        for i in range(nv):
            if A[r, i] != 0.0:
                du[i] -= stiffness * A[r, i] * residual[r]
                for j in range(nv):
                    H[i, j] += stiffness * A[r, i] * A[r, j]
    if cholesky(H):
        cholesky_substitute(H, du)
    else:
        du[:] = 0.0
    if c.scaled != 0:
        du *= c.unit


@native
def approach(c: Context, t: float, y: np.ndarray) -> int:
    """A step of position and velocity toward the constraints."""
    du = np.zeros(c.nv)
    e = closure(c, t, y)
    residual, A = _present(c, e, True)
    _soft_step(c, residual, A, e.M, du)
    _move(c, y, du)
    e = closure(c, t, y)
    residual, A = _present(c, e, False)
    _soft_step(c, residual, A, e.M, du)
    y[c.nq : c.nq + c.nv] += du
    return OK


@native
def choose(c: Context, branches: np.ndarray) -> int:
    """Choose branches of formulas: entries for all events, the last of which are theirs."""
    first, skip = c.n_parameters - c.n_branches, c.n_events - c.n_branches
    for i in range(c.n_branches):
        c.parameters[first + i] = branches[skip + i]
    return OK


@native
def imposed(c: Context, t: float, x: np.ndarray, out: np.ndarray) -> int:
    """What constraints with branches leave at a state (see ``Problem.imposed``)."""
    out[:] = c.imposed(t, x[: c.nq + c.nv], c.parameters)
    return OK


@native
def _pushes(c: Context, t: float, y: np.ndarray, g: np.ndarray) -> int:
    """A contact that is closed opens where its multiplier falls through zero; what sticks breaks loose where friction
    holds no more."""
    closed = False
    for i in range(c.n_frictions):
        closed = closed or c.parameters[c.friction_switch[i]] != 0.0
    for i in range(c.n_contacts):
        closed = closed or c.parameters[c.contact_switch[i]] != 0.0
    if not closed:
        return OK
    status = c.rhs(t, y, np.empty_like(y))
    if status != OK:
        return status
    for i in range(c.n_contacts):
        if c.parameters[c.contact_switch[i]] != 0.0:
            g[c.contact_event[i]] = -c.multipliers[c.contact_row[i]]
    if c.n_frictions > 0:
        sizes = c.friction.outputs
        for i in range(c.n_frictions):
            if c.parameters[c.friction_switch[i]] != 0.0:
                first, held = c.friction_row[i], 0.0
                for k in range(first, first + c.friction_rows[i]):
                    held += c.multipliers[k] * c.multipliers[k]
                g[c.friction_event[i]] = np.sqrt(held) - sizes[2 * i + 1] * (1.0 + HOLDS)
    return OK


@native
def events(c: Context, t: float, y: np.ndarray, g: np.ndarray) -> int:
    """The values of all events."""
    if c.n_feedback + c.n_watched > 0:
        rate = np.empty_like(y)
        status = c.rhs(t, y, rate)
        if status != OK:
            return status
        if c.n_watched > 0:
            watch_feedback(c, t, y, rate)
    g[:] = c.event(t, y[: c.nq + c.nv], c.parameters)
    for i in range(c.n_asleep):
        g[c.asleep[i]] = -1.0
    if c.n_slack > 0:
        g += c.slack
    return OK if c.n_contacts + c.n_frictions == 0 else _pushes(c, t, y, g)
