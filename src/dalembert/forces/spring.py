"""Springs and dampers: between two points, and on a joint coordinate."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from dalembert.elements import BodyName, Formula, FrameName, JointName, Load, Motion, Site, Vector, check_two_bodies
from dalembert.forces.base import End, Force
from dalembert.forces.strut import line_between

__all__ = ["Spring", "TorsionalSpring"]


class Spring(Force):
    """A spring and damper between two points:  tension = k (l − l₀) + c l̇.

    Where the points meet, l = 0, the direction of the tension is undefined.
    """

    balanced: ClassVar[bool] = True
    kind: Literal["spring"] = "spring"
    bodies: tuple[BodyName, BodyName] = Field(description="the two bodies")
    at: tuple[Vector, Vector] = Field(description="attachment points in the reference configuration (m)")
    stiffness: Formula = Field(0, validate_default=True, description="k (N/m)")
    damping: Formula = Field(0, validate_default=True, description="c (N s/m)")
    length: Formula | None = Field(
        None, description="free length l₀ (m); default: the length in the reference configuration"
    )
    frame: FrameName = Field("world", description="'world', 'body' (each point in its own body), or a body's name")

    def check(self, site: Site) -> None:
        check_two_bodies(site, self.bodies)
        length = site.value(self.length)
        if length is not None and length < 0:
            site.report("length", f"length must not be negative, got {length:g}", "length: 0.3")

    def ends(self) -> tuple[End, End]:
        (first, second), (p, q) = self.bodies, self.at
        return (first, p, self.frame), (second, q, self.frame)

    def telescopes(self) -> bool:
        return bool(self.stiffness.is_zero)  # a damper alone

    def _free_length(self, motion: Motion) -> Any:
        if self.length is not None:
            return motion.evaluate(self.length)
        world = [
            motion.reference(body).apply(motion.local_point(body, at, self.frame))
            for body, at in zip(self.bodies, self.at, strict=True)
        ]
        d = world[1] - world[0]
        return motion.al.sqrt(d @ d)

    def loads(self, motion: Motion, load: Load) -> None:
        ends, d, length, rate = line_between(motion, self.bodies, self.at, self.frame)
        elastic = motion.evaluate(self.stiffness) * (length - self._free_length(motion))
        for tension, conservative in ((elastic, True), (motion.evaluate(self.damping) * rate, False)):
            pull = tension / length * d
            for (body, X, point), force in zip(ends, (pull, -pull), strict=True):
                load.force_at(body, X, point, force, conservative)

    def energy(self, motion: Motion) -> Any:
        stretch = line_between(motion, self.bodies, self.at, self.frame)[2] - self._free_length(motion)
        return motion.evaluate(self.stiffness) * stretch * stretch / 2


class TorsionalSpring(Force):
    """A spring and damper on one coordinate of a joint:  force = −k (q − q₀) − c u.

    Torsional on an angle, linear on a displacement.
    """

    balanced: ClassVar[bool] = True
    kind: Literal["torsional-spring"] = "torsional-spring"
    joint: JointName = Field(description="the joint")
    index: int = Field(0, ge=0, description="which coordinate of the joint")
    stiffness: Formula = Field(0, validate_default=True, description="k (N m/rad, or N/m)")
    damping: Formula = Field(0, validate_default=True, description="c (N m s/rad, or N s/m)")
    angle: Formula = Field(0, validate_default=True, description="coordinate q₀ of the relaxed spring (rad or m)")

    def check(self, site: Site) -> None:
        if site.check_coordinate("joint", self.joint, self.index):
            site.check_index("index", self.joint, self.index, "velocities")

    def loads(self, motion: Motion, load: Load) -> None:
        q, u = motion.joint(self.joint)
        elastic, damper = motion.al.zeros(len(u)), motion.al.zeros(len(u))
        elastic[self.index] = -motion.evaluate(self.stiffness) * (q[self.index] - motion.evaluate(self.angle))
        damper[self.index] = -motion.evaluate(self.damping) * u[self.index]
        load.joint_forces.append((self.joint, elastic, True))
        load.joint_forces.append((self.joint, damper, False))

    def energy(self, motion: Motion) -> Any:
        q, _ = motion.joint(self.joint)
        stretch = q[self.index] - motion.evaluate(self.angle)
        return motion.evaluate(self.stiffness) * stretch * stretch / 2
