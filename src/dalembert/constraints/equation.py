"""Constraints given as formulas, and prescribed motion."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import sympy as sp
from pydantic import Field

from dalembert.constraints.base import Constraint
from dalembert.elements import LINEAR, Allowed, Formula, JointName, Motion, Site
from dalembert.elements.allowed import POSITIONS, TIMES
from dalembert.expressions import TIME, replaced

__all__ = ["Drive", "Equation"]


class Equation(Constraint):
    """The user's own constraint: a formula that must vanish.

    At position level it may name t, q(joint) and x, y, z(body); at velocity level also u(joint), vx … wz(body), in
    which it must be linear.
    """

    method: ClassVar[str] = "constraint"
    positional: ClassVar[tuple[str, ...]] = ("name", "formula", "level")
    kind: Literal["equation"] = "equation"
    formula: Formula = Field(description="must be zero")
    level: Literal["position", "velocity"] = Field("position", description="'position' (holonomic) or 'velocity'")

    def may_name(self, field: str) -> Allowed:
        return POSITIONS if self.level == "position" else LINEAR

    def position(self, motion: Motion) -> list[Any]:
        return [motion.evaluate(self.formula)] if self.level == "position" else []

    def velocity(self, motion: Motion) -> list[Any]:
        return [motion.evaluate(self.formula)] if self.level == "velocity" else []


class Drive(Constraint):
    """Prescribed motion of a joint coordinate:  q = f(t).  Its reaction is what the motor must supply."""

    positional: ClassVar[tuple[str, ...]] = ("joint", "motion")
    kind: Literal["drive"] = "drive"
    joint: JointName = Field(description="the joint that is driven")
    motion: Annotated[Formula, TIMES] = Field(description="the coordinate (rad or m) as a formula of t and parameters")
    index: int = Field(0, ge=0, description="which coordinate of the joint")

    @classmethod
    def from_call(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Named after the joint, unless it has a name."""
        joint, name = getattr(fields.get("joint"), "name", fields.get("joint")), fields.get("name")
        if name is None or (isinstance(name, str) and not name):
            index = fields.get("index", 0)
            name = f"{joint} drive{f' {index}' if isinstance(index, int) and index else ''}"
        return {**fields, "name": name}

    def check(self, site: Site) -> None:
        site.check_index("index", self.joint, self.index, "coordinates")
        start, later = (site.value(replaced(self.motion, {TIME: sp.Integer(t)})) for t in (0, 1))
        if start is None and later is not None:
            site.report("motion", "motion has no finite value at t = 0", "give a value with 'a if t > 0 else b'")

    def gives(self) -> list[tuple[str, int, sp.Expr]]:
        return [(self.joint, self.index, self.motion)]

    def position(self, motion: Motion) -> list[Any]:
        return [motion.joint(self.joint)[0][self.index] - motion.evaluate(self.motion)]
