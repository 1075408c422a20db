"""Every integrator on mechanisms: order, agreement, and what it refuses."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert.integrators import INTEGRATORS
from dalembert.integrators.base import Integrator, Problem, Status
from dalembert.integrators.runge_kutta import FixedStep

FIXED = [name for name, kind in INTEGRATORS.items() if not kind.adaptive]
ADAPTIVE = [name for name, kind in INTEGRATORS.items() if kind.adaptive]
DURATION = 0.4
MECHANISMS = {
    "double pendulum": da.library.double_pendulum,  # a tree
    "spinning top": lambda: da.library.spinning_top(spin=30.0),  # a quaternion
    "four-bar": da.library.four_bar,  # a loop with redundant equations
    "rolling disc": da.library.rolling_disc,  # nonholonomic
    "shaken pendulum": lambda: shaken_pendulum(),  # a drive, which depends on time
}


def shaken_pendulum() -> da.Model:
    model = da.Model("shaken pendulum", gravity=(0, -9.81, 0))
    model.body("slider", mass=1.0, inertia=(1, 1, 1))
    model.body("bob", mass=1.0, com=(0.3, -1, 0), inertia=(0.1, 0.1, 0.1))
    model.prismatic("slide", model.ground, "slider", point=(0, 0, 0), axis="x")
    model.revolute("hinge", "slider", "bob", point=(0, 0, 0), axis="z")
    model.drive("slide", "0.3*sin(7*t)")
    return model


@cache
def compiled(name):
    return da.compile(MECHANISMS[name]())


@cache
def exact(name):
    """Twelve digits, by a method that the tests of orders do not share."""
    return final(da.simulate(compiled(name), DURATION, integrator="dopri8", rtol=1e-13, atol=1e-14, output_step=0.4))


def final(run):
    """All body positions and velocities at the end."""
    data = run.data.isel(time=-1)
    return np.concatenate([data.position.values.ravel(), data.linear_velocity.values.ravel()])


def takes(integrator, mechanism):
    return integrator != "variational" or mechanism != "rolling disc"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("integrator", FIXED)
def test_observed_order_of_fixed_steps(integrator, mechanism):
    if not takes(integrator, mechanism):
        pytest.skip("no variational principle for nonholonomic constraints")
    order = INTEGRATORS[integrator].order
    steps = DURATION / np.array([800, 1600, 3200]) if order < 4 else DURATION / np.array([40, 80, 160])
    errors = []
    for step in steps:
        run = da.simulate(compiled(mechanism), DURATION, integrator=integrator, step=step, output_step=DURATION)
        errors.append(np.abs(final(run) - exact(mechanism)).max())
    observed = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    # Higher orders than promised occur where leading terms cancel.
    assert order - 0.2 < observed < order + 1.3, (observed, errors)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_tolerances_are_kept(integrator, mechanism):
    errors = []
    for rtol in (1e-6, 1e-9):
        run = da.simulate(
            compiled(mechanism), DURATION, integrator=integrator, rtol=rtol, atol=rtol, output_step=DURATION
        )
        errors.append(np.abs(final(run) - exact(mechanism)).max() / rtol)
    assert max(errors) < 2000, errors


@pytest.mark.parametrize("form", ["index-1", "ggl"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_differential_algebraic_forms(form, mechanism):
    run = da.simulate(compiled(mechanism), DURATION, stabilization=form, rtol=1e-9, atol=1e-9, output_step=DURATION)
    assert run.data.attrs["integrator"] == "radau"
    assert np.abs(final(run) - exact(mechanism)).max() < 2e-6


class Heun(FixedStep):
    """As docs/how-to/add-an-integrator.md has it: nothing but a table."""

    name, order = "heun", 2
    stages, weights = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5])


def test_a_table_is_a_method():
    """Its order; events; and samples in vector registers, which move as one alone does."""
    top, steps = da.library.spinning_top(spin=30.0), DURATION / np.array([800, 1600, 3200])
    errors = [
        np.abs(
            final(da.simulate(top, DURATION, integrator=Heun(step=step), output_step=DURATION)) - exact("spinning top")
        )
        for step in steps
    ]
    assert abs(np.polyfit(np.log(steps), np.log([error.max() for error in errors]), 1)[0] - 2) < 0.2
    mass = [1.0, 2.0, 3.0]
    many = da.simulate_many(top, 0.1, parameters={"mass": mass}, integrator=Heun(step=1e-3), output_step=0.1)
    for i, value in enumerate(mass):
        one = da.simulate(top, 0.1, parameters={"mass": value}, integrator=Heun(step=1e-3), output_step=0.1)
        np.testing.assert_allclose(many.data.q.values[i], one.data.q.values, atol=1e-12)
    top.event("now", "t - 0.05", stop=True)
    run = da.simulate(top, 0.1, integrator=Heun(step=0.03), output_step=0.1)
    assert run.data.time.values[-1] == pytest.approx(0.05, abs=1e-12)


def test_variational_refuses_nonholonomic_constraints():
    with pytest.raises(da.ModelError, match="cannot take nonholonomic constraints"):
        da.simulate(compiled("rolling disc"), 0.1, integrator="variational")


def test_variational_energy_does_not_drift():
    """A satellite with a pendulum, three thousand revolutions: the error at the end is that of the beginning."""
    run = da.simulate(da.library.satellite(), 2e4, integrator="variational", step=0.05, output_step=1.0)
    error = np.abs(run.data.balance.values - run.data.balance.values[0])
    assert error[-200:].max() < 1.5 * error[:2000].max()
    means = [part.mean() for part in np.split(run.data.balance.values[:-1], 10)]
    assert np.ptp(means) < 0.1 * error.max()
    spin = run.data.momentum.sel(moment="angular", axis="z").values
    np.testing.assert_allclose(spin, spin[0], rtol=1e-11)


def test_a_fast_small_body_keeps_its_digits():
    """Torques of a satellite at 8 km/s: m v × v vanishes, and so must its rounding."""
    model = da.Model("fast", gravity=(0, 0, 0))
    model.body("hub", mass=800, inertia=(400, 400, 400))
    model.body("boom", mass=60, com=(9, 0, 0), inertia=(1, 300, 300))
    model.planar("orbit", model.ground, "hub", point=(0, 0, 0), axis="z")
    model.revolute("hinge", "hub", "boom", point=(1, 0, 0), axis="z")
    dynamics = da.compile(model)
    turned = dynamics.acceleration([0, 0, 0.7, 0.2], [-4000.0, 6600.0, 1e-3, 2e-3])
    still = dynamics.acceleration([0, 0, 0.7, 0.2], [0.0, 0.0, 1e-3, 2e-3])
    np.testing.assert_allclose(turned, still, atol=1e-14)


class Broken(Integrator):
    """A method that fails in its first step, which no function of the equations knows of."""

    name, order, adaptive = "broken", 1, True

    def __init__(self, lost: bool):
        self.lost = lost

    def advance(self, problem, memory, times, out, monitor):
        memory.y[0] = np.nan if self.lost else memory.y[0]
        return Status.FAILED


@pytest.mark.parametrize(
    ("lost", "words"),
    [(False, "'broken' cannot solve the equations of its step"), (True, "'broken' lost the state")],
)
def test_a_method_that_fails_by_itself_says_why(lost, words):
    run = da.simulate(compiled("double pendulum"), DURATION, integrator=Broken(lost), certify=False)
    assert not run.certificate.finished
    assert run.certificate.message.startswith("stopped at t = 0 s") and words in run.certificate.message
    assert "Fix:" in run.certificate.message


def test_an_event_that_is_not_finite_is_named():
    """Where a method fails, what of the model is not finite there is the reason."""
    model = da.library.pendulum()
    model.event("strange", f"sqrt(q({model.joints[0].name}) - 10)", direction="rising", stop=True)
    run = da.simulate(model, 0.1, integrator=Broken(False), certify=False)
    assert "an event or a branch of a formula is not finite there" in run.certificate.message


@pytest.mark.parametrize("name", [name for name, kind in INTEGRATORS.items() if name != "auto"])
def test_an_integrator_whose_problem_lacks_a_function_says_so(name):
    """Native code would call a null pointer."""
    method = INTEGRATORS[name]()
    with pytest.raises(da.DalembertError, match=f"integrator '{name}' calls .*rhs.* of a problem.*Fix"):
        method.start(Problem(size=2), 0.0, np.zeros(2))
    problem, _ = compiled("double pendulum").problem({}, ("rhs", "retract"))
    missing = [need for need in method.needs if need not in ("rhs", "retract")]
    if missing:
        with pytest.raises(da.DalembertError, match=f"integrator '{name}' calls"):
            method.start(problem, 0.0, np.zeros(problem.size))


@pytest.mark.parametrize("integrator", FIXED)
def test_turns_of_a_cut_joint_are_counted(integrator):
    """A wheel on two bearings, wound up by a spring at the cut one over two turns and more: q = (v/ω) sin ωt."""
    model = da.Model("spring of many turns", gravity=(0, 0, 0))
    model.body("wheel", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    model.revolute("near", model.ground, "wheel", point=(0, 0, 0), axis="z")
    model.revolute("far", model.ground, "wheel", point=(0, 0, 1), axis="z", cut=True)
    model.joint_force("spring", "far", "-q(far)")
    model.initial("near", rate=15.0)
    run = da.simulate(model, 2.0, integrator=integrator, step=2e-3, output_step=0.1)
    assert run.certificate.finished
    exact = 15.0 * np.sin(run.time.values)
    assert exact.max() > 4 * np.pi
    allowed = 0.1 if INTEGRATORS[integrator].order < 2 else 1e-3
    np.testing.assert_allclose(run.joint("near").q.values, exact, atol=allowed)
    np.testing.assert_allclose(run.joint("far").q.values, exact, atol=allowed)
    np.testing.assert_allclose(run.values("q")[:, -1], exact, atol=allowed)  # the turns themselves


def test_the_last_stage_of_a_step_is_the_first_of_the_next_one():
    """Six evaluations a try of tsit5, besides those by which steps are compared with the equations (a thousand)."""
    run = da.simulate(da.library.double_pendulum(), 3.0, integrator="tsit5", rtol=1e-8, certify=False)
    steps, rejected, evaluations = run.certificate.counts.values()
    assert evaluations < 1002 + 6 * (steps + rejected) + steps / 4


@pytest.mark.parametrize("integrator", ["dopri8", "tsit5", "radau", "bdf"])
def test_what_starts_as_rounding_at_a_late_time_gets_under_way(integrator):
    """The first step was in proportion to 1e-16 m, too short to advance t: such runs ended where they began."""
    model = da.Model("cart", gravity=(0, 0, 0))
    model.body("cart", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("rail", "ground", "cart", point=(0, 0, 0), axis="x")
    model.joint_force("push", "rail", "3")
    run = da.simulate(model, 1.0, start=5.0, initial={"rail": 1e-16}, integrator=integrator, rtol=1e-10, atol=1e-14)
    assert run.certificate.trusted
    assert float(run.joint("rail").q[-1]) == pytest.approx(1.5, rel=1e-6)
