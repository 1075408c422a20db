"""Revolute joint: one rotation about z."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.elements.bearing import PIN
from dalembert.joints.glyph import HINGE
from dalembert.joints.product import Product, Rotation
from dalembert.spatial import Pose

__all__ = ["Revolute"]


class Revolute(Product):
    """A hinge. One coordinate: the angle (rad)."""

    kind = "revolute"
    pivots = True
    bearing = PIN
    loaded_across = True
    factors = (Rotation(2),)
    glyph = HINGE

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [*X.p, X.R[0, 2], X.R[1, 2]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.array([al.atan2(X.R[1, 0], X.R[0, 0])])
