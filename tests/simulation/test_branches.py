"""Branches of formulas are frozen between events: what is behind an ``if`` is neither stepped over nor smeared."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support.pauses import leave_checkpoint

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.expressions import evaluate, parse, switches_in
from dalembert.model.flatten import flatten

INTEGRATORS = ("dopri8", "tsit5", "radau", "bdf")


def slider(force: str, q: float = 0.0, rate: float = 0.0):
    model = da.Model("slider", gravity=(0, 0, 0))
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", body, point=(0, 0, 0), axis="x")
    model.initial("P", q, rate=rate)
    model.joint_force("F", "P", force)
    return model


def switched(run) -> int:
    """How often formulas went over to another branch."""
    for remark in run.certificate.remarks:
        if "another branch" in remark:
            return 1 if "once" in remark else int(remark.split(" times")[0].split()[-1])
    return 0


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_a_thin_sheet_throws_back(integrator, rtol):
    """1 mm thick, 1e6 N/m: a mass of 1 kg at 0.8 m/s stays in it for half a period, π ms."""
    sheet = slider("-1e6*(q(P)-2) if abs(q(P)-2.0005) < 5e-4 else 0", rate=0.8)
    run = da.simulate(sheet, 4.0, integrator=integrator, rtol=rtol, atol=rtol / 100)
    exact = 2 - 0.8 * (1.5 - np.pi / 1000)
    assert run.values("q")[-1, 0] == pytest.approx(exact, abs=100 * rtol)
    assert run.values("u")[-1, 0] == pytest.approx(-0.8, abs=100 * rtol)
    assert run.certificate.trusted, run.certificate
    assert switched(run) == 4  # in, past the middle, back past it, out


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_short_pulse_is_felt_to_the_digit(integrator):
    run = da.simulate(slider("1000 if abs(t-5) < 0.005 else 0"), 10.0, integrator=integrator)
    assert run.values("u")[-1, 0] == pytest.approx(10.0, abs=1e-8)
    assert run.values("q")[-1, 0] == pytest.approx(50.0, abs=1e-7)
    assert run.certificate.trusted, run.certificate


def one_sided(t: np.ndarray) -> np.ndarray:
    """q̈ = −q − 48 q where q > 0, from q = 0 with q̇ = 1: half periods π/7 and π in turn."""
    period = np.pi / 7 + np.pi
    t = t % period
    return np.where(t < np.pi / 7, np.sin(7 * t) / 7, -np.sin(t - np.pi / 7))


@pytest.mark.parametrize(
    "force",
    ["-q(P) - (48*q(P) if q(P) > 0 else 0)", "-q(P) - 48*max(q(P), 0)", "-25*q(P) - 24*abs(q(P))",
     "-49*q(P) - 48*abs(min(q(P), 0))", "-25*q(P) - 24*sign(q(P))*q(P)"],
)  # fmt: skip
@pytest.mark.parametrize("integrator", ["dopri8", "radau"])
def test_kinks_cost_no_accuracy(force, integrator):
    run = da.simulate(slider(force, rate=1.0), 20.0, integrator=integrator, rtol=1e-9, atol=1e-11)
    assert np.abs(run.values("q")[:, 0] - one_sided(run.values("time"))).max() < 2e-7
    assert run.certificate.trusted
    assert switched(run) >= 11


def test_kinks_take_less_work_than_formulas_as_written(monkeypatch):
    model = slider("-q(P) - (48*q(P) if q(P) > 0 else 0)", rate=1.0)
    frozen = da.simulate(da.compile(model), 20.0, integrator="dopri8", rtol=1e-9, atol=1e-11, certify=False)
    monkeypatch.setattr(sys.modules["dalembert.model.flatten"], "MOST_BRANCHES", 0)
    written = da.simulate(da.compile(model), 20.0, integrator="dopri8", rtol=1e-9, atol=1e-11, certify=False)
    assert switched(written) == 0
    used, before = (run.certificate.counts["evaluations"] for run in (frozen, written))
    assert used < 0.7 * before
    errors = [np.abs(r.values("q")[:, 0] - one_sided(r.values("time"))).max() for r in (frozen, written)]
    assert errors[0] < errors[1]


def test_a_branch_that_ends_where_its_formula_ends_is_passed():
    """√q cannot be continued below zero."""
    run = da.simulate(slider("-sqrt(q(P)) if q(P) > 0 else 4*sqrt(-q(P))", q=1.0), 10.0)
    assert run.certificate.trusted, run.certificate
    assert run.values("q").min() < -0.1


def test_what_rests_where_signs_change_stays_at_rest():
    run = da.simulate(slider("-sign(u(P))"), 2.0)
    assert run.certificate.trusted and np.all(run.values("q") == 0)


def test_switching_back_and_forth_is_noticed_at_once():
    run = da.simulate(slider("-sign(u(P))", rate=1.0), 2.0)
    assert not run.certificate.finished
    assert "almost no progress" in run.certificate.message and "F" in run.certificate.message
    assert run.certificate.counts["steps"] < 1000
    assert run.values("time")[-1] == pytest.approx(1.0, abs=1e-6)


def test_an_event_at_the_place_of_a_switch_happens():
    """A contact that an event counts at the very place where its force begins."""
    model = slider("-q(P) - (48*q(P) if q(P) > 0 else 0)", q=-1.0)
    model.event("touch", "q(P)", direction="rising")
    model.event("leave", "q(P)", direction="falling")
    run = da.simulate(model, 20.0)
    period = np.pi / 7 + np.pi
    touches = [event.time for event in run.events if event.name == "touch"]
    np.testing.assert_allclose(touches, np.pi / 2 + period * np.arange(len(touches)), atol=1e-7)
    assert len(touches) == 6 and len(run.events) == 12


@pytest.mark.parametrize("formulation", ["lagrange-multipliers", pytest.param("hamilton", marks=pytest.mark.slow)])
def test_formulations_agree(formulation):
    model = da.library.pendulum()
    joint = model.joints[0].name
    model.joint_force("stop", joint, f"-200*(q({joint})-0.2) if q({joint}) > 0.2 else 0")
    kind = {"coordinates": "generalized"} if formulation == "hamilton" else {}
    run = da.simulate(model, 3.0, formulation=formulation, **kind, initial={joint: -0.5})
    other = da.simulate(model, 3.0, initial={joint: -0.5}, rtol=1e-12, atol=1e-14)
    assert switched(run) > 2
    np.testing.assert_allclose(run.joint(joint).q, other.joint(joint).q, atol=1e-7)


def test_a_run_with_branches_goes_on_from_a_checkpoint(tmp_path):
    model = slider("-q(P) - (48*q(P) if q(P) > 0 else 0)", rate=1.0)
    whole = da.simulate(model, 20.0)
    leave_checkpoint(model, 20.0, tmp_path / "c", steps=30)
    rest = da.simulate(model, 20.0, checkpoint=tmp_path / "c", checkpoint_interval=1e9)
    assert any("resumed" in remark for remark in rest.certificate.remarks)
    np.testing.assert_array_equal(rest.values("q"), whole.values("q"))
    assert rest.certificate.trusted and switched(rest) == switched(whole)


def test_samples_of_a_batch_run_as_alone():
    model = slider("-q(P) - (48*q(P) if q(P) > 0 else 0)")
    batch = da.simulate_many(model, 5.0, initial_rates={"P": np.array([0.5, 1.0])})
    alone = da.simulate(model, 5.0, initial_rates={"P": 1.0}, output_step=0.05)
    np.testing.assert_array_equal(batch.data.q.values[1], alone.values("q"))


def test_single_evaluations_take_formulas_as_written():
    dynamics = da.compile(slider("1 if q(P) > 0 else -1"))
    for q in (0.5, -0.5):
        assert dynamics.solve([q], [0.0])[0][0] == pytest.approx(np.sign(q))
    with pytest.raises(da.DalembertError, match="unknown parameters"):
        da.simulate(dynamics, 1.0, parameters={"F.branch 1": 1.0})


@pytest.mark.parametrize(
    ("text", "count"), [("abs(q(P))", 1), ("sin(q(P))", 0), ("max(1, 2*k)", 0), ("sign(t-1) + abs(t-1)", 1),
                        ("1 if abs(q(P)-1) < 2 else 0", 2), ("min(q(P), min(t, 1))", 2)],
)  # fmt: skip
def test_switching_functions_are_found(text, count):
    assert len(list(switches_in(parse(text)))) == count


@pytest.mark.parametrize(
    "text", ["abs(x)", "sign(x)", "max(x, 1-x)", "min(x, min(1-x, 0.2))", "x**2 if x > 0.3 else 1-x"]
)
@pytest.mark.parametrize("x", [-0.7, 0.1, 0.9])
def test_chosen_branches_equal_the_formula_where_they_hold(text, x):
    formula = parse(text)
    value = evaluate(NUMPY, formula, lambda _: x)
    switches = _all_switches(formula)
    signs = {switch: float(np.sign(evaluate(NUMPY, switch, lambda _: x))) for switch in switches}
    assert evaluate(NUMPY, formula, lambda _: x, signs) == pytest.approx(value)
    assert evaluate(NUMPY, formula, lambda _: x, dict.fromkeys(switches, 0.0)) == pytest.approx(value)
    turned = evaluate(NUMPY, formula, lambda _: x, {switch: -sign for switch, sign in signs.items()})
    assert turned != pytest.approx(value)


def _all_switches(formula):
    import sympy as sp

    from dalembert.expressions.branches import switches_of

    return [switch for node in sp.postorder_traversal(formula) for switch in switches_of(node)]


@pytest.mark.parametrize("integrator", ["dopri8", "tsit5", "radau", "bdf"])
@pytest.mark.parametrize("amplitude", [0.9999, 0.99999])
def test_events_that_cross_twice_within_a_step_are_found(integrator, amplitude):
    """sin t through nearly its maximum: windows of 28 and 9 ms in steps of up to a second."""
    model = slider("-q(P)", rate=1.0)
    model.event("hit", f"q(P) - {amplitude}", direction="rising")
    run = da.simulate(model, 100.0, integrator=integrator, rtol=1e-8, atol=1e-10)
    expected = np.arcsin(amplitude) + 2 * np.pi * np.arange(16)
    np.testing.assert_allclose([event.time for event in run.events], expected, atol=2e-3)


def test_models_without_branches_have_no_switches():
    assert flatten(da.library.four_bar()).branches == {}
    assert da.compile(da.library.four_bar()).kernels.n_branches == 0


@pytest.mark.parametrize("how", [{}, {"integrator": "rk4", "step": 0.003}], ids=str)
def test_branches_are_frozen_in_batches_too(how):
    """Steps in vector registers took formulas as they are written: 5e-6 from the run alone."""
    model = slider(
        "-100*(q(P)-2) if q(P) > 2 else 0" if how else "-1e6*(q(P)-2) if abs(q(P)-2.0005) < 5e-4 else 0", rate=0.8
    )
    alone = da.simulate(model, 4.0, output_step=0.04, **how)
    assert not any("not located as events" in remark for remark in alone.certificate.remarks)
    batch = da.simulate_many(model, 4.0, initial_rates={"P": [0.8, 0.5]}, **how)
    np.testing.assert_allclose(np.asarray(batch.data.q)[0, -1], alone.values("q")[-1], atol=1e-9)


@pytest.mark.parametrize("integrator", ["dopri8", "radau"])
def test_branches_of_drives_are_frozen(integrator):
    """A mass on a spring behind a driven one: from 0.5 s on it is forced by a = 2 m/s²."""
    model = slider("0")
    model.body("c", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("B", "b", "c", point=(0, 0, 0), axis="x")
    model.drive("P", "max(t - 0.5, 0)**2")
    model.torsional_spring("spring", "B", stiffness=25.0)
    run = da.simulate(model, 1.0, integrator=integrator, rtol=1e-9, initial={"P": 0.0}, initial_rates={"P": 0.0})
    remarks = run.certificate.remarks
    assert run.certificate.trusted and not any("not located as events" in remark for remark in remarks)
    later = np.maximum(run.values("time") - 0.5, 0.0)
    np.testing.assert_allclose(run.joint("P").q.values.squeeze(), later**2, atol=1e-12)
    np.testing.assert_allclose(run.joint("B").q.values.squeeze(), -2 / 25 * (1 - np.cos(5 * later)), atol=1e-8)
    assert switched(run) == 1


def test_a_drive_that_jumps_is_not_trusted():
    """10 ms at another place: no step over it, and no motion that a mass could make."""
    model = slider("0")
    model.drive("P", "0.1 if abs(t - 0.5) < 0.005 else 0")
    run = da.simulate(model, 1.0, initial={"P": 0.0}, initial_rates={"P": 0.0})
    assert not run.certificate.trusted and any("another branch" in remark for remark in run.certificate.remarks)


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "natural"])
def test_branches_of_equations_are_frozen(coordinates):
    """A track that begins to bend: energy is kept, and the place is the same in all coordinates."""
    model = da.Model("track", gravity=(0, -9.81, 0))
    model.body("a", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.planar_translation("P", "ground", "a", point=(0, 0, 0), axis="z")
    model.constraint("track", "y(a) - max(x(a) - 0.5, 0)**2 + 0.2*x(a)")
    model.initial("P", (0, 0), rate=(1, -0.2))
    run = da.simulate(model, 1.0, rtol=1e-9, coordinates=coordinates)
    assert run.certificate.trusted and switched(run) == 1
    np.testing.assert_allclose(run.body("a").position.values[-1], (0.93685316, 0.00347005, 0.0), atol=2e-8)


@pytest.mark.parametrize("exponent", [1, 1.5])
def test_radau_is_as_accurate_where_surfaces_touch(exponent):
    """Its estimate has order 3, and rtol^2/3 is allowed: right for smooth motion only, not beside a kink or x^3/2."""
    model = da.Model("bounce", gravity=(0, 0, 0))
    model.body("b", mass=1, com=(0, 1, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", "b", point=(0, 1, 0), axis="y")
    model.initial("P", 0.0, rate=-3.0)
    model.stop("floor", "q(P)", lower=-0.5, stiffness=1e3, exponent=exponent)
    dynamics = da.compile(model)
    for rtol in (1e-6, 1e-7, 1e-8, 1e-9):
        run = da.simulate(dynamics, 1.0, integrator="radau", rtol=rtol, certify=False)
        assert run.values("u")[-1, 0] == pytest.approx(3.0, rel=6 * rtol)  # nothing is lost
