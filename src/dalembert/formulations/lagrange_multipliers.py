"""Lagrange's equations with multipliers, solved at the level of accelerations (index 1)."""

from __future__ import annotations

from typing import ClassVar

from dalembert.formulations.base import BlockFormulation

__all__ = ["LagrangeMultipliers"]


class LagrangeMultipliers(BlockFormulation):
    """All constraints at once:

        ⎡ M  Aᵀ ⎤ ⎡ u̇ ⎤   ⎡ Q − h ⎤
        ⎣ A  0  ⎦ ⎣ −λ ⎦ = ⎣  −γ   ⎦

    solved with the null space of A, so that redundant rows and massless directions do no harm; among the multipliers
    that fit, those of least norm are taken.

    Reference: J. García de Jalón, E. Bayo, ch. 5, algorithm 5-1.
    """

    name: ClassVar[str] = "lagrange-multipliers"
    title: ClassVar[str] = "Lagrange multipliers"
