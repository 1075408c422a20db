"""Friction of rigid contacts: along one direction, or any way in the plane of contact."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PrivateAttr

from dalembert.algebra import NUMPY
from dalembert.constraints.dry_friction import DryFriction, Reactions
from dalembert.constraints.one_sided import RigidContact
from dalembert.elements import ConstraintName, Load, Motion, Site, Vector
from dalembert.elements.surfaces import Touching, slipping, touching
from dalembert.errors import ModelError, Problem
from dalembert.expressions import evaluate
from dalembert.spatial.so3 import cross

__all__ = ["ContactFriction"]

ACROSS = 1e-6  # cosine of the angle between a direction of sliding and the normal, which is none


class ContactFriction(DryFriction):
    """Coulomb friction of a rigid contact, along one direction as in plane motion, or any way in the plane of contact;
    in impacts too."""

    positional: ClassVar[tuple[str, ...]] = ("name", "contact")
    kind: Literal["contact-friction"] = "contact-friction"
    contact: ConstraintName = Field(description="the rigid contact with friction")
    along: Vector | None = Field(
        None, description="direction of sliding, fixed in the world, across the normal; default: any way"
    )
    _touch: RigidContact | None = PrivateAttr(None)

    def check(self, site: Site) -> None:
        super().check(site)
        along = None if self.along is None else site.vector(self.along)
        if along is not None and not any(along):
            site.report("along", "along must not be zero", "along: x")

    @property
    def directions(self) -> int:
        return 2 if self.along is None else 1

    @property
    def touches(self) -> str | None:
        return self.contact

    def among(self, flat: Any) -> ContactFriction:
        contact, scope = flat.constraints[self.contact]
        if not isinstance(contact, RigidContact) or scope != flat.constraints[self.name][1]:
            problem = f"constraint {self.name!r}: {self.contact!r} is not a rigid contact of the same model"
            raise ModelError(Problem(problem, "constraints", "name a constraint of kind rigid-contact"))
        self._check_across(contact, flat)
        made = self.model_copy()
        made._touch = contact
        return made

    def _check_across(self, contact: RigidContact, flat: Any) -> None:
        """Along a plane of the ground: a direction that leaves it would rub by pushing apart."""
        if self.along is None or contact.frame != "world":
            return

        def unit(vector: tuple[Any, ...]) -> np.ndarray:
            values = np.array([float(evaluate(NUMPY, f, lambda atom: flat.parameters[str(atom)])) for f in vector])
            return values / max(float(np.linalg.norm(values)), 1e-300)

        for body, surface in zip(contact.bodies, contact.surfaces, strict=True):
            if body == "ground" and surface.kind == "plane" and surface.axis is not None:
                share = abs(float(unit(self.along) @ unit(surface.axis)))
                if share > ACROSS:
                    problem = f"constraint {self.name!r}: along must lie in the plane of {self.contact!r}; {share:.3g}"
                    fix = "a direction across the plane's axis, or leave along out"
                    raise ModelError(Problem(f"{problem} of it is along the normal", "constraints", fix))

    @property
    def touch(self) -> RigidContact:
        assert self._touch is not None, "flatten gives it its contact"
        return self._touch

    def _touching(self, motion: Motion) -> Touching:
        contact = self.touch
        return touching(motion, contact.bodies, contact.surfaces, contact.frame)

    def _ways(self, motion: Motion, touch: Touching) -> list[np.ndarray]:
        """Unit vectors along which it slides."""
        al = motion.al
        if self.along is not None:
            along = al.array([motion.evaluate(component) for component in self.along])
            return [along / al.sqrt(along @ along)]
        n = touch.gradient / al.sqrt(touch.gradient @ touch.gradient)
        # Across n, and never zero: away from that axis of the world, x or z, to which n is farther.
        flat = al.less(n[0] * n[0], 0.5)
        e = al.array(
            [al.where(flat, al.constant(1), al.constant(0)), 0, al.where(flat, al.constant(0), al.constant(1))]
        )
        first = e - (n @ e) * n
        first = first / al.sqrt(first @ first)
        return [first, cross(n, first)]

    def slip(self, motion: Motion) -> np.ndarray:
        touch = self._touching(motion)
        v = slipping(motion, self.touch.bodies, touch.point)
        return motion.al.array([way @ v for way in self._ways(motion, touch)])

    def push(self, motion: Motion, load: Load, force: np.ndarray) -> None:
        touch = self._touching(motion)
        total = sum((f * way for f, way in zip(force, self._ways(motion, touch), strict=True)), motion.al.zeros(3))
        for body, sign in zip(self.touch.bodies, (-1, 1), strict=True):
            X, _ = motion.body(body)
            load.force_at(body, X, X.R.T @ (touch.point - X.p), sign * total, False)

    def normal(self, motion: Motion, reactions: Reactions) -> Any:
        return self.touch.normal_force(motion, reactions.multiplier(self.contact))
