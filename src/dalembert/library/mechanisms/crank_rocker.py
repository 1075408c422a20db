"""A crank-rocker with a motor: the linkage of a windscreen wiper or an oil pump.

The motor turns the crank at constant speed; the reaction of the drive is the torque that the motor must
supply. Geometry as in ``four_bar``.
"""

from __future__ import annotations

import math

from dalembert.library.mechanisms.four_bar import add_linkage
from dalembert.model import Model

__all__ = ["crank_rocker"]


def crank_rocker(
    *,
    crank: float = 0.3,
    coupler: float = 0.9,
    rocker: float = 0.7,
    base: float = 0.9,
    speed: float = 2 * math.pi,
) -> Model:
    """A motor-driven crank-rocker.

    Args:
        crank, coupler, rocker, base: lengths (m); the crank must be the shortest (see ``four_bar``).
        speed: of the motor (rad/s).
    """
    model = Model("crank-rocker", gravity=(0, -9.81, 0), description="motor-driven crank that makes a rocker swing")
    add_linkage(model, crank, coupler, rocker, base)
    model.shape(model.ground, "cylinder", radius=0.1, length=0.12, axis="z", pose=(0, 0, -0.14))  # the motor

    omega = model.parameters(speed=speed)
    model.drive("A", omega * model.t, name="motor")
    return model
