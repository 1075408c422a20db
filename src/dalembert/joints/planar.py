"""Planar joint: slide in the xy-plane and turn about its normal z."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.elements.bearing import PAD
from dalembert.joints.glyph import DISC
from dalembert.joints.product import Product, Rotation, Translation
from dalembert.spatial import Pose

__all__ = ["Planar"]


class Planar(Product):
    """A book on a table. Coordinates: x, y (m), angle (rad)."""

    kind = "planar"
    bearing = PAD
    factors = (Translation(0), Translation(1), Rotation(2))
    glyph = DISC
    remedy = 4
    axis_is = "normal to"

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.p[2], X.R[0, 2], X.R[1, 2]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.array([X.p[0], X.p[1], al.atan2(X.R[1, 0], X.R[0, 0])])
