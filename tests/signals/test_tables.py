"""Functions given by points: against SciPy's splines, in every algebra, with exact derivatives, through files."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import CubicSpline

import dalembert as da
from dalembert.algebra import NUMPY, Jets
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.expressions import TIME, Curve, evaluate
from dalembert.expressions.curves import call
from dalembert.io import dumps, loads

X = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 3.0])
Y = np.array([0.2, -0.3, 0.5, 0.9, -0.4, 0.2])
INSIDE = np.linspace(0.01, 2.99, 53)


def at(curve: Curve, x: float, order: int = 0) -> float:
    return float(curve.value(NUMPY, x, order))


@pytest.mark.parametrize(("kind", "ends"), [("cubic", "not-a-knot"), ("periodic", "periodic")])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_cubic_tables_are_the_splines_of_scipy(kind: str, ends: str, order: int):
    curve, spline = Curve.of("f", X, Y, kind, "hold"), CubicSpline(X, Y, bc_type=ends)
    assert [at(curve, x, order) for x in INSIDE] == pytest.approx(spline(INSIDE, order), abs=1e-12)
    if kind == "periodic":
        assert [at(curve, x + 6.0, order) for x in INSIDE] == pytest.approx(spline(INSIDE, order), abs=1e-11)


@pytest.mark.parametrize("kind", ["cubic", "linear", "periodic"])
def test_all_algebras_agree_and_jets_have_exact_rates(kind: str):
    curve = Curve.of("f", X, Y, kind, "extrapolate")
    formula = call(curve, TIME**2)
    column, symbols = CASADI.symbols("x", 1)
    import casadi as ca

    traced = CASADI.to_sx([evaluate(CASADI, formula, lambda _: symbols[0])])
    function = ca.Function("f", [column], [traced, ca.jacobian(traced, column)])
    symbolic = sp.diff(formula, TIME)
    jets = Jets(NUMPY)
    for t in (-0.3, 0.2, 0.9, 1.1, 1.7):
        value, slope = (float(v) for v in function(t))
        assert value == pytest.approx(at(curve, t * t), abs=1e-13)
        assert slope == pytest.approx(2 * t * at(curve, t * t, 1), abs=1e-12)
        assert evaluate(NUMPY, symbolic, lambda _, t=t: t) == pytest.approx(slope, abs=1e-12)
        seen = evaluate(jets, formula, lambda _, t=t: jets.jets(np.array([t]), np.array([1.0]), np.array([0.0]))[0])
        assert float(seen.v) == pytest.approx(slope, abs=1e-12)
        second = 2 * at(curve, t * t, 1) + 4 * t * t * at(curve, t * t, 2)
        assert float(seen.a) == pytest.approx(second, abs=1e-11)


def test_rules_outside_the_range():
    hold, on = (Curve.of("f", X, Y, "cubic", outside) for outside in ("hold", "extrapolate"))
    assert [at(hold, x) for x in (-5.0, 9.0)] == pytest.approx([Y[0], Y[-1]])
    spline = CubicSpline(X, Y)
    assert at(on, 4.0) == pytest.approx(Y[-1] + float(spline(3.0, 1)))
    assert at(on, -2.0) == pytest.approx(Y[0] - 2 * float(spline(0.0, 1)))
    assert np.isnan(at(Curve.of("f", X, Y, "linear", "error"), 3.1))


def car(kind: str = "linear", outside: str = "hold") -> da.Model:
    """A wheel on a spring that follows a road."""
    model = da.Model("car", gravity=(0, 0, 0))
    model.body("wheel", mass=1)
    model.prismatic("heave", "ground", "wheel", point=(0, 0, 0), axis="z")
    model.table("road", x=[0, 1, 2, 3], y=[0, 1, 0, 0], kind=kind, outside=outside)
    model.joint_force("spring", "heave", value="100*(road(2*t) - q(heave))")
    return model


def test_a_run_steps_onto_the_kinks_of_a_linear_table():
    run = da.simulate(car(), 1.0, rtol=1e-10, atol=1e-10)
    assert run.certificate.trusted
    # z̈ = 100 (r − z) with a ramp r = 2 t from rest:  z = 2 t − 0.2 sin 10 t
    t = run.values("time")
    first = t <= 0.5
    assert run.values("q")[first, 0] == pytest.approx(2 * t[first] - 0.2 * np.sin(10 * t[first]), abs=1e-9)
    # After the kink the difference of the slopes starts another oscillation.
    later = t > 0.5
    s = t[later] - 0.5
    exact = 2 * t[later] - 0.2 * np.sin(10 * t[later]) - (4 * s - 0.4 * np.sin(10 * s))
    assert run.values("q")[later, 0] == pytest.approx(exact, abs=1e-9)


def test_tables_in_drives_have_exact_rates():
    model = car("cubic")
    model.forces.clear()
    model.drive("heave", "road(t)", name="cam")
    run = da.simulate(model, 1.9)
    spline = CubicSpline([0, 1, 2, 3], [0, 1, 0, 0])
    t = run.values("time")
    assert run.values("q")[:, 0] == pytest.approx(spline(t), abs=1e-9)
    assert run.reaction("cam").values.ravel() == pytest.approx(spline(t, 2), abs=1e-6)


def test_leaving_a_table_stops_the_run_and_says_so():
    run = da.simulate(car("cubic", "error"), 2.0)
    assert not run.certificate.trusted
    assert "table 'road' is given from 0 to 3" in str(run.certificate)


def test_tables_go_through_files_and_stand_in_all_formulas():
    model = car("periodic")
    model.state("filtered", rate="(road(2*t) - filtered)/0.1")
    model.output("height", "road(2*t)*filtered")
    model.event("top", "road(2*t) - 0.9")
    assert loads(dumps(model)) == model
    assert len(da.simulate(loads(dumps(model)), 1.0).events) == 2
    linear = da.linearize(model)
    assert linear.states == ("heave", "heave.d", "filtered")


MESSAGES = [
    ({"x": [0, 2, 1], "y": [0, 0, 0]}, "x must rise from point to point, but x[2] does not: 1 comes after 2"),
    ({"x": [0, 1, 1], "y": [0, 0, 0]}, "1 comes twice"),
    ({"x": [0, 1], "y": [0, 0, 0]}, "as many y as x"),
    ({"x": [0], "y": [0]}, "at least 2 points"),
    ({"x": [0, np.nan], "y": [0, 0]}, "finite"),
    ({"x": [0, 1, 2, 3], "y": [0, 1, 2, 3], "kind": "periodic"}, "must end as it begins"),
    ({"x": "road.csv", "y": [0]}, "expected a list of numbers"),
    ({"x": [0, 1], "y": [0, 0], "outside": "nowhere"}, "outside"),
]


@pytest.mark.parametrize(("fields", "words"), MESSAGES, ids=[words for _, words in MESSAGES])
def test_messages_about_points(fields: dict, words: str):
    with pytest.raises(da.ModelError) as caught:
        da.Model("m").table("road", **fields)
    assert words in str(caught.value)


def test_names_of_tables():
    model = car()
    model.table("sin", x=[0, 1], y=[0, 1])
    model.output("o", "road + 1")
    with pytest.raises(da.ModelError) as caught:
        model.validate()
    assert "a function of formulas has this name" in str(caught.value)
    assert "'road' is a table and needs an argument" in str(caught.value)
