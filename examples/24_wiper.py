"""A windshield wiper: sweep and motor torque of two arms on one crank."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
mm, rpm = 1e-3, 2 * np.pi / 60

# Points as on the drawing, in millimeters: motor, end of the crank, and the levers of both arms.
motor, pin = np.array([0, 0, 0]) * mm, np.array([0, 50, 0]) * mm
left, left_pin = np.array([300, -20, 0]) * mm, np.array([300, 80, 0]) * mm
right, right_pin = np.array([750, -20, 0]) * mm, np.array([750, 80, 0]) * mm

model = da.Model("wiper", gravity=(0, -9.81, 0))
model.rod("crank", motor, pin, mass=0.1)
model.rod("link", pin, left_pin, mass=0.2)
model.rod("bar", left_pin, right_pin, mass=0.3)
for side, foot, end in (("left", left, left_pin), ("right", right, right_pin)):
    tip = foot + np.array([-100, 450, 0]) * mm
    model.rod(f"{side} arm", foot, tip, mass=0.4)
    model.point(f"{side} pin", f"{side} arm", end)
    model.revolute(f"{side} pivot", "ground", f"{side} arm", point=foot, axis="z")
model.revolute("motor", "ground", "crank", point=motor, axis="z")
model.revolute("crank pin", "crank", "link", point=pin, axis="z")
model.revolute("link pin", "link", "left arm", point=left_pin, axis="z")
model.revolute("bar left", "bar", "left arm", point=left_pin, axis="z")
model.revolute("bar right", "bar", "right arm", point=right_pin, axis="z")
model.drive("motor", 45 * rpm * model.t)

run = da.simulate(model, 2 * 60 / 45)  # two turns
print(run.certificate)
assert run.certificate.trusted

# The arms turn back where crank and link are in line, l ± r apart; the law of cosines gives both angles at the pivot.
r, l, c, d = (float(np.linalg.norm(v)) for v in (pin - motor, left_pin - pin, left_pin - left, left - motor))
ends = [np.arccos((c**2 + d**2 - s**2) / (2 * c * d)) for s in (l - r, l + r)]
by_hand = np.degrees(ends[1] - ends[0])
angle = np.degrees(run.joint("left pivot").q)
sweep = float(angle.max() - angle.min())
print(f"the arms sweep {sweep:.2f}°, by hand {by_hand:.2f}°")
assert abs(sweep - by_hand) < 0.01
assert np.allclose(run.joint("left pivot").q, run.joint("right pivot").q, atol=1e-9)  # a parallelogram

torque = run.reaction("motor drive")
print(f"the motor must give up to {float(abs(torque).max()):.2f} N m")

run.plot(out / "24_wiper.png")
run.animate(out / "24_wiper.html")
