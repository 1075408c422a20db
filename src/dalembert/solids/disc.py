"""Bodies about an axis: discs and rings."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import sympy as sp
from pydantic import Field

from dalembert.elements import Formula, Shape, Vector
from dalembert.solids.base import PI, THIN, Round, Six, round_tensor, square_of, tensor

__all__ = ["Disc", "Ring"]


class Disc(Round):
    """A solid disc:  m r²/2 about its axis, m (3 r² + t²)/12 across."""

    kind: Literal["disc"] = "disc"
    sizes: ClassVar[tuple[str, ...]] = ("radius", "thickness")
    axis: Vector = Field((0, 0, 1), validate_default=True, description="direction of its axis")
    thickness: Formula | None = Field(None, description="thickness (m); default: thin, drawn with r/20")

    def inertia(self, mass: Any) -> Six:
        return round_tensor(mass, self.radius**2, (self.thickness or sp.Integer(0)) ** 2, self.axis)

    def volume(self) -> Any:
        return None if self.thickness is None else PI * self.radius**2 * self.thickness

    def shape(self) -> Shape:
        thickness = 2 * self.radius / THIN if self.thickness is None else self.thickness
        return self.drawn("cylinder", radius=self.radius, length=thickness, axis=self.axis)


class Ring(Round):
    """A ring, thin or with a round section of radius a:  m (r² + 3a²/4) about its axis, m (r²/2 + 5a²/8) across."""

    kind: Literal["ring"] = "ring"
    sizes: ClassVar[tuple[str, ...]] = ("radius", "tube")
    radius: Formula = Field(description="radius of the circle through the middle of the section (m)")
    axis: Vector = Field((0, 0, 1), validate_default=True, description="direction of its axis")
    tube: Formula | None = Field(None, description="radius of the section (m); default: thin, drawn with r/40")

    def inertia(self, mass: Any) -> Six:
        R, a = self.radius**2, (self.tube or sp.Integer(0)) ** 2
        square = square_of(self.axis)
        return tensor(mass * (R + 3 * a / 4) / square, mass * (R / 2 + 5 * a / 8) / square, self.axis)

    def volume(self) -> Any:
        return None if self.tube is None else 2 * PI**2 * self.radius * self.tube**2

    def shape(self) -> Shape:
        tube = self.radius / THIN if self.tube is None else self.tube
        return self.drawn("torus", radius=self.radius, tube=tube, axis=self.axis)
