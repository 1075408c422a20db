"""The heavy top: steady precession, and the nutation of a top that is just let go."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
m, r, t, h, g = 0.5, 0.1, 0.02, 0.15, 9.81
tilt, spin = 0.4, 150.0
C = m * r**2 / 2  # about the stem
A = m * (3 * r**2 + t**2) / 12 + m * h**2  # across it, about the tip

# Steady precession at rate Ω and constant tilt θ, with spin n about the stem (in addition to Ω cos θ):
#     (A − C) Ω² cos θ − C n Ω + m g h = 0
# The slow root is the one that is seen; for a fast top it is close to  m g h / (C n).
slow = min(np.roots([(A - C) * np.cos(tilt), -C * spin, m * g * h]).real, key=abs)
print(f"precession {slow:.5f} rad/s; for a fast top {m * g * h / (C * spin):.5f} rad/s")

steady = da.simulate(da.library.spinning_top(tilt=tilt, spin=spin, precession=slow), 2.0)
print(steady.certificate)
x, y, z = steady.body("top").position.values.T
measured = np.polyfit(steady.time.values, np.unwrap(np.arctan2(y, x)), 1)[0]
print(f"simulated  {measured:.5f} rad/s, tilt constant within {np.ptp(np.arccos(z / h)):.1e} rad")
assert abs(measured - slow) < 1e-7
assert np.ptp(np.arccos(z / h)) < 1e-7

# Let go with spin but no precession, the top nods down and up again while it circles. Two things never
# change: the spin about its own axis and the angular momentum about the vertical.
run = da.simulate(da.library.spinning_top(tilt=tilt, spin=spin), 4.0)
axis = run.body("top").position.values / h
omega = run.body("top").angular_velocity.values
own_spin = np.sum(omega * axis, axis=1)
vertical = A * omega[:, 2] + (C - A) * own_spin * axis[:, 2]
print(f"spin kept within {np.ptp(own_spin):.1e} rad/s, momentum within {np.ptp(vertical):.1e} kg m²/s")
assert np.ptp(own_spin) < 1e-8 * spin
assert np.ptp(vertical) < 1e-8 * C * spin

# It nods down to where the precession has taken up all the energy of the drop:
#     sin² θ = 2 k (cos θ₀ − cos θ),   2 k = (C n)²/(2 A m g h)
theta = np.arccos(axis[:, 2])
k = (C * spin) ** 2 / (4 * A * m * g * h)
lowest = np.arccos(k - np.sqrt(k**2 - 2 * k * np.cos(tilt) + 1))
print(f"nods from {tilt} to {theta.max():.5f} rad, by hand {lowest:.5f} rad")
assert abs(theta.max() - lowest) < 1e-4

run.plot(out / "05_spinning_top.png")
run.animate(out / "05_spinning_top.html")
