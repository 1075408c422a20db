"""Problem 5/7: velocity transformations, and a penalty for the closure condition y2 = 0.

The figure is lost; assumed is a slider-crank without a mass at its slider: bars A1 and 12 with relative angles z1, z2,
and point 2 on the x-axis. With R¹, S¹c¹, M and Q as in problem 5/6 and Φ² = (0 0 0 1) the row of y2:

    (R¹ᵀMR¹ + (Φ²R¹)ᵀ α Φ²R¹) z̈ = R¹ᵀ (Q − M S¹c¹) − (Φ²R¹)ᵀ α (Φ²S¹c¹ + 2 Ω μ ẏ2 + Ω² y2)
"""

import numpy as np

import dalembert as da
from dalembert.formulations.velocity_transformation import VelocityTransformation
from dalembert.library import parts

g, m, omega, mu = 9.81, (1.0, 2.0), 10.0, 1.0
A, P1, P2 = np.array([0.0, 0.0]), np.array([0.5, 0.8]), np.array([2.1, 0.0])


def turned(v: np.ndarray) -> np.ndarray:
    return np.array([-v[1], v[0]])


def open_chain(dz: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """R¹ᵀMR¹,  R¹ᵀ (Q − M S¹c¹)  and R¹, S¹c¹ of the row y2 together."""
    R = np.column_stack([np.concatenate([turned(P1), turned(P2)]), np.concatenate([np.zeros(2), turned(P2 - P1)])])
    a1 = -(dz[0] ** 2) * P1
    Sc = np.concatenate([a1, a1 - (dz[0] + dz[1]) ** 2 * (P2 - P1)])
    E = np.eye(2)
    M = np.block([[(m[0] + m[1]) / 3 * E, m[1] / 6 * E], [m[1] / 6 * E, m[1] / 3 * E]])
    Q = -g * np.array([0, (m[0] + m[1]) / 2, 0, m[1] / 2])
    return R.T @ M @ R, R.T @ (Q - M @ Sc), np.append(R[3], Sc[3])


model = da.Model("chain with its end on a line", gravity=(0, -g, 0))
model.body("A1", **parts.bar(m[0], (*A, 0), (*P1, 0), 0.05))
bar = parts.bar(m[1], (*P1, 0), (*P2, 0), 0.05)
model.body("C12", **bar, pose=(*P2, 0))  # its frame stands at point 2
model.revolute("z1", model.ground, "A1", point=(*A, 0), axis="z")
model.revolute("z2", "A1", "C12", point=(*P1, 0), axis="z")
model.constraint("y2", "y(C12)")

dz = np.array([1.5, -0.7])  # does not satisfy ẏ2 = 0: the damping of the penalty acts
H, f, row = open_chain(dz)
for penalty in (1e3, 1e7):
    alpha = penalty * np.abs(H).max()  # dalembert measures penalties in units of the largest entry of the mass matrix
    B, rest = row[:2], row[2] + 2 * omega * mu * (row[:2] @ dz)
    expected = np.linalg.solve(H + alpha * np.outer(B, B), f - alpha * B * rest)
    method = VelocityTransformation(closing="penalty", alpha=penalty, omega=omega, mu=mu)
    ours = da.compile(model, formulation=method).acceleration(np.zeros(2), dz)
    print(f"α = {penalty:.0e}: z̈ by hand {expected}, dalembert {ours}")
    assert np.abs(ours - expected).max() < 1e-14 * penalty * np.abs(expected).max() + 1e-11

# Along a motion the end leaves the line by about 1/α: a hundred times the penalty, a hundredth of the error.
errors = []
for penalty in (1e3, 1e5):
    method = VelocityTransformation(closing="penalty", alpha=penalty, omega=omega, mu=mu)
    run = da.simulate(model, 2.0, formulation=method, stabilization="none")
    errors.append(float(np.abs(run.body("C12").position.sel(axis="y")).max()))
print(f"largest |y2| with α = 1e3: {errors[0]:.1e} m, with 1e5: {errors[1]:.1e} m")
assert 50 < errors[0] / errors[1] < 200
