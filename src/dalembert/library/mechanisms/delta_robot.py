"""The Delta robot: three arms on motors move a platform that never turns.

          hip o────┐ arm            seen from the side; the other two arms
              │     \\               stand at 120° and 240°
      base ───┴──    o elbow
                    //  two parallel rods
          platform ══o

Each pair of rods is a parallelogram, so that the platform keeps its attitude: three freedoms are left. A rod has a
universal joint at the elbow and a ball joint at the platform, so that it does not spin. The drives at the hips move the
platform around a circle that rises and falls; the angles α of the arms below the horizontal follow from its position,

    (X + a cos α)² + (Z − a sin α)² = l² − y²,    X = base − platform − x,   Z = −z

with x and y along and across the arm. After R. Clavel, Delta, a fast robot with parallel geometry (1988).
"""

from __future__ import annotations

import math
from typing import Any, cast

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["delta_robot"]

BLUE, ORANGE, STEEL = "#0072b2", "#de8f05", "#b8bec7"


def delta_robot(
    *, base: float = 0.2, platform: float = 0.06, arm: float = 0.25, rod: float = 0.6, width: float = 0.05,
    height: float = 0.55, arm_mass: float = 0.3, rod_mass: float = 0.06, load: float = 0.5,
    travel: float = 0.1, lift: float = 0.03, rate: float = 2 * math.pi,
) -> Model:  # fmt: skip
    """A driven Delta robot.

    Args:
        base, platform: radii on which the joints lie (m).
        arm, rod: lengths (m).
        width: half the distance of the two rods of a pair (m).
        height: of the base above the platform (m).
        arm_mass, rod_mass: of each arm and of each rod (kg).
        load: mass of the platform with what it carries (kg).
        travel, lift: radius of the circle and amplitude of the height (m).
        rate: angular frequency of the motion (rad/s).
    """
    model = Model("Delta robot", description="three arms move a platform that never turns")
    m1, m2, m3 = model.parameters(arm_mass=arm_mass, rod_mass=rod_mass, load=load)
    r, up, w = model.parameters(travel=travel, lift=lift, rate=rate)
    wanted = (r * sp.sin(w * model.t), r * (1 - sp.cos(w * model.t)), -height + up * sp.sin(2 * w * model.t))
    angle = float(_arm_angle(base - platform, height, 0, arm, rod))

    body = model.disc("platform", (0, 0, -height), 1.2 * platform, thickness=0.01, mass=m3, color=ORANGE)
    model.shape(model.ground, "cylinder", radius=1.1 * base, length=0.02, axis="z", pose=(0, 0, 0.02))
    for i in range(3):
        heading = 2 * math.pi * i / 3
        out, side = (math.cos(heading), math.sin(heading)), (-math.sin(heading), math.cos(heading))
        reach = base + arm * math.cos(angle)
        hip = (base * out[0], base * out[1], 0)
        elbow = (reach * out[0], reach * out[1], -arm * math.sin(angle))
        name = i + 1
        link = model.body(f"arm_{name}", color=BLUE, **parts.rod(m1, hip, elbow, radius=0.012))
        model.shape(link, "cylinder", radius=0.008, length=2 * width, axis=(*side, 0), pose=elbow)
        model.revolute(f"hip_{name}", model.ground, link, point=hip, axis=(*side, 0))
        x, y = (wanted[0] * d[0] + wanted[1] * d[1] for d in (out, side))
        model.drive(f"hip_{name}", _arm_angle(base - platform - x, -wanted[2], y, arm, rod) - angle)
        for sign, mark in ((1, "a"), (-1, "b")):
            above = tuple(e + sign * width * s for e, s in zip(elbow, (*side, 0), strict=True))
            below = tuple(platform * o + sign * width * s for o, s in zip(out, side, strict=True))
            below = (*below, -height)
            along, _, _ = parts.direction(above, below)
            across = tuple(cast(Any, sp.Matrix(along).cross(sp.Matrix((*side, 0)))))
            bar = model.body(f"rod_{name}{mark}", color=STEEL, **parts.rod(m2, above, below, radius=0.005))
            model.universal(f"elbow_{name}{mark}", link, bar, point=above, axis=(*side, 0), axis_2=across)
            model.spherical(f"ball_{name}{mark}", bar, body, point=below)
    for axis in "xyz":
        model.output(f"platform {axis}", f"{axis}(platform)", unit="m")
    return model


def _arm_angle(X: Any, Z: Any, y: Any, arm: float, rod: float) -> sp.Expr:
    """α from  2 a (X cos α − Z sin α) = l² − y² − a² − X² − Z²."""
    square = X**2 + Z**2
    return sp.acos((rod**2 - y**2 - arm**2 - square) / (2 * arm * sp.sqrt(square))) - sp.atan2(Z, X)
