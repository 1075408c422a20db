"""Jourdain's principle: the forces of constraint do no virtual power."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import BlockFormulation
from dalembert.native import native
from dalembert.numerics.context import ILL_CONDITIONED, OK, Context, Solution, System, watch
from dalembert.numerics.elimination import echelon, echelon_basis
from dalembert.numerics.linear import least_norm_multipliers
from dalembert.numerics.solver_steps import conflict_below, move_freely, reduced_mass, undetermined

__all__ = ["Jourdain", "jourdain_solver"]


@native
def jourdain_solver(c: Context, t: float, e: System, out: Solution) -> int:
    rank, ratio, T, _, columns = echelon(e.A, e.gamma)
    watch(c, rank, ratio, conflict_below(T, rank))
    R, p = echelon_basis(T, rank, columns)
    if move_freely(e.M, e.f, R, p, out.du) != OK:
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    least_norm_multipliers(e.M, e.f, e.A, out.du, out.multipliers)
    return OK


class Jourdain(BlockFormulation):
    """Virtual velocities that the constraints allow, δu = R δz, see no force of constraint:

        δuᵀ (M u̇ − f) = 0  for all  A δu = 0     ⇒     (Rᵀ M R) ż = Rᵀ (f − M p),   u̇ = R ż + p

    R and p come from A u̇ = −γ by Gaussian elimination with complete pivoting, anew at every evaluation: the velocities
    without a pivot are the independent ones. Redundant rows get no pivot either. λ is recovered from the balance.

    Reference: P. E. B. Jourdain, "Note on an analog of Gauss' principle of least constraint", Q. J. Pure Appl. Math.
    40 (1909) 153–157; J. García de Jalón, E. Bayo, sec. 5.1.2, eqs. 5.13–5.16.
    """

    name: ClassVar[str] = "jourdain"
    title: ClassVar[str] = "Jourdain's virtual power"
    solver = jourdain_solver

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, A)
