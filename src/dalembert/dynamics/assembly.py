"""Positions that close all loops and have given values, as native functions: from one start, along a path, from many.

Rows are the holonomic constraints φ(t,q) and residuals r(q,s) of quantities with given values s. Velocities of joints
whose coordinates are given stay zero: such values are kept to the last bit.

    minimize |φ|² + |r|²        Levenberg's and Marquardt's method where it is far from closed,
    J δ = −(φ, r), δ shortest   Newton's method near by, in the metric of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel as Compiled
from dalembert.coordinates.moving import TreeMotion
from dalembert.native import Int, Kernel, Matrix, Outputs, Real, Record, Vector, native
from dalembert.numerics.linear import cholesky, cholesky_substitute, solve_constrained

if TYPE_CHECKING:
    from dalembert.dynamics.mechanism_kernels import MechanismKernels

__all__ = ["CLOSED", "Closing", "Quantity", "closing_kernel", "lead_all", "settle", "settle_all"]

# Lengths, angles and residuals are in even units (see ``dynamics.even_units``).
EXACT = 1e-14  # residual, relative to the largest coordinate, at which Newton's method stops
CLOSED = 1e-10  # residual of a closed position, relative
NEAR = 1e-2  # residual from which on Newton's method takes over
NEWTON_STEPS = 40
DAMPED_STEPS = 80
LONGEST_STEP = 0.7
FIRST_DAMPING = 1e-2


@dataclass(frozen=True)
class Quantity:
    """A quantity of the position whose value is given.

    Attributes:
        key: what tells it from others.  name: as the user calls it.
        given, rows: how many numbers say its value, and how many residuals it has.
        residual: vanishes where the motion has these values; in the motion's algebra.
        measure: the values that a motion has.
    """

    key: Any
    name: str
    given: int
    rows: int
    residual: Callable[[TreeMotion, Any], list[Any]]
    measure: Callable[[TreeMotion], Any]


class Rows(Outputs):
    """What the kernel gives: residuals, their Jacobian, the angles whose turns are counted."""

    residual = Vector("rows")
    J = Matrix("rows", "nv")
    turns = Vector("n_windings")


class Closing(Record):
    """One mechanism with given values.

    Attributes:
        rows: constraints and residuals of quantities.
        stride: of every velocity, 1/√weight; 0 for those that are held.
        scaled: 1 where all is in even units: ``place_unit`` of coordinates, ``unit`` of velocities, ``row_unit``.
        kernel, move: of (t, q, u, p, s) and of (q, δ, p).
        error: largest residual that was left at last.
    """

    nq, nv, rows, n_windings, n_parameters, n_given, scaled = 7 * Int()
    error = Real()
    parameters = Vector("n_parameters")
    given = Vector("n_given")
    stride, unit = 2 * Vector("nv")
    place_unit, row_unit = Vector("nq"), Vector("rows")
    kernel, move = 2 * Kernel()


def closing_kernel(kernels: MechanismKernels, quantities: Sequence[Quantity]) -> Compiled:
    """Residuals with their derivatives, traced over CasADi."""
    al, e = CASADI, kernels.traced
    given = al.symbols("given", sum(one.given for one in quantities))
    found: list[Any] = []
    at = 0
    for one in quantities:
        found += one.residual(e.motion, given[1][at : at + one.given])
        at += one.given
    more = al.array(found)
    position = al.concatenate([e.position_residual(), more])
    J = e.jacobian[: kernels.rows.holonomic]
    if found:
        # r(t, q) with q̇ = E(q) u:  ṙ for each velocity.
        E = al.columns(lambda u: e.tree.qdot(e.q, u), kernels.nv)
        plain = e.q[: len(e.q) - kernels.coordinates.tail]
        J = np.concatenate([J, al.jacobian(more, plain) @ E])
    turns = al.array([e.motion.joint(w.joint)[0][w.index] for w in kernels.coordinates.windings])
    return kernels.compile("closing", {"residual": position, "jacobian": J, "turns": turns}, given=given)


@native
def _largest(x: np.ndarray) -> float:
    size = 0.0
    for value in x:
        if not np.isfinite(value):
            return np.inf
        size = max(size, abs(value))
    return size


@native
def _size(c: Closing, y: np.ndarray) -> float:
    """1 and the largest coordinate."""
    return 1.0 + _largest(y[: c.nq] if c.scaled == 0 else y[: c.nq] / c.place_unit)


@native
def _seen(c: Closing, t: float, y: np.ndarray) -> Rows:
    """Residuals and J at a position."""
    e = Rows.of(c, c.kernel(t, y, c.parameters, c.given))
    if c.scaled != 0:
        e.residual *= c.row_unit
        for i in range(c.rows):
            for j in range(c.nv):
                e.J[i, j] *= c.row_unit[i] * c.unit[j]
    return e


@native
def _moved(c: Closing, t: float, y: np.ndarray, du: np.ndarray, out: np.ndarray) -> None:
    """The position y moved along the tangent du; windings follow the poses."""
    nq = c.nq
    out[:] = y
    out[:nq] = c.move(y[:nq], du if c.scaled == 0 else du * c.unit, c.parameters)[:nq]
    if c.n_windings > 0:
        out[nq - c.n_windings : nq] = Rows.of(c, c.kernel(t, out, c.parameters, c.given)).turns


@native
def _scaled(c: Closing, e: Rows) -> np.ndarray:
    """J in the metric of the weights; nothing where velocities are held."""
    J = e.J.copy()
    for i in range(c.rows):
        for j in range(c.nv):
            J[i, j] *= c.stride[j]
    return J


@native
def _newton(c: Closing, t: float, y: np.ndarray) -> bool:
    """Newton's method with the shortest steps; True if all is closed."""
    nv, error = c.nv, np.inf
    x, du, unit, none, multipliers = np.zeros(nv), np.zeros(nv), np.eye(nv), np.zeros(nv), np.empty(c.rows)
    trial = y.copy()
    for _ in range(NEWTON_STEPS):
        e = _seen(c, t, y)
        previous, error = error, _largest(e.residual)
        c.error = error
        size = _size(c, y)
        if error <= EXACT * size or (error <= CLOSED * size and error > 0.5 * previous):
            return True
        if not np.isfinite(error) or error > 1e3 * NEAR:
            return False
        solve_constrained(unit, none, _scaled(c, e), e.residual, x, multipliers)
        du[:] = x * c.stride
        longest = _largest(du)
        if not np.isfinite(longest):
            return False
        if longest > LONGEST_STEP:
            du *= LONGEST_STEP / longest
        _moved(c, t, y, du, trial)
        y[:] = trial
    return c.error <= CLOSED * _size(c, y)


