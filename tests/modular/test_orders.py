"""Orders, degrees of freedom, ranks and accelerations of small systems, in all descriptions (checks 3–5, 21)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from sympy import cos, sin

import dalembert as da

R, G, TH, PH, THD, PHD = 1.3, 9.8, 0.7, 0.4, 1.1, -0.6


def pendulum(version: int) -> da.Subsystem:
    """The spherical pendulum of example 4.1; x down."""
    P = da.Subsystem("P")
    m, g, r = P.parameters(m=1, g=G, r=R)
    if version == 1:
        phi, theta = P.coordinates("phi theta")
        s, c = sin(theta), cos(theta)
        P.effective_forces(
            {
                theta: -m * r**2 * (theta.dd - s * c * phi.d**2) - m * g * r * s,
                phi: -m * r**2 * (s**2 * phi.dd + 2 * s * c * theta.d * phi.d),
            }
        )
        return P
    x, y, z = P.coordinates("x y z")
    P.effective_forces({x.dd: m * g - m * x.dd, y.dd: -m * y.dd, z.dd: -m * z.dd})
    P.invariant(x**2 + y**2 + z**2 - r**2)
    if version == 3:
        v = P.quasi_velocity("v")
        P.invariant(x.d**2 + y.d**2 + z.d**2 - v)
    return P


def cartesian_state() -> dict[str, float]:
    t, p = sp.symbols("t p")
    place = [R * sp.cos(t), R * sp.sin(t) * sp.cos(p), R * sp.sin(t) * sp.sin(p)]
    at = {t: TH, p: PH}
    state = {}
    for name, value in zip("xyz", place, strict=True):
        state[name] = float(value.subs(at))
        state[f"{name}.d"] = float((sp.diff(value, t) * THD + sp.diff(value, p) * PHD).subs(at))
    return state


def sphere() -> da.Subsystem:
    """A sphere that rolls on a plane, angular velocity in world axes."""
    S = da.Subsystem("S")
    r = S.parameters(r=0.2)
    x, y = S.coordinates("x y")
    wx, wy, _ = S.quasi_velocity("w.x w.y w.z")
    S.invariants(x.d - r * wy, y.d + r * wx)
    return S


def programmed() -> da.Subsystem:
    """A particle whose acceleration has a given size."""
    P = da.Subsystem("P")
    m, g, size = P.parameters(m=2, g=9.8, A=3)
    x, y = P.coordinates("x y")
    P.effective_forces({x: -m * x.dd, y: -m * y.dd - m * g})
    P.invariant(x.dd**2 + y.dd**2 - size**2)
    return P


@pytest.mark.parametrize(
    ("system", "order"),
    [(pendulum(1), 0), (pendulum(2), 1), (pendulum(3), 2), (sphere(), 1), (programmed(), 3)],
    ids=["minimal", "cartesian", "with square of speed", "rolling sphere", "size of acceleration"],
)
def test_constraint_order(system: da.Subsystem, order: int) -> None:
    assert system.equations().constraint_order == order


def test_pendulum_in_minimal_coordinates() -> None:
    eq = pendulum(1).equations()
    found = eq.acceleration({"phi": PH, "theta": TH, "phi.d": PHD, "theta.d": THD})
    assert found[eq.label("phi")] == pytest.approx(1.567159218407, abs=1e-10)
    assert found[eq.label("theta")] == pytest.approx(-4.679029306240, abs=1e-10)


def test_forces_along_points() -> None:
    """f = Vᵀ f′ of a particle whose place is a formula of angles: the first description of example 4.1, by its V."""
    P = da.Subsystem("P")
    m, g, r = P.parameters(m=1, g=G, r=R)
    phi, theta = P.coordinates("phi theta")
    x, y, z = r * cos(theta), r * sin(theta) * cos(phi), r * sin(theta) * sin(phi)
    P.forces_along({x: m * g - m * P.rate(x, 2), y: -m * P.rate(y, 2), z: -m * P.rate(z, 2)})
    eq = P.equations()
    found = eq.acceleration({"phi": PH, "theta": TH, "phi.d": PHD, "theta.d": THD})
    assert found[eq.label("phi")] == pytest.approx(1.567159218407, abs=1e-10)
    assert found[eq.label("theta")] == pytest.approx(-4.679029306240, abs=1e-10)


def test_forces_along_velocities_of_parts() -> None:
    """A force at a point of a body acts on velocity and angular velocity; with kinematics, through them."""
    S = da.Subsystem("S")
    B = da.leaves.planar_body("B", "newton-euler", m=2, I=0.5)
    S.include(B)
    S.forces_along({B.p.y + 0.3 * sin(B.th): 5.0})
    eq = S.equations()
    found = eq.acceleration({"B.th": 0.4, "B.omega": 0.0})
    assert found[eq.label("B.v.y")] == pytest.approx(2.5)
    assert found[eq.label("B.omega")] == pytest.approx(5 * 0.3 * math.cos(0.4) / 0.5)


@pytest.mark.parametrize("version", [2, 3])
def test_pendulum_in_redundant_coordinates(version: int) -> None:
    eq = pendulum(version).equations()
    state = cartesian_state()
    if version == 3:
        state["v"] = sum(state[f"{name}.d"] ** 2 for name in "xyz")
        assert state["v"] == pytest.approx(2.29739599513, abs=1e-10)
    found = eq.acceleration(state)
    expected = {"x": 2.71551071, "y": -5.49613952, "z": -2.32373052}
    for name, value in expected.items():
        assert found[eq.label(name)] == pytest.approx(value, abs=1e-8)
    if version == 3:
        assert found[eq.label("v")] == pytest.approx(-18.0561333379, abs=1e-9)
    assert eq.degrees_of_freedom == 2


def test_energy_of_the_square_of_speed_is_kept() -> None:
    """d/dt ½m(v − 2 g x) = 0 along the motion."""
    eq = pendulum(3).equations()
    state = cartesian_state()
    state["v"] = sum(state[f"{name}.d"] ** 2 for name in "xyz")
    found = eq.acceleration(state)
    assert found[eq.label("v")] == pytest.approx(2 * G * state["x.d"], abs=1e-10)


def test_order_three_keeps_the_direction() -> None:
    """Check 21: ẍ²+ÿ² = A², from a = (0, −A): f̄ = −m g ẍ up to a factor, so ẍ = 0 for ever."""
    eq = programmed().equations()
    assert (eq.order, eq.force_order, eq.degrees_of_freedom) == (3, 2, 1)
    f = sp.simplify(eq.f_bar[eq.independent[0]] * sp.Symbol("y.dd", real=True))
    x, m, g = sp.Symbol("x.dd", real=True), sp.Symbol("m", real=True), sp.Symbol("g", real=True)
    other = sp.simplify(eq.f_bar[eq.independent[0]] * x)
    assert sp.expand(f - m * g * x) == 0 or sp.expand(other + m * g * x) == 0
    found = eq.acceleration({"x.dd": 0, "y.dd": -3, "x.d": 0.3, "y.d": 0.1})
    assert found[eq.label("x")] == pytest.approx(0, abs=1e-12)
    assert found[eq.label("y")] == pytest.approx(0, abs=1e-12)


def two_rods(theta: bool, l1: float = 1.0, l2: float = 2.0, height: float = 0.0) -> da.Subsystem:
    """Examples 2.2 and 2.3: two rods on ball joints, a slider on the line y = height, z = 0; θ between the rods."""
    P = da.Subsystem("P")
    a, b, h = P.parameters(l1=l1, l2=l2, h=height)
    x1, y1, z1, x2, y2, z2 = P.coordinates("x1 y1 z1 x2 y2 z2")
    P.invariants(
        x1**2 + y1**2 + z1**2 - a**2, (x1 - x2) ** 2 + (y1 - y2) ** 2 + (z1 - z2) ** 2 - b**2, y2 - h, z2
    )  # fmt: skip
    if theta:
        angle = P.coordinates("theta")
        P.invariant(x2**2 + y2**2 + z2**2 - a**2 - b**2 - 2 * a * b * cos(angle))
    return P


def place(*values: float) -> dict[str, float]:
    return dict(zip(("x1", "y1", "z1", "x2", "y2", "z2", "theta"), values, strict=False))


def test_singularities_of_the_description_and_of_the_mechanism() -> None:
    eq = two_rods(True).equations()
    assert (eq.constraint_order, eq.degrees_of_freedom) == (1, 2)
    assert eq.rank(eq.consistent()) == 5
    stretched = [place(s, 0, 0, s * 3, 0, 0, 0) for s in (1, -1)] + [place(s, 0, 0, -s, 0, 0, math.pi) for s in (1, -1)]
    assert [eq.rank(one) for one in stretched] == [4, 4, 4, 4]
    without = two_rods(False).equations()
    assert without.degrees_of_freedom == 2
    assert [without.rank({k: v for k, v in one.items() if k != "theta"}) for one in stretched] == [4, 4, 4, 4]
    # The mechanism's own: rods of equal length, both ends of the second one at the origin's plane.
    equal = two_rods(False, 1.0, 1.0).equations()
    assert equal.rank(place(0, 0.6, 0.8, 0, 0, 0)) == 3


def test_singularities_of_the_variant() -> None:
    eq = two_rods(True, 1.0, 2.0, 1.0).equations()
    r = 2 * math.sqrt(2)
    places = [
        place(-r / 3, 1 / 3, 0, -r, 1, 0, 0),
        place(r / 3, 1 / 3, 0, r, 1, 0, 0),
        place(0, -1, 0, 0, 1, 0, math.pi),
    ]
    assert [eq.rank(one) for one in places] == [4, 4, 3]


def test_dependent_rows_have_the_right_sign() -> None:
    """T4: S⋆ = −A⋆⁻¹ A#, for # = (ż₁, ẋ₂)."""
    P = two_rods(True)
    P.independent(P.z1, P.x2)
    S = P.equations().S
    x1, y1, z1, x2, l1, l2, th = (sp.Symbol(n, real=True) for n in ("x1", "y1", "z1", "x2", "l1", "l2", "theta"))
    line = {sp.Symbol("y2", real=True): 0, sp.Symbol("z2", real=True): 0}
    expected = {
        ("x1", "z1"): 0,
        ("x1", "x2"): 1 - x1 / x2,
        ("y1", "z1"): -z1 / y1,
        ("y1", "x2"): -x1 * (x2 - x1) / (y1 * x2),
        ("theta", "x2"): -x2 / (l1 * l2 * sin(th)),
    }
    for (row, column), value in expected.items():
        assert sp.simplify(S[row, column].subs(line) - value) == 0, (row, column)


