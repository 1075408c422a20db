"""A spherical pendulum in three descriptions: angles, Cartesian coordinates, and these with υ = |v|² beside them.

The first needs no invariant; the second has one of order 0; the third has one of order 1 that is not linear in
velocities, so that its equations are of order 2 in υ, too. All of them give the same accelerations and the same motion.

Here x is down. Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016),
example 4.1.
"""

import os
from pathlib import Path

import numpy as np
from sympy import cos, sin

import dalembert as da

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
R, G = 1.3, 9.8


def by_angles() -> da.Subsystem:
    """θ from the vertical, φ about it: V gives the forces on the point."""
    P = da.Subsystem("angles")
    m, g, r = P.parameters(m=1.0, g=G, r=R)
    theta, phi = P.coordinates("theta phi")
    c, s = cos(theta), sin(theta)
    P.effective_forces({
        theta: m * r * (-g * s - r * (theta.dd - s * c * phi.d**2)),
        phi: -m * r**2 * s * (s * phi.dd + 2 * c * theta.d * phi.d),
    })  # fmt: skip
    return P


def by_coordinates(with_square: bool) -> da.Subsystem:
    P = da.Subsystem("square" if with_square else "point")
    m, g, r = P.parameters(m=1.0, g=G, r=R)
    x, y, z = P.coordinates("x y z")
    P.effective_forces({x: m * g - m * x.dd, y: -m * y.dd, z: -m * z.dd})
    P.invariant(x**2 + y**2 + z**2 - r**2)
    if with_square:
        v = P.quasi_velocity("v")
        P.invariant(x.d**2 + y.d**2 + z.d**2 - v)
    return P


angles, point, square = by_angles(), by_coordinates(False), by_coordinates(True)
orders = [P.equations().constraint_order for P in (angles, point, square)]
print("constraint orders:", orders)
assert orders == [0, 1, 2]

theta, phi, dtheta, dphi = 0.7, 0.4, 1.1, -0.6
state = {"theta": theta, "phi": phi, "theta.d": dtheta, "phi.d": dphi}
c, s = np.cos(theta), np.sin(theta)
place = R * np.array([c, s * np.cos(phi), s * np.sin(phi)])
velocity = R * np.array([
    -s * dtheta, c * np.cos(phi) * dtheta - s * np.sin(phi) * dphi, c * np.sin(phi) * dtheta + s * np.cos(phi) * dphi,
])  # fmt: skip
cartesian = dict(zip(("x", "y", "z", "x.d", "y.d", "z.d"), (*place, *velocity), strict=True))

found = {str(k): v for k, v in angles.equations().acceleration(state).items()}
assert abs(found["phi.dd"] - 1.567159218407) < 1e-11 and abs(found["theta.dd"] + 4.679029306240) < 1e-11
for P, more in ((point, {}), (square, {"v": float(velocity @ velocity)})):
    found = {str(k): v for k, v in P.equations().acceleration(cartesian | more).items()}
    expected = (2.71551071, -5.49613952, -2.32373052)
    assert all(abs(found[f"{axis}.dd"] - a) < 1e-8 for axis, a in zip("xyz", expected, strict=True))
assert abs(velocity @ velocity - 2.29739599513) < 1e-10 and abs(found["v.d"] + 18.0561333379) < 1e-9

# The same motion for 5 s
runs = [da.simulate(angles, 5.0, initial=state), *(da.simulate(P, 5.0, initial=cartesian) for P in (point, square))]
assert all(run.certificate.trusted for run in runs)
depth = R * np.cos(runs[0]["theta"])
errors = [float(abs(run["x"] - depth).max()) for run in runs[1:]]
print(f"the three descriptions agree to {max(errors):.0e} m")
assert max(errors) < 1e-7
runs[2].plot(OUT / "spherical-pendulum.png", quantities=["x", "y", "z", "v"])
