"""Problem 5/5: the slider-crank by canonical equations in dependent coordinates with penalties.

Assumed geometry: see slider_crank.py. Constraints are penalized at the level of velocities, so that the momenta are
p = M q̇ + Φᵀ σ (sec. 5.4.3):

    (M + Φᵀ α Φ) q̇ = p − Φᵀ α (2 Ω μ φ + Ω² ∫φ dt),      ṗ = Q + Φ̇ᵀ σ,      σ = α (Φ q̇ + 2 Ω μ φ + Ω² ∫φ dt)

in the eight variables q, p and ∫φ dt. The error falls with 1/α; turns that correct σ take it away for any α.
"""

import numpy as np
from scipy.integrate import solve_ivp
from slider_crank import Natural, model

import dalembert as da
from dalembert.coordinates import COORDINATES
from dalembert.formulations import FORMULATIONS

angle, rate, duration, omega, mu = 1.2, 3.0, 1.0, 10.0, 1.0
hand = Natural()


def canonical(alpha: float, state: np.ndarray) -> np.ndarray:
    q, p, integral = state[:3], state[3:6], state[6:]
    A, phi = hand.jacobian(q), hand.phi(q)
    g = 2 * omega * mu * phi + omega**2 * integral
    v = np.linalg.solve(hand.M + alpha * A.T @ A, p - alpha * A.T @ g)
    # Φ is linear in q: its rate is the same function of q̇.
    return np.concatenate([v, hand.Q + hand.jacobian(v).T @ (alpha * (A @ v + g)), phi])


mechanism = model(angle=angle)
exact = da.simulate(mechanism, duration, initial_rates={"A": rate}, rtol=1e-12, atol=1e-14)
x = exact.body("slider").position.sel(axis="x").values
q, v = hand.state(angle, rate)
errors = []
for alpha in (1e3, 1e5):
    start = np.concatenate([q, hand.M @ v, np.zeros(2)])
    times = exact.time.values
    found = solve_ivp(lambda t, y, a=alpha: canonical(a, y), (0, duration), start, rtol=1e-11, atol=1e-12, t_eval=times)
    errors.append(np.abs(found.y[2] - x).max())
    residual = np.abs(hand.phi(found.y[:3])).max()
    print(f"by hand with α = {alpha:.0e}: x2 is off by {errors[-1]:.1e} m, φ by {residual:.1e} m²")
assert errors[1] < 1e-4 and 30 < errors[0] / errors[1] < 300

# With turns, in all coordinates
for coordinates in COORDINATES:
    method = FORMULATIONS["canonical-augmented"](alpha=1e5, omega=omega, mu=mu)
    run = da.simulate(mechanism, duration, initial_rates={"A": rate}, formulation=method, coordinates=coordinates)
    assert run.certificate.trusted, run.certificate
    error = np.abs(run.body("slider").position.sel(axis="x").values - x).max()
    print(f"canonical-augmented, {coordinates} coordinates: off by {error:.1e} m")
    assert error < 1e-7
