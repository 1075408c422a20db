"""Prismatic joint: one translation along z."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.elements.bearing import SLIDE
from dalembert.joints.glyph import GUIDE
from dalembert.joints.product import Product, Translation
from dalembert.spatial import Pose

__all__ = ["Prismatic"]


class Prismatic(Product):
    """A slide. One coordinate: the displacement (m)."""

    kind = "prismatic"
    bearing = SLIDE
    loaded_across = True
    factors = (Translation(2),)
    glyph = GUIDE

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.p[0], X.p[1], X.R[0, 1], X.R[1, 2], X.R[2, 0]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return X.p[2:3]
