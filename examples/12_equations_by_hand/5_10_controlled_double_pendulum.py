"""Problem 5/10: a double pendulum that is held upright by a motor between its two bars.

The figure is lost; assumed is: uniform bars of masses m1, m2 and lengths L1, L2 stand on A, ψ1 and ψ2 are their angles
from the upward vertical, both counted from there; the motor at joint 2 acts with M on the upper bar and with −M on the
lower. Then

    (m1/3 + m2) L1² ψ̈1 + ½ m2 L1 L2 cos(ψ1 − ψ2) ψ̈2 + ½ m2 L1 L2 sin(ψ1 − ψ2) ψ̇2² − (m1/2 + m2) g L1 sin ψ1 = −M
    ½ m2 L1 L2 cos(ψ1 − ψ2) ψ̈1 + m2/3 L2² ψ̈2 − ½ m2 L1 L2 sin(ψ1 − ψ2) ψ̇1² − ½ m2 g L2 sin ψ2 = M

M = −k·(ψ1, ψ2, ψ̇1, ψ̇2) is the linear controller that is optimal for  ∫ |x|² + M² dt  near the vertical.
"""

import numpy as np
from scipy.linalg import solve_continuous_are

import dalembert as da
from dalembert.library import parts

m1, m2, L1, L2, g = 1.0, 0.8, 0.6, 0.5, 9.81
c = m2 * L1 * L2 / 2


def mass(p1: float, p2: float) -> np.ndarray:
    return np.array([[(m1 / 3 + m2) * L1**2, c * np.cos(p1 - p2)], [c * np.cos(p1 - p2), m2 / 3 * L2**2]])


def by_hand(p: np.ndarray, dp: np.ndarray, motor: float) -> np.ndarray:
    """(ψ̈1, ψ̈2)."""
    s = c * np.sin(p[0] - p[1])
    turning = np.array([-s * dp[1] ** 2, s * dp[0] ** 2])
    weight = g * np.array([(m1 / 2 + m2) * L1 * np.sin(p[0]), m2 / 2 * L2 * np.sin(p[1])])
    return np.linalg.solve(mass(*p), turning + weight + motor * np.array([-1, 1]))


# The controller, from the equations linearized about ψ1 = ψ2 = 0
inverse = np.linalg.inv(mass(0, 0))
A = np.zeros((4, 4))
A[:2, 2:], A[2:, :2] = np.eye(2), inverse @ np.diag([(m1 / 2 + m2) * g * L1, m2 / 2 * g * L2])
B = np.concatenate([np.zeros(2), inverse @ [-1, 1]])[:, None]
k = (B.T @ solve_continuous_are(A, B, np.eye(4), np.eye(1)))[0]
poles = np.linalg.eigvals(A - B @ k[None])
print(f"free: largest root {np.linalg.eigvals(A).real.max():.2f} 1/s; controlled: {poles.real.max():.2f} 1/s")
assert np.linalg.eigvals(A).real.max() > 1 and poles.real.max() < -1

# Joint coordinates are ψ1 = q(A) and ψ2 − ψ1 = q(joint_2), about the axis that turns y toward x.
model = da.Model("acrobat", gravity=(0, -g, 0))
model.body("lower", **parts.bar(m1, (0, 0, 0), (0, L1, 0), 0.04))
model.body("upper", **parts.bar(m2, (0, L1, 0), (0, L1 + L2, 0), 0.04, 1))
model.revolute("A", model.ground, "lower", point=(0, 0, 0), axis=(0, 0, -1))
model.revolute("joint_2", "lower", "upper", point=(0, L1, 0), axis=(0, 0, -1))
law = f"-({k[0]}*q(A) + {k[1]}*(q(A) + q(joint_2)) + {k[2]}*u(A) + {k[3]}*(u(A) + u(joint_2)))"
model.joint_force("motor", "joint_2", law)
model.output("torque", law, unit="N m")

dynamics, rng = da.compile(model), np.random.default_rng(0)
for _ in range(5):
    p, dp = rng.normal(size=(2, 2))
    ours = dynamics.acceleration([p[0], p[1] - p[0]], [dp[0], dp[1] - dp[0]])
    expected = by_hand(p, dp, -k @ np.concatenate([p, dp]))
    assert np.abs([ours[0], ours.sum()] - expected).max() < 1e-10 * np.abs(expected).max()

run = da.simulate(model, 6.0, initial={"A": 0.01, "joint_2": -0.005})
psi = np.array([run.joint("A").q.values, run.joint("A").q.values + run.joint("joint_2").q.values])
torque = np.abs(run.output("torque").values).max()
print(f"from ψ = {psi[:, 0]} to {psi[:, -1]} rad in 6 s, largest torque {torque:.2f} N m")
assert np.abs(psi[:, -1]).max() < 1e-3 * np.abs(psi[:, 0]).max()
assert np.abs(psi).max() < 0.3
# The work of the motor is the energy that the bars gained; here they lose what they had.
gained = float((run.energy.kinetic + run.energy.potential)[-1] - (run.energy.kinetic + run.energy.potential)[0])
assert abs(float(run.work[-1]) - gained) < 1e-8
assert run.certificate.trusted, run.certificate
