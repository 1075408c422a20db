"""Places where the printed text of the thesis is wrong (T1–T20): what is printed does not hold, what we compute does.

The table in docs/theory/modular-errata.md names these tests.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from five_bar import printed_row, robot
from sympy import cos, sin
from test_five_bar import number, symbol
from test_linear import ring_and_disc
from test_orders import pendulum, programmed, two_rods

import dalembert as da

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "modular-errata.md"


def real(names: str) -> tuple[sp.Symbol, ...]:
    return tuple(sp.Symbol(name, real=True) for name in names.split())


def number_at(expression: Any, values: dict[str, float]) -> float:
    return float(sp.S(expression).subs({symbol(name): value for name, value in values.items()}))


def test_T01_differences_of_a_complement_are_over_twice_the_step() -> None:
    """(4.21): B = [1 + x, −1] has C = (1, 1 + x); Γ⁺ − Γ⁻ over γ is twice its derivative."""
    step = 1e-3
    plus, minus = 1 + step, 1 - step
    assert (plus - minus) / step == pytest.approx(2.0)
    S = da.Subsystem("S")
    x, a, b = S.coordinates("x a b")
    S.effective_forces({x: -x.dd, a: -a.dd + 1, b: -b.dd})
    S.invariant((1 + x) * a.d - b.d)
    S.independent(x, a)
    C = S.equations().C
    assert [sp.diff(C[row, "a"], sp.Symbol("x", real=True)) for row in ("a", "b")] == [0, 1]
    # The balance along a: (1 + (1 + x)²) ä + … = 1, so ∂ä/∂x = −2/4 at rest at x = 0.
    linear = da.linearize(S, {"x": 0.0}, states="all")
    assert linear.A[linear.states.index("a.d"), linear.states.index("x")] == pytest.approx(-0.5, abs=1e-12)


@pytest.mark.parametrize("side", ["LR", "RL"])
def test_T02_the_weight_of_the_payload(side: str) -> None:
    """Example 4.3 (g): what our equations have and the printed ones lack is that weight, exactly."""
    eq = robot().equations()
    row = eq.expanded(eq.f_bar[f"R.H{side[0]}.theta"])
    printed, weight = printed_row(*side, symbol)
    left = number(row, "t2") - number(printed, "t2")
    assert abs(left) > 0.1
    assert left == pytest.approx(number(weight, "t2"), rel=1e-9)


def test_T03_boltzmann_hamel_needs_all_momenta() -> None:
    """(3.127) on the Chaplygin sleigh: with ∂T/∂q⟨1⟩ of independent velocities only, two terms are lost."""
    m, a, inertia, u, v, w = sp.symbols("m a I u v w")
    T = m * (u**2 + (v + a * w) ** 2) / 2 + inertia * w**2 / 2

    def turned(momenta: dict[Any, Any]) -> tuple[Any, Any]:
        """Transpositional terms with  d(δu) = w δv − v δw,  d(δv) = −w δu + u δw,  where v = 0 after all."""
        p = {key: value.subs(v, 0) for key, value in momenta.items()}
        return sp.expand(-p[v] * w), sp.expand(p[v] * u)

    every = {x: sp.diff(T, x) for x in (u, v, w)}
    assert turned(every) == (-m * a * w**2, m * a * u * w)
    assert turned(every | {v: sp.S.Zero}) == (0, 0)


def test_T04_dependent_rows_have_a_minus() -> None:
    """Example 2.4: A (1; +A⋆⁻¹ A#) is not zero, A (1; −A⋆⁻¹ A#) is."""
    P = two_rods(True)
    P.independent(P.z1, P.x2)
    eq = P.equations()
    state = eq.consistent()
    S = np.asarray(eq.at(state).S_rows(eq.top).to_array(), dtype=float)
    A = np.array([[number_at(entry, state) for entry in line] for line in eq.A.to_array()])
    assert np.abs(A @ S).max() < 1e-12
    free = [str(label.at(0)) in ("z1", "x2") for label in eq.top]
    printed = np.where(np.array(free)[:, None], S, -S)
    assert np.abs(A @ printed).max() > 0.1


def test_T05_the_mechanism_has_a_singularity_of_its_own() -> None:
    """Example 2.2: "full rank at every configuration" does not hold for ℓ₁ = ℓ₂, x₁ = x₂ = 0."""
    at = dict(zip(("x1", "y1", "z1", "x2", "y2", "z2"), (0, 0.6, 0.8, 0, 0, 0), strict=True))
    equal, unequal = (two_rods(False, 1.0, l2).equations() for l2 in (1.0, 2.0))
    assert equal.rank(at) == 3
    assert equal.rank(equal.consistent()) == unequal.rank(unequal.consistent()) == 4


def test_T06_a_cosine_in_V() -> None:
    """Example 4.1 (c): V.y.θ = ∂y/∂θ = r cos φ cos θ, not r cos φ sin θ."""
    r, phi, theta = real("r phi theta")
    found = sp.diff(r * sin(theta) * cos(phi), theta)
    assert sp.simplify(found - r * cos(phi) * cos(theta)) == 0
    assert sp.simplify(found - r * cos(phi) * sin(theta)) != 0
    P = da.Subsystem("P")
    R, a, b = P.parameters(r=1.0), *P.coordinates("phi theta")
    P.forces_along({R * sin(b) * cos(a): 1})
    assert sp.simplify(P.equations().f["theta"] - r * cos(phi) * cos(theta)) == 0


def test_T07_rows_that_are_orthogonal_to_the_radius() -> None:
    """Example 4.1 (k): (−y x 0), (−z 0 x) along (x, y, z) are zero; (−y 0 y), (−z x 0) are not."""
    P = pendulum(2)
    P.independent(P.y, P.z)
    x, y, z = real("x y z")
    C = P.equations().C
    rows = [[sp.simplify(C[row, column] * x) for row in ("x", "y", "z")] for column in ("y", "z")]
    assert rows == [[-y, x, 0], [-z, 0, x]]
    assert sp.expand(-y * x + 0 * y + y * z) != 0 and sp.expand(-z * x + x * y) != 0


def test_T08_rows_of_the_ring_and_the_disc() -> None:
    """Example 4.7 (b): with sin θ the disc stays at asin 3/5; the ring then accelerates with 294/73."""
    linear = da.linearize(ring_and_disc(), {"theta": float(np.arcsin(0.6))}, states="all")
    names = dict(zip(linear.states, linear.rates, strict=True))
    assert names["ring.u"] == pytest.approx(294 / 73, abs=1e-10)
    assert names["theta.d"] == pytest.approx(0, abs=1e-10)
    A = linear.A
    assert A[linear.states.index("theta.d"), linear.states.index("theta")] == pytest.approx(-125000 / 18031, abs=1e-8)


def test_T09_the_law_of_inputs_has_a_transpose() -> None:
    """Example 4.5 (h): u = Cᵀ M q̇⟨1⟩ + …: C M does not even multiply; power tells that Cᵀ is right."""
    S = da.Subsystem("S")
    m1, m2 = S.parameters(m1=2.0, m2=3.0)
    x, y = S.coordinates("x y")
    S.effective_forces({x: -m1 * x.dd + S.input("u"), y: -m2 * y.dd})
    S.invariant(y - x**2)
    S.independent(x)
    C = S.equations().C.to_array()
    assert C.shape == (2, 1)
    with pytest.raises(ValueError, match="matmul"):
        C @ np.diag([2.0, 3.0])
    run = da.inverse_dynamics(S, {"x": "0.3 + t"}, 1.0, unknowns=["u"], output_step=0.5)
    at = run.values("x")[-1]
    # q̈ = (0, 2 ẋ²) with ẋ = 1, Cᵀ = (1, 2x)
    assert run.values("u")[-1] == pytest.approx(2 * at * 3.0 * 2.0, rel=1e-9)


def test_T10_inertia_takes_accelerations() -> None:
    """(5.26): forces of inertia of a planar body are of order 2, and do not depend on its velocity in translation."""
    body = da.leaves.planar_body("B", 2)
    names = {str(s) for _, value in body.description().forces for s in value.free_symbols}
    assert {"v.x.d", "v.y.d", "omega.d"} <= names
    assert not {"v.x", "v.y", "omega"} & names


@pytest.mark.slow
def test_T11_the_guide_is_level() -> None:
    """5.3.1: from (0, 0.8) to (0.001, 0.8) the guide is level; to (0.001, 0.3) it would be upright."""
    right, printed = (np.arctan2(y - 0.8, 0.001) for y in (0.8, 0.3))
    assert right == 0.0 and abs(printed) > 1.5
    w = da.library.whitworth()
    run = da.inverse_dynamics(w, {"crank.angle": "pi/2*t"}, 1.0, output_step=0.25)
    assert np.abs(w.values(run, "slider.P.y") - 0.8).max() < 1e-10
    assert np.ptp(w.values(run, "slider.P.x")) > 0.05


@pytest.mark.slow
def test_T12_what_figure_5_12_shows_is_the_rocker() -> None:
    """−1.40 … 0.50 rad/s are ω r/(d + r) and −ω r/(d − r): the angular velocity of the rocker, and no velocity of P."""
    r, d, w = np.sqrt(0.02), 0.3, np.pi / 2
    assert (w * r / (d + r), -w * r / (d - r)) == pytest.approx((0.503247393378, -1.40084529440), abs=1e-10)
    m = da.library.whitworth()
    run = da.inverse_dynamics(m, {"crank.angle": "pi/2*t"}, 4.0, output_step=0.01)
    rocker, slider = m.values(run, "rocker.omega"), m.values(run, "slider.P.vx")
    assert (rocker.max(), rocker.min()) == pytest.approx((0.50325, -1.40085), abs=1e-4)
    assert slider.max() == pytest.approx(0.8706, abs=1e-4)


@pytest.mark.slow
def test_T13_the_platform_turns_by_a_fourth_power() -> None:
    """5.3.2: with (π/6) sin⁴(πt/4) the platform starts without turning; with (π/6) sin(πt/4) it would turn at once, and
    the third crank would not have the rate that the figures show."""
    t = sp.Symbol("t")
    laws = [sp.pi / 6 * sin(sp.pi * t / 4) ** power for power in (4, 1)]
    assert [float(sp.diff(law, t).subs(t, 0)) for law in laws] == pytest.approx([0.0, np.pi**2 / 24])
    w = da.library.three_rrr()
    found = []
    for power in ("**4", ""):
        motion = {"platform.center.x": "-sin(pi*t/2)", "platform.center.y": "sin(pi*t/4)"}
        motion["platform.angle"] = f"pi/6*sin(pi*t/4){power}"
        found.append(float(w.values(da.inverse_dynamics(w, motion, 0.02, output_step=0.01), "crank3.omega")[0]))
    assert found[0] == pytest.approx(0.8461489228, abs=1e-9)
    assert abs(found[1] - found[0]) > 0.1


@pytest.mark.slow
def test_T14_the_printed_tricycle_does_not_close() -> None:
    """Table 5.1: the kingpin is at −0.030 m by P and Q, at −0.020 m by K; no weights make the rows agree."""
    linear = da.linearize(da.library.tricycle(), {"x.d": "v"}, incompatible="least-squares")
    nearby = [abs(value) for name, value in linear.residual.items() if name.endswith("nearby")]
    assert max(nearby) > 1e-3
    with pytest.raises(da.DalembertError, match=r"contradict|does not meet"):
        da.linearize(da.library.tricycle(), {"x.d": "v"})


@pytest.mark.slow
def test_T15_steering_bars_move_their_own_mass() -> None:
    """(5.11): m_S and v̇_S, not those of the rear wheel. (z down, x ahead: what is right has y > 0.)"""
    T = da.library.tricycle()
    for side in "RL":
        forces = T._parts[f"S{side}"].part.description().forces
        names = {str(s) for _, value in forces for s in value.free_symbols}
        assert "m" in names and any(name.endswith(".d") for name in names)
        assert not any(name.startswith("W") for name in names)


def test_T16_multipliers_have_one_sign() -> None:
    """Always M u̇ + h = Q + Aᵀλ: a weight on a row that points up has λ = m g, and a joint pushes it up."""
    P = da.leaves.particle("P", "-y", axes="xy", m=2.0, g=9.8)
    P.invariants(P.x, P.y)
    found = da.equilibrium(P)[0].multipliers
    assert found["c2"] == pytest.approx(19.6, rel=1e-12) and found["c1"] == pytest.approx(0, abs=1e-12)
    model = da.Model("weight", gravity=(0, -9.8, 0))
    body = model.body("m", mass=2.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("hold", model.ground, body, point=(0, 0, 0), axis="z")
    force = np.ravel(da.simulate(model, 0.1).reaction("hold").values[-1])[-3:]
    assert force == pytest.approx([0, 19.6, 0], rel=1e-9, abs=1e-9)


def test_T17_counts_and_derivatives() -> None:
    """Footnote 9: rank A = ν(q⟨σ⟩) − ν#; (A.14): M = ∂²S/∂q̇∂q̇; 2.1 (a): the third component is q_z."""
    eq = two_rods(True).equations()
    assert eq.rank(eq.consistent()) == len(eq.top) - eq.degrees_of_freedom
    m, x, y = sp.symbols("m x y")
    S = m * (x**2 + y**2) / 2 + m * x * y / 3
    assert sp.hessian(S, (x, y)) == sp.Matrix([[m, m / 3], [m / 3, m]])
    leaf = da.leaves.gibbs_appell("P", "x y", "m*(x.dd**2 + y.dd**2)/2 + m*x.dd*y.dd/3", m=2.0)
    f = leaf.equations().f
    top = real("x.dd y.dd")
    M = [[-sp.diff(f[row], z) for z in top] for row in ("x", "y")]
    assert np.array(M, dtype=object).tolist() == [[real("m")[0], real("m")[0] / 3], [real("m")[0] / 3, real("m")[0]]]
    body = da.leaves.rigid_body("B", "quaternion")
    assert [str(one) for one in body.q] == ["q.w", "q.x", "q.y", "q.z"]


def test_T18_labels_are_not_used_twice() -> None:
    """2.6 (d), 2.7 (d): rows of v_x and v_y are two rows; a label that stood twice would be one."""
    eq = da.leaves.planar_body("B", 2).equations()
    rows = [str(row) for row in eq.S.rows]
    assert len(rows) == len(set(rows)) and {"v.x.d", "v.y.d"} <= set(rows)


def test_T19_mass_need_not_be_positive_definite() -> None:
    """Theorem 4.1: a motor's inductance stands in its "mass", a square of speed has none; the motion is unique."""
    eq = pendulum(3).equations()
    names = list(eq.top)
    M = np.array([[float(-sp.diff(eq.f.get(row, eq.f.columns[0]), c.symbol).subs(symbol("m"), 1)) for c in names]
                  for row in names])  # fmt: skip
    assert np.linalg.matrix_rank(M) == 3 and len(names) == 4
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(M)
    assert len(eq.acceleration(eq.consistent())) == 4


def test_T20_forces_are_differentiated_to_the_order_of_the_system() -> None:
    """(4.13) for σ = 3: f̄ names no variable of order 3; its derivative does, and then all of them are determined."""
    eq = programmed().equations()
    assert eq.order == 3 and eq.force_order == 2
    jerks = set(real("x.ddd y.ddd"))
    f_bar = eq.f_bar[eq.independent[0]]
    assert not f_bar.free_symbols & jerks
    assert eq.A.shape == (1, 2)  # one row for two unknowns, without the derivative of f̄
    assert len(eq.acceleration({"x.dd": 0, "y.dd": -3, "x.d": 0.3, "y.d": 0.1})) == 2


def test_every_row_of_the_page_names_its_test() -> None:
    page = PAGE.read_text(encoding="utf-8")
    here = sorted(name for name in globals() if re.match(r"test_T\d\d_", name))
    assert [name[5:8] for name in here] == [f"T{k:02}" for k in range(1, 21)]
    assert sorted(re.findall(r"`(test_T\d\d_\w+)`", page)) == here
