"""Double wishbones: how a wheel leans and shifts over its travel, checked by the point about which it turns."""

import os
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.library import parts

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))


def suspension(upper_inner):
    """One corner, seen from the front: y to the outside, z up."""
    model = da.Model("double wishbones", gravity=(0, 0, -9.81))
    lower, upper = [(0, 0.20, 0.15), (0, 0.60, 0.15)], [upper_inner, (0, 0.56, 0.40)]
    model.body("lower arm", **parts.bar(4.0, *lower, width=0.04))
    model.body("upper arm", **parts.bar(3.0, *upper, width=0.04))
    model.body("upright", **parts.bar(12.0, lower[1], upper[1], width=0.05))
    model.revolute("lower inner", model.ground, "lower arm", point=lower[0], axis="x")
    model.revolute("upper inner", model.ground, "upper arm", point=upper[0], axis="x")
    model.revolute("lower ball", "lower arm", "upright", point=lower[1], axis="x")
    model.revolute("upper ball", "upper arm", "upright", point=upper[1], axis="x")
    return model


# The wheel's center is driven up and down; everything else follows.
wheel = ("upright", (0, 0.62, 0.28))
travel = {wheel: [None, None, "0.28 + 0.08*sin(pi*t)"]}
model = suspension((0, 0.28, 0.38))
motion = da.kinematics(model, 2.0, travel)
print(motion.certificate)
assert motion.certificate.trusted

camber = np.degrees(motion.joint("lower inner").position + motion.joint("lower ball").position).values
height = motion.path(*wheel).values[:, 2] - 0.28
track = motion.path(*wheel).values[:, 1] - 0.62
gain = np.polyfit(height, camber, 1)[0]
print(f"camber changes by {gain / 100:.4f}° for each cm, half track by up to {1000 * np.abs(track).max():.2f} mm")
assert np.ptp(height) > 0.159

# Near the middle the upright turns about the point where the lines of the arms meet.
s = np.array([[0.40, 0.0], [0.28, 0.02]]).T  # directions of the arms: lower, upper
crossing = np.linalg.solve(np.array([[0.40, -0.28], [0.0, -0.02]]), np.array([0.28 - 0.20, 0.38 - 0.15]))
center = np.array([0.20, 0.15]) + crossing[0] * s[:, 0]
per_meter = np.degrees(1.0 / (0.62 - center[0]))
middle = np.abs(height) < 0.002
slope = np.polyfit(height[middle], camber[middle], 1)[0]
print(f"rate of camber in the middle {slope:.4f} °/m, by the instant center {per_meter:.4f} °/m")
assert abs(slope - per_meter) < 1e-2 * abs(per_meter)

# Parallel arms of equal length hold the wheel upright at any height.
level = da.kinematics(suspension((0, 0.16, 0.40)), 2.0, travel)
lean = level.joint("lower inner").position + level.joint("lower ball").position
assert np.abs(lean).max() < 1e-9

motion.draw(out / "19_wishbones.png", paths=[wheel, ("upright", (0, 0.60, 0.15))])
motion.animate(out / "19_wishbones.html")
