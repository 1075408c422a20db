"""A quarter of a car on a road given by points: wheel and body on springs, a progressive bump stop, a tire that can
leave the ground.

The road is a table, so that measured data can take its place: ``quarter_car(road=da.read_table("road.csv"))``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dalembert.model import Model

__all__ = ["quarter_car"]


def quarter_car(
    *,
    body_mass: float = 300.0,
    wheel_mass: float = 40.0,
    speed: float = 15.0,
    bump: float = 0.06,
    road: Mapping[str, Sequence[float]] | None = None,
) -> Model:
    """A quarter of a car that drives over a road.

    Args:
        body_mass, wheel_mass: masses (kg).
        speed: of the car (m/s).
        bump: height of the bumps (m) of the road that is taken if none is given.
        road: its points: ``x`` along it and ``y``, its height (m).
    """
    model = Model("quarter-car", description="a quarter of a car that drives over a measured road")
    model.parameters(body_mass=body_mass, wheel_mass=wheel_mass, speed=speed, k=20e3, c=1.5e3, tire=180e3)
    if road is None:
        x = [0.5 * i for i in range(81)]
        road = {"x": x, "y": [bump * math.sin(0.7 * s) ** 2 * math.sin(0.23 * s) if s >= 1 else 0.0 for s in x]}
    model.table("road", x=list(road["x"]), y=list(road["y"]))
    model.body("wheel", mass="wheel_mass", com=(0, 0, 0.3), inertia=(1, 1, 1))
    model.body("chassis", mass="body_mass", com=(0, 0, 0.8), inertia=(50, 50, 50))
    model.shape("wheel", "cylinder", radius=0.3, length=0.2, axis="y", pose=(0, 0, 0.3))
    model.shape("chassis", "box", size=(1.2, 0.8, 0.4), pose=(0, 0, 0.8))
    model.shape(model.ground, "box", size=(3, 1, 0.02), pose=(0, 0, -0.01))
    model.prismatic("heave", "ground", "wheel", point=(0, 0, 0.3), axis="z")
    model.prismatic("travel", "wheel", "chassis", point=(0, 0, 0.8), axis="z")
    # Linear in the middle, much stiffer where the rubber of the stop is reached; preloaded by the weight.
    points = ((0, 0, 0.3), (0, 0, 0.8))
    model.strut(
        "suspension", "wheel", "chassis", at=points,
        push="9.81*body_mass - k*(length - 0.5) - c*rate + 10*k*max(0.43 - length, 0)",
    )  # fmt: skip
    model.force("tire", "wheel", (0, 0, "max(9.81*(body_mass + wheel_mass) + tire*(road(speed*t) - q(heave)), 0)"))
    model.output("road", "road(speed*t)", unit="m")
    model.output("height", "z(chassis) - 0.8", unit="m")
    model.output("stroke", "length(suspension) - 0.5", unit="m")
    return model
