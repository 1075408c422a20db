"""Tolerances of a four-bar: a Latin hypercube of lengths, and what they do to the rocker's swing."""

import os
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.view import write_figure
from dalembert.view.sweep_plots import sweep_figure

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

# Lengths with a standard deviation of half a millimeter, motor off: the linkage coasts for one second.
model = da.compile(da.library.four_bar(speed=14.0))
mean = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8, "base": 1.0}
design = da.Design.latin({name: ("normal", value, 0.5e-3) for name, value in mean.items()}, 200, seed=1)
outputs = {"swing (rad)": "range: D", "angle of the rocker (rad)": "D", "fastest crank (rad/s)": "max: A.d"}
data = da.sweep(model, design, 1.0, outputs=outputs, rtol=1e-8, output_step=0.002)
assert data.attrs["failed"] == 0
swing = data["swing (rad)"]
print(f"swing {float(swing.mean()):.5f} rad, deviation {float(swing.std()):.6f} rad")

# By hand the rocker turns back where crank and coupler lie in one line: its angle at D by the law of cosines.
a, b, c, d = (data[name].values for name in mean)


def corner(side):
    return np.arccos((c**2 + d**2 - side**2) / (2 * c * d))


exact = corner(b + a) - corner(b - a)
print(f"largest difference to the law of cosines: {np.abs(swing.values - exact).max():.2e} rad")
assert np.abs(swing.values - exact).max() < 2e-4  # outputs do not fall on the turning point itself

# To first order the deviation is that of the four lengths, each by its own slope.
slopes = [np.polyfit(data[name].values - mean[name], exact, 1)[0] for name in mean]
assert abs(np.std(exact) / np.sqrt(np.sum((np.array(slopes) * 0.5e-3) ** 2)) - 1) < 0.1

write_figure(sweep_figure(data, ["crank"]), out / "16_tolerances.png")
da.simulate(model, 1.0).animate(out / "16_tolerances.html")
