"""Problem 5/1: a slider-crank in natural coordinates, with Lagrange multipliers and with penalties.

Assumed geometry: see slider_crank.py, with L2 = L = 1 m, L3 = 2 L, m2 = 1, m3 = 2, m4 = 1 kg.

a)  ⎡ M  Φᵀ ⎤ ⎡ q̈ ⎤   ⎡ Q ⎤          b)  (M + Φᵀ α Φ) q̈ = Q − Φᵀ α (Φ̇ q̇ + 2 Ω μ φ̇ + Ω² φ)
    ⎣ Φ  0  ⎦ ⎣ λ ⎦ = ⎣ c ⎦
"""

import numpy as np
from slider_crank import Natural, accelerations, model

import dalembert as da
from dalembert.coordinates import COORDINATES

angle, rate, alpha, omega, mu = 1.0, 3.0, 1e7, 10.0, 1.0
hand, mechanism = Natural(), model(angle=angle)
q, v = hand.state(angle, rate)
A, c = hand.jacobian(q), hand.c(v)
assert np.abs(hand.phi(q)).max() < 1e-15 and np.abs(A @ v).max() < 1e-14

# a) Lagrange multipliers
K = np.block([[hand.M, A.T], [A, np.zeros((2, 2))]])
exact = np.linalg.solve(K, np.concatenate([hand.Q, c]))[:3]

# b) Penalties
rest = -c + 2 * omega * mu * (A @ v) + omega**2 * hand.phi(q)
soft = np.linalg.solve(hand.M + alpha * A.T @ A, hand.Q - alpha * A.T @ rest)

ours = accelerations(mechanism, rate, formulation="lagrange-multipliers")
print(f"multipliers by hand  {exact}")
print(f"penalties by hand    {soft}")
print(f"dalembert            {ours}")
assert np.abs(exact - ours).max() < 1e-11
assert np.abs(soft - exact).max() < 1e-5

# The same motion, and the same error of the penalty, in every kind of coordinates.
for coordinates in COORDINATES:
    same = accelerations(mechanism, rate, formulation="lagrange-multipliers", coordinates=coordinates)
    assert np.abs(same - exact).max() < 1e-10, coordinates
    soft = accelerations(mechanism, rate, formulation="penalty", coordinates=coordinates)
    assert np.abs(soft - exact).max() < 1e-4, coordinates
    run = da.simulate(mechanism, 1.0, initial_rates={"A": rate}, coordinates=coordinates)
    assert run.certificate.trusted, run.certificate
