"""A pendulum from scratch, and the period of a large swing."""

import os
from pathlib import Path

import numpy as np
from scipy.special import ellipk

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

# A slender rod of length l that hangs from a hinge. It is drawn hanging straight down: that is the reference
# configuration, in which all geometry and inertia is given.
model = da.Model("pendulum", gravity=(0, -9.81, 0))
l, m = model.parameters(l=1.0, m=2.0)
rod = model.body("rod", mass=m, com=(0, -l / 2, 0), inertia=(m * l**2 / 12, 0, m * l**2 / 12))
model.shape(rod, "capsule", radius=0.03, length=l, axis="y", pose=(0, -l / 2, 0))
model.revolute("hinge", model.ground, rod, point=(0, 0, 0), axis="z")

# Let it go at 120 degrees.
amplitude = np.radians(120)
run = da.simulate(model, 10.0, initial={"hinge": amplitude}, rtol=1e-11, atol=1e-12)
print(run.certificate)

# From one turning point to the next is half a period; there the rate passes through zero, almost linearly.
angle, rate, t = run.joint("hinge").q.values, run.joint("hinge").u.values, run.time.values
before = np.flatnonzero(rate[:-1] * rate[1:] < 0)
turns = t[before] - rate[before] * (t[before + 1] - t[before]) / (rate[before + 1] - rate[before])
period = 2 * np.mean(np.diff(turns))

# T = 4 √(J/(m g l/2)) K(k),  J = m l²/3,  k = sin(amplitude/2)
exact = 4 * np.sqrt(2 / 3 / 9.81) * ellipk(np.sin(amplitude / 2) ** 2)
print(f"period {period:.6f} s, by the elliptic integral {exact:.6f} s")
assert abs(period - exact) < 1e-5
assert np.isclose(np.abs(angle).max(), amplitude, atol=1e-4)

run.plot(out / "01_pendulum.png")
run.animate(out / "01_pendulum.html")
