"""Backward differentiation of orders 1 to 5 with variable steps, in the form of numerical differentiation formulas.

With the backward differences ∇ᵐ of the last steps, all of length h, and d = y_new − Σ_{m≤k} ∇ᵐy the distance from
their prediction (which is ∇ᵏ⁺¹ y_new), order k solves

    d = h/α_k f(t + h, y_new) − 1/α_k Σ_{m=1…k} γ_m ∇ᵐy,    γ_m = Σ_{j≤m} 1/j,  α_k = (1 − κ_k) γ_k,

with the error  (κ_k γ_k + 1/(k+1)) d.  κ = 0 is BDF; small negative κ trade a little stability for accuracy. A new step
ρh turns the differences into those of the same polynomial at other places.

Retraction moves y_new, and d with it: the differences are those of states on the manifold.

Reference: L. F. Shampine, M. W. Reichelt, "The MATLAB ODE Suite", SIAM J. Sci. Comput. 18 (1997) 1-22;
E. Eich, SIAM J. Numer. Anal. 30 (1993) 1467-1482 (projection keeps the order).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial.polynomial import polyfromroots

from dalembert.integrators.base import AdaptiveSteps, Memory, Problem, Step, Stepper, Stepwise
from dalembert.integrators.ends import FAILED, GO_ON, REJECTED
from dalembert.integrators.loop import land
from dalembert.integrators.radau import power
from dalembert.integrators.runge_kutta import first_step
from dalembert.native import Flag, Int, Integers, Matrix, Real, Ref, Vector, native
from dalembert.numerics.context import RESTART
from dalembert.numerics.linear import lu_factor, lu_solve

__all__ = ["BackwardDifferences"]

HIGHEST = 5
KAPPA = np.array([0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0])
GAMMA = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, HIGHEST + 1))])
ALPHA = (1.0 - KAPPA) * GAMMA
ERROR_CONSTANT = KAPPA * GAMMA + 1.0 / np.arange(1, HIGHEST + 2)


def _powers() -> np.ndarray:
    """Row m: (s)(s + 1)…(s + m − 1)/m! with s = θ − 1, in powers of θ: what ∇ᵐ contributes within a step."""
    rows = np.zeros((HIGHEST + 1, HIGHEST + 1))
    for m in range(HIGHEST + 1):
        rows[m, : m + 1] = polyfromroots(1.0 - np.arange(m)) / math.factorial(m)
    return rows


POWERS = _powers()
BINOMIAL = np.array([[math.comb(j, i) * (-1.0) ** i for i in range(HIGHEST + 1)] for j in range(HIGHEST + 1)])

NEWTON_STEPS = 4
ROUNDED = 0.02  # of the tolerance
SAFETY, MOST_GROWTH, MOST_CUT = 0.9, 10.0, 0.2
# A step that could grow by less than this keeps its length, and the factors with it.
WORTH_A_CHANGE = 1.2
ROUNDING = 2.3e-16
# Where ÿ is looked at when a method begins, in first steps.
AHEAD = 1e-3
# The last step may be longer by this, relative.
STRETCH = 1e-6


class DifferencesMemory(Memory):
    """What the loop remembers.

    Attributes:
        order: of the formula.
        step, equal: step of the differences, and how many steps were taken since it changed.
        fresh, wanted: the Jacobian was made after the last accepted step; a new one is wanted.
        factored: h/α for which it was factored; 0: none.
        jacobians, factorizations, restarts: how many of both were made, and how often it began anew.
        D: differences ∇⁰ … ∇⁷.
    """

    order, equal = 2 * Int()
    step, factored = 2 * Real()
    fresh, wanted = 2 * Flag()
    jacobians, factorizations, restarts = 3 * Int()
    D = Matrix(8, "size")
    J = Matrix("size", "size")


class DifferencesStep(Step):
    """A step, options, and working space.

    Attributes:
        converged: of Newton's method, relative to the tolerance.
        iterations, error: of Newton's method, and of the step.
        factored: h/α for which E = 1 − h/α J is factored; 0: not yet.
        guess, psi, scale, d, f: prediction, Ψ = 1/α Σ γ_m ∇ᵐy, scale of errors, d, and f or a correction.
    """

    iterations = Int()
    max_step, converged, error, factored = 4 * Real()
    memory = Ref(DifferencesMemory)
    guess, psi, scale, d, f = 5 * Vector("size")
    E = Matrix("size", "size")
    pivots = Integers("size")


@native
def _factor(s: DifferencesStep, c: float) -> bool:
    """1 − c J; False if it is singular."""
    n, E, J = s.size, s.E, s.memory.J
    for i in range(n):
        for j in range(n):
            E[i, j] = -c * J[i, j]
        E[i, i] += 1.0
    s.factored = c
    return lu_factor(E, s.pivots)


@native
def _rescale(D: np.ndarray, k: int, ratio: float):
    """Differences of the polynomial of order k for steps ``ratio`` times as long.

    y(s) = Σ ∇ᵐ φ_m(s), φ_m(s) = s (s + 1) … (s + m − 1)/m!, gives the new  ∇ʲ = Σ_i (−1)ⁱ C(j, i) y(−i·ratio).
    """
    phi, old = np.empty((k + 1, k + 1)), D[: k + 1].copy()
    for i in range(k + 1):
        phi[i, 0] = 1.0
        for m in range(1, k + 1):
            phi[i, m] = phi[i, m - 1] * (m - 1 - i * ratio) / m
    for j in range(1, k + 1):
        D[j] = 0.0
        for m in range(1, k + 1):
            s = 0.0
            for i in range(1, j + 1):
                s += BINOMIAL[j, i] * phi[i, m]
            for a in range(D.shape[1]):
                D[j, a] += s * old[m, a]


@native
def _norm(x: np.ndarray, scale: np.ndarray, factor: float) -> float:
    s = 0.0
    for j in range(len(x)):
        s += (x[j] / scale[j]) ** 2
    return factor * math.sqrt(s / len(x))


@native
def _predict(s: DifferencesStep):
    D, k, guess, psi, scale = s.memory.D, s.memory.order, s.guess, s.psi, s.scale
    rtol, atol = s.rtol, s.atol
    for j in range(len(guess)):
        x, p = D[0, j], 0.0
        for i in range(1, k + 1):
            x += D[i, j]
            p += GAMMA[i] * D[i, j]
        guess[j], psi[j], scale[j] = x, p / ALPHA[k], atol + rtol * abs(x)


@native
def _newton(s: DifferencesStep, c: float) -> int:
    """Solve for d and y_new; returns the number of steps, 0 if it does not converge."""
    p, m, guess, psi, d, new, f, converged = s.problem, s.memory, s.guess, s.psi, s.d, s.new, s.f, s.converged
    before, rate = 0.0, 0.0
    d[:] = 0.0
    new[:] = guess
    for step in range(1, NEWTON_STEPS + 1):
        m.evaluations += 1
        if p.rhs(s.t_new, new, f) != 0:
            return 0
        for j in range(len(f)):
            f[j] = c * f[j] - psi[j] - d[j]
        lu_solve(s.E, s.pivots, f)
        size = _norm(f, s.scale, 1.0)
        if not np.isfinite(size):
            return 0
        if step > 1:
            rate = size / before
            # A correction far below the tolerance that stops shrinking is rounding.
            if rate >= 0.5 and size <= ROUNDED:
                return step - 1
            if rate >= 1.0 or power(rate, NEWTON_STEPS - step) / (1.0 - rate) * size > converged:
                return 0
        for j in range(len(f)):
            d[j] += f[j]
            new[j] = guess[j] + d[j]
        if size == 0.0 or (step > 1 and rate / (1.0 - rate) * size < converged):
            return step
        before = size
    return 0


@native
def _move_on(D: np.ndarray, k: int, guess: np.ndarray, new: np.ndarray):
    """Differences at the end of the step."""
    for j in range(len(new)):
        d = new[j] - guess[j]
        D[k + 2, j] = d - D[k + 1, j]
        D[k + 1, j] = d
    for m in range(k, 0, -1):
        for j in range(len(new)):
            D[m, j] += D[m + 1, j]
    D[0] = new


@native
def _interpolate(s: DifferencesStep) -> int:
    """The solution within the step, of the order of the formula, in powers of θ."""
    D, k, dense = s.memory.D, s.memory.order, s.D
    for p in range(HIGHEST + 1):
        dense[p] = 0.0
        for m in range(p, k + 1):
            for j in range(D.shape[1]):
                dense[p, j] += POWERS[m, p] * D[m, j]
    return GO_ON


@native
def _choose(m: DifferencesMemory, scale: np.ndarray, error: float, iterations: int, h: float) -> float:
    """The next step, and in the memory the next order: of k − 1, k, k + 1 the one that allows the longest step."""
    k, D = m.order, m.D
    if m.equal < k + 1:
        return h
    best, longest = k, max(error, 1e-10) ** (-1.0 / (k + 1))
    if k > 1:
        factor = _norm(D[k], scale, ERROR_CONSTANT[k - 1]) ** (-1.0 / k)
        if factor > longest:
            best, longest = k - 1, factor
    if k < HIGHEST:
        factor = _norm(D[k + 2], scale, ERROR_CONSTANT[k + 1]) ** (-1.0 / (k + 2))
        if factor > longest:
            best, longest = k + 1, factor
    growth = min(MOST_GROWTH, longest * SAFETY * (2 * NEWTON_STEPS + 1) / (2 * NEWTON_STEPS + iterations))
    if best == k and 1.0 <= growth < WORTH_A_CHANGE:
        return h
    m.order, m.equal = best, 0
    return h * max(MOST_CUT, growth)


@native
def _restart(s: DifferencesStep) -> int:
    """Order 2 with a first step; what the memory counts goes on.

    The differences are those of the parabola through y with ẏ and ÿ. Of order 1 the way within a step would be
    straight: what just left a stop would seem to be behind it at once.
    """
    p, m, f, k = s.problem, s.memory, s.f, s.d
    y, D = m.y, m.D
    if p.rhs(m.t, y, f) != 0:
        return FAILED
    m.restarts += 1
    m.evaluations += 3
    h = min(first_step(p, m.t, y, f, 2, s.rtol, s.atol), s.max_step)
    ahead = AHEAD * h
    if p.rhs(m.t + ahead, y + ahead * f, k) != 0:
        k[:] = f
    D[:] = 0.0
    for j in range(len(y)):
        bend = h * h * (k[j] - f[j]) / ahead
        D[0, j], D[1, j], D[2, j] = y[j], h * f[j] - 0.5 * bend, bend
    m.h, m.step, m.order, m.equal = h, h, 2, 0
    m.fresh, m.wanted, m.factored = False, True, 0.0
    return GO_ON


@native
def _solve(s: DifferencesStep, c: float) -> int:
    """Find the end of the step, with a Jacobian and factors that fit; FAILED if there is no Jacobian."""
    m = s.memory
    s.iterations = 0
    if m.wanted:
        if s.problem.jacobian(s.t_new, s.guess, m.J) != 0:
            return FAILED
        m.jacobians += 1
        m.wanted, m.fresh, m.factored = False, True, 0.0
    if m.factored != c:
        m.factorizations += 1
        m.factored = c if _factor(s, c) else 0.0
    elif s.factored != c:
        # Those of a run that was resumed.
        _factor(s, c)
    if m.factored == c:
        s.iterations = _newton(s, c)
    return GO_ON


@native
def _error(s: DifferencesStep) -> float:
    """Scaled error of a step that Newton's method found."""
    new, scale, rtol, atol = s.new, s.scale, s.rtol, s.atol
    for j in range(len(new)):
        scale[j] = atol + rtol * abs(new[j])
    return _norm(s.d, scale, ERROR_CONSTANT[s.memory.order])


