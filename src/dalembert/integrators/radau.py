"""Radau IIA of order 5: an implicit Runge-Kutta method for stiff and for differential-algebraic equations.

    B ż = F(t, z),   B = diag(1 … 1, 0 … 0)

The collocation polynomial z(t + θh) = z + Σ_p P_p θᵖ fulfills the equations at c₁, c₂, c₃ = 1; with Z_i its rise up to
c_i, B Z = h (A ⊗ 1) F(z + Z). With T⁻¹ A⁻¹ T = Λ = diag(γ, α ± iβ), W = T⁻¹ Z, Newton's method has one real and one
complex matrix:

    (γ/h B − J) ΔW₁ = (T⁻¹F)₁ − γ/h B W₁,
    ((α + iβ)/h B − J) ΔV = (T⁻¹F)₂ + i (T⁻¹F)₃ − (α + iβ)/h B V,    V = W₂ + iW₃

The error is estimated by how far the polynomial's slope at the start misses the equations,

    e = (γ/h B − J)⁻¹ (F(t, z) − B P₁/h),

and, as this is its leading term, adding γ e N(θ)/N'(0), N(θ) = ∫₀^θ (s − c₁)(s − c₂)(s − c₃) ds, N(1) = 0, raises the
order within the step from 3 to 4. Outputs and the first guess of the next step's Z come from there.

Reference: E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., IV.8 (method, step sizes) and
VII.7 (index 2); K. Gustafsson, ACM Trans. Math. Softw. 20 (1994) 496-517 (predictive step sizes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.polynomial.polynomial import polyfromroots

from dalembert.integrators.base import AdaptiveSteps, Memory, Problem, Step, Stepper, Stepwise
from dalembert.integrators.ends import FAILED, GO_ON, REJECTED
from dalembert.integrators.runge_kutta import first_step
from dalembert.native import ComplexMatrix, Flag, Function, Int, Integers, Matrix, Real, Ref, Vector, native
from dalembert.numerics.context import RESTART
from dalembert.numerics.linear import lu_factor, lu_solve

__all__ = ["Radau"]

_ROOT = math.sqrt(6.0)
C = np.array([(4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0])
_POWERS = C[:, None] ** np.arange(1, 4)
# A integrates the Lagrange polynomials of the nodes; P = Z_TO_P Z.
_A = _POWERS / np.arange(1, 4) @ np.linalg.inv(C[:, None] ** np.arange(3))
Z_TO_P = np.linalg.inv(_POWERS)


def _transformation() -> tuple[float, float, float, np.ndarray]:
    """γ, α, β and T; the real eigenvector has length one, the complex one ends in one."""
    values, vectors = cast(Any, np.linalg).eig(np.linalg.inv(_A))
    real, upper = int(np.argmin(np.abs(values.imag))), int(np.argmax(values.imag))
    first, second = vectors[:, real].real, vectors[:, upper] / vectors[2, upper]
    T = np.column_stack([first / np.linalg.norm(first), second.real, -second.imag])
    return float(values[real].real), float(values[upper].real), float(values[upper].imag), T


GAMMA, ALPHA, BETA, W_TO_Z = _transformation()
Z_TO_W = np.linalg.inv(W_TO_Z)
# N(θ)/N'(0) in powers of θ, from θ on.
LIFT = polyfromroots(C) / np.arange(1, 5) / -np.prod(C)

NEWTON_STEPS = 7
# The Jacobian is kept while Newton's method converges at this rate; the factors while the next step is within these.
KEEP_RATE = 1e-3
KEEP_LOW, KEEP_HIGH = 1.0, 1.2
SAFETY, MOST_GROWTH, MOST_CUT = 0.9, 8.0, 0.2
ROUNDING = 2.3e-16
# By how many tolerances the solution within a step may miss the equations.
GUARD = 1e4
# The last step may be longer by this, relative.
STRETCH = 1e-6


class RadauMemory(Memory):
    """What the loop remembers.

    Attributes:
        whole: length of z.
        error, step: of the last accepted step; 0: none yet.
        rate, contraction: rate of Newton's method, θ/(1 − θ) of its last step.
        after_rejection: a step was just rejected.
        fresh, wanted: the Jacobian is that of the present state; a new one is wanted.
        factored: the step for which it was factored; 0: none.
        jacobians, factorizations: how many of both were made.
        f: F at the start of the step.
        P: solution within the last step.
        algebraic: the algebraic variables.
    """

    whole = Int()
    error, step, rate, contraction, factored = 5 * Real()
    after_rejection, fresh, wanted = 3 * Flag()
    jacobians, factorizations = 2 * Int()
    f = Vector("whole")
    P = Matrix(4, "whole")
    J = Matrix("whole", "whole")
    algebraic = Vector("whole - size")


class CollocationStep(Step):
    """A step, what is solved, options, and working space.

    Attributes:
        whole: length of z.
        rhs, jacobian: F of B ż = F(t, z), and ∂F/∂z.
        index: of the algebraic variables.
        inner, floor: relative and absolute tolerance of a step's error, whose estimate has order 3.
        converged: of Newton's method, relative to those.
        iterations, error: of Newton's method, and norm of the step's error.
        factored: the step for which both matrices of Newton's method are factored; 0: not yet.
        z, moved: z at the start of the step, and elsewhere.
        Z, W, F: rises of the stages, W = T⁻¹ Z, and F there.
        P: the solution within the step, powers of θ from θ on.
    """

    whole, index, iterations = 3 * Int()
    max_step, inner, floor, converged, error, factored = 6 * Real()
    rhs = Function(float, Vector, Vector)
    jacobian = Function(float, Vector, Matrix)
    memory = Ref(RadauMemory)
    z, moved, missed, scale = 4 * Vector("whole")
    Z, W, F = 3 * Matrix(3, "whole")
    P = Matrix(4, "whole")
    E = Matrix("whole", "whole")
    E_complex = ComplexMatrix("whole", "whole")
    pivots, pivots_complex = 2 * Integers("whole")


@native
def _factor(s: CollocationStep) -> bool:
    """Both matrices of Newton's method; False if one is singular."""
    J, h, E, E_complex, N = s.memory.J, s.h, s.E, s.E_complex, s.whole
    for i in range(N):
        for j in range(N):
            E[i, j] = -J[i, j]
            E_complex[i, j] = -J[i, j]
    for i in range(s.size):
        E[i, i] += GAMMA / h
        E_complex[i, i] += complex(ALPHA / h, BETA / h)
    s.factored = h
    return lu_factor(E, s.pivots) and lu_factor(E_complex, s.pivots_complex)


