"""Penalties with multipliers that are corrected until the constraints hold: exact for any penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.errors import DalembertError
from dalembert.formulations.base import BlockFormulation
from dalembert.formulations.penalty import check_penalty, penalised, penalised_matrix
from dalembert.formulations.system import received
from dalembert.numerics.layout import options
from dalembert.numerics.linear import FAILED, OK, cholesky_substitute

__all__ = ["Augmented", "AugmentedLagrangian", "check_turns"]


def augmented_route(context, t, blocks, out):
    c, M, f, A, gamma, phi, rate, du, multipliers = received(context, blocks, out)
    given = options(c)
    alpha, g, K, good = penalised(given, M, A, gamma, phi, rate)
    if not good:
        return FAILED
    du[:] = f - alpha * (A.T @ g)
    cholesky_substitute(K, du)
    multipliers[:] = -alpha * (A @ du + g)
    # K u̇ᵢ₊₁ = f + Aᵀλᵢ − α Aᵀ g, written for u̇ᵢ₊₁ − u̇ᵢ, so that rounding in K is mended as well.
    for _ in range(int(given[3])):
        step = f + A.T @ (multipliers - alpha * (A @ du + g)) - M @ du
        cholesky_substitute(K, step)
        du += step
        multipliers -= alpha * (A @ du + g)
        if np.abs(step).max() <= given[4] * np.abs(du).max():
            break
    return OK


@dataclass(frozen=True)
class Augmented(BlockFormulation):
    """Penalties with turns: what both forms share.

    Args:
        alpha: penalty, as a multiple of the largest entry of M.
        omega, mu: frequency (1/s) and damping ratio with which violations die out.
        iterations: turns after the first solution, at most; none is the penalty method.
        tolerance: turns end when velocities or accelerations change by less than this, relative.
    """

    route = staticmethod(augmented_route)

    alpha: float = 1e5
    omega: float = 10.0
    mu: float = 1.0
    iterations: int = 100
    tolerance: float = 1e-13

    def __post_init__(self) -> None:
        check_penalty(self.name, self.alpha, self.omega, self.mu)
        check_turns(self.name, self.iterations, self.tolerance)

    def options(self) -> tuple[float, ...]:
        return self.alpha, self.omega, self.mu, self.iterations, self.tolerance

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return penalised_matrix(self.alpha, M, A)


@dataclass(frozen=True)
class AugmentedLagrangian(Augmented):
    """Penalties push the motion towards the constraints; the force that they need is the multiplier of the next turn:

        (M + Aᵀ α A) u̇ᵢ₊₁ = f + Aᵀ λᵢ − Aᵀ α g,      λᵢ₊₁ = λᵢ − α (A u̇ᵢ₊₁ + g),      g = γ + 2Ωμ φ̇ + Ω² φ

    Each turn divides the error by about 1 + α σ, σ the smallest eigenvalue of A M⁻¹ Aᵀ that is not zero. Redundant
    rows and singular positions do no harm; the multipliers are those of least norm. Near a singular position the turns
    may end before they converge: then the constraint that degenerates is softened. Nonholonomic rows have no φ.
    Options: see :class:`Augmented`.

    Reference: J. García de Jalón, E. Bayo, sec. 5.1.4, algorithm 5-3, eqs. 5.50–5.52.
    """

    name: ClassVar[str] = "augmented-lagrangian"
    title: ClassVar[str] = "Augmented Lagrangian"


def check_turns(name: str, iterations: int, tolerance: float) -> None:
    """Options that make sense."""
    if not (isinstance(iterations, int) and iterations >= 0):
        raise DalembertError(f"{name}: iterations must be a whole number, 0 or more, got {iterations!r}")
    if not tolerance >= 0:
        raise DalembertError(f"{name}: tolerance must not be negative, got {tolerance!r}")
