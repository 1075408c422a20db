"""Linear models of pendulums, and the charts of a disc that rolls inside a ring on a slope.

A spherical pendulum about its lowest position and about (4a/5, 3a/5, 0), where it does not rest: the invariants are
linearized as they stand, so no modes appear that it does not have. A double pendulum from two masses and four
relations: ω² = (2 ± √2) g/l. Ring and disc: the angle at which the disc stays, and how fast it swings about it.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), examples 4.6, 4.7,
figures 4.15 and 4.16.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, sin

import dalembert as da

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
G = 9.8

# A spherical pendulum, x down
a = 2.0
P = da.Subsystem("pendulum")
m, g, r = P.parameters(m=1.0, g=G, r=a)
x, y, z = P.coordinates("x y z")
P.effective_forces({x: m * g - m * x.dd, y: -m * y.dd, z: -m * z.dd})
P.invariant(x**2 + y**2 + z**2 - r**2)
lowest = da.linearize(P, {"x": a})
assert lowest.kind == "equilibrium" and np.allclose(np.abs(lowest.eigenvalues()), np.sqrt(G / a))
# … and where it does not rest, with the square of its speed υ in the invariants, as example 4.6 has them
Q = da.Subsystem("with_square")
m, g = Q.parameters(m=1.0, g=G)
x, y, z = Q.coordinates("x y z")
v = Q.quasi_velocity("v")
Q.effective_forces({x: m * g - m * x.dd, y: -m * y.dd, z: -m * z.dd})
Q.invariants(x * x.dd + y * y.dd + z * z.dd + v, x.d**2 + y.d**2 + z.d**2 - v)
aside = da.linearize(Q, {"x": 4 * a / 5, "y": 3 * a / 5, "z": 0.0}, states="all")
print(f"aside: {aside.kind}")
polynomial = np.poly(aside.A)  # λ³ (λ² + 4g/5a)²
k = 4 * G / (5 * a)
assert np.allclose(polynomial[:5], [1, 0, 2 * k, 0, k**2], atol=1e-9) and np.allclose(polynomial[5:], 0, atol=1e-9)

# Two masses on two rods
S = da.Subsystem("double")
for name in ("one", "two"):
    S.include(da.leaves.particle(name, "-y", axes="xy", m=1.5, g=G))
length = S.parameters(l=0.7)
A, B = S.coordinates("A B")
S.invariants(S.one.x - length * sin(A), S.one.y + length * cos(A))
S.invariants(S.two.x - length * (sin(A) + sin(B)), S.two.y + length * (cos(A) + cos(B)))
S.independent(A, B)
double = da.linearize(S, {"A": 0.0, "B": 0.0})
squares = np.unique(np.round(np.abs(double.eigenvalues()) ** 2 * 0.7 / G, 9))
print("double pendulum: ω² l/g =", *squares)
assert np.allclose(squares, [2 - np.sqrt(2), 2 + np.sqrt(2)])
by_length = double.sensitivity("l")["l"]
assert np.allclose(np.abs(by_length), np.abs(double.eigenvalues()) / (2 * 0.7))  # ω ~ 1/√l


def ring_and_disc(ratio: float) -> da.Subsystem:
    """A disc of mass ratio · m₁ inside a ring, both roll; angles of the slope ξ and of the line of centers θ."""
    whole = da.Subsystem("S")
    xi = whole.parameters(xi=float(np.arcsin(0.8)))
    for name, mass, radius, share in (("ring", 0.67, 1.0, 1.0), ("disc", 0.67 * ratio, 0.3, 0.5)):
        part = da.Subsystem(name)
        mass, radius, slope, weight = part.parameters(m=mass, r=radius, xi=0.0, g=G)
        u, v, omega = part.quasi_velocity("u v omega")
        part.effective_forces({
            u: mass * (weight * sin(slope) - u.d),
            v: mass * (-weight * cos(slope) - v.d),
            omega: -share * mass * radius**2 * omega.d,
        })  # fmt: skip
        if name == "ring":
            part.invariants(v, u + radius * omega)
        whole.include(part, parameters={"xi": xi})
    theta, ring, disc = whole.coordinates("theta"), whole.ring, whole.disc
    slip = ring.r * ring.omega - disc.r * disc.omega
    whole.invariants(ring.u - disc.u + cos(xi - theta) * slip, ring.v - disc.v + sin(xi - theta) * slip)
    whole.invariant(disc.u - ring.u + (ring.r - disc.r) * cos(xi - theta) * theta.d)
    return whole


def steady(system: da.Subsystem, slope: float, angle: float) -> float:
    """θ at which the disc keeps its place, by Newton's method on θ̈."""
    for _ in range(20):
        linear = da.linearize(system, {"theta": angle}, parameters={"xi": slope})
        rate, by = linear.states.index("theta.d"), linear.states.index("theta")
        step = linear.rates[rate] / linear.A[rate, by]
        angle -= step
        if abs(step) < 1e-14:
            break
    return angle


figure, (angles, swings) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
expected = {0.0: (35.542149, 2.54289658), 8 / 67: (36.869898, 2.632965083), 0.5: (40.030061, 2.906603855),
            1.0: (42.700089, 3.237230396), 5.0: (49.173290, 5.207239466)}  # fmt: skip
for ratio, (degrees, frequency) in expected.items():
    system = ring_and_disc(max(ratio, 1e-8))
    slopes, found, angle = np.radians([0.5, 15, 30, 45, np.degrees(np.arcsin(0.8)), 65, 80]), [], 0.0
    for slope in slopes:
        angle = steady(system, float(slope), angle)
        linear = da.linearize(system, {"theta": angle}, parameters={"xi": float(slope)})
        found.append((np.degrees(angle), float(np.abs(linear.eigenvalues()).max())))
    assert np.allclose(found[4], (degrees, frequency), rtol=1e-6)
    name = {8 / 67: "8/67"}.get(ratio, f"{ratio:g}")
    angles.plot(np.degrees(slopes), [one[0] for one in found], "o-", markersize=3, label=name)
    swings.plot(np.degrees(slopes), [one[1] for one in found], "o-", markersize=3, label=name)
angles.set(xlabel="slope ξ (°)", ylabel="steady angle θ (°)")
swings.set(xlabel="slope ξ (°)", ylabel="frequency ω (rad/s)")
angles.legend(title="m₂/m₁")
for axes in (angles, swings):
    axes.grid(alpha=0.3)
figure.savefig(OUT / "linear-pendulums.png", dpi=120)
