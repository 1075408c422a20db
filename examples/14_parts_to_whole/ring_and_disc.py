"""A disc rolls inside a ring that rolls down a slope: two bodies that know nothing of each other, joined by invariants.

R and D are free planar bodies with velocities (u, v, ω), x down the slope and y across it. Their owner S adds the angle
θ between the line of centers and the vertical, and five invariants of order 1: the ring rolls on the slope (2), the
disc rolls inside the ring (2), and the centers stay apart by r₁ − r₂ along θ (1). Seven velocities, two freedoms.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), example 4.2;
numbers of the check recomputed (the text prints none for the motion). Data: sin ξ = 4/5, m₁ = 0.67 kg, m₂/m₁ = 8/67.
"""

import os
from pathlib import Path

import numpy as np
from sympy import cos, sin

import dalembert as da

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
XI = np.arcsin(4 / 5)


def planar_body(name: str) -> da.Subsystem:
    """A free body on a slope ξ: mass m, inertia I."""
    body = da.Subsystem(name)
    m, inertia, g, xi = body.parameters(m=None, I=None, g=9.8, xi=XI)
    u, v, omega = body.quasi_velocity("u v omega")
    body.effective_forces({u: m * (g * sin(xi) - u.d), v: -m * (g * cos(xi) + v.d), omega: -inertia * omega.d})
    return body


def ring_and_disc(ratio: float = 8 / 67) -> da.Subsystem:
    """The system, ``ratio`` of masses m₂/m₁."""
    m1, r1, r2 = 0.67, 1.0, 0.3
    S = da.Subsystem("S")
    a, b, xi = S.parameters(r1=r1, r2=r2, xi=XI)
    R = S.include(planar_body("R"), parameters={"m": m1, "I": m1 * r1**2, "xi": xi})
    D = S.include(planar_body("D"), parameters={"m": ratio * m1, "I": ratio * m1 * r2**2 / 2, "xi": xi})
    theta = S.coordinates("theta")
    c, s = cos(xi - theta), sin(xi - theta)
    S.invariants(
        R.u + a * R.omega,
        R.v,
        R.u - D.u + c * (a * R.omega - b * D.omega),
        R.v - D.v + s * (a * R.omega - b * D.omega),
        D.u - R.u + (a - b) * c * theta.d,
    )
    S.independent(theta, D.omega)
    return S


S = ring_and_disc()
equations = S.equations()
print(equations.S.latex())
assert equations.degrees_of_freedom == 2 and equations.constraint_order == 1

# A motion with constant θ: sin θ = 3/5, and both centers speed up alike, by 2 g sin θ / (2 cos(θ − ξ) + 1).
steady = equations.acceleration({"theta": np.arcsin(3 / 5), **{str(v): 0.0 for v in equations.state if v.order == 1}})
rates = {str(label): value for label, value in steady.items()}
assert abs(rates["theta.dd"]) < 1e-12
assert abs(rates["R.u.d"] - 294 / 73) < 1e-12 and abs(rates["D.u.d"] - 294 / 73) < 1e-12

# Out of it by 30° and let go: θ swings about the steady value, a little slower than small swings (2.38635 s).
start = np.arcsin(3 / 5) + np.pi / 6
run = da.simulate(S, 5.0, initial={"theta": start, **{str(v): 0.0 for v in equations.state if v.order == 1}})
assert run.certificate.trusted
theta = run["theta"]
for time, angle in ((1.0, 0.228205738), (2.0, 0.883812829), (5.0, 1.143760851)):
    assert abs(float(theta.sel(time=time, method="nearest")) - angle) < 1e-8
assert abs(float(theta.min()) - 0.14680) < 1e-4 and abs(float(theta.max()) - 1.16710) < 1e-4
# It turns back at the top twice, which is one period each: zeros of its rate, by straight lines between outputs.
t, rate = run.values("time"), run.values("theta.d")
tops = [k for k in range(1, len(t) - 1) if rate[k] > 0 >= rate[k + 1]]
times = [t[k] + (t[k + 1] - t[k]) * rate[k] / (rate[k] - rate[k + 1]) for k in tops]
assert np.allclose(times, [2.4394, 4.8788], atol=1e-4)
linear = da.linearize(S, {"theta": np.arcsin(3 / 5)})
small = 2 * np.pi / max(abs(linear.eigenvalues()))
print(f"period {times[1] - times[0]:.4f} s, of small swings {small:.5f} s")
assert abs(small - 2.38635) < 1e-5
print(f"θ between {float(theta.min()):.5f} and {float(theta.max()):.5f} rad")
run.plot(OUT / "ring-and-disc.png", quantities=["theta", "R.u", "D.u"])
