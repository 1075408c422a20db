"""Problem 5/6: velocity transformations; the loop is opened at joint 2, closed by multipliers with Baumgarte's terms.

The figure is lost; assumed is a four-bar linkage with uniform bars: A1 and 12 hang on A, B2 on B; joint 2 is opened.
Natural coordinates of the open chains are the points 1, 2 and 2' = end of B2; relative velocities are ż1 of A1, ż2 of
12 against A1, ż3 of B2. The columns of R¹ are n × (r_j − r_i), eq. 5.77; S¹c¹ are the accelerations for z̈ = 0,
eq. 5.87:

    ṙ = R¹ ż,      r̈ = R¹ z̈ + S¹c¹,      φ = r_2 − r_2' = 0,      Φ² = (0 1 −1)

    ⎡ R¹ᵀMR¹   (Φ²R¹)ᵀ ⎤ ⎡ z̈ ⎤   ⎡ R¹ᵀ (Q − M S¹c¹)             ⎤
    ⎣ Φ²R¹        0    ⎦ ⎣ λ ⎦ = ⎣ −Φ²S¹c¹ − 2 α φ̇ − β² φ      ⎦
"""

from dataclasses import replace

import numpy as np

import dalembert as da
from dalembert.formulations.velocity_transformation import VelocityTransformation
from dalembert.library import parts

g, alpha = 9.81, 20.0
A, P1, P2, B = (np.array(p) for p in ((0.0, 0.0), (0.3, 0.9), (1.6, 1.2), (2.0, 0.0)))
masses = {"A1": 1.0, "C12": 2.0, "B2": 1.5}


def turned(v: np.ndarray) -> np.ndarray:
    """n × v with n out of the plane."""
    return np.array([-v[1], v[0]])


def by_hand(dz: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z̈ in the position drawn, and the velocity φ̇ with which the loop opens."""
    w = np.array([dz[0], dz[0] + dz[1], dz[2]])  # angular velocities of A1, 12, B2
    zero = np.zeros(2)
    R = np.column_stack([
        np.concatenate([turned(P1 - A), turned(P2 - A), zero]),
        np.concatenate([zero, turned(P2 - P1), zero]),
        np.concatenate([zero, zero, turned(P2 - B)]),
    ])  # fmt: skip
    a1 = -(w[0] ** 2) * (P1 - A)
    Sc = np.concatenate([a1, a1 - w[1] ** 2 * (P2 - P1), -(w[2] ** 2) * (P2 - B)])
    # Uniform bars in natural coordinates; the ends A and B rest.
    m, E = list(masses.values()), np.eye(2)
    M, Q = np.zeros((6, 6)), np.zeros(6)
    M[:2, :2], M[2:4, 2:4], M[4:, 4:] = (m[0] + m[1]) / 3 * E, m[1] / 3 * E, m[2] / 3 * E
    M[:2, 2:4] = M[2:4, :2] = m[1] / 6 * E
    Q[1], Q[3], Q[5] = -(m[0] + m[1]) / 2 * g, -m[1] / 2 * g, -m[2] / 2 * g
    F = np.hstack([np.zeros((2, 2)), E, -E])
    rate = F @ R @ dz
    K = np.block([[R.T @ M @ R, (F @ R).T], [F @ R, np.zeros((2, 2))]])
    rhs = np.concatenate([R.T @ (Q - M @ Sc), -F @ Sc - 2 * alpha * rate - alpha**2 * phi])
    return np.linalg.solve(K, rhs)[:3], rate


model = da.Model("opened four-bar", gravity=(0, -g, 0))
for name, (start, end) in {"A1": (A, P1), "C12": (P1, P2), "B2": (B, P2)}.items():
    model.body(name, **parts.bar(masses[name], (*start, 0), (*end, 0), 0.05))
model.revolute("z1", model.ground, "A1", point=(*A, 0), axis="z")
model.revolute("z2", "A1", "C12", point=(*P1, 0), axis="z")
model.revolute("z3", model.ground, "B2", point=(*B, 0), axis="z")
model.revolute("joint 2", "B2", "C12", point=(*P2, 0), axis="z")

method = VelocityTransformation(closing="multipliers")
dynamics = da.compile(model, formulation=method)
print(f"tree joints {dynamics.u_names}, cut {list(dynamics.coordinates.cut)}")
assert dynamics.coordinates.cut == ("joint 2",)
order = [dynamics.u_names.index(name) for name in ("z1", "z2", "z3")]

# Accelerations of a motion that keeps the loop closed.
state = da.assemble(model, initial_rates={"z1": 2.0})
q, u = state.to(dynamics.coordinates)
expected, rate = by_hand(u[order], np.zeros(2))
assert np.abs(rate).max() < 1e-12
ours = dynamics.acceleration(q, u)[order]
print(f"z̈ by hand   {expected}\nz̈ dalembert {ours}")
assert np.abs(ours - expected).max() < 1e-11

# A loop that starts open is pulled together as φ̈ + 2 α φ̇ + α² φ = 0 says:  φ = φ₀ (1 + α t) e^(−α t) + φ̇₀ t e^(−α t).
opened = replace(state, q=state.q + 1e-3, u=state.u + 1e-3)
how = {"stabilization": "baumgarte", "baumgarte": alpha, "rtol": 1e-11, "atol": 1e-13}
run = da.simulate(model, 0.5, formulation=method, initial=opened, **how)
found = run.dynamics.residuals(run.time.values, run.q.values, run.u.values)
t, decay = run.time.values[:, None], np.exp(-alpha * run.time.values[:, None])
law = found.position[0] * (1 + alpha * t) * decay + found.velocity[0] * t * decay
error = np.abs(found.position - law).max()
first, last = np.abs(found.position[[0, -1]]).max(axis=1)
print(f"opening {first:.1e} m falls to {last:.1e} m, off the law by {error:.1e} m")
assert first > 1e-3 and error < 1e-9
