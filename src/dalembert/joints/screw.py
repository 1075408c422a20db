"""Screw joint: a turn about z that advances along z."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic import Field

from dalembert.algebra import Algebra
from dalembert.elements import Formula, Site
from dalembert.elements.bearing import FLANK
from dalembert.joints.glyph import THREAD
from dalembert.joints.joint_data import JointData
from dalembert.joints.product import Helix, Product
from dalembert.spatial import Pose

__all__ = ["Screw"]


class ScrewData(JointData):
    """With its pitch."""

    pitch: Formula | None = Field(None, description="advance of a screw (m per revolution)", examples=[0.01])


class Screw(Product):
    """A nut on a thread. One coordinate: the angle (rad); it advances by ``pitch`` meters per revolution."""

    kind = "screw"
    pivots = True
    bearing = FLANK
    loaded_across = True
    measured = True
    parameters = ("pitch",)
    Data = ScrewData
    glyph = THREAD

    def __init__(self, pitch: Any):
        self.pitch = pitch
        self.factors = (Helix(pitch),)
        super().__init__()

    @property
    def lead(self) -> Any:
        return self.pitch / (2 * math.pi)

    @classmethod
    def check(cls, data: Any, site: Site) -> None:
        if site.value(data.pitch) == 0:
            message = "pitch must not be zero, got 0; negative is a left-handed thread"
            site.report("pitch", message, "e.g. pitch: 0.01, or kind: revolute")

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        angle = self.coordinates(al, X)[0] if q is None else q[0]
        return [X.p[0], X.p[1], X.p[2] - self.pitch / (2 * np.pi) * angle, X.R[0, 2], X.R[1, 2]]

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.array([al.atan2(X.R[1, 0], X.R[0, 0])])

    def rates(self, al: Algebra, q: np.ndarray, V: np.ndarray) -> np.ndarray:
        return V[2:3]

    def wrench(self, al: Algebra, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """A force on its angle is a torque about the axis; S (SᵀS)⁻¹ τ would add meters to radians."""
        return al.array([0, 0, tau[0], 0, 0, 0])
