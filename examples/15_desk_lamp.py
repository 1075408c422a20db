"""A desk lamp: where its springs let it rest, which springs it needs, and how it gets there."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))

# Two parallelograms keep the shade level. Each arm hangs on a spring of stiffness k between points a above its pivot
# and b along the arm; W is the moment of the weight that it carries.
lamp = da.library.desk_lamp()
found = da.equilibrium(lamp)
rest = found[0]
print(found)
assert rest.stable

# By hand the spring is  l = l₀ / (1 − W/(k a b))  long.
k, a, b, free = 1150.0, 0.06, 0.12, 0.04
W = (0.15 / 2 + 0.10 / 2 + 0.10 + 0.15 + 0.10 + 0.5) * 9.81 * 0.4
length = free / (1 - W / (k * a * b))
print(f"the lower spring pulls with {rest.preload('lower spring'):.6f} N, by hand {k * (length - free):.6f} N")
assert abs(rest.preload("lower spring") - k * (length - free)) < 1e-9

# The ground carries all of it: two hinges and the spring.
weight = 9.81 * (0.15 + 0.10 + 0.10 + 0.15 + 0.10 + 0.5)
arm = np.array([-b * np.sin(np.pi / 6), b * np.cos(np.pi / 6) - a])
up = sum(float(rest.reaction(name).sel(kind="force", axis="y")) for name in ("shoulder", "shoulder rod"))
pull = rest.preload("lower spring") * -arm[1] / np.linalg.norm(arm)
print(f"hinges push up with {up:.4f} N, the spring with {pull:.4f} N, the lamp weighs {weight:.4f} N")
assert abs(up + pull - weight) < 1e-3  # the angle of the drawing is that of rest but for 8e-6 rad

# Which springs would hold it elsewhere?
there = da.equilibrium(
    lamp, {"shoulder": 0.15, "elbow high": 0.2}, hold=["shoulder", "elbow high"],
    unknowns=["stiffness_1", "stiffness_2"],
)[0]  # fmt: skip
print({name: round(value, 2) for name, value in there.parameters.items()})

# Let go from its start, it swings and comes to rest there.
run = da.simulate(lamp, 30.0, output_step=0.02)
print(run.certificate)
assert run.certificate.trusted
last = run.joint("shoulder").q.values[-1]
assert abs(last - rest.joint("shoulder")[0]) < 0.02

found.plot(out / "15_desk_lamp.png")
run.animate(out / "15_desk_lamp.html")
