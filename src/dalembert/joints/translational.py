"""Translational joint: any translation, no rotation."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.glyph import SLIDER
from dalembert.joints.product import Product, Translation
from dalembert.spatial import Pose

__all__ = ["Translational"]


class Translational(Product):
    """A gantry. Coordinates: x, y, z (m)."""

    kind = "translational"
    parallel = True
    geometry = ("[point]",)
    factors = (Translation(0), Translation(1), Translation(2))
    glyph = SLIDER
    remedy = 5

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.R[0, 1], X.R[1, 2], X.R[2, 0]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return X.p
