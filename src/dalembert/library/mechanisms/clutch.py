"""A friction clutch: an engine takes a load along when the clutch is pressed.

    engine ━━━┫┣━━━ load
               ↑ press

While the discs slip, their torque is that of friction, n μ r F with n faces, and both shafts move on their own. When
they turn at the same speed they stick, until more is asked of them than friction holds. How hard they are pressed is
the input ``press`` (N).
"""

from __future__ import annotations

import numpy as np

from dalembert.model import Model

__all__ = ["clutch"]


def clutch(
    *, speed: float = 150.0, torque: float = 80.0, press: str | float = "2000*min(t/1.5, 1)", friction: float = 0.3
) -> Model:
    """An engine that takes a vehicle along by its clutch.

    Args:
        speed: of the engine at the start (rad/s); the load is at rest.
        torque: of the engine (N m).
        press: force on the discs (N), a number or a formula of time; runs may give another as ``inputs={"press": …}``.
        friction: coefficient of friction of the linings.
    """
    model = Model("clutch", gravity=(0, 0, 0), description="an engine, a friction clutch and a load")
    model.parameters(friction=friction, torque=torque)
    model.parameters(faces=2, radius=0.1, drag=0.005)
    model.input("press", press, unit="N")
    for name, mass, r, x, color in (("engine", 10.0, 0.08, -0.18, "#4f81bd"), ("load", 60.0, 0.12, 0.18, "#c0504d")):
        inertia = mass / 12 * np.array([6 * r**2, 3 * r**2 + 0.34**2, 3 * r**2 + 0.34**2])
        # Its origin is on the rim, so that one sees it turn.
        model.body(name, mass=mass, com=(x, 0, 0), inertia=inertia, pose=(x, 0, r), color=color)
        model.shape(name, "cylinder", radius=r, length=0.34, axis="x", pose=(x, 0, 0))
        model.shape(name, "box", size=(0.3, 0.02, 0.03), pose=(x, 0, r), color="#303030")
    engine, load = "engine", "load"
    model.shape(model.ground, "box", size=(0.9, 0.3, 0.02), pose=(0, 0, -0.2))
    shaft = model.revolute("shaft", model.ground, engine, point=(-0.35, 0, 0), axis="x")
    slip = model.revolute("slip", engine, load, point=(0, 0, 0), axis="x")
    model.joint_force("motor", shaft, "torque")
    model.torque("road", load, value=("-drag*wx(load)*abs(wx(load))", 0, 0))
    held = "faces*radius*friction*press"
    model.friction("linings", slip, constant=held)
    model.initial(shaft, rate=speed)
    model.initial(slip, rate=-speed)
    model.output("engine speed", "wx(engine)", unit="rad/s")
    model.output("load speed", "wx(load)", unit="rad/s")
    return model
