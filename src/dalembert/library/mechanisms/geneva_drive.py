"""The Geneva drive: a pin that turns steadily moves a slotted wheel by one slot in each turn, and locks it between.

        ╭───╮        pin on a crank of radius r = c sin(π/n)
     ╭──┤ ║ ├──╮     c: distance of the shafts
     │══   ●  ═│←•   n: number of slots
     ╰──┤ ║ ├──╯

With the angle θ of the crank from the line of the shafts, while the pin is in a slot (|θ| < π/2 − π/n), the wheel is at

    β = atan2(sin θ, c/r − cos θ)

from the middle of its step. The pin enters along the slot, so neither side feels an impact. In between, the wheel
rests.
"""

from __future__ import annotations

import math

import sympy as sp

from dalembert.model import Model

__all__ = ["geneva_drive"]


def geneva_drive(*, slots: int = 4, distance: float = 0.1, speed: float = 2 * math.pi, inertia: float = 1e-4) -> Model:
    """A crank with a pin, and a wheel with slots that it moves step by step.

    The pin in its slot and the lock of the wheel are constraints that events switch.

    Args:
        slots: of the wheel, 3 or more.
        distance: of the shafts (m).
        speed: of the crank (rad/s).
        inertia: of the wheel about its shaft (kg m²).
    """
    if slots < 3:
        raise ValueError(f"slots must be 3 or more, got {slots!r}")
    model = Model("Geneva drive", gravity=(0, 0, 0), description="a pin that moves a slotted wheel step by step")
    omega, c, J = model.parameters(speed=speed, distance=distance, inertia=inertia)
    slot, step = model.parameters(slot=0.0), 2 * math.pi / slots
    radius, enters = distance * math.sin(step / 2), math.pi / 2 - step / 2
    crank = model.body("crank", mass=0.2, com=(-radius / 2, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    wheel = model.body("wheel", mass=0.3, com=(c, 0, 0), inertia=(J, J, J))
    model.shape(crank, "cylinder", radius=0.3 * radius, length=0.01, axis="z")
    model.shape(crank, "cylinder", radius=0.06 * radius, length=0.02, axis="z", pose=(-radius, 0, 0.01))
    model.shape(crank, "box", size=(radius, 0.1 * radius, 0.005), pose=(-radius / 2, 0, 0))
    plate = (1.6 * distance, 1.4 * distance, 0.004)
    model.shape(model.ground, "box", size=plate, pose=(0.5 * distance, 0, -0.012))
    reach, width = 0.9 * math.sqrt(distance**2 - radius**2), 1.7 * (distance - radius) * math.sin(step / 2)
    for k in range(slots):
        angle = math.pi + k * step
        at = (distance + 0.5 * reach * math.cos(angle), 0.5 * reach * math.sin(angle), 0.01)
        model.shape(
            wheel,
            "box",
            size=(reach, width, 0.008),
            pose={"position": at, "rpy": (0, 0, angle)},
            color="#4f81bd",
        )
    shaft = model.revolute("shaft", model.ground, crank, point=(0, 0, 0), axis="z")
    turn = model.revolute("turn", model.ground, wheel, point=(c, 0, 0), axis="z")
    model.drive(shaft, omega * model.t, name="motor")
    # The pin, at −r (cos q, sin q), on the line of the slot through the middle of the wheel.
    along = math.pi + step / 2 + slot * step + turn.q
    r = c * math.sin(step / 2)
    across = (-r * sp.cos(shaft.q) - c) * sp.sin(along) + r * sp.sin(shaft.q) * sp.cos(along)
    model.constraint("pin", across, active=False)
    model.constraint("lock", turn.q + slot * step)
    model.event("in", sp.sin(shaft.q - (math.pi - enters)), direction="rising", switch={"pin": True, "lock": False})
    leaves = sp.sin(shaft.q - (math.pi + enters))
    switch = {"pin": False, "lock": True}
    model.event("out", leaves, direction="rising", switch=switch, set={"slot": slot + 1})
    model.output("wheel", turn.q, unit="rad")
    return model
