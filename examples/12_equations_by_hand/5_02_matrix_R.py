"""Problem 5/2: the matrix R of the slider-crank; dependent and independent coordinates; a singular position.

Assumed geometry: see slider_crank.py. With z = x2 the constraints x1 ẋ1 + y1 ẏ1 = 0 and (x2 − x1)(ẋ2 − ẋ1) + y1 ẏ1 = 0
give, by hand,

    R = ( (x2 − x1)/x2,  −x1 (x2 − x1)/(x2 y1),  1 )ᵀ

a)  ⎡ Φ   ⎤     ⎡ c   ⎤           b)  (Rᵀ M R) z̈ = Rᵀ (Q − M S c),     q̈ = R z̈ + S c
    ⎣ RᵀM ⎦ q̈ = ⎣ RᵀQ ⎦

If L3 = L2, the slider reaches A while crank and coupler stand vertical, one upon the other: x1 = x2 = 0. Both rows of
Φ are then the same, R is 0/0, and the matrix of a) is singular: two motions meet there. On one, x2 = 2 x1, the slider
goes on; on the other it stays at A and both bars turn as one. A regularization is a system that stays regular and tends
to the same solution elsewhere, M + Φᵀ α Φ of the penalty or augmented Lagrangian method: its condition stays where it
was, and inertia decides which way the mechanism goes: straight on.
"""

import numpy as np
from scipy.integrate import solve_ivp
from slider_crank import M2, M3, M4, Natural, accelerations, model

import dalembert as da

angle, rate = 1.0, 3.0
hand = Natural()
q, v = hand.state(angle, rate)
x1, y1, x2 = q
A, c = hand.jacobian(q), hand.c(v)
R = np.array([(x2 - x1) / x2, -x1 * (x2 - x1) / (x2 * y1), 1.0])
assert np.abs(A @ R).max() < 1e-14 and np.abs(R * v[2] - v).max() < 1e-14

# a) Dependent coordinates, eq. 5.17
dependent = np.linalg.solve(np.vstack([A, R @ hand.M]), np.append(c, R @ hand.Q))
# b) Independent coordinate z = x2, eq. 5.67; S c is q̈ for z̈ = 0
Sc = np.append(np.linalg.solve(A[:, :2], c), 0.0)
z = (R @ (hand.Q - hand.M @ Sc)) / (R @ hand.M @ R)
independent = R * z + Sc
for ours in ("projection", "independent"):
    same = accelerations(model(angle=angle), rate, formulation=ours)
    print(f"{ours:12} {same}   by hand {dependent}")
    assert np.abs(same - dependent).max() < 1e-11 and np.abs(same - independent).max() < 1e-11


# L3 = L2: the condition of a) grows without bound as the crank becomes vertical; that of M + Φᵀ α Φ does not.
def conditions(crank: float) -> tuple[float, float]:
    equal = Natural(1.0, 1.0)
    (x1, y1, x2), A = equal.state(crank, 0.0)[0], equal.jacobian(equal.state(crank, 0.0)[0])
    R = np.array([(x2 - x1) / x2, -x1 * (x2 - x1) / (x2 * y1), 1.0])
    return np.linalg.cond(np.vstack([A, R @ equal.M])), np.linalg.cond(equal.M + 1e5 * A.T @ A)


print("distance of the crank from the vertical, condition of a), of the regularized matrix")
for offset in (1e-1, 1e-3, 1e-5):
    plain, regular = conditions(np.pi / 2 - offset)
    print(f"{offset:8.0e} {plain:12.1e} {regular:12.1e}")
assert conditions(np.pi / 2 - 1e-5)[0] > 1e3 * conditions(np.pi / 2 - 1e-2)[0] / 2
assert conditions(np.pi / 2 - 1e-5)[1] < 1e8


# Straight on through the singular position: x2 = 2 cos θ, so that  T = ½ I(θ) θ̇²  with both bars at ± θ,
# I = m2/3 + m3 (1/3 + 2 sin²θ) + 4 m4 sin²θ,  and no gravity:  θ̈ = −I'/(2 I) θ̇².
def branch(_, y):
    theta, speed = y
    I = M2 / 3 + M3 * (1 / 3 + 2 * np.sin(theta) ** 2) + 4 * M4 * np.sin(theta) ** 2
    slope = (2 * M3 + 4 * M4) * np.sin(2 * theta)
    return [speed, -slope / (2 * I) * speed**2]


isosceles = model(1.0, 1.0, angle=1.0, gravity=0.0)
options = {"formulation": "augmented-lagrangian", "initial_rates": {"A": 3.0}, "output_step": 0.01}
run = da.simulate(isosceles, 0.6, stabilization="none", rtol=1e-10, **options)
theta = solve_ivp(branch, (0, 0.6), [1.0, 3.0], rtol=1e-12, atol=1e-12, t_eval=run.time.values).y[0]
x = run.body("slider").position.sel(axis="x").values
error = np.abs(x - 2 * np.cos(theta)).max()
print(f"through the singular position: x2 from {x[0]:.3f} to {x[-1]:.3f} m, error {error:.1e} m")
assert x[0] > 1 and x[-1] < -0.5 and error < 1e-6
# The certificate saw the singular position: there the motion could have changed its branch.
print(f"conditioning of the constraints on the way: {run.certificate['conditioning']}")
assert not run.certificate.trusted and run.certificate["conditioning"] > 1e5
