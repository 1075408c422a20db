"""A motor-driven four-bar linkage: how far the rocker swings, and what the motor must supply."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
a, b, c, d = 0.3, 0.9, 0.7, 0.9  # crank, coupler, rocker, base
assert a + max(b, c, d) < b + c + d - max(b, c, d), "Grashof: the crank can turn all the way round"

model = da.library.crank_rocker(crank=a, coupler=b, rocker=c, base=d)
run = da.simulate(model, 2.0, output_step=0.0005, rtol=1e-10, atol=1e-12)
print(run.certificate)

# The rocker turns back where crank and coupler lie in one line: A, C and D form a triangle with AC = b ± a.
# The angle at D between the rocker and the base, from the law of cosines:
limits = [np.arccos((c**2 + d**2 - (b + s * a) ** 2) / (2 * c * d)) for s in (-1, 1)]
by_hand = limits[1] - limits[0]
rocker = run.joint("D").q.values
swing = np.ptp(rocker)
print(f"the rocker swings {np.degrees(swing):.4f}°, by hand {np.degrees(by_hand):.4f}°")
assert abs(swing - by_hand) < 1e-5

# The motor's torque times its speed is the rate of the energy, and over a whole turn it does no work.
t, speed = run.time.values, model.parameter_values["speed"]
power = run.reaction("motor").values * speed
energy = (run.energy.kinetic + run.energy.potential).values
rate = np.gradient(energy, t, edge_order=2)
work = np.trapezoid(power[t <= 1], t[t <= 1])
print(f"largest power {np.abs(power).max():.2f} W, work of one turn {work:.1e} J")
assert np.abs(power - rate).max() < 1e-4 * np.abs(power).max()
assert abs(work) < 1e-5

run.plot(out / "03_crank_rocker.png")
run.animate(out / "03_crank_rocker.html")
