"""A scissor lift raised by a hydraulic cylinder: the force by virtual work, and what the oil does at the start."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
arm, angle = 1.0, np.radians(25)
w, h = arm * np.cos(angle), arm * np.sin(angle)
base, top, crossing = (0, 0, 0), (w, 0, h), (w / 2, 0, h / 2)

model = da.Model("scissor lift", gravity=(0, 0, -9.81))
model.rod("arm 1", base, top, mass=8, radius=0.02)
model.rod("arm 2", (w, 0, 0), (0, 0, h), mass=8, radius=0.02)
model.box("table", (w / 2, 0, h + 0.025), (1.1, 0.6, 0.05), mass=120)  # with its load
model.revolute("foot", "ground", "arm 1", point=base, axis="y")
model.revolute("crossing", "arm 1", "arm 2", point=crossing, axis="y")
model.point_on_line("lower roller", "ground", "arm 2", point=(w, 0, 0), axis="x")
model.revolute("table hinge", "arm 2", "table", point=(0, 0, h), axis="y")
model.point_on_line("upper roller", "table", "arm 1", point=top, axis="x")

# The cylinder stands on the floor and pushes at 60 % of arm 1. Its pressures begin where it carries the load.
A1, A2 = 30e-4, 20e-4  # m², of the piston and beside the rod
low, eye = np.array([0.6 * w, 0, -0.2]), 0.6 * np.array([w, 0, h])
along = (eye - low) / np.linalg.norm(eye - low)
per_angle = 0.6 * arm * along @ [-np.sin(angle), 0, np.cos(angle)]  # dl/dα; the table rises by arm cos α dα
force = (120 + 8 / 2 + 8 / 2) * 9.81 * arm * np.cos(angle) / per_angle
p2 = 1e5
p1 = (force + p2 * A2) / A1
model.input("valve", "0.3*(1 - exp(-t/0.3))")
ram = da.parts.cylinder(
    model, "ram", "ground", "arm 1", at=(low, eye), valve="valve", areas=(A1, A2), start=p2, volume=3e-4
)  # fmt: skip
print(f"force of the cylinder at the start {force:.0f} N, pressure {p1 / 1e5:.1f} bar, by virtual work")

run = da.simulate(model, 4.0, initial={"ram_p1": p1}, integrator="radau")
print(run.certificate)
assert run.certificate.trusted

# With the valve closed the lift stays where it is: the force by virtual work carries it.
closed = da.simulate(model, 1.0, initial={"ram_p1": p1}, inputs={"valve": 0}, integrator="radau")
print(f"valve closed: it moves by {float(abs(closed.joint('foot').q).max()):.1e} rad")
assert abs(closed.joint("foot").q).max() < 1e-9
push = run.output("3e-3*ram_p1 - 2e-3*ram_p2")  # A₁ p₁ − A₂ p₂ over time
print(f"force of the cylinder from {float(push[0]):.0f} to {float(push[-1]):.0f} N")

height = run.output("z(table)")
print(f"the table rises from {float(height[0]):.3f} to {float(height[-1]):.3f} m")
assert height[-1] > height[0] + 0.05

run.plot(out / "23_scissor_lift.png")
run.animate(out / "23_scissor_lift.html")
