"""The double pendulum: chaos, energy, and the same motion in two kinds of coordinates."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
model = da.library.double_pendulum()

# Two angles and no constraints, or two free bodies with twelve velocities and ten constraints: one motion.
angles = da.simulate(model, 3.0, coordinates="relative", rtol=1e-11, atol=1e-12)
bodies = da.simulate(model, 3.0, coordinates="absolute", rtol=1e-11, atol=1e-12)
for run in (angles, bodies):
    print(run, run.certificate, sep="\n")
difference = np.abs(angles.data.position - bodies.data.position).max()
print(f"largest distance between the two: {float(difference):.1e} m")
assert difference < 1e-7

# The total energy stays what it was at the start, although the two energies change by many joules.
energy = angles.energy
exchanged = float(np.ptp(energy.kinetic.values))
lost = float(np.abs(energy.balance - energy.balance[0]).max())
print(f"{exchanged:.1f} J exchanged, {lost:.1e} J lost")
assert lost < 1e-8 * exchanged

# Chaos: a start that differs by a nanoradian is far away after twenty seconds.
one = da.simulate(model, 20.0, initial={"shoulder": 2.0})
two = da.simulate(model, 20.0, initial={"shoulder": 2.0 + 1e-9})
apart = np.linalg.norm(one.body("lower").position - two.body("lower").position, axis=1)
print(f"apart after 1 s: {apart[50]:.1e} m, after 20 s: {apart[-1]:.2f} m")
assert apart[50] < 1e-7
assert apart[-100:].max() > 0.1

angles.plot(out / "02_double_pendulum.png")
one.animate(out / "02_double_pendulum.html")
