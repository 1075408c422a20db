"""Whipple's bicycle: two rolling wheels, a frame with a rigid rider, and a fork that steers freely.

              o  ╲
              │   ╲              rider and frame; the steering axis ╲, tilted by λ,
         ╭─╮══╧════╲─╮           meets the ground the trail c ahead of the front contact
        (   )     ( ╲ )
      ───┴─────────┴─╲────▶ x
         0         w  w + c

The tree: rear wheel on the ground, frame, fork, front wheel; the front contact closes the loop. 8 velocities, one
position and four velocity equations: 3 degrees of freedom, which are lean, steer and speed. Between 4.292 and 6.024 m/s
the benchmark bicycle is stable: pushed over, it weaves back upright by itself.

Parameters are those of the benchmark, whose axes are x ahead, y to the right, z down, from the rear contact. Here y is
to the left and z up: y and z of all points and the products of inertia Ixz change sign. Lean and steer are positive to
the right in both; here heading is positive to the left, and a wheel that rolls ahead turns positively.

Reference: J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, "Linearized dynamics equations for the balance
and steer of a bicycle: a benchmark and review", Proc. R. Soc. A 463 (2007) 1955-1982, table 1.
"""

from __future__ import annotations

import math
from typing import Any

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["bicycle"]

ORANGE, BLUE, STEEL, DARK, SKIN = "#de8f05", "#0072b2", "#b8bec7", "#444c56", "#cc9b7a"


def bicycle(
    *, speed: float = 4.6, lean: float = 0.1,
    w: float = 1.02, c: float = 0.08, lam: float = math.pi / 10, g: float = 9.81,
    rR: float = 0.3, mR: float = 2.0, IRxx: float = 0.0603, IRyy: float = 0.12,
    xB: float = 0.3, zB: float = -0.9, mB: float = 85.0,
    IBxx: float = 9.2, IBxz: float = 2.4, IByy: float = 11.0, IBzz: float = 2.8,
    xH: float = 0.9, zH: float = -0.7, mH: float = 4.0,
    IHxx: float = 0.05892, IHxz: float = -0.00756, IHyy: float = 0.06, IHzz: float = 0.00708,
    rF: float = 0.35, mF: float = 3.0, IFxx: float = 0.1405, IFyy: float = 0.28,
) -> Model:  # fmt: skip
    """A bicycle that nobody steers.

    Args:
        speed, lean: at the start, steering straight (m/s, rad).
        w, c, lam: wheelbase, trail (m), tilt of the steering axis (rad).
        g: gravity (m/s²).
        rR, mR, IRxx, IRyy: rear wheel: radius (m), mass (kg), moments across and about the axle (kg m²).
        xB, zB, mB, IBxx, IBxz, IByy, IBzz: rear frame with the rider; z is down, as in the benchmark.
        xH, zH, mH, IHxx, IHxz, IHyy, IHzz: front fork with the handlebar.
        rF, mF, IFxx, IFyy: front wheel.
    """
    model = Model("bicycle", gravity=(0, 0, "-g"), description="Whipple's bicycle: weaves back upright by itself")
    v, phi, w, c, lam, _ = model.parameters(speed=speed, lean=lean, w=w, c=c, lam=lam, g=g)
    rR, mR, Rxx, Ryy = model.parameters(rR=rR, mR=mR, IRxx=IRxx, IRyy=IRyy)
    xB, zB, mB = model.parameters(xB=xB, zB=zB, mB=mB)
    Bxx, Bxz, Byy, Bzz = model.parameters(IBxx=IBxx, IBxz=IBxz, IByy=IByy, IBzz=IBzz)
    xH, zH, mH = model.parameters(xH=xH, zH=zH, mH=mH)
    Hxx, Hxz, Hyy, Hzz = model.parameters(IHxx=IHxx, IHxz=IHxz, IHyy=IHyy, IHzz=IHzz)
    rF, mF, Fxx, Fyy = model.parameters(rF=rF, mF=mF, IFxx=IFxx, IFyy=IFyy)
    rear, front = (0, 0, rR), (w, 0, rF)

    def on_axis(height: Any) -> tuple[Any, ...]:
        """A point of the steering axis."""
        return (w + c - height * sp.tan(lam), 0, height)

    model.body("rear wheel", mass=mR, com=rear, inertia=(Rxx, Ryy, Rxx), color=DARK)
    model.body("frame", mass=mB, com=(xB, 0, -zB), inertia=(Bxx, Byy, Bzz, 0, -Bxz, 0), color=BLUE)
    model.body("fork", mass=mH, com=(xH, 0, -zH), inertia=(Hxx, Hyy, Hzz, 0, -Hxz, 0), color=ORANGE)
    model.body("front wheel", mass=mF, com=front, inertia=(Fxx, Fyy, Fxx), color=DARK)
    _draw(model, rear, front, on_axis, rR, rF)

    model.rolling_disc("rear contact", model.ground, "rear wheel", point=rear, axis="z", axis_2="y", radius=rR)
    model.revolute("rear hub", "rear wheel", "frame", point=rear, axis="y")
    steering = model.revolute(
        "steering", "frame", "fork", point=on_axis(3 * rR), axis=(sp.sin(lam), 0, -sp.cos(lam))
    )  # along the axis down, so that the angle is positive to the right
    model.revolute("front hub", "fork", "front wheel", point=front, axis="y")
    model.rolling_disc(
        "front contact", model.ground, "front wheel", point=front, axis="z", axis_2="y", radius=rF, cut=True
    )

    model.initial("rear contact", (0, 0, 0, phi, 0), rate=(v, 0, 0, 0, v / rR))
    model.initial("rear hub", 0, rate=-v / rR)
    model.initial(steering, 0, rate=0)
    model.initial("front hub", 0, rate=v / rF)
    model.output("lean", model.q("rear contact", 3), unit="rad")
    model.output("steer", steering.q, unit="rad")
    model.output("heading", model.q("rear contact", 2), unit="rad")
    return model


