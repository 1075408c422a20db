"""Rolling without slip on the xy-plane: nonholonomic joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from dalembert.algebra import Algebra
from dalembert.elements import Formula, Site
from dalembert.joints.base import Geometry, axis_frame
from dalembert.joints.checks import axes_angle, check_positive
from dalembert.joints.glyph import NOTHING
from dalembert.joints.joint_data import JointData
from dalembert.joints.product import Ball, Offset, Product, Rotation, Translation
from dalembert.spatial import Pose, quaternion, so3
from dalembert.spatial.so3 import cross

__all__ = ["RollingDisc", "RollingSphere"]

PARALLEL = 1e-9  # sine between two axes


class RollingData(JointData):
    """With its radius."""

    radius: Formula | None = Field(None, description="radius of a rolling disc or sphere (m)", examples=[0.5])


def _slip(X: Pose, V: np.ndarray, arm: np.ndarray) -> list[Any]:
    """Velocity in the plane (x, y of P) of the material point at ``arm`` from the center of S."""
    v = X.R @ V[3:] + cross(X.R @ V[:3], arm)
    return [v[0], v[1]]


class _Rolling(Product):
    """Something round of a radius."""

    parameters = ("radius",)
    Data = RollingData
    glyph = NOTHING
    nonholonomic = 2

    @classmethod
    def check(cls, data: Any, site: Site) -> None:
        check_positive(data, site, "radius")


class RollingDisc(_Rolling):
    """A thin disc of ``radius`` (m), axis y, that rolls on the xy-plane of the first body.

    Coordinates: contact point x, y (m), heading about z, lean about x, spin about y (rad); singular when the disc lies
    flat. Two nonholonomic equations: the contact point of the disc does not slip.
    """

    kind = "rolling-disc"
    geometry = ("point", "axis", "axis_2")

    def __init__(self, radius: Any):
        self.radius = radius
        self.factors = (Translation(0), Translation(1), Rotation(2), Rotation(0), Offset(radius), Rotation(1))
        super().__init__()

    @classmethod
    def check(cls, data: Any, site: Site) -> None:
        super().check(data, site)
        if (axes_angle(data, site) or (0.0, 1.0))[1] < PARALLEL:
            message = "axis_2 (of the disc) must not be parallel to axis (the normal); the disc lies flat"
            site.report("axis_2", message, "draw the disc upright")

    def frames(self, al: Algebra, drawn: Geometry) -> tuple[Pose, Pose]:
        """``point`` is the disc's center, ``axis`` the plane's normal n, ``axis_2`` the disc's axis a.

        The plane is laid through the lowest point of the disc; heading and contact point are zero as drawn.
        """
        assert drawn.axis is not None and drawn.axis_2 is not None
        n = drawn.axis / al.sqrt(drawn.axis @ drawn.axis)
        a = drawn.axis_2 / al.sqrt(drawn.axis_2 @ drawn.axis_2)
        x = cross(a, n)
        x = x / al.sqrt(x @ x)
        up = cross(x, a)
        X_P = Pose(np.stack([x, cross(n, x), n], axis=1), drawn.origin - self.radius * up)
        return X_P, Pose(np.stack([x, a, up], axis=1), drawn.origin)

    def _tilt(self, al: Algebra, X: Pose) -> tuple[np.ndarray, Any]:
        """The disc's axis a in P, and cos(lean) = |n − (n·a) a|."""
        a = X.R[:, 1]
        return a, al.sqrt(a[0] * a[0] + a[1] * a[1])

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        _, cosine = self._tilt(al, X)
        return [X.p[2] - self.radius * cosine]

    def velocity(self, al: Algebra, X: Pose, V: np.ndarray) -> list[Any]:
        a, cosine = self._tilt(al, X)
        # From the center down the disc to the ground: −r (n − (n·a) a)/cos(lean)
        up = al.array([-a[2] * a[0], -a[2] * a[1], 1 - a[2] * a[2]])
        return _slip(X, V, -self.radius / cosine * up)

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        a, cosine = self._tilt(al, X)
        heading, lean = al.atan2(-a[0], a[1]), al.atan2(a[2], cosine)
        R = so3.rotation_z(al, heading) @ so3.rotation_x(al, lean)
        own = R.T @ X.R
        contact = X.p - self.radius * R[:, 2]
        return al.array([contact[0], contact[1], heading, lean, al.atan2(own[0, 2], own[0, 0])])


class RollingSphere(_Rolling):
    """A sphere of ``radius`` (m) that rolls on the xy-plane of the first body.

    Coordinates: center x, y (m), quaternion. Two nonholonomic equations: no slip; the sphere may pivot.
    """

    kind = "rolling-sphere"
    geometry = ("point", "axis")

    def __init__(self, radius: Any):
        self.radius = radius
        self.factors = (Translation(0), Translation(1), Offset(radius), Ball())
        super().__init__()

    def frames(self, al: Algebra, drawn: Geometry) -> tuple[Pose, Pose]:
        """``point`` is the center, ``axis`` the plane's normal; the plane touches the sphere as drawn."""
        assert drawn.axis is not None
        R = axis_frame(al, drawn.axis, drawn.nominal["axis"])
        return Pose(R, drawn.origin - self.radius * R[:, 2]), Pose(R, drawn.origin)

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.p[2] - self.radius]

    def velocity(self, al: Algebra, X: Pose, V: np.ndarray) -> list[Any]:
        return _slip(X, V, al.array([0, 0, -self.radius]))

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.concatenate([X.p[:2], quaternion.from_matrix(al, X.R)])
