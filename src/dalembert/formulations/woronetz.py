"""Equations of Woronetz: the constraints solved for dependent velocities and put into the equations of motion."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, Equations
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.quasi_velocities import independent_rates, mechanics_of, plan_of
from dalembert.formulations.base import BlockFormulation
from dalembert.formulations.shared.analytical import Derived
from dalembert.native import Matrix, Outputs, Vector, native
from dalembert.numerics.context import ILL_CONDITIONED, OK, Context, Solution, System, stabilized, watch
from dalembert.numerics.linear import cholesky, cholesky_substitute, least_norm_multipliers, lu_factor, lu_solve
from dalembert.numerics.partition import Choice, Split, follow, keep_or_choose, solution_basis, split
from dalembert.numerics.scaling import even_rows, even_sides
from dalembert.numerics.solver_steps import largest_residual, reduced_mass, undetermined

__all__ = ["Woronetz"]


class ConstraintRates(Outputs):
    """What ``Woronetz.blocks`` adds: Ȧ and ḃ."""

    jacobian_rate = Matrix("rows", "nv")
    b_rate = Vector("rows")


@native
def _multipliers(c: Context, s: Split, e: System, out: Solution) -> int:
    """λ from the equations of the dependent velocities:  A_dᵀ λ = (M u̇ − f)_d."""
    force, transposed, pivots = e.M @ out.du, np.empty((s.rank, s.rank)), np.empty(s.rank, dtype=np.int64)
    rest = np.empty(s.rank)
    for i in range(s.rank):
        rest[i] = force[s.columns[i]] - e.f[s.columns[i]]
        for j in range(s.rank):
            transposed[i, j] = e.A[j, s.columns[i]]
    if not lu_factor(transposed, pivots):
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    lu_solve(transposed, pivots, rest)
    out.multipliers[: s.rank] = rest
    return OK


@native
def _bend(c: Context, s: Split, F: np.ndarray, shift: np.ndarray, e: System) -> np.ndarray:
    """Ḟ v + ṡ:  A Ḟ = −Ȧ F,  A ṡ = −Ȧ s − ḃ;  Baumgarte's terms, if any, pull at the dependent velocities."""
    own, bend, column = ConstraintRates.of(c, e.own), np.zeros(c.nv), np.zeros(c.nv)
    if c.scaled != 0:
        even_rows(c, own.jacobian_rate)
        even_sides(c, own.b_rate)
    pull = stabilized(c, np.zeros(c.rows), e.phi, e.rate)
    follow(s, pull + (own.jacobian_rate @ shift + own.b_rate), bend)
    for k in range(c.nv - s.rank):
        follow(s, own.jacobian_rate @ F[k], column)
        bend += column * e.u[s.columns[s.rank + k]]
    return bend


@native
def _solver(o: Choice, t: float, e: System, out: Solution) -> int:
    # u = F v + s:  A F = 0,  A s = −b.
    c, M, f, A = o.context, e.M, e.f, e.A
    if keep_or_choose(o.independent, A):
        o.choices += 1
    s = split(o.independent, A)
    F, shift = solution_basis(s, A, e.rate - A @ e.u)
    bend = _bend(c, s, F, shift, e)
    # (Fᵀ M F) v̇ = Fᵀ (f − M (Ḟ v + ṡ))
    G = F @ (M @ F.T)
    dv = F @ f - F @ (M @ bend)
    if not cholesky(G):
        return undetermined(c, M, A, ILL_CONDITIONED)
    cholesky_substitute(G, dv)
    out.du[:] = dv @ F + bend
    watch(c, s.rank, s.ratio, largest_residual(A, e.gamma, out.du))
    if s.rank < c.rows:
        least_norm_multipliers(M, f, A, out.du, out.multipliers)
        return OK
    return _multipliers(c, s, e, out)


class Woronetz(BlockFormulation):
    """Dependent velocities are functions of independent ones v, which are entries of u: u = F v + s. The motion in v:

        G̅ v̇ + C̅ v = Q̅,      G̅ = Fᵀ M F,   C̅ v = Fᵀ (h + M (Ḟ v + ṡ)),   Q̅ = Fᵀ Q

    Ḟ and ṡ are formed from A, Ȧ and ḃ; accelerations of the constraints, γ, are never asked for. λ comes from the
    equations of the dependent velocities, or is the one of least norm if rows are redundant. v is found by complete
    pivoting and kept while the pivots are good.

    Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
    eqs. 54–59; P. Woronetz, "Über die Bewegung eines starren Körpers, der ohne Gleitung auf einer beliebigen Fläche
    rollt", Math. Ann. 70 (1911) 410–453.
    """

    name: ClassVar[str] = "woronetz"
    title: ClassVar[str] = "Woronetz"
    solver = _solver
    own = ConstraintRates

    def record(self, context: Context) -> Choice:
        return Choice(context=context)

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        return {
            **super().blocks(equations),
            "jacobian_rate": equations.along(equations.jacobian),
            "b_rate": equations.along(equations.velocity_bias),
        }

    def derive(self, mechanics: Mechanics) -> Derived:
        """In generalized coordinates:  q̇_D = B v + c  for v = q̇_I, with T* the energy of v alone and the curvature of
        the constraints times the momenta of the dependent coordinates,

            d/dt ∂T*/∂v − ∂T*/∂q_I − Bᵀ ∂T*/∂q_D − Σ p_ν (Cᵛ v + cᵛ) = Q_I + Bᵀ Q_D.
        """
        m, al = mechanics, mechanics.al
        free = independent_rates(m.equations.tree.coordinates)
        bound = [i for i in range(m.m) if i not in free]
        v = m.qd[free]
        qdot = m.qd.copy()
        qdot[bound] = m.rates_from(m.a[:, bound], -m.b - m.a[:, free] @ v)
        F, shift = m.affine(qdot, v)
        moving = m.moving(qdot)
        momenta = al.gradient(m.T, m.qd)[bound]
        momenta = al.substitute(momenta, m.qd, qdot)
        q, time = m.q[: m.m], al.vector([m.t])
        bent = al.zeros(len(free))
        for nu, p in zip(bound, momenta, strict=True):
            along = al.jacobian(F[nu], q) @ F
            moved = al.jacobian(F[nu], time)[:, 0] + al.jacobian(F[nu], q) @ shift - F.T @ al.gradient(shift[nu], q)
            bent = bent + p * ((along - along.T) @ v + moved)
        force = F.T @ (moving.Q + m.by_q(moving.T) - m.by_q(m.V))
        p = al.gradient(moving.T, v)
        none = al.zeros(0, len(free)), al.zeros(0)
        names, functions = [m.rate_names[i] for i in free], {"T": moving.T, "V": m.V}
        k = force + bent - moving.along(p)
        return Derived(names, v, v, qdot, al.jacobian(p, v), k, *none, functions=functions)

    def mechanics(self, equations: Equations, tidy: Any = None) -> Mechanics:
        return mechanics_of(equations, plan_of(equations.tree.coordinates), tidy)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, A)
