"""A 3-RRR parallel mechanism by its nodes: torques of the three cranks for a given motion of the platform.

Flat it has 24 velocities and 21 invariants. As a tree each leg is a part that is derived by itself, and the platform is
pinned to the legs by external invariants (Theorem 2.10): the accelerations are the same.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), section 5.3.2,
figures 5.16 to 5.23, redrawn here. The angle is (π/6) sin⁴(πt/4), as figures and listing have it; the text prints sin.
"""

import os
from pathlib import Path

import dalembert as da
from dalembert.view import Plot, plot_series, write_figure

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

w = da.library.three_rrr()
motion = {
    "platform.center.x": "-sin(pi*t/2)",
    "platform.center.y": "sin(pi*t/4)",
    "platform.angle": "pi/6*sin(pi*t/4)**4",
}
found = da.inverse_dynamics(w, motion, 16.0, output_step=0.02)
torques = {name: found[name].values for name in ("u1", "u2", "u3")}
for name, values in torques.items():
    print(f"{name} from {values.min():.2f} to {values.max():.2f} N m")

# The torques only lend energy: over a period of the motion they do no work.
balance = found.energy
assert float(abs(balance.kinetic[-1] - balance.kinetic[0])) < 1e-9
assert abs(float(balance.work[-1])) < 1e-4

by_nodes = da.inverse_dynamics(w.to_subsystem(quantities=motion), motion, found.time.values[::40])
off = max(abs(by_nodes[name].values - values[::40]).max() for name, values in torques.items())
print(f"by nodes: the same torques within {off:.1e} N m")
assert off < 1e-10

legs = {f"leg{i}": [f"crank{i}", f"coupler{i}"] for i in "123"}
tree = w.to_subsystem(groups={"top": ["platform"], **legs}).equations()
print(f"as a tree: {len(tree.nodes)} subsystems, {tree.degrees_of_freedom} degrees of freedom")
assert tree.degrees_of_freedom == w.equations().degrees_of_freedom == 3

pin = {axis: w.values(found, f"platform.P1.{axis}") for axis in "xy"}
panels = [
    Plot("First pin of the platform", "m", pin),
    Plot("Third crank", "rad/s", {"angular velocity": w.values(found, "crank3.omega")}),
    Plot("Cranks", "N m", torques),
]
write_figure(plot_series(found.time.values, panels, title="3-RRR mechanism"), OUT / "three_rrr.png")
w.draw(OUT / "three_rrr_drawing.png", at=found, time=0.0, paths=["platform.center", "coupler1.top"])
found.animate(OUT / "three_rrr.html")
