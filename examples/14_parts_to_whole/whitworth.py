"""Whitworth's quick-return mechanism by its nodes: the torque that turns the crank at a constant rate.

Four bodies, a slide, four pins, a pin in a slot; one freedom. The node model has 12 velocities and 11 invariants.
Torque and motion come twice: by nodes, where C has 1 in the row of the input and u = −Cᵀ f* (Theorem 4.3), and by joint
coordinates.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), section 5.3.1,
figures 5.11 to 5.14, redrawn here.
"""

import os
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.view import Plot, plot_series, write_figure

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

w = da.library.whitworth()
motion = {"crank.angle": "pi/2*t"}
found = da.inverse_dynamics(w, motion, 16.0, unknowns=["u1"], output_step=0.02)
time = found.time.values
speed, rocker, torque = (w.values(found, "guide.speed"), w.values(found, "rocker.omega"), found["u1"].values)
print(f"slider {speed.min():.3f} … {speed.max():.3f} m/s, rocker {rocker.min():.3f} … {rocker.max():.3f} rad/s")
print(f"torque {torque.min():.3f} … {torque.max():.3f} N m")

# Where crank and rocker are in line the rocker turns with ω r/(d + r), half a turn later with −ω r/(d − r).
r, d, omega = np.sqrt(0.02), 0.3, np.pi / 2
assert abs(rocker.max() - omega * r / (d + r)) < 1e-6 and abs(rocker.min() + omega * r / (d - r)) < 1e-6
# Over a turn the torque gives as much as it takes.
assert abs(np.trapezoid(torque[:201] * omega, time[:201])) < 1e-9
# The quick return asks for the peaks of torque: the slider is fastest between them.
assert time[:201][torque[:201].argmax()] < time[:201][speed[:201].argmax()] < time[:201][torque[:201].argmin()]

nodes = da.inverse_dynamics(w.to_subsystem(quantities=motion), motion, time[::20])
off = abs(nodes["u1"].values - torque[::20]).max()
print(f"by nodes: the same torque within {off:.1e} N m")
assert off < 1e-11 and nodes.certificate.trusted

panels = [
    Plot("Slider", "m/s", {"speed": speed}),
    Plot("Rocker", "rad/s", {"angular velocity": rocker}),
    Plot("Crank", "N m", {"u1": torque}),
]
write_figure(plot_series(time, panels, title="Whitworth mechanism, crank at π/2 rad/s"), OUT / "whitworth.png")
w.draw(OUT / "whitworth_drawing.png", at=found, time=2.3, paths=["rocker.tip", "crank.pin"], ghosts=6)
found.animate(OUT / "whitworth.html")
