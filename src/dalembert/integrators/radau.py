"""Radau IIA of order 5: an implicit Runge-Kutta method for stiff and for differential-algebraic equations.

    B ż = F(t, z),   B = diag(1 … 1, 0 … 0)

The collocation polynomial z(t + θh) = z + Σ_p P_p θᵖ fulfils the equations at c₁, c₂, c₃ = 1; with Z_i its rise up to
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
from typing import ClassVar, Literal

import numpy as np
from numba import njit
from numpy.polynomial.polynomial import polyfromroots

from dalembert.integrators.base import Integrator, Problem, Status
from dalembert.integrators.explicit import first_step
from dalembert.integrators.loop import (
    CONTEXT,
    DAE,
    DAE_INDEX,
    DAE_JACOBIAN,
    DAE_SIZE,
    DAE_START,
    EVALUATIONS,
    FAILED,
    GO_ON,
    JACOBIAN,
    REJECTED,
    RETRACT,
    RHS,
    SIZE,
    STARTED,
    STEP_TOO_SMALL,
    H,
    T,
    begin,
    end_step,
    own,
    smallest_step,
    state,
    wish,
)
from dalembert.numerics.linear import lu_factor, lu_solve
from dalembert.numerics.native import RESTART, call_address

__all__ = ["Radau"]

_ROOT = math.sqrt(6.0)
C = np.array([(4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0])
_POWERS = C[:, None] ** np.arange(1, 4)
# A integrates the Lagrange polynomials of the nodes; P = Z_TO_P Z.
_A = _POWERS / np.arange(1, 4) @ np.linalg.inv(C[:, None] ** np.arange(3))
Z_TO_P = np.linalg.inv(_POWERS)


def _transformation() -> tuple[float, float, float, np.ndarray]:
    """γ, α, β and T; the real eigenvector has length one, the complex one ends in one."""
    values, vectors = np.linalg.eig(np.linalg.inv(_A))
    real, upper = int(np.argmin(np.abs(np.imag(values)))), int(np.argmax(np.imag(values)))
    first, second = np.real(vectors[:, real]), vectors[:, upper] / vectors[2, upper]
    T = np.column_stack([first / np.linalg.norm(first), np.real(second), -np.imag(second)])
    return float(np.real(values[real])), float(np.real(values[upper])), float(np.imag(values[upper])), T


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

# What the loop remembers, before vectors and the Jacobian: error and step of the last accepted step (0: none yet),
# rate of Newton's method, θ/(1 − θ) of its last step, a step was just rejected, the Jacobian is that of the present
# state, a new one is wanted, step for which it was factored (0: none), how many of both were made.
ERROR, STEP, RATE, CONTRACTION, AFTER_REJECTION, FRESH, WANTED, FACTORED, JACOBIANS, FACTORISATIONS = range(10)
NOTES = 10


@njit(cache=True, nogil=True, error_model="numpy")
def _factor(J, n, h, E, pivots, E_complex, pivots_complex):
    """Both matrices of Newton's method; False if one is singular."""
    N = J.shape[0]
    for i in range(N):
        for j in range(N):
            E[i, j] = -J[i, j]
            E_complex[i, j] = -J[i, j]
    for i in range(n):
        E[i, i] += GAMMA / h
        E_complex[i, i] += complex(ALPHA / h, BETA / h)
    return lu_factor(E, pivots) and lu_factor(E_complex, pivots_complex)