@native
def _fall_back(s: DifferencesStep):
    """After a step with too large an error: the order below it, as long as its error is less.

    Higher differences enlarge rounding, and what is not smooth; shorter steps would make neither smaller.
    """
    m, last = s.memory, s.f
    last[:] = s.d
    while m.order > 1:
        last += m.D[m.order]
        error = _norm(last, s.scale, ERROR_CONSTANT[m.order - 1])
        if not error < s.error:
            return
        m.order -= 1
        s.error = error


@native
def _cut(m: DifferencesMemory, iterations: int, error: float) -> float:
    """By what a step that was rejected is shortened."""
    # If steps shrink faster than orders can be compared, a generous cut makes room for that.
    cut = 0.5 if iterations == 0 or m.equal < m.order + 1 else SAFETY
    if iterations > 0:
        cut = max(MOST_CUT, min(cut, SAFETY * error ** (-1.0 / (m.order + 1))))
    return cut


@native
def _step(s: DifferencesStep) -> int:
    """One try of a step."""
    m, h, c = s.memory, s.h, s.h / ALPHA[s.memory.order]
    if h != m.step:
        _rescale(m.D, m.order, h / m.step)
        m.step, m.equal = h, 0
    _predict(s)
    if _solve(s, c) != GO_ON:
        return FAILED
    if s.iterations == 0 and not m.fresh:
        m.wanted = True
        if _solve(s, c) != GO_ON:
            return FAILED
    s.error = _error(s) if s.iterations > 0 else math.inf
    if not s.error <= 1.0:
        if s.iterations > 0:
            _fall_back(s)
        m.h = _cut(m, s.iterations, s.error) * h
        return REJECTED
    s.d[:] = s.new
    if land(s) != GO_ON:
        return FAILED
    # Where y changes its meaning, the way to there is that of the old one.
    _move_on(m.D, m.order, s.guess, s.d if s.retracted == RESTART else s.new)
    return GO_ON


