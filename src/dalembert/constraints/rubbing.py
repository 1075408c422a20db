"""Coulomb friction, exactly: what sticks is held by an equation, what slips feels a force that follows from reactions.

A run tells which: parameters ``NAME.on`` (1: it sticks), ``NAME.slip`` (the sign of the velocity while it slips) and
``NAME.force`` (the force of friction along that velocity, which the equations of motion solve for).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import Field, PrivateAttr

from dalembert.constraints.base import Constraint
from dalembert.constraints.one_sided import RigidContact
from dalembert.elements import ConstraintName, Formula, JointName, Load, Motion, Site, Vector
from dalembert.elements.surfaces import slipping, touching
from dalembert.errors import ModelError, Problem

__all__ = ["ContactFriction", "Friction", "Rubbing"]


class Reactions(Protocol):
    """What friction may ask about the forces of joints and constraints."""

    def wrench(self, joint: str) -> np.ndarray:
        """What a joint does to its second body, (n, f) about the joint's point in the axes of its first frame."""
        ...

    def multiplier(self, constraint: str) -> Any:
        """λ of the first equation of a constraint."""
        ...


class Rubbing(Constraint):
    """Friction along one velocity v:  sticks with v = 0 while the force that this takes is at most ``static`` N, and
    slips against −``coefficient`` N sign(v) otherwise."""

    positional: ClassVar[tuple[str, ...]] = ("name", "joint")
    active: bool = Field(False, description="no use here: the run finds out what sticks at its start")
    coefficient: Formula = Field(0, validate_default=True, description="coefficient of friction μ while it slips")
    static: Formula | None = Field(None, description="coefficient μ₀ that ends sticking; default: the same")

    @abstractmethod
    def slip(self, motion: Motion) -> Any:
        """The velocity v."""

    @abstractmethod
    def push(self, motion: Motion, load: Load, force: Any) -> None:
        """Add a force along v."""

    @abstractmethod
    def normal(self, motion: Motion, reactions: Reactions) -> Any:
        """What the coefficients of friction multiply."""

    def unloaded(self, motion: Motion) -> Any:
        """Friction that is there without any load."""
        return motion.al.constant(0)

    @property
    def touches(self) -> str | None:
        """A one-sided constraint that must be closed for it, if any."""
        return None

    def among(self, constraints: Mapping[str, tuple[Any, Any]]) -> Rubbing:
        """With what it must know of other constraints of the model."""
        return self

    def velocity(self, motion: Motion) -> list[Any]:
        return [self.slip(motion)]

    def sizes(self, motion: Motion, reactions: Reactions) -> list[Any]:
        """How large it is while it slips, and may be while it sticks."""
        normal, rest = self.normal(motion, reactions), self.unloaded(motion)
        laws = (self.coefficient, self.coefficient if self.static is None else self.static)
        return [motion.evaluate(law) * normal + rest for law in laws]

    def check(self, site: Site) -> None:
        values = [site.value(formula) for formula in (self.coefficient, self.static)]
        for key, value in zip(("coefficient", "static"), values, strict=True):
            if value is not None and value < 0:
                site.report(key, f"friction must not be negative, got {value:g}", f"{key}: 0.3")
        if values[0] is not None and values[1] is not None and values[1] < values[0]:
            message = f"what sticks must hold more than what slips: static {values[1]:g}, coefficient {values[0]:g}"
            site.report("static", message, "swap them")


