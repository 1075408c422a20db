"""Motion that is prescribed instant by instant: positions by Newton's method, velocities and accelerations exactly.

Quantities g of the motion must have given values s(t), besides the constraints of the mechanism:

    φ(t,q) = 0,  g(t,q) = s                              Newton's method from the position of the former instant
    A u + b = 0,  ġ = G u + … = ṡ                        (and g(t,q,u) = s for quantities of the velocity)
    A u̇ + γ = 0,  g̈ = G u̇ + … = s̈                       (ġ = ṡ)

Rows come in the order: holonomic constraints, targets at position level, nonholonomic constraints, targets at velocity
level. Where the position is not determined by positions (rolling, given velocities), it is integrated between the
instants by the classical method of Runge and Kutta, and led back onto what is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel as Compiled
from dalembert.coordinates.moving import TreeMotion, moving
from dalembert.equations import Level
from dalembert.equations.mechanism_equations import part_of
from dalembert.native import Flag, Int, Kernel, Matrix, Outputs, Real, Record, Vector, native
from dalembert.numerics.following import CONTRADICTION, FOLLOWED, JUMP, NO_CONVERGENCE, NOT_FINITE, SINGULAR
from dalembert.numerics.linear import constrained_factors, constrained_solution, solve_constrained

if TYPE_CHECKING:
    from dalembert.dynamics.mechanism_kernels import MechanismKernels

__all__ = [
    "CONTRADICTION", "FOLLOWED", "JUMP", "NOT_FINITE", "NO_CONVERGENCE", "SINGULAR", "Follower", "Target", "close",
    "follow", "prescribed_kernel", "prescribed_rows",
]  # fmt: skip

NEWTON_STEPS = 15
EXACT = 1e-14  # residual (m, rad) at which Newton's method stops trying to do better
CLOSE = 1e-9  # residual that counts if it does not shrink any more
LONGEST_STEP = 0.5  # of Newton's method (rad, m)
LONGEST_WAY = 0.6  # of all its steps at one instant: beyond it the branch is not sure
CONTRADICTION_LIMIT = 1e-7  # of velocities that redundant rows ask for, relative


@dataclass(frozen=True)
class Target:
    """A quantity whose value is prescribed.

    Attributes:
        name: as the user calls it.
        value: gives it from the motion, in the motion's algebra.
        level: of positions, or of velocities, in which it is linear then.
    """

    name: str
    value: Callable[[TreeMotion], Any]
    level: Level = Level.POSITION


class Wanted(Outputs):
    """What the kernel of a prescribed motion gives: values at position level; at velocity level and for u̇ = 0 at
    acceleration level; their Jacobian; q̇; the angles whose turns are counted."""

    position = Vector("n_positions")
    rate, bias = 2 * Vector("n_rows")
    J = Matrix("n_rows", "nv")
    qdot = Vector("nq")
    turns = Vector("n_windings")


class Follower(Record):
    """One mechanism with targets.

    Attributes:
        n_positions, n_rows: rows at position level, and all rows.
        integrates: the position is not determined by positions.
        kernel, move: of (t, q, u, p) and of (q, δ, p).
        smallest_pivot: worst ratio of the smallest to the largest pivot that was met.
        residual: of the last position.
    """

    nq, nv, n_positions, n_rows, n_windings, n_parameters = 6 * Int()
    integrates = Flag()
    smallest_pivot, residual = 2 * Real()
    parameters = Vector("n_parameters")
    kernel, move = 2 * Kernel()


def prescribed_kernel(kernels: MechanismKernels, targets: Sequence[Target]) -> Compiled:
    """The rows of constraints and targets with their derivatives."""
    return kernels.compile("prescribed", prescribed_rows(kernels, targets))


def prescribed_rows(kernels: MechanismKernels, targets: Sequence[Target]) -> dict[str, np.ndarray]:
    """What the kernel gives, traced over CasADi (see ``Wanted``)."""
    al, e = CASADI, kernels.traced
    held = [i for i, row in enumerate(kernels.rows) if row.holonomic]
    rolling = [i for i, row in enumerate(kernels.rows) if not row.holonomic]

    def split(found: list[Any]) -> list[list[Any]]:
        return [[x for x, t in zip(found, targets, strict=True) if t.level is level] for level in Level]

    def measure(du: np.ndarray) -> list[Any]:
        moved = moving(e.tree, e.t, e.q, e.u, du, e.tree.states(e.q, e.u, du))
        return [target.value(moved) for target in targets]

    def ordered(constraints: np.ndarray, found: list[Any]) -> np.ndarray:
        positions, velocities = split(found)
        parts = [constraints[held], al.array(positions), constraints[rolling], al.array(velocities)]
        return al.concatenate([part for part in parts if len(part)]) if any(len(p) for p in parts) else al.zeros(0)

    def accelerations(found: list[Any]) -> list[Any]:
        return [part_of(x, "va"[t.level is Level.POSITION]) for x, t in zip(found, targets, strict=True)]

    still = measure(al.zeros(kernels.nv))
    offset = al.array(accelerations(still))
    G = al.columns(lambda du: al.array(accelerations(measure(du))) - offset, kernels.nv) if targets else None
    columns = [ordered(e.jacobian[:, j], list(G[:, j]) if G is not None else []) for j in range(kernels.nv)]
    rates = [part_of(x, "xv"[t.level is Level.POSITION]) for x, t in zip(still, targets, strict=True)]
    values = [part_of(x, "x") for x, t in zip(still, targets, strict=True) if t.level is Level.POSITION]
    turns = [e.motion.joint(w.joint)[0][w.index] for w in kernels.coordinates.windings]
    return {
        "position": al.concatenate([e.position_residual(), al.array(values)]),
        "rate": ordered(e.velocity_residual(), rates),
        "bias": ordered(e.gamma, accelerations(still)),
        "jacobian": np.stack(columns, axis=1),
        "qdot": e.qdot(),
        "turns": al.array(turns),
    }


@native
def _least(J: np.ndarray, residual: np.ndarray, du: np.ndarray) -> None:
    """The shortest du with J du = −residual, as far as it goes."""
    n = J.shape[1]
    solve_constrained(np.eye(n), np.zeros(n), J, residual, du, np.empty(0))


@native
def _close(c: Follower, t: float, want: np.ndarray, y: np.ndarray, bounded: bool) -> int:
    """Newton's method on constraints and targets at position level."""
    nq, rows, error, way = c.nq, c.n_positions, 1e300, 0.0
    du = np.zeros(c.nv)
    y[nq:] = 0.0
    for _ in range(NEWTON_STEPS):
        e = Wanted.of(c, c.kernel(t, y, c.parameters))
        residual = e.position - want[:rows]
        previous, error = error, 0.0
        for x in residual:
            if not np.isfinite(x):
                return NOT_FINITE
            error = max(error, abs(x))
        c.residual = error
        if error <= EXACT or (error < CLOSE and error > 0.5 * previous):
            y[nq - c.n_windings : nq] = e.turns
            return FOLLOWED
        _least(e.J[:rows], residual, du)
        longest = 0.0
        for x in du:
            longest = max(longest, abs(x))
        if not np.isfinite(longest):
            return NOT_FINITE
        if longest > LONGEST_STEP:
            du *= LONGEST_STEP / longest
        way += min(longest, LONGEST_STEP)
        if bounded and way > LONGEST_WAY:
            return JUMP
        y[:nq] = c.move(y[:nq], du, c.parameters)[:nq]
        y[nq - c.n_windings : nq] = Wanted.of(c, c.kernel(t, y, c.parameters)).turns
    return NO_CONVERGENCE


