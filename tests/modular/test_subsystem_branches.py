"""Branches of formulas of subsystems are chosen by modes that only events change, as those of models are."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sympy as sp

import dalembert as da


def mass(force, name: str = "mass") -> da.Subsystem:
    """ẍ = force(x)."""
    part = da.Subsystem(name)
    x = part.coordinates("x")
    part.effective_forces({x: force(x) - x.dd})
    return part


def one_sided(t: np.ndarray) -> np.ndarray:
    """ẍ = −x − 48 x where x > 0, from x = 0 with ẋ = 1: half periods π/7 and π in turn."""
    t = t % (np.pi / 7 + np.pi)
    return np.where(t < np.pi / 7, np.sin(7 * t) / 7, -np.sin(t - np.pi / 7))


def switched(run) -> int:
    for remark in run.certificate.remarks:
        if "another branch" in remark:
            return 1 if "once" in remark else int(remark.split(" times")[0].split()[-1])
    return 0


LAWS = {
    "max": lambda x: -x - 48 * sp.Max(x, 0),
    "abs": lambda x: -25 * x - 24 * sp.Abs(x),
    "if": lambda x: -x - sp.Piecewise((48 * x, x > 0), (0, True)),
    "sign": lambda x: -25 * x - 24 * sp.sign(x) * x,
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("integrator", ["dopri8", "tsit5", "radau", "bdf"])
@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
def test_kinks_cost_no_accuracy(law, integrator, rtol):
    start = {"x": 0.0, "x.d": 1.0}
    run = da.simulate(mass(LAWS[law]), 20.0, initial=start, integrator=integrator, rtol=rtol, atol=rtol / 100)
    error = np.abs(run["x"].values - one_sided(run.values("time"))).max()
    assert error < (3000 if integrator == "bdf" else 20) * rtol
    assert run.certificate.trusted and switched(run) == 11
    assert run.certificate.counts["rejected"] <= 20


def test_kinks_take_less_work_than_formulas_as_written(monkeypatch):
    options = {"initial": {"x": 0.0, "x.d": 1.0}, "rtol": 1e-9, "atol": 1e-11, "certify": False}
    frozen = da.simulate(mass(LAWS["max"], "frozen"), 20.0, **options)
    monkeypatch.setattr(sys.modules["dalembert.modular.system_branches"], "MOST_BRANCHES", 0)
    written = da.simulate(mass(LAWS["max"], "written"), 20.0, **options)
    assert switched(frozen) == 11 and switched(written) == 0
    used, before = (run.certificate.counts["evaluations"] for run in (frozen, written))
    assert used < 0.7 * before and written.certificate.counts["rejected"] > 50
    errors = [np.abs(run["x"].values - one_sided(run.values("time"))).max() for run in (frozen, written)]
    assert errors[0] < errors[1]


@pytest.mark.parametrize("formulation", ["modular", "null space"])
def test_as_the_same_model(formulation):
    """Two masses with a gap between them, each in a part, one of them given its force by the owner."""
    model = da.Model("gap", gravity=(0, 0, 0))
    for name in ("a", "b"):
        model.body(name, mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
        model.prismatic(f"P{name}", "ground", name, point=(0, 0, 0), axis="x")
        model.joint_force(f"hold {name}", f"P{name}", f"-q(P{name}) - 0.1*abs(u(P{name}))*u(P{name})")
    model.joint_force("push a", "Pa", "-400*max(q(Pa) - q(Pb) - 0.3, 0)")
    model.joint_force("push b", "Pb", "400*max(q(Pa) - q(Pb) - 0.3, 0)")
    model.initial("Pa", 0.0, rate=2.0)
    twin = da.simulate(model, 6.0, rtol=1e-11, atol=1e-13)
    whole = da.Subsystem("whole")
    parts = []
    for name in ("a", "b"):
        part = da.Subsystem(name)
        x, push = part.coordinates("x"), part.input("push")
        part.effective_forces({x: push - x - 0.1 * sp.Abs(x.d) * x.d - x.dd})
        parts.append(part)
    a, b = whole.include(parts[0]), whole.include(parts[1])
    push = 400 * sp.Max(a.x - b.x - sp.Rational(3, 10), 0)
    whole.effective_forces({a.x: -push, b.x: push})
    run = simulate(whole, formulation)
    assert run.certificate.trusted and switched(run) == switched(twin) >= 6
    np.testing.assert_allclose(run["a.x"].values, twin.joint("Pa").q.values.squeeze(), atol=1e-8)
    np.testing.assert_allclose(run["b.x"].values, twin.joint("Pb").q.values.squeeze(), atol=1e-8)


def simulate(whole: da.Subsystem, way: str):
    from dalembert.analyses.simulation.options import Options
    from dalembert.analyses.simulation.simulate_system import simulate_system

    options = Options(initial={"a.x.d": 2.0, "a.x": 0.0, "b.x": 0.0, "b.x.d": 0.0}, rtol=1e-10, atol=1e-12)
    return simulate_system(whole, np.linspace(0, 6, 1001), options, None, None, False, way)


def test_what_an_owner_gives_has_branches_too():
    """ÿ = max(sin t, 0), given as an input by the owner of both masses: ẏ = 2 and y = 3π after one period."""
    follower = da.Subsystem("follower")
    y, push = follower.coordinates("y"), follower.input("push")
    follower.effective_forces({y: push - y.dd})
    whole = da.Subsystem("whole")
    first = whole.include(mass(lambda x: -x))
    whole.include(follower, inputs={"push": sp.Max(first.x, 0)})
    start = {"mass.x": 0.0, "mass.x.d": 1.0, "follower.y": 0.0, "follower.y.d": 0.0}
    run = da.simulate(whole, 2 * np.pi, initial=start, rtol=1e-10, atol=1e-12)
    assert run["follower.y.d"].values[-1] == pytest.approx(2.0, abs=1e-9)
    assert run["follower.y"].values[-1] == pytest.approx(3 * np.pi, abs=1e-8)
    assert switched(run) == 1 and run.certificate.counts["rejected"] <= 2


def test_inputs_of_time_have_branches_too():
    part = da.Subsystem("pushed")
    x, force = part.coordinates("x"), part.input("force")
    part.effective_forces({x: force - x.dd})
    pulse = {"force": "1000 if abs(t - 5) < 0.005 else 0"}
    run = da.simulate(part, 10.0, inputs=pulse, initial={"x": 0.0, "x.d": 0.0})
    assert run["x.d"].values[-1] == pytest.approx(10.0, abs=1e-8)
    assert run["x"].values[-1] == pytest.approx(50.0, abs=1e-7)
    assert run.certificate.trusted


def test_kinematics_have_branches_too():
    """ṡ = |v|: the way of an oscillator."""
    part = da.Subsystem("meter")
    s, x = part.coordinates("s x")
    part.kinematics({s.d: sp.Abs(x.d)})
    part.effective_forces({x: -x - x.dd})
    run = da.simulate(part, 4 * np.pi, initial={"s": 0.0, "x": 1.0, "x.d": 0.0}, rtol=1e-10, atol=1e-12)
    assert run["s"].values[-1] == pytest.approx(8.0, abs=1e-8)
    assert run.certificate.trusted and switched(run) >= 3


def track(height) -> da.Subsystem:
    """A mass point on y = height(x), from x = 0 at 1 m/s."""
    part = da.Subsystem("bead")
    x, y = part.coordinates("x y")
    part.effective_forces({x: -x.dd, y: -y.dd})
    part.invariant(y - height(x), "track")
    return part


@pytest.mark.parametrize("integrator", ["dopri8", "radau"])
def test_an_invariant_that_bends_smoothly(integrator):
    """Energy is kept, and the bead gets where the same model does."""
    model = da.Model("track", gravity=(0, 0, 0))
    model.body("a", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.planar_translation("P", "ground", "a", point=(0, 0, 0), axis="z")
    model.constraint("track", "y(a) - max(x(a) - 0.5, 0)**2")
    model.initial("P", (0, 0), rate=(1, 0))
    twin = da.simulate(model, 2.0, rtol=1e-11, atol=1e-13)
    bead, start = track(lambda x: sp.Max(x - sp.S.Half, 0) ** 2), {"x": 0.0, "x.d": 1.0}
    run = da.simulate(bead, 2.0, initial=start, integrator=integrator, rtol=1e-9, atol=1e-11)
    assert run.certificate.trusted, run.certificate
    assert switched(run) == 1
    speed = np.hypot(run["x.d"].values, run["y.d"].values)
    np.testing.assert_allclose(speed, 1.0, atol=1e-7)
    place = twin.body("a").position.values[-1]
    np.testing.assert_allclose([run["x"].values[-1], run["y"].values[-1]], place[:2], atol=1e-7)


def test_an_invariant_with_a_bend_ends_the_run():
    """Variables of any kind have no impulse, which would tell how they jump."""
    run = da.simulate(track(lambda x: sp.Max(x - sp.S.Half, 0)), 1.0, initial={"x": 0.0, "x.d": 1.0})
    assert not run.certificate.finished and run.values("time")[-1] == pytest.approx(0.5)
    assert "jump by 1, where invariant track switches to another branch" in run.certificate.message


def test_an_invariant_that_jumps_ends_the_run():
    height = lambda x: sp.Piecewise((sp.Rational(1, 10), x > sp.S.Half), (0, True))  # noqa: E731
    run = da.simulate(track(height), 1.0, initial={"x": 0.0, "x.d": 1.0})
    assert not run.certificate.finished and run.values("time")[-1] == pytest.approx(0.5, abs=1e-3)
    assert "invariant track" in run.certificate.message and "a jump of 0.1 in position" in run.certificate.message


def test_modes_are_no_parameters_of_the_user():
    with pytest.raises(da.DalembertError, match="no parameter 'branch 1'"):
        da.simulate(mass(LAWS["max"]), 1.0, parameters={"branch 1": 1.0})
    assert "branch 1" not in mass(LAWS["max"]).equations().parameters


def test_subsystems_without_branches_have_no_modes():
    from dalembert.modular.compiled_system import CompiledSystem

    equations = mass(lambda x: -x).equations()
    assert CompiledSystem(equations, chooses=True).kept().equations is equations
