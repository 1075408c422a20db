"""Subsystems through time: compiled, led back onto their invariants, of any order."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.modular.compiled_system import CompiledSystem
from dalembert.netcdf import read_sealed, write_sealed

START = {"x": 1.0, "y": 0.5, "z.d": 0.3}


def pendulum():
    """A spherical pendulum by its three Cartesian coordinates, x downward."""
    P = da.Subsystem("P")
    m, g, r = P.parameters(m=1, g=9.8, r=1.3)
    x, y, z = P.coordinates("x y z")
    P.effective_forces({x: m * g - m * x.dd, y: -m * y.dd, z: -m * z.dd})
    P.invariant(x**2 + y**2 + z**2 - r**2)
    return P


def test_a_pendulum_moves_as_the_mechanism_does():
    run = da.simulate(pendulum(), 3.0, initial=START)
    model = da.Model("pendulum", gravity=(9.8, 0, 0))
    first = [float(run[name].values[0]) for name in ("x", "y", "z")]
    bob = model.body("bob", mass=1, com=first, inertia=(0.1, 0.1, 0.1))
    model.translational("T", "ground", bob)
    model.constraint("rod", "x(bob)**2 + y(bob)**2 + z(bob)**2 - 1.3**2")
    model.initial("T", (0, 0, 0), rate=[float(run[f"{name}.d"].values[0]) for name in ("x", "y", "z")])
    other = da.simulate(model, 3.0)
    assert run.certificate.trusted
    found = np.column_stack([run.values(name) for name in ("x", "y", "z")])
    np.testing.assert_allclose(found, other.body("bob").position, atol=1e-8)


def test_all_integrators_and_stabilizations_agree():
    runs = [
        da.simulate(pendulum(), 1.0, initial=START, **options)
        for options in (
            {}, {"integrator": "tsit5"}, {"integrator": "rk4"}, {"integrator": "radau", "rtol": 1e-10},
            {"integrator": "bdf", "rtol": 1e-9}, {"stabilization": "none"},
        )
    ]  # fmt: skip
    for run in runs[1:]:
        np.testing.assert_allclose(run.values("states")[-1], runs[0].values("states")[-1], atol=1e-6)


def test_the_jacobian_is_exact():
    problem, _ = CompiledSystem(pendulum().equations()).problem({}, ("rhs", "retract", "jacobian"))
    y, J = np.array([1.0, 0.5, 0.66, 0.1, -0.4, 0.3]), np.empty((6, 6))
    assert problem.jacobian(0.0, y, J) == 0
    differences, h = np.empty((6, 6)), 1e-6
    for j in range(6):
        ends = [np.empty(6), np.empty(6)]
        for sign, end in zip((1, -1), ends, strict=True):
            problem.rhs(0.0, y + sign * h * np.eye(6)[j], end)
        differences[:, j] = (ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose(J, differences, atol=1e-7)


def test_forces_are_differentiated_where_invariants_are_of_order_three():
    # |a| = g is kept, and the particle falls: f̄ = −m g ẍ, so ẍ = 0 for ever.
    P = da.Subsystem("P")
    m, g, a = P.parameters(m=2.0, g=9.81, a=9.81)
    x, y = P.coordinates("x y")
    P.effective_forces({x: -m * x.dd, y: -m * y.dd - m * g})
    P.invariant(x.dd**2 + y.dd**2 - a**2)
    run = da.simulate(P, 1.0, initial={"x.d": 1.0, "x.dd": 0.0, "y.dd": -9.81})
    assert run.certificate.trusted
    assert run.equations.order == 3
    np.testing.assert_allclose(run["x"], run.values("time"), atol=1e-12)
    np.testing.assert_allclose(run["y"], -9.81 / 2 * run.values("time") ** 2, atol=1e-12)


def test_a_motor_with_a_voltage_comes_to_its_speed():
    motor = da.Subsystem("M")
    omega, i = motor.variable("omega i", order=1)
    u = motor.input("u")
    J, R, L, k = motor.parameters(J=0.02, R=1.5, L=0.05, k=0.3)
    motor.effective_forces({omega: k * i - J * omega.d, i: u - R * i - L * i.d - k * omega})
    run = da.simulate(motor, 5.0, inputs={"u": 6})
    assert float(run["omega"][-1]) == pytest.approx(6 / 0.3, rel=1e-6)
    assert float(run["i"][-1]) == pytest.approx(0.0, abs=1e-4)
    # Linear: the matrix exponential is the solution.
    from scipy.linalg import expm

    A = np.array([[0, 0.3 / 0.02, 0], [-0.3 / 0.05, -1.5 / 0.05, 6 / 0.05], [0, 0, 0]])
    at = run.values("time")[137]
    np.testing.assert_allclose(run.values("states")[137], (expm(A * at) @ [0, 0, 1])[:2], atol=1e-8)
    assert (run["u"] == 6).all()


def test_runs_are_saved_plotted_and_read(tmp_path):
    run = da.simulate(pendulum(), 0.5, initial=START)
    again = da.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(again["x.d"], run["x.d"])
    assert again.certificate == run.certificate
    run.plot(tmp_path / "run.png", quantities=["x", "x.dd"])
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert "trusted" in repr(again)


@pytest.mark.parametrize("change", ["model", "events", "parameters", "states", "times"])
def test_saved_runs_with_a_new_seal_are_refused_in_words(tmp_path, change):
    """They loaded, and what was asked of them later raised whatever it met."""
    data, _ = read_sealed(da.simulate(pendulum(), 0.1, initial=START).save(tmp_path / "run.nc"))
    if change == "model":
        del data.attrs["model"]
    elif change == "states":
        data["states"] = data["states"].mean()
    elif change == "times":
        data = data.isel(time=slice(0, 0))
    else:
        data.attrs[change] = "a"
    with pytest.raises(da.DalembertError, match="damaged"):
        da.load(write_sealed(tmp_path / "changed.nc", data))


@pytest.mark.parametrize("note", ["events", "parameters"])
def test_saved_runs_of_mechanisms_too(tmp_path, note):
    data, _ = read_sealed(da.simulate(da.library.pendulum(), 0.1).save(tmp_path / "run.nc"))
    data.attrs[note] = "[[3]]"
    with pytest.raises(da.DalembertError, match="damaged"):
        da.load(write_sealed(tmp_path / "changed.nc", data))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"initial": {"w": 1.0}}, "no state 'w'"),
        ({"initial": {"x": 5.0}}, "left over: c1"),
        ({"initial": {"x": "a"}}, "finite number"),
        ({"initial": [1]}, "dictionary"),
        ({"inputs": {"u": 1}}, "no input 'u'"),
        ({"parameters": {"mass": 1}}, "no parameter 'mass'"),
        ({"formulation": "kane"}, "leave out formulation"),
        ({"stabilization": "ggl"}, "stabilization"),
        ({"integrator": "munthe-kaas"}, "moves bodies itself"),
    ],
)
def test_wrong_options_are_refused_in_words(options, words):
    with pytest.raises(da.DalembertError, match=words):
        da.simulate(pendulum(), 1.0, **options)


def test_parameters_of_a_run_replace_those_of_the_subsystem():
    P = pendulum()
    light, heavy = (da.simulate(P, 1.0, initial=START, parameters={"g": g}) for g in (1.62, 9.8))
    assert abs(light["y"][-1] - heavy["y"][-1]) > 0.1
    assert light.certificate.trusted


def test_a_variable_that_nothing_determines_is_named():
    S = da.Subsystem("S")
    x, _ = S.coordinates("x y")
    S.effective_forces({x: -x.dd})
    with pytest.raises(da.ModelError, match=r"subsystem 'S': no equation determines y\.dd"):
        da.simulate(S, 1.0)


def test_branches_that_are_evaluated_as_written_are_named(monkeypatch):
    """Where there are too many: a force with sign and one with abs are named, and not abs of a parameter."""
    part = da.Subsystem("block")
    m, k = part.parameters(m=1.0, k=-2.0)
    x, z = part.coordinates("x z")
    part.effective_forces({x: -m * x.dd - sp.Abs(k) * x, z: -m * z.dd - sp.sign(z.d)})
    whole = da.Subsystem("whole")
    whole.include(part)
    y = whole.coordinates("y")
    whole.effective_forces({y: -y.dd - 0.1 * sp.Abs(y)})
    monkeypatch.setattr(sys.modules["dalembert.modular.system_branches"], "MOST_BRANCHES", 0)
    remarks = da.simulate(whole, 0.2, initial={"block.x": 1.0, "block.z.d": 3.0, "y": 0.5}).certificate.remarks
    (named,) = [text for text in remarks if "branches" in text]
    assert "formulas of the force on block.z, the force on y have branches" in named
    calm = da.simulate(part, 0.1, initial={"x": 1.0}).certificate.remarks
    assert any("force on z" in text for text in calm) and not any("force on x" in text for text in calm)
