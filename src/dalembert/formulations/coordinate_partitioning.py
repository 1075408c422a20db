"""Generalized coordinate partitioning: the equations in blocks of dependent and independent velocities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import BlockFormulation, Sizes, Variables
from dalembert.formulations.shared.partitioned_states import check_state, partitioned_size, partitioned_variables
from dalembert.native import native
from dalembert.numerics.context import ILL_CONDITIONED, OK, Context, Solution, System, watch
from dalembert.numerics.elimination import echelon_basis
from dalembert.numerics.linear import cholesky, cholesky_substitute, least_norm_multipliers, lu_factor, lu_solve
from dalembert.numerics.partition import Choice, chosen_partition
from dalembert.numerics.solver_steps import conflict_below, reduced_mass, undetermined

__all__ = ["CoordinatePartitioning"]


@native
def _block(M: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    out = np.empty((rows.shape[0], columns.shape[0]))
    for i in range(rows.shape[0]):
        for j in range(columns.shape[0]):
            out[i, j] = M[rows[i], columns[j]]
    return out


@native
def _solver(o: Choice, t: float, e: System, out: Solution) -> int:
    # u: dependent, v: independent.  A_u ü + A_v v̈ = −γ  gives  ü = −X v̈ − g.
    M, f, A = e.M, e.f, e.A
    rank, ratio, T, _, columns = chosen_partition(o, A, e.gamma)
    watch(o.context, rank, ratio, conflict_below(T, rank))
    R, p = echelon_basis(T, rank, columns)
    u, v = columns[:rank], columns[rank:]
    X, g = -_block(R, u, np.arange(v.shape[0])), -p[u]
    M_uu, M_uv, M_vv = _block(M, u, u), _block(M, u, v), _block(M, v, v)
    M_hat = M_vv - M_uv.T @ X - X.T @ (M_uv - M_uu @ X)
    dv = f[v] - X.T @ f[u] + (M_uv.T - X.T @ M_uu) @ g
    if not cholesky(M_hat):
        return undetermined(o.context, M, A, ILL_CONDITIONED)
    cholesky_substitute(M_hat, dv)
    depending = -(X @ dv) - g
    out.du[u] = depending
    out.du[v] = dv
    if rank < A.shape[0]:
        least_norm_multipliers(M, f, A, out.du, out.multipliers)
        return OK
    # A_uᵀ λ = M_uu ü + M_uv v̈ − f_u
    force, pivots = M_uu @ depending + M_uv @ dv - f[u], np.empty(rank, dtype=np.int64)
    transposed = _block(A, np.arange(rank), u).T.copy()
    if not lu_factor(transposed, pivots):
        return undetermined(o.context, M, A, ILL_CONDITIONED)
    lu_solve(transposed, pivots, force)
    out.multipliers[:] = force
    return OK


@dataclass(frozen=True)
class CoordinatePartitioning(BlockFormulation):
    """Velocities in two sets, dependent u and independent v; the dependent ones and λ are eliminated block by block:

        ü = −X v̈ − g,   X = A_u⁻¹ A_v,   g = A_u⁻¹ γ
        (M_vv − M_vu X − Xᵀ (M_uv − M_uu X)) v̈ = f_v − Xᵀ f_u + (M_vu − Xᵀ M_uu) g
        A_uᵀ λ = M_uu ü + M_uv v̈ − f_u

    The partition is found by complete pivoting and kept while the pivots of A_u are good. With redundant rows λ is the
    one of least norm. ``stabilization='partition'`` corrects dependent coordinates only, as the method wants it.

    Args:
        state: what is integrated: ``dependent`` for all coordinates and velocities, ``mixed`` for all coordinates and
            the independent velocities, ``independent`` for independent coordinates and velocities.

    Reference: R. A. Wehage, E. J. Haug, "Generalized coordinate partitioning for dimension reduction in analysis of
    constrained dynamic systems", J. Mech. Des. 104 (1982) 247–255.
    """

    name: ClassVar[str] = "coordinate-partitioning"
    title: ClassVar[str] = "Coordinate partitioning"
    solver = _solver

    state: str = "dependent"

    def __post_init__(self) -> None:
        check_state(self.name, self.state)

    def record(self, context: Context) -> Choice:
        return Choice(context=context)

    def variables(self, sizes: Sizes) -> Variables | None:
        return partitioned_variables(self.state, sizes)

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        return partitioned_size(self.state, sizes, freedom)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, A)
