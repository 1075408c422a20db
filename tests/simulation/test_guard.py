"""Nothing is stepped over: what is shorter than a step but longer than an output step is found."""

from __future__ import annotations

import numpy as np
import pytest
from support.magnet import magnet

import dalembert as da
from dalembert.analyses.simulation import event_handlers
from dalembert.dynamics.make_problem import find_straight

INTEGRATORS = ("dopri8", "tsit5", "radau")


def kick(force="1000 if abs(t-5)<0.005 else 0"):
    """A mass at rest; 1000 N push it for 10 ms: 10 m/s."""
    model = da.Model("kick", gravity=(0, 0, 0))
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", body, point=(0, 0, 0), axis="x")
    model.force("F", body, (force, 0, 0))
    return model


PULSE = "exp(-((t-5.03)/0.02)**2)"  # 5 output steps wide, while nothing moves


def windows():
    """What happens only within a window that no event or branch is monotone across."""
    for name, force in {"if": f"100 if {PULSE} > 0.5 else 0", "max": f"1000*max({PULSE} - 0.5, 0)"}.items():
        model = kick(force)
        yield name, model
    model = kick("k")
    model.parameters(k=0.0)
    model.event("pulse", f"{PULSE} - 0.5", direction="rising", set={"k": "5"})
    yield "event", model
    model = kick(f"20*{PULSE}")
    model.friction("seal", "P", constant=5.0)
    yield "sticks", model
    model = kick(f"20*{PULSE} - 5")
    model.limit("stop", "q(P)", lower=0.0)
    yield "rests", model


@pytest.mark.parametrize("integrator", [*INTEGRATORS, "bdf"])
@pytest.mark.parametrize(("name", "model"), list(windows()), ids=lambda given: given if isinstance(given, str) else "")
def test_what_begins_and_ends_within_a_step_is_found(name, model, integrator):
    """Events were looked for at eight places of a step, however long; nothing else sees what rests or sticks."""
    run = da.simulate(model, 10.0, integrator=integrator, rtol=1e-6)
    truth = da.simulate(model, 10.0, integrator="dopri8", rtol=1e-11, step=1e-3, certify=False)
    assert run.certificate.trusted
    assert np.abs(truth.values("q")).max() > 0.01
    np.testing.assert_allclose(run.values("q"), truth.values("q"), atol=1e-3 * np.abs(truth.values("q")).max())


def pushed(gap):
    """A mass that 1 N pushes; at 1 m/s, after 0.5 m, an event slows it down, and ``gap`` behind it passes a mark."""
    model = kick("1")
    model.event("slow", "u(P) - 1", direction="rising", rates={"P": "0.5"})
    model.event("mark", f"q(P) - {0.5 + gap!r}", direction="rising")
    return model


@pytest.mark.parametrize("integrator", [*INTEGRATORS, "bdf"])
@pytest.mark.parametrize("gap", [1e-12, 1e-8, 1e-4, 1e-2])
def test_an_event_right_behind_another_is_found(gap, integrator):
    """What the first one does moves its value away from zero: others need not be as far from theirs."""
    run = da.simulate(pushed(gap), 1.4, integrator=integrator)
    assert run.certificate.trusted and [event.name for event in run.events] == ["slow", "mark"]
    assert run.events[1].time - run.events[0].time == pytest.approx(2 * gap / (0.5 + np.sqrt(0.25 + 2 * gap)), rel=2e-3)


def straight(model):
    """Which events the state changes along a straight line, by name, at the start."""
    dynamics = da.compile(model)
    _, context = dynamics.problem({}, ("rhs", "retract"), (0.0, np.zeros(dynamics.nq + dynamics.nv + 1)))
    return dict(zip(dynamics.kernels.event_owners, find_straight(dynamics.kernels, context).tolist(), strict=True))


def test_events_are_bounded_within_steps_only_where_they_are_straight():
    model = kick("-q(P) - (48*q(P) if q(P) > 0 else 0)")
    formulas = {
        "passes": "q(P) - 0.3", "soon": "2*t - u(P)/k + k**2", "fast": "u(P)**2 - 1", "wave": "sin(t)",
        "step": "(1 if t > 2 else -1)", "size": "abs(q(P)) - 1", "product": "q(P)*u(P)", "pulse": f"{PULSE} - 0.5",
    }  # fmt: skip
    model.parameters(k=2.0)
    for name, when in formulas.items():
        model.event(name, when)
    found = straight(model)
    assert [found[name] for name in formulas] == [1, 1, 0, 0, 0, 0, 0, 0]
    assert [found[name] for name in found if name.startswith("F.branch")] == [1]


