"""Spherical joint: any rotation about one point."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.elements.bearing import SOCKET
from dalembert.joints.glyph import BALL
from dalembert.joints.product import Ball, Product
from dalembert.spatial import Pose, quaternion

__all__ = ["Spherical"]


class Spherical(Product):
    """A ball and socket. Coordinates: unit quaternion (w, x, y, z); velocities: ω in second-body axes (rad/s)."""

    kind = "spherical"
    pivots = True
    bearing = SOCKET
    factors = (Ball(),)
    geometry = ("point",)
    glyph = BALL
    remedy = 1

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return list(X.p)

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return quaternion.from_matrix(al, X.R)
