"""Lagrange's equations with multipliers, solved at the level of accelerations (index 1)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.formulations.base import Formulation, Support
from dalembert.formulations.equations import Equations

__all__ = ["LagrangeMultipliers"]


class LagrangeMultipliers(Formulation):
    """All constraints at once:

        ⎡ M  Aᵀ ⎤ ⎡ u̇ ⎤   ⎡ Q − h ⎤
        ⎣ A  0  ⎦ ⎣ −λ ⎦ = ⎣  −γ   ⎦

    solved with the null space of A, so that redundant rows and massless directions do no harm; among the multipliers
    that fit, those of least norm are taken.

    Reference: J. García de Jalón, E. Bayo, ch. 5, algorithm 5-1.
    """

    name: ClassVar[str] = "lagrange-multipliers"
    title: ClassVar[str] = "Lagrange multipliers"
    explicit: ClassVar[bool] = False

    @classmethod
    def supports(cls) -> Support:
        return Support(
            closed_loops=True,
            redundant_constraints=True,
            nonholonomic=True,
            rheonomic=True,
            coordinates=("relative", "absolute"),
        )

    def blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        return {
            "mass_matrix": equations.mass_matrix,
            "forcing": equations.forcing,
            "jacobian": equations.jacobian,
            "gamma": equations.gamma,
            "b": equations.velocity_bias,
            "position": equations.position_residual(),
        }
