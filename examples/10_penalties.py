"""Penalties and turns of the augmented Lagrangian: the table of a textbook beside our own numbers.

J. García de Jalón, E. Bayo, "Kinematic and Dynamic Simulation of Multibody Systems", table 5.1: largest constraint
errors of a double pendulum, two elements of unit mass and length, in four natural coordinates with two constraints,
Ω = 10, μ = 1, integrated by Gear's method with a tolerance of 1e-4. What the text leaves open is assumed here: the
masses sit at the moving ends, the pendulum starts at rest and horizontal and swings for 5 s. Gear's code bounds another
norm of the error than ours; a tolerance of 1e-5 gives a floor of the same order.
"""

import os
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
PUBLISHED = {
    1e1: (0.7e-1, 0.7e-2, 0.9e-3),
    1e3: (0.7e-3, 0.6e-5, 0.6e-5),
    1e5: (0.1e-4, 0.6e-5, 0.6e-5),
    1e7: (0.6e-5, 0.6e-5, 0.6e-5),
    1e9: (0.6e-5, 0.6e-5, 0.6e-5),
    1e11: (0.1e-4, 0.9e-5, 0.2e-4),
}

# Natural coordinates: x and y of the two moving ends.
model = da.Model("double pendulum in natural coordinates", gravity=(0, -9.81, 0))
for i in (1, 2):
    model.body(f"slide{i}", mass=0, com=(i, 0, 0))
    model.body(f"end{i}", mass=1, com=(i, 0, 0))
    model.shape(f"end{i}", "sphere", radius=0.08, pose=(i, 0, 0))
    model.prismatic(f"x{i}", model.ground, f"slide{i}", point=(i, 0, 0), axis="x")
    model.prismatic(f"y{i}", f"slide{i}", f"end{i}", point=(i, 0, 0), axis="y")
model.constraint("upper", "x(end1)**2 + y(end1)**2 - 1")
model.constraint("lower", "(x(end2) - x(end1))**2 + (y(end2) - y(end1))**2 - 1")


def largest_error(alpha: float, iterations: int) -> tuple[float, int]:
    """Of the constraints over the run, and evaluations of the accelerations."""
    method = AugmentedLagrangian(alpha=alpha, omega=10, mu=1, iterations=iterations, tolerance=0.0)
    options = {"integrator": "bdf", "rtol": 1e-5, "atol": 1e-5, "stabilization": "none"}
    run = da.simulate(model, 5.0, formulation=method, **options)
    residuals = run.dynamics.residuals(run.time.values, run.q.values, run.u.values)
    return float(np.abs(residuals.position).max()), run.certificate.counts["evaluations"]


print("largest constraint error: ours (evaluations), published")
errors = {}
for alpha, published in PUBLISHED.items():
    row = []
    for iterations, known in enumerate(published):
        errors[alpha, iterations], count = largest_error(alpha, iterations)
        row.append(f"{errors[alpha, iterations]:.1e} ({count:5d})  {known:.1e}")
    print(f"{alpha:7.0e} | " + " | ".join(row))

# The pattern: without turns the error falls with 1/α down to the floor that the integrator sets …
floor = errors[1e7, 0]
assert 50 < errors[1e1, 0] / errors[1e3, 0] < 150
assert errors[1e5, 0] < 2 * floor
# … one turn reaches the floor from α = 1000 on, and each turn gains at α = 10 …
assert all(errors[alpha, turns] < 1.5 * floor for alpha in (1e3, 1e5, 1e7, 1e9) for turns in (1, 2))
assert errors[1e1, 2] < 0.2 * errors[1e1, 1] and errors[1e1, 1] < 0.2 * errors[1e1, 0]
# … and at 1e11 rounding spoils the solution without turns. Ours correct it, because they work on residuals.
assert errors[1e11, 0] > 2 * floor and errors[1e11, 1] < 1.5 * floor

run = da.simulate(model, 5.0, formulation="augmented-lagrangian")
assert run.certificate.trusted
run.plot(out / "10_penalties.png")
run.animate(out / "10_penalties.html")
