"""The four-bar linkage.

              C
          ___o___
       B_/       \\  rocker
      o_/ coupler \\
  A  /             \\  D
  ──o───────────────o──
    crank  base

If shortest + longest ≤ the other two (Grashof) and the crank is the shortest, the crank turns all the way
round and the rocker swings to and fro.
"""

from __future__ import annotations

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["add_linkage", "four_bar"]

DENSITY = 2.0  # kg per meter of bar


def four_bar(
    *, crank: float = 0.4, coupler: float = 1.0, rocker: float = 0.8, base: float = 1.0, speed: float = 8.0
) -> Model:
    """A four-bar linkage that coasts without friction: its energy is conserved.

    Args:
        crank, coupler, rocker, base: lengths (m).
        speed: of the crank at the start (rad/s).
    """
    model = Model("four-bar", gravity=(0, -9.81, 0), description="four-bar linkage that coasts without friction")
    add_linkage(model, crank, coupler, rocker, base)
    model.initial("A", 0, rate=speed)
    return model


def add_linkage(model: Model, crank: float, coupler: float, rocker: float, base: float) -> None:
    """Bodies, joints and outputs of the linkage, drawn with the crank pointing at D."""
    a, b, c, d, density = model.parameters(crank=crank, coupler=coupler, rocker=rocker, base=base, density=DENSITY)
    # C is where the circle of the coupler about B meets the circle of the rocker about D.
    s = d - a
    x = (s**2 + b**2 - c**2) / (2 * s)
    A, B, C, D = (0, 0, 0), (a, 0, 0), (a + x, sp.sqrt(b**2 - x**2), 0), (d, 0, 0)

    bodies = {
        "crank": parts.bar(density * a, A, B, width=0.06),
        "coupler": parts.bar(density * b, B, C, width=0.06, level=1),
        "rocker": parts.bar(density * c, D, C, width=0.06),
    }
    for name, part in bodies.items():
        model.body(name, **part)
    model.revolute("A", model.ground, "crank", point=A, axis="z")
    model.revolute("B", "crank", "coupler", point=B, axis="z")
    model.revolute("C", "coupler", "rocker", point=C, axis="z")
    model.revolute("D", model.ground, "rocker", point=D, axis="z")
    model.shape(model.ground, "box", size=(d + 0.2, 0.06, 0.04), pose=(d / 2, 0, -0.06))
    for point in (A, D):
        model.shape(model.ground, "cylinder", radius=0.02, length=0.12, axis="z", pose=(*point[:2], -0.03))

    model.output("x of the coupler", "x(coupler)", unit="m")
    model.output("y of the coupler", "y(coupler)", unit="m")
