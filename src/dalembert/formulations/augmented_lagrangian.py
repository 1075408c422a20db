"""Penalties with multipliers that are corrected until the constraints hold: exact for any penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.errors import DalembertError
from dalembert.formulations.penalty import (
    Diagonal,
    PenaltyDiagonals,
    PenaltyOptions,
    PenaltyRows,
    penalized,
)
from dalembert.native import Int, Real, Record, native
from dalembert.numerics.context import OK, TOO_STIFF, Context, Solution, System
from dalembert.numerics.linear import cholesky_substitute
from dalembert.numerics.solver_steps import undetermined

__all__ = ["Augmented", "AugmentedLagrangian", "AugmentedOptions", "check_turns"]


class AugmentedOptions(PenaltyOptions):
    """See ``Augmented``."""

    iterations = Int()
    tolerance = Real()


@native
def augmented_solver(o: AugmentedOptions, t: float, e: System, out: Solution) -> int:
    M, A, du, multipliers = e.M, e.A, out.du, out.multipliers
    alpha, g, K, good = penalized(o, e)
    if not good:
        return undetermined(o.context, M, A, TOO_STIFF)
    du[:] = e.f - (alpha * g) @ A
    cholesky_substitute(K, du)
    missing = A @ du + g
    multipliers[:] = -alpha * missing
    # K u̇ᵢ₊₁ = f + Aᵀλᵢ − α Aᵀ g, written for u̇ᵢ₊₁ − u̇ᵢ, so that rounding in K is corrected as well.
    for _ in range(o.iterations):
        step = e.f + (multipliers - alpha * missing) @ A - M @ du
        cholesky_substitute(K, step)
        du += step
        missing[:] = A @ du + g
        multipliers -= alpha * missing
        if np.abs(step).max() <= o.tolerance * np.abs(du).max():
            break
    return OK


@dataclass(frozen=True)
class Augmented(PenaltyRows):
    """Penalties with iterations: what both forms share.

    Args:
        alpha: penalty, as a multiple of the largest entry of M.
        omega, mu: frequency (1/s) and damping ratio with which violations die out; each of the three may differ by row
            or constraint (see :class:`Penalty`).
        iterations: largest number after the first solution; 0 is the penalty method.
        tolerance: iterations end when velocities or accelerations change by less than this, relative.
    """

    solver = augmented_solver

    alpha: Diagonal = 1e5
    omega: Diagonal = 10.0
    mu: Diagonal = 1.0
    iterations: int = 100
    tolerance: float = 1e-13

    def __post_init__(self) -> None:
        super().__post_init__()
        check_turns(self.name, self.iterations, self.tolerance)

    def planned(self, context: Context, plan: Record | None) -> AugmentedOptions:
        plan = plan if isinstance(plan, PenaltyDiagonals) else self.diagonals([""] * context.rows)
        return AugmentedOptions(
            context=context, alpha=plan.alpha, omega=plan.omega, mu=plan.mu, iterations=self.iterations,
            tolerance=self.tolerance,
        )  # fmt: skip


@dataclass(frozen=True)
class AugmentedLagrangian(Augmented):
    """Penalties push the motion toward the constraints; the force that they need is the next multiplier:

        (M + Aᵀ α A) u̇ᵢ₊₁ = f + Aᵀ λᵢ − Aᵀ α g,      λᵢ₊₁ = λᵢ − α (A u̇ᵢ₊₁ + g),      g = γ + 2Ωμ φ̇ + Ω² φ

    Each iteration divides the error by about 1 + α σ, σ the smallest eigenvalue of A M⁻¹ Aᵀ that is not zero. Redundant
    rows and singular positions do no harm; the multipliers are those of least norm. Near a singular position the
    iterations may end before they converge: then the constraint that degenerates is softened. Nonholonomic rows have no
    φ. Options: see :class:`Augmented`.

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
