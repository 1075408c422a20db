"""Bodies along a line: rods and cylinders, full or hollow."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import sympy as sp
from pydantic import Field

from dalembert.elements import Formula, Shape, Vector
from dalembert.solids.base import (
    PI,
    THIN,
    Six,
    Solid,
    Triple,
    difference,
    length_of,
    middle,
    round_tensor,
    square_of,
    tensor,
)

__all__ = ["Cylinder", "Rod"]


class _Straight(Solid):
    """Between two points."""

    start: Vector = Field(description="one end (m)")
    end: Vector = Field(description="the other end (m)")

    def along(self) -> Triple:
        return difference(self.start, self.end)

    def centroid(self) -> Triple:
        return middle(self.start, self.end)

    def round(self, radius: Any) -> Shape:
        d = self.along()
        return self.drawn("cylinder", radius=radius, length=length_of(d), axis=d)


class Rod(_Straight):
    """A round rod between two points:  m l²/12 across, m r²/2 about its axis; without a radius none about its axis."""

    kind: Literal["rod"] = "rod"
    positional: ClassVar[tuple[str, ...]] = ("start", "end")
    sizes: ClassVar[tuple[str, ...]] = ("radius",)
    radius: Formula | None = Field(None, description="radius (m); default: slender, drawn with l/40")

    def inertia(self, mass: Any) -> Six:
        d = self.along()
        if self.radius is None:
            return tensor(sp.Integer(0), mass / 12, d)
        return round_tensor(mass, self.radius**2, square_of(d), d)

    def volume(self) -> Any:
        return None if self.radius is None else PI * self.radius**2 * length_of(self.along())

    def shape(self) -> Shape:
        return self.round(length_of(self.along()) / THIN if self.radius is None else self.radius)


class Cylinder(_Straight):
    """A cylinder between two points, full or hollow:  m (r² + r_i²)/2 about its axis."""

    kind: Literal["cylinder"] = "cylinder"
    positional: ClassVar[tuple[str, ...]] = ("start", "end", "radius")
    sizes: ClassVar[tuple[str, ...]] = ("radius",)
    radius: Formula = Field(description="radius (m)")
    inner: Formula = Field(0, validate_default=True, description="radius of the hole (m)")

    def inertia(self, mass: Any) -> Six:
        d = self.along()
        return round_tensor(mass, self.radius**2 + self.inner**2, square_of(d), d)

    def volume(self) -> Any:
        return PI * (self.radius**2 - self.inner**2) * length_of(self.along())

    def shape(self) -> Shape:
        return self.round(self.radius)
