"""Rigid bodies in all coordinates, models as leaves, relaxed invariants, kinematics of all kinds, equations to read."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError
from dalembert.modular.leaves import point, point_velocity, rotation

KINDS = [None, "position", "quaternion", "zxz", "xyz", "zyx redundant"]


@pytest.mark.parametrize("kind", KINDS)
def test_free_body_turns_by_euler(kind: str | None) -> None:
    B = da.leaves.rigid_body("B", kind, "-z", m=2, Ixx=1, Iyy=2, Izz=4)
    eq = B.equations()
    assert (eq.degrees_of_freedom, eq.constraint_order) == (6, 1)
    state = eq.consistent({"omega.x": 0.3, "omega.y": -0.4, "omega.z": 0.5})
    found = eq.acceleration(state)
    expected = [(2 - 4) * -0.4 * 0.5 / 1, (4 - 1) * 0.5 * 0.3 / 2, (1 - 2) * 0.3 * -0.4 / 4]
    assert [found[eq.label(f"omega.{a}")] for a in "xyz"] == pytest.approx(expected, abs=1e-12)
    assert found[eq.label("v.z")] == pytest.approx(-9.80665)


@pytest.mark.parametrize("kind", ["quaternion", "zxz", "xyz", "yzy redundant"])
def test_orientation_follows_omega_in_body_axes(kind: str) -> None:
    """Ṙ = R ω̂, from the kinematics that the leaf defines."""
    B = da.leaves.rigid_body("B", kind)
    eq = B.equations()
    state = eq.values(eq.consistent({"omega.x": 0.3, "omega.y": -0.4, "omega.z": 0.5}))
    d = B.description()
    R = rotation(B)
    plain = R.applyfunc(lambda value: B._formula(value))
    rate = plain.applyfunc(lambda value: d.rate(d.lively(value)))
    R0, R1 = (np.array(M.subs({s: state[s.name] for s in M.free_symbols}), dtype=float) for M in (plain, rate))
    hat = np.array([[0, -0.5, -0.4], [0.5, 0, -0.3], [0.4, 0.3, 0]])
    assert pytest.approx(np.eye(3), abs=1e-9) == R0.T @ R0
    assert pytest.approx(R0 @ hat, abs=1e-9) == R1


def test_points_of_a_body() -> None:
    B = da.leaves.rigid_body("B", "quaternion")
    d, place = B.description(), (0.1, -0.2, 0.3)
    eq = B.equations()
    state = eq.values(eq.consistent())
    for position, velocity in zip(point(B, place), point_velocity(B, place), strict=True):
        rate = d.rate(d.lively(B._formula(position)))
        given = B._formula(velocity)
        a, b = (float(e.subs({s: state[s.name] for s in e.free_symbols})) for e in (rate, given))
        assert a == pytest.approx(b, abs=1e-9)


@pytest.mark.parametrize("inertia", ["central", "spherical", "cylindrical x", "cylindrical z", "xy plane", "general"])
def test_inertias(inertia: str) -> None:
    eq = da.leaves.rigid_body("B", None, inertia=inertia).equations()
    assert len(eq.acceleration()) == 6


def test_gravity() -> None:
    for gravity, expected in (
        ("-z", (0, 0, -9.8)),
        ("+x", (9.8, 0, 0)),
        ((1, 2, 3), (1, 2, 3)),
        (math.pi / 6, (4.9, 0, 9.8 * math.cos(math.pi / 6))),
    ):
        values = {} if isinstance(gravity, tuple) else {"g": 9.8}
        eq = da.leaves.rigid_body("B", None, gravity, **values).equations()
        found = eq.acceleration()
        assert [found[eq.label(f"v.{a}")] for a in "xyz"] == pytest.approx(expected, abs=1e-12)


def body_pendulum() -> da.Subsystem:
    """Figure 5.1: a free body whose center is held on a sphere."""
    B = da.leaves.rigid_body("B", coordinates="position", gravity="-z", g=9.8)
    S = da.Subsystem("S")
    S.include(B)
    a = S.parameters(a=1.3)
    ph, th = S.coordinates("phi theta")
    S.invariants(B.p.x - a * sin(th) * cos(ph), B.p.y - a * sin(th) * sin(ph), B.p.z + a * cos(th))
    S.independent(ph.d, th.d, *B.omega)
    return S


def test_body_on_a_sphere() -> None:
    eq = body_pendulum().equations()
    ph, th, a = (sp.Symbol(n, real=True) for n in ("phi", "theta", "a"))
    expected = {
        ("B.v.x", "phi"): -a * sin(ph) * sin(th), ("B.v.y", "phi"): a * sin(th) * cos(ph), ("B.v.z", "phi"): 0,
        ("B.v.x", "theta"): a * cos(ph) * cos(th), ("B.v.y", "theta"): a * sin(ph) * cos(th),
        ("B.v.z", "theta"): a * sin(th),
    }  # fmt: skip
    for (row, column), value in expected.items():
        assert sp.expand(eq.S[row, column] - value) == 0
    state = eq.consistent({"theta": 0.7, "phi": 0.4, "theta.d": 1.1, "phi.d": -0.6})
    found = eq.acceleration(state)
    assert found[eq.label("phi")] == pytest.approx(1.567159218407, abs=1e-10)
    assert found[eq.label("theta")] == pytest.approx(-4.679029306240, abs=1e-10)


def test_equations_to_read() -> None:
    S = body_pendulum()
    eq = da.derive(S)
    text = eq.latex()
    assert r"\ddot{\theta}" in text
    assert r"\dot{p}_{\mathrm{B},x} &= v_{\mathrm{B},x}" in text
    explicit = eq.explicit()
    assert (len(explicit.kinematics), len(explicit.invariants), len(explicit.dynamics)) == (3, 3, 5)
    assert eq.singularities() == []


def test_relaxed_invariant_gives_the_force_of_a_constraint() -> None:
    """The normal force of an incline: N w is the power, w = y − x/2."""
    slider = da.Subsystem("slider")
    m, g = slider.parameters(m=2, g=9.8)
    x, y = slider.coordinates("x y")
    slider.effective_forces({x: -m * x.dd, y: -m * y.dd - m * g})
    slider.invariant(y - x / 2, "guide")
    S = da.Subsystem("S")
    S.include(slider)
    free = S.equations().acceleration()
    S.relax("slider", guide="N")
    eq = S.equations()
    assert eq.inputs == ("N",)
    assert eq.description.relaxed == (("slider.w_N", "N"),)
    # With w = 0 held, f̄ of w gives N; here from the accelerations of the constrained system.
    row = eq.f_bar["slider.w_N"]
    N = sp.Symbol("N", real=True)
    values = {str(label): value for label, value in free.items()} | {"slider.m": 2, "slider.g": 9.8}
    (found,) = sp.solve(row.subs({s: values[s.name] for s in row.free_symbols if s.name in values}), N)
    assert float(found) == pytest.approx(2 * 9.8 * 0.8)  # m g cos² of the slope, per unit of y
    # Other users of the slider are not touched.
    assert slider.equations().inputs == ()


def test_implicit_kinematics() -> None:
    """Four relations for the rates of a quaternion (example 2.1 (f)), solved; the same as the explicit ones."""
    B = da.Subsystem("B")
    w, x, y, z = B.coordinates("w x y z")
    o = B.quasi_velocity("o.x o.y o.z")
    B.kinematics(
        o[0] - 2 * (w * x.d - x * w.d - y * z.d + z * y.d), o[1] - 2 * (w * y.d - y * w.d - z * x.d + x * z.d),
        o[2] - 2 * (w * z.d - z * w.d - x * y.d + y * x.d), w * w.d + x * x.d + y * y.d + z * z.d,
    )  # fmt: skip
    B.invariant(w**2 + x**2 + y**2 + z**2 - 1)
    B.effective_forces({one: -one.d for one in o})
    eq = B.equations()
    state = eq.values(eq.consistent({"w": 0.8, "x": 0.0, "y": 0.6, "o.x": 0.3, "o.y": 1.0, "o.z": -0.2}))
    rates = {str(label): float(v.subs({s: state[s.name] for s in v.free_symbols})) for label, v in eq.rates.items()}
    q = np.array([state[n] for n in "wxyz"])
    from dalembert.algebra import NUMPY
    from dalembert.spatial import quaternion

    expected = quaternion.rate(NUMPY, q, np.array([0.3, 1.0, -0.2]))
    assert [rates[n] for n in "wxyz"] == pytest.approx(list(expected), abs=1e-9)
    assert [one.state for one in eq.invariants] == ["degenerate"]


def test_kinematics_that_are_not_affine_become_invariants() -> None:
    S = da.Subsystem("S")
    x = S.coordinates("x")
    v = S.quasi_velocity("v")
    S.kinematics(x.d**3 + x.d - v)
    S.effective_forces({v: -v.d + 1})
    eq = S.equations()
    assert eq.constraint_order == 2
    found = eq.acceleration({"x.d": 1.0, "v": 2.0})
    assert found[eq.label("v")] == pytest.approx(4 * found[eq.label("x")])


def test_more_relations_than_rates() -> None:
    """Two quasi-velocities for one coordinate: one relation is left as an invariant."""
    S = da.Subsystem("S")
    x = S.coordinates("x")
    u, v = S.quasi_velocity("u v")
    S.kinematics(x.d - u, x.d - 2 * v)
    S.effective_forces({u: -u.d, v: -v.d + 1})
    eq = S.equations()
    assert [one.label.name for one in eq.invariants] == ["k2"]
    found = eq.acceleration()
    assert found[eq.label("u")] == pytest.approx(2 * found[eq.label("v")])


def test_inputs_given_by_the_owner() -> None:
    motor = da.leaves.dc_motor("motor")
    S = da.Subsystem("S")
    s = S.coordinates("s")
    S.effective_forces({s: -s.dd})
    S.include(motor, inputs={"voltage": -3 * s})
    eq = S.equations()
    assert eq.inputs == ()
    found = eq.acceleration({"s": 0.5, "motor.i": 0.0, "motor.omega": 0.0, "motor.inductance": 0.1})
    assert found[eq.label("motor.i")] == pytest.approx(-15.0)


@pytest.mark.parametrize(
    "formulation", ["lagrange", "kane", pytest.param("hamilton", marks=pytest.mark.slow), "boltzmann-hamel"]
)
def test_a_model_as_a_leaf(formulation: str) -> None:
    model = da.library.double_pendulum()
    leaf = da.leaves.model(model, "D", formulation)
    eq = leaf.equations()
    names = [str(label) for label in eq.state if label.order == 0]
    state = dict(zip(names, (0.4, -0.9), strict=True))
    rates = {label: value for label, value in eq.rates.items() if label.order == 0}
    # Velocities of any kind that give the rates (0.3, 0.7).
    velocities = [label for label in eq.state if label.order == 1]
    known = eq.values(state)
    symbols = [label.symbol for label in velocities]
    equations = [
        value.subs({s: known[s.name] for s in value.free_symbols if s not in symbols}) - rate
        for value, rate in zip(rates.values(), (0.3, 0.7), strict=True)
    ]
    solved = sp.solve(equations, symbols)
    state |= {s.name: float(solved[s]) for s in symbols}
    power = eq.acceleration(state)
    # The accelerations of the coordinates, whatever the velocities are.
    values = eq.values(state) | {str(label): value for label, value in power.items()}
    d = eq.description
    seconds = [d.rate(value) for value in rates.values()]
    found = [float(v.subs({s: values[s.name] for s in v.free_symbols})) for v in seconds]
    dynamics = da.compile(model)
    expected = dynamics.acceleration([0.4, -0.9], [0.3, 0.7])
    assert found == pytest.approx(list(np.asarray(expected).reshape(-1)), abs=1e-9)


def test_formalisms_that_hide_constraints_are_refused() -> None:
    with pytest.raises(ModelError, match="Maggi's equations hold constraints and projected equations in one matrix"):
        da.leaves.model(da.library.knife_edge(), formulation="maggi")


def test_a_model_with_constraints_as_a_part() -> None:
    """A four-bar mechanism as a leaf moves as the model does."""
    model = da.library.four_bar()
    S = da.Subsystem("S")
    S.include(da.leaves.model(model, "M"))
    eq = S.equations()
    assert eq.degrees_of_freedom == 1
    state = eq.consistent()
    found = eq.acceleration(state)
    names = [str(label) for label in eq.state if label.order == 0]
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="generalized")
    q, u = [state[n] for n in names], [state[f"{n}.d"] for n in names]
    expected = np.asarray(dynamics.acceleration(q, u)).reshape(-1)
    assert [found[eq.label(n)] for n in names] == pytest.approx(list(expected), abs=1e-7)
