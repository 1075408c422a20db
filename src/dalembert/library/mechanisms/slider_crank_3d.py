"""The spatial slider-crank: crank and slider move in planes at right angles.

    z                  B  ball joint
    │        A o──────o
    │      (crank turns \\  connecting rod
    │       about x)     \\
    └────── x ──────── C ▭ ──→  slider, on a universal joint

Geometry and speed after E. J. Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), a
standard test of multibody codes: crank 0.08 m at (0, 0.1, 0.12), rod 0.3 m. With the pin B at (0, y, z) the
slider stands at  x = √(l² − y² − z²).
"""

from __future__ import annotations

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["slider_crank_3d"]


def slider_crank_3d(
    *,
    crank: float = 0.08,
    rod: float = 0.3,
    offset: float = 0.1,
    height: float = 0.12,
    crank_mass: float = 0.12,
    rod_mass: float = 0.5,
    slider_mass: float = 2.0,
    speed: float = 6.0,
) -> Model:
    """A spatial slider-crank that starts with the crank upright.

    Args:
        crank, rod: lengths (m).
        offset, height: y and z of the crank's axis, which is parallel to the slider's (m).
        crank_mass, rod_mass, slider_mass: of slender rods and of a block (kg).
        speed: of the crank at the start (rad/s).
    """
    model = Model(
        "spatial slider-crank",
        description="crank and slider in crossed planes, with ball and universal joints",
    )
    a, l, y, h = model.parameters(crank=crank, rod=rod, offset=offset, height=height)
    m1, m2, m3 = model.parameters(crank_mass=crank_mass, rod_mass=rod_mass, slider_mass=slider_mass)
    A, B = (0, y, h), (0, y, h + a)
    C = (sp.sqrt(l**2 - y**2 - (h + a) ** 2), 0, 0)

    crank_body = model.body("crank", **parts.rod(m1, A, B, radius=0.008))
    conrod = model.body("connecting_rod", **parts.rod(m2, B, C, radius=0.008))
    slider = model.box("slider", C, (0.05, 0.04, 0.04), mass=m3)
    model.shape(crank_body, "cylinder", radius=0.02, length=0.03, axis="x", pose=A)
    model.shape(conrod, "sphere", radius=0.016, pose=B)
    model.shape(model.ground, "box", size=(0.4, 0.02, 0.01), pose=(0.15, 0, -0.026))
    model.shape(model.ground, "box", size=(0.02, 0.05, h + 0.03), pose=(-0.026, y, h / 2))

    model.revolute("crank_bearing", model.ground, crank_body, point=A, axis="x")
    model.spherical("ball_joint", crank_body, conrod, point=B)
    # The cross: one axis square to the rod, the other upright in the slider.
    along, _, _ = parts.direction(B, C)
    model.universal("universal_joint", conrod, slider, point=C, axis=(along[1], -along[0], 0), axis_2="z")
    model.prismatic("guide", model.ground, slider, point=C, axis="x")

    model.initial("crank_bearing", 0, rate=speed)
    model.output("slider position", "x(slider)", unit="m")
    model.output("slider speed", "vx(slider)", unit="m/s")
    return model
