"""A ball that falls on a floor and bounces until it rests.

          ● height
          │
    ──────┴────── floor

After the first fall, √(2 h/g), each flight takes e times as long as the one before: all is over at
t = √(2 h/g) (1 + e)/(1 − e),  after infinitely many bounces.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["bouncing_ball"]


def bouncing_ball(
    *, height: float = 1.0, restitution: float = 0.7, radius: float = 0.1, mass: float = 1.0, speed: float = 0.5
) -> Model:
    """A ball over a rigid floor.

    Args:
        height: of its lowest point above the floor, at the start (m).
        restitution: speed after a bounce over that before it.
        radius, mass: of the ball (m, kg).
        speed: along the floor (m/s).
    """
    model = Model("bouncing ball", description="a ball that bounces on a rigid floor until it rests")
    h, e, r, m = model.parameters(height=height, restitution=restitution, radius=radius, mass=mass)
    ball = model.sphere("ball", (0, 0, h + r), r, mass=m, color="#c0504d")
    model.shape(model.ground, "box", size=(3, 0.6, 0.02), pose=(1, 0, -0.01))
    model.joint("translational", "ball", model.ground, ball, point=(0, 0, h + r))
    floor, skin = {"kind": "plane", "axis": "z"}, {"kind": "sphere", "at": (0, 0, h + r), "radius": r}
    model.rigid_contact("floor", model.ground, ball, surfaces=(floor, skin), restitution=e)
    model.initial("ball", rate=(speed, 0, 0))
    model.output("height", "z(ball)", unit="m")
    return model