@pytest.mark.parametrize("integrator", [*INTEGRATORS, "bdf"])
def test_bounds_of_events_leave_nothing_out(integrator, monkeypatch):
    """Limits, friction, events that touch zero, and branches: the same bits with bounds as by looking everywhere."""
    model = kick("-30*q(P) - (20*q(P) if q(P) > 0.1 else 0) + 2*sin(3*t)")
    model.limit("stop", "q(P)", upper=0.4, lower=-0.6, restitution=0.7)
    model.friction("rub", "P", constant=0.3)
    model.event("fast", "u(P) - 1")
    model.event("late", "t - 1.2345", rates={"P": "-u(P)"})
    model.initial("P", 0.3, rate=2.0)
    runs = [da.simulate(model, 4.0, integrator=integrator, output_step=0.05)]
    monkeypatch.setattr(
        event_handlers, "find_straight", lambda kernels, context: np.zeros(context.n_events, dtype=np.int64)
    )
    runs.append(da.simulate(model, 4.0, integrator=integrator, output_step=0.05))
    assert len(runs[0].events) > 10 and runs[0].events == runs[1].events
    assert runs[0].values("q").tobytes() == runs[1].values("q").tobytes()
    assert runs[0].certificate.trusted


@pytest.mark.parametrize("rubs", [{}, {"coefficient": 0.2}, {"coefficient": 0.2, "law": "bristle", "stiffness": 1e6}])
def test_what_bounces_ever_faster_by_an_event_ends_the_run(rubs):
    """Friction that stops it between two bounces does not hide that, and nothing slips through the stop."""
    model = kick("6")
    model.gravity = (0, 0, -9.81)
    if rubs:
        model.friction("rub", "P", **rubs)
    model.event("stop", "q(P) - 1", direction="rising", rates={"P": "-0.5*u(P)"})
    run = da.simulate(model, 5.0)
    assert not run.certificate.trusted and "'stop' happens faster and faster" in run.certificate.message
    assert float(run.values("q").max()) < 1 + 1e-9


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_narrow_field_turns_a_charge_round(integrator):
    bounded = da.simulate(magnet(), 10.0, integrator="dopri8", step=0.005, rtol=1e-12, atol=1e-14)
    run = da.simulate(magnet(), 10.0, integrator=integrator)
    np.testing.assert_allclose(run.values("q")[-1], bounded.values("q")[-1], atol=1e-6)
    assert any("cut" in remark for remark in run.certificate.remarks)
    assert not any("cut" in remark for remark in bounded.certificate.remarks)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_short_force_is_felt(integrator):
    run = da.simulate(kick(), 10.0, integrator=integrator)
    assert run.values("u")[-1, 0] == pytest.approx(10.0, abs=1e-5)


def test_few_outputs_do_not_blind_the_guard():
    run = da.simulate(kick(), 10.0, output_step=5.0)
    assert run.values("u")[-1, 0] == pytest.approx(10.0, abs=1e-5)


def test_smooth_motion_is_not_cut():
    for model in (da.library.four_bar(), da.library.double_pendulum(), da.library.spinning_top()):
        assert not any("cut" in remark for remark in da.simulate(model, 2.0).certificate.remarks)


def test_a_run_without_headway_ends_soon_and_names_the_force():
    model = da.Model("block", gravity=(0, 0, 0))
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", body, point=(0, 0, 0), axis="x")
    model.initial("P", 0, rate=1)
    model.force("friction", body, ("-sign(vx(b))", 0, 0))
    run = da.simulate(model, 2.0)
    assert not run.certificate.trusted
    assert "almost no progress" in run.certificate.message
    assert "friction" in run.certificate.message
    assert run.certificate.counts["steps"] + run.certificate.counts["rejected"] < 200_000
    assert run.values("time")[-1] == pytest.approx(1.0, abs=1e-3)  # where it comes to rest
