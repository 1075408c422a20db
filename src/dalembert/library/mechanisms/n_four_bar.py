"""A row of n equal four-bars: n + 1 cranks side by side, joined at their tips by n bars.

    B0 ═════ B1 ═════ B2 …
    │        │        │      cranks
    o        o        o
    A0       A1       A2

Problem A02 of the IFToMM library of computational benchmarks is ``n_four_bar(n=2, angle=0, speed=1)`` for 10 s. When
the cranks lie flat the whole is singular: each window could fold up by itself. With spatial hinges 3 n of the 5 n loop
equations are redundant. The bars move without turning, so that the whole is a pendulum (θ from the upward vertical):

    ((n + 1)/3 + n) m l² θ̈ = ((n + 1)/2 + n) m g l sin θ
"""

from __future__ import annotations

import math
from typing import Any

from dalembert.arguments import Count
from dalembert.library import parts
from dalembert.model import Model

__all__ = ["n_four_bar"]


def n_four_bar(
    *, n: Count = 3, length: float = 1.0, mass: float = 1.0, angle: float = 2.4, speed: float = 0.0, width: float = 0.06
) -> Model:
    """Windows in a row that swing together.

    Args:
        n: how many windows.
        length, mass: of each bar (m, kg).
        angle: of the cranks from the upward vertical, clockwise, at the start (rad); so it is drawn.
        speed: of the cranks at the start, clockwise (rad/s).
        width: of the bars (m), which have the inertia m l²/12 of slender ones, and m width²/6 about their own axis.
    """
    model = Model("n-four-bar", gravity=(0, -9.81, 0), description="windows of four bars in a row that swing together")
    l, m = model.parameters(length=length, mass=mass)
    along, across = m * width**2 / 6, m * l**2 / 12
    lean = (math.sin(angle), math.cos(angle))

    def bar(name: str, start: Any, end: Any, d: tuple[float, float], level: int) -> None:
        xx, yy = along * d[0] ** 2 + across * d[1] ** 2, along * d[1] ** 2 + across * d[0] ** 2
        fields = parts.bar(m, start, end, width=width, level=level)
        model.body(name, **{**fields, "inertia": (xx, yy, across, (along - across) * d[0] * d[1], 0, 0)})

    A = [(i * l, 0, 0) for i in range(n + 1)]
    B = [((i + lean[0]) * l, lean[1] * l, 0) for i in range(n + 1)]
    for i in range(n + 1):
        bar(f"crank{i}", A[i], B[i], lean, i % 2)
        model.revolute(f"A{i}", model.ground, f"crank{i}", point=A[i], axis="z")
    for i in range(n):
        bar(f"bar{i}", B[i], B[i + 1], (1.0, 0.0), 2 + i % 2)
        model.revolute(f"B{i}", f"crank{i}", f"bar{i}", point=B[i], axis="z")
        model.revolute(f"C{i}", f"bar{i}", f"crank{i + 1}", point=B[i + 1], axis="z")
    model.shape(model.ground, "box", size=(n * l + l / 4, width, width), pose=(n * l / 2, -width, 0))
    model.initial("A0", rate=-speed)
    model.output("x of B0", "2*x(crank0)", unit="m")
    model.output("y of B0", "2*y(crank0)", unit="m")
    return model
