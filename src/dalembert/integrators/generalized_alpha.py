"""The generalised-α method on Lie groups, for index-3 equations of motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from dalembert.integrators.base import Integrator, Problem, Status
from dalembert.integrators.loop import (
    CONTEXT,
    EVALUATIONS,
    EXPONENTIAL,
    FAILED,
    GO_ON,
    MULTIPLIERS,
    NO_CONVERGENCE,
    NQ,
    NV,
    RESIDUAL,
    RETRACT,
    RHS,
    ROWS,
    STARTED,
    T,
    begin,
    close_fixed,
    fixed_step,
    own,
    state,
    wish,
)  # fmt: skip
from dalembert.numerics.linear import lu_factor, lu_solve
from dalembert.numerics.native import call_address

__all__ = ["GeneralizedAlpha"]

NEWTON_STEPS = 20
CONVERGED = 1e-11  # correction of the velocities, relative
STAGNATED = 1e-6  # below this a correction that stops shrinking is rounding
NUDGE = 1e-3  # of a step, for the rate of the first acceleration


@njit(cache=True, nogil=True)
def _start(table, memory, h, shift):
    """Accelerations, multipliers and power at the start: own memory v, v̇, a, λ, power.

    The method's a stands for v̇ a little later, at t + shift · h; so begun, the multipliers keep order 2.
    """
    context, nq, nv, m = table[CONTEXT], table[NQ], table[NV], table[ROWS]
    y, rest, t = state(table, memory), own(table, memory), memory[T]
    n = y.shape[0]
    both, rate, moved, later, scratch = np.empty(nv + m), np.empty(n), np.empty(n), np.empty(nv + m), np.empty(n)
    if call_address(table[MULTIPLIERS], context, t, y, both) != 0 or call_address(table[RHS], context, t, y, rate) != 0:
        return FAILED
    tiny = NUDGE * h
    for j in range(n):
        moved[j] = y[j] + tiny * rate[j]
    if (
        call_address(table[RETRACT], context, t + tiny, moved, scratch) > 0
        or call_address(table[MULTIPLIERS], context, t + tiny, moved, later) != 0
    ):
        return FAILED
    rest[:nv] = y[nq : nq + nv]
    for j in range(nv):
        rest[nv + j] = both[j]
        rest[2 * nv + j] = both[j] + shift * h * (later[j] - both[j]) / tiny
    rest[3 * nv : 3 * nv + m] = both[nv:]
    rest[3 * nv + m] = rate[nq + nv]
    return GO_ON


@njit(cache=True, nogil=True)
def _matrix(table, tangent, moved, gamma_h, beta_h, S):
    """The matrix of Newton's method for (δ, λ/β'), rows of the equations of motion divided by β'."""
    nq, nv, m = table[NQ], table[NV], table[ROWS]
    D = moved[nq : nq + nv * nv].reshape(nv, nv)
    size = nv + m
    total = tangent.reshape(3 * size + m, nv)
    for i in range(size):
        scale = 1.0 / beta_h if i < nv else 1.0
        for j in range(nv):
            s = gamma_h * total[size + i, j] + beta_h * total[2 * size + i, j]
            for k in range(nv):
                s += total[i, k] * D[k, j]
            S[i, j] = scale * s
        for k in range(m):
            S[i, nv + k] = -total[3 * size + k, i] if i < nv else 0.0


