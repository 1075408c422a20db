"""Joint coordinates as functions of others."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dalembert.constraints.base import Constraint
from dalembert.elements import Formula, JointName, Motion

__all__ = ["Explicit"]


class Explicit(Constraint):
    """The coordinates of a joint as formulas of those of other joints:  q_J = f(t, q).

    In generalized coordinates these are eliminated: q_J is no unknown and no equation is left. In all other coordinates
    q_J − f(t, q) = 0 is a constraint as any other.
    """

    kind: Literal["explicit"] = "explicit"
    joint: JointName = Field(description="the joint whose coordinates follow from others")
    formulas: tuple[Formula, ...] = Field(
        min_length=1, description="each of its coordinates (rad or m) as a formula of t, parameters and q(joint)"
    )

    def position(self, motion: Motion) -> list[Any]:
        q = motion.joint(self.joint)[0]
        return [value - motion.evaluate(formula) for value, formula in zip(q, self.formulas, strict=True)]
