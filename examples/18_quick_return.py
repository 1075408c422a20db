"""Kinematics of Whitworth's quick-return mechanism: slow stroke, quick return, accelerations and jerks."""

import math
import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
mechanism = da.library.whitworth()
period = 4.0
motion = da.kinematics(mechanism, period, {"crank.angle": "pi/2*t"})
print(motion)
assert motion.certificate.trusted

# The slider turns back where the slotted rocker touches the circle of the pin: the crank is normal to the rocker there.
back = [event.time for event in motion.dead_points if event.joint == "guide"]
quick = back[1] - back[0]
r, h = math.hypot(0.1, 0.1), 0.3  # of the crank, and of its bearing above that of the rocker
by_hand = period * 2 * math.acos(r / h) / (2 * math.pi)
print(f"return in {quick:.9f} s, by hand {by_hand:.9f} s; time ratio {(period - quick) / quick:.4f}")
assert abs(quick - by_hand) < 1e-9

# Rates are derivatives, not differences: over one turn each of them has the mean zero.
slider = motion.joint("guide")
t = motion.time.values
for name, part in (("velocity", slider.velocity), ("acceleration", slider.acceleration), ("jerk", slider.jerk)):
    print(f"largest {name:<12} {np.abs(part.values).max():.4f} {part.attrs['units']}")
    assert abs(np.trapezoid(part.values, t)) < 1e-4

# What a torque of 1 N m at the crank holds at the slider, without friction: least on the quick return.
force = np.abs(motion.force_ratio("guide").values)
print(f"least force for 1 N m: {force.min():.3f} N at t = {t[force.argmin()]:.2f} s")
assert back[0] < t[force.argmin()] < back[1]

motion.plot(out / "18_quick_return.png", joints="guide")
motion.animate(out / "18_quick_return.html")
