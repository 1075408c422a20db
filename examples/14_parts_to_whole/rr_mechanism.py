"""An arm of two bars with two revolute joints, composed of planar bodies: equations, motion, torques, linear model.

Each bar is a leaf with its three velocities. The arm adds two angles and six invariants of order 0: where the centers
of mass are, and how far the bars have turned. Its equations are those of the textbook,

    M(q) q̈ + c(q, q̇) + g(q) = τ

to every digit, and the torques of a given motion are the same formula read the other way. RR is one of the examples
that come with the packages of R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016).
"""

import os
from pathlib import Path

import numpy as np
import sympy as sp
from sympy import cos, sin

import dalembert as da
from dalembert.view import Plot, plot_series, write_figure

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
M1, M2, I1, I2, L1, L2, G = 1.2, 0.8, 0.05, 0.02, 0.6, 0.4, 9.81  # centers of mass halfway


def rr_mechanism() -> da.Subsystem:
    """The arm; angles from the horizontal, the second one relative to the first bar."""
    S = da.Subsystem("RR")
    first = S.include(da.leaves.planar_body("first", "newton-euler", "-y", m=M1, I=I1, g=G))
    second = S.include(da.leaves.planar_body("second", "newton-euler", "-y", m=M2, I=I2, g=G))
    l1, l2 = S.parameters(l1=L1, l2=L2)
    a, b = S.coordinates("a b")
    t1, t2 = S.input("t1 t2")
    S.invariants(first.p.x - l1 / 2 * cos(a), first.p.y - l1 / 2 * sin(a), first.th - a)
    S.invariants(second.p.x - l1 * cos(a) - l2 / 2 * cos(a + b), second.p.y - l1 * sin(a) - l2 / 2 * sin(a + b))
    S.invariant(second.th - a - b)
    S.effective_forces({a: t1, b: t2})
    S.independent(a, b)
    knee = (l1 * cos(a), l1 * sin(a))
    tip = (l1 * cos(a) + l2 * cos(a + b), l1 * sin(a) + l2 * sin(a + b))
    S.draw("arm", line=[(0, 0), knee, tip])
    return S


def by_hand(q: np.ndarray, u: np.ndarray, du: np.ndarray) -> np.ndarray:
    """M q̈ + c + g, from a textbook on robots."""
    a, b = q
    c2, s2, half = np.cos(b), np.sin(b), L2 / 2
    m22 = I2 + M2 * half**2
    m12 = m22 + M2 * L1 * half * c2
    m11 = I1 + I2 + M1 * L1**2 / 4 + M2 * (L1**2 + half**2 + 2 * L1 * half * c2)
    h = M2 * L1 * half * s2
    weight2 = M2 * G * half * np.cos(a + b)
    weight1 = (M1 * L1 / 2 + M2 * L1) * G * np.cos(a) + weight2
    return np.array([
        m11 * du[0] + m12 * du[1] - h * (2 * u[0] * u[1] + u[1] ** 2) + weight1,
        m12 * du[0] + m22 * du[1] + h * u[0] ** 2 + weight2,
    ])  # fmt: skip


arm = rr_mechanism()
equations = arm.equations()
assert equations.degrees_of_freedom == 2 and equations.constraint_order == 1
print(equations.C)

# At random states, the accelerations of the textbook.
random = np.random.default_rng(7)
for _ in range(5):
    q, u = random.uniform(-2, 2, 2), random.uniform(-3, 3, 2)
    state = equations.consistent({"a": q[0], "b": q[1], "a.d": u[0], "b.d": u[1]})
    found = equations.acceleration({**state, "t1": 0.7, "t2": -0.2})
    du = np.array([found[equations.label(name)] for name in ("a", "b")])
    assert np.abs(by_hand(q, u, du) - [0.7, -0.2]).max() < 1e-10

# It swings from rest: the energy stays.
run = da.simulate(arm, 3.0, initial={"a": 0.0, "b": 0.5})
v = {name: run.values(name) for name in run.names}
energy = sum(
    m / 2 * (v[f"{part}.v.x"] ** 2 + v[f"{part}.v.y"] ** 2) + inertia / 2 * v[f"{part}.omega"] ** 2
    + m * G * v[f"{part}.p.y"]
    for part, m, inertia in (("first", M1, I1), ("second", M2, I2))
)  # fmt: skip
print(run.certificate)
assert run.certificate.trusted and np.abs(energy - energy[0]).max() < 1e-7

# Torques of a given motion, against the same formula.
motion = {"a": "0.3 + 0.5*sin(2*t)", "b": "0.8 - 0.4*cos(3*t)"}
torques = da.inverse_dynamics(arm, motion, 2.0, unknowns=["t1", "t2"])
t = torques.values("time")
s = sp.Symbol("t")
laws = [sp.sympify(text) for text in motion.values()]
levels = [np.array([sp.lambdify(s, sp.diff(law, s, k), "numpy")(t) for law in laws]) for k in range(3)]
expected = np.array([by_hand(*(level[:, k] for level in levels)) for k in range(len(t))])
assert torques.certificate.trusted
assert np.abs(np.column_stack([torques.values("t1"), torques.values("t2")]) - expected).max() < 1e-9

# Hanging straight down: two frequencies, those of M and of the stiffness of gravity.
hanging = da.linearize(arm, {"a": -np.pi / 2, "b": 0.0})
half = L2 / 2
M = np.array([[by_hand(np.array([-np.pi / 2, 0]), np.zeros(2), unit)[i] for unit in np.eye(2)] for i in range(2)])
K = G * np.array([[M1 * L1 / 2 + M2 * (L1 + half), M2 * half], [M2 * half, M2 * half]])
squares = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)
assert np.allclose(np.unique(np.round(np.abs(hanging.eigenvalues()) ** 2, 8)), squares, rtol=1e-7)
print("hanging, frequencies (rad/s):", *np.round(np.sqrt(squares), 4))

panels = [Plot("Angles of the given motion", "rad", {"a": levels[0][0], "b": levels[0][1]})]
panels.append(Plot("Torques that give it", "N m", {"t1": torques.values("t1"), "t2": torques.values("t2")}))
print("wrote", write_figure(plot_series(t, panels, title="RR mechanism"), OUT / "rr-mechanism.png"))
run.animate(OUT / "rr-mechanism.html")
