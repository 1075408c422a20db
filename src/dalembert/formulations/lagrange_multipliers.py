"""Lagrange's equations with multipliers, solved at the level of accelerations (index 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.errors import check_known
from dalembert.formulations.base import BlockFormulation
from dalembert.native import Native, native
from dalembert.numerics.context import ILL_CONDITIONED, NO_MASS, OK, Context, Solution, System, watch
from dalembert.numerics.elimination import equilibrate
from dalembert.numerics.linear import cholesky, cholesky_substitute, orthogonal_factors, pseudo_solve
from dalembert.numerics.solver_steps import largest_residual, move_what_has_mass, null_space, undetermined

__all__ = ["SOLVERS", "LagrangeMultipliers"]

# Pivots of the scaled A M⁻¹ Aᵀ below this fraction of its first: it squares the condition of A.
REDUNDANT = 1e-12


@native
def _saddle_solver(c: Context, t: float, e: System, out: Solution) -> int:
    # [M Aᵀ; A 0] [u̇; −λ] = [f; −γ]  as one system
    if move_what_has_mass(e.M, e.f, e.A, e.gamma, out.du, out.multipliers) != OK:
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    watch(c, c.rows, 1.0, largest_residual(e.A, e.gamma, out.du))
    return OK


@native
def _schur_solver(c: Context, t: float, e: System, out: Solution) -> int:
    # (A M⁻¹ Aᵀ) λ = −γ − A M⁻¹ f,  u̇ = M⁻¹ (f + Aᵀλ)
    L, free, m = e.M.copy(), e.f.copy(), e.A.shape[0]
    if not cholesky(L):
        return undetermined(c, e.M, e.A, NO_MASS)
    cholesky_substitute(L, free)
    moved = np.empty(e.A.shape)
    for i in range(m):
        moved[i] = e.A[i]
        cholesky_substitute(L, moved[i])
    K = e.A @ moved.T
    scale = equilibrate(K)
    rank, ratio, Q, R, pivots = orthogonal_factors(K, REDUNDANT, 0.0)
    pseudo_solve(rank, Q, R, pivots, (-e.gamma - e.A @ free) * scale, out.multipliers)
    out.multipliers *= scale
    out.du[:] = free + out.multipliers @ moved
    watch(c, rank, ratio, largest_residual(e.A, e.gamma, out.du))
    return OK


SOLVERS = {"null-space": null_space, "saddle": _saddle_solver, "inverse-mass": _schur_solver}


@dataclass(frozen=True)
class LagrangeMultipliers(BlockFormulation):
    """All constraints at once:

        ⎡ M  Aᵀ ⎤ ⎡ u̇ ⎤   ⎡ Q − h ⎤
        ⎣ A  0  ⎦ ⎣ −λ ⎦ = ⎣  −γ   ⎦

    Args:
        solve: ``null-space`` solves it with the null space of A, so that redundant rows and massless directions do no
            harm, and takes the multipliers of least norm; ``saddle`` as one system of n + m unknowns; ``inverse-mass``
            by M⁻¹, first (A M⁻¹ Aᵀ) λ = −γ − A M⁻¹ (Q − h), which needs mass in every direction. The last two square
            or mix what the first keeps apart, and are for comparison.

    Reference: J. García de Jalón, E. Bayo, ch. 5, algorithm 5-1, eqs. (5.10), (5.11)–(5.12).
    """

    name: ClassVar[str] = "lagrange-multipliers"
    title: ClassVar[str] = "Lagrange multipliers"

    solve: str = "null-space"

    def __post_init__(self) -> None:
        check_known(f"{self.name}: unknown option", self.solve, SOLVERS)

    def chosen_solver(self) -> Native:
        return SOLVERS[self.solve]