@native
def _combine(M: np.ndarray, X: np.ndarray, Y: np.ndarray):
    """Y = M X for a matrix of 3 × 3."""
    for i in range(3):
        for j in range(X.shape[1]):
            Y[i, j] = M[i, 0] * X[0, j] + M[i, 1] * X[1, j] + M[i, 2] * X[2, j]


@native
def power(x: float, n: int) -> float:
    """xⁿ by squares, n ≥ 0."""
    out = 1.0
    while n > 0:
        if n % 2 == 1:
            out *= x
        n //= 2
        x *= x
    return out


@native
def _norm(x: np.ndarray, scale: np.ndarray) -> float:
    s = 0.0
    for j in range(len(x)):
        s += (x[j] / scale[j]) ** 2
    return math.sqrt(s / len(x))


@native
def _increment(s: CollocationStep) -> float:
    """ΔW into F, from F at the stages; returns its norm."""
    F, W, scale, h, N = s.F, s.W, s.scale, s.h, s.whole
    V = np.empty(N, dtype=np.complex128)
    for j in range(N):
        f, g, k = F[0, j], F[1, j], F[2, j]
        F[0, j] = Z_TO_W[0, 0] * f + Z_TO_W[0, 1] * g + Z_TO_W[0, 2] * k
        V[j] = complex(
            Z_TO_W[1, 0] * f + Z_TO_W[1, 1] * g + Z_TO_W[1, 2] * k,
            Z_TO_W[2, 0] * f + Z_TO_W[2, 1] * g + Z_TO_W[2, 2] * k,
        )
    for j in range(s.size):
        F[0, j] -= GAMMA / h * W[0, j]
        V[j] -= complex(ALPHA / h, BETA / h) * complex(W[1, j], W[2, j])
    lu_solve(s.E, s.pivots, F[0])
    lu_solve(s.E_complex, s.pivots_complex, V)
    total = 0.0
    for j in range(N):
        F[1, j], F[2, j] = V[j].real, V[j].imag
        total += (F[0, j] ** 2 + F[1, j] ** 2 + F[2, j] ** 2) / scale[j] ** 2
    return math.sqrt(total / (3 * N))


