"""A trailing-arm suspension from scratch: spring, damper, a model file, and where it comes to rest."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

# An arm is hinged to the car and carries a wheel at its end. A strut stands on the middle of the arm.
model = da.Model("suspension", gravity=(0, -9.81, 0))
l, m, k, c = model.parameters(arm=0.5, wheel_mass=20.0, stiffness=40e3, damping=500.0)
moment = m * 0.3**2 / 2
wheel = model.body("wheel", mass=m, com=(l, 0, 0), inertia=(moment / 2, moment / 2, moment))
model.shape(wheel, "torus", radius=0.24, tube=0.06, axis="z", pose=(l, 0, 0.12), color="#444c56")
model.shape(wheel, "cylinder", radius=0.18, length=0.06, axis="z", pose=(l, 0, 0.12))
model.shape(wheel, "capsule", radius=0.03, length=l, axis="x", pose=(l / 2, 0, 0))
model.shape(model.ground, "box", size=(0.4, 0.04, 0.2), pose=(l / 2, 0.42, 0))
model.revolute("hinge", model.ground, wheel, point=(0, 0, 0), axis="z")
model.spring("strut", model.ground, wheel, at=((l / 2, 0.4, 0), (l / 2, 0, 0)), stiffness=k, damping=c)
model.output("travel", "y(wheel)", unit="m")

# A model is data: write it to a file, read it back.
da.write(model, out / "09_suspension.yaml")
model = da.read(out / "09_suspension.yaml")

# The car is lifted: the wheel hangs down and comes to rest.
run = da.simulate(model, 3.0)
print(run.certificate)

# At rest the strut's pull balances the weight about the hinge:  F l/2 = m g l  (small angles), so F = 2 m g.
F = 2 * 20 * 9.81
angle = run.joint("hinge").q.values
sag = F / 40e3 / 0.25  # stretch over lever arm
print(f"comes to rest at {angle[-1]:.6f} rad, by hand {-sag:.6f} rad")
assert abs(angle[-1] + sag) < 5e-4

# Small oscillations:  J φ̈ + c b² φ̇ + k b² φ = 0,  b = l/2,  J = m l² + moment.  The strut's lever arm and the
# weight's change with the angle are left out by hand, hence the loose tolerance.
J, b = 20 * 0.25 + 0.9, 0.25
decay, frequency = 500 * b**2 / (2 * J), np.sqrt(40e3 * b**2 / J - (500 * b**2 / (2 * J)) ** 2)
t, swing = run.time.values, angle - angle[-1]
peaks = [i for i in range(1, len(t) - 1) if swing[i] > swing[i - 1] and swing[i] > swing[i + 1] and t[i] < 1.5]
measured = -np.polyfit(t[peaks], np.log(swing[peaks]), 1)[0]
period = np.mean(np.diff(t[peaks]))
print(f"decay {measured:.3f} 1/s, by hand {decay:.3f} 1/s")
print(f"period {period:.4f} s, by hand {2 * np.pi / frequency:.4f} s")
assert abs(measured / decay - 1) < 0.02
assert abs(period * frequency / (2 * np.pi) - 1) < 0.02

# What the damper took is exactly what the energies lost.
assert run.certificate["energy balance"] < 1e-6

run.plot(out / "09_suspension.png")
run.animate(out / "09_suspension.html")
