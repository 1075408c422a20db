"""Problem 5/9: a satellite with a rotor of constant relative speed; the rotor as an equivalent set of forces.

The figure is lost; assumed is: natural coordinates are the points 1 and 2 and the unit vectors u1, u2; u1, u2 and
d = (r2 − r1)/L are orthogonal. The rotor's axis is the fixed direction a of the satellite, its speed against it Ω, its
moment of inertia about a is J, its center is G. With the rotor at rest counted to the satellite, inertia I, the total
angular momentum is I ω + J Ω a. Euler's equation  I ω̇ + ω × I ω = M_e  has the equivalent torque

    M_e = −ω × J Ω a

and no force. On natural coordinates a torque M acts as  ½ M × u1  on u1,  ½ M × u2  on u2  and the couple
± M × d/(2 L)  on the points 2 and 1: for any ω* the virtual power is  ½ Σ (M × eᵢ)·(ω* × eᵢ) = M·ω*.
"""

import numpy as np

import dalembert as da

J, speed, L = 0.02, 300.0, 1.5
body_inertia, a = np.diag([3.0, 4.0, 5.0]), np.array([0.0, 0.6, 0.8])
rotor_inertia = J / 2 * np.eye(3) + J / 2 * np.outer(a, a)  # a thin disc about its axis
start = {"float": [0.3, -0.2, 0.5, 0, 0, 0]}  # ω of the satellite in its own axes, v

# The virtual power of the equivalent forces on natural coordinates, in some orientation.
rng = np.random.default_rng(0)
e1, e2, d = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
M, virtual = rng.normal(size=(2, 3))
forces = {"u1": np.cross(M, e1) / 2, "u2": np.cross(M, e2) / 2, "r2": np.cross(M, d) / (2 * L)}
power = forces["u1"] @ np.cross(virtual, e1) + forces["u2"] @ np.cross(virtual, e2)
power += forces["r2"] @ np.cross(virtual, L * d / 2) - forces["r2"] @ np.cross(virtual, -L * d / 2)
assert abs(power - M @ virtual) < 1e-14
print(f"virtual power of the set of forces {power:.12f}, of the torque {M @ virtual:.12f}")

# With the rotor as a body that is driven
real = da.Model("satellite with a rotor", gravity=(0, 0, 0))
real.body("satellite", mass=100, com=(0, 0, 0), inertia=body_inertia)
real.body("rotor", mass=2, com=(0, 0, 0), inertia=rotor_inertia)
real.free("float", real.ground, "satellite")
real.revolute("axle", "satellite", "rotor", point=(0, 0, 0), axis=tuple(a))
real.drive("axle", f"{speed}*t")

# With the equivalent torque, in axes of the satellite: the velocities of "float" are ω in these axes
h = J * speed * a
w = [f"u(float, {i})" for i in range(3)]
torque = [f"-({w[(i + 1) % 3]}*{h[(i + 2) % 3]} - {w[(i + 2) % 3]}*{h[(i + 1) % 3]})" for i in range(3)]
equivalent = da.Model("satellite with an equivalent torque", gravity=(0, 0, 0))
equivalent.body("satellite", mass=102, com=(0, 0, 0), inertia=body_inertia + rotor_inertia)
equivalent.free("float", equivalent.ground, "satellite")
equivalent.torque("gyroscopic", "satellite", torque, axes="body")

runs = [da.simulate(model, 20.0, initial_rates=start, rtol=1e-12, atol=1e-13) for model in (real, equivalent)]
assert all(run.certificate.trusted for run in runs)
first, second = (run.body("satellite") for run in runs)
turn = np.abs(np.abs(np.sum(first.quaternion.values * second.quaternion.values, axis=1)) - 1).max()
error = np.abs(first.angular_velocity - second.angular_velocity).max()
print(f"largest difference of the angular velocities in 20 s: {float(error):.1e} rad/s")
assert error < 1e-9 and turn < 1e-12

# By hand, at the start:  ω̇ = I⁻¹ (−ω × I ω − ω × J Ω a)
I, omega = body_inertia + rotor_inertia, np.array(start["float"][:3])
expected = np.linalg.solve(I, -np.cross(omega, I @ omega) - np.cross(omega, h))
dynamics = da.compile(equivalent)
ours = dynamics.acceleration(*da.assemble(equivalent, initial_rates=start).to(dynamics.coordinates))[:3]
print(f"ω̇ by hand {expected}, dalembert {ours}")
assert np.abs(ours - expected).max() < 1e-13
# A constant speed needs a motor that does work: the torque along the axle is J a·ω̇.
motor = float(runs[0].reaction("axle drive").values[0])
assert abs(motor - J * a @ expected) < 1e-9
