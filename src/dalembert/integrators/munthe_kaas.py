"""Runge-Kutta on Lie groups: each step is an ordinary one in the Lie algebra, led back by the exponential."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.integrators.base import EqualSteps, Memory, Problem, Step, Stepper
from dalembert.integrators.ends import FAILED, GO_ON
from dalembert.native import Int, Ref, Vector, native

__all__ = ["MuntheKaas"]

_STAGES = np.array([0.0, 0.5, 0.5, 1.0])
_WEIGHTS = np.array([1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0])


class GroupStep(Step):
    """A step and its working space: (q, δ), q ∘ exp(δ) with D and its inverse, a stage, its rates δ̇ and ẏ, and their
    weighted sums; those of states of first order, which stand in q."""

    nq, nv, n_states, first_state = 4 * Int()
    memory = Ref(Memory)
    given = Vector("nq + nv")
    moved = Vector("nq + 2 * nv * nv")
    stage, rate = 2 * Vector("size")
    turn, total_turn = 2 * Vector("nv")
    total = Vector("size - nq")
    total_states = Vector("n_states")


@native
def _stage(s: GroupStep, i: int) -> int:
    """Stage i, whose rates are added to the sums."""
    p, t, h, nq, nv, y, c = s.problem, s.memory.t, s.h, s.nq, s.nv, s.memory.y, _STAGES[i]
    given, moved, stage, turn, rate = s.given, s.moved, s.stage, s.turn, s.rate
    total_turn, total = s.total_turn, s.total
    for j in range(nv):
        given[nq + j] = c * h * turn[j] if i > 0 else 0.0
    p.exponential(t, given, moved)
    stage[:nq] = moved[:nq]
    for j in range(nq, len(y)):
        stage[j] = y[j] + (c * h * rate[j] if i > 0 else 0.0)
    first = s.first_state
    for j in range(first, first + s.n_states):
        stage[j] = y[j] + (c * h * rate[j] if i > 0 else 0.0)
    if p.rhs(t + c * h, stage, rate) != 0:
        return FAILED
    # δ̇ = D(δ)⁻¹ u
    inverse = moved[nq + nv * nv :].reshape(nv, nv)
    for j in range(nv):
        x = 0.0
        for k in range(nv):
            x += inverse[j, k] * stage[nq + k]
        turn[j] = x
        total_turn[j] += _WEIGHTS[i] * x
    for j in range(len(y) - nq):
        total[j] += _WEIGHTS[i] * rate[nq + j]
    for j in range(s.n_states):
        s.total_states[j] += _WEIGHTS[i] * rate[first + j]
    return GO_ON


@native
def _step(s: GroupStep) -> int:
    """One step."""
    m, nq, h, y, given, new = s.memory, s.nq, s.h, s.memory.y, s.given, s.new
    total_turn, total = s.total_turn, s.total
    given[:nq] = y[:nq]
    total_turn[:] = 0.0
    total[:] = 0.0
    s.total_states[:] = 0.0
    for i in range(4):
        if _stage(s, i) != GO_ON:
            return FAILED
    for j in range(s.nv):
        given[nq + j] = h * total_turn[j]
    s.problem.exponential(m.t, given, s.moved)
    new[:nq] = s.moved[:nq]
    for j in range(len(y) - nq):
        new[nq + j] = y[nq + j] + h * total[j]
    for j in range(s.n_states):
        new[s.first_state + j] = y[s.first_state + j] + h * s.total_states[j]
    m.evaluations += 4
    return GO_ON


@dataclass(frozen=True)
class MuntheKaas(EqualSteps):
    """The classical method of order 4 after Munthe-Kaas: q moves by exponentials of twists, so orientations stay unit
    quaternions by themselves, and screw motions are exact.

    With q = q₀ ∘ exp(δ):  δ̇ = D(δ)⁻¹ u.

    Args:
        step: longest step (s).
        max_steps: most steps before the run is given up.

    Reference: H. Munthe-Kaas, "High order Runge-Kutta methods on manifolds", Appl. Numer. Math. 29 (1999) 115-127.
    """

    name: ClassVar[str] = "munthe-kaas"
    order: ClassVar[int] = 4
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "exponential")

    def stepper(self, problem: Problem, memory: Memory) -> Stepper:
        step = GroupStep(
            size=problem.size, fixed=self.step, max_steps=self.max_steps, problem=problem, memory=memory,
            nq=problem.nq, nv=problem.nv, n_states=problem.n_states, first_state=problem.first_state,
        )  # fmt: skip
        return Stepper.of(step, step=_step)
