"""Gear, rack and coupler: fixed ratios between joint coordinates."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from dalembert.constraints.base import Constraint
from dalembert.elements import Formula, JointName, Motion

__all__ = ["Coupler", "Gear", "Rack"]


class Coupler(Constraint):
    """A linear relation between joint coordinates:  Σ cᵢ qᵢ = offset."""

    kind: Literal["coupler"] = "coupler"
    terms: dict[JointName, Formula] = Field(description="coefficient of the first coordinate of each joint")
    offset: Formula = Field(0, validate_default=True, description="right-hand side")

    @field_validator("terms")
    @classmethod
    def _not_empty(cls, terms: dict[str, Any]) -> dict[str, Any]:
        if not terms:
            raise ValueError("expected at least one joint")
        return terms

    def position(self, motion: Motion) -> list[Any]:
        total = -motion.evaluate(self.offset)
        for joint, coefficient in self.terms.items():
            total = total + motion.evaluate(coefficient) * motion.joint(joint)[0][0]
        return [total]


class Gear(Constraint):
    """Two meshing wheels:  q₁ = −ratio · q₂ for outer meshing, ratio = r₂/r₁; negative for inner meshing or a belt."""

    kind: Literal["gear"] = "gear"
    joints: tuple[JointName, JointName] = Field(description="the joints of the two wheels")
    ratio: Formula = Field(description="r₂/r₁ (or teeth z₂/z₁)")
    offset: Formula = Field(0, validate_default=True, description="q₁ + ratio · q₂ (rad)")

    def position(self, motion: Motion) -> list[Any]:
        q_1, q_2 = (motion.joint(joint)[0][0] for joint in self.joints)
        return [q_1 + motion.evaluate(self.ratio) * q_2 - motion.evaluate(self.offset)]


class Rack(Constraint):
    """A pinion on a rack:  displacement = radius · angle + offset."""

    kind: Literal["rack"] = "rack"
    pinion: JointName = Field(description="the joint that turns")
    rack: JointName = Field(description="the joint that slides")
    radius: Formula = Field(description="pitch radius of the pinion (m); negative to turn the other way")
    offset: Formula = Field(0, validate_default=True, description="displacement at zero angle (m)")

    def position(self, motion: Motion) -> list[Any]:
        angle, slide = motion.joint(self.pinion)[0][0], motion.joint(self.rack)[0][0]
        return [slide - motion.evaluate(self.radius) * angle - motion.evaluate(self.offset)]
