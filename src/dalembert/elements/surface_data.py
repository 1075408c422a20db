"""Surfaces that may touch, as data; where they are now; and how nearest points are found in any algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from dalembert.algebra import Algebra
from dalembert.algebra.jet import Jets
from dalembert.elements.allowed import PARAMETERS, Allowed
from dalembert.elements.base import Formula, Record, Vector
from dalembert.expressions import parameter
from dalembert.values import SEQUENCE

__all__ = ["At", "Placed", "Surface", "Touching", "is_path", "settled"]

ANGLE, ALONG = parameter("angle"), parameter("s")
WAY, ACROSS = parameter("x"), parameter("y")
POLAR = Allowed("`angle` (curves only)", "only parameters, and angle on a curve, are allowed here", local=("angle",))
PATH = Allowed("`s`", "only parameters and s are allowed here", local=("s",))
GROUND = Allowed("`x`, `y` along `start` and across it", "only parameters, x and y are allowed here", local=("x", "y"))
TINY = 1e-30  # under roots that vanish where a disc lies flat: finite derivatives there
ASIDE = 1e-20  # (m) by which angles are taken beside the middle of a curve, where they have no slope
SAMPLES = 720  # of a curve, looked at while it is checked
NEWTON_STEPS = 8  # from a first guess to the foot of a normal: value, slope and curvature to rounding
MOST_POINTS = 2000  # of a curve through points


def _points(value: Any) -> Any:
    """Pairs of plain floats; arrays too."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, SEQUENCE) or any(not isinstance(p, SEQUENCE) or len(p) != 2 for p in value):
        raise ValueError("expected a list of points [x, y]")
    if len(value) > MOST_POINTS:
        raise ValueError(f"expected at most {MOST_POINTS} points, got {len(value)}; take fewer, e.g. every tenth")
    return tuple(tuple(point) for point in value)


Points = Annotated[tuple[tuple[float, float], ...], BeforeValidator(_points)]


class Surface(Record):
    """A surface of a body that may touch another one."""

    kind: Literal["point", "sphere", "plane", "disc", "curve", "cylinder", "torus", "terrain", "mesh"] = Field(
        description="'point', 'sphere', 'plane', 'disc' (a thin wheel: its rim), 'curve' (a cam, a slot, a flank: by "
        "its polar radius, by x and y over s, or through points), 'cylinder' (without end), 'torus', 'terrain' (by its "
        "height)"
    )
    at: Vector = Field((0, 0, 0), validate_default=True, description="center, or a point of the plane (m)")
    axis: Vector | None = Field(
        None, description="normal of the plane, out of the solid; axis of the others; up on a terrain"
    )
    start: Vector | None = Field(
        None, description="direction of a curve's angle zero, or of its x, or of a terrain's x; normal to the axis"
    )
    radius: Formula = Field(
        0, validate_default=True, description="(m); of a curve: a formula of angle, e.g. 0.03 + 0.01*cos(angle)"
    )
    x: Formula | None = Field(None, description="of a curve (m): along start, a formula of s, e.g. 0.05*cos(s)")
    y: Formula | None = Field(None, description="of a curve (m): across start, a formula of s, e.g. 0.03*sin(s)")
    span: tuple[Formula, Formula] | None = Field(
        None, description="first and last s; free space is on the right of the way from one to the other"
    )
    points: Points = Field(
        (), description="a curve through points [x, y] (m): a cubic spline, closed if it ends where it begins"
    )
    tube: Formula = Field(0, validate_default=True, description="of a torus: radius of its tube (m)")
    height: Formula = Field(
        0, validate_default=True, description="of a terrain (m): a formula of x and y, e.g. 0.1*sin(x) + road(y)"
    )
    inside: bool = Field(
        False,
        description="True: a hollow sphere, cylinder or curve; the other surface is inside it, or on the left of s",
    )

    def may_name(self, field: str) -> Allowed:
        if field == "height" and self.kind == "terrain":
            return GROUND
        if field in ("x", "y"):
            return PATH
        return POLAR if field == "radius" and self.kind == "curve" else PARAMETERS


def is_path(surface: Surface) -> bool:
    """True for a curve by x and y over s, or through points."""
    return surface.kind == "curve" and (surface.x is not None or surface.y is not None or bool(surface.points))


@dataclass(frozen=True)
class Touching:
    """A pair of surfaces at one instant, in world axes.

    Attributes:
        gap: positive where they are apart (m).
        point: of contact.
        gradient: the force λ·gradient acts at the point on the second body, its opposite on the first one.
    """

    gap: Any
    point: np.ndarray
    gradient: np.ndarray


@dataclass(frozen=True)
class Placed:
    """A surface where it is now."""

    surface: Surface
    center: np.ndarray
    axis: np.ndarray | None
    start: np.ndarray | None
    radius: Any


@dataclass(frozen=True)
class At:
    """Where a nearest point is looked for: in an algebra, from what is given there.

    Attributes:
        given: scalars that the equations depend on.
        value: what a scalar of the motion is in this algebra.
    """

    al: Algebra
    given: Sequence[Any]
    value: Callable[[Any], Any]


def settled(
    al: Algebra, given: Sequence[Any], guess: Callable[[At], list[Any]], step: Callable[[At, list[Any]], list[Any]]
) -> list[Any]:
    """Unknowns of equations by Newton's method. As it squares errors, its last steps give the derivatives too.

    Numbers come first; derivatives, where the algebra has them, in the last two steps.
    """
    base, value = (al.base, _first_part) if isinstance(al, Jets) else (al, _itself)
    here = At(base, [value(part) for part in given], value)
    unknowns = guess(here)
    for _ in range(NEWTON_STEPS):
        unknowns = step(here, unknowns)
    if isinstance(al, Jets):
        here = At(al, given, _itself)
        unknowns = step(here, step(here, [al.constant(0) + unknown for unknown in unknowns]))
    return unknowns


def _itself(value: Any) -> Any:
    return value


def _first_part(value: Any) -> Any:
    """What a jet is, without its derivatives."""
    return getattr(value, "x", value)
