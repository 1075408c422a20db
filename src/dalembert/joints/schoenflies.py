"""Schoenflies motion: any translation, and a turn about a direction that stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.glyph import DISC
from dalembert.joints.product import Product, Rotation, Translation
from dalembert.spatial import Pose

__all__ = ["Schoenflies"]


class Schoenflies(Product):
    """The gripper of a SCARA robot: it moves anywhere and turns about z. Coordinates: x, y, z (m), angle (rad).

    Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
    Strojarstvo 51 (2009) 597-612, table 1: planar motion and spatial translation.
    """

    kind = "schoenflies"
    factors = (Translation(0), Translation(1), Translation(2), Rotation(2))
    glyph = DISC

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.R[0, 2], X.R[1, 2]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.array([X.p[0], X.p[1], X.p[2], al.atan2(X.R[1, 0], X.R[0, 0])])
