"""Functions given by points: against SciPy's splines, in every algebra, with exact derivatives, through files."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import CubicSpline

import dalembert as da
from dalembert.algebra import NUMPY, Jets
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import compile_function
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


@pytest.mark.parametrize("outside", ["hold", "error"])
def test_a_drive_may_end_with_its_table(outside):
    """The last point was outside: velocities jumped there, at the last output."""
    model = da.library.pendulum()
    model.table("way", [0, 1, 2, 3], [0, 1, 0.5, 0.5], outside=outside)
    model.drive("pivot", "way(t)")
    run = da.simulate(model, 3.0)
    assert run.certificate.trusted
    assert float(run.joint("pivot").u[-1]) == pytest.approx(
        CubicSpline([0, 1, 2, 3], [0, 1, 0.5, 0.5])(3.0, 1), abs=1e-9
    )


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


@pytest.mark.parametrize("outside", ["hold", "extrapolate", "error"])
def test_long_tables_are_looked_up_with_exact_derivatives(outside):
    """100 000 points: value and two derivatives as SciPy's, in kernels of one state and of many."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.uniform(0.5, 1.5, 100_000))
    y = np.sin(x / 50) + 0.01 * rng.normal(size=len(x))
    curve, exact = Curve.of("road", x, y, "cubic", outside), CubicSpline(x, y)
    symbol, (scalar,) = CASADI.symbols("x", 1)
    value = CASADI.to_sx([curve.value(CASADI, scalar)])
    slope = ca.jacobian(value, symbol)
    outputs = {"y": value, "slope": slope, "bend": ca.jacobian(slope, symbol)}
    kernel = compile_function("road", {"x": symbol}, outputs)
    inside = np.concatenate([rng.uniform(x[0], x[-1], 100), x[[0, 1, 500, -2]]])
    found = kernel(inside[:, None])
    for order, part in enumerate(found):
        wanted = exact(inside, order)
        assert np.allclose(np.asarray(part).ravel(), wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    assert float(np.ravel(kernel(inside[:1])[0])[0]) == np.asarray(found[0]).ravel()[0]
    assert curve.value(NUMPY, float(inside[0]), 1) == pytest.approx(float(exact(inside[0], 1)), rel=1e-12)
    beyond = np.array([x[0] - 2.0, x[-1] + 2.0])
    ends = {"hold": y[[0, -1]], "error": [np.nan, np.nan], "extrapolate": y[[0, -1]] + exact(x[[0, -1]], 1) * [-2, 2]}
    assert np.allclose(np.asarray(kernel(beyond[:, None])[0]).ravel(), ends[outside], equal_nan=True)
    assert len(curve.kinks) <= 2


def test_long_tables_in_all_that_reads_them():
    """Explicit and implicit runs, drives and linear models agree with the formula behind the points."""
    s = np.linspace(0, 20, 2001)
    model = da.Model("wheel", gravity=(0, 0, 0))
    model.body("wheel", mass=20)
    model.prismatic("heave", "ground", "wheel", point=(0, 0, 0), axis="z")
    model.table("road", x=s, y=0.01 * np.sin(s))
    model.joint_force("tire", "heave", value="2e4*(road(8*t + q(heave)) - q(heave)) - 300*u(heave)")
    runs = [da.simulate(model, 1.0, integrator=name) for name in ("dopri8", "radau")]
    assert all(run.certificate.trusted for run in runs)
    assert np.allclose(runs[0].joint("heave").q, runs[1].joint("heave").q, atol=1e-7)
    slope = -(2e4 * (1 - 0.01)) / 20
    assert da.linearize(model, at={"heave": 0.0}).A[1, 0] == pytest.approx(slope, rel=1e-6)
    driven = da.Model("cam")
    driven.body("cam", mass=2.0)
    driven.prismatic("lift", "ground", "cam", point=(0, 0, 0), axis="x")
    driven.table("shape", x=s, y=np.sin(s))
    driven.drive("lift", "shape(t)", name="motor")
    run = da.simulate(driven, 3.0)
    assert np.allclose(run.reaction("motor"), -2 * np.sin(run.time), atol=1e-3)


def test_long_tables_in_c(tmp_path):
    """The written C gives the same bits, wherever there is a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    x = np.linspace(0, 10, 300)
    curve = Curve.of("road", x, np.sin(x), "cubic", "hold")
    symbol, (scalar,) = CASADI.symbols("x", 1)
    kernel = compile_function("road", {"x": symbol}, {"y": CASADI.to_sx([curve.value(CASADI, scalar)])})
    source, _ = kernel.export_c(tmp_path)
    library = tmp_path / "road.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).road
    for value in (-1.0, 0.0, 3.3, 9.999, 12.0):
        given, out, work = (ctypes.c_double * 1)(value), (ctypes.c_double * 1)(), (ctypes.c_double * 1000)()
        function(given, out, work)
        assert out[0] == pytest.approx(float(np.ravel(kernel(np.array([value])))[0]), rel=1e-14)