@njit(cache=True, nogil=True, error_model="numpy")
def _combine(M, X, Y):
    """Y = M X for a matrix of 3 × 3."""
    for i in range(3):
        for j in range(X.shape[1]):
            Y[i, j] = M[i, 0] * X[0, j] + M[i, 1] * X[1, j] + M[i, 2] * X[2, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _norm(x, scale):
    s = 0.0
    for j in range(x.shape[0]):
        s += (x[j] / scale[j]) ** 2
    return math.sqrt(s / x.shape[0])


@njit(cache=True, nogil=True, error_model="numpy")
def _increment(h, n, F, W, E, pivots, E_complex, pivots_complex, scale, V):
    """ΔW into F, from F at the stages; returns its norm."""
    N = F.shape[1]
    for j in range(N):
        f, g, k = F[0, j], F[1, j], F[2, j]
        F[0, j] = Z_TO_W[0, 0] * f + Z_TO_W[0, 1] * g + Z_TO_W[0, 2] * k
        V[j] = complex(
            Z_TO_W[1, 0] * f + Z_TO_W[1, 1] * g + Z_TO_W[1, 2] * k,
            Z_TO_W[2, 0] * f + Z_TO_W[2, 1] * g + Z_TO_W[2, 2] * k,
        )
    for j in range(n):
        F[0, j] -= GAMMA / h * W[0, j]
        V[j] -= complex(ALPHA / h, BETA / h) * complex(W[1, j], W[2, j])
    lu_solve(E, pivots, F[0])
    lu_solve(E_complex, pivots_complex, V)
    s = 0.0
    for j in range(N):
        F[1, j], F[2, j] = V[j].real, V[j].imag
        s += (F[0, j] ** 2 + F[1, j] ** 2 + F[2, j] ** 2) / scale[j] ** 2
    return math.sqrt(s / (3 * N))


@njit(cache=True, nogil=True, error_model="numpy")
def _newton(address, context, t, h, n, z, Z, W, F, factors, scale, tolerance, moved, V, notes, memory):
    """Solve for Z, from a first guess; returns (steps, 1), or (0, by what to shorten h) if it does not converge."""
    E, pivots, E_complex, pivots_complex = factors
    contraction = max(notes[CONTRACTION], ROUNDING) ** 0.8
    rate, rate_before, before = KEEP_RATE, 0.0, 0.0
    _combine(Z_TO_W, Z, W)
    for step in range(1, NEWTON_STEPS + 1):
        memory[EVALUATIONS] += 3
        for i in range(3):
            for j in range(z.shape[0]):
                moved[j] = z[j] + Z[i, j]
            if call_address(address, context, t + C[i] * h, moved, F[i]) != 0:
                return 0, 0.5
        size = _increment(h, n, F, W, E, pivots, E_complex, pivots_complex, scale, V)
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
            ahead = contraction * size * rate**left / tolerance
            if ahead >= 1.0:
                return 0, 0.8 * min(20.0, ahead) ** (-1.0 / (4.0 + left))
        before = max(size, ROUNDING)
        for i in range(3):
            for j in range(z.shape[0]):
                W[i, j] += F[i, j]
        _combine(W_TO_Z, W, Z)
        # One step alone would trust the rate of another time: integrals of stiff quantities, such as work, suffer.
        if size == 0.0 or (step > 1 and contraction * size <= tolerance):
            notes[CONTRACTION], notes[RATE] = contraction, rate
            return step, 1.0
    return 0, 0.5


@njit(cache=True, nogil=True, error_model="numpy")
def _estimate(address, context, t, h, n, z, f, P, E, pivots, scale, again, error, moved, memory):
    """The error of the step and its norm. ``again``: a large estimate is filtered twice, which damps stiff parts."""
    N = z.shape[0]
    for j in range(N):
        error[j] = f[j] - (P[0, j] / h if j < n else 0.0)
    lu_solve(E, pivots, error)
    size = _norm(error, scale)
    if again and size >= 1.0:
        memory[EVALUATIONS] += 1
        for j in range(N):
            moved[j] = z[j] + error[j]
        if call_address(address, context, t, moved, error) != 0:
            return np.inf
        for j in range(n):
            error[j] -= P[0, j] / h
        lu_solve(E, pivots, error)
        size = _norm(error, scale)
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def _guess(P, h, before, Z):
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


@njit(cache=True, nogil=True, error_model="numpy")
def _next_step(h, error, iterations, notes):
    """The step after an accepted one, from this error and the one before."""
    error = max(error, 1e-10)
    safety = min(SAFETY, SAFETY * (1 + 2 * NEWTON_STEPS) / (iterations + 2 * NEWTON_STEPS))
    cut = error**0.25 / safety
    if notes[STEP] > 0.0:
        cut = max(cut, notes[STEP] / h * (error * error / notes[ERROR]) ** 0.25 / SAFETY)
    notes[STEP], notes[ERROR] = h, max(1e-2, error)
    longer = h / max(1.0 / MOST_GROWTH, min(1.0 / MOST_CUT, cut))
    if notes[AFTER_REJECTION] != 0.0:
        longer = min(longer, h)
    return longer


@njit(cache=True, nogil=True, error_model="numpy")
def _start(table, memory, algebraic, address, z, scratch, f, notes, rtol, atol, largest):
    """Consistent algebraic variables, F, and a first step."""
    context, t, n = table[CONTEXT], memory[T], table[SIZE]
    notes[:] = 0.0
    notes[WANTED], notes[CONTRACTION] = 1.0, 1.0
    if begin(table, memory) != GO_ON:
        return FAILED
    if algebraic.shape[0] > 0:
        if call_address(table[DAE_START], context, t, z, scratch) != 0:
            return FAILED
        z[:n] = state(table, memory)
        algebraic[:] = z[n:]
    memory[EVALUATIONS] += 2
    if call_address(address, context, t, z, f) != 0:
        return FAILED
    equations = table.copy()
    equations[RHS] = address
    memory[H] = min(first_step(equations, t, z, f, 3, rtol, atol), largest)
    return GO_ON


@njit(cache=True, nogil=True, error_model="numpy")
def _try(address, context, t, h, n, index, z, f, P, J, notes, memory, inner, floor, factors, stages, vectors, D):
    """One try of a step, rises P of the collocation polynomial in D[1:4].

    Returns (Newton's steps, norm of the error), or (0, by what to shorten h) if it failed.
    """
    (E, pivots, _, _), (Z, W, F, V), (scale, error, moved) = factors, stages, vectors
    tolerance = max(10.0 * ROUNDING / inner, min(0.03, math.sqrt(inner)))
    if notes[FACTORED] != h:
        notes[FACTORISATIONS] += 1
        notes[FACTORED] = h if _factor(J, n, h, *factors) else 0.0
        if notes[FACTORED] != h:
            return 0, 0.5
    for j in range(z.shape[0]):
        scale[j] = floor + inner * abs(z[j])
        if j >= n and index == 2:
            scale[j] /= min(h, 1.0)
    _guess(P, h, notes[STEP], Z)
    iterations, cut = _newton(address, context, t, h, n, z, Z, W, F, factors, scale, tolerance, moved, V, notes, memory)
    if iterations == 0:
        return 0, cut
    _combine(Z_TO_P, Z, D[1:4])
    first = notes[STEP] == 0.0
    again = first or notes[AFTER_REJECTION] != 0.0
    size = _estimate(address, context, t, h, n, z, f, D[1:4], E, pivots, scale, again, error, moved, memory)
    if not size < 1.0:
        return 0, 0.1 if first or not np.isfinite(size) else max(MOST_CUT, SAFETY * size**-0.25)
    return iterations, size


@njit(cache=True, nogil=True, error_model="numpy")
def _radau(table, memory, dae, times, out, rtol, atol, largest, most, monitor):
    """Integrate through all output times.

    Own memory: notes, F at the start of the step, solution within the last one, J, algebraic variables.
    """
    context, n, index = table[CONTEXT], table[SIZE], table[DAE_INDEX]
    N, address, jacobian = n, table[RHS], table[JACOBIAN]
    if dae:
        N, address, jacobian = table[DAE_SIZE], table[DAE], table[DAE_JACOBIAN]
    y, rest, end = state(table, memory), own(table, memory), times[-1]
    notes, f, rest = rest[:NOTES], rest[NOTES : NOTES + N], rest[NOTES + N :]
    P, J, algebraic = rest[: 4 * N].reshape(4, N), rest[4 * N : 4 * N + N * N].reshape(N, N), rest[4 * N + N * N :]
    E, E_complex = np.empty((N, N)), np.empty((N, N), dtype=np.complex128)
    factors = E, np.empty(N, dtype=np.int64), E_complex, np.empty(N, dtype=np.int64)
    Z, D, z, error, new = np.empty((3, N)), np.empty((5, N)), np.empty(N), np.empty(N), np.empty(N)
    stages = Z, np.empty((3, N)), np.empty((3, N)), np.empty(N, dtype=np.complex128)
    vectors = np.empty(N), error, new
    z[:n], z[n:] = y, algebraic
    # Steps are as long as order 5 allows, though the estimate has order 3 (Hairer, Wanner: RADAU5).
    inner = 0.1 * rtol ** (2.0 / 3.0)
    floor = inner * atol / rtol
    if memory[STARTED] == 0.0:
        if _start(table, memory, algebraic, address, z, new, f, notes, inner, floor, largest) != GO_ON:
            return FAILED
    elif notes[FACTORED] > 0.0:
        _factor(J, n, notes[FACTORED], *factors)
    while True:
        status = wish(memory, monitor, most)
        if status != GO_ON:
            return status
        t, h = memory[T], memory[H]
        if not h >= smallest_step(t, end):
            return STEP_TOO_SMALL
        last = t + h * (1.0 + 1e-6) >= end
        t_new = end if last else t + h
        if last:
            h = end - t
        if notes[WANTED] != 0.0:
            if call_address(jacobian, context, t, z, J.reshape(N * N)) != 0:
                return FAILED
            notes[JACOBIANS] += 1
            notes[WANTED], notes[FRESH], notes[FACTORED] = 0.0, 1.0, 0.0
        iterations, size = _try(
            address, context, t, h, n, index, z, f, P, J, notes, memory, inner, floor, factors, stages, vectors, D
        )
        if iterations == 0:
            memory[REJECTED] += 1
            memory[H] = size * h
            notes[AFTER_REJECTION], notes[WANTED] = 1.0, 1.0 - notes[FRESH]
            continue
        D[0], D[4] = z, 0.0
        for p in range(4):
            for j in range(N):
                D[p + 1, j] += GAMMA * LIFT[p] * error[j]
        P[:] = D[1:]
        for j in range(N):
            new[j] = z[j] + Z[2, j]
        retracted = call_address(table[RETRACT], context, t_new, new[:n], error)
        if retracted > 0:
            return FAILED
        algebraic[:] = new[n:]
        z[:] = new
        status = end_step(table, memory, D, t_new, new[:n], times, out)
        if status != GO_ON:
            return status
        memory[EVALUATIONS] += 1
        if call_address(address, context, t_new, z, f) != 0:
            return FAILED
        longer = min(_next_step(h, size, iterations, notes), largest)
        slow = notes[RATE] > KEEP_RATE
        memory[H] = h if not slow and KEEP_LOW <= longer / h <= KEEP_HIGH else longer
        notes[AFTER_REJECTION], notes[FRESH], notes[WANTED] = 0.0, 0.0, 1.0 if slow else 0.0
        if retracted == RESTART:
            notes[STEP], notes[WANTED] = 0.0, 1.0


@dataclass(frozen=True)
class Radau(Integrator):
    """Radau IIA: three implicit stages, order 5, dense output of order 4. For stiff problems, also with multipliers.

    Args:
        form: which equations are solved: "ode" for ẏ = f; "index-1" or "ggl" (index 2) for those with multipliers.
        rtol, atol: local error allowed, relative and absolute.
        max_step: longest step (s).
        max_steps: gives up after so many.
    """

    form: Literal["ode", "index-1", "ggl"] = "ode"
    rtol: float = 1e-8
    atol: float = 1e-10
    max_step: float = math.inf
    max_steps: int = 10_000_000

    name: ClassVar[str] = "radau"
    order: ClassVar[int] = 5
    adaptive: ClassVar[bool] = True

    @property
    def needs(self) -> tuple[str, ...]:
        if self.form == "ode":
            return ("rhs", "retract", "jacobian")
        return ("retract", self.form)

    def memory_size(self, problem: Problem) -> int:
        size = problem["size"]
        whole = size if self.form == "ode" else problem["dae_size"]
        return NOTES + 5 * whole + whole**2 + whole - size

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        options = self.rtol, self.atol, self.max_step, self.max_steps
        return Status(_radau(problem.table, memory, self.form != "ode", times, out, *options, monitor))
