"""Independent accelerations by the projection matrix R: as many equations as freedoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.errors import DalembertError
from dalembert.formulations.base import BlockFormulation, Sizes, Variables
from dalembert.formulations.shared.partitioned_states import check_state, partitioned_size, partitioned_variables
from dalembert.native import Native, Record, native
from dalembert.numerics.context import ILL_CONDITIONED, OK, Context, Solution, System, watch
from dalembert.numerics.elimination import echelon_basis, jacobi_svd
from dalembert.numerics.linear import (
    RANK_TOLERANCE,
    ROUNDING,
    largest_entry,
    least_norm_multipliers,
    orthogonal_factors,
    pseudo_solve,
)
from dalembert.numerics.partition import Choice, chosen_partition
from dalembert.numerics.solver_steps import largest_residual, move_freely, reduced_mass, undetermined

__all__ = ["BASES", "Independent", "boolean_solver"]


@native
def _by_qr(A: np.ndarray, gamma: np.ndarray):
    """B = Q₂ᵀ of Aᵀ P = Q R, taken at this very position."""
    least, p = ROUNDING * largest_entry(A), np.zeros(A.shape[1])
    rank, ratio, Q, _, _ = orthogonal_factors(A, RANK_TOLERANCE, least)
    same, _, Qa, Ra, pivots = orthogonal_factors(A.T.copy(), RANK_TOLERANCE, least)
    pseudo_solve(same, Qa, Ra, pivots, -gamma, p)
    return rank, ratio, Q[rank:].T.copy(), p


@native
def _by_svd(A: np.ndarray, gamma: np.ndarray):
    """B = rows of Vᵀ with singular value zero, A = U Σ Vᵀ, taken at this very position."""
    m, n = A.shape
    US, V, sizes = jacobi_svd(A)
    along = US.T.copy() @ gamma
    order = np.argsort(-sizes)
    rank, ratio, p = 0, 1.0, np.zeros(n)
    for j in order[: min(m, n)]:
        if not sizes[j] > max(RANK_TOLERANCE * sizes[order[0]], ROUNDING * largest_entry(A)):
            break
        rank, ratio = rank + 1, sizes[j] / sizes[order[0]]
        p -= V[:, j] * along[j] / sizes[j] ** 2
    R = np.empty((n, n - rank))
    for k in range(n - rank):
        R[:, k] = V[:, order[rank + k]]
    return rank, ratio, R, p


@native
def _solve(c: Context, e: System, rank: int, ratio: float, R: np.ndarray, p: np.ndarray, out: Solution) -> int:
    if move_freely(e.M, e.f, R, p, out.du) != OK:
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    watch(c, rank, ratio, largest_residual(e.A, e.gamma, out.du))
    least_norm_multipliers(e.M, e.f, e.A, out.du, out.multipliers)
    return OK


@native
def boolean_solver(o: Choice, t: float, e: System, out: Solution) -> int:
    """B picks entries of u̇; they are kept as long as the pivots are good."""
    rank, ratio, T, _, columns = chosen_partition(o, e.A, e.gamma)
    R, p = echelon_basis(T, rank, columns)
    return _solve(o.context, e, rank, ratio, R, p, out)


@native
def _qr_solver(c: Context, t: float, e: System, out: Solution) -> int:
    rank, ratio, R, p = _by_qr(e.A, e.gamma)
    return _solve(c, e, rank, ratio, R, p, out)


@native
def _svd_solver(c: Context, t: float, e: System, out: Solution) -> int:
    rank, ratio, R, p = _by_svd(e.A, e.gamma)
    return _solve(c, e, rank, ratio, R, p, out)


_SOLVERS = {"boolean": boolean_solver, "qr": _qr_solver, "svd": _svd_solver}
BASES = tuple(_SOLVERS)


@dataclass(frozen=True)
class Independent(BlockFormulation):
    """Independent velocities ż = B u, and only their accelerations as unknowns:

        ⎡ A ⎤      ⎡ −γ ⎤
        ⎣ B ⎦ u̇ = ⎣ z̈  ⎦   ⇒   u̇ = R z̈ + S c,      (Rᵀ M R) z̈ = Rᵀ (f − M S c),      c = −γ

    Args:
        basis: ``boolean`` lets B pick entries of u, keeps them while the pivots of the elimination are good, and picks
            anew by complete pivoting when they are not; ``qr`` and ``svd`` take an orthonormal basis of the null space
            of A at each position.
        state: what is integrated: ``dependent`` for all coordinates and velocities, ``mixed`` for all coordinates and
            the independent velocities, ``independent`` for independent coordinates and velocities.

    Reference: J. García de Jalón, E. Bayo, sec. 5.2.3, algorithms 5-4 (mixed) and 5-5 (independent).
    """

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "Projection matrix R, independent accelerations"
    basis: str = "boolean"
    state: str = "dependent"

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise DalembertError(f"{self.name}: unknown basis {self.basis!r}; expected one of {', '.join(BASES)}")
        check_state(self.name, self.state)
        if self.state != "dependent" and self.basis != "boolean":
            raise DalembertError(
                f"{self.name}: state={self.state!r} integrates entries of u, which only basis='boolean' chooses, "
                f"not {self.basis!r}"
            )

    def chosen_solver(self) -> Native:
        return _SOLVERS[self.basis]

    def record(self, context: Context) -> Record:
        return Choice(context=context) if self.basis == "boolean" else context

    def variables(self, sizes: Sizes) -> Variables | None:
        return partitioned_variables(self.state, sizes)

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        return partitioned_size(self.state, sizes, freedom)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        if self.basis == "boolean":
            return reduced_mass(M, A)
        _, _, R, _ = (_by_qr if self.basis == "qr" else _by_svd)(A, np.zeros(len(A)))
        return R.T @ M @ R
