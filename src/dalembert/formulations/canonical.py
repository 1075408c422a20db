"""Canonical equations with multipliers: momenta instead of velocities, constraints differentiated once only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dalembert.equations import BlockEquations
from dalembert.formulations.base import BlockFormulation, Sizes, Variables
from dalembert.native import Matrix, Outputs, Real, Vector, native
from dalembert.numerics.context import NO_MASS, OK, RESTART, Closure, Context, finite, watch
from dalembert.numerics.integrated import Mixed, Motion, VariablesRecord, constraints_at, held_constraints_at
from dalembert.numerics.linear import cholesky, cholesky_substitute, solve_constrained
from dalembert.numerics.solver_steps import undetermined

__all__ = [
    "Canonical", "CanonicalFormulation", "MomentumRates", "largest_mass", "momentum_of", "momentum_rates", "rates_at",
    "write_momenta",
]  # fmt: skip

# Aᵀσ may grow to so many times M u (or M times a velocity of one) before it is taken out of p.
TALL = 10.0


class Momenta(Outputs):
    """y or ẏ; m is the largest entry of M where the run began: tolerances then mean velocities."""

    q = Vector("context.nq")
    p_by_m = Vector("context.nv")
    work = Vector(1)  # W − bᵀσ
    m = Vector(1)


class MomentumRates(Outputs):
    """What is evaluated at (t, q, u), see ``CanonicalFormulation.variables_blocks``."""

    qdot = Vector("context.nq")
    power = Real()
    momentum_rate = Vector("context.nv")
    jacobian_rate = Matrix("context.rows", "context.nv")
    b_rate = Vector("context.rows")


@native
def rates_at(o: VariablesRecord, t: float, x: np.ndarray) -> MomentumRates:
    """q̇, the power of forces without potential, ∂L/∂q + Q, Ȧ and ḃ at (t, q, u)."""
    c = o.context
    return MomentumRates.of(o, c.variables(t, x[: c.nq + c.nv], c.parameters, c.tau))


@native
def momentum_rates(o: VariablesRecord, t: float, x: np.ndarray, sigma: np.ndarray):
    """q̇,  ṗ = ∂L/∂q + Q + Ȧᵀσ,  and the rate of W − bᵀσ:  (power of forces) − ḃᵀσ."""
    r = rates_at(o, t, x)
    force, power = r.momentum_rate.copy(), r.power
    for i in range(sigma.shape[0]):
        force += r.jacobian_rate[i] * sigma[i]
        power -= r.b_rate[i] * sigma[i]
    return r.qdot, force, power


@native
def largest_mass(M: np.ndarray) -> float:
    """The largest entry of M in size, 1 if all are zero."""
    largest = 0.0
    for x in M.flat:
        largest = max(largest, abs(x))
    return largest if largest > 0.0 else 1.0


@native
def momentum_of(e: Closure, u: np.ndarray, sigma: np.ndarray):
    """p = M u + Aᵀσ  and  bᵀσ;  without σ, and RESTART, if Aᵀσ has grown tall."""
    p, push, tall, scale = e.M @ u, sigma @ e.A, 0.0, largest_mass(e.M)
    for j in range(p.shape[0]):
        tall, scale = max(tall, abs(push[j])), max(scale, abs(p[j]))
    if tall > TALL * scale:
        return RESTART, p, 0.0
    return OK, p + push, e.rate @ sigma


@native
def _velocities(o: VariablesRecord, t: float, y: np.ndarray, x: np.ndarray, sigma: np.ndarray) -> int:
    """u and σ:  M u + Aᵀσ = p,  A u + b = 0;  then W."""
    c, given, motion = o.context, Momenta.of(o, y), Motion.of(o.context, x)
    motion.q[:] = given.q
    e = held_constraints_at(c, t, motion.q)
    status, rank, ratio, conflict = solve_constrained(e.M, given.m[0] * given.p_by_m, e.A, e.rate, motion.u, sigma)
    if status != OK:
        return undetermined(c, e.M, e.A, NO_MASS)
    watch(c, rank, ratio, conflict)
    motion.work[:] = given.work
    for i in range(c.rows):
        sigma[i] = -sigma[i]
        motion.work[0] += e.rate[i] * sigma[i]
    return OK


@native
def _decode(o: VariablesRecord, t: float, y: np.ndarray, x: np.ndarray) -> int:
    return _velocities(o, t, y, x, o.context.multipliers)


@native
def write_momenta(c: Context, e: Closure, motion: Motion, state: Any) -> int:
    """q, p/m and W − bᵀσ from a motion; m is found where a run begins."""
    if state.m[0] == 0.0:
        state.m[0] = largest_mass(e.M)
    status, p, of_drives = momentum_of(e, motion.u, c.multipliers)
    state.q[:] = motion.q
    state.p_by_m[:] = p / state.m[0]
    state.work[0] = motion.work[0] - of_drives
    return status


@native
def _encode(o: VariablesRecord, t: float, x: np.ndarray, y: np.ndarray) -> int:
    motion = Motion.of(o.context, x)
    return write_momenta(o.context, held_constraints_at(o.context, t, motion.q), motion, Momenta.of(o, y))


@native
def _rhs(o: VariablesRecord, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    c = o.context
    rate, x, sigma = Momenta.of(o, dy), np.empty(c.nq + c.nv + 1), np.empty(c.rows)
    status = _velocities(o, t, y, x, sigma)
    if status != OK:
        return status
    rate.q[:], force, rate.work[0] = momentum_rates(o, t, x, sigma)
    rate.p_by_m[:] = force / Momenta.of(o, y).m[0]
    rate.m[0] = 0.0
    return finite(c, dy)


class MixedState(Outputs):
    """z or F: y, velocities, and the multipliers of independent rows."""

    q = Vector("context.nq")
    p_by_m = Vector("context.nv")
    work, m = 2 * Vector(1)
    u = Vector("context.nv")
    multipliers = Vector("context.n_active")


@native
def _plain_encode(o: VariablesRecord, t: float, x: np.ndarray, y: np.ndarray) -> int:
    """p = M u: no impulse of constraints is kept in it."""
    o.context.multipliers[:] = 0.0
    return _encode(o, t, x, y)


@native
def _mixed_dae(o: VariablesRecord, t: float, z: np.ndarray, F: np.ndarray) -> int:
    """q̇, ṗ = ∂L/∂q + Q + Aᵀλ, the power;  0 = p − M u,  0 = A u + b."""
    c, given, out = o.context, MixedState.of(o, z), MixedState.of(o, F)
    e, m = constraints_at(c, t, given.q), given.m[0]
    out.u[:] = given.p_by_m - e.M @ given.u / m
    lost, push = 0.0, np.zeros(c.nv)
    for i in range(c.n_active):
        row = c.active[i]
        out.multipliers[i] = e.A[row] @ given.u + e.rate[row]
        push += e.A[row] * given.multipliers[i]
        lost += e.rate[row] * given.multipliers[i]
    x = np.empty(c.nq + c.nv)
    x[: c.nq] = given.q
    x[c.nq :] = given.u
    r = rates_at(o, t, x)
    out.q[:] = r.qdot
    out.p_by_m[:] = (r.momentum_rate + push) / m
    out.work[0] = r.power - lost
    out.m[0] = 0.0
    return finite(c, F)


@native
def _mixed_start(o: VariablesRecord, t: float, z: np.ndarray) -> int:
    """u of p, and the λ of independent rows that push as those of all rows do."""
    c, given, n = o.context, MixedState.of(o, z), o.context.nq + o.context.nv + 1
    x, rate = np.empty(n), np.empty(n)
    status = _velocities(o, t, z, x, c.multipliers)
    if status == OK:
        status = c.rhs(t, x, rate)
    if status != OK:
        return status
    given.u[:] = x[c.nq : c.nq + c.nv]
    e = constraints_at(c, t, given.q)
    push = c.multipliers @ e.A
    A = np.empty((c.n_active, c.nv))
    for i in range(c.n_active):
        A[i] = e.A[c.active[i]]
    K = A @ A.T
    given.multipliers[:] = A @ push
    if not cholesky(K):
        return undetermined(c, e.M, e.A, NO_MASS)
    cholesky_substitute(K, given.multipliers)
    return OK


MIXED = Mixed("index-2", 2, _mixed_dae, _mixed_start, _plain_encode)


class CanonicalFormulation(BlockFormulation):
    """What formulations with momenta share.

    u̇ follows from  ṗ = ∂L/∂q + Q  by  M u̇ = ṗ − Ṁ u + Aᵀλ,  where Ṁ is the derivative of M along the motion.
    """

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        forcing = equations.momentum_rate - equations.along(equations.mass_matrix) @ equations.u
        return {**super().blocks(equations), "forcing": forcing}

    def variables_blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        return {
            "momentum_rate": equations.momentum_rate,
            "jacobian_rate": equations.along(equations.jacobian),
            "b_rate": equations.along(equations.velocity_bias),
        }


class Canonical(CanonicalFormulation):
    """Momenta with the constraints in them; velocities, which satisfy the constraints, follow from a linear system:

        p = M u + Aᵀσ,      ⎡ M  Aᵀ ⎤ ⎡ u ⎤   ⎡  p ⎤
                            ⎣ A  0  ⎦ ⎣ σ ⎦ = ⎣ −b ⎦,      ṗ = ∂L/∂q + Q + Ȧᵀσ

    ṗ is explicit. σ = −∫ λ dt is taken out of p when it has grown large, which changes nothing in the motion. The work
    of drives needs no λ either: W − bᵀσ has the rate  (power of forces) − ḃᵀσ.

    With ``stabilization="index-2"`` σ is left out and ``radau`` solves, for q, p, u and λ, the system of index 2

        p = M u,   ṗ = ∂L/∂q + Q + Aᵀλ,   A u + b = 0

    Reference: H. M. Lankarani, P. E. Nikravesh, "Application of the canonical equations of motion in problems of
    constrained multibody systems with intermittent motion", ASME Adv. Des. Autom. 14-1 (1988) 417–423; J. García de
    Jalón, E. Bayo, sec. 5.4.1, algorithm 5-6, eqs. 5.97–5.103.
    """

    name: ClassVar[str] = "canonical"
    title: ClassVar[str] = "Canonical equations with multipliers"

    def variables(self, sizes: Sizes) -> Variables:
        n = sizes.nq + sizes.nv + 1
        return Variables(
            "momenta instead of velocities", n + 1, n, _rhs, _decode, _encode, blocks=MomentumRates, mixed=MIXED
        )
