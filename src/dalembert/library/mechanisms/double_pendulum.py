"""Two slender bars, hinged one below the other: the smallest chaotic mechanism.

─┬─ shoulder
 │  upper, length l₁
 o  elbow
  \\  lower, length l₂
"""

from __future__ import annotations

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["double_pendulum"]


def double_pendulum(
    *,
    upper_length: float = 1.0,
    lower_length: float = 0.8,
    upper_mass: float = 1.0,
    lower_mass: float = 0.8,
    upper_angle: float = 2.0,
    lower_angle: float = 0.5,
) -> Model:
    """A double pendulum that is let go at rest.

    Args:
        upper_length, lower_length: of the bars (m).
        upper_mass, lower_mass: of the bars (kg).
        upper_angle: of the upper bar from the vertical (rad).
        lower_angle: of the lower bar against the upper one (rad).
    """
    model = Model(
        "double pendulum",
        gravity=(0, -9.81, 0),
        description="two hinged bars: the smallest chaotic mechanism",
    )
    l1, l2, m1, m2 = model.parameters(
        upper_length=upper_length, lower_length=lower_length, upper_mass=upper_mass, lower_mass=lower_mass
    )

    upper = model.body("upper", **parts.bar(m1, (0, 0, 0), (0, -l1, 0), width=0.06))
    lower = model.body("lower", **parts.bar(m2, (0, -l1, 0), (0, -l1 - l2, 0), width=0.06, level=1))
    model.shape(model.ground, "box", size=(0.3, 0.04, 0.15), pose=(0, 0.06, 0))
    shoulder = model.revolute("shoulder", model.ground, upper, point=(0, 0, 0), axis="z")
    elbow = model.revolute("elbow", upper, lower, point=(0, -l1, 0), axis="z")

    model.initial(shoulder, upper_angle)
    model.initial(elbow, lower_angle)
    model.output("lower angle from the vertical", shoulder.q + elbow.q, unit="rad")
    return model
