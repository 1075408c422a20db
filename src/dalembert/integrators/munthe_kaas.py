"""Runge-Kutta on Lie groups: each step is an ordinary one in the Lie algebra, led back by the exponential."""

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
    NQ,
    NV,
    RETRACT,
    RHS,
    STARTED,
    T,
    begin,
    close_fixed,
    fixed_step,
    state,
    wish,
)  # fmt: skip
from dalembert.numerics.native import call_address

__all__ = ["MuntheKaas"]

_STAGES = (0.0, 0.5, 0.5, 1.0)
_WEIGHTS = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)


@njit(cache=True, nogil=True)
def _loop(table, memory, times, out, step, most, monitor):
    context, nq, nv = table[CONTEXT], table[NQ], table[NV]
    y = state(table, memory)
    n = y.shape[0]
    stage, rate, new, scratch = np.empty(n), np.zeros(n), np.empty(n), np.empty(n)
    given, moved = np.empty(nq + nv), np.empty(nq + 2 * nv * nv)
    turn, total_turn, total = np.empty(nv), np.empty(nv), np.empty(n - nq)
    if memory[STARTED] == 0.0 and begin(table, memory) != GO_ON:
        return FAILED
    while True:
        status = wish(memory, monitor, most)
        if status != GO_ON:
            return status
        t = memory[T]
        h, t_new = fixed_step(memory, times, step)
        given[:nq] = y[:nq]
        total_turn[:] = 0.0
        total[:] = 0.0
        for i in range(4):
            c = _STAGES[i]
            for j in range(nv):
                given[nq + j] = c * h * turn[j] if i > 0 else 0.0
            call_address(table[EXPONENTIAL], context, t, given, moved)
            stage[:nq] = moved[:nq]
            for j in range(nq, n):
                stage[j] = y[j] + (c * h * rate[j] if i > 0 else 0.0)
            if call_address(table[RHS], context, t + c * h, stage, rate) != 0:
                return FAILED
            # δ̇ = D(δ)⁻¹ u
            for j in range(nv):
                s = 0.0
                for k in range(nv):
                    s += moved[nq + nv * nv + j * nv + k] * stage[nq + k]
                turn[j] = s
                total_turn[j] += _WEIGHTS[i] * s
            for j in range(n - nq):
                total[j] += _WEIGHTS[i] * rate[nq + j]
        for j in range(nv):
            given[nq + j] = h * total_turn[j]
        call_address(table[EXPONENTIAL], context, t, given, moved)
        new[:nq] = moved[:nq]
        for j in range(n - nq):
            new[nq + j] = y[nq + j] + h * total[j]
        memory[EVALUATIONS] += 4
        if call_address(table[RETRACT], context, t_new, new, scratch) > 0:
            return FAILED
        status = close_fixed(table, memory, t_new, new, times, out)
        if status != GO_ON:
            return status


@dataclass(frozen=True)
class MuntheKaas(Integrator):
    """The classical method of order 4 after Munthe-Kaas: q moves by exponentials of twists, so orientations stay unit
    quaternions by themselves, and screw motions are exact.

    With q = q₀ ∘ exp(δ):  δ̇ = D(δ)⁻¹ u.

    Args:
        step: longest step (s).
        max_steps: gives up after so many.

    Reference: H. Munthe-Kaas, "High order Runge-Kutta methods on manifolds", Appl. Numer. Math. 29 (1999) 115-127.
    """

    step: float = 1e-3
    max_steps: int = 1_000_000_000

    name: ClassVar[str] = "munthe-kaas"
    order: ClassVar[int] = 4
    adaptive: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "exponential")

    def memory_size(self, problem: Problem) -> int:
        return 0

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        return Status(_loop(problem.table, memory, times, out, self.step, self.max_steps, monitor))
