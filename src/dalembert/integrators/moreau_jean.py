"""Time-stepping with impulses: for more contacts than events can bear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dalembert.integrators.base import EqualSteps, Memory, Problem, Step, Stepper
from dalembert.integrators.ends import FAILED, GO_ON
from dalembert.integrators.loop import land
from dalembert.native import Ref, Vector, native

__all__ = ["MoreauJean"]


class ImpulseStep(Step):
    """A step, and (y, h) as ``Problem.impulses`` takes it."""

    memory = Ref(Memory)
    given = Vector("size + 1")


@native
def _begin(s: ImpulseStep) -> int:
    """Nothing to remember."""
    return GO_ON


@native
def _step(s: ImpulseStep) -> int:
    """One step; led back onto the constraints."""
    m = s.memory
    s.given[: s.size] = m.y
    s.given[s.size] = s.h
    if s.problem.impulses(m.t, s.given, s.new) != 0:
        return FAILED
    m.evaluations += 1
    return land(s)


@native
def _straight(s: ImpulseStep) -> int:
    """Between the ends of a step: a straight line, as velocities may jump."""
    s.D[:] = 0.0
    s.D[0] = s.memory.y
    s.D[1] = s.new - s.memory.y
    return GO_ON


@dataclass(frozen=True)
class MoreauJean(EqualSteps):
    """The θ-method of Moreau and Jean with θ = 1/2: fixed steps in which velocities may jump, contacts and friction as
    a complementarity problem of impulses, solved by projected Gauss-Seidel. Order 1; what touches enters by as much as
    it moves in half a step, and rests without creeping. No contact ever ends a step, however many there are.

    Rigid contacts and limits, with their friction; loops and drives. Not for friction in joints, nor for forces that
    depend on reactions, nor for states of first order. Restitution is Newton's.

    Args:
        step: longest step (s).
        max_steps: most steps before the run is given up.

    References: J. J. Moreau, "Numerical aspects of the sweeping process", Comput. Methods Appl. Mech. Engrg. 177 (1999)
    329-349; M. Jean, "The non-smooth contact dynamics method", ibid. 235-257.
    """

    name: ClassVar[str] = "moreau-jean"
    order: ClassVar[int] = 1
    projects: ClassVar[bool] = True
    jumps: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "impulses")

    def stepper(self, problem: Problem, memory: Memory) -> Stepper:
        step = ImpulseStep(size=problem.size, fixed=self.step, max_steps=self.max_steps, problem=problem, memory=memory)
        return Stepper.of(step, begin=_begin, step=_step, interpolate=_straight)
