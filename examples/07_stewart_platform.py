"""A Stewart platform: the weight on its legs, and legs that move it where we want it."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
model = da.library.stewart_platform()
mass = {body.name: 2.5 for body in model.bodies} | {"platform": 50.0}
weight = 9.81 * sum(mass.values())

# Standing still: the six feet carry the weight, each the same by symmetry, and push outwards in balance.
still = da.simulate(model, 0.1, parameters={"travel": 0.0, "turn": 0.0})
feet = np.array([still.reaction(f"foot_{i}").sel(kind="force").values[-1] for i in range(1, 7)])
print(f"force on the feet {feet.sum(axis=0).round(6)} N, weight {weight:.2f} N")
assert np.allclose(feet.sum(axis=0), [0, 0, weight], atol=1e-6)
assert np.allclose(feet[:, 2], weight / 6, atol=1e-6)

# Moving: the drives were given by inverse kinematics, so the platform must follow the wanted path.
run = da.simulate(model, 4.0, output_step=0.002)
print(run.certificate)
t, travel, rate = run.time.values, model.parameter_values["travel"], model.parameter_values["rate"]
wanted = np.stack(
    [
        travel * np.sin(rate * t),
        travel * (1 - np.cos(rate * t)),
        model.parameter_values["height"] + travel / 2 * np.sin(2 * rate * t),
    ],
    axis=1,
)
error = np.abs(run.body("platform").position.values - wanted).max()
print(f"the platform follows its path within {error:.1e} m")
assert error < 1e-9

# Newton's second law for everything together: force on the feet, less the weight, is the rate of momentum.
feet = np.sum([run.reaction(f"foot_{i}").sel(kind="force").values for i in range(1, 7)], axis=0)
momentum = sum(mass[name] * run.body(name).velocity.values for name in mass)
law = np.gradient(momentum, t, axis=0, edge_order=2) - (feet - [0, 0, weight])
print(f"Newton's law holds within {np.abs(law).max():.1e} N of {np.abs(feet).max():.0f} N")
assert np.abs(law).max() < 1e-2

run.plot(out / "07_stewart_platform.png")
run.animate(out / "07_stewart_platform.html")
