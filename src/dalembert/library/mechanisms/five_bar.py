"""A five-bar robot with two DC motors, gears and PID controllers: mechanics, electrics and control in one model.

Two arms turn on the base, each driven by a motor; two rods lead from their ends to the tool. Each controller makes its
arm follow a given angle; its output is the voltage, which the supply limits. Currents, integrals and filters are states
of the model and are integrated with the motion.
"""

from __future__ import annotations

import math

from dalembert.library.parts import bar
from dalembert.model import Model
from dalembert.model.machine_parts import dc_motor, pid

__all__ = ["five_bar"]


def five_bar(
    *,
    arm: float = 0.25,
    rod: float = 0.35,
    base: float = 0.2,
    swing: float = 0.4,
    rate: float = 4.0,
    gain: float = 60.0,
) -> Model:
    """A five-bar robot with motors and controllers.

    Args:
        arm, rod: lengths of the driven arms and of the rods to the tool (m).
        base: distance of the motors (m).
        swing, rate: amplitude (rad) and frequency (rad/s) of the wanted angles.
        gain: proportional gain of the controllers (V/rad).
    """
    model = Model("five-bar", gravity=(0, -9.81, 0), description="five-bar robot with DC motors and PID controllers")
    model.parameters(swing=swing, rate=rate, gain=gain)
    lean = math.radians(60)
    pivots = {"left": (-base / 2, 0.0, 0.0), "right": (base / 2, 0.0, 0.0)}
    elbows = {
        side: (x + sign * arm * math.cos(lean), arm * math.sin(lean), 0.0)
        for (side, (x, _, _)), sign in zip(pivots.items(), (-1, 1), strict=True)
    }
    tool = (0.0, elbows["left"][1] + math.sqrt(rod**2 - elbows["left"][0] ** 2), 0.0)
    wanted = {"left": "swing*sin(rate*t)", "right": "swing*(1 - cos(rate*t))"}
    for level, side in enumerate(pivots):
        model.body(f"{side} arm", **bar(0.3, pivots[side], elbows[side], width=0.03, level=level))
        model.body(f"{side} rod", **bar(0.2, elbows[side], tool, width=0.02, level=level + 2))
        model.revolute(f"{side} motor", "ground", f"{side} arm", point=pivots[side], axis="z")
        model.revolute(f"{side} elbow", f"{side} arm", f"{side} rod", point=elbows[side], axis="z")
        voltage = pid(
            model, side, f"{wanted[side]} - q('{side} motor')", kp="gain", ki="10*gain", kd="gain/40",
            filter=0.005, limits=24,
        )  # fmt: skip
        dc_motor(
            model, f"{side}_drive", f"{side} motor", voltage=voltage, resistance=1.0, inductance=2e-3, constant=0.05,
            gear=30, inertia=2e-5, damping=1e-5, friction=2e-3,
        )  # fmt: skip
        model.shape(model.ground, "cylinder", radius=0.03, length=0.06, axis="z", pose=(*pivots[side][:2], -0.04))
        model.output(f"{side} error", f"{wanted[side]} - q('{side} motor')", unit="rad")
        model.output(f"{side} current", f"{side}_drive_i", unit="A")
    model.revolute("tool", "left rod", "right rod", point=tool, axis="z")
    model.point("tip", "left rod", tool)
    model.output("tip x", "x(tip)", unit="m")
    model.output("tip y", "y(tip)", unit="m")
    return model
