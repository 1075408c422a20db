"""Constraints as very stiff, heavy and damped fictitious systems: no multipliers, and a small error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numba import njit

from dalembert.coordinates import Coordinates
from dalembert.errors import DalembertError
from dalembert.formulations.base import BlockFormulation, Support
from dalembert.formulations.system import received
from dalembert.numerics.layout import options
from dalembert.numerics.linear import FAILED, OK, cholesky, cholesky_substitute

__all__ = ["Penalty"]


@njit(cache=True, nogil=True)
def penalised(given, M, A, gamma, phi, rate):
    """α in the units of M, γ + 2Ωμ φ̇ + Ω² φ, and the Cholesky factor of M + Aᵀ α A; True if it exists."""
    omega, mu = given[1], given[2]
    alpha = given[0] * np.abs(M).max()
    g = gamma + 2.0 * omega * mu * rate
    g[: phi.shape[0]] += omega * omega * phi
    K = M + alpha * (A.T @ A)
    return alpha, g, K, cholesky(K)


@njit(cache=True, nogil=True)
def solve_penalised(given, M, f, A, gamma, phi, rate, du, multipliers):
    """u̇ and λ of the penalty method."""
    alpha, g, K, good = penalised(given, M, A, gamma, phi, rate)
    if not good:
        return FAILED
    du[:] = f - alpha * (A.T @ g)
    cholesky_substitute(K, du)
    multipliers[:] = -alpha * (A @ du + g)
    return OK


def penalised_matrix(alpha: float, M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """The matrix that ``penalised`` factorises."""
    return M + alpha * np.abs(M).max() * (A.T @ A)


def _route(context, t, blocks, out):
    c, M, f, A, gamma, phi, rate, du, multipliers = received(context, blocks, out)
    return solve_penalised(options(c), M, f, A, gamma, phi, rate, du, multipliers)


@dataclass(frozen=True)
class Penalty(BlockFormulation):
    """A constraint that is violated pushes back with inertia, damping and stiffness, all multiplied by α:

        (M + Aᵀ α A) u̇ = f − Aᵀ α (γ + 2Ωμ φ̇ + Ω² φ),      λ = −α (A u̇ + γ + 2Ωμ φ̇ + Ω² φ)

    The error of the constraints falls with 1/α until rounding takes over. Redundant rows and singular positions do no
    harm: the matrix stays positive definite. Nonholonomic rows have no φ.

    Args:
        alpha: penalty, as a multiple of the largest entry of M.
        omega, mu: frequency (1/s) and damping ratio with which violations die out.

    Reference: J. García de Jalón, E. Bayo, sec. 5.1.4, algorithm 5-3, eqs. 5.37 and 5.47. E. Bayo, J. García de Jalón,
    M. A. Serna, "A modified Lagrangian formulation for the dynamic analysis of constrained mechanical systems", Comput.
    Methods Appl. Mech. Eng. 71 (1988) 183–195.
    """

    name: ClassVar[str] = "penalty"
    title: ClassVar[str] = "Penalty"
    route = staticmethod(_route)

    alpha: float = 1e7
    omega: float = 10.0
    mu: float = 1.0

    def __post_init__(self) -> None:
        check_penalty(self.name, self.alpha, self.omega, self.mu)

    @classmethod
    def supports(cls) -> Support:
        return replace(super().supports(), exact=False)

    def options(self) -> tuple[float, ...]:
        return self.alpha, self.omega, self.mu

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return penalised_matrix(self.alpha, M, A)


def check_penalty(name: str, alpha: float, omega: float, mu: float) -> None:
    """Options that make sense."""
    if not (np.isfinite(alpha) and alpha > 0):
        raise DalembertError(f"{name}: alpha must be a positive number, got {alpha!r}")
    if not (np.isfinite([omega, mu]).all() and min(omega, mu) >= 0):
        raise DalembertError(f"{name}: omega and mu must not be negative, got {omega!r} and {mu!r}")
