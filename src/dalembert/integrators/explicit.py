"""Explicit Runge-Kutta methods: embedded pairs with adaptive steps, and the classical method with fixed ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from dalembert.integrators.base import Integrator, Problem, Result, Status
from dalembert.integrators.native import call_address
from dalembert.integrators.tables import DP5, DP8, Table

__all__ = ["DormandPrince5", "DormandPrince8", "RungeKutta4"]

FINISHED, STEP_TOO_SMALL, FAILED, TOO_MANY_STEPS, STOPPED = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True)
def _stage(A, i, k, y, h, out):
    for j in range(y.shape[0]):
        s = 0.0
        for m in range(i):
            if A[i, m] != 0.0:
                s += A[i, m] * k[m, j]
        out[j] = y[j] + h * s


@njit(cache=True, nogil=True)
def _error(e, e_low, k, y, new, h, rtol, atol):
    """Scaled norm of the error estimate; with two estimates their combination after Hairer."""
    high, low, n = 0.0, 0.0, y.shape[0]
    for j in range(n):
        a, b = 0.0, 0.0
        for i in range(e.shape[0]):
            a += e[i] * k[i, j]
            b += e_low[i] * k[i, j]
        scale = atol + rtol * max(abs(y[j]), abs(new[j]))
        high += (a / scale) ** 2
        low += (b / scale) ** 2
    if high == 0.0 and low == 0.0:
        return 0.0
    return abs(h) * high / math.sqrt((high + 0.01 * low) * n)


@njit(cache=True, nogil=True)
def _first_step(rhs, context, t, y, f, order, rtol, atol, scratch, k):
    """A first step from the size of y, ẏ and ÿ (Hairer, Nørsett, Wanner, II.4)."""
    d0, d1, n = 0.0, 0.0, y.shape[0]
    for j in range(n):
        scale = atol + rtol * abs(y[j])
        d0 += (y[j] / scale) ** 2
        d1 += (f[j] / scale) ** 2
    d0, d1 = math.sqrt(d0 / n), math.sqrt(d1 / n)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    for j in range(n):
        scratch[j] = y[j] + h0 * f[j]
    if call_address(rhs, context, t + h0, scratch, k) != 0:
        return h0
    d2 = 0.0
    for j in range(n):
        d2 += ((k[j] - f[j]) / (atol + rtol * abs(y[j]))) ** 2
    d2 = math.sqrt(d2 / n) / h0
    h1 = max(1e-6, h0 * 1e-3) if max(d1, d2) <= 1e-15 else (0.01 / max(d1, d2)) ** (1.0 / (order + 1))
    return min(100.0 * h0, h1)


@njit(cache=True, nogil=True)
def _adaptive(
    rhs,
    retract,
    context,
    A,
    c,
    b,
    e,
    e_low,
    dense,
    main,
    error_order,
    y,
    times,
    out,
    rtol,
    atol,
    largest,
    most,
    monitor,
):
    """Integrate through all output times; returns (status, outputs written, t, steps, rejected, evaluations)."""
    n, stages = y.shape[0], A.shape[0]
    k = np.zeros((stages, n))
    scratch, new = np.empty(n), np.empty(n)
    t, end = times[0], times[-1]
    out[0] = y
    written, steps, rejected, evaluations = 1, 0, 0, 2
    if call_address(rhs, context, t, y, k[0]) != 0:
        return FAILED, written, t, steps, rejected, evaluations
    h = min(_first_step(rhs, context, t, y, k[0], error_order, rtol, atol, scratch, new), largest, end - t)
    previous_error, after_rejection = 1e-4, False
    exponent = 1.0 / (error_order + 1)
    while written < times.shape[0]:
        if monitor[1] != 0.0:
            return STOPPED, written, t, steps, rejected, evaluations
        if steps + rejected >= most:
            return TOO_MANY_STEPS, written, t, steps, rejected, evaluations
        if h < 16.0 * 2.3e-16 * max(abs(t), abs(end)):
            return STEP_TOO_SMALL, written, t, steps, rejected, evaluations
        last = t + h >= end
        if last:
            h = end - t
        failed = False
        for i in range(1, main + 1):
            _stage(A, i, k, y, h, new if i == main else scratch)
            evaluations += 1
            if call_address(rhs, context, t + c[i] * h, new if i == main else scratch, k[i]) != 0:
                failed = True
                break
        error = 1e10 if failed else _error(e, e_low, k, y, new, h, rtol, atol)
        if not error <= 1.0:
            rejected += 1
            after_rejection = True
            h *= 0.25 if failed or not np.isfinite(error) else max(0.2, 0.9 * error ** (-exponent))
            continue
        steps += 1
        # Between the steps: more stages only when an output falls into this step.
        if times[written] < t + h or last:
            for i in range(main + 1, stages):
                _stage(A, i, k, y, h, scratch)
                evaluations += 1
                if call_address(rhs, context, t + c[i] * h, scratch, k[i]) != 0:
                    return FAILED, written, t, steps, rejected, evaluations
        while written < times.shape[0] and times[written] < t + h:
            theta = (times[written] - t) / h
            for j in range(n):
                s = 0.0
                for i in range(stages):
                    weight = 0.0
                    for p in range(dense.shape[1] - 1, -1, -1):
                        weight = (weight + dense[i, p]) * theta
                    s += weight * k[i, j]
                out[written, j] = y[j] + h * s
            if call_address(retract, context, times[written], out[written], scratch) != 0:
                return FAILED, written, t, steps, rejected, evaluations
            written += 1
        t = end if last else t + h
        y[:] = new
        if call_address(retract, context, t, y, scratch) != 0 or call_address(rhs, context, t, y, k[0]) != 0:
            return FAILED, written, t, steps, rejected, evaluations
        evaluations += 1
        while written < times.shape[0] and times[written] <= t:
            out[written] = y
            written += 1
        monitor[0] = t
        error = max(error, 1e-10)
        factor = 0.9 * error ** (-exponent * 0.8) * previous_error ** (exponent * 0.3)
        factor = min(1.0 if after_rejection else 6.0, max(0.2, factor))
        previous_error, after_rejection = error, False
        h = min(h * factor, largest)
    return FINISHED, written, t, steps, rejected, evaluations


@njit(cache=True, nogil=True)
def _fixed(rhs, retract, context, y, times, out, step, most, monitor):
    """The classical method; output times are met by whole numbers of equal steps, none longer than ``step``."""
    n = y.shape[0]
    k, scratch = np.empty((4, n)), np.empty(n)
    out[0] = y
    written, steps, t = 1, 0, times[0]
    while written < times.shape[0]:
        start, span = times[written - 1], times[written] - times[written - 1]
        count = max(1, math.ceil(span / step - 1e-9))
        h = span / count
        for i in range(count):
            if monitor[1] != 0.0:
                return STOPPED, written, t, steps, 0, 4 * steps
            if steps >= most:
                return TOO_MANY_STEPS, written, t, steps, 0, 4 * steps
            t = start + i * h
            for stage in range(4):
                c = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
                for j in range(n):
                    scratch[j] = y[j] + (c * h * k[stage - 1, j] if stage else 0.0)
                if call_address(rhs, context, t + c * h, scratch, k[stage]) != 0:
                    return FAILED, written, t, steps, 0, 4 * steps
            for j in range(n):
                y[j] += h / 6.0 * (k[0, j] + 2.0 * (k[1, j] + k[2, j]) + k[3, j])
            if call_address(retract, context, start + (i + 1) * h, y, scratch) != 0:
                return FAILED, written, t, steps, 0, 4 * steps
            steps += 1
        t = times[written]
        out[written] = y
        monitor[0] = t
        written += 1
    return FINISHED, written, t, steps, 0, 4 * steps


@dataclass(frozen=True)
class _Embedded(Integrator):
    """An embedded pair with adaptive steps.

    Args:
        rtol, atol: local error allowed, relative and absolute.
        max_step: longest step (s).
        max_steps: gives up after so many.
    """

    rtol: float = 1e-10
    atol: float = 1e-12
    max_step: float = math.inf
    max_steps: int = 10_000_000

    adaptive: ClassVar[bool] = True
    table: ClassVar[Table]

    def run(self, problem: Problem, y: np.ndarray, times: np.ndarray, monitor: np.ndarray) -> Result:
        table, state = self.table, y.copy()
        out = np.empty((len(times), len(y)))
        status, written, *numbers = _adaptive(
            problem.rhs, problem.retract, problem.context, table.A, table.c, table.b, table.e, table.e_low, table.dense,
            table.main, table.error_order, state, times, out, self.rtol, self.atol, self.max_step, self.max_steps,
            monitor,
        )  # fmt: skip
        return Result(times[:written], out[:written], Status(status), *numbers)


@dataclass(frozen=True)
class DormandPrince8(_Embedded):
    """Dormand-Prince 8(5,3): twelve stages, order 8, dense output of order 7. The default for smooth problems."""

    name: ClassVar[str] = "dopri8"
    order: ClassVar[int] = 8
    table: ClassVar[Table] = DP8


@dataclass(frozen=True)
class DormandPrince5(_Embedded):
    """Dormand-Prince 5(4): six stages, order 5, dense output of order 4. For loose tolerances."""

    name: ClassVar[str] = "dopri5"
    order: ClassVar[int] = 5
    table: ClassVar[Table] = DP5


@dataclass(frozen=True)
class RungeKutta4(Integrator):
    """The classical Runge-Kutta method with fixed steps, for study.

    Args:
        step: longest step (s).
        max_steps: gives up after so many.
    """

    step: float = 1e-3
    max_steps: int = 100_000_000

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    adaptive: ClassVar[bool] = False

    def run(self, problem: Problem, y: np.ndarray, times: np.ndarray, monitor: np.ndarray) -> Result:
        state, out = y.copy(), np.empty((len(times), len(y)))
        status, written, *numbers = _fixed(
            problem.rhs, problem.retract, problem.context, state, times, out, self.step, self.max_steps, monitor
        )
        return Result(times[:written], out[:written], Status(status), *numbers)
