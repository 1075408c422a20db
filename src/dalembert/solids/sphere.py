"""Spheres, full or hollow."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import sympy as sp
from pydantic import Field

from dalembert.elements import Formula, Shape
from dalembert.solids.base import PI, Round, Six

__all__ = ["Sphere"]


class Sphere(Round):
    """A ball:  2 m r²/5 about every axis;  2 m (r⁵ − r_i⁵) / 5 (r³ − r_i³) with a hollow inside."""

    kind: Literal["sphere"] = "sphere"
    sizes: ClassVar[tuple[str, ...]] = ("radius",)
    inner: Formula = Field(0, validate_default=True, description="radius of the hollow (m)")

    def inertia(self, mass: Any) -> Six:
        r, i = self.radius, self.inner
        moment = 2 * mass * r**2 / 5 if i == 0 else 2 * mass * (r**5 - i**5) / (5 * (r**3 - i**3))
        return (moment, moment, moment, sp.Integer(0), sp.Integer(0), sp.Integer(0))

    def volume(self) -> Any:
        return 4 * PI * (self.radius**3 - self.inner**3) / 3

    def shape(self) -> Shape:
        return self.drawn("sphere", radius=self.radius)
