"""The Stewart platform: six legs of variable length move a platform in all six degrees of freedom.

Each leg is a cylinder on a universal joint at the base and a piston on a ball joint under the platform. The
legs are driven so that the platform circles, heaves and tilts; their lengths follow from the pose (R, p),

    lᵢ(t) = | p(t) + R(t) bᵢ − aᵢ |

with aᵢ on the base and bᵢ on the platform. After D. Stewart, A platform with six degrees of freedom (1965).
"""

from __future__ import annotations

import math
from typing import Any, cast

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["stewart_platform"]

PAIR = math.radians(12)  # half the angle between the two legs of a pair, seen from above
ORANGE, BLUE, STEEL = "#de8f05", "#0072b2", "#b8bec7"


def stewart_platform(
    *, base_radius: float = 1.0, platform_radius: float = 0.6, height: float = 1.2,
    platform_mass: float = 50.0, leg_mass: float = 5.0,
    travel: float = 0.15, turn: float = 0.15, rate: float = math.pi,
) -> Model:  # fmt: skip
    """A driven Stewart platform (6-UPS).

    Args:
        base_radius, platform_radius: circles on which the joints lie (m).
        height: of the platform in the middle of its motion (m).
        platform_mass: of the disc that is the platform (kg).
        leg_mass: of each leg, half in the cylinder, half in the piston (kg).
        travel: radius of the circle and half the heave of the platform (m).
        turn: amplitude of roll, pitch and yaw (rad).
        rate: angular frequency of the motion (rad/s).
    """
    model = Model("Stewart platform", description="platform on six driven legs, moving in six degrees of freedom")
    ra, rb, h, M, ml, s, tilt, w = model.parameters(
        base_radius=base_radius, platform_radius=platform_radius, height=height, platform_mass=platform_mass,
        leg_mass=leg_mass, travel=travel, turn=turn, rate=rate,
    )  # fmt: skip
    # The wanted motion of the platform's center and its attitude; at t = 0 it stands as drawn.
    sine, cosine = sp.sin(w * model.t), sp.cos(w * model.t)
    p = sp.Matrix([s * sine, s * (1 - cosine), h + s * sp.sin(2 * w * model.t) / 2])
    R = cast(Any, sp.rot_ccw_axis1(tilt * sine) * sp.rot_ccw_axis2(tilt * (cosine - 1)) * sp.rot_ccw_axis3(tilt * sine))

    platform = model.disc("platform", (0, 0, h), 1.1 * rb, thickness=0.06, mass=M, color=ORANGE)
    model.shape(model.ground, "cylinder", radius=1.15 * ra, length=0.06, axis="z", pose=(0, 0, -0.06))

    for i in range(6):
        # Pairs of legs meet near 0°, 120°, 240° on the base and half-way between on the platform.
        side = 1 if i % 2 else -1
        below = 2 * math.pi / 3 * ((i + 1) // 2) - side * PAIR
        above = 2 * math.pi / 3 * (i // 2) + math.pi / 3 + side * PAIR
        foot = (ra * math.cos(below), ra * math.sin(below), 0)
        head = (rb * math.cos(above), rb * math.sin(above), h)
        along, length, middle = parts.direction(foot, head)
        tangent = (-math.sin(below), math.cos(below), 0)
        across = tuple(cast(Any, sp.Matrix(along).cross(sp.Matrix(tangent))))

        leg = i + 1
        inside = tuple(b - 0.7 * d for b, d in zip(head, along, strict=True))  # where the piston ends
        cylinder = model.body(f"cylinder_{leg}", color=BLUE, **parts.rod(ml / 2, foot, middle, radius=0.05))
        piston = model.body(f"piston_{leg}", color=STEEL, **parts.rod(ml / 2, inside, head, radius=0.03))
        model.universal(f"foot_{leg}", model.ground, cylinder, point=foot, axis=tangent, axis_2=across)
        stroke = model.prismatic(f"leg_{leg}", cylinder, piston, point=middle, axis=along)
        model.spherical(f"head_{leg}", piston, platform, point=head)

        _, wanted, _ = parts.direction(foot, p + R * sp.Matrix([head[0], head[1], 0]))
        model.drive(stroke, wanted - length, name=f"actuator_{leg}")

    for axis in "xyz":
        model.output(f"platform {axis}", f"{axis}(platform)", unit="m")
    return model
