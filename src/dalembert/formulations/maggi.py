"""Maggi's equations: Lagrange's, projected onto the directions that the constraints leave free."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, mechanism_of
from dalembert.equations.mechanics import Mechanics
from dalembert.formulations.base import usual_blocks
from dalembert.formulations.lagrange import lagrange_terms
from dalembert.formulations.shared import analytical_native as native
from dalembert.formulations.shared.analytical import AnalyticalFormulation, Derived

__all__ = ["Maggi"]


class Maggi(AnalyticalFormulation):
    """Lagrange's expressions, combined by the columns of W, so that no multiplier is left; together with the
    constraints they are m equations for q̈:

        Wᵀ (d/dt ∂T/∂q̇ − ∂T/∂q − Q) = 0,      a q̈ + ȧ q̇ + ḃ = 0,      W = ∂q̇/∂u

    Reference: G. A. Maggi, "Di alcune nuove forme delle equazioni della dinamica applicabili ai sistemi anolonomi",
    Rend. Accad. Lincei 10 (1901) 287–292; R. M. M. Orsino, "Recursive modular modelling methodology for
    lumped-parameter dynamic systems", eqs. (3.122)–(3.125).
    """

    name: ClassVar[str] = "maggi"
    title: ClassVar[str] = "Maggi's equations"
    solver = native.maggi_solver
    own = native.MaggiBlocks

    def derive(self, mechanics: Mechanics) -> Derived:
        m, al = mechanics, mechanics.al
        M, f = lagrange_terms(m)
        u = al.variables(m.velocity_names)
        W = al.jacobian(m.rates(u), u)
        matrix = np.concatenate([W.T @ M, m.a])
        forcing = al.concatenate([W.T @ f, -m.gamma])
        none = al.zeros(0, m.m), al.zeros(0)
        functions = {"T": m.T, "V": m.V, "Q": m.Q, "W": W}
        return Derived(m.rate_names, m.qd, m.qd, m.qd, matrix, forcing, *none, functions=functions)

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        e = mechanism_of(equations, self.name)
        mechanics = self.mechanics(e)
        derived = self.derive(mechanics)
        which = e.al.array([float(i) for i in mechanics.rows] + [-1.0] * (len(e.rows) - mechanics.r))
        own = {"C": derived.matrix, "d": derived.forcing, "which": which}
        return {**usual_blocks(e, e.mass_matrix, e.forcing, e.jacobian, e.gamma), **own}

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return M