@njit(cache=True, nogil=True)
def _loop(table, memory, times, out, step, rho, most, monitor):
    context, nq, nv, m = table[CONTEXT], table[NQ], table[NV], table[ROWS]
    y, rest = state(table, memory), own(table, memory)
    n, size = y.shape[0], nv + m
    alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    v, dv, a, multipliers = rest[:nv], rest[nv : 2 * nv], rest[2 * nv : 3 * nv], rest[3 * nv : 3 * nv + m]
    z, values = np.empty(nq + 2 * nv + m), np.empty(size + (3 * size + m) * nv)
    r, tangent = values[:size], values[size:]
    given, moved, delta = np.empty(nq + nv), np.empty(nq + 2 * nv * nv), np.empty(nv)
    S, pivots = np.empty((size, size)), np.empty(size, dtype=np.int64)
    new, rate, scratch = np.empty(n), np.empty(n), np.empty(n)
    while True:
        status = wish(memory, monitor, most)
        if status != GO_ON:
            return status
        h, t_new = fixed_step(memory, times, step)
        if memory[STARTED] == 0.0 and (
            begin(table, memory) != GO_ON or _start(table, memory, h, alpha_m - alpha_f) != GO_ON
        ):
            return FAILED
        gamma_h, beta_h = gamma / (h * beta), (1.0 - alpha_m) / (h * h * beta * (1.0 - alpha_f))
        given[:nq] = y[:nq]
        # Prediction with v̇ as before.
        for j in range(nv):
            a_new = ((1.0 - alpha_f) * dv[j] + alpha_f * dv[j] - alpha_m * a[j]) / (1.0 - alpha_m)
            delta[j] = h * v[j] + h * h * ((0.5 - beta) * a[j] + beta * a_new)
            z[nq + j] = v[j] + h * ((1.0 - gamma) * a[j] + gamma * a_new)
            z[nq + nv + j] = dv[j]
        z[nq + 2 * nv :] = multipliers
        previous, converged = 1e300, False
        for _ in range(NEWTON_STEPS):
            given[nq:] = delta
            call_address(table[EXPONENTIAL], context, t_new, given, moved)
            z[:nq] = moved[:nq]
            if call_address(table[RESIDUAL], context, t_new, z, values) != 0:
                return FAILED
            memory[EVALUATIONS] += 1
            _matrix(table, tangent, moved, gamma_h, beta_h, S)
            for i in range(size):
                r[i] = -r[i] / beta_h if i < nv else -r[i]
            if not lu_factor(S, pivots):
                return NO_CONVERGENCE
            lu_solve(S, pivots, r)
            change, largest = 0.0, 0.0
            for j in range(nv):
                delta[j] += r[j]
                z[nq + j] += gamma_h * r[j]
                z[nq + nv + j] += beta_h * r[j]
                change = max(change, abs(gamma_h * r[j]))
                largest = max(largest, abs(z[nq + j]))
            for k in range(m):
                z[nq + 2 * nv + k] += beta_h * r[nv + k]
            if not np.isfinite(change):
                return NO_CONVERGENCE
            small = change <= STAGNATED * (1.0 + largest) and change > 0.5 * previous
            if change <= CONVERGED * (1.0 + largest) or small:
                converged = True
                break
            previous = change
        if not converged:
            return NO_CONVERGENCE
        given[nq:] = delta
        call_address(table[EXPONENTIAL], context, t_new, given, moved)
        new[:nq] = moved[:nq]
        new[nq : nq + nv] = z[nq : nq + nv]
        new[nq + nv] = y[nq + nv]
        for j in range(nv):
            da = (1.0 - alpha_f) * z[nq + nv + j] + alpha_f * dv[j] - alpha_m * a[j]
            a[j] = da / (1.0 - alpha_m)
            v[j], dv[j] = z[nq + j], z[nq + nv + j]
        multipliers[:] = z[nq + 2 * nv :]
        # The velocities of the method obey the constraints to its own order; what is shown obeys them exactly.
        if (
            call_address(table[RETRACT], context, t_new, new, scratch) > 0
            or call_address(table[RHS], context, t_new, new, rate) != 0
        ):
            return FAILED
        new[nq + nv] = y[nq + nv] + 0.5 * h * (rest[3 * nv + m] + rate[nq + nv])
        rest[3 * nv + m] = rate[nq + nv]
        status = close_fixed(table, memory, t_new, new, times, out)
        if status != GO_ON:
            return status


@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """Generalised-α of order 2 for the index-3 equations themselves: no constraint is differentiated. High
    frequencies are damped as the spectral radius says; good for stiff systems at a fixed step.

    Args:
        step: longest step (s).
        spectral_radius: at infinite frequency, from 0 (all damping) to 1 (none).
        max_steps: gives up after so many.

    Reference: O. Brüls, A. Cardona, M. Arnold, "Lie group generalized-α time integration of constrained flexible
    multibody systems", Mech. Mach. Theory 48 (2012) 121-137.
    """

    step: float = 1e-3
    spectral_radius: float = 0.8
    max_steps: int = 1_000_000_000

    name: ClassVar[str] = "generalized-alpha"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False
    projects: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "exponential", "residual", "multipliers")

    def memory_size(self, problem: Problem) -> int:
        return 3 * problem["nv"] + problem["rows"] + 1

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        return Status(
            _loop(problem.table, memory, times, out, self.step, self.spectral_radius, self.max_steps, monitor)
        )
