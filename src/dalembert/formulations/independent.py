"""Independent accelerations by the projection matrix R: as many equations as freedoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from dalembert.coordinates import Coordinates
from dalembert.errors import DalembertError
from dalembert.formulations.base import BlockFormulation, Form, Sizes
from dalembert.formulations.partition import chosen_partition
from dalembert.formulations.partitioned_states import check_state, partitioned_form, partitioned_size
from dalembert.formulations.system import largest_residual, move_freely, received, reduced_mass
from dalembert.numerics.elimination import echelon_basis, jacobi_svd
from dalembert.numerics.layout import options, watch
from dalembert.numerics.linear import (
    FAILED,
    OK,
    RANK_TOLERANCE,
    ROUNDING,
    largest_entry,
    least_norm_multipliers,
    orthogonal_factors,
    pseudo_solve,
)

__all__ = ["BASES", "Independent", "boolean_route"]

BASES = ("boolean", "qr", "svd")


@njit(cache=True, nogil=True)
def _boolean(c, A, gamma):
    """B picks entries of u̇; they are kept as long as the pivots are good."""
    rank, ratio, T, _, columns = chosen_partition(c, A, gamma)
    R, p = echelon_basis(T, rank, columns)
    return rank, ratio, R, p


@njit(cache=True, nogil=True)
def _by_qr(A, gamma):
    """B = Q₂ᵀ of Aᵀ P = Q R, taken at this very position."""
    least, p = ROUNDING * largest_entry(A), np.zeros(A.shape[1])
    rank, ratio, Q, _, _ = orthogonal_factors(A, RANK_TOLERANCE, least)
    same, _, Qa, Ra, pivots = orthogonal_factors(A.T.copy(), RANK_TOLERANCE, least)
    pseudo_solve(same, Qa, Ra, pivots, -gamma, p)
    return rank, ratio, Q[rank:].T.copy(), p


@njit(cache=True, nogil=True)
def _by_svd(A, gamma):
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


@njit(cache=True, nogil=True)
def _solve(c, M, f, A, gamma, rank, ratio, R, p, du, multipliers):
    if move_freely(M, f, R, p, du) != OK:
        return FAILED
    watch(c, rank, ratio, largest_residual(A, gamma, du))
    least_norm_multipliers(M, f, A, du, multipliers)
    return OK


def boolean_route(context, t, blocks, out):
    c, M, f, A, gamma, _, _, du, multipliers = received(context, blocks, out)
    rank, ratio, R, p = _boolean(c, A, gamma)
    return _solve(c, M, f, A, gamma, rank, ratio, R, p, du, multipliers)


def _route(context, t, blocks, out):
    c, M, f, A, gamma, _, _, du, multipliers = received(context, blocks, out)
    basis = int(options(c)[0])
    if basis == 0:
        rank, ratio, R, p = _boolean(c, A, gamma)
    elif basis == 1:
        rank, ratio, R, p = _by_qr(A, gamma)
    else:
        rank, ratio, R, p = _by_svd(A, gamma)
    return _solve(c, M, f, A, gamma, rank, ratio, R, p, du, multipliers)


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
    route = staticmethod(_route)

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

    def options(self) -> tuple[float, ...]:
        return (float(BASES.index(self.basis)),)

    def form(self, sizes: Sizes) -> Form | None:
        return partitioned_form(self.name, self.state, sizes)

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        return partitioned_size(self.state, sizes, freedom)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        if self.basis == "boolean":
            return reduced_mass(M, A)
        _, _, R, _ = (_by_qr if self.basis == "qr" else _by_svd)(A, np.zeros(len(A)))
        return R.T @ M @ R
