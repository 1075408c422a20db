"""A satellite unfolds its panels while its angular momentum is held: Euler's method without and with the constraint.

A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems", Strojarstvo 51
(2009) 597-612, sec. 5.4.1, fig. 5: a plane model based on INTELSAT V, a main body and two wings of four parts each,
without gravity. Angular momentum about the mass center is conserved; Euler's method with a step of 0.01 s loses it,
unless its conservation is imposed as a nonholonomic constraint and states are led back onto it. The text gives no data:
masses, lengths and springs are assumed here, so that sizes can be compared, not digits.
"""

import os
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

MAIN, SIZE, YOKE, PANEL, LENGTH = 850.0, 1.7, 6.0, 16.0, 1.6  # kg, m
STIFFNESS, DAMPING = 1.5, 0.8  # N m/rad, N m s/rad
PARTS = ["main", *(f"{side} {part}" for side in ("left", "right") for part in ("yoke", "inner", "middle", "outer"))]


def satellite(conserved: float | None = None) -> da.Model:
    """Wings fold out along ±x from the sides of the main body; with its angular momentum imposed if it is given."""
    model = da.Model("satellite", gravity=(0, 0, 0))
    model.body("main", mass=MAIN, pose=(0, 0, 0), com=(0, 0, 0), inertia=(400, 400, MAIN * SIZE**2 / 6))
    model.shape("main", "box", size=(SIZE, SIZE, SIZE))
    model.planar("orbit", model.ground, "main", point=(0, 0, 0), axis="z")
    for side, sign in (("left", -1), ("right", 1)):
        before, x = "main", sign * SIZE / 2
        for k, part in enumerate(("yoke", "inner", "middle", "outer")):
            name, mass, joint = f"{side} {part}", YOKE if part == "yoke" else PANEL, f"{side} hinge {k}"
            center = (x + sign * LENGTH / 2, 0, 0)
            model.body(
                name, mass=mass, pose=center, com=center, inertia=(0.1, mass * LENGTH**2 / 12, mass * LENGTH**2 / 12)
            )
            model.shape(name, "box", size=(LENGTH, 0.05, 1.4), pose=center)
            model.revolute(joint, before, name, point=(x, 0, 0), axis="z")
            # Folded like an accordion at the start; springs lead to the straight wing. The two sides differ a little.
            folded = 1.4 if k == 0 else 2.8 * (-1) ** k
            model.initial(joint, sign * folded * (1 if sign > 0 else 0.9))
            model.joint_force(f"spring {joint}", joint, f"-{STIFFNESS}*q('{joint}') - {DAMPING}*u('{joint}')")
            before, x = name, x + sign * LENGTH
    model.initial("orbit", rate=(0, 0, 0.02))
    momentum = " + ".join(_share(name) for name in PARTS)
    model.output("angular momentum", momentum, unit="kg m²/s")
    if conserved is not None:
        model.constraint("momentum", f"({momentum} - {conserved!r})/{MAIN}", level="velocity")
    return model


def _share(name: str) -> str:
    """J ω + m (x ẏ − y ẋ) of one part, about the origin of the world, for which conservation holds as well."""
    mass = {"main": MAIN}.get(name, YOKE if name.endswith("yoke") else PANEL)
    inertia = MAIN * SIZE**2 / 6 if name == "main" else mass * LENGTH**2 / 12
    n = f"'{name}'"
    return f"{inertia!r}*wz({n}) + {mass!r}*(x({n})*vy({n}) - y({n})*vx({n}))"


reference = da.simulate(satellite(), 10.0, rtol=1e-12, atol=1e-13, output_step=0.01)
kept = reference.output("angular momentum").values
print(f"reference: angular momentum {kept[0]:.6f} kg m²/s, off by at most {np.abs(kept - kept[0]).max():.1e}")
assert np.abs(kept - kept[0]).max() < 1.6e-9 * abs(kept[0])  # the text: 1.6e-9 kg m²/s

euler = {"integrator": "euler", "step": 0.01, "output_step": 0.01, "certify": False}
plain = da.simulate(satellite(), 10.0, **euler).output("angular momentum").values - kept[0]
held = da.simulate(satellite(float(kept[0])), 10.0, **euler)
held_error = held.output("angular momentum").values - kept[0]
print(f"Euler, 0.01 s: off by {np.abs(plain).max():.2e}; with the constraint by {np.abs(held_error).max():.1e}")
assert np.abs(held_error).max() < 1e-9 * np.abs(plain).max()
assert np.abs(plain).max() > 1e-2 * abs(kept[0])

figure, axes = plt.subplots(figsize=(7, 4))
axes.plot(reference.time, plain, label="Euler, 0.01 s")
axes.plot(reference.time, held_error, label="led back onto conserved momentum")
axes.set(xlabel="time (s)", ylabel="error of the angular momentum (kg m²/s)", title="fig. 5 of the text, redrawn")
axes.legend()
figure.savefig(out / "21_satellite_panels.png", dpi=130)
reference.animate(out / "21_satellite_panels.html")
