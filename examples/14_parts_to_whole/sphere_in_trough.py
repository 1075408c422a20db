"""A charged sphere rolls in a parabolic trough: quaternions, velocities of the center, no-slip invariants of order 1.

Seven coordinates, the contact point (x, y, z) and a quaternion, and six quasi-velocities (ω, v), ω in world axes. The
kinematics is implicit in part: v is the rate of the center, which lies r along the normal of the surface. The charge κ
sits at the lowest point of the sphere as it starts, in a field e(t) along x.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), examples 2.5
and 4.4. The text shows figures only; reference values are two runs of its equations at tolerances 1e-12 and 3e-14. x is
sensitive to every error (a factor e each 1.3 to 1.8 s), so only the first 20 s are compared.
"""

import os
from pathlib import Path

import numpy as np
from sympy import sqrt

import dalembert as da

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))


def sphere_in_trough() -> da.Subsystem:
    S = da.Subsystem("S")
    r, g, m, k = S.parameters(r=0.01, g=9.8, m=0.05, k=5e-6)
    qx, qy, qz, qt, x, y, z = S.coordinates("qx qy qz qt x y z")
    wx, wy, wz, vx, vy, vz = S.quasi_velocity("wx wy wz vx vy vz")
    e = S.input("e")
    J = 2 * m * r**2 / 5
    n = sqrt(1 + y**2)  # γ = z − y²/2
    gy, gz = -y / n, 1 / n
    # Rates of the quaternion: ω in world axes; of the contact point: v minus the rate of the normal.
    S.kinematics({
        qx.d: (qt * wx + qz * wy - qy * wz) / 2,
        qy.d: (-qz * wx + qt * wy + qx * wz) / 2,
        qz.d: (qy * wx - qx * wy + qt * wz) / 2,
        qt.d: -(qx * wx + qy * wy + qz * wz) / 2,
        x.d: vx,
    })  # fmt: skip
    S.kinematics(vy - y.d * (1 + r * gy.diff(y)), vz - z.d - r * gz.diff(y) * y.d)
    S.invariants(vx - r * (wy * gz - wz * gy), vy + r * wx * gz, vz - r * wx * gy, z - y**2 / 2)
    S.effective_forces({wx: -J * wx.d, wy: -J * wy.d, wz: -J * wz.d, vx: -m * vx.d, vy: -m * vy.d, vz: -m * (vz.d + g)})
    # The force κ e along x acts on the charge: V⟨0,1⟩ᵀ f″.
    S.effective_forces(
        {vx: k * e, wy: -k * e * r * (1 - 2 * qx**2 - 2 * qy**2), wz: 2 * k * e * r * (qy * qz - qx * qt)}
    )
    S.independent(wx, wy, wz)
    return S


S = sphere_in_trough()
field = "10000*sin(pi*t/2)"
rest = dict.fromkeys(("wx", "wy", "wz", "vx", "vy", "vz", "qx", "qy", "qz", "x"), 0.0)
run = da.simulate(
    S,
    20.0,
    initial={**rest, "y": 0.1, "z": 0.005, "qt": 1.0},
    inputs={"e": field},
    rtol=1e-12,
    atol=1e-14,
    accuracy=1e-6,
)
assert run.certificate.trusted
for time, x, tolerance in (
    (1.0, 0.139316629536, 1e-10), (2.0, 0.830152854830, 1e-10), (4.0, 1.66135243378, 1e-9), (10.0, 4.4768873028, 1e-8),
    (20.0, 7.726377, 1e-6),
):  # fmt: skip
    assert abs(float(run["x"].sel(time=time, method="nearest")) - x) < tolerance, time
assert abs(float(run["y"].sel(time=10.0, method="nearest")) - 0.0178904831046) < 1e-9
norm = sum(run[name] ** 2 for name in ("qx", "qy", "qz", "qt"))
assert float(abs(np.sqrt(norm) - 1).max()) < 1e-10
# y does not feel the field: it swings with one period, from zero to zero.
t, y = run.values("time"), run.values("y")
falls = [k for k in range(len(t) - 1) if y[k] > 0 >= y[k + 1]]
zeros = [t[k] + (t[k + 1] - t[k]) * y[k] / (y[k] - y[k + 1]) for k in falls]
period = (zeros[-1] - zeros[0]) / (len(zeros) - 1)
print(f"y has the period {period:.5f} s")
assert abs(period - 2.36886) < 1e-5
print(f"x(20 s) = {float(run['x'][-1]):.6f} m, | |q| − 1 | ≤ {float(abs(np.sqrt(norm) - 1).max()):.0e}")
run.plot(OUT / "sphere-in-trough.png", quantities=["x", "y", "z"])
