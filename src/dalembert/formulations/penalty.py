"""Constraints as very stiff, heavy and damped fictitious systems: no multipliers, and a small error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.errors import DalembertError
from dalembert.formulations.base import BlockFormulation, Support
from dalembert.native import Real, Record, Ref, native
from dalembert.numerics.context import OK, TOO_STIFF, Context, Solution, System
from dalembert.numerics.linear import cholesky, cholesky_substitute
from dalembert.numerics.solver_steps import undetermined

__all__ = ["Penalty", "PenaltyOptions", "check_penalty", "penalized", "penalized_matrix", "penalty_solver", "stiffened"]


class PenaltyOptions(Record):
    """See ``Penalty``."""

    context = Ref(Context)
    alpha = Real()
    omega = Real()
    mu = Real()


@native
def stiffened(M: np.ndarray, alpha: float, A: np.ndarray) -> np.ndarray:
    """M + Aᵀ α A: its lower triangle, which is all that a Cholesky factor needs."""
    K = M.copy()
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            push = alpha * A[k, i]
            if push != 0.0:
                for j in range(i + 1):
                    K[i, j] += push * A[k, j]
    return K


@native
def penalized(o: PenaltyOptions, e: System):
    """α in the units of M, γ + 2Ωμ φ̇ + Ω² φ, and the Cholesky factor of M + Aᵀ α A; True if it exists."""
    alpha = o.alpha * np.abs(e.M).max()
    g = e.gamma + 2.0 * o.omega * o.mu * e.rate
    g[: e.phi.shape[0]] += o.omega * o.omega * e.phi
    K = stiffened(e.M, alpha, e.A)
    return alpha, g, K, cholesky(K)


@native
def penalty_solver(o: PenaltyOptions, t: float, e: System, out: Solution) -> int:
    alpha, g, K, good = penalized(o, e)
    if not good:
        return undetermined(o.context, e.M, e.A, TOO_STIFF)
    out.du[:] = e.f - alpha * (g @ e.A)
    cholesky_substitute(K, out.du)
    out.multipliers[:] = -alpha * (e.A @ out.du + g)
    # Beside α AᵀA the last digits of M are lost in K. The residual has them: one refinement brings them back.
    correction = e.f - e.M @ out.du + out.multipliers @ e.A
    cholesky_substitute(K, correction)
    out.du += correction
    out.multipliers[:] = -alpha * (e.A @ out.du + g)
    return OK


def penalized_matrix(alpha: float, M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """The matrix that ``penalized`` factorizes."""
    return M + alpha * np.abs(M).max() * (A.T @ A)


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
    solver = penalty_solver

    alpha: float = 1e7
    omega: float = 10.0
    mu: float = 1.0

    def __post_init__(self) -> None:
        check_penalty(self.name, self.alpha, self.omega, self.mu)

    @classmethod
    def supports(cls) -> Support:
        return replace(super().supports(), exact=False)

    def record(self, context: Context) -> PenaltyOptions:
        return PenaltyOptions(context=context, alpha=self.alpha, omega=self.omega, mu=self.mu)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return penalized_matrix(self.alpha, M, A)


def check_penalty(name: str, alpha: float, omega: float, mu: float) -> None:
    """Options that make sense."""
    if not (np.isfinite(alpha) and alpha > 0):
        raise DalembertError(f"{name}: alpha must be a positive number, got {alpha!r}")
    if not (np.isfinite([omega, mu]).all() and min(omega, mu) >= 0):
        raise DalembertError(f"{name}: omega and mu must not be negative, got {omega!r} and {mu!r}")