def _draw(model: Model, rear: Any, front: Any, on_axis: Any, rR: Any, rF: Any) -> None:
    """Wheels with spokes, a frame of tubes, a rider, a handlebar, and the road."""

    def tube(body: str, start: Any, end: Any, radius: float = 0.018, color: str | None = None) -> None:
        d, length, middle = parts.direction(start, end)
        model.shape(body, "cylinder", radius=radius, length=length, axis=d, pose=middle, color=color)

    for name, (x, y, z), r in (("rear wheel", rear, rR), ("front wheel", front, rF)):
        model.shape(name, "torus", radius=r - 0.02, tube=0.02, axis="y", pose=(x, y, z))
        for i in range(4):
            dx, dz = math.cos(i * math.pi / 4), math.sin(i * math.pi / 4)
            reach = r - 0.02
            ends = ((x - dx * reach, y, z - dz * reach), (x + dx * reach, y, z + dz * reach))
            tube(name, *ends, radius=0.004, color=STEEL)
    head, crown, bars = on_axis(0.9), on_axis(0.65), on_axis(1.0)
    saddle, pedals = (0.2, 0, 0.95), (0.42, 0, 0.28)
    for start, end in (
        (saddle, pedals),
        (saddle, head),
        (pedals, crown),
        (rear, saddle),
        (rear, pedals),
        (crown, head),
    ):
        tube("frame", start, end)
    hip, neck = (0.2, 0, 1.0), (0.45, 0, 1.5)
    tube("frame", hip, neck, radius=0.11, color=STEEL)
    model.shape("frame", "sphere", radius=0.11, pose=(0.5, 0, 1.68), color=SKIN)
    for side in (-1, 1):
        tube("frame", (0.22, 0.1 * side, 0.98), (0.6, 0.1 * side, 0.75), radius=0.06, color=STEEL)
        tube("frame", (0.6, 0.1 * side, 0.75), (0.42, 0.1 * side, 0.28), radius=0.05, color=STEEL)
        tube("fork", (front[0], 0.06 * side, front[2]), (crown[0], 0.06 * side, crown[2]))
        tube("fork", bars, (bars[0] - 0.05, 0.28 * side, bars[2] + 0.03))
    tube("fork", (crown[0], -0.06, crown[2]), (crown[0], 0.06, crown[2]))
    tube("fork", crown, bars, radius=0.014)
    model.shape(model.ground, "box", size=(12, 4, 0.01), pose=(5, 0, -0.005), opacity=0.4)
