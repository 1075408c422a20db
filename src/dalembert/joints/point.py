"""Joints of one point: on a line, on a plane, at a distance; the second body turns freely about the point."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from dalembert.algebra import Algebra
from dalembert.elements import Formula, Site
from dalembert.joints.base import Geometry, axis_frame
from dalembert.joints.checks import check_positive, show
from dalembert.joints.joint_data import JointData
from dalembert.joints.product import Ball, Offset, Product, Rotation, Translation
from dalembert.spatial import Pose, quaternion, so3

__all__ = ["Distance", "PointOnLine", "PointOnPlane"]


class PointOnLine(Product):
    """A bead on the z-line. Coordinates: displacement (m), quaternion."""

    kind = "point-on-line"
    factors = (Translation(2), Ball())
    remedy = 6

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.p[0], X.p[1]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.concatenate([X.p[2:3], quaternion.from_matrix(al, X.R)])


class PointOnPlane(Product):
    """A point on the xy-plane. Coordinates: x, y (m), quaternion."""

    kind = "point-on-plane"
    factors = (Translation(0), Translation(1), Ball())
    remedy = 7
    axis_is = "normal to"

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.p[2]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.concatenate([X.p[:2], quaternion.from_matrix(al, X.R)])


class DistanceData(JointData):
    """With its length."""

    length: Formula | None = Field(
        None, description="distance (m); default: that of the reference configuration", examples=[1]
    )


class Distance(Product):
    """A massless rod of ``length`` (m) with balls at both ends.

    Coordinates: two angles of the rod (about x, then y; rad), singular where the rod lies along x; quaternion.
    """

    kind = "distance"
    rod = True
    geometry = ("point", "point_2")
    parameters = ("[length]",)
    measured_from_drawing = ("length",)
    Data = DistanceData

    def __init__(self, length: Any):
        self.length = length
        self.factors = (Rotation(0), Rotation(1), Offset(length), Ball())
        super().__init__()

    @classmethod
    def check(cls, data: Any, site: Site) -> None:
        check_positive(data, site, "length")
        first, second = site.vector(data.point), site.vector(data.point_2)
        if first is not None and first == second:
            message = f"point and point_2 must differ, both are {show(first)}"
            site.report("point_2", message, "use a spherical joint where two points coincide")

    @classmethod
    def from_geometry(cls, al: Algebra, drawn: Geometry, parameters: dict[str, Any]) -> Distance:
        """The length, where not given, is the distance as drawn."""
        if "length" in parameters:
            return cls(parameters["length"])
        assert drawn.point is not None and drawn.point_2 is not None
        d = drawn.point_2 - drawn.point
        return cls(al.sqrt(d @ d))

    def frames(self, al: Algebra, drawn: Geometry) -> tuple[Pose, Pose]:
        """z of P along the rod, S at the second point."""
        assert drawn.point is not None and drawn.point_2 is not None
        nominal = drawn.nominal["point_2"] - drawn.nominal["point"]
        R = axis_frame(al, drawn.point_2 - drawn.point, nominal)
        return Pose(R, drawn.point), Pose(R, drawn.point_2)

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        # (|p|² − l²)/(2l) has the size of a length and no root to differentiate.
        return [(X.p @ X.p - self.length * self.length) / (2 * self.length)]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        # p = l (sin b, −sin a cos b, cos a cos b)
        x, y, z = X.p
        a = al.atan2(-y, z)
        b = al.atan2(x, al.sqrt(y * y + z * z))
        R = (so3.rotation_x(al, a) @ so3.rotation_y(al, b)).T @ X.R
        return al.concatenate([al.array([a, b]), quaternion.from_matrix(al, R)])
