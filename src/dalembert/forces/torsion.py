"""A torque between two bodies as a formula of the angle between them: coils, dampers, couplings."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dalembert.elements import BodyName, Formula, FrameName, Load, Motion, Site, Vector, check_two_bodies
from dalembert.elements.allowed import TURN
from dalembert.expressions import parameter, reference
from dalembert.expressions.symbols import TURN_QUANTITIES
from dalembert.forces.base import Force

__all__ = ["Torsion"]


class Torsion(Force):
    """A torque about an axis of the first body, on the second body, and its opposite on the first.

    Its formula may name ``angle``, by which the second body has turned about the axis against the first since the
    drawing, from −π to π, and ``rate``, their angular velocity about it, besides the motion, states, inputs and tables.
    It is for bodies that turn about this axis alone; where a joint lets them do so, its coordinate ``q(joint)`` counts
    turns.
    """

    balanced: ClassVar[bool] = True
    turns: ClassVar[bool] = True
    kind: Literal["torsion"] = "torsion"
    bodies: tuple[BodyName, BodyName] = Field(description="the two bodies")
    axis: Vector = Field(description="axis of the first body in the reference configuration")
    torque: Annotated[Formula, TURN] = Field(
        description="torque on the second body (N m), a formula of angle, rate, t, q(), u() … and parameters"
    )
    frame: FrameName = Field("world", description="'world', 'body' (that of the first body), or a body's name")

    def check(self, site: Site) -> None:
        check_two_bodies(site, self.bodies)
        axis = site.vector(self.axis)
        if axis is not None and not any(axis):
            site.report("axis", "axis must not be zero", "axis: z")

    def in_full(self) -> Torsion:
        swap: dict[Any, Any] = {parameter(name): reference(name, self.name) for name in TURN_QUANTITIES}
        return self.model_copy(update={"torque": self.torque.xreplace(swap)})

    def _axis(self, motion: Motion) -> Any:
        """The unit axis in world axes."""
        al = motion.al
        given = al.array([motion.evaluate(component) for component in self.axis])
        local = motion.local_axes(self.bodies[0], self.frame) @ given
        return motion.body(self.bodies[0])[0].R @ (local / al.sqrt(local @ local))

    def turned(self, motion: Motion) -> tuple[Any, Any]:
        """Angle and rate."""
        al, n = motion.al, self._axis(motion)
        (X_1, V_1), (X_2, V_2) = (motion.body(name) for name in self.bodies)
        # The rotation D of the second body against the first since the drawing, in world axes; its angle about n has
        # 2 sin = n·axial(D), 2 cos = tr D − nᵀD n.
        first, second = (motion.reference(name).R for name in self.bodies)
        D = X_2.R @ second.T @ first @ X_1.R.T
        axial = al.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
        angle = al.atan2(n @ axial, D[0, 0] + D[1, 1] + D[2, 2] - n @ (D @ n))
        return angle, n @ (X_2.R @ V_2[:3] - X_1.R @ V_1[:3])

    def loads(self, motion: Motion, load: Load) -> None:
        torque = motion.evaluate(self.torque) * self._axis(motion)
        for body, sign in zip(self.bodies, (-1, 1), strict=True):
            load.torque_on(body, motion.body(body)[0], sign * torque)
