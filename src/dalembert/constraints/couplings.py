"""Gear, rack and coupler: fixed ratios between joint coordinates."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from dalembert.constraints.base import Constraint
from dalembert.elements import Formula, JointName, Motion, Site

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

    def check(self, site: Site) -> None:
        for joint in self.terms:
            site.check_coordinate(f"terms.{joint}", joint)
        if site.vector(self.terms.values()) == [0.0] * len(self.terms):
            site.report("terms", "all coefficients are zero", "e.g. terms: {A: 1, B: -2}")

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

    def check(self, site: Site) -> None:
        for i, joint in enumerate(self.joints):
            site.check_coordinate(f"joints[{i}]", joint)
        if self.joints[0] == self.joints[1]:
            message = f"must couple two different joints, got {self.joints[0]!r} twice"
            site.report("joints", message, "name another joint")
        if site.value(self.ratio) == 0:
            site.report("ratio", "ratio must not be zero, got 0", "e.g. 2")

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

    def check(self, site: Site) -> None:
        site.check_coordinate("pinion", self.pinion)
        site.check_coordinate("rack", self.rack)
        if self.pinion == self.rack:
            message = f"must couple two different joints, got {self.rack!r} twice"
            site.report("rack", message, "name another joint")
        if site.value(self.radius) == 0:
            site.report("radius", "radius must not be zero, got 0", "e.g. 2")

    def position(self, motion: Motion) -> list[Any]:
        angle, slide = motion.joint(self.pinion)[0][0], motion.joint(self.rack)[0][0]
        return [slide - motion.evaluate(self.radius) * angle - motion.evaluate(self.offset)]
