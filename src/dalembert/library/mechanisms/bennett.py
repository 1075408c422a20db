"""Bennett's linkage: four hinges whose axes are neither parallel nor meet, and yet it moves.

The hinges sit at the corners of a skew quadrilateral with equal opposite sides a and b; each axis is normal to the two
sides that meet there. Then the angles α and β between the axes along a side satisfy Bennett's condition
a/sin α = b/sin β,  and the angles θ and ψ by which one turns from side to side at neighboring hinges keep

    tan(θ/2) tan(ψ/2) = cos((β − α)/2) / cos((β + α)/2).

Counting gives −2 degrees of freedom: 3 of the 20 equations are redundant.

Reference: G. T. Bennett, "A new mechanism", Engineering 76 (1903) 777-778.
"""

from __future__ import annotations

from typing import Any, cast

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["bennett"]


def bennett(
    *,
    diagonal: float = 1.6,
    other_diagonal: float = 1.2,
    angle: float = 1.1,
    height: float = 0.5,
    density: float = 2.0,
    speed: float = 3.0,
) -> Model:
    """Bennett's spatial four-bar linkage that coasts under gravity.

    Args:
        diagonal, other_diagonal: of the quadrilateral as drawn, seen from above (m).
        angle: between them (rad); not a right angle, which makes all sides equal.
        height: of the second diagonal above the first (m).
        density: of the rods (kg/m).
        speed: of the first hinge at the start (rad/s).
    """
    model = Model("Bennett", description="Bennett's linkage: four skew hinges that move")
    p, r, phi, h, rho = model.parameters(
        diagonal=diagonal, other_diagonal=other_diagonal, angle=angle, height=height, density=density
    )
    x, y = r / 2 * sp.cos(phi), r / 2 * sp.sin(phi)
    corners = [(p / 2, 0, 0), (x, y, h), (-p / 2, 0, 0), (-x, -y, h)]
    names = ["ground", "first", "middle", "last"]
    for i in (1, 2, 3):
        start, end = corners[i - 1], corners[i]
        _, length, _ = parts.direction(start, end)
        model.body(names[i], **parts.rod(rho * length, start, end, radius=0.02))
    # The side between the last corner and the first is the ground.
    for i, corner in enumerate(corners):
        before, after = corners[i - 1], corners[(i + 1) % 4]
        one, two = (sp.Matrix([b - a for a, b in zip(corner, other, strict=True)]) for other in (before, after))
        first, second = names[i], names[(i + 1) % 4]
        model.revolute("ABCD"[i], first, second, point=corner, axis=tuple(cast(Any, one.cross(two))))
    for corner in (corners[0], corners[3]):
        model.shape(model.ground, "sphere", radius=0.04, pose=corner)
    _, length, middle = parts.direction(corners[3], corners[0])
    axis = tuple(b - a for a, b in zip(corners[3], corners[0], strict=True))
    model.shape(model.ground, "cylinder", radius=0.015, length=length, axis=axis, pose=middle)
    model.initial("A", 0, rate=speed)
    model.output("height of the middle rod", "z(middle)", unit="m")
    return model
