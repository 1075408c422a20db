"""Lagrange's equations, from the Lagrangian."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.equations import BlockEquations, mechanism_of
from dalembert.equations.mechanics import Mechanics
from dalembert.formulations.base import usual_blocks
from dalembert.formulations.shared import analytical_native as native
from dalembert.formulations.shared.analytical import AnalyticalFormulation, Derived

__all__ = ["Lagrange", "lagrange_terms"]


def lagrange_terms(mechanics: Mechanics) -> tuple[np.ndarray, np.ndarray]:
    """M and f of  d/dt ∂L/∂q̇ − ∂L/∂q − Q = M q̈ − f."""
    m, al = mechanics, mechanics.al
    p = al.gradient(m.L, m.qd)
    return al.jacobian(p, m.qd), m.by_q(m.L) + m.Q - m.along(p)


class Lagrange(AnalyticalFormulation):
    """m equations of second order in the coordinates, with a multiplier for each constraint:

        d/dt ∂L/∂q̇ − ∂L/∂q = Q + aᵀλ,      L = T − V,      a q̇ + b = 0

    Reference: J. L. Lagrange, "Mécanique analytique" (1788); R. M. M. Orsino, "Recursive modular modelling methodology
    for lumped-parameter dynamic systems", eq. (3.79).
    """

    name: ClassVar[str] = "lagrange"
    follows_switches: ClassVar[bool] = True
    title: ClassVar[str] = "Lagrange's equations"
    solver = native.lagrange_solver
    own = native.LagrangeBlocks

    def derive(self, mechanics: Mechanics) -> Derived:
        m = mechanics
        M, f = lagrange_terms(m)
        return Derived(
            m.rate_names, m.qd, m.qd, m.qd, M, f, m.a, m.gamma, functions={"T": m.T, "V": m.V, "L": m.L, "Q": m.Q}
        )

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        e = mechanism_of(equations, self.name)
        M, f = lagrange_terms(self.mechanics(e))
        return {**usual_blocks(e, e.mass_matrix, e.forcing, e.jacobian, e.gamma), "K": M, "k": f}