def test_classes_of_invariants() -> None:
    kinds = [one.kind for system in (pendulum(3), sphere(), programmed()) for one in system.equations().invariants]
    assert kinds == ["holonomic", "nonholonomic", "simple nonholonomic", "simple nonholonomic", "nonholonomic"]
    P = da.Subsystem("P")
    x, y = P.coordinates("x y")
    P.invariant(y * x.d + x * y.d - sp.Symbol("t"))
    (only,) = P.equations().invariants
    assert (only.kind, only.rheonomic) == ("holonomic", True)


def test_symbols_numbers_and_graphs_agree() -> None:
    eq = pendulum(3).equations()
    state = eq.consistent()
    numeric = eq.at(state)
    values = eq.values(state)
    for name in ("B", "C", "f", "f_bar"):
        symbolic = getattr(eq, name).map(
            lambda v: float(v.subs({s: values[s.name] for s in v.free_symbols})), da_numpy()
        )
        traced = getattr(eq.casadi.composed[()], name)
        for row in symbolic.rows:
            for column in symbolic.columns:
                a = getattr(numeric, name).get(row, column)
                assert symbolic.get(row, column) == pytest.approx(a, abs=1e-12)
                assert graph_value(eq, traced.get(row, column), values) == pytest.approx(a, abs=1e-12)


def da_numpy() -> object:
    from dalembert.algebra import NUMPY

    return NUMPY


def graph_value(eq: object, scalar: object, values: dict[str, float]) -> float:
    import casadi as ca

    if isinstance(scalar, float):
        return scalar
    symbols = ca.symvar(scalar.sx)  # type: ignore[attr-defined]
    return float(ca.Function("v", symbols, [scalar.sx])(*[values[s.name()] for s in symbols]))  # type: ignore[attr-defined]


def test_any_higher_order_gives_the_same_A() -> None:
    P = pendulum(2)
    rows = [P.equations(order=order).A.to_array().tolist() for order in (2, 3, 4)]
    assert rows[0] == rows[1] == rows[2]
    assert np.shape(rows[0]) == (1, 3)
