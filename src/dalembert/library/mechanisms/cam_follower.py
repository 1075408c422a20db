"""A cam and the rod that rides on it.

        │ │  follower, guided up and down
        └┬┘
       ╭─┴──╮
       │  o │  cam, turns at a given speed
       ╰────╯

With the profile r(angle) the lift is  r(ω t) − r(0)  while they touch. The rod takes off where that would fall faster
than gravity and the spring let it.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["cam_follower"]


def cam_follower(
    *,
    profile: str = "0.03 - 0.01*cos(angle)",
    speed: float = 20.0,
    mass: float = 0.2,
    stiffness: float = 0.0,
    preload: float = 0.0,
) -> Model:
    """A knife-edge follower above a cam whose profile is a formula.

    Args:
        profile: polar radius (m) as a formula of ``angle``; of a roller, the curve of its center.
        speed: of the cam (rad/s).
        mass: of the follower (kg).
        stiffness, preload: of the spring that holds it down (N/m, N).
    """
    model = Model("cam follower", description="a rod that rides on a cam, and takes off where that falls too fast")
    omega, m, k, push = model.parameters(speed=speed, mass=mass, stiffness=stiffness, preload=preload)
    tip = 0.02  # of the default profile, upright
    cam = model.body("cam", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    model.shape(cam, "cylinder", radius=0.03, length=0.01, axis="y", pose=(0, 0, -0.01))
    rod = model.body("follower", mass=m, com=(0, 0, tip + 0.05), inertia=(1e-3, 1e-3, 1e-3))
    model.shape(rod, "cylinder", radius=0.004, length=0.1, axis="z", pose=(0, 0, tip + 0.05))
    model.shape(model.ground, "box", size=(0.03, 0.03, 0.01), pose=(0.02, 0, tip + 0.08))
    shaft = model.revolute("shaft", model.ground, cam, point=(0, 0, 0), axis="y")
    guide = model.prismatic("guide", model.ground, rod, point=(0, 0, tip), axis="z")
    model.drive(shaft, omega * model.t)
    model.joint_force("spring", guide, -push - k * guide.q)
    curve = {"kind": "curve", "axis": "y", "start": "z", "radius": profile}
    model.rigid_contact("contact", cam, rod, surfaces=(curve, {"kind": "point", "at": (0, 0, tip)}))
    model.output("lift", guide.q, unit="m")
    return model