@native
def _at_stages(s: CollocationStep) -> int:
    """F at the three stages."""
    z, Z, F, moved, t, h = s.z, s.Z, s.F, s.moved, s.memory.t, s.h
    for i in range(3):
        for j in range(len(z)):
            moved[j] = z[j] + Z[i, j]
        if s.rhs(t + C[i] * h, moved, F[i]) != 0:
            return FAILED
    return GO_ON


@native
def _newton(s: CollocationStep) -> tuple[int, float]:
    """Solve for Z, from a first guess; returns (steps, 1), or (0, by what to shorten h) if it does not converge."""
    m, W = s.memory, s.W
    contraction = max(m.contraction, ROUNDING) ** 0.8
    rate, rate_before, before = KEEP_RATE, 0.0, 0.0
    _combine(Z_TO_W, s.Z, W)
    for step in range(1, NEWTON_STEPS + 1):
        m.evaluations += 3
        if _at_stages(s) != GO_ON:
            return 0, 0.5
        size = _increment(s)
        if not np.isfinite(size):
            return 0, 0.5
        if step > 1:
            now = size / before
            rate = now if step == 2 else math.sqrt(now * rate_before)
            rate_before = now
            if rate >= 0.99:
                return 0, 0.5
            contraction = rate / (1.0 - rate)
            left = NEWTON_STEPS - step
            ahead = contraction * size * power(rate, left) / s.converged
            if ahead >= 1.0:
                return 0, 0.8 * min(20.0, ahead) ** (-1.0 / (4.0 + left))
        before = max(size, ROUNDING)
        W += s.F
        _combine(W_TO_Z, W, s.Z)
        # One step alone would trust the rate of another time: integrals of stiff quantities, such as work, suffer.
        if size == 0.0 or (step > 1 and contraction * size <= s.converged):
            m.contraction, m.rate = contraction, rate
            return step, 1.0
    return 0, 0.5


@native
def _estimate(s: CollocationStep, again: bool) -> float:
    """The error of the step and its norm. ``again``: a large estimate is filtered twice, which damps stiff parts."""
    m, h, n, f, error, slope = s.memory, s.h, s.size, s.memory.f, s.missed, s.P[0]
    for j in range(len(error)):
        error[j] = f[j] - (slope[j] / h if j < n else 0.0)
    lu_solve(s.E, s.pivots, error)
    size = _norm(error, s.scale)
    if again and size >= 1.0:
        m.evaluations += 1
        s.moved[:] = s.z + error
        if s.rhs(m.t, s.moved, error) != 0:
            return math.inf
        for j in range(n):
            error[j] -= slope[j] / h
        lu_solve(s.E, s.pivots, error)
        size = _norm(error, s.scale)
    return size


@native
def _guess(P: np.ndarray, h: float, before: float, Z: np.ndarray):
    """First guess of Z: the solution within the last step goes on."""
    if before == 0.0:
        Z[:] = 0.0
        return
    for i in range(3):
        x = C[i] * h / before
        # (1 + x)ᵖ − 1
        a, b, c, d = x, x * (2.0 + x), x * (3.0 + x * (3.0 + x)), x * (4.0 + x * (6.0 + x * (4.0 + x)))
        for j in range(Z.shape[1]):
            Z[i, j] = a * P[0, j] + b * P[1, j] + c * P[2, j] + d * P[3, j]


