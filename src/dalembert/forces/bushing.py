"""Bushing: an elastic bearing with stiffness and damping in all six directions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import sympy as sp
from pydantic import Field

from dalembert.elements import BodyName, FrameName, Load, Motion, Site, Vector, check_two_bodies
from dalembert.elements.allowed import DEFLECTION
from dalembert.expressions import parameter, reference
from dalembert.expressions.symbols import DEFLECTION_QUANTITY
from dalembert.forces.base import Force
from dalembert.spatial import Pose, so3

__all__ = ["Bushing"]


_NOTHING = (sp.Integer(0),) * 3


class Bushing(Force):
    """Linear springs and dampers along and about the axes of a frame on the first body.

    With displacement d and rotation vector r of the second body against the first:  V = ½ dᵀK d + ½ rᵀK_r r.  The
    torque is the exact gradient of V, so that energy is conserved for large rotations too (below π).

    Further forces and torques are formulas, along the axes of that frame: of the displacement ``x, y, z``, the rotation
    vector ``rx, ry, rz``, the velocity ``vx, vy, vz`` and the angular velocity ``wx, wy, wz`` of the second body
    against the first, besides the motion, states, inputs and tables.
    """

    balanced: ClassVar[bool] = True
    kind: Literal["bushing"] = "bushing"
    bodies: tuple[BodyName, BodyName] = Field(description="the two bodies")
    point: Vector = Field(description="center of the bushing in the reference configuration (m)")
    stiffness: Vector = Field((0, 0, 0), validate_default=True, description="along x, y, z (N/m)")
    damping: Vector = Field((0, 0, 0), validate_default=True, description="along x, y, z (N s/m)")
    angular_stiffness: Vector = Field((0, 0, 0), validate_default=True, description="about x, y, z (N m/rad)")
    angular_damping: Vector = Field((0, 0, 0), validate_default=True, description="about x, y, z (N m s/rad)")
    force: Annotated[Vector | None, DEFLECTION] = Field(
        None, description="further force on the second body (N), formulas of x, y, z, rx … rz, vx … vz, wx … wz"
    )
    torque: Annotated[Vector | None, DEFLECTION] = Field(
        None, description="further torque on the second body (N m), formulas of the same"
    )
    frame: FrameName = Field("world", description="'world', 'body' (each point in its own body), or a body's name")

    def check(self, site: Site) -> None:
        check_two_bodies(site, self.bodies)

    def _state(self, motion: Motion) -> tuple[list[Pose], Pose, np.ndarray]:
        """Poses of the bushing's frame on each body in the body, the relative pose and its twist."""
        local = [
            Pose(motion.local_axes(name, self.frame), motion.local_point(name, self.point, self.frame))
            for name in self.bodies
        ]
        (X_1, V_1), (X_2, V_2) = (motion.body(name) for name in self.bodies)
        X = (X_1 @ local[0]).inverse() @ (X_2 @ local[1])
        V = local[1].motion_inverse(V_2) - X.motion_inverse(local[0].motion_inverse(V_1))
        return local, X, V

    def loads(self, motion: Motion, load: Load) -> None:
        al = motion.al
        local, X, V = self._state(motion)
        k, c, k_r, c_r = (
            al.array([motion.evaluate(value) for value in field])
            for field in (self.stiffness, self.damping, self.angular_stiffness, self.angular_damping)
        )
        r = so3.log(al, X.R)
        # Wrench on the second frame in its axes: force Rᵀ(−K d), torque −D⁻ᵀ K_r r.
        elastic = al.concatenate([-(so3.dexp_inverse(al, r).T @ (k_r * r)), X.R.T @ (-(k * X.p))])
        damper = al.concatenate([-(c_r * V[:3]), X.R.T @ (-(c * (X.R @ V[3:])))])
        parts = [(elastic, True), (damper, False)]
        if self.force is not None or self.torque is not None:
            values = [al.array([motion.evaluate(f) for f in part or _NOTHING]) for part in (self.torque, self.force)]
            parts.append((al.concatenate([X.R.T @ value for value in values]), False))
        for wrench, conservative in parts:
            load.wrenches.append((self.bodies[1], local[1].force(wrench), conservative))
            load.wrenches.append((self.bodies[0], -local[0].force(X.force(wrench)), conservative))

    def in_full(self) -> Bushing:
        if self.force is None and self.torque is None:
            return self
        swap: dict[Any, Any] = {
            parameter(name): reference(DEFLECTION_QUANTITY, self.name, i) for i, name in enumerate(DEFLECTION.local)
        }
        parts: dict[str, Any] = {"force": self.force, "torque": self.torque}
        given: dict[str, Any] = {key: part and tuple(f.xreplace(swap) for f in part) for key, part in parts.items()}
        return self.model_copy(update=given)

    def deflections(self, motion: Motion) -> np.ndarray:
        """What its formulas name, in the axes of the frame on the first body."""
        al = motion.al
        _, X, V = self._state(motion)
        return al.concatenate([X.p, so3.log(al, X.R), X.R @ V[3:], X.R @ V[:3]])

    def energy(self, motion: Motion) -> Any:
        al = motion.al
        _, X, _ = self._state(motion)
        r = so3.log(al, X.R)
        k = al.array([motion.evaluate(value) for value in self.stiffness])
        k_r = al.array([motion.evaluate(value) for value in self.angular_stiffness])
        return (X.p @ (k * X.p) + r @ (k_r * r)) / 2
