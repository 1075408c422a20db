"""Problem 5/4: a coordinate that is kinematically imposed.

The figure is lost; assumed is: point 1 of a uniform bar moves along the x-axis as x1(t) = X sin ωt, point 2 swings
below it.

a)  Dependent coordinates (x2, y2), (x2 − x1)² + y2² = L², with a multiplier:

    m/3 ẍ2 + 2 (x2 − x1) λ = −m/6 ẍ1,      m/3 ÿ2 + 2 y2 λ = −m g/2,      (x2 − x1)(ẍ2 − ẍ1) + y2 ÿ2 = −(ẋ2 − ẋ1)² − ẏ2²

b)  The angle z from the vertical, x2 = x1 + L sin z, y2 = −L cos z:

    z̈ = −3/(2 L) (ẍ1 cos z + g sin z)

The force that imposes the motion is  F = m (ẍ1 + L/2 (z̈ cos z − ż² sin z)).
"""

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.library import parts

m, L, g, X, w = 2.0, 0.8, 9.81, 0.3, 5.0
z0 = 0.4


def by_multiplier(t: float, z: float, dz: float) -> float:
    """z̈ from the natural coordinates."""
    v1, a1 = X * w * np.cos(w * t), -X * w**2 * np.sin(w * t)
    d, v = L * np.array([np.sin(z), -np.cos(z)]), L * dz * np.array([np.cos(z), np.sin(z)]) + [v1, 0]
    relative = v - [v1, 0]
    K = np.zeros((3, 3))
    K[:2, :2], K[:2, 2], K[2, :2] = m / 3 * np.eye(2), 2 * d, d
    a2 = np.linalg.solve(K, [-m / 6 * a1, -m * g / 2, -relative @ relative + d[0] * a1])[:2]
    return float((a2 - [a1, 0]) @ [np.cos(z), np.sin(z)]) / L


def by_angle(t: float, z: float) -> float:
    a1 = -X * w**2 * np.sin(w * t)
    return -3 / (2 * L) * (a1 * np.cos(z) + g * np.sin(z))


for t, z, dz in ((0.0, 0.4, 0.0), (0.3, -1.0, 2.0), (1.1, 2.5, -4.0)):
    assert abs(by_multiplier(t, z, dz) - by_angle(t, z)) < 1e-12

tip = (L * np.sin(z0), -L * np.cos(z0), 0)
model = da.Model("imposed coordinate", gravity=(0, -g, 0))
model.body("slider", mass=0.0, com=(0, 0, 0))
model.body("bar", **parts.bar(m, (0, 0, 0), tip, 0.05))
model.prismatic("x1", model.ground, "slider", point=(0, 0, 0), axis="x")
model.revolute("z1", "slider", "bar", point=(0, 0, 0), axis="z", reference=(z0,))
model.drive("x1", f"{X}*sin({w}*t)", name="motor")

known = solve_ivp(lambda t, y: [y[1], by_angle(t, y[0])], (0, 3), [z0, 0.0], rtol=1e-12, atol=1e-12, dense_output=True)
for formulation in ("lagrange-multipliers", "independent"):
    run = da.simulate(model, 3.0, formulation=formulation, initial_rates={"z1": 0.0})
    assert run.certificate.trusted, run.certificate
    t, (z, dz) = run.time.values, known.sol(run.time.values)
    error = np.abs(run.joint("z1").q - z).max()
    a1 = -X * w**2 * np.sin(w * t)
    ddz = -3 / (2 * L) * (a1 * np.cos(z) + g * np.sin(z))
    force = m * (a1 + L / 2 * (ddz * np.cos(z) - dz**2 * np.sin(z)))
    wrong = np.abs(run.reaction("motor") - force).max()
    print(f"{formulation:20} angle {error:.1e} rad, force {wrong:.1e} N of {np.abs(force).max():.1f} N")
    assert error < 1e-7 and wrong < 1e-5
