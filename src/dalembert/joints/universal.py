"""Universal (Cardan, Hooke) joint: x fixed in the first body, y in the second, always perpendicular."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.product import Product, Rotation
from dalembert.spatial import Pose

__all__ = ["Universal"]


class Universal(Product):
    """A Cardan cross. Coordinates: angle about x of the first body, then about y of the second (rad)."""

    kind = "universal"
    factors = (Rotation(0), Rotation(1))

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [*X.p, X.R[0, 1]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        # R = Rx(a) Ry(b):  y-column (0, cos a, sin a),  x-row (cos b, 0, sin b)
        return al.array([al.atan2(X.R[2, 1], X.R[1, 1]), al.atan2(X.R[0, 2], X.R[0, 0])])
