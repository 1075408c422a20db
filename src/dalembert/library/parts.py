"""Uniform parts: mass, center of mass, inertia and shape of a body in one go.

    model.body("crank", **parts.bar(m, (0, 0, 0), (a, 0, 0), width=0.05))

Everything is in world axes of the reference configuration; every number may be a formula of parameters.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

__all__ = ["ball", "bar", "block", "direction", "disc", "rod"]

Fields = dict[str, Any]


def direction(start: Any, end: Any) -> tuple[tuple[Any, ...], Any, tuple[Any, ...]]:
    """The vector between two points, its length, and the point halfway."""
    d = tuple(b - a for a, b in zip(start, end, strict=True))
    middle = tuple((a + b) / 2 for a, b in zip(start, end, strict=True))
    return d, sp.sqrt(sum(x**2 for x in d)), middle


def _slender(mass: Any, d: Any) -> tuple[Any, ...]:
    """Inertia of a slender rod along d, about its middle:  m/12 (|d|² 1 − d dᵀ)."""
    (x, y, z), k = d, mass / 12
    return (k * (y**2 + z**2), k * (x**2 + z**2), k * (x**2 + y**2), -k * x * y, -k * x * z, -k * y * z)


def bar(mass: Any, start: Any, end: Any, width: Any, level: int = 0) -> Fields:
    """A slender bar in the xy-plane:  J = m l²/12.  Drawn flat, with eyes at its ends.

    Args:
        width: of the drawing (m).
        level: layer in which it is drawn, so that bars pass each other; the mass stays in the plane.
    """
    d, length, middle = direction(start, end)
    thickness = width / 3
    shift = (0, 0, level * thickness)
    shapes: list[Fields] = [
        {
            "kind": "box",
            "size": (length, width, thickness),
            "pose": {"position": _sum(middle, shift), "rpy": (0, 0, sp.atan2(d[1], d[0]))},
        }
    ]
    for point in (start, end):
        pose = {"position": _sum(point, shift)}
        shapes.append({"kind": "cylinder", "radius": 0.7 * width, "length": thickness, "axis": "z", "pose": pose})
    return {
        "mass": mass,
        "com": middle,
        "inertia": _slender(mass, d),
        "shapes": tuple(shapes),
    }


def rod(mass: Any, start: Any, end: Any, radius: Any) -> Fields:
    """A slender round rod:  m l²/12 across, none about its axis.  The radius is that of the drawing."""
    d, length, middle = direction(start, end)
    shape = {"kind": "cylinder", "radius": radius, "length": length, "axis": d, "pose": {"position": middle}}
    return {"mass": mass, "com": middle, "inertia": _slender(mass, d), "shapes": (shape,)}


def disc(mass: Any, center: Any, radius: Any, thickness: Any) -> Fields:
    """A solid disc with its axis along z:  m r²/2 about it, m (3 r² + t²)/12 across."""
    across = mass * (3 * radius**2 + thickness**2) / 12
    shape = {
        "kind": "cylinder",
        "radius": radius,
        "length": thickness,
        "axis": "z",
        "pose": {"position": center},
    }
    return {
        "mass": mass,
        "com": center,
        "inertia": (across, across, mass * radius**2 / 2),
        "shapes": (shape,),
    }


def block(mass: Any, center: Any, size: Any) -> Fields:
    """A solid block with edges a, b, c along x, y, z:  Ixx = m (b² + c²)/12 …"""
    a, b, c = (edge**2 for edge in size)
    inertia = (mass * (b + c) / 12, mass * (a + c) / 12, mass * (a + b) / 12)
    shape = {"kind": "box", "size": size, "pose": {"position": center}}
    return {"mass": mass, "com": center, "inertia": inertia, "shapes": (shape,)}


def ball(mass: Any, center: Any, radius: Any) -> Fields:
    """A solid ball:  2/5 m r² about every axis."""
    moment = 2 * mass * radius**2 / 5
    shape = {"kind": "sphere", "radius": radius, "pose": {"position": center}}
    return {"mass": mass, "com": center, "inertia": (moment, moment, moment), "shapes": (shape,)}


def _sum(a: Any, b: Any) -> tuple[Any, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))
