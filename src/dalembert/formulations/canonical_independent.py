"""Canonical equations in independent momenta: as many as freedoms, and no multipliers."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import Sizes, Variables
from dalembert.formulations.canonical import CanonicalFormulation, MomentumRates, largest_mass, rates_at
from dalembert.formulations.independent import boolean_solver
from dalembert.native import Outputs, Vector, native
from dalembert.numerics.context import ILL_CONDITIONED, OK, RESTART, STALE_CHOICE, Context, finite, give_up, watch
from dalembert.numerics.integrated import Motion, VariablesRecord, constraints_at
from dalembert.numerics.linear import cholesky, cholesky_substitute
from dalembert.numerics.partition import Choice, Split, follow, recalled, renewed, solution_basis, split
from dalembert.numerics.solver_steps import reduced_mass, undetermined

__all__ = ["CanonicalIndependent"]


class IndependentMomenta(Outputs):
    """y or ẏ, where  u = R ż + s;  m is the largest entry of M where the run began."""

    q = Vector("context.nq")
    p_by_m = Vector("context.nv")  # Rᵀp/m in the places of the independent velocities
    work = Vector(1)  # W − sᵀp
    m = Vector(1)
    choice = Vector("context.nv")


class Moving(NamedTuple):
    """The choice at one position, Rᵀ, s and p = M u."""

    split: Split
    R: np.ndarray
    shift: np.ndarray
    p: np.ndarray


@native
def _motion(o: VariablesRecord, t: float, y: np.ndarray, x: np.ndarray):
    """u and W into x; returns the status and what else is known of the motion."""
    c, given, motion = o.context, IndependentMomenta.of(o, y), Motion.of(o.context, x)
    motion.q[:] = given.q
    e = constraints_at(c, t, motion.q)
    s = split(recalled(given.choice), e.A)
    if s.ratio <= 0.0:
        return give_up(c, STALE_CHOICE), Moving(s, e.A, e.rate, e.rate)
    R, shift = solution_basis(s, e.A, e.rate)
    watch(c, s.rank, s.ratio, 0.0)
    free = s.columns[s.rank :]
    H = R @ (e.M @ R.T)
    z = given.m[0] * given.p_by_m[free] - R @ (e.M @ shift)
    if not cholesky(H):
        return undetermined(c, e.M, e.A, ILL_CONDITIONED), Moving(s, R, shift, e.rate)
    cholesky_substitute(H, z)
    motion.u[:] = z @ R + shift
    p = e.M @ motion.u
    motion.work[0] = given.work[0] + shift @ p
    return OK, Moving(s, R, shift, p)


@native
def _decode(o: VariablesRecord, t: float, y: np.ndarray, x: np.ndarray) -> int:
    status, _ = _motion(o, t, y, x)
    return status


@native
def _encode(o: VariablesRecord, t: float, x: np.ndarray, y: np.ndarray) -> int:
    c, motion, state = o.context, Motion.of(o.context, x), IndependentMomenta.of(o, y)
    e = constraints_at(c, t, motion.q)
    if state.m[0] == 0.0:
        state.m[0] = largest_mass(e.M)
    changed = renewed(state.choice, e.A)
    s = split(recalled(state.choice), e.A)
    R, shift = solution_basis(s, e.A, e.rate)
    p, free = e.M @ motion.u, s.columns[s.rank :]
    state.q[:] = motion.q
    state.p_by_m[:] = 0.0
    state.p_by_m[free] = R @ p / state.m[0]
    state.work[0] = motion.work[0] - shift @ p
    return RESTART if changed else OK


@native
def _rhs(o: VariablesRecord, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    # A Ṙ = −Ȧ R,  A ṡ = −Ȧ s − ḃ;  d/dt Rᵀp = Rᵀ(∂L/∂q + Q) + Ṙᵀp.
    c, m = o.context, IndependentMomenta.of(o, y).m[0]
    rate, x, turn = IndependentMomenta.of(o, dy), np.empty(c.nq + c.nv + 1), np.zeros(c.nv)
    status, now = _motion(o, t, y, x)
    if status != OK:
        return status
    r, s = rates_at(o, t, x), now.split
    dy[:] = 0.0
    rate.q[:] = r.qdot
    for k in range(c.nv - s.rank):
        follow(s, r.jacobian_rate @ now.R[k], turn)
        rate.p_by_m[s.columns[s.rank + k]] = (now.R[k] @ r.momentum_rate + turn @ now.p) / m
    follow(s, r.jacobian_rate @ now.shift + r.b_rate, turn)
    rate.work[0] = r.power - turn @ now.p - now.shift @ r.momentum_rate
    return finite(c, dy)


class CanonicalIndependent(CanonicalFormulation):
    """Momenta projected onto the directions of motion, u = R ż + s with R and s from the constraints:

        y = Rᵀ M u,      (Rᵀ M R) ż = y − Rᵀ M s,      ẏ = Rᵀ (∂L/∂q + Q) + Ṙᵀ M u

    ż are entries of u, found by complete pivoting and kept while the pivots are good; they are looked at after each
    step. Ṙ comes from A and Ȧ. The work of drives needs no λ: W − sᵀp has the rate
    (power of forces) − ṡᵀp − sᵀ(∂L/∂q + Q).

    Reference: D. S. Bae, Y. S. Won, "A Hamiltonian equation of motion for realtime vehicle simulation", ASME Adv. Des.
    Autom. 2 (1990) 151–157; J. García de Jalón, E. Bayo, sec. 5.4.2, algorithm 5-7, eqs. 5.104–5.112.
    """

    name: ClassVar[str] = "canonical-independent"
    title: ClassVar[str] = "Canonical equations in independent momenta"
    solver = boolean_solver

    def record(self, context: Context) -> Choice:
        return Choice(context=context)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, A)

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        return sizes.nq + freedom[1]

    def variables(self, sizes: Sizes) -> Variables:
        n = sizes.nq + sizes.nv + 1
        return Variables("independent momenta", n + 1 + sizes.nv, n, _rhs, _decode, _encode, blocks=MomentumRates)
