"""Fixed joint: a weld."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.glyph import BLOCK
from dalembert.joints.product import Product
from dalembert.spatial import Pose

__all__ = ["Fixed"]


class Fixed(Product):
    """No relative motion. No coordinates."""

    kind = "fixed"
    factors = ()
    geometry = ("[point]",)
    glyph = BLOCK

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [*X.p, X.R[0, 1], X.R[1, 2], X.R[2, 0]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.zeros(0)
