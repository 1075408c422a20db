"""Canonical equations with penalties and corrected multipliers: momenta that pass singular positions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from dalembert.errors import DalembertError, check_known
from dalembert.formulations.augmented_lagrangian import Augmented
from dalembert.formulations.base import Sizes, Variables
from dalembert.formulations.canonical import (
    CanonicalFormulation,
    MomentumRates,
    largest_mass,
    momentum_rates,
    write_momenta,
)
from dalembert.formulations.penalty import DIAGONALS, stiffened
from dalembert.native import Flag, Int, Outputs, Real, Vector, native
from dalembert.numerics.context import OK, TOO_STIFF, Closure, finite
from dalembert.numerics.integrated import Motion, VariablesRecord, constraints_at
from dalembert.numerics.linear import cholesky, cholesky_substitute
from dalembert.numerics.solver_steps import undetermined
from dalembert.values import NUMBER

__all__ = ["CanonicalAugmented"]


class AugmentedVariables(VariablesRecord):
    """Options as in ``Augmented``; ``basic``: penalties on φ act as forces, not in the momenta."""

    basic = Flag()
    alpha, omega, mu = 3 * Real()
    iterations = Int()
    tolerance = Real()


class AugmentedMomenta(Outputs):
    """y or ẏ; m is the largest entry of M where the run began."""

    q = Vector("context.nq")
    p_by_m = Vector("context.nv")
    work = Vector(1)  # W − bᵀσ
    integral = Vector("context.rows")  # ∫φ dt of holonomic rows, ∫ψ dt of the others
    m = Vector(1)


@native
def _wanted(o: AugmentedVariables, e: Closure, integral: np.ndarray) -> np.ndarray:
    """g = b + 2Ωμ φ + Ω² ∫φ dt;  rows without φ:  b + 2Ωμ ∫ψ dt;  b alone in the basic form."""
    g = e.rate.copy()
    if o.basic:
        return g
    for i in range(g.shape[0]):
        if i < e.phi.shape[0]:
            g[i] += 2.0 * o.omega * o.mu * e.phi[i] + o.omega * o.omega * integral[i]
        else:
            g[i] += 2.0 * o.omega * o.mu * integral[i]
    return g


@native
def _velocities(
    o: AugmentedVariables, t: float, y: np.ndarray, x: np.ndarray, sigma: np.ndarray, residual: np.ndarray
) -> int:
    """u, σ and W by iteration; ``residual`` becomes φ and ψ, the rates of the integrals."""
    c, given, motion = o.context, AugmentedMomenta.of(o, y), Motion.of(o.context, x)
    motion.q[:] = given.q
    e = constraints_at(c, t, motion.q)
    M, A, u = e.M, e.A, motion.u
    p, g = given.m[0] * given.p_by_m, _wanted(o, e, given.integral)
    alpha = o.alpha * (given.m[0] if o.basic else largest_mass(M))
    K = stiffened(M, np.full(c.rows, alpha), A)
    if not cholesky(K):
        return undetermined(c, M, A, TOO_STIFF)
    u[:] = 0.0
    sigma[:] = 0.0
    missing = g.copy()
    # K uᵢ₊₁ = p − Aᵀσᵢ − α Aᵀ g, written for uᵢ₊₁ − uᵢ, so that rounding in K is corrected as well.
    for _ in range(1 + o.iterations):
        step = p - (M @ u + (sigma + alpha * missing) @ A)
        cholesky_substitute(K, step)
        u += step
        missing[:] = A @ u + g
        sigma += alpha * missing
        if np.abs(step).max() <= o.tolerance * np.abs(u).max():
            break
    # α times the rounding of A u is in σ, and would shake the forces: what p = M u + Aᵀσ misses is taken out of it.
    step = p - (M @ u + sigma @ A)
    cholesky_substitute(K, step)
    sigma += alpha * (A @ step)
    motion.work[0] = given.work[0] + e.rate @ sigma
    residual[:] = A @ u + e.rate
    residual[: c.holonomic] = e.phi
    return OK


@native
def _decode(o: AugmentedVariables, t: float, y: np.ndarray, x: np.ndarray) -> int:
    return _velocities(o, t, y, x, o.context.multipliers, np.empty(o.context.rows))


@native
def _encode(o: AugmentedVariables, t: float, x: np.ndarray, y: np.ndarray) -> int:
    c, motion, state = o.context, Motion.of(o.context, x), AugmentedMomenta.of(o, y)
    e = constraints_at(c, t, motion.q)
    # A motion that is led back onto its constraints has nothing to make up for.
    if c.projection:
        state.integral[:] = 0.0
    return write_momenta(c, e, motion, state)


@native
def _rhs(o: AugmentedVariables, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    c = o.context
    rate, x, sigma = AugmentedMomenta.of(o, dy), np.empty(c.nq + c.nv + 1), np.empty(c.rows)
    status = _velocities(o, t, y, x, sigma, rate.integral)
    if status != OK:
        return status
    rate.q[:], force, rate.work[0] = momentum_rates(o, t, x, sigma)
    m = AugmentedMomenta.of(o, y).m[0]
    if o.basic:
        e = constraints_at(c, t, x[: c.nq])
        push = o.alpha * m * _pulled(o, e, x[c.nq : c.nq + c.nv])
        force -= push @ e.A
        rate.work[0] += push @ e.rate
        rate.integral[:] = 0.0
    rate.p_by_m[:] = force / m
    rate.m[0] = 0.0
    return finite(c, dy)


@native
def _pulled(o: AugmentedVariables, e: Closure, u: np.ndarray) -> np.ndarray:
    """Ω² φ + 2Ωμ φ̇;  rows without φ:  2Ωμ ψ."""
    out = 2.0 * o.omega * o.mu * (e.A @ u + e.rate)
    for i in range(e.phi.shape[0]):
        out[i] += o.omega * o.omega * e.phi[i]
    return out


FORMS = ("modified", "basic")


@dataclass(frozen=True)
class CanonicalAugmented(Augmented, CanonicalFormulation):
    """Momenta with penalties on the velocity of the constraints, on φ and on its integral; the force impulse that they
    need is the multiplier of the next iteration:

        p = M u + Aᵀσ,      (M + Aᵀ α A) uᵢ₊₁ = p − Aᵀ σᵢ − Aᵀ α g,      σᵢ₊₁ = σᵢ + α (A uᵢ₊₁ + g)
        g = b + 2Ωμ φ + Ω² ∫φ dt,      ṗ = ∂L/∂q + Q + Ȧᵀσ

    Rows without φ (nonholonomic ψ = A u + b) have g = b + 2Ωμ ∫ψ dt. The rank of A does not matter. The integrals are
    part of the state; they start anew where the motion is led back onto its constraints.

    Args:
        form: ``modified`` as above; ``basic`` leaves φ out of the momenta, g = b, and lets it push,
            ṗ = ∂L/∂q + Q + Ȧᵀσ − Aᵀ α (Ω² φ + 2Ωμ φ̇), with a constant α. With ``iterations=0`` it is the
            penalty method in canonical variables; with more, velocities obey the constraints, and φ is left alone.

    Other options: see :class:`Augmented`.

    Reference: E. Bayo, A. Avello, "Singularity-free augmented Lagrangian algorithms for constrained multibody
    dynamics", Nonlinear Dynamics 5 (1994) 209–231; J. García de Jalón, E. Bayo, sec. 5.4.3, algorithm 5-8, eqs.
    5.114–5.121.
    """

    name: ClassVar[str] = "canonical-augmented"
    title: ClassVar[str] = "Augmented Lagrangian in canonical form"

    form: str = "modified"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_known(f"{self.name}: unknown form", self.form, FORMS)
        for name in DIAGONALS:
            if not isinstance(getattr(self, name), NUMBER):
                raise DalembertError(
                    f"{self.name}: {name} must be one number for all rows, got {getattr(self, name)!r}"
                )

    def variables(self, sizes: Sizes) -> Variables:
        n = sizes.nq + sizes.nv + 1 + sizes.rows
        options = {name: value for name, value in asdict(self).items() if name != "form"}
        options["basic"] = self.form == "basic"
        return Variables(
            "momenta instead of velocities", n + 1, n, _rhs, _decode, _encode, record=AugmentedVariables,
            options=options, blocks=MomentumRates,
        )  # fmt: skip
