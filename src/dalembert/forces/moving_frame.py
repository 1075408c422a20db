"""A ground that turns or accelerates: what bodies feel in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, cast

import sympy as sp
from pydantic import Field

from dalembert.elements import BodyName, Load, Motion, Vector
from dalembert.elements.allowed import TIMES
from dalembert.expressions import TIME
from dalembert.forces.base import Force
from dalembert.spatial.pose import cross_motion

__all__ = ["MovingFrame"]


class MovingFrame(Force):
    """The ground turns with angular velocity Ω and its origin has the acceleration a, both in axes of the ground.

    With the twist W = (Ω, 0) and its rate Ẇ = (Ω̇, a) of the ground, seen from a body of inertia I and twist V:

        F = −I (Ẇ − V × W) − (V + W) ×* I (V + W) + V ×* I V

    For a point mass that is  −m (a + Ω̇ × r + Ω × (Ω × r) + 2 Ω × v):  the forces of d'Alembert, Euler, Coriolis and
    the centrifugal one.
    """

    by_mass: ClassVar[bool] = True
    method = "moving_frame"
    kind: Literal["moving-frame"] = "moving-frame"
    rotation: Annotated[Vector, TIMES] = Field(
        (0, 0, 0), validate_default=True, description="angular velocity Ω of the ground (rad/s)"
    )
    acceleration: Annotated[Vector, TIMES] = Field(
        (0, 0, 0), validate_default=True, description="acceleration of the origin of the ground (m/s²)"
    )
    body: BodyName | None = Field(None, description="the body that feels it; default: all of the model")

    def spread(self, bodies: Sequence[str]) -> list[Force]:
        if self.body is not None:
            return [self]
        return [self.model_copy(update={"name": f"{self.name} on {body}", "body": body}) for body in bodies]

    def loads(self, motion: Motion, load: Load) -> None:
        assert self.body is not None, "spread over the bodies of its model"
        al, turned = motion.al, motion.local_axes("ground")
        rates = tuple(cast(sp.Expr, omega.diff(TIME)) for omega in self.rotation)
        rotation, rate, acceleration = (
            turned @ al.array([motion.evaluate(component) for component in vector])
            for vector in (self.rotation, rates, self.acceleration)
        )
        X, V = motion.body(self.body)
        W = X.motion_inverse(al.concatenate([rotation, al.zeros(3)]))
        rate_of_W = X.motion_inverse(al.concatenate([rate, acceleration])) - cross_motion(V, W)
        inertia = motion.inertia(self.body)
        force = inertia.bias(V) - inertia.bias(V + W) - inertia.apply(rate_of_W)
        load.wrenches.append((self.body, force, False))
