"""A belt drive: a motor turns a large wheel by a belt, over an idler that runs the other way.

     ╭──────────────────────╮
    (o)  motor   o idler    (  o  ) load
     ╰──────────╯ ╰─────────╯

The belt does not slip: ρ₁ ω₁ = ρ₂ ω₂ = ρ₃ ω₃. Against a load with the torque −d ω₂, with M the torque of the motor and
i = ρ₁/ρ₂,

    ω₁ = M/(d i²) (1 − exp(−t/τ)),    τ = J/(d i²),    J = J₁ + J₂ i² + J₃ (ρ₁/ρ₃)².
"""

from __future__ import annotations

from dalembert.joints.joint_data import JointData
from dalembert.model import Model

__all__ = ["belt_drive"]


def belt_drive(
    *, radius: float = 0.05, load_radius: float = 0.15, torque: float = 0.5, drag: float = 0.05, mass: float = 4.0
) -> Model:
    """A motor, a load and an idler between them, on one belt.

    Args:
        radius, load_radius: of the wheels of motor and load (m).
        torque: of the motor (N m).
        drag: torque of the load over its speed (N m s/rad).
        mass: of the wheel of the load (kg).
    """
    model = Model("belt drive", gravity=(0, -9.81, 0), description="a motor turns a load by a belt over an idler")
    r, R, M, d, m = model.parameters(radius=radius, load_radius=load_radius, torque=torque, drag=drag, mass=mass)
    model.shape(model.ground, "box", size=(0.75, 0.4, 0.01), pose=(0.22, 0, -0.03))
    idler = 0.03
    wheels = (("motor", (0, 0, 0), r, 0.6), ("idler", (0.2, -0.08, 0), idler, 0.1), ("load", (0.5, 0, 0), R, m))
    shafts: list[JointData] = []
    for name, at, size, weight in wheels:
        wheel = model.disc(name, at, size, thickness=0.02, mass=weight)
        shafts.append(model.revolute(f"{name} shaft", model.ground, wheel, point=at, axis="z"))
    model.belt("belt", shafts, radii=[r, -idler, R])
    model.joint_force("motor torque", shafts[0], M)
    model.joint_force("brake", shafts[2], -d * shafts[2].u)
    model.output("speed of the load", shafts[2].u, unit="rad/s")
    return model
