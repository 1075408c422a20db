"""Every integrator converges with the order it declares, on closed forms, through its native loop."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numba import carray, cfunc
from scipy.special import ellipj

from dalembert.integrators import INTEGRATORS, Status
from dalembert.integrators.base import Problem
from dalembert.numerics.native import SIGNATURE

END = 10.0
MODULUS = 0.51
# An observed slope is a regression over a decade or so of steps: it comes within a few tenths of the true one.
SLOPE = 0.4
# Errors below this are round-off, errors above that not yet asymptotic.
ROUND_OFF, COARSE = 1e-12, 1e-4
EVERYTHING_PASSES = 1e30  # a tolerance that never rejects a step


@cfunc(SIGNATURE)
def _rhs(context, t, y, dy):
    """Euler's equations of a free body: their solution sn, cn, dn neither grows nor decays, so errors add up."""
    state, rate = carray(y, 3), carray(dy, 3)
    rate[0] = state[1] * state[2]
    rate[1] = -state[0] * state[2]
    rate[2] = -MODULUS * state[0] * state[1]
    return 0


@cfunc(SIGNATURE)
def _stay(context, t, y, unused):
    return 0


@cfunc(SIGNATURE)
def _break_down(context, t, y, dy):
    """A right-hand side that has no value after t = 1."""
    rate = carray(dy, 3)
    for i in range(3):
        rate[i] = 1.0
    return 1 if t > 1.0 else 0


def exact(t: np.ndarray) -> np.ndarray:
    return np.stack(ellipj(t, MODULUS)[:3], axis=-1)


PROBLEM = Problem(_rhs.address, _stay.address, 0, (_rhs, _stay))
START = np.array([0.0, 1.0, 1.0])


def with_step(name: str, step: float):
    """The integrator with (at most) this step."""
    cls = INTEGRATORS[name]
    options = {field.name for field in dataclasses.fields(cls)}
    if cls.adaptive:
        return cls(rtol=EVERYTHING_PASSES, atol=EVERYTHING_PASSES, max_step=step)
    assert "step" in options, "an integrator with fixed steps takes its step as an option"
    return cls(step=step)


def run(integrator, times, problem=PROBLEM, monitor=None):
    return integrator.run(
        problem, START.copy(), np.asarray(times, dtype=float), np.zeros(2) if monitor is None else monitor
    )


def observed_order(name: str, times: np.ndarray) -> float:
    steps, errors = [], []
    for n in (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640):
        result = run(with_step(name, END / n), times)
        assert result.status == Status.FINISHED
        error = np.abs(result.states - exact(result.time)).max()
        if ROUND_OFF < error < COARSE:
            steps.append(END / n)
            errors.append(error)
    assert len(steps) >= 4, f"too few steps in the asymptotic range: {errors}"
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.parametrize("name", INTEGRATORS)
def test_observed_order(name):
    order = observed_order(name, np.array([0.0, END]))
    assert abs(order - INTEGRATORS[name].order) < SLOPE, f"observed {order:.2f}"


@pytest.mark.parametrize("name", [name for name, cls in INTEGRATORS.items() if cls.adaptive])
def test_dense_output_is_as_good_as_the_steps(name):
    """Between the steps the interpolant's own error, of one order less per step, has the order of the method."""
    order = observed_order(name, np.linspace(0.0, END, 400))
    assert order > INTEGRATORS[name].order - SLOPE, f"observed {order:.2f}"


@pytest.mark.parametrize("name", [name for name, cls in INTEGRATORS.items() if cls.adaptive])
def test_the_tolerance_is_kept(name):
    """The error follows the tolerance, and a finer tolerance takes more steps."""
    cls = INTEGRATORS[name]
    tolerances, errors, steps = (1e-5, 1e-7, 1e-9, 1e-11), [], []
    for tolerance in tolerances:
        result = run(cls(rtol=tolerance, atol=tolerance), np.linspace(0.0, END, 50))
        errors.append(np.abs(result.states - exact(result.time)).max())
        steps.append(result.steps)
        # Local errors add up over some dozen steps.
        assert errors[-1] < 100 * tolerance
    assert steps == sorted(steps) and steps[-1] > steps[0]
    assert errors[-1] < 1e-3 * errors[0]


@pytest.mark.parametrize("name", INTEGRATORS)
def test_outputs_do_not_disturb_the_steps(name):
    """The state at the end does not depend on how many outputs were asked for (adaptive), and times are met exactly."""
    integrator = with_step(name, END / 64)
    few, many = run(integrator, [0.0, END]), run(integrator, np.linspace(0.0, END, 65))
    assert many.time[-1] == END and len(many.time) == 65 and few.end == END
    np.testing.assert_allclose(many.states[-1], few.states[-1], rtol=1e-13 if INTEGRATORS[name].adaptive else 1e-9)
    np.testing.assert_array_equal(many.states[0], START)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_a_run_is_repeatable_to_the_last_bit_and_leaves_its_start_alone(name):
    integrator = with_step(name, END / 50)
    start = START.copy()
    first = integrator.run(PROBLEM, start, np.linspace(0, END, 7), np.zeros(2))
    np.testing.assert_array_equal(start, START)
    np.testing.assert_array_equal(first.states, run(integrator, np.linspace(0, END, 7)).states)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_a_right_hand_side_that_fails_ends_the_run_with_a_status(name):
    result = run(with_step(name, 0.01), [0.0, 0.5, 2.0], Problem(_break_down.address, _stay.address, 0))
    assert result.status in (Status.FAILED, Status.STEP_TOO_SMALL)
    assert 0.5 <= result.end <= 1.0 + 1e-9
    assert len(result.time) == 2
    np.testing.assert_allclose(result.states[1], START + 0.5, rtol=1e-12)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_a_run_can_be_stopped_and_bounded(name):
    stopped = run(with_step(name, 0.01), [0.0, END], monitor=np.array([0.0, 1.0]))
    assert stopped.status == Status.STOPPED and len(stopped.time) == 1
    bounded = run(dataclasses.replace(with_step(name, 1e-4), max_steps=10), [0.0, END])
    assert bounded.status == Status.TOO_MANY_STEPS and bounded.steps <= 10