class Friction(Rubbing):
    """Coulomb friction in a revolute or prismatic joint, by the joint's own reaction.

    Prismatic: the normal force is that across the axis, and 2 M/``length`` of the moment across it, if a length of the
    guide is given. Revolute: its torque is μ times ``radius`` of the pin times the force across the axis. ``constant``
    is there without any load, as that of a seal.
    """

    kind: Literal["friction"] = "friction"
    joint: JointName = Field(description="a revolute or prismatic joint")
    radius: Formula | None = Field(None, description="of the pin of a revolute joint (m)")
    length: Formula | None = Field(None, description="of the guide of a prismatic joint (m); default: forces alone")
    constant: Formula = Field(0, validate_default=True, description="friction without load (N, or N m)")

    def check(self, site: Site) -> None:
        super().check(site)
        sizes = site.sizes(self.joint)
        if sizes is not None and sizes.nv != 1:
            site.report("joint", f"joint {self.joint!r} has {sizes.nv} velocities", "a revolute or a prismatic joint")
        for key in ("radius", "length", "constant"):
            value = site.value(getattr(self, key))
            if value is not None and (value < 0 or (value == 0 and key == "length")):
                site.report(key, f"{key} must be positive, got {value:g}", f"{key}: 0.1")

    def slip(self, motion: Motion) -> Any:
        return motion.joint(self.joint)[1][0]

    def push(self, motion: Motion, load: Load, force: Any) -> None:
        load.joint_forces.append((self.joint, motion.al.array([force]), False))

    def unloaded(self, motion: Motion) -> Any:
        return motion.evaluate(self.constant)

    def normal(self, motion: Motion, reactions: Reactions) -> Any:
        al, wrench = motion.al, reactions.wrench(self.joint)
        force = al.sqrt(wrench[3] * wrench[3] + wrench[4] * wrench[4])
        if self.radius is not None:
            return motion.evaluate(self.radius) * force
        if self.length is None:
            return force
        moment = al.sqrt(wrench[0] * wrench[0] + wrench[1] * wrench[1])
        return force + 2 * moment / motion.evaluate(self.length)


class ContactFriction(Rubbing):
    """Coulomb friction of a rigid contact along one direction, as in plane motion; impacts are without friction."""

    positional: ClassVar[tuple[str, ...]] = ("name", "contact")
    kind: Literal["contact-friction"] = "contact-friction"
    contact: ConstraintName = Field(description="the rigid contact that rubs")
    along: Vector = Field(description="direction of sliding, fixed in the world, across the normal of the contact")
    _touch: RigidContact | None = PrivateAttr(None)

    def check(self, site: Site) -> None:
        super().check(site)
        along = site.vector(self.along)
        if along is not None and not any(along):
            site.report("along", "along must not be zero", "along: x")

    @property
    def touches(self) -> str | None:
        return self.contact

    def among(self, constraints: Mapping[str, tuple[Any, Any]]) -> ContactFriction:
        contact, scope = constraints[self.contact]
        if not isinstance(contact, RigidContact) or scope != constraints[self.name][1]:
            problem = f"constraint {self.name!r}: {self.contact!r} is no rigid contact of the same model"
            raise ModelError(Problem(problem, "constraints", "name a constraint of kind rigid-contact"))
        made = self.model_copy()
        made._touch = contact
        return made

    @property
    def touch(self) -> RigidContact:
        assert self._touch is not None, "flatten gives it its contact"
        return self._touch

    def _along(self, motion: Motion) -> np.ndarray:
        along = motion.al.array([motion.evaluate(component) for component in self.along])
        return along / motion.al.sqrt(along @ along)

    def slip(self, motion: Motion) -> Any:
        contact = self.touch
        touch = touching(motion, contact.bodies, contact.surfaces, contact.frame)
        return self._along(motion) @ slipping(motion, contact.bodies, touch.point)

    def push(self, motion: Motion, load: Load, force: Any) -> None:
        contact = self.touch
        touch, along = touching(motion, contact.bodies, contact.surfaces, contact.frame), self._along(motion)
        for body, sign in zip(contact.bodies, (-1, 1), strict=True):
            X, _ = motion.body(body)
            load.force_at(body, X, X.R.T @ (touch.point - X.p), sign * force * along, False)

    def normal(self, motion: Motion, reactions: Reactions) -> Any:
        contact, multiplier = self.touch, reactions.multiplier(self.contact)
        gradient = touching(motion, contact.bodies, contact.surfaces, contact.frame).gradient
        return multiplier * motion.al.sqrt(gradient @ gradient)
