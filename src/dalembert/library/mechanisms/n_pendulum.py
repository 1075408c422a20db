"""A chain of n equal slender bars, hinged end to end: a rope for n → ∞.

─┬─ hinge_1
 │  link_1
 o  hinge_2
 │  link_2
 …
"""

from __future__ import annotations

import math

from dalembert.arguments import Count
from dalembert.library import parts
from dalembert.model import Model

__all__ = ["n_pendulum"]


def n_pendulum(*, n: Count = 5, length: float = 2.0, mass: float = 2.0, angle: float = math.pi / 2) -> Model:
    """A chain that is let go at rest, straight.

    Args:
        n: number of links.
        length: of the whole chain (m).
        mass: of the whole chain (kg).
        angle: of the chain from the vertical, at the start (rad).
    """
    model = Model("n-pendulum", gravity=(0, -9.81, 0), description="a hanging chain of n equal bars")
    L, M = model.parameters(length=length, mass=mass)
    l, m = L / n, M / n

    above = model.ground
    for i in range(1, n + 1):
        top, bottom = (0, -(i - 1) * l, 0), (0, -i * l, 0)
        link = model.body(f"link_{i}", **parts.bar(m, top, bottom, width=l / 8, level=i % 2))
        model.revolute(f"hinge_{i}", above, link, point=top, axis="z")
        above = link
    model.shape(model.ground, "box", size=(l, l / 10, l / 2), pose=(0, l / 5, 0))

    model.initial("hinge_1", angle)
    model.output("x of the last link", f"x(link_{n})", unit="m")
    model.output("y of the last link", f"y(link_{n})", unit="m")
    return model
