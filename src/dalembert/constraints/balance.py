"""Massless points: where the springs that hang on them hold each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field, PrivateAttr

from dalembert.constraints.base import Constraint
from dalembert.elements import BodyName, Load, Motion, Site, Vector
from dalembert.errors import ModelError, Problem

__all__ = ["Balance"]


class Balance(Constraint):
    """A massless body is where the forces of its springs balance:  Σ F = 0.

    The equation is ideal like all others, and its multipliers λ vanish: without mass, M u̇ = F + Aᵀλ says Aᵀλ = −F = 0.
    So the motion is that of the springs alone, in every formulation. With springs alone it gives the place,
    Σ F(q)/Σ k = 0; with dampers it gives the velocity, Σ F(q, u)/Σ c = 0, in all directions in which it holds.
    """

    kind: Literal["balance"] = "balance"
    positional: ClassVar[tuple[str, ...]] = ("name", "body")
    body: BodyName = Field(description="a body without mass and inertia that carries springs and nothing else")
    axis: Vector | None = Field(None, description="the direction in which it can move; default: all three")
    _springs: tuple[tuple[Any, Any], ...] = PrivateAttr(())

    def check(self, site: Site) -> None:
        axis = site.vector(self.axis)
        if axis is not None and not any(axis):
            site.report("axis", "axis must not be zero", "axis: x")

    @property
    def places(self) -> str:
        return self.body

    @property
    def bodies(self) -> tuple[str, ...]:
        """The massless one, and those that its springs hold."""
        return tuple(dict.fromkeys([self.body, *(name for spring, _ in self._springs for name in spring.bodies)]))

    @property
    def springs(self) -> tuple[tuple[Any, Any], ...]:
        """The springs that hang on it, with their scopes."""
        return self._springs

    def among(self, forces: Mapping[str, tuple[Any, Any]]) -> Balance:
        """With the springs that hang on its body."""
        springs: list[tuple[Any, Any]] = []
        for name, (force, scope) in forces.items():
            if self.body not in getattr(force, "bodies", (getattr(force, "body", None),)):
                continue
            if force.by_mass:
                continue
            if force.kind != "spring":
                problem = f"constraint {self.name!r}: {force.kind} {name!r} acts on massless body {self.body!r}"
                raise ModelError(Problem(problem, "constraints", "only springs may, or give the body a mass"))
            springs.append((force, scope))
        if not springs:
            problem = f"constraint {self.name!r}: no spring holds massless body {self.body!r}"
            raise ModelError(Problem(problem, "constraints", "add springs, or give the body a mass"))
        made = self.model_copy()
        made._springs = tuple(springs)
        return made

    @property
    def damped(self) -> bool:
        """True if a spring has a damper: the balance then gives velocities."""
        return any(spring.damping != 0 for spring, _ in self._springs)

    def position(self, motion: Motion) -> list[Any]:
        return [] if self.damped else self._residual(motion)

    def velocity(self, motion: Motion) -> list[Any]:
        return self._residual(motion) if self.damped else []

    def _residual(self, motion: Motion) -> list[Any]:
        """Force by the sum of stiffnesses, a length, or of damping, a velocity: what projections can compare."""
        pull, size, load = motion.al.zeros(3), motion.al.constant(0), Load()
        for spring, scope in self._springs:
            drawn = cast(Any, motion).within(scope)
            spring.loads(drawn, load)
            size = size + drawn.evaluate(spring.damping if self.damped else spring.stiffness)
        for body, wrench, conservative in load.wrenches:
            if body == self.body and (conservative or self.damped):
                pull = pull + wrench[3:]
        return [along @ pull / size for along in self._directions(motion)]

    def _directions(self, motion: Motion) -> list[np.ndarray]:
        """In axes of the body, which does not turn."""
        al = motion.al
        axes = motion.local_axes(self.body)
        if self.axis is None:
            return list(axes.T)
        along = al.array([motion.evaluate(component) for component in self.axis])
        return [axes @ (along / al.sqrt(along @ along))]
