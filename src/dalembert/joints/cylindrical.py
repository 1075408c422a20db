"""Cylindrical joint: slide along z and turn about z, independently."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.glyph import SLEEVE
from dalembert.joints.product import Product, Rotation, Translation
from dalembert.spatial import Pose

__all__ = ["Cylindrical"]


class Cylindrical(Product):
    """A shaft in a sleeve. Coordinates: displacement (m), angle (rad)."""

    kind = "cylindrical"
    pivots = True
    loaded_across = True
    factors = (Translation(2), Rotation(2))
    glyph = SLEEVE
    remedy = 2

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.p[0], X.p[1], X.R[0, 2], X.R[1, 2]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.array([X.p[2], al.atan2(X.R[1, 0], X.R[0, 0])])
