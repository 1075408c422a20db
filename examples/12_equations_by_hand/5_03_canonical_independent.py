"""Problem 5/3: the slider-crank of problem 5/2 by canonical equations in the independent coordinate z = x2.

Assumed geometry: see slider_crank.py. With R of problem 5/2, q̇ = R ż, the momentum y that belongs to z and its rate are
(eqs. 5.111 and 5.112; M is constant in natural coordinates, so that only weight acts besides)

    (Rᵀ M R) ż = y,      ẏ = Rᵀ Q + Ṙᵀ M R ż

Two equations of first order in (z, y): constraints are differentiated once only, for Ṙ = dR/dt along the motion.
Positions follow from z:  x1 = (x2² + L2² − L3²)/(2 x2),  y1 = √(L2² − x1²).
"""

import numpy as np
from scipy.integrate import solve_ivp
from slider_crank import Natural, model

import dalembert as da

angle, rate, duration = 1.2, 3.0, 0.35
hand = Natural()
M, Q = hand.M, hand.Q


def basis(z: float) -> tuple[np.ndarray, np.ndarray]:
    """q and R at a position of the slider."""
    x1 = (z**2 + hand.l2**2 - hand.l3**2) / (2 * z)
    y1 = np.sqrt(hand.l2**2 - x1**2)
    first = (z - x1) / z
    return np.array([x1, y1, z]), np.array([first, -x1 / y1 * first, 1.0])


def canonical(_: float, state: np.ndarray) -> list[float]:
    z, y = state
    (x1, y1, x2), R = basis(z)
    dz = y / (R @ M @ R)
    dx1, dy1, dx2 = R * dz
    first = ((dx2 - dx1) * x2 - (x2 - x1) * dx2) / x2**2
    R_rate = np.array([first, -(dx1 * y1 - x1 * dy1) / y1**2 * R[0] - x1 / y1 * first, 0.0])
    return [dz, R @ Q + R_rate @ M @ R * dz]


q, v = hand.state(angle, rate)
_, R = basis(q[2])
assert np.abs(R * v[2] - v).max() < 1e-14
momentum = R @ M @ R * v[2]
run = da.simulate(model(angle=angle), duration, initial_rates={"A": rate}, formulation="canonical-independent")
assert run.certificate.trusted, run.certificate
t = run.time.values
known = solve_ivp(canonical, (0, duration), [q[2], momentum], rtol=1e-12, atol=1e-12, t_eval=t).y
x = run.body("slider").position.sel(axis="x").values
speed = run.body("slider").velocity.sel(axis="x").values
ours = [R @ M @ R * dz for (_, R), dz in zip(map(basis, x), speed, strict=True)]
print(f"x2 goes from {x[0]:.4f} to {x[-1]:.4f} m; by hand it ends at {known[0, -1]:.4f} m")
print(f"largest difference: {np.abs(x - known[0]).max():.1e} m, momenta {np.abs(ours - known[1]).max():.1e} kg m/s")
assert np.abs(x - known[0]).max() < 1e-8 and np.abs(ours - known[1]).max() < 1e-7
