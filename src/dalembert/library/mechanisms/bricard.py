"""Bricard's linkage: six hinges at right angles, drawn along the edges of a cube.

Six rods of equal length go from corner to corner of a cube, through all three directions and again; every hinge is
normal to the two rods that it joins. By Grübler's count it is a structure; it moves, with one redundant equation of 30.
The angles of the hinges are equal in turns, and with θ and ψ measured from rods that lie in one line

    cos θ cos ψ + cos θ + cos ψ = 0.

Reference: R. Bricard, "Leçons de cinématique", vol. 2 (1927), pp. 7-12; Y. Chen, Z. You, T. Tarnai,
"Threefold-symmetric Bricard linkages for deployable structures", Int. J. Solids Struct. 42 (2005) 2287-2301.
"""

from __future__ import annotations

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["bricard"]


def bricard(*, length: float = 1.0, mass: float = 1.0) -> Model:
    """Bricard's linkage that moves under gravity from the corners of a cube.

    Args:
        length: of a rod (m).
        mass: of a rod (kg).
    """
    model = Model("Bricard", gravity=(0, -9.81, 0), description="Bricard's linkage: six hinges at right angles")
    l, m = model.parameters(length=length, mass=mass)
    corners = [(0, 0, 0), (l, 0, 0), (l, -l, 0), (l, -l, l), (0, -l, l), (0, 0, l)]
    across = ["y", "z", "x", "y", "z", "x"]
    # Rod i lies between corners i − 1 and i; the one from the last corner to the first is the ground.
    names = ["ground", *(f"rod{i}" for i in range(1, 6))]
    for i in range(1, 6):
        model.body(names[i], **parts.rod(m, corners[i - 1], corners[i], radius=0.03))
    for i, corner in enumerate(corners):
        model.revolute("ABCDEF"[i], names[i], names[(i + 1) % 6], point=corner, axis=across[i])
    _, _, middle = parts.direction(corners[5], corners[0])
    model.shape(model.ground, "cylinder", radius=0.025, length=l, axis="z", pose=middle)
    model.output("height of the third rod", "y(rod3)", unit="m")
    return model