@native
def _next_step(m: RadauMemory, h: float, error: float, iterations: int) -> float:
    """The step after an accepted one, from this error and the one before."""
    error = max(error, 1e-10)
    safety = min(SAFETY, SAFETY * (1 + 2 * NEWTON_STEPS) / (iterations + 2 * NEWTON_STEPS))
    cut = error**0.25 / safety
    if m.step > 0.0:
        cut = max(cut, m.step / h * (error * error / m.error) ** 0.25 / SAFETY)
    m.step, m.error = h, max(1e-2, error)
    longer = h / max(1.0 / MOST_GROWTH, min(1.0 / MOST_CUT, cut))
    return min(longer, h) if m.after_rejection else longer


@native
def _begin(s: CollocationStep) -> int:
    """Consistent algebraic variables, F, and a first step."""
    p, m, z, n = s.problem, s.memory, s.z, s.size
    m.wanted, m.contraction, m.error, m.factored, m.step, m.rate = True, 1.0, 0.0, 0.0, 0.0, 0.0
    m.after_rejection, m.fresh = False, False
    z[:n] = m.y
    if s.whole > n:
        if p.dae_start(m.t, z) != 0:
            return FAILED
        z[:n] = m.y
        m.algebraic[:] = z[n:]
    m.evaluations += 2
    if s.rhs(m.t, z, m.f) != 0:
        return FAILED
    m.h = min(first_step(s, m.t, z, m.f, 3, s.inner, s.floor), s.max_step)
    return GO_ON


@native
def _renew(s: CollocationStep) -> int:
    """A new Jacobian where one is wanted, and factors where they are missing; FAILED if there is no Jacobian."""
    m, h = s.memory, s.h
    if m.wanted:
        if s.jacobian(m.t, s.z, m.J) != 0:
            return FAILED
        m.jacobians += 1
        m.wanted, m.fresh, m.factored = False, True, 0.0
    if m.factored != h:
        m.factorizations += 1
        m.factored = h if _factor(s) else 0.0
    elif s.factored != h:
        # Those of a run that was resumed.
        _factor(s)
    return GO_ON


@native
def _allowed(s: CollocationStep) -> float:
    """The error that a step may have: less beside a place where a branch ended or ends, from which f may go as t^3/2.

    Of f = tᵖ the error is by (h/t)² less than the estimate, as their orders say: no more than that may be forgiven.
    """
    m, apart = s.memory, math.inf
    if m.bent:
        apart = m.t - m.bent_at
    if m.nears and m.bend > m.t:
        apart = min(apart, max(0.0, m.bend - m.t - s.h))
    return min(1.0, s.rtol / s.inner * max(1.0, (apart / s.h) ** 2))


@native
def _try(s: CollocationStep) -> tuple[int, float]:
    """One try of a step, rises of the collocation polynomial in P[:3].

    Returns (Newton's steps, norm of the error), or (0, by what to shorten h) if it failed.
    """
    m, h, z, scale = s.memory, s.h, s.z, s.scale
    if m.factored != h:
        return 0, 0.5
    for j in range(len(z)):
        scale[j] = s.floor + s.inner * abs(z[j])
        if j >= s.size and s.index == 2:
            scale[j] /= min(h, 1.0)
    _guess(m.P, h, m.step, s.Z)
    iterations, cut = _newton(s)
    if iterations == 0:
        return 0, cut
    _combine(Z_TO_P, s.Z, s.P[:3])
    first = m.step == 0.0
    size = _estimate(s, first or m.after_rejection) / _allowed(s)
    if not size < 1.0:
        return 0, 0.1 if first or not np.isfinite(size) else max(MOST_CUT, SAFETY * size**-0.25)
    return iterations, size