@native
def close(c: Follower, t: float, want: np.ndarray, y: np.ndarray) -> int:
    """The position closest to y that has the wanted values, in place."""
    return _close(c, t, want, y, False)


@native
def _rates(c: Follower, t: float, want: np.ndarray, y: np.ndarray, du: np.ndarray, qdot: np.ndarray) -> int:
    """Velocities, accelerations and q̇ at a position."""
    nq, nv, rows = c.nq, c.nv, c.n_rows
    y[nq:] = 0.0
    e = Wanted.of(c, c.kernel(t, y, c.parameters))
    first = want[c.n_positions : c.n_positions + rows]
    J, offset = e.J.copy(), e.rate - first
    unit, none, multipliers, u = np.eye(nv), np.zeros(nv), np.empty(rows), np.empty(nv)
    _, rank, ratio, Q, R, free = constrained_factors(unit, J)
    c.smallest_pivot = min(c.smallest_pivot, ratio)
    if rank < nv:
        return SINGULAR
    conflict = constrained_solution(unit, none, offset, Q, R, free, u, multipliers)
    size = 1.0
    for x in first:
        size = max(size, abs(x))
    if conflict > CONTRADICTION_LIMIT * size:
        return CONTRADICTION
    y[nq:] = u
    e = Wanted.of(c, c.kernel(t, y, c.parameters))
    qdot[:] = e.qdot
    constrained_solution(unit, none, e.bias - want[c.n_positions + rows :], Q, R, free, du, multipliers)
    for x in du:
        if not np.isfinite(x):
            return NOT_FINITE
    return FOLLOWED


