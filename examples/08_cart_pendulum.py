"""A cart with a pendulum: conserved momentum, and the frequency of small swings."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
M, m, l, g = 2.0, 0.5, 1.0, 9.81

# Nothing pushes along the rail: the common center of mass keeps its speed, however wildly the pole swings.
run = da.simulate(da.library.cart_pendulum(cart_mass=M, pole_mass=m, length=l, angle=2.8, speed=0.2), 5.0)
print(run.certificate)
cart, pole = (run.body(name).position.sel(axis="x").values for name in ("cart", "pole"))
center = (M * cart + m * pole) / (M + m)
momentum = run.output("momentum").values
straight = center[0] + momentum[0] / (M + m) * run.time.values
print(f"momentum {momentum[0]:.4f} kg m/s, kept within {np.ptp(momentum):.1e}")
assert np.ptp(momentum) < 1e-8
assert np.abs(center - straight).max() < 1e-8

# Small swings about the hanging pole: the cart moves against it, so it swings faster than on a fixed hinge.
#     ω² = (m g l/2) / (m l²/3 − (m l/2)²/(M + m))
omega = np.sqrt(m * g * l / 2 / (m * l**2 / 3 - (m * l / 2) ** 2 / (M + m)))
small = da.simulate(da.library.cart_pendulum(cart_mass=M, pole_mass=m, length=l, angle=1e-3), 5.0, atol=1e-13)
angle = small.joint("hinge").q.values
by_hand = 1e-3 * np.cos(omega * small.time.values)
print(f"frequency {omega / 2 / np.pi:.4f} Hz; on a fixed hinge {np.sqrt(1.5 * g / l) / 2 / np.pi:.4f} Hz")
assert np.abs(angle - by_hand).max() < 1e-8

run.plot(out / "08_cart_pendulum.png")
run.animate(out / "08_cart_pendulum.html")
