"""Forces and torques given as formulas of time, motion and parameters."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dalembert.elements import MOTION, BodyName, Formula, FrameName, JointName, Load, Motion, Site, Vector
from dalembert.forces.base import Force

__all__ = ["JointForce", "PointForce", "Torque"]


class PointForce(Force):
    """A force on a point of a body, in world axes or in the body's own."""

    kind: Literal["force"] = "force"
    body: BodyName = Field(description="the body it acts on")
    value: Annotated[Vector, MOTION] = Field(
        description="components (N), formulas of t, q(), u(), x() … and parameters"
    )
    at: Vector | None = Field(
        None, description="point of the body in the reference configuration (m); default: its origin"
    )
    axes: Literal["world", "body"] = Field("world", description="axes of the components")
    frame: FrameName = Field("world", description="'world', 'body' (each point in its own body), or a body's name")

    def loads(self, motion: Motion, load: Load) -> None:
        al = motion.al
        X, _ = motion.body(self.body)
        point = al.zeros(3) if self.at is None else motion.local_point(self.body, self.at, self.frame)
        force = al.array([motion.evaluate(component) for component in self.value])
        load.force_at(self.body, X, point, X.R @ force if self.axes == "body" else force, False)


class Torque(Force):
    """A torque on a body, in world axes or in the body's own; the reaction, if any, acts on a second body."""

    kind: Literal["torque"] = "torque"
    body: BodyName = Field(description="the body it acts on")
    value: Annotated[Vector, MOTION] = Field(description="components (N m), formulas of t, q(), u() … and parameters")
    reaction_on: BodyName | None = Field(None, description="body that receives the opposite torque")
    axes: Literal["world", "body"] = Field("world", description="axes of the components")

    def check(self, site: Site) -> None:
        if self.reaction_on == self.body:
            message = f"the reaction must act on another body, got {self.body!r} twice"
            site.report("reaction_on", message, "name another body, or ground")

    def loads(self, motion: Motion, load: Load) -> None:
        X, _ = motion.body(self.body)
        torque = motion.al.array([motion.evaluate(component) for component in self.value])
        if self.axes == "body":
            torque = X.R @ torque
        load.torque_on(self.body, X, torque)
        if self.reaction_on is not None:
            load.torque_on(self.reaction_on, motion.body(self.reaction_on)[0], -torque)


class JointForce(Force):
    """A force on one coordinate of a joint: a motor's torque, a cylinder's push."""

    balanced: ClassVar[bool] = True
    kind: Literal["joint-force"] = "joint-force"
    joint: JointName = Field(description="the joint")
    value: Annotated[Formula, MOTION] = Field(
        description="torque (N m) or force (N), a formula of t, q(), u() … and parameters"
    )
    index: int = Field(0, ge=0, description="which velocity of the joint")

    def check(self, site: Site) -> None:
        site.check_index("index", self.joint, self.index, "velocities")

    def loads(self, motion: Motion, load: Load) -> None:
        _, u = motion.joint(self.joint)
        force = motion.al.zeros(len(u))
        force[self.index] = motion.evaluate(self.value)
        load.joint_forces.append((self.joint, force, False))
