"""Universal (Cardan, Hooke) joint: x fixed in the first body, y in the second, always perpendicular."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.elements import Site
from dalembert.joints.base import Geometry
from dalembert.joints.checks import axes_angle
from dalembert.joints.glyph import CROSS
from dalembert.joints.product import Product, Rotation
from dalembert.spatial import Pose
from dalembert.spatial.so3 import cross

__all__ = ["Universal"]

PERPENDICULAR = 1e-9  # cosine between the axes


class Universal(Product):
    """A Cardan cross. Coordinates: angle about x of the first body, then about y of the second (rad)."""

    kind = "universal"
    pivots = True
    geometry = ("point", "axis", "axis_2")
    factors = (Rotation(0), Rotation(1))
    glyph = CROSS
    remedy = 3

    @classmethod
    def check(cls, data: Any, site: Site) -> None:
        cosine, sine = axes_angle(data, site) or (0.0, 1.0)
        if abs(cosine) > PERPENDICULAR:
            angle = math.degrees(math.atan2(sine, cosine))
            message = f"axis_2 must be perpendicular to axis, got {angle:.6g} degrees between them"
            site.report("axis_2", message, "draw the joint with its cross at right angles, as a Cardan joint has it")

    def frames(self, al: Algebra, drawn: Geometry) -> tuple[Pose, Pose]:
        """x along the first axis, y along the second."""
        assert drawn.axis is not None and drawn.axis_2 is not None
        x = drawn.axis / al.sqrt(drawn.axis @ drawn.axis)
        y = drawn.axis_2 / al.sqrt(drawn.axis_2 @ drawn.axis_2)
        X = Pose(np.stack([x, y, cross(x, y)], axis=1), drawn.origin)
        q = al.zeros(2) if drawn.reference is None else drawn.reference
        return X, X @ self.transform(al, q)

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [*X.p, X.R[0, 1]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        # R = Rx(a) Ry(b):  y-column (0, cos a, sin a),  x-row (cos b, 0, sin b)
        return al.array([al.atan2(X.R[2, 1], X.R[1, 1]), al.atan2(X.R[0, 2], X.R[0, 0])])
