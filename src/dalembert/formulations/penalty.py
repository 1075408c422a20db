"""Constraints as very stiff, heavy and damped fictitious systems: no multipliers, and a small error."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations
from dalembert.errors import DalembertError
from dalembert.formulations.base import BlockFormulation, Support
from dalembert.native import Int, Record, Ref, Vector, native
from dalembert.numerics.context import OK, TOO_STIFF, Context, Solution, System
from dalembert.numerics.linear import cholesky, cholesky_substitute
from dalembert.numerics.solver_steps import undetermined
from dalembert.values import DICT, SEQUENCE, TUPLE

__all__ = [
    "DIAGONALS", "Diagonal", "Penalty", "PenaltyDiagonals", "PenaltyOptions", "PenaltyRows", "check_penalty",
    "penalized", "penalized_matrix", "penalty_solver", "settle_diagonals", "stiffened",
]  # fmt: skip

DIAGONALS = ("alpha", "omega", "mu")

# One number for all constraint rows, one for each, or by the names of constraints; dictionaries are kept as pairs.
Diagonal = float | tuple[float, ...] | tuple[tuple[str, float], ...]


class PenaltyOptions(Record):
    """See ``Penalty``; the diagonals of α, Ω and μ, one entry for each constraint row."""

    context = Ref(Context)
    alpha, omega, mu = 3 * Vector("context.rows")


class PenaltyDiagonals(Record):
    """What follows from the names of constraints before a context is there."""

    rows = Int()
    alpha, omega, mu = 3 * Vector("rows")


@native
def stiffened(M: np.ndarray, alpha: np.ndarray, A: np.ndarray) -> np.ndarray:
    """M + Aᵀ α A with a diagonal α: its lower triangle, which is all that a Cholesky factor needs."""
    K = M.copy()
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            push = alpha[k] * A[k, i]
            if push != 0.0:
                for j in range(i + 1):
                    K[i, j] += push * A[k, j]
    return K


@native
def penalized(o: PenaltyOptions, e: System):
    """α in the units of M, γ + 2Ωμ φ̇ + Ω² φ, and the Cholesky factor of M + Aᵀ α A; True if it exists."""
    alpha = o.alpha * np.abs(e.M).max()
    g = e.gamma + 2.0 * o.omega * o.mu * e.rate
    for i in range(e.phi.shape[0]):
        g[i] += o.omega[i] * o.omega[i] * e.phi[i]
    K = stiffened(e.M, alpha, e.A)
    return alpha, g, K, cholesky(K)


@native
def penalty_solver(o: PenaltyOptions, t: float, e: System, out: Solution) -> int:
    alpha, g, K, good = penalized(o, e)
    if not good:
        return undetermined(o.context, e.M, e.A, TOO_STIFF)
    out.du[:] = e.f - (alpha * g) @ e.A
    cholesky_substitute(K, out.du)
    out.multipliers[:] = -alpha * (e.A @ out.du + g)
    # Beside α AᵀA the last digits of M are lost in K. The residual has them: one refinement brings them back.
    correction = e.f - e.M @ out.du + out.multipliers @ e.A
    cholesky_substitute(K, correction)
    out.du += correction
    out.multipliers[:] = -alpha * (e.A @ out.du + g)
    return OK


def penalized_matrix(alpha: Diagonal, M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """The matrix that ``penalized`` factorizes; with the largest α where they differ."""
    return M + max(_numbers_of(alpha)) * np.abs(M).max() * (A.T @ A)


def _numbers_of(given: Any) -> list[float]:
    if not isinstance(given, TUPLE):
        return [given]
    return [entry[1] if isinstance(entry, TUPLE) else entry for entry in given]


def per_row(what: str, given: Any, usual: Any, owners: list[str]) -> np.ndarray:
    """A diagonal with one entry for each row.

    Args:
        what: the option, for messages.
        usual: for constraints that are not named.
        owners: of the rows.
    """
    if not isinstance(given, TUPLE):
        return np.full(len(owners), float(given))
    if given and isinstance(given[0], TUPLE):
        named: dict[str, Any] = dict(given)
        unknown = [name for name in named if name not in owners]
        if unknown:
            known = ", ".join(dict.fromkeys(owners)) or "none"
            raise DalembertError(f"{what}: no constraint is called {unknown[0]!r}; there are {known}")
        return np.array([float(named.get(owner, usual)) for owner in owners])
    if len(given) != len(owners):
        raise DalembertError(
            f"{what}: expected {len(owners)} numbers, one for each constraint row "
            f"({', '.join(dict.fromkeys(owners)) or 'there are none'}), got {len(given)}.  "
            f"Fix: by name, {{name: number}}"
        )
    return np.array(given, dtype=float)


def settle_diagonals(formulation: Any) -> None:
    """Options of a frozen formulation as values that can be compared: dictionaries and lists as tuples."""
    for name in DIAGONALS:
        given = getattr(formulation, name)
        if isinstance(given, DICT):
            object.__setattr__(formulation, name, tuple((str(key), float(value)) for key, value in given.items()))
        elif isinstance(given, (*SEQUENCE, np.ndarray)):
            entries = (tuple(entry) if isinstance(entry, SEQUENCE) else float(entry) for entry in given)
            object.__setattr__(formulation, name, tuple(entries))


class PenaltyRows(BlockFormulation):
    """A formulation whose α, Ω and μ are diagonal matrices."""

    alpha: Any
    omega: Any
    mu: Any

    def __post_init__(self) -> None:
        settle_diagonals(self)
        check_penalty(self.name, self.alpha, self.omega, self.mu)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return penalized_matrix(self.alpha, M, A)

    def plan(self, equations: BlockEquations) -> PenaltyDiagonals:
        return self.diagonals([row.owner for row in equations.rows])

    def diagonals(self, owners: list[str]) -> PenaltyDiagonals:
        """α, Ω and μ of each row."""
        usual = {entry.name: entry.default for entry in fields(self)}
        values = {name: per_row(f"{self.name}: {name}", getattr(self, name), usual[name], owners) for name in DIAGONALS}
        return PenaltyDiagonals(rows=len(owners), **values)


@dataclass(frozen=True)
class Penalty(PenaltyRows):
    """A constraint that is violated pushes back with inertia, damping and stiffness, all multiplied by α:

        (M + Aᵀ α A) u̇ = f − Aᵀ α (γ + 2Ωμ φ̇ + Ω² φ),      λ = −α (A u̇ + γ + 2Ωμ φ̇ + Ω² φ)

    The error of the constraints falls with 1/α until rounding takes over. Redundant rows and singular positions do no
    harm: the matrix stays positive definite. Nonholonomic rows have no φ.

    Args:
        alpha: penalty, as a multiple of the largest entry of M.
        omega, mu: frequency (1/s) and damping ratio with which violations die out. Each of the three is a number, or
            the diagonal of a matrix: numbers for all rows, or by constraint, ``{"rod": 1e9}``; others have the default.

    Reference: J. García de Jalón, E. Bayo, sec. 5.1.4, algorithm 5-3, eqs. 5.37 and 5.47. E. Bayo, J. García de Jalón,
    M. A. Serna, "A modified Lagrangian formulation for the dynamic analysis of constrained mechanical systems", Comput.
    Methods Appl. Mech. Eng. 71 (1988) 183–195.
    """

    name: ClassVar[str] = "penalty"
    title: ClassVar[str] = "Penalty"
    solver = penalty_solver

    alpha: Diagonal = 1e7
    omega: Diagonal = 10.0
    mu: Diagonal = 1.0

    @classmethod
    def supports(cls) -> Support:
        return replace(super().supports(), exact=False)

    def planned(self, context: Context, plan: Record | None) -> PenaltyOptions:
        plan = plan if isinstance(plan, PenaltyDiagonals) else self.diagonals([""] * context.rows)
        return PenaltyOptions(context=context, alpha=plan.alpha, omega=plan.omega, mu=plan.mu)


def check_penalty(name: str, alpha: Diagonal, omega: Diagonal, mu: Diagonal) -> None:
    """Options that make sense."""
    a, o, m = (np.array(_numbers_of(values), dtype=float) for values in (alpha, omega, mu))
    if not (np.isfinite(a).all() and (a > 0).all()):
        raise DalembertError(f"{name}: alpha must be a positive number, got {alpha!r}")
    if not (np.isfinite(o).all() and np.isfinite(m).all() and (o >= 0).all() and (m >= 0).all()):
        raise DalembertError(f"{name}: omega and mu must not be negative, got {omega!r} and {mu!r}")
