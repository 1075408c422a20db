"""Equations of Woronetz: the constraints solved for dependent velocities and put into the equations of motion."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.coordinates import Coordinates
from dalembert.formulations.analytical import Derived
from dalembert.formulations.base import BlockFormulation
from dalembert.formulations.equations import Equations
from dalembert.formulations.mechanics import Mechanics
from dalembert.formulations.partition import check_room, follow, keep_or_choose, solution_basis, split
from dalembert.formulations.quasi_velocities import independent_rates, mechanics_of, plan_of
from dalembert.formulations.system import dot, onto_rows, product, received, reduced_mass
from dalembert.numerics.layout import EXTRA, HOLONOMIC, NV, ROWS, options, stabilised, watch
from dalembert.numerics.linear import (
    FAILED,
    OK,
    cholesky,
    cholesky_substitute,
    least_norm_multipliers,
    lu_factor,
    lu_solve,
)

__all__ = ["Woronetz"]


@njit(cache=True, nogil=True)
def _added(c, blocks):
    """Ȧ, ḃ and u, behind the usual blocks."""
    nv, rows = c[NV], c[ROWS]
    at = nv * nv + nv + rows * nv + 2 * rows + c[HOLONOMIC]
    data = carray(blocks, at + c[EXTRA] + nv)
    A_dot, at = data[at : at + rows * nv].reshape(rows, nv), at + rows * nv
    return A_dot, data[at : at + rows], data[at + rows :]


@njit(cache=True, nogil=True)
def _multipliers(s, M, f, A, du, multipliers):
    """λ from the equations of the dependent velocities:  A_dᵀ λ = (M u̇ − f)_d."""
    force, transposed, pivots = product(M, du), np.empty((s.rank, s.rank)), np.empty(s.rank, dtype=np.int64)
    rest = np.empty(s.rank)
    for i in range(s.rank):
        rest[i] = force[s.columns[i]] - f[s.columns[i]]
        for j in range(s.rank):
            transposed[i, j] = A[j, s.columns[i]]
    if not lu_factor(transposed, pivots):
        return FAILED
    lu_solve(transposed, pivots, rest)
    for j in range(s.rank):
        multipliers[j] = rest[j]
    return OK


def _route(context, t, blocks, out):
    # u = F v + s:  A F = 0,  A s = −b;  A Ḟ = −Ȧ F,  A ṡ = −Ȧ s − ḃ.
    c, M, f, A, gamma, phi, rate, du, multipliers = received(context, blocks, out)
    A_dot, b_dot, u = _added(c, blocks)
    nv, rows = c[NV], c[ROWS]
    b = rate - product(A, u)
    keep_or_choose(options(c), A)
    s = split(options(c), A)
    F, shift = solution_basis(s, A, b)
    free = nv - s.rank
    # Ḟ v + ṡ; Baumgarte's terms, if any, pull at the dependent velocities.
    bent, bend, column = stabilised(c, np.zeros(rows), phi, rate), np.zeros(nv), np.zeros(nv)
    turned = product(A_dot, shift)
    for i in range(rows):
        bent[i] += turned[i] + b_dot[i]
    follow(s, bent, bend)
    for k in range(free):
        follow(s, product(A_dot, F[k]), column)
        for i in range(nv):
            bend[i] += column[i] * u[s.columns[s.rank + k]]
    # (Fᵀ M F) v̇ = Fᵀ (f − M (Ḟ v + ṡ))
    G, dv, carried = np.empty((free, free)), np.empty(free), product(M, bend)
    for k in range(free):
        pushed = product(M, F[k])
        dv[k] = dot(F[k], f) - dot(F[k], carried)
        for i in range(free):
            G[i, k] = dot(F[i], pushed)
    if not cholesky(G):
        return FAILED
    cholesky_substitute(G, dv)
    along, conflict = onto_rows(F, dv), 0.0
    for i in range(nv):
        du[i] = along[i] + bend[i]
    left = product(A, du)
    for i in range(rows):
        conflict = max(conflict, abs(left[i] + gamma[i]))
    watch(c, s.rank, s.ratio, conflict)
    if s.rank < rows:
        least_norm_multipliers(M, f, A, du, multipliers)
        return OK
    return _multipliers(s, M, f, A, du, multipliers)


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
    route = staticmethod(_route)

    def blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        check_room(self.name, equations.nv)
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
