"""The contract of a constraint."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from dalembert.elements import Element, Motion

__all__ = ["Constraint"]


class Constraint(Element):
    """Equations between coordinates that no joint imposes.

    The contract:
      1. ``position`` returns holonomic residuals φ, ``velocity`` nonholonomic residuals ψ, linear in velocities.
      2. Both are written over ``motion.al``; their time derivatives come from jets.
      3. Whether it acts is not its own business: the equations of one that is off are multiplied by zero.
    """

    kind: str
    active: bool = Field(True, description="acts from the start; events can switch it")

    def position(self, motion: Motion) -> list[Any]:
        return []

    def velocity(self, motion: Motion) -> list[Any]:
        return []
