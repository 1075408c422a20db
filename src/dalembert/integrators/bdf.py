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
from numba import njit
from numpy.polynomial.polynomial import polyfromroots

from dalembert.integrators.base import Integrator, Problem, Status
from dalembert.integrators.explicit import first_step
from dalembert.integrators.loop import (
    CONTEXT,
    EVALUATIONS,
    FAILED,
    GO_ON,
    JACOBIAN,
    REJECTED,
    RETRACT,
    RHS,
    STARTED,
    STEP_TOO_SMALL,
    H,
    T,
    begin,
    end_step,
    own,
    smallest_step,
    state,
    wants_between,
    wish,
)
from dalembert.numerics.linear import lu_factor, lu_solve
from dalembert.numerics.native import RESTART, call_address

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

# What the loop remembers, before differences and the Jacobian: order, step of the differences, steps since it changed,
# the Jacobian was made after the last accepted step, a new one is wanted, h/α for which it was factored (0: none), how
# many of both were made, and how often it began with order 1.
ORDER, STEP, EQUAL, FRESH, WANTED, FACTORED, JACOBIANS, FACTORISATIONS, RESTARTS = range(9)
NOTES = 9


@njit(cache=True, nogil=True, error_model="numpy")
def _factor(J, c, E, pivots):
    """1 − c J; False if it is singular."""
    n = J.shape[0]
    for i in range(n):
        for j in range(n):
            E[i, j] = -c * J[i, j]
        E[i, i] += 1.0
    return lu_factor(E, pivots)


@njit(cache=True, nogil=True, error_model="numpy")
def _rescale(D, k, ratio):
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


@njit(cache=True, nogil=True, error_model="numpy")
def _norm(x, scale, factor):
    s = 0.0
    for j in range(x.shape[0]):
        s += (x[j] / scale[j]) ** 2
    return factor * math.sqrt(s / x.shape[0])


@njit(cache=True, nogil=True, error_model="numpy")
def _predict(D, k, rtol, atol, guess, psi, scale):
    for j in range(guess.shape[0]):
        s, p = D[0, j], 0.0
        for m in range(1, k + 1):
            s += D[m, j]
            p += GAMMA[m] * D[m, j]
        guess[j], psi[j], scale[j] = s, p / ALPHA[k], atol + rtol * abs(s)


@njit(cache=True, nogil=True, error_model="numpy")
def _newton(table, memory, t, c, guess, psi, scale, E, pivots, tolerance, d, new, f):
    """Solve for d and y_new; returns the number of steps, 0 if it does not converge."""
    n, before, rate = guess.shape[0], 0.0, 0.0
    d[:] = 0.0
    new[:] = guess
    for step in range(1, NEWTON_STEPS + 1):
        memory[EVALUATIONS] += 1
        if call_address(table[RHS], table[CONTEXT], t, new, f) != 0:
            return 0
        for j in range(n):
            f[j] = c * f[j] - psi[j] - d[j]
        lu_solve(E, pivots, f)
        size = _norm(f, scale, 1.0)
        if not np.isfinite(size):
            return 0
        if step > 1:
            rate = size / before
            # A correction far below the tolerance that stops shrinking is rounding.
            if rate >= 0.5 and size <= ROUNDED:
                return step - 1
            if rate >= 1.0 or rate ** (NEWTON_STEPS - step) / (1.0 - rate) * size > tolerance:
                return 0
        for j in range(n):
            d[j] += f[j]
            new[j] = guess[j] + d[j]
        if size == 0.0 or (step > 1 and rate / (1.0 - rate) * size < tolerance):
            return step
        before = size
    return 0


@njit(cache=True, nogil=True, error_model="numpy")
def _move_on(D, k, guess, new):
    """Differences at the end of the step."""
    for j in range(new.shape[0]):
        d = new[j] - guess[j]
        D[k + 2, j] = d - D[k + 1, j]
        D[k + 1, j] = d
    for m in range(k, 0, -1):
        for j in range(new.shape[0]):
            D[m, j] += D[m + 1, j]
    D[0] = new


