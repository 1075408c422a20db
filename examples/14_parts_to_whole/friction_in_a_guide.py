"""Friction in a guide: the torque at the crank of a spatial slider-crank whose slider rubs.

The slider shall move to and fro, s(t) = −(1 − γ) l₂ (1 + 8 sin² 2πt)/10. Its guide pushes it across with Y and Z, and
friction −μ sign(v) √(Y² + Z²) depends on these constraint forces, which depend on friction: a loop that is solved, not
iterated. Where the slider turns, friction changes its sign and the torque jumps.

Reference: R. M. M. Orsino, thesis (2016), example 4.5.
"""

import os
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.view import Plot, plot_series, write_figure

LAW = "-(1 - gamma)*l2*(1 + 8*sin(2*pi*t)**2)/10"
UNKNOWNS = ["u1", "Y", "Z"]
OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

slider = da.library.slider_crank_3d_modular()
rough, smooth = (
    da.inverse_dynamics(slider, {"slider.s": LAW}, 0.5, unknowns=UNKNOWNS, parameters={"mu": mu}) for mu in (0.5, 0.0)
)
print(rough.certificate)
assert rough.certificate.trusted and smooth.certificate.trusted

# The jump where the slider turns, at a quarter of a second.
(turn,) = rough.events
print(f"at t = {turn.time:g} s the torque jumps from {turn.before['u1']:.3f} to {turn.after['u1']:.3f} N m")
assert abs(turn.time - 0.25) < 1e-9
assert abs(turn.before["u1"] + 49.285) < 5e-4 and abs(turn.after["u1"] + 58.418) < 5e-4

# Power: what the motor gives is kinetic energy, or lost in the guide. Over the period nothing stays in the energy.
t, v = rough.values("time"), rough.values("slider.s.d")
lost = 0.5 * np.abs(v) * np.hypot(rough.values("Y"), rough.values("Z"))
given = rough.power.sel(unknown="u1").values
print(f"work of the motor {np.trapezoid(given, t):.4f} J, lost in the guide {np.trapezoid(lost, t):.4f} J")
assert abs(np.trapezoid(given - lost, t)) < 2e-3 * np.trapezoid(lost, t)

# More friction: from μ|∂N/∂x| = 1 on Coulomb's law has no solution any more, or two.
jammed = da.inverse_dynamics(slider, {"slider.s": LAW}, 0.5, unknowns=UNKNOWNS, parameters={"mu": 1.2})
print(jammed.certificate)
assert not jammed.unique.all() and jammed.unique.any() and not jammed.certificate.trusted

plots = [
    Plot("Torque at the crank", "N m", {"μ = 0.5": rough.values("u1"), "μ = 0": smooth.values("u1")}),
    Plot("Forces of the guide, μ = 0.5", "N", {"Y": rough.values("Y"), "Z": rough.values("Z")}),
    Plot("Power, μ = 0.5", "W", {"motor": given, "lost in the guide": lost}),
    Plot("How close to jamming", "μ |∂N/∂x|", {"μ = 0.5": rough.friction, "μ = 1.2": jammed.friction}),
]
figure = plot_series(t, plots, title="Friction in a guide", marks=[turn.time], note="thin line: the slider turns")
print("wrote", write_figure(figure, OUT / "friction-in-a-guide.png"))