@native
def _integrate(
    c: Follower, t: float, h: float, middle: np.ndarray, end: np.ndarray, y: np.ndarray, k1: np.ndarray
) -> int:
    """q after a step of the classical Runge-Kutta method, from q̇ = k1."""
    nq = c.nq
    stage, du = y.copy(), np.empty(c.nv)
    k2, k3, k4 = np.empty(nq), np.empty(nq), np.empty(nq)
    stage[:nq] = y[:nq] + 0.5 * h * k1
    status = _rates(c, t + 0.5 * h, middle, stage, du, k2)
    if status != FOLLOWED:
        return status
    stage[:nq] = y[:nq] + 0.5 * h * k2
    status = _rates(c, t + 0.5 * h, middle, stage, du, k3)
    if status != FOLLOWED:
        return status
    stage[:nq] = y[:nq] + h * k3
    status = _rates(c, t + h, end, stage, du, k4)
    for i in range(nq):
        y[i] += h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])
    return status


@native
def follow(c: Follower, times: np.ndarray, wanted: np.ndarray, states: np.ndarray, du: np.ndarray) -> tuple[int, int]:
    """States and accelerations at all instants; the first row of ``states`` is where to begin.

    Args:
        wanted: values at position level, velocity level and acceleration level; every second row is half-way between
            two instants if the position is integrated.

    Returns:
        how it ended, and the number of instants that were done.
    """
    nq, nv = c.nq, c.nv
    y, qdot, none = states[0].copy(), np.zeros(nq), np.zeros(nv)
    for i in range(times.shape[0]):
        t, at = times[i], i
        if c.integrates:
            at = 2 * i
        if i > 0:
            h = t - times[i - 1]
            if c.integrates:
                status = _integrate(c, times[i - 1], h, wanted[at - 1], wanted[at], y, qdot)
                if status != FOLLOWED:
                    return status, i
                y[:nq] = c.move(y[:nq], none, c.parameters)[:nq]
            else:
                y[:nq] += h * qdot
                y[:nq] = c.move(y[:nq], 0.5 * h * h * du[i - 1], c.parameters)[:nq]
        status = _close(c, t, wanted[at], y, i > 0)
        if status == FOLLOWED:
            status = _rates(c, t, wanted[at], y, du[i], qdot)
        if status != FOLLOWED:
            states[i] = y
            return status, i
        states[i] = y
    return FOLLOWED, times.shape[0]
