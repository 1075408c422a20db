"""Explicit Runge-Kutta methods: embedded pairs with adaptive steps, and simple methods with fixed ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from dalembert.integrators import tables
from dalembert.integrators.base import Integrator, Problem, Status
from dalembert.integrators.loop import (
    CONTEXT,
    EVALUATIONS,
    FAILED,
    GO_ON,
    REJECTED,
    RETRACT,
    RHS,
    STAGED,
    STARTED,
    STEP_TOO_SMALL,
    STIFF,
    H,
    T,
    begin,
    end_step,
    fixed_step,
    hermite,
    own,
    smallest_step,
    state,
    wants_between,
    wish,
)  # fmt: skip
from dalembert.numerics.native import call_address, put

__all__ = ["DormandPrince8", "Euler", "FixedStep", "RungeKutta4", "Tsitouras5"]

# A problem is stiff if stability, not accuracy, limits the step so many times in a row (Hairer, Wanner, IV.2).
STIFF_STEPS = 15


# A step should not end close to a singular position, where little of what constraints say can be told from rounding: it
# is cut by a factor, so many times, if the quality of its end is poor and much worse than at its start.
# Nor should much be bent back at its end: at most so many times the error allowed, or this relative error.
ACROSS, FINEST = 20.0, 1e-11
POOR, WORSE, POOR_CUT, POOR_STEPS = 0.005, 0.2, 0.9, 10


@njit(cache=True, nogil=True)
def _stage(A, i, k, y, h, out):
    for j in range(y.shape[0]):
        s = 0.0
        for m in range(i):
            if A[i, m] != 0.0:
                s += A[i, m] * k[m, j]
        out[j] = y[j] + h * s


@njit(cache=True, nogil=True)
def _error(table, t_new, e, e_low, k, y, new, h, rtol, atol):
    """Scaled norm of the error estimate; with two estimates their combination after Hairer."""
    high = _estimate(table, t_new, e, k, y, new, h, rtol, atol)
    low = _estimate(table, t_new, e_low, k, y, new, h, rtol, atol)
    return 0.0 if high == 0.0 else high / math.sqrt((high + 0.01 * low) * y.shape[0])


@njit(cache=True, nogil=True)
def _estimate(table, t_new, e, k, y, new, h, rtol, atol):
    """Sum of squares of one scaled estimate; of its part along the manifold if only that matters."""
    n, total = y.shape[0], 0.0
    estimate = np.empty(n)
    for j in range(n):
        s = 0.0
        for i in range(e.shape[0]):
            s += e[i] * k[i, j]
        estimate[j] = h * s
    if table[STAGED] != 0:
        other, scratch = np.empty(n), np.empty(n)
        for j in range(n):
            other[j] = new[j] - estimate[j]
        if call_address(table[RETRACT], table[CONTEXT], t_new, other, scratch) > 0:
            return math.inf
        for j in range(n):
            estimate[j] = new[j] - other[j]
    for j in range(n):
        total += (estimate[j] / (atol + rtol * max(abs(y[j]), abs(new[j])))) ** 2
    return total


@njit(cache=True, nogil=True)
def _bent(table, t_new, y, new, scratch, rtol, atol):
    """Lead the end of a step back onto the manifold; returns the scaled length of the way and the quality there."""
    n, total = y.shape[0], 0.0
    before = new.copy()
    if call_address(table[RETRACT], table[CONTEXT], t_new, new, scratch) > 0:
        return math.inf, 1.0
    for j in range(n):
        total += ((new[j] - before[j]) / (atol + max(rtol, FINEST) * max(abs(y[j]), abs(new[j])))) ** 2
    return math.sqrt(total / n), scratch[0]


@njit(cache=True, nogil=True)
def first_step(table, t, y, f, order, rtol, atol):
    """A first step from the size of y, ẏ and ÿ (Hairer, Nørsett, Wanner, II.4)."""
    d0, d1, n = 0.0, 0.0, y.shape[0]
    for j in range(n):
        scale = atol + rtol * abs(y[j])
        d0 += (y[j] / scale) ** 2
        d1 += (f[j] / scale) ** 2
    d0, d1 = math.sqrt(d0 / n), math.sqrt(d1 / n)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    moved, k = np.empty(n), np.empty(n)
    for j in range(n):
        moved[j] = y[j] + h0 * f[j]
    if call_address(table[RHS], table[CONTEXT], t + h0, moved, k) != 0:
        return h0
    d2 = 0.0
    for j in range(n):
        d2 += ((k[j] - f[j]) / (atol + rtol * abs(y[j]))) ** 2
    d2 = math.sqrt(d2 / n) / h0
    h1 = max(1e-6, h0 * 1e-3) if max(d1, d2) <= 1e-15 else (0.01 / max(d1, d2)) ** (1.0 / (order + 1))
    return min(100.0 * h0, h1)


@njit(cache=True, nogil=True)
def _polynomial(dense, k, y, h, D):
    """The solution within the step in powers of θ."""
    for j in range(y.shape[0]):
        D[0, j] = y[j]
        for p in range(dense.shape[1]):
            s = 0.0
            for i in range(dense.shape[0]):
                s += dense[i, p] * k[i, j]
            D[p + 1, j] = h * s


@njit(cache=True, nogil=True)
def _is_stiff(k, last, y_last, y_new, h, limit):
    """True if h times the largest eigenvalue, as two stages at the same time show it, is at the limit of stability."""
    change, distance = 0.0, 0.0
    for j in range(y_new.shape[0]):
        change += (k[last + 1, j] - k[last, j]) ** 2
        distance += (y_new[j] - y_last[j]) ** 2
    return distance > 0.0 and h * math.sqrt(change / distance) > limit


@njit(cache=True, nogil=True)
def _adaptive(
    table, memory, A, c, e, e_low, dense, main, error_order, limit, times, out, rtol, atol, largest, most, monitor
):
    """Integrate through all output times. Own memory: error before, rejections in a row, stiff steps, quality of
    the state, stages."""
    rhs, retract, context = table[RHS], table[RETRACT], table[CONTEXT]
    y, rest = state(table, memory), own(table, memory)
    n, stages, end = y.shape[0], A.shape[0], times[-1]
    k = rest[4:].reshape(stages, n)
    scratch, new, D = np.empty(n), np.empty(n), np.empty((dense.shape[1] + 1, n))
    exponent = 1.0 / (error_order + 1)
    if memory[STARTED] == 0.0:
        if begin(table, memory) != GO_ON or call_address(rhs, context, memory[T], y, k[0]) != 0:
            return FAILED
        memory[EVALUATIONS] += 2
        memory[H] = min(first_step(table, memory[T], y, k[0], error_order, rtol, atol), largest)
        rest[0], rest[3] = 1e-4, 1.0
    while True:
        status = wish(memory, monitor, most)
        if status != GO_ON:
            return status
        t, h = memory[T], memory[H]
        if h < smallest_step(t, end):
            return STEP_TOO_SMALL
        last = t + h >= end
        t_new = end if last else t + h
        if last:
            h = end - t
        failed, quality = False, 1.0
        for i in range(1, main + 1):
            _stage(A, i, k, y, h, new if i == main else scratch)
            memory[EVALUATIONS] += 1
            if call_address(rhs, context, t + c[i] * h, new if i == main else scratch, k[i]) != 0:
                failed = True
                break
        bent = 0.0
        if table[STAGED] != 0 and not failed:
            # What comes next depends on the state on the manifold only.
            bent, quality = _bent(table, t_new, y, new, scratch, rtol, atol)
        error = 1e10 if failed else _error(table, t_new, e, e_low, k, y, new, h, rtol, atol)
        if not error <= 1.0:
            memory[REJECTED] += 1
            rest[1] += 1.0
            memory[H] = h * (0.25 if failed or not np.isfinite(error) else max(0.2, 0.9 * error ** (-exponent)))
            continue
        poor = bent > ACROSS or quality < min(POOR, WORSE * rest[3])
        if poor and not last and rest[1] < POOR_STEPS:
            memory[REJECTED] += 1
            rest[1] += 1.0
            memory[H] = POOR_CUT * h
            continue
        rest[3] = quality
        stiff = table[STAGED] == 0 and _is_stiff(k, main - 1, scratch, new, h, limit)
        # In a stiff problem the step is limited by stability again and again.
        rest[2] = rest[2] + 1.0 if stiff else max(0.0, rest[2] - 1.0)
        # Between the steps: more stages only when an output falls into this step.
        if wants_between(table, memory, times, t_new):
            for i in range(main + 1, stages):
                _stage(A, i, k, y, h, scratch)
                memory[EVALUATIONS] += 1
                if call_address(rhs, context, t + c[i] * h, scratch, k[i]) != 0:
                    return FAILED
            _polynomial(dense, k, y, h, D)
        if table[STAGED] == 0 and call_address(retract, context, t_new, new, scratch) > 0:
            return FAILED
        status = end_step(table, memory, D, t_new, new, times, out)
        if status != GO_ON:
            return status
        if call_address(rhs, context, t_new, y, k[0]) != 0:
            return FAILED
        memory[EVALUATIONS] += 1
        error = max(error, 1e-10)
        factor = 0.9 * error ** (-exponent * 0.8) * rest[0] ** (exponent * 0.3)
        factor = min(1.0 if rest[1] != 0.0 else 6.0, max(0.2, factor))
        rest[0], rest[1] = error, 0.0
        memory[H] = min(h * factor, largest)
        if rest[2] >= STIFF_STEPS and limit > 0.0:
            return STIFF


@njit(cache=True, nogil=True)
def _fixed(table, memory, A, b, times, out, step, most, monitor):
    """Explicit stages with fixed steps. Own memory: ẏ at the start of the step."""
    rhs, retract, context = table[RHS], table[RETRACT], table[CONTEXT]
    y, f = state(table, memory), own(table, memory)
    n, stages = y.shape[0], A.shape[0]
    k, scratch, new, D = np.empty((stages, n)), np.empty(n), np.empty(n), np.empty((4, n))
    if memory[STARTED] == 0.0:
        if begin(table, memory) != GO_ON or call_address(rhs, context, memory[T], y, f) != 0:
            return FAILED
        memory[EVALUATIONS] += 1
    while True:
        status = wish(memory, monitor, most)
        if status != GO_ON:
            return status
        t = memory[T]
        h, t_new = fixed_step(memory, times, step)
        put(k[0], 0, f, 0, n)
        for i in range(1, stages):
            _stage(A, i, k, y, h, scratch)
            c = 0.0
            for m in range(i):
                c += A[i, m]
            if call_address(rhs, context, t + c * h, scratch, k[i]) != 0:
                return FAILED
        for j in range(n):
            s = 0.0
            for i in range(stages):
                s += b[i] * k[i, j]
            new[j] = y[j] + h * s
        memory[EVALUATIONS] += stages
        if wants_between(table, memory, times, t_new):
            if call_address(rhs, context, t_new, new, scratch) != 0:
                return FAILED
            memory[EVALUATIONS] += 1
            hermite(D, h, y, f, new, scratch)
        if (
            call_address(retract, context, t_new, new, scratch) > 0
            or call_address(rhs, context, t_new, new, scratch) != 0
        ):
            return FAILED
        put(f, 0, scratch, 0, n)
        status = end_step(table, memory, D, t_new, new, times, out)
        if status != GO_ON:
            return status


@dataclass(frozen=True)
class _Embedded(Integrator):
    """An embedded pair with adaptive steps.

    Args:
        rtol, atol: local error allowed, relative and absolute.
        max_step: longest step (s).
        max_steps: gives up after so many.
        watch_stiffness: stop when stability limits the step.
    """

    rtol: float = 1e-10
    atol: float = 1e-12
    max_step: float = math.inf
    max_steps: int = 10_000_000
    watch_stiffness: bool = False

    adaptive: ClassVar[bool] = True
    table: ClassVar[tables.Table]

    def memory_size(self, problem: Problem) -> int:
        return 4 + len(self.table.A) * problem["size"]

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        table = self.table
        limit = table.stability if self.watch_stiffness else 0.0
        return Status(
            _adaptive(
                problem.table,
                memory,
                table.A,
                table.c,
                table.e,
                table.e_low,
                table.dense,
                table.main,
                table.error_order,
                limit,
                times,
                out,
                self.rtol,
                self.atol,
                self.max_step,
                self.max_steps,
                monitor,
            )
        )


@dataclass(frozen=True)
class DormandPrince8(_Embedded):
    """Dormand-Prince 8(5,3): twelve stages, order 8, dense output of order 7. The default for smooth problems."""

    name: ClassVar[str] = "dopri8"
    order: ClassVar[int] = 8
    table: ClassVar[tables.Table] = tables.DP8


@dataclass(frozen=True)
class Tsitouras5(_Embedded):
    """Tsitouras 5(4): six stages, order 5, dense output of order 4. For loose tolerances."""

    name: ClassVar[str] = "tsit5"
    order: ClassVar[int] = 5
    table: ClassVar[tables.Table] = tables.TSIT5


@dataclass(frozen=True)
class FixedStep(Integrator):
    """Explicit stages with fixed steps, for study.

    Args:
        step: longest step (s).
        max_steps: gives up after so many.
    """

    step: float = 1e-3
    max_steps: int = 1_000_000_000

    adaptive: ClassVar[bool] = False
    stages: ClassVar[np.ndarray]
    weights: ClassVar[np.ndarray]

    def memory_size(self, problem: Problem) -> int:
        return problem["size"]

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        return Status(
            _fixed(problem.table, memory, self.stages, self.weights, times, out, self.step, self.max_steps, monitor)
        )


@dataclass(frozen=True)
class RungeKutta4(FixedStep):
    """The classical Runge-Kutta method of order 4 with fixed steps."""

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    stages: ClassVar[np.ndarray] = np.diag([0.5, 0.5, 1.0], -1)
    weights: ClassVar[np.ndarray] = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0


@dataclass(frozen=True)
class Euler(FixedStep):
    """Euler's explicit method with fixed steps: order 1, to see what errors do."""

    name: ClassVar[str] = "euler"
    order: ClassVar[int] = 1
    stages: ClassVar[np.ndarray] = np.zeros((1, 1))
    weights: ClassVar[np.ndarray] = np.ones(1)
