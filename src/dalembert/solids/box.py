"""Bodies with edges: boxes and plates."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import sympy as sp
from pydantic import Field

from dalembert.algebra import get_algebra
from dalembert.elements import Formula, Placement, Shape, Vector
from dalembert.solids.base import THIN, Six, Solid, Triple

__all__ = ["Box", "Plate"]


class _Placed(Solid):
    """A body whose axes are those of a placement."""

    positional: ClassVar[tuple[str, ...]] = ("pose", "size")
    pose: Placement = Field(description="its center, and its rotation if it is turned (m)")

    def centroid(self) -> Triple:
        return self.pose.position


class Box(_Placed):
    """A solid box with edges a, b, c:  m (b² + c²)/12 about the first …."""

    kind: Literal["box"] = "box"
    sizes: ClassVar[tuple[str, ...]] = ("size",)
    size: Vector = Field(description="edges (m)")

    def inertia(self, mass: Any) -> Six:
        return _turned(mass, self.size, self.pose)

    def volume(self) -> Any:
        a, b, c = self.size
        return a * b * c

    def shape(self) -> Shape:
        return self.drawn("box", size=self.size, pose=self.pose)


class Plate(_Placed):
    """A rectangular plate with edges a, b:  m b²/12, m a²/12, m (a² + b²)/12, thickness besides."""

    kind: Literal["plate"] = "plate"
    sizes: ClassVar[tuple[str, ...]] = ("size", "thickness")
    size: tuple[Formula, Formula] = Field(description="edges along x and y (m)")
    thickness: Formula | None = Field(None, description="thickness along z (m); default: thin, drawn with (a + b)/80")

    def inertia(self, mass: Any) -> Six:
        return _turned(mass, (*self.size, self.thickness or sp.Integer(0)), self.pose)

    def volume(self) -> Any:
        return None if self.thickness is None else self.size[0] * self.size[1] * self.thickness

    def shape(self) -> Shape:
        a, b = self.size
        thickness = (a + b) / (2 * THIN) if self.thickness is None else self.thickness
        return self.drawn("box", size=(*self.size, thickness), pose=self.pose)


def _turned(mass: Any, size: Any, pose: Placement) -> Six:
    """R diag(…) Rᵀ."""
    a, b, c = (edge**2 for edge in size)
    moments = (mass * (b + c) / 12, mass * (a + c) / 12, mass * (a + b) / 12)
    if pose.rpy is None and pose.quaternion is None and pose.rotation is None:
        return (*moments, *(sp.Integer(0),) * 3)
    R = pose.pose(get_algebra("sympy"), lambda value: value).R
    J = R @ np.diag(np.array(moments, dtype=object)) @ R.T
    return (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
