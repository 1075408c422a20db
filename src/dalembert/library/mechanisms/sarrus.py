"""Sarrus' linkage: six hinges that lead a platform along an exact straight line.

          platform
      o════════════o       two chains of two plates each, in planes at right angles: the hinges of one
     ╱              ╲      are parallel to x, those of the other to y
    o                o
     ╲              ╱
      o────────────o
          ground

With plates of width l at the angle γ from the horizontal the platform stands at z = 2 l sin γ. One of the 30 equations
is redundant: both chains hold the platform against turning about z.

Reference: P. F. Sarrus, "Note sur la transformation des mouvements rectilignes alternatifs", Comptes Rendus 36
(1853) 1036.
"""

from __future__ import annotations

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["sarrus"]


def sarrus(
    *,
    width: float = 0.4,
    size: float = 0.5,
    angle: float = 0.9,
    plate_mass: float = 0.6,
    platform_mass: float = 3.0,
    stiffness: float = 300.0,
) -> Model:
    """A platform on Sarrus' linkage that bounces on a spring.

    Args:
        width: l of a plate (m).
        size: edge of the square platform (m).
        angle: γ of the lower plates at the start (rad).
        plate_mass, platform_mass: of slender plates and of a square one (kg).
        stiffness: of the spring below the platform (N/m), relaxed at the start.
    """
    model = Model("Sarrus", description="platform on Sarrus' straight-line linkage that bounces on a spring")
    l, s, g = model.parameters(width=width, size=size, angle=angle)
    m, M, k = model.parameters(plate_mass=plate_mass, platform_mass=platform_mass, stiffness=stiffness)
    height, out = 2 * l * sp.sin(g), s / 2 + l * sp.cos(g)
    model.box("platform", (0, 0, height), (s, s, s / 25), mass=M)
    for side, axis, (x, y) in (("x", "x", (0, -1)), ("y", "y", (-1, 0))):
        low, knee, high = (x * s / 2, y * s / 2, 0), (x * out, y * out, height / 2), (x * s / 2, y * s / 2, height)
        for name, start, end in ((f"lower_{side}", low, knee), (f"upper_{side}", knee, high)):
            body = model.body(name, **parts.rod(m, start, end, radius=0.012))
            model.shape(body, "cylinder", radius=0.012, length=s / 2, axis=axis, pose=knee)
        model.revolute(f"foot_{side}", model.ground, f"lower_{side}", point=low, axis=axis)
        model.revolute(f"knee_{side}", f"lower_{side}", f"upper_{side}", point=knee, axis=axis)
        model.revolute(f"head_{side}", f"upper_{side}", "platform", point=high, axis=axis)
    model.shape(model.ground, "box", size=(s, s, s / 25), pose=(0, 0, -s / 50))
    model.spring("spring", model.ground, "platform", at=((0, 0, 0), (0, 0, height)), stiffness=k, length=height)
    model.output("height of the platform", "z(platform)", unit="m")
    return model
