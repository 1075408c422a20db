"""Independent accelerations by the projection matrix R: as many equations as freedoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, mechanism_of
from dalembert.errors import DalembertError, check_known
from dalembert.formulations.base import BlockFormulation, Sizes, Variables
from dalembert.formulations.shared.partitioned_states import check_state, partitioned_size, partitioned_variables
from dalembert.native import Flags, Int, Matrix, Native, Record, Ref, native
from dalembert.numerics.bases import KeptBasis, basis_at, basis_by_qr, basis_by_svd
from dalembert.numerics.context import ILL_CONDITIONED, OK, STALE_CHOICE, Context, Solution, System, give_up
from dalembert.numerics.elimination import echelon_basis
from dalembert.numerics.linear import (
    RANK_TOLERANCE,
    ROUNDING,
    orthogonal_factors,
    pseudo_solve,
)
from dalembert.numerics.partition import STALE, Choice, chosen_partition
from dalembert.numerics.solver_steps import move_freely, multipliers_after, reduced_mass, undetermined

__all__ = ["BASES", "Independent", "boolean_solver"]


@native
def _solve(c: Context, e: System, rank: int, ratio: float, R: np.ndarray, p: np.ndarray, out: Solution) -> int:
    if move_freely(e.M, e.f, R, p, out.du) != OK:
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    return multipliers_after(c, e, out, rank, ratio)


@native
def boolean_solver(o: Choice, t: float, e: System, out: Solution) -> int:
    """B picks entries of u̇; they are kept as long as the pivots are good."""
    rank, ratio, T, _, columns = chosen_partition(o, e.A, e.gamma)
    R, p = echelon_basis(T, rank, columns)
    return _solve(o.context, e, rank, ratio, R, p, out)


@native
def _qr_solver(c: Context, t: float, e: System, out: Solution) -> int:
    rank, ratio, R, p = basis_by_qr(e.A, e.gamma)
    return _solve(c, e, rank, ratio, R, p, out)


@native
def _svd_solver(c: Context, t: float, e: System, out: Solution) -> int:
    rank, ratio, R, p = basis_by_svd(e.A, e.gamma)
    return _solve(c, e, rank, ratio, R, p, out)


class GivenBasis(Record):
    """B as the user gave it, p rows."""

    context = Ref(Context)
    p = Int()
    B = Matrix("p", "context.nv")


@native
def _along(A: np.ndarray, B: np.ndarray, gamma: np.ndarray):
    """Rank and smallest pivot of [A; B], and R, S c with  [A; B] R = [0; 1],  [A; B] S c = [−γ; 0]."""
    m, n, p = A.shape[0], A.shape[1], B.shape[0]
    K, rhs, column = np.empty((m + p, n)), np.zeros(m + p), np.empty(n)
    K[:m] = A
    K[m:] = B
    rank, ratio, Q, L, pivots = orthogonal_factors(K.T.copy(), RANK_TOLERANCE, ROUNDING)
    R, particular = np.empty((n, p)), np.empty(n)
    rhs[:m] = -gamma
    pseudo_solve(rank, Q, L, pivots, rhs, particular)
    for k in range(p):
        rhs[:] = 0.0
        rhs[m + k] = 1.0
        pseudo_solve(rank, Q, L, pivots, rhs, column)
        R[:, k] = column
    return rank, ratio, R, particular


@native
def _given_solver(o: GivenBasis, t: float, e: System, out: Solution) -> int:
    rank, ratio, R, particular = _along(e.A, o.B, e.gamma)
    if rank < e.A.shape[1]:
        return give_up(o.context, STALE_CHOICE)
    return _solve(o.context, e, rank - o.p, ratio, R, particular, out)


@native
def _kept_solver(o: KeptBasis, t: float, e: System, out: Solution) -> int:
    n = e.A.shape[1]
    if o.choices > 0:
        rank, ratio, R, particular = _along(e.A, o.B[: o.p], e.gamma)
        if rank == n and ratio > STALE:
            return _solve(o.context, e, n - o.p, ratio, R, particular, out)
    found, ratio, R, particular = basis_at(o, e.A, e.gamma)
    o.choices += 1
    o.p = n - found
    o.B[: o.p] = R.T
    return _solve(o.context, e, found, ratio, R, particular, out)


class FirstChoice(Record):
    """The velocities that are independent to begin with."""

    n = Int()
    independent = Flags("n")


_SOLVERS = {"boolean": boolean_solver, "qr": _qr_solver, "svd": _svd_solver, "given": _given_solver}
BASES = tuple(_SOLVERS)
_FRESH = ("qr", "svd")  # taken at each position, unless they are kept


@dataclass(frozen=True)
class Independent(BlockFormulation):
    """Independent velocities ż = B u, and only their accelerations as unknowns:

        ⎡ A ⎤      ⎡ −γ ⎤
        ⎣ B ⎦ u̇ = ⎣ z̈  ⎦   ⇒   u̇ = R z̈ + S c,      (Rᵀ M R) z̈ = Rᵀ (f − M S c),      c = −γ

    Args:
        basis: ``boolean`` lets B pick entries of u, keeps them while the pivots of the elimination are good, and picks
            again by complete pivoting when they are not; ``qr`` and ``svd`` take an orthonormal basis of the null space
            of A at each position; ``given`` takes ``B``.
        velocities: names of the independent entries of u to begin with, for ``boolean``; chosen if not given. They are
            kept while they are good.
        B: for ``given``: p rows of numbers, one for each entry of u, with which ż = B u determines all velocities; a
            run stops where it does not any more.
        keep: for ``qr`` and ``svd``: go on with the basis B of a former position while [A; B] is well conditioned, and
            factorize A again when it is not. Needed for states other than ``dependent``, which hold ż = B u.
        state: what is integrated: ``dependent`` for all coordinates and velocities, ``mixed`` for all coordinates and
            the independent velocities, ``independent`` for independent coordinates and velocities.

    Reference: J. García de Jalón, E. Bayo, sec. 5.2.3, algorithms 5-4 (mixed) and 5-5 (independent).
    """

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "Projection matrix R, independent accelerations"
    basis: str = "boolean"
    state: str = "dependent"
    velocities: tuple[str, ...] | None = None
    B: tuple[tuple[float, ...], ...] | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        check_known(f"{self.name}: unknown basis", self.basis, BASES)
        if (self.B is not None) != (self.basis == "given"):
            raise DalembertError(f"{self.name}: B=… and basis='given' belong together")
        if self.B is not None:
            rows = np.atleast_2d(np.array(self.B, dtype=float))
            object.__setattr__(self, "B", tuple(tuple(float(x) for x in row) for row in rows))
        if self.keep and self.basis not in _FRESH:
            raise DalembertError(f"{self.name}: keep=True is for basis='qr' and 'svd', which are taken anew otherwise")
        if self.velocities is not None:
            object.__setattr__(self, "velocities", tuple(self.velocities))
            if self.basis != "boolean" or self.state != "dependent":
                raise DalembertError(f"{self.name}: velocities=… is for basis='boolean' and state='dependent'")
        check_state(self.name, self.state)
        if self.state != "dependent" and self.basis != "boolean" and not self.keep:
            raise DalembertError(
                f"{self.name}: state={self.state!r} integrates ż = B u with a B that stays: basis='boolean', or 'qr' "
                f"and 'svd' with keep=True, not {self.basis!r}"
            )

    def chosen_solver(self) -> Native:
        return _kept_solver if self.keep else _SOLVERS[self.basis]

    def plan(self, equations: BlockEquations) -> FirstChoice | None:
        n, rows = len(equations.u), len(equations.rows)
        if self.B is not None and not all(len(row) == n for row in self.B):
            raise DalembertError(f"{self.name}: rows of B must have {n} numbers, one for each velocity")
        if self.velocities is None:
            return None
        names = mechanism_of(equations, self.name).tree.coordinates.labels()[1]
        unknown = [name for name in self.velocities if name not in names]
        if unknown:
            raise DalembertError(
                f"{self.name}: no velocity is called {unknown[0]!r}; expected some of {', '.join(names)}"
            )
        if len(set(self.velocities)) < n - rows:
            raise DalembertError(f"{self.name}: {n - rows} velocities or more are independent, got {self.velocities}")
        return FirstChoice(n=n, independent=np.array([name in self.velocities for name in names]))

    def planned(self, context: Context, plan: Record | None) -> Record:
        if self.B is not None:
            return GivenBasis(context=context, p=len(self.B), B=np.array(self.B))
        if self.keep:
            return KeptBasis(context=context, singular=int(self.basis == "svd"))
        if self.basis != "boolean":
            return context
        if not isinstance(plan, FirstChoice):
            return Choice(context=context)
        return Choice(context=context, choices=1, independent=plan.independent)

    def variables(self, sizes: Sizes) -> Variables | None:
        return partitioned_variables(self.state, sizes, self.keep)

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        return partitioned_size(self.state, sizes, freedom)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        if self.basis == "boolean":
            return reduced_mass(M, A)
        if self.B is not None:
            both = np.concatenate([A, np.array(self.B)])
            R = np.linalg.pinv(both)[:, len(A) :]
            return R.T @ M @ R
        _, _, R, _ = (basis_by_qr if self.basis == "qr" else basis_by_svd)(A, np.zeros(len(A)))
        return R.T @ M @ R