@native
def _damped_step(c: Closing, e: Rows, damping: float, du: np.ndarray) -> bool:
    """(JᵀJ + μ D) δ = −Jᵀr in the metric of the weights, D the diagonal of JᵀJ and some of its mean."""
    nv, rows = c.nv, c.rows
    H = np.zeros((nv, nv))
    du[:] = 0.0
    mean = 0.0
    for r in range(rows):
        for i in range(nv):
            a = e.J[r, i] * c.stride[i]
            if a != 0.0:
                du[i] -= a * e.residual[r]
                mean += a * a
                for j in range(nv):
                    H[i, j] += a * e.J[r, j] * c.stride[j]
    mean = max(mean / nv, 1e-300)
    for i in range(nv):
        H[i, i] += damping * (H[i, i] + 0.1 * mean) + 1e-14 * mean
    if not cholesky(H):
        return False
    cholesky_substitute(H, du)
    du *= c.stride
    return True


@native
def settle(c: Closing, t: float, y: np.ndarray) -> bool:
    """The position from which nothing gets closer, in place; True if all is closed there, ``c.error`` tells what is
    left."""
    nv, damping = c.nv, FIRST_DAMPING
    du, trial, near = np.zeros(nv), y.copy(), y.copy()
    e = _seen(c, t, y)
    cost = 0.0
    for x in e.residual:
        cost += x * x
    for _ in range(DAMPED_STEPS):
        e = _seen(c, t, y)
        c.error = _largest(e.residual)
        if not np.isfinite(c.error):
            return False
        if c.error <= NEAR:
            near[:] = y
            if _newton(c, t, near):
                y[:] = near
                return True
            e = _seen(c, t, y)
            c.error = _largest(e.residual)
        better = False
        for _ in range(12):
            if _damped_step(c, e, damping, du):
                longest = _largest(du)
                if longest > LONGEST_STEP:
                    du *= LONGEST_STEP / longest
                _moved(c, t, y, du, trial)
                now = _seen(c, t, trial)
                total = 0.0
                for x in now.residual:
                    total += x * x
                if total < cost * (1.0 - 1e-12):
                    better = total < cost * (1.0 - 1e-7)
                    cost = total
                    y[:] = trial
                    damping = max(0.2 * damping, 1e-12)
                    break
                e = _seen(c, t, y)
            damping = min(6.0 * damping, 1e6)
        if not better:
            break
    c.error = _largest(_seen(c, t, y).residual)
    return c.error <= CLOSED * _size(c, y)


@native
def settle_all(c: Closing, t: float, starts: np.ndarray, errors: np.ndarray) -> int:
    """Settle every row of ``starts``, in place; the largest residual of each, infinite where numbers end; how many
    are closed."""
    count = 0
    for i in range(starts.shape[0]):
        y = starts[i].copy()
        if settle(c, t, y):
            count += 1
        starts[i] = y
        errors[i] = c.error
    return count


@native
def lead_all(
    c: Closing, t: float, base: np.ndarray, ways: np.ndarray, values: np.ndarray, stages: np.ndarray, out: np.ndarray,
    errors: np.ndarray,
) -> None:  # fmt: skip
    """Positions that are led from one closed position to many, each in stages, so that loops keep their branch.

    Args:
        base: the closed position (q, u = 0).
        ways: tangents (in even units) along which held coordinates are led, one row for each result.
        values: given values to begin with in the first row, then those of each result.
        out: where the results go: rows (q, u = 0).
        errors: largest residual of each.
    """
    nv = c.nv
    held, x, trial = np.empty(nv), np.empty(nv), base.copy()
    unit, none, multipliers = np.eye(nv), np.zeros(nv), np.empty(c.rows)
    for i in range(ways.shape[0]):
        y = base.copy()
        count = stages[i]
        for k in range(int(count)):
            share = (k + 1) / count
            c.given[:] = (1.0 - share) * values[0] + share * values[i + 1]
            # Along the tangent at the closed position: where it leads may be singular.
            held[:] = ways[i] / count
            e = _seen(c, t, y)
            solve_constrained(unit, none, _scaled(c, e), e.residual + e.J @ held, x, multipliers)
            held += x * c.stride
            _moved(c, t, y, held, trial)
            y[:] = trial
            if not _newton(c, t, y) and not settle(c, t, y):
                break
        out[i] = y
        errors[i] = c.error
