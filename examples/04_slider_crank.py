"""An engine at constant speed: motion of the piston and force on its pin, by hand."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
a, l, m, omega = 0.1, 0.3, 0.8, 20.0  # crank, rod, piston mass, rad/s

model = da.library.slider_crank(crank=a, rod=l, piston_mass=m)
model.drive("main_bearing", "20*t", name="motor")
model.initial("main_bearing", 0, rate=omega)
run = da.simulate(model, 1.0, rtol=1e-11, atol=1e-12)
print(run.certificate)

# x = a cos θ + w,  w = √(l² − a² sin² θ),  and its derivatives at constant speed
theta = omega * run.time.values
sine, cosine = np.sin(theta), np.cos(theta)
w = np.sqrt(l**2 - (a * sine) ** 2)
x = a * cosine + w
v = -omega * a * sine * (1 + a * cosine / w)
acceleration = -(omega**2) * a * (cosine + a * (cosine**2 - sine**2) / w + a**3 * (sine * cosine) ** 2 / w**3)

piston = run.body("piston")
assert np.abs(piston.position.sel(axis="x") - x).max() < 1e-9
assert np.abs(piston.velocity.sel(axis="x") - v).max() < 1e-8

# Along the cylinder only the pin pushes the piston:  F = m a.
force = run.reaction("wrist_pin").sel(kind="force", axis="x").values
print(f"largest pin force {np.abs(force).max():.3f} N, by hand {np.abs(m * acceleration).max():.3f} N")
assert np.abs(force - m * acceleration).max() < 1e-6

run.plot(out / "04_slider_crank.png")
run.animate(out / "04_slider_crank.html")
