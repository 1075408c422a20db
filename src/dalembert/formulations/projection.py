"""The projection matrix R with dependent accelerations: kinematics and projected dynamics in one square system."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import BlockFormulation
from dalembert.native import native
from dalembert.numerics.context import FAILED, ILL_CONDITIONED, OK, Context, Solution, System, watch
from dalembert.numerics.elimination import echelon, echelon_basis
from dalembert.numerics.linear import least_norm_multipliers, lu_factor, lu_solve
from dalembert.numerics.solver_steps import conflict_below, undetermined

__all__ = ["Projection"]

# A pivot below this, in rows scaled to 1, means that some direction is not determined.
SINGULAR = 1e-13


@native
def solve_scaled(K: np.ndarray, x: np.ndarray) -> int:
    """K x = x in place, rows scaled to a largest entry of 1; FAILED if K is singular."""
    n = K.shape[0]
    for i in range(n):
        size = 0.0
        for j in range(n):
            size = max(size, abs(K[i, j]))
        if size == 0.0:
            return FAILED
        K[i] /= size
        x[i] /= size
    pivots = np.empty(n, dtype=np.int64)
    if not lu_factor(K, pivots):
        return FAILED
    for k in range(n):
        # lu_factor keeps the inverses of the pivots.
        if abs(K[k, k]) * SINGULAR > 1.0:
            return FAILED
    lu_solve(K, pivots, x)
    return OK


@native
def _solver(c: Context, t: float, e: System, out: Solution) -> int:
    n, du = c.nv, out.du
    rank, ratio, T, _, columns = echelon(e.A, e.gamma)
    watch(c, rank, ratio, conflict_below(T, rank))
    R, _ = echelon_basis(T, rank, columns)
    K = np.empty((n, n))
    K[:rank] = T[:rank, :n]
    du[:rank] = -T[:rank, n]
    K[rank:] = R.T @ e.M
    du[rank:] = R.T @ e.f
    if solve_scaled(K, du) != OK:
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    least_norm_multipliers(e.M, e.f, e.A, du, out.multipliers)
    return OK


class Projection(BlockFormulation):
    """Constraints, and the equations of motion projected on the possible motions, for all accelerations at once:

        ⎡  A  ⎤      ⎡ −γ  ⎤
        ⎣ RᵀM ⎦ u̇ = ⎣ Rᵀf ⎦,      A R = 0

    R comes from an elimination of A with complete pivoting, of which the eliminated rows are used again. Redundant rows
    have no pivot and are left out. The forces of constraint are gone; λ is recovered from the balance.

    Reference: J. García de Jalón, E. Bayo, sec. 5.1.2, algorithm 5-2.
    """

    name: ClassVar[str] = "projection"
    title: ClassVar[str] = "Projection matrix R, dependent accelerations"
    solver = _solver

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        n = len(M)
        rank, _, T, _, columns = echelon(A, np.zeros(len(A)))
        R, _ = echelon_basis(T, rank, columns)
        K = np.vstack([T[:rank, :n], R.T @ M])
        return K / np.abs(K).max(axis=1, keepdims=True)