@njit(cache=True, nogil=True, error_model="numpy")
def _within(D, k, dense):
    """The solution within the step in powers of θ."""
    for p in range(k + 1):
        dense[p] = 0.0
        for m in range(p, k + 1):
            for j in range(D.shape[1]):
                dense[p, j] += POWERS[m, p] * D[m, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _choose(D, notes, scale, error, iterations, h):
    """The next step, and in the notes the next order: of k − 1, k, k + 1 the one that allows the longest step."""
    k = int(notes[ORDER])
    if notes[EQUAL] < k + 1:
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
    notes[ORDER], notes[EQUAL] = best, 0.0
    return h * max(MOST_CUT, growth)


@njit(cache=True, nogil=True, error_model="numpy")
def _restart(table, memory, D, notes, f, rtol, atol, largest):
    """Order 1 with a first step; notes keep what they count."""
    y = state(table, memory)
    if call_address(table[RHS], table[CONTEXT], memory[T], y, f) != 0:
        return FAILED
    for i in range(JACOBIANS):
        notes[i] = 0.0
    notes[RESTARTS] += 1
    memory[EVALUATIONS] += 2
    h = min(first_step(table, memory[T], y, f, 1, rtol, atol), largest)
    D[:] = 0.0
    for j in range(y.shape[0]):
        D[0, j], D[1, j] = y[j], h * f[j]
    memory[H], notes[STEP], notes[ORDER], notes[WANTED] = h, h, 1.0, 1.0
    return GO_ON


@njit(cache=True, nogil=True, error_model="numpy")
def _bdf(table, memory, times, out, rtol, atol, largest, most, monitor):
    """Integrate through all output times. Own memory: notes, differences ∇⁰ … ∇⁷, J."""
    context, y, rest, end = table[CONTEXT], state(table, memory), own(table, memory), times[-1]
    n = y.shape[0]
    notes, D = rest[:NOTES], rest[NOTES : NOTES + (HIGHEST + 3) * n].reshape(HIGHEST + 3, n)
    jacobian = rest[NOTES + (HIGHEST + 3) * n :]
    J, E, pivots = jacobian.reshape(n, n), np.empty((n, n)), np.empty(n, dtype=np.int64)
    guess, psi, scale, d, new, f = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    dense = np.empty((HIGHEST + 1, n))
    tolerance = max(10.0 * ROUNDING / rtol, min(0.03, math.sqrt(rtol)))
    if memory[STARTED] == 0.0:
        notes[:] = 0.0
        if begin(table, memory) != GO_ON or _restart(table, memory, D, notes, f, rtol, atol, largest) != GO_ON:
            return FAILED
    elif notes[FACTORED] > 0.0:
        _factor(J, notes[FACTORED], E, pivots)
    while True:
        status = wish(memory, monitor, most)
        if status != GO_ON:
            return status
        t, h, k = memory[T], memory[H], int(notes[ORDER])
        if not h >= smallest_step(t, end):
            return STEP_TOO_SMALL
        last = t + h * (1.0 + 1e-6) >= end
        t_new = end if last else t + h
        if last:
            h = end - t
        if h != notes[STEP]:
            _rescale(D, k, h / notes[STEP])
            notes[STEP], notes[EQUAL] = h, 0.0
        _predict(D, k, rtol, atol, guess, psi, scale)
        c = h / ALPHA[k]
        if notes[WANTED] != 0.0:
            if call_address(table[JACOBIAN], context, t_new, guess, jacobian) != 0:
                return FAILED
            notes[JACOBIANS] += 1
            notes[WANTED], notes[FRESH], notes[FACTORED] = 0.0, 1.0, 0.0
        if notes[FACTORED] != c:
            notes[FACTORISATIONS] += 1
            notes[FACTORED] = c if _factor(J, c, E, pivots) else 0.0
        iterations, error = 0, np.inf
        if notes[FACTORED] == c:
            iterations = _newton(table, memory, t_new, c, guess, psi, scale, E, pivots, tolerance, d, new, f)
        if iterations == 0 and notes[FRESH] == 0.0:
            notes[WANTED] = 1.0
            continue
        if iterations > 0:
            for j in range(n):
                scale[j] = atol + rtol * abs(new[j])
            error = _norm(d, scale, ERROR_CONSTANT[k])
        if not error <= 1.0:
            memory[REJECTED] += 1
            # If steps shrink faster than orders can be compared, a generous cut makes room for that.
            cut = 0.5 if iterations == 0 or notes[EQUAL] < k + 1 else SAFETY
            if iterations > 0:
                cut = max(MOST_CUT, min(cut, SAFETY * error ** (-1.0 / (k + 1))))
            memory[H] = cut * h
            continue
        d[:] = new
        retracted = call_address(table[RETRACT], context, t_new, new, f)
        if retracted > 0:
            return FAILED
        # Where y changes its meaning, the way to there is that of the old one.
        _move_on(D, k, guess, d if retracted == RESTART else new)
        if wants_between(table, memory, times, t_new):
            _within(D, k, dense)
        status = end_step(table, memory, dense[: k + 1], t_new, new, times, out)
        if status != GO_ON:
            return status
        if retracted == RESTART:
            if _restart(table, memory, D, notes, f, rtol, atol, largest) != GO_ON:
                return FAILED
            continue
        notes[EQUAL] += 1
        notes[FRESH] = 0.0
        memory[H] = min(_choose(D, notes, scale, error, iterations, h), largest)


@dataclass(frozen=True)
class BackwardDifferences(Integrator):
    """Backward differentiation of orders 1 to 5. For stiff problems at loose tolerances; one evaluation per iteration.

    Args:
        rtol, atol: local error allowed, relative and absolute.
        max_step: longest step (s).
        max_steps: gives up after so many.
    """

    rtol: float = 1e-7
    atol: float = 1e-9
    max_step: float = math.inf
    max_steps: int = 10_000_000

    name: ClassVar[str] = "bdf"
    order: ClassVar[int] = HIGHEST
    adaptive: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "jacobian")

    def memory_size(self, problem: Problem) -> int:
        n = problem["size"]
        return NOTES + (HIGHEST + 3) * n + n * n

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        options = self.rtol, self.atol, self.max_step, self.max_steps
        return Status(_bdf(problem.table, memory, times, out, *options, monitor))
