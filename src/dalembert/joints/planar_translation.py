"""Joint of planar translation: slide in the xy-plane without turning."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.glyph import SLIDER
from dalembert.joints.product import Product, Translation
from dalembert.spatial import Pose

__all__ = ["PlanarTranslation"]


class PlanarTranslation(Product):
    """A drawing machine: it slides in a plane and keeps its direction. Coordinates: x, y (m).

    Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
    Strojarstvo 51 (2009) 597-612, table 1: the subgroup of planar translations.
    """

    kind = "planar-translation"
    factors = (Translation(0), Translation(1))
    glyph = SLIDER
    axis_is = "normal to"

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return [X.p[2], X.R[0, 1], X.R[1, 2], X.R[2, 0]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return X.p[:2]
