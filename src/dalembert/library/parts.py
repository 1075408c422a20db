"""Slender parts: mass, center of mass, inertia and a drawing of one's own in one go.

    model.body("crank", **parts.bar(m, (0, 0, 0), (a, 0, 0), width=0.05))

Everything is in world axes of the reference configuration; every number may be a formula of parameters.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.solids.base import difference, length_of, middle, tensor

__all__ = ["bar", "direction", "rod"]

Fields = dict[str, Any]


def direction(start: Any, end: Any) -> tuple[tuple[Any, ...], Any, tuple[Any, ...]]:
    """The vector between two points, its length, and the point halfway."""
    d = difference(start, end)
    return d, length_of(d), middle(start, end)


def bar(mass: Any, start: Any, end: Any, width: Any, level: int = 0) -> Fields:
    """A slender bar in the xy-plane:  J = m l²/12.  Drawn flat, with eyes at its ends.

    Args:
        width: of the drawing (m).
        level: layer in which it is drawn, so that bars pass each other; the mass stays in the plane.
    """
    d, length, center = direction(start, end)
    thickness = width / 3
    shift = (0, 0, level * thickness)
    shapes: list[Fields] = [
        {
            "kind": "box",
            "size": (length, width, thickness),
            "pose": {"position": _sum(center, shift), "rpy": (0, 0, sp.atan2(d[1], d[0]))},
        }
    ]
    for point in (start, end):
        pose = {"position": _sum(point, shift)}
        shapes.append({"kind": "cylinder", "radius": 0.7 * width, "length": thickness, "axis": "z", "pose": pose})
    return {
        "mass": mass,
        "com": center,
        "inertia": tensor(0, mass / 12, d),
        "shapes": tuple(shapes),
    }


def rod(mass: Any, start: Any, end: Any, radius: Any) -> Fields:
    """A slender round rod:  m l²/12 across, none about its axis.  The radius is that of the drawing."""
    d, length, center = direction(start, end)
    shape = {"kind": "cylinder", "radius": radius, "length": length, "axis": d, "pose": {"position": center}}
    return {"mass": mass, "com": center, "inertia": tensor(0, mass / 12, d), "shapes": (shape,)}


def _sum(a: Any, b: Any) -> tuple[Any, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))
