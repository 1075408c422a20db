"""Constraints given as formulas, and prescribed motion."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dalembert.constraints.base import Constraint
from dalembert.elements import Formula, JointName, Motion

__all__ = ["Drive", "Equation"]


class Equation(Constraint):
    """The user's own constraint: a formula that must vanish.

    At position level it may name t, q(joint) and x, y, z(body); at velocity level also u(joint), vx … wz(body), in
    which it must be linear.
    """

    kind: Literal["equation"] = "equation"
    formula: Formula = Field(description="must be zero")
    level: Literal["position", "velocity"] = Field("position", description="'position' (holonomic) or 'velocity'")

    def position(self, motion: Motion) -> list[Any]:
        return [motion.evaluate(self.formula)] if self.level == "position" else []

    def velocity(self, motion: Motion) -> list[Any]:
        return [motion.evaluate(self.formula)] if self.level == "velocity" else []


class Drive(Constraint):
    """Prescribed motion of a joint coordinate:  q = f(t).  Its reaction is what the motor must supply."""

    kind: Literal["drive"] = "drive"
    joint: JointName = Field(description="the joint that is driven")
    motion: Formula = Field(description="the coordinate (rad or m) as a formula of t and parameters")
    index: int = Field(0, ge=0, description="which coordinate of the joint")

    def position(self, motion: Motion) -> list[Any]:
        return [motion.joint(self.joint)[0][self.index] - motion.evaluate(self.motion)]
