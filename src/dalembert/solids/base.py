"""The contract of a solid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import sympy as sp
from pydantic import Field

from dalembert.elements import Formula, Record, Shape, Vector

__all__ = [
    "PI", "THIN", "Round", "Six", "Solid", "Triple", "difference", "length_of", "middle", "round_tensor", "square_of",
    "tensor",
]  # fmt: skip

# Formulas; what SymPy makes of them is not known to type checkers.
Triple = tuple[Any, Any, Any]
Six = tuple[Any, ...]

PI = cast(Any, sp.pi)
THIN = 40  # a part without thickness is drawn with its size divided by this


class Solid(Record):
    """A uniform body of simple form: mass, center of mass, inertia and what is drawn follow from a few sizes.

    The contract: positions are those of the reference configuration, in the frame of the body's ``com``; every number
    may be a formula of parameters; the inertia is linear in the mass, about the center and in the axes of that frame.

    Attributes:
        positional: fields that the method of ``Model`` also takes by position, after the name.
        sizes: fields that must be positive.
    """

    kind: Any  # a Literal of its own in each class of the catalog
    positional: ClassVar[tuple[str, ...]] = ()
    sizes: ClassVar[tuple[str, ...]] = ()
    density: Formula | None = Field(None, description="density (kg/m³), instead of the mass")

    @abstractmethod
    def centroid(self) -> Triple: ...

    @abstractmethod
    def inertia(self, mass: Any) -> Six: ...

    @abstractmethod
    def volume(self) -> Any:
        """Volume (m³); None for a part without thickness."""

    @abstractmethod
    def shape(self) -> Shape: ...

    def drawn(self, kind: str, **fields: Any) -> Shape:
        """A shape at its center."""
        return Shape.model_validate({"kind": kind, "pose": {"position": self.centroid()}, **fields})

    def mass(self) -> Any:
        """The mass that follows from the density."""
        volume = self.volume()
        if self.density is None:
            raise ValueError("mass is missing; give mass, or density")
        if volume is None:
            raise ValueError(f"a thin {self.kind} has no volume; give mass instead of density, or its {self.sizes[-1]}")
        return self.density * volume


class Round(Solid):
    """A body about a center, with a radius."""

    positional: ClassVar[tuple[str, ...]] = ("center", "radius")
    center: Vector = Field(description="its center (m)")
    radius: Formula = Field(description="radius (m)")

    def centroid(self) -> Triple:
        return self.center


def difference(a: Sequence[Any], b: Sequence[Any]) -> Triple:
    """b − a."""
    x, y, z = (q - p for p, q in zip(a, b, strict=True))
    return x, y, z


def middle(a: Sequence[Any], b: Sequence[Any]) -> Triple:
    """The point halfway."""
    x, y, z = ((p + q) / 2 for p, q in zip(a, b, strict=True))
    return x, y, z


def square_of(d: Sequence[Any]) -> Any:
    return sum(x**2 for x in d)


def length_of(d: Sequence[Any]) -> Any:
    return sp.sqrt(square_of(d))


def tensor(along: Any, across: Any, d: Sequence[Any]) -> Six:
    """across |d|² 1 + (along − across) d dᵀ: moments about the direction d, and across it, times |d|²."""
    x, y, z = d
    square, more = across * (x**2 + y**2 + z**2), along - across
    return (
        square + more * x**2, square + more * y**2, square + more * z**2, more * x * y, more * x * z, more * y * z
    )  # fmt: skip


def round_tensor(mass: Any, radius_2: Any, length_2: Any, axis: Sequence[Any]) -> Six:
    """Of a cylinder by r² (or r² + r_i² of a tube) and l²:  m r²/2 about its axis, m (3 r² + l²)/12 across."""
    square = square_of(axis)
    return tensor(mass * radius_2 / 2 / square, mass * (3 * radius_2 + length_2) / 12 / square, axis)