@native
def _step(s: CollocationStep) -> int:
    """One try of a step."""
    m, z, n, P, error, Z = s.memory, s.z, s.size, s.P, s.missed, s.Z
    if _renew(s) != GO_ON:
        return FAILED
    s.iterations, s.error = _try(s)
    if s.iterations == 0:
        m.h = s.error * s.h
        m.after_rejection, m.wanted = True, not m.fresh
        return REJECTED
    P[3] = 0.0
    for k in range(4):
        for j in range(len(z)):
            P[k, j] += GAMMA * LIFT[k] * error[j]
    for j in range(n):
        s.new[j] = z[j] + Z[2, j]
    return GO_ON


@native
def _interpolate(s: CollocationStep) -> int:
    """The part of P that outputs show."""
    s.D[0] = s.memory.y
    s.D[1:] = s.P[:, : s.size]
    return GO_ON


@native
def _go_on(s: CollocationStep) -> int:
    """F at the end of a step, the next one, and what of the present one it can use."""
    m, h, n = s.memory, s.h, s.size
    m.P[:] = s.P
    for j in range(n, len(s.z)):
        m.algebraic[j - n] = s.z[j] + s.Z[2, j]
    s.z[:n], s.z[n:] = m.y, m.algebraic
    m.evaluations += 1
    if s.rhs(m.t, s.z, m.f) != 0:
        return FAILED
    longer = min(_next_step(m, h, s.error, s.iterations), s.max_step)
    slow = m.rate > KEEP_RATE
    m.h = h if not slow and KEEP_LOW <= longer / h <= KEEP_HIGH else longer
    m.after_rejection, m.fresh, m.wanted = False, False, slow
    if s.retracted == RESTART:
        m.step, m.wanted = 0.0, True
    return GO_ON


@native
def _tolerance(rtol: float) -> float:
    """Steps are as long as order 5 allows, though the estimate has order 3 (Hairer, Wanner: RADAU5)."""
    return 0.1 * rtol ** (2.0 / 3.0)


@dataclass(frozen=True)
class Radau(AdaptiveSteps, Stepwise):
    """Radau IIA: three implicit stages, order 5, dense output of order 4. For stiff problems, also with multipliers.

    Args:
        form: which equations are solved: "ode" for ẏ = f; "index-1" or "ggl" (index 2) for those with multipliers;
            "index-2" for canonical ones with multipliers.
        rtol, atol: local error allowed, relative and absolute.
    """

    form: Literal["ode", "index-1", "ggl", "index-2"] = "ode"
    rtol: float = 1e-8
    atol: float = 1e-10

    name: ClassVar[str] = "radau"
    order: ClassVar[int] = 5

    @property
    def needs(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self.form == "ode":
            return ("rhs", "retract", "jacobian")
        return ("retract", self.form)

    def memory(self, problem: Problem) -> RadauMemory:
        whole = problem.size if self.form == "ode" else problem.dae_size
        return RadauMemory(size=problem.size, n_events=problem.n_events, whole=whole)

    def stepper(self, problem: Problem, memory: RadauMemory) -> Stepper:
        rtol, atol, algebraic = self.rtol * problem.share, self.atol * problem.share, self.form != "ode"
        inner = _tolerance(rtol)
        step = CollocationStep(
            size=problem.size, whole=memory.whole, more_powers=1, stretch=STRETCH, max_steps=self.max_steps,
            problem=problem, memory=memory, index=problem.dae_index, rhs=problem.dae if algebraic else problem.rhs,
            jacobian=problem.dae_jacobian if algebraic else problem.jacobian, max_step=self.max_step, lenient=True,
            guard=0.0 if algebraic else GUARD, rtol=rtol, atol=atol, inner=inner, floor=inner * atol / rtol,
            z=np.concatenate([memory.y, memory.algebraic]),
            converged=max(10.0 * ROUNDING / inner, min(0.03, math.sqrt(inner))),
        )  # fmt: skip
        return Stepper.of(step, begin=_begin, step=_step, interpolate=_interpolate, go_on=_go_on)