@native
def _go_on(s: DifferencesStep) -> int:
    """The next step and its order; where y has changed its meaning, begin anew."""
    m = s.memory
    if s.retracted == RESTART:
        return _restart(s)
    m.equal += 1
    m.fresh = False
    m.h = min(_choose(m, s.scale, s.error, s.iterations, s.h), s.max_step)
    return GO_ON


@dataclass(frozen=True)
class BackwardDifferences(AdaptiveSteps, Stepwise):
    """Backward differentiation of orders 1 to 5. For stiff problems at loose tolerances; one evaluation per iteration.

    Args:
        rtol, atol: local error allowed, relative and absolute.
    """

    rtol: float = 1e-7
    atol: float = 1e-9

    name: ClassVar[str] = "bdf"
    order: ClassVar[int] = HIGHEST
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "jacobian")

    def memory(self, problem: Problem) -> DifferencesMemory:
        return DifferencesMemory(size=problem.size, n_events=problem.n_events)

    def stepper(self, problem: Problem, memory: DifferencesMemory) -> Stepper:
        rtol, atol = self.rtol * problem.share, self.atol * problem.share
        step = DifferencesStep(
            size=problem.size, more_powers=HIGHEST - 3, stretch=STRETCH, max_steps=self.max_steps, problem=problem,
            memory=memory, rtol=rtol, atol=atol, max_step=self.max_step,
            converged=max(10.0 * ROUNDING / rtol, min(0.03, math.sqrt(rtol))),
        )  # fmt: skip
        return Stepper.of(step, begin=_restart, step=_step, interpolate=_interpolate, go_on=_go_on)
