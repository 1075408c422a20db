"""What a certificate looks at: each array once, some outputs for all where that is enough, and never less than that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert.analyses.simulation import certify as certifying
from dalembert.analyses.simulation import companion
from dalembert.analyses.simulation.certify import LOOKS, NEARLY_SINGULAR, look_for_singularity, stays_away, suspects
from dalembert.analyses.simulation.companion import estimate_motion
from dalembert.analyses.simulation.drive import Driver
from dalembert.analyses.simulation.options import Options
from dalembert.dynamics.evaluate import coupled_along, largest_open
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.integrators import Status
from dalembert.integrators.base import Result
from dalembert.integrators.radau import Radau
from dalembert.numerics.singular_values import changes_along
from dalembert.trajectory.outcome import FEW, PARTS, SOME, Outcome


def driven(model, duration=1.0, **options):
    """A driver that has run, with what it ran by and what came of it."""
    given = Options(**options)
    dynamics = given.equations(model)
    choice, (q, u) = given.choice(dynamics), given.state(dynamics).to(dynamics.coordinates)
    driver = Driver(dynamics, choice, np.linspace(0.0, duration, 401), np.concatenate([q, u, [0.0]]), {})
    return driver, choice, driver.run()


def turning(angles, small):
    """Matrices with singular values 1 and ``small``, turned on both sides."""
    c, s = np.cos(angles), np.sin(angles)
    turn = np.moveaxis(np.array([[c, -s], [s, c]]), -1, 0)
    return np.ascontiguousarray(turn @ (np.stack([np.ones_like(small), small], axis=1)[:, :, None] * turn[::-1]))


@pytest.mark.parametrize("rate", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("least", [0.5, 0.1, 0.021, 0.019, 0.0])
def test_matrices_that_stay_away_from_singular_ones_are_known_by_some(monkeypatch, rate, least):
    """The look at some outputs says the same as the look at all of them."""
    t = np.linspace(-1.0, 1.0, 1001)
    A = turning(rate * t, np.hypot(least, 0.7 * (t - 0.1003)))
    passed, near = look_for_singularity(A)
    monkeypatch.setattr(certifying, "LOOKS", (1,))
    exact, nearest = look_for_singularity(A)
    assert passed == exact and (near > NEARLY_SINGULAR) == (nearest > NEARLY_SINGULAR)
    assert near >= nearest == pytest.approx(np.linalg.svd(A, compute_uv=False)[:, 1].min())


def test_a_dip_between_two_of_them_is_seen():
    """A passage through a singular position within a few outputs, far from those that are looked at."""
    t = np.arange(1001.0)
    small = np.minimum((np.abs(t - 511.01) / 3) ** 1.05, 1.0)
    assert small[LOOKS[0] // 2 :: LOOKS[0]].min() == 1.0 and look_for_singularity(turning(0 * t, small)) == (
        True,
        small.min(),
    )


@pytest.mark.parametrize("lost", [7, 8, 300, 999])
def test_a_rank_that_only_some_outputs_show_is_found(monkeypatch, lost):
    """Where the first matrices that are looked at have no rank at all, or less than others."""
    rng = np.random.default_rng(lost)
    for least in (0, 1):
        A = np.zeros((1001, 3, 4))
        A[:, :least] = rng.normal(size=(least, 4))
        A[lost : lost + 2, :3] = rng.normal(size=(3, 4))
        monkeypatch.setattr(certifying, "LOOKS", LOOKS)
        found = look_for_singularity(A)
        monkeypatch.setattr(certifying, "LOOKS", (1,))
        assert found == look_for_singularity(A)


def test_singular_values_are_found_closer_only_where_they_are_needed(monkeypatch):
    """A motion that comes near a singular position for a while is looked at closely there, and not elsewhere."""
    count, found = [0], certifying.singular_values
    monkeypatch.setattr(certifying, "singular_values", lambda A: (count.__setitem__(0, count[0] + len(A)), found(A))[1])
    t = np.linspace(-1.0, 1.0, 1001)
    assert look_for_singularity(turning(0.05 * t, np.hypot(0.03, 5 * (t - 0.1003)))) == (
        False,
        pytest.approx(0.03, abs=1e-3),
    )
    assert 62 < count[0] < 200


@pytest.mark.parametrize("shift", [-0.05, -1e-3, -1e-5, 0.0, 1e-5, 1e-3, 0.05])
@pytest.mark.parametrize("rtol", [1e-10, 1e-7, 1e-4])
def test_pivots_that_spare_the_look_at_singular_values_are_never_wrong(shift, rtol):
    """Through a change point, or beside it: all that the look finds is near to singular in the pivots too."""
    model = da.Model("parallelogram", gravity=(0, -9.81, 0))
    for name in ("left", "top", "right"):
        model.body(name, mass=1, com=(1, 0.5, 0), inertia=(0.1, 0.1, 0.1))
    for name, one, other, point in (
        ("A", "ground", "left", (0, 0, 0)), ("B", "left", "top", (0, 1, 0)), ("C", "top", "right", (2, 1, 0)),
        ("D", "ground", "right", (2 + shift, 0, 0)),
    ):  # fmt: skip
        model.revolute(name, one, other, point=point, axis="z")
    driver, _, outcome = driven(model, 2.0, rtol=rtol, atol=rtol / 100, initial_rates={"A": 6.0})
    dynamics, t, q = driver.dynamics, outcome.result.time, outcome.result.states[:, : driver.dynamics.nq]
    jacobians = dynamics.residuals(t, q, outcome.result.states[:, dynamics.nq : -1]).jacobian
    passed, nearest = look_for_singularity(jacobians)
    assert not (stays_away(dynamics, outcome, driver.context) and (passed or nearest < NEARLY_SINGULAR))


@pytest.mark.parametrize("name", ["four-bar", "bicycle", "stewart-platform"])
def test_a_motion_that_keeps_away_from_singular_positions_needs_no_look(name):
    driver, _, outcome = driven(da.library.build(name), 1.0, rtol=1e-7)
    assert stays_away(driver.dynamics, outcome, driver.context)
    for field, value in (("smallest_pivot", 0.03), ("lowest_rank", 1.0), ("lowest_rank", np.inf)):
        before = getattr(driver.context.statistics, field)
        setattr(driver.context.statistics, field, value)
        assert not stays_away(driver.dynamics, outcome, driver.context)
        setattr(driver.context.statistics, field, before)
    for other in (replace(outcome, method=Radau()), replace(outcome, projects=True)):
        assert not stays_away(driver.dynamics, other, driver.context)


def test_pivots_of_something_else_spare_nothing():
    """Formulations that factorize other matrices, or report none."""
    for options in ({"formulation": LagrangeMultipliers(solve="saddle")}, {"formulation": "gauss"}):
        driver, _, outcome = driven(da.library.four_bar(), 0.5, **options)
        assert not stays_away(driver.dynamics, outcome, driver.context)


def test_constraints_of_accelerations_by_their_places_in_a_kernel():
    """As from the matrices themselves; what is not a number stays so."""
    dynamics, rng = da.compile(da.library.four_bar()), np.random.default_rng(0)
    t, q, u, du = rng.normal(size=5), *(rng.normal(size=(5, n)) for n in (dynamics.nq, dynamics.nv, dynamics.nv))
    blocks = dynamics.dynamics_kernel(t, q, u, dynamics.parameters(), np.zeros(dynamics.nv))
    expected = np.abs(np.einsum("tij,tj->ti", blocks.jacobian, du) + blocks.gamma).max()
    places, context = dynamics.dynamics_kernel.places, dynamics.context()
    (jacobian, (rows, _)), (gamma, _) = places["jacobian"], places["gamma"]
    states = np.concatenate([q, u, np.zeros((5, 1))], axis=1)
    assert coupled_along(context, t, states, du, jacobian, gamma, rows) == pytest.approx(expected, rel=1e-12)
    for entry in ((0, 0), (4, dynamics.nv - 1)):
        lost = du.copy()
        lost[entry] = np.nan
        assert np.isnan(coupled_along(context, t, states, lost, jacobian, gamma, rows))


@pytest.mark.parametrize("name", ["four-bar", "bicycle", "rolling-disc"])
@pytest.mark.parametrize("n", [1, 8, 21])
def test_the_largest_residuals_of_many_states(name, n):
    """As from the arrays, to the bit, with full groups of lanes and without; what is not a number stays so."""
    dynamics, rng = da.compile(da.library.build(name)), np.random.default_rng(n)
    t, states = rng.normal(size=n), rng.normal(size=(n, dynamics.nq + dynamics.nv + 1))
    values = {dynamics.parameter_names[0]: 1.7}
    found = dynamics.residuals(t, states[:, : dynamics.nq], states[:, dynamics.nq : -1], values)
    position, velocity = (float(np.abs(part).max(initial=0.0)) for part in (found.position, found.velocity))
    lanes, parameters = dynamics.constraint_lanes, dynamics.parameters(values)
    assert largest_open(lanes, t, states, parameters) == (position, velocity)
    states[n // 2, dynamics.nq : -1] = np.nan
    still, lost = largest_open(lanes, t, states, parameters)
    assert still == position and np.isnan(lost)
    states[n // 2] = np.nan
    assert np.isnan(largest_open(lanes, t, states, parameters)[bool(not dynamics.holonomic)])


@pytest.mark.parametrize(
    ("name", "rtol", "by", "most"),
    [("pendulum", 1e-7, "1e-04", 0.3), ("four-bar", 1e-7, "1e-05", 0.9), ("pendulum", 1e-10, "1e-04", 0.2)],
)
def test_a_loose_companion_that_nearly_acquits_is_followed_by_one_less_loose(name, rtol, by, most):
    """Both together cost far less than a tight one."""
    driver, choice, outcome = driven(da.library.build(name), 10.0, rtol=rtol, atol=rtol / 100)
    _, estimate = estimate_motion(driver.dynamics, choice, outcome, None, driver)
    assert estimate.acquitted and estimate.by == f"by a run at rtol {by}"
    assert estimate.evaluations < most * outcome.result.evaluations


def test_a_tight_companion_is_compared_at_some_outputs(monkeypatch):
    """Its error is that of all of them, within the margin."""
    for name, rtol in (("four-bar", 1e-5), ("snakeboard", 1e-3), ("double-pendulum", 1e-6)):
        driver, choice, outcome = driven(da.library.build(name), 5.0, rtol=rtol, atol=rtol / 100)
        _, some = estimate_motion(driver.dynamics, choice, outcome, None, driver)
        with monkeypatch.context() as patched:
            patched.setattr(companion._Run, "thinned", lambda run: run)
            _, every = estimate_motion(driver.dynamics, choice, outcome, None, driver)
        assert some.by == every.by and every.error / companion.MARGIN < some.error <= every.error * 1.001
        assert some.acquitted == every.acquitted


def test_changes_of_matrices():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(70, 2, 3))
    some = np.ascontiguousarray(A[8::16])
    ends = [(16 * k, 16 * k + 16 if k < 3 else 70) for k in range(4)]
    expected = [max(np.linalg.norm(B - some[k]) for B in A[first:last]) for k, (first, last) in enumerate(ends)]
    np.testing.assert_allclose(changes_along(A, some, 16), expected, rtol=1e-15)
    A[20, 1, 1] = np.nan
    assert np.isnan(changes_along(A, some, 16)).tolist() == [False, True, False, False]
    assert look_for_singularity(A) == (False, 0.0)


@pytest.mark.parametrize("reached", [1, 5, 500, 1001])
def test_some_outputs_are_spread_and_find_what_jumps(reached):
    time = np.linspace(0.0, 1.0, 1001)
    states = np.zeros((reached, 2))
    states[reached // 3 :, 1] = 1.0
    result = Result(time[:reached], states, Status.FINISHED, 1.0, states[-1], 0, 0, 0)
    some = Outcome(result, [(0, {})], times=time).some
    assert some[0] == 0 and some[-1] == 1000 and np.diff(some).max() <= -(-1000 // SOME) and np.diff(some).min() > 0
    assert reached < 3 or reached // 3 in some
    assert len(some) <= SOME + 1 + 4 * PARTS
    short = Outcome(replace(result, time=time[:SOME]), [(0, {})]).some
    np.testing.assert_array_equal(short, np.arange(SOME))
    few = Outcome(result, [(0, {})], times=time).few
    assert few[0] == 0 and few[-1] == 1000 and np.diff(few).max() <= -(-1000 // FEW) and np.diff(few).min() > 0
    assert (reached < 3 or reached // 3 in few) and len(few) <= FEW + 1 + 2 * (PARTS + 2)


@pytest.mark.parametrize("falls", [0.9, 1.1])
def test_what_stands_out_at_one_output_alone_is_among_some(falls):
    """It falls by more than it rose, or by less: a wrong run of van der Pol's oscillator was trusted, as only the
    output behind its jump was compared."""
    states = np.zeros((1001, 2))
    states[447:, 1] = -1.0, *[falls - 1.0] * 553
    result = Result(np.arange(1001.0), states, Status.FINISHED, 1e3, states[-1], 0, 0, 0)
    outcome = Outcome(result, [(0, {})])
    assert 447 in outcome.some and 447 in outcome.few


def test_few_outputs_find_the_largest_change_of_each_entry_and_of_each_part():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(1001, 3)) * (1.0, 1e3, 0.0)
    outcome = Outcome(Result(np.arange(1001.0), states, Status.FINISHED, 1e3, states[-1], 0, 0, 0), [(0, {})])
    change = np.abs(np.diff(states, axis=0))
    shares = (change[:, :2] / change[:, :2].max(axis=0)).max(axis=1).reshape(PARTS, -1)
    wanted = {*(1 + change[:, :2].argmax(axis=0)), *(1 + shares.argmax(axis=1) + 125 * np.arange(PARTS))}
    assert wanted <= set(outcome.fewest.tolist()) and wanted | {place - 1 for place in wanted} <= set(
        outcome.few.tolist()
    )


def test_events_and_residuals_are_evaluated_once():
    """Deepest contact, soft stops and undefined events read one array; contacts and loops another."""
    model = da.library.pendulum(angle=1.0)
    joint = model.joints[0].name
    model.limit("stop", f"q({joint})", lower=-0.5, restitution=0.5)
    model.stop("soft", f"q({joint})", upper=1.2, stiffness=1e3)
    dynamics, calls = da.compile(model), []
    kernels = dynamics.kernels
    for name in ("event_kernel", "constraint_kernel"):
        kernel = getattr(kernels, name)

        class Counted(type(kernel)):
            def __call__(self, *given, **named):
                calls.append((self.name, np.ndim(given[0])))
                return super().__call__(*given, **named)

            def some(self, names, *given):
                calls.append((self.name, np.ndim(given[0])))
                return super().some(names, *given)

        kernel.__class__ = Counted
    run = da.simulate(dynamics, 1.0)
    assert {"penetration", "complementarity"} <= {check.name for check in run.certificate.checks}
    pieces = len(run.segments)
    assert len([call for call in calls if call[1]]) <= 2 * pieces


def test_a_companion_leaves_the_equations_of_its_run_as_they_were():
    driver, choice, outcome = driven(da.library.four_bar(), rtol=1e-10)
    before = driver.context.statistics.values(), driver.context.parameters.copy()
    shared = estimate_motion(driver.dynamics, choice, outcome, None, driver)
    assert driver.context.statistics.values() == before[0]
    np.testing.assert_array_equal(driver.context.parameters, before[1])
    assert shared == estimate_motion(driver.dynamics, choice, outcome, None)


def test_companions_of_runs_with_branches_and_events_are_the_same_with_lent_equations():
    model = da.library.pendulum(angle=1.0)
    joint = model.joints[0].name
    model.parameters(k=2.0)
    model.joint_force("F", joint, f"-k*abs(q({joint})) - 0.1*u({joint})")
    model.event("switch", f"q({joint})", set={"k": "3.0"})
    driver, choice, outcome = driven(model, 3.0, rtol=1e-6)
    before = driver.context.parameters.copy()
    assert outcome.events
    assert estimate_motion(driver.dynamics, choice, outcome, None, driver) == estimate_motion(
        driver.dynamics, choice, outcome, None
    )
    np.testing.assert_array_equal(driver.context.parameters, before)


def test_a_companion_takes_what_its_run_had(monkeypatch):
    """Nothing is made anew."""
    driver, choice, outcome = driven(da.library.four_bar(), rtol=1e-10)
    monkeypatch.setattr(type(driver.dynamics), "problem", lambda *given: pytest.fail("made anew"))
    _, estimate = companion.estimate_motion(driver.dynamics, choice, outcome, None, driver)
    assert estimate.acquitted


def test_a_run_that_ends_where_constraints_are_no_numbers_says_which():
    """Their singular values were asked for, and the run ended in a traceback."""
    model = da.Model("root", gravity=(0, 0, 0))
    for name in "ab":
        body = model.body(name, mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
        model.prismatic(f"P{name}", "ground", body, point=(0, 0, 0), axis="x")
    model.constraint("curve", "q(Pb) - sqrt(1 - q(Pa))")
    model.initial("Pa", 0.5, rate=0.1)
    driver, _, outcome = driven(model, 0.1)
    last = outcome.result.last.copy()
    last[0] = 2.0
    ended = replace(outcome, result=replace(outcome.result, last=last, status=Status.STEP_TOO_SMALL))
    assert "constraints whose equations are not finite there: curve" in suspects(driver.dynamics, ended)


def test_a_companion_that_goes_from_event_to_event_gives_up(monkeypatch):
    """Each start may take all steps again; together they may not."""
    model = da.Model("ball", gravity=(0, 0, 0))
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", body, point=(0, 0, 0), axis="x")
    model.joint_force("F", "P", "-9.81")
    model.event("bounce", "-q(P)", rates={"P": "-0.9*u(P)"})
    model.initial("P", 1.0)
    driver, choice, outcome = driven(model, 3.0, rtol=1e-5)
    _, estimate = estimate_motion(driver.dynamics, choice, outcome, None)
    assert len(outcome.events) > 3 and estimate.acquitted
    monkeypatch.setattr(companion._Run, "most_steps", 3)
    _, estimate = estimate_motion(driver.dynamics, choice, outcome, None)
    assert not estimate.acquitted and "stopped at t = " in estimate.note


def test_checks_that_are_no_numbers_compare_as_equal():
    """A run that was saved and loaded has the same certificate."""
    one, other = (da.trajectory.Check("error", float(text), 1.0) for text in ("nan", "-nan"))
    assert one == other and not one.passed
