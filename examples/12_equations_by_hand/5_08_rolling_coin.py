"""Problem 5/8: a coin that rolls without slipping, in natural coordinates, with v_P = 0 as three equations.

The figure is lost; assumed are natural coordinates q = (r, u, v): the center r of the coin and two unit vectors u, v in
its plane, fixed to it. A thin uniform disc then has a constant mass matrix, M = diag(m 1, m R²/4 1, m R²/4 1). The
rigid body: u·u = v·v = 1, u·v = 0. The point P of the coin that touches the ground, n the normal of the ground, has

    r_P = r − R (n_u u + n_v v)/s,     n_u = n·u,  n_v = n·v,  s = √(n_u² + n_v²)
    v_P = ṙ − R/s (n_u u̇ + n_v v̇) = 0

Differentiated once, the three equations read  r̈ − a ü − b v̈ = ȧ u̇ + ḃ v̇  with a = R n_u/s, b = R n_v/s.
"""

import numpy as np

import dalembert as da

m, R, g = 0.5, 0.2, 9.81
lean, heading, spin = 0.3, 0.5, 6.0  # lean (rad), rates of heading and spin (rad/s)

# The coin leans about x: its axis e, and the vectors in its plane.
e, n = np.array([0, np.cos(lean), np.sin(lean)]), np.array([0, 0, 1.0])
u = np.cross(e, n) / np.linalg.norm(np.cross(e, n))
v = np.cross(e, u)

model = da.Model("coin", gravity=(0, 0, -g))
center = np.array([0, 0, R * np.cos(lean)])
J = m * R**2 / 4 * (np.eye(3) + np.outer(e, e))
model.body("coin", mass=m, com=tuple(center), inertia=J)
model.rolling_disc("contact", model.ground, "coin", point=tuple(center), axis="z", axis_2=tuple(e), radius=R)
dynamics = da.compile(model)
rates = {"contact": [R * spin, 0, heading, 0.2, spin]}  # of the contact point x, y, of heading, lean and spin
start = da.assemble(model, initial_rates=rates)
state, rate = start.to(dynamics.coordinates)
body = dynamics.bodies(state, rate)["coin"]
w, velocity = body.angular_velocity, body.velocity
assert np.abs(body.position - center).max() < 1e-12

# By hand
du, dv = np.cross(w, u), np.cross(w, v)
nu, nv, dnu, dnv = n @ u, n @ v, n @ du, n @ dv
s = np.hypot(nu, nv)
ds = (nu * dnu + nv * dnv) / s
a, b = R * nu / s, R * nv / s
a_rate, b_rate = R * (dnu * s - nu * ds) / s**2, R * (dnv * s - nv * ds) / s**2
assert np.abs(velocity - a * du - b * dv).max() < 1e-12  # v_P = 0
E, O = np.eye(3), np.zeros(3)
M = np.diag([m] * 3 + [m * R**2 / 4] * 6)
A = np.vstack([
    np.concatenate([O, 2 * u, O]), np.concatenate([O, O, 2 * v]), np.concatenate([O, v, u]),
    np.hstack([E, -a * E, -b * E]),
])  # fmt: skip
c = np.concatenate([[-2 * du @ du, -2 * dv @ dv, -2 * du @ dv], a_rate * du + b_rate * dv])
Q = np.concatenate([[0, 0, -m * g], np.zeros(6)])
K = np.block([[M, A.T], [A, np.zeros((6, 6))]])
x = np.linalg.solve(K, np.concatenate([Q, c]))
ddr, ddu, ddv, force = x[:3], x[3:6], x[6:9], -x[12:]
# dalembert: five coordinates, two nonholonomic equations
accelerations = dynamics.acceleration(state, rate)


def acceleration(point: np.ndarray) -> np.ndarray:
    """Of a point of the coin, from the center, in axes of the drawing."""
    J = dynamics.point_jacobian("coin", point, state, rate)
    return J.jacobian @ accelerations + J.rate @ rate


ours = acceleration(np.zeros(3))
run = da.simulate(model, 2.0, initial_rates=rates)
contact = run.reaction("contact").sel(kind="force").values[0]
print(f"acceleration of the center by hand {ddr}, dalembert {ours}")
print(f"force at the contact by hand       {force}, dalembert {contact}")
assert np.abs(ours - ddr).max() < 1e-11 and np.abs(contact - force).max() < 1e-10
assert np.abs(acceleration(u) - ours - ddu).max() < 1e-10 and np.abs(acceleration(v) - ours - ddv).max() < 1e-10

# Along the run the point of contact rests.
assert run.certificate.trusted
slip, drift = run.certificate["velocity residual"], run.certificate["energy balance"]
print(f"no slip up to {slip:.0e} m/s, energy kept to {drift:.0e}")
