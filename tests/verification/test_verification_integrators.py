"""Every integrator converges with the order it declares, on closed forms, through its native loop.

An integrator is tested here if this problem offers what it needs; those that need mechanics are tested with mechanisms.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from dalembert.errors import DalembertError
from dalembert.integrators import INTEGRATORS, Status, loop
from dalembert.integrators.base import Monitor, Problem, result
from dalembert.integrators.bdf import BackwardDifferences
from dalembert.integrators.radau import Radau
from dalembert.integrators.scipy_ivp import SciPy
from dalembert.native import Real, Record, native
from dalembert.numerics.linear import lu_factor, lu_solve

END = 10.0
MODULUS = 0.51
# An observed slope is a regression over a decade or so of steps: it comes within a few tenths of the true one.
SLOPE = 0.4
# Errors below this are round-off, errors above that not yet asymptotic.
ROUND_OFF, COARSE = 1e-12, 1e-4
EVERYTHING_PASSES = 1e30  # a tolerance that never rejects a step
OFFERED = {"rhs", "retract", "jacobian"}
NAMES = [name for name, kind in INTEGRATORS.items() if OFFERED.issuperset(kind().needs)]
FIXED = [name for name in NAMES if not INTEGRATORS[name].adaptive]
ADAPTIVE = [name for name in NAMES if INTEGRATORS[name].adaptive]
NATIVE = [name for name in NAMES if name != "scipy"]
# Implicit methods solve their equations as well as the tolerance asks: it cannot be set out of action.
EXPLICIT = [name for name in NATIVE if "jacobian" not in INTEGRATORS[name]().needs]


class Given(Record):
    """What the functions of these problems are given."""

    number = Real()


NONE = Given()


@native
def _rhs(r: Given, t, state, rate) -> int:
    """Euler's equations of a free body: their solution sn, cn, dn neither grows nor decays, so errors add up."""
    rate[0] = state[1] * state[2]
    rate[1] = -state[0] * state[2]
    rate[2] = -MODULUS * state[0] * state[1]
    return 0


@native
def _jacobian(r: Given, t, state, J) -> int:
    J[:] = 0.0
    J[0, 1], J[0, 2] = state[2], state[1]
    J[1, 0], J[1, 2] = -state[2], -state[0]
    J[2, 0], J[2, 1] = -MODULUS * state[1], -MODULUS * state[0]
    return 0


@native
def _stay(r: Given, t, y, unused) -> int:
    return 0


@native
def _invariants(r: Given, t, state, unused) -> int:
    """Back onto y₀² + y₁² = 1 and m y₀² + y₂² = 1."""
    length = np.sqrt(state[0] ** 2 + state[1] ** 2)
    state[0] /= length
    state[1] /= length
    state[2] = math.copysign(np.sqrt(1.0 - MODULUS * state[0] ** 2), state[2])
    return 0


@native
def _falls_below(r: Given, t, state, g) -> int:
    """cn falls below 0.3, sn rises above 0.9."""
    g[0] = 0.3 - state[1]
    g[1] = state[0] - 0.9
    return 0


@native
def _break_down(r: Given, t, y, rate) -> int:
    """A right-hand side that has no value after t = 1."""
    for i in range(3):
        rate[i] = 1.0
    return 1 if t > 1.0 else 0


@native
def _no_slope(r: Given, t, y, J) -> int:
    J[:] = 0.0
    return 0


@native
def _square(r: Given, t, y, dy) -> int:
    """ẏ = y², which has a pole at t = 1/y(0)."""
    dy[0] = y[0] ** 2
    return 0


@native
def _square_slope(r: Given, t, y, J) -> int:
    J[0, 0] = 2.0 * y[0]
    return 0


def exact(t: np.ndarray | float) -> np.ndarray:
    return np.stack(ellipj(t, MODULUS)[:3], axis=-1)


PROBLEM = Problem(size=3, rhs=_rhs.bind(NONE), retract=_stay.bind(NONE), jacobian=_jacobian.bind(NONE))
ON_MANIFOLD = Problem(size=3, rhs=_rhs.bind(NONE), retract=_invariants.bind(NONE), jacobian=_jacobian.bind(NONE))
WITH_EVENTS = Problem(
    size=3,
    rhs=_rhs.bind(NONE),
    retract=_stay.bind(NONE),
    jacobian=_jacobian.bind(NONE),
    events=_falls_below.bind(NONE),
    n_events=2,
)
POLE = Problem(size=1, rhs=_square.bind(NONE), retract=_stay.bind(NONE), jacobian=_square_slope.bind(NONE))
START = np.array([0.0, 1.0, 1.0])


def with_step(name: str, step: float):
    """The integrator with (at most) this step."""
    kind = INTEGRATORS[name]
    if name in EXPLICIT and kind.adaptive:
        return kind(rtol=EVERYTHING_PASSES, atol=EVERYTHING_PASSES, max_step=step)
    if kind.adaptive:
        return kind(max_step=step)
    return kind(step=step)


def with_tolerance(name: str, tolerance: float):
    return INTEGRATORS[name](rtol=tolerance, atol=tolerance)


def run(integrator, times, problem=PROBLEM, monitor=None, start=START):
    return integrator.run(problem, start.copy(), np.asarray(times, dtype=float), monitor)


def slope(steps: list[float], errors: list[float], least: int = 4) -> float:
    """The order in h of errors over numbers of steps, within the asymptotic range."""
    good = [(n, e) for n, e in zip(steps, errors, strict=True) if ROUND_OFF < e < COARSE]
    assert len(good) >= least, f"too few steps in the asymptotic range: {errors}"
    n, e = np.array(good).T
    return -np.polyfit(np.log(n), np.log(e), 1)[0]


def observed_order(name: str, times: np.ndarray) -> float:
    errors, counts = [], (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640)
    if INTEGRATORS[name].order == 1:
        counts = tuple(n * 10_000 for n in counts)
    for n in counts:
        done = run(with_step(name, END / n), times)
        assert done.status == Status.FINISHED
        errors.append(np.abs(done.states - exact(done.time)).max())
    return slope(counts, errors)


@pytest.mark.parametrize("name", EXPLICIT)
def test_observed_order(name):
    order = observed_order(name, np.array([0.0, END]))
    assert abs(order - INTEGRATORS[name].order) < SLOPE, f"observed {order:.2f}"


@pytest.mark.parametrize("name", [name for name in ADAPTIVE if name in EXPLICIT])
def test_dense_output_is_as_good_as_the_steps(name):
    """Between the steps the interpolant's own error, of one order less per step, has the order of the method."""
    order = observed_order(name, np.linspace(0.0, END, 400))
    assert order > INTEGRATORS[name].order - SLOPE, f"observed {order:.2f}"


TOLERANCES = 10.0 ** -np.arange(4, 12)
# Local errors add up over dozens to hundreds of steps, each of which may err by the tolerance.
ADDED_UP = 200.0
# With RADAU5's choice of steps, h⁶ ~ tolerance, the error goes as tolerance^(5/6).
LEAST_EXPONENT, HIGHEST_EXPONENT = 0.75, 1.3


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("problem", [PROBLEM, ON_MANIFOLD], ids=["free", "retracted"])
def test_the_error_follows_the_tolerance(name, problem):
    """Also between the steps; and a finer tolerance takes more steps."""
    errors, steps = [], []
    for tolerance in TOLERANCES:
        done = run(with_tolerance(name, tolerance), np.linspace(0.0, END, 123), problem)
        assert done.status == Status.FINISHED
        errors.append(np.abs(done.states - exact(done.time)).max())
        steps.append(done.steps)
        assert errors[-1] < ADDED_UP * tolerance
    assert steps == sorted(steps) and steps[-1] > steps[0]
    exponent = np.polyfit(np.log(TOLERANCES), np.log(errors), 1)[0]
    assert LEAST_EXPONENT < exponent < HIGHEST_EXPONENT, f"observed {exponent:.2f}: {errors}"


@pytest.mark.parametrize("problem", [PROBLEM, ON_MANIFOLD], ids=["free", "retracted"])
def test_radau_has_order_five(problem):
    """Between the steps too: the local error of the dense output, of order 5, does not add up."""
    steps, at_end, between = [], [], []
    for tolerance in 10.0 ** -np.linspace(5.0, 11.0, 13):
        done = run(Radau(rtol=tolerance, atol=tolerance), np.linspace(0.0, END, 400), problem)
        steps.append(done.steps)
        at_end.append(np.abs(done.states[-1] - exact(END)).max())
        between.append(np.abs(done.states - exact(done.time)).max())
    assert slope(steps, at_end) > 5.0 - SLOPE  # the retraction may help at single times
    assert abs(slope(steps, between) - 5.0) < SLOPE


def test_retraction_costs_bdf_neither_steps_nor_accuracy():
    """The differences take part in the correction: on the manifold the error is smaller, with as many steps."""
    times = np.linspace(0.0, END, 400)
    for tolerance in TOLERANCES:
        integrator = BackwardDifferences(rtol=tolerance, atol=tolerance)
        free, kept = run(integrator, times), run(integrator, times, ON_MANIFOLD)
        assert kept.steps + kept.rejected < 1.1 * (free.steps + free.rejected)
        assert np.abs(kept.states - exact(times)).max() < 1.2 * np.abs(free.states - exact(times)).max()


@pytest.mark.parametrize("name", NAMES)
def test_outputs_do_not_disturb_the_steps(name):
    """The state at the end does not depend on how many outputs were asked for (adaptive), and times are met exactly."""
    integrator = with_step(name, END / 64)
    few, many = run(integrator, [0.0, END]), run(integrator, np.linspace(0.0, END, 65))
    assert many.time[-1] == END and len(many.time) == 65 and few.end == END
    np.testing.assert_allclose(many.states[-1], few.states[-1], rtol=1e-13 if INTEGRATORS[name].adaptive else 1e-9)
    np.testing.assert_array_equal(many.states[0], START)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_equal_those_of_a_finer_run(name):
    """At uneven times, some in one step, some on the last bit before the end."""
    times = np.array([0.0, 0.1, 0.1 + 1e-9, 0.11, 3.0, np.nextafter(4.0, 0), 4.0])
    if INTEGRATORS[name].adaptive:
        coarse, fine, allowed = with_tolerance(name, 1e-6), with_tolerance(name, 1e-12), ADDED_UP * 1e-6
    else:
        coarse, fine = with_step(name, 2e-3), with_step(name, 1e-4)
        allowed = 10.0 * 2e-3 ** INTEGRATORS[name].order
    np.testing.assert_allclose(run(coarse, times).states, run(fine, times).states, rtol=0, atol=allowed)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_repeatable_to_the_last_bit_and_leaves_its_start_alone(name):
    integrator = with_step(name, END / 50)
    start = START.copy()
    first = integrator.run(PROBLEM, start, np.linspace(0, END, 7), Monitor())
    np.testing.assert_array_equal(start, START)
    np.testing.assert_array_equal(first.states, run(integrator, np.linspace(0, END, 7)).states)


def in_pieces(integrator, problem: Problem, times: np.ndarray, start: np.ndarray, pieces: list[int]):
    """A run that is left after so many steps, written to bytes, and taken up again with another's memory."""
    out = np.full((len(times), len(start)), np.nan)
    out[0] = start
    memory = integrator.start(problem, times[0], start)
    for most in pieces:
        status = dataclasses.replace(integrator, max_steps=most).advance(problem, memory, times, out, Monitor())
        assert status == Status.TOO_MANY_STEPS
        kept, memory = memory.values(), integrator.memory(problem)
        memory.restore(kept)
    assert integrator.advance(problem, memory, times, out, Monitor(request=loop.PAUSE)) == Status.PAUSED
    status = integrator.advance(problem, memory, times, out, Monitor())
    return result(problem, status, memory, times, out), memory


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("seed", range(3))
def test_a_pause_changes_no_bit(name, seed):
    integrator = with_tolerance(name, 1e-7) if name in ADAPTIVE else with_step(name, 0.05)
    times = np.linspace(0.0, END, 23)
    whole = run(integrator, times, ON_MANIFOLD)
    turns = whole.steps + whole.rejected
    pieces = sorted(np.random.default_rng(seed).choice(np.arange(1, turns), size=5, replace=False).tolist())
    parts, _ = in_pieces(integrator, ON_MANIFOLD, times, START, pieces)
    for field in dataclasses.fields(whole):
        np.testing.assert_array_equal(getattr(parts, field.name), getattr(whole, field.name))


@pytest.mark.parametrize("name", NATIVE)
def test_events_are_found_in_their_order(name):
    """sn rises through 0.9, then cn falls through 0.3; after each the run starts anew from there."""
    tolerance = 1e-9
    integrator = with_tolerance(name, tolerance) if name in ADAPTIVE else with_step(name, 1e-3)
    times = np.linspace(0.0, 2.0, 11)
    out = np.empty((len(times), 3))
    out[0] = START
    memory, found = integrator.start(WITH_EVENTS, 0.0, START), []
    for _ in range(3):
        status = integrator.advance(WITH_EVENTS, memory, times, out, Monitor())
        if status != Status.EVENT:
            break
        happened = memory.event
        found.append((happened - 1, memory.t))
        memory = integrator.start(WITH_EVENTS, memory.t, memory.y, memory.written)
        memory.event = happened
    assert status == Status.FINISHED
    assert [event for event, _ in found] == [1, 0]
    order = INTEGRATORS[name].order
    # Fixed steps find events on the cubic of a step.
    allowed = ADDED_UP * tolerance if name in ADAPTIVE else 10.0 * 1e-3 ** min(order, 4) + 1e-12
    grid = np.linspace(0.0, 2.0, 2_000_001)
    sn, cn = ellipj(grid, MODULUS)[:2]
    wanted = {1: np.interp(0.9, sn[:1_500_000], grid[:1_500_000]), 0: np.interp(-0.3, -cn, grid)}
    for event, t in found:
        assert abs(t - wanted[event]) < allowed + 1e-11
    np.testing.assert_allclose(out, exact(times), rtol=0, atol=allowed)


@pytest.mark.parametrize("name", NAMES)
def test_a_right_hand_side_that_fails_ends_the_run_with_a_status(name):
    problem = Problem(size=3, rhs=_break_down.bind(NONE), retract=_stay.bind(NONE), jacobian=_no_slope.bind(NONE))
    done = run(with_step(name, 0.01), [0.0, 0.5, 2.0], problem)
    assert done.status in (Status.FAILED, Status.STEP_TOO_SMALL)
    assert 0.5 <= done.end <= 1.0 + 1e-9
    assert len(done.time) == 2
    np.testing.assert_allclose(done.states[1], START + 0.5, rtol=1e-12)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_steps_collapse_at_a_pole_and_what_was_reached_is_kept(name):
    """ẏ = y² from 1 has a pole at t = 1."""
    done = run(with_tolerance(name, 1e-8), [0.0, 0.5, 0.9, 2.0], POLE, start=np.array([1.0]))
    assert done.status == Status.STEP_TOO_SMALL
    assert len(done.time) == 3 and abs(done.end - 1.0) < 1e-5
    np.testing.assert_allclose(done.states[:, 0], 1.0 / (1.0 - done.time), rtol=1e-4)
    assert np.isfinite(done.last).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_can_be_stopped_and_bounded(name):
    stopped = run(with_step(name, 0.01), [0.0, END], monitor=Monitor(request=loop.STOP))
    assert stopped.status == Status.STOPPED and len(stopped.time) == 1
    bounded = run(dataclasses.replace(with_step(name, 1e-4), max_steps=10), [0.0, END])
    assert bounded.status == Status.TOO_MANY_STEPS and bounded.steps <= 10


def test_scipy_refuses_events_and_checks_the_others():
    with pytest.raises(DalembertError, match="'scipy'"):
        run(SciPy(), [0.0, 1.0], WITH_EVENTS)
    times = np.linspace(0.0, END, 7)
    for method in ("DOP853", "RK45", "Radau", "BDF", "LSODA"):
        done = run(SciPy(method=method, rtol=1e-7, atol=1e-7), times, ON_MANIFOLD)
        np.testing.assert_allclose(done.states, exact(times), atol=1e-4)
    paused = run(SciPy(), times, monitor=Monitor(request=loop.PAUSE))
    assert paused.status == Status.FINISHED


# Stiff problems. Values: F. Mazzia, C. Magherini, "Test Set for Initial Value Problem Solvers", release 2.4, University
# of Bari 2008, problems VDPOL (there with y₂ = 0 at the start), ROBER and HIRES.


@native
def _van_der_pol(r: Given, t, state, rate) -> int:
    rate[0] = state[1]
    rate[1] = ((1.0 - state[0] ** 2) * state[1] - state[0]) * r.number
    return 0


@native
def _van_der_pol_slope(r: Given, t, state, J) -> int:
    J[0, 0], J[0, 1] = 0.0, 1.0
    J[1, 0], J[1, 1] = (-2.0 * state[0] * state[1] - 1.0) * r.number, (1.0 - state[0] ** 2) * r.number
    return 0


@native
def _robertson(r: Given, t, state, rate) -> int:
    rate[0] = -0.04 * state[0] + 1e4 * state[1] * state[2]
    rate[2] = 3e7 * state[1] ** 2
    rate[1] = -rate[0] - rate[2]
    return 0


@native
def _robertson_slope(r: Given, t, state, J) -> int:
    J[0, 0], J[0, 1], J[0, 2] = -0.04, 1e4 * state[2], 1e4 * state[1]
    J[2, 0], J[2, 1], J[2, 2] = 0.0, 6e7 * state[1], 0.0
    for j in range(3):
        J[1, j] = -J[0, j] - J[2, j]
    return 0


@native
def _hires(r: Given, t, s, rate) -> int:
    rate[0] = -1.71 * s[0] + 0.43 * s[1] + 8.32 * s[2] + 0.0007
    rate[1] = 1.71 * s[0] - 8.75 * s[1]
    rate[2] = -10.03 * s[2] + 0.43 * s[3] + 0.035 * s[4]
    rate[3] = 8.32 * s[1] + 1.71 * s[2] - 1.12 * s[3]
    rate[4] = -1.745 * s[4] + 0.43 * s[5] + 0.43 * s[6]
    rate[5] = -280.0 * s[5] * s[7] + 0.69 * s[3] + 1.71 * s[4] - 0.43 * s[5] + 0.69 * s[6]
    rate[6] = 280.0 * s[5] * s[7] - 1.81 * s[6]
    rate[7] = -rate[6]
    return 0


@native
def _hires_slope(r: Given, t, s, J) -> int:
    J[:] = 0.0
    J[0, 0], J[0, 1], J[0, 2] = -1.71, 0.43, 8.32
    J[1, 0], J[1, 1] = 1.71, -8.75
    J[2, 2], J[2, 3], J[2, 4] = -10.03, 0.43, 0.035
    J[3, 1], J[3, 2], J[3, 3] = 8.32, 1.71, -1.12
    J[4, 4], J[4, 5], J[4, 6] = -1.745, 0.43, 0.43
    J[5, 3], J[5, 4], J[5, 5], J[5, 6], J[5, 7] = 0.69, 1.71, -0.43 - 280.0 * s[7], 0.69, -280.0 * s[5]
    J[6, 5], J[6, 6], J[6, 7] = 280.0 * s[7], -1.81, 280.0 * s[5]
    for j in range(8):
        J[7, j] = -J[6, j]
    return 0


@dataclasses.dataclass(frozen=True)
class Stiff:
    """A stiff problem: its value at the end, and how much smaller than rtol atol has to be."""

    problem: Problem
    start: tuple[float, ...]
    end: float
    value: tuple[float, ...]
    small: float


def _stiff(rhs, slope, start, end, value, small=1.0, number=0.0) -> Stiff:
    given = Given(number=number)
    problem = Problem(size=len(start), rhs=rhs.bind(given), jacobian=slope.bind(given), retract=_stay.bind(given))
    return Stiff(problem, start, end, value, small)


STIFF = {
    "vdpol": _stiff(
        _van_der_pol, _van_der_pol_slope, (2.0, 0.0), 2.0,
        (0.1706167732170483e1, -0.8928097010247975), number=1e6,
    ),
    "rober": _stiff(
        _robertson, _robertson_slope, (1.0, 0.0, 0.0), 1e11,
        (0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050), 1e-8,
    ),
    "hires": _stiff(
        _hires, _hires_slope, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057), 321.8122,
        (0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
         0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2), 1e-4,
    ),
}  # fmt: skip


def run_stiff(integrator, stiff: Stiff):
    return integrator.run(stiff.problem, np.array(stiff.start), np.array([0.0, stiff.end]))


@pytest.mark.parametrize("kind", [Radau, BackwardDifferences])
@pytest.mark.parametrize("case", STIFF)
def test_stiff_problems_agree_with_published_values(kind, case):
    stiff = STIFF[case]
    for tolerance in (1e-6, 1e-10):
        done = run_stiff(kind(rtol=tolerance, atol=stiff.small * tolerance), stiff)
        assert done.status == Status.FINISHED
        # Relative; Robertson's first two components fall over eleven decades and collect an error in each.
        np.testing.assert_allclose(done.last, stiff.value, rtol=1000.0 * tolerance)


DAMPER = 1e4


@native
def _damped(r: Given, t, state, rate) -> int:
    """A mass dragged along by a strong damper, u → cos t, and the damper's work: u²/2 + W is constant."""
    rate[0] = -DAMPER * (state[0] - np.cos(t))
    rate[1] = -state[0] * rate[0]
    return 0


@native
def _damped_slope(r: Given, t, state, J) -> int:
    J[0, 0], J[0, 1], J[1, 1] = -DAMPER, 0.0, 0.0
    J[1, 0] = DAMPER * (2.0 * state[0] - np.cos(t))
    return 0


@pytest.mark.parametrize("kind", [Radau, BackwardDifferences])
def test_the_work_of_a_strong_damper_is_as_good_as_the_motion(kind):
    """W is an integral of DAMPER times a small difference: errors of Newton's method would show in it."""
    problem = Problem(size=2, rhs=_damped.bind(NONE), jacobian=_damped_slope.bind(NONE), retract=_stay.bind(NONE))
    for tolerance in (1e-6, 1e-8):
        done = kind(rtol=tolerance, atol=0.01 * tolerance).run(problem, np.zeros(2), np.linspace(0.0, 1.0, 101))
        assert done.status == Status.FINISHED
        assert np.abs(0.5 * done.states[:, 0] ** 2 + done.states[:, 1]).max() < 20.0 * tolerance


def test_radau_takes_as_many_steps_as_published():
    """RADAU5 on Van der Pol's equation, ε = 1e-6, tolerance 1e-4: 2248 evaluations, 162 Jacobians, 253 factorizations,
    280 steps, 242 of them accepted (counts of D. Pedroso's russell_ode, whose result equals radau5.f's to 1e-14)."""
    integrator, stiff = Radau(rtol=1e-4, atol=1e-4), STIFF["vdpol"]
    memory = integrator.start(stiff.problem, 0.0, np.array([2.0, -0.6]))
    times, out = np.array([0.0, 2.0]), np.empty((2, 2))
    assert integrator.advance(stiff.problem, memory, times, out, Monitor()) == Status.FINISHED
    assert memory.steps < 1.1 * 242 and memory.steps + memory.rejected < 1.1 * 280
    assert memory.evaluations < 1.1 * 2248
    assert memory.jacobians < 1.1 * 162 and memory.factorizations < 1.1 * 253


# Differential-algebraic problems: a pendulum of length 1 in Cartesian coordinates, y = (x, v), starting at rest.
#   index 1:  ẋ = v,       v̇ = g − λ x,  0 = g·x + v·v − λ x·x
#   GGL:      ẋ = v − μ x, v̇ = g − λ x,  0 = (x·x − 1)/2,  0 = x·v

GRAVITY, AMPLITUDE, SWING = 9.81, 1.2, 2.0


@native
def _circle(r: Given, t, s, unused) -> int:
    length = math.hypot(s[0], s[1])
    s[0] /= length
    s[1] /= length
    along = s[0] * s[2] + s[1] * s[3]
    s[2] -= along * s[0]
    s[3] -= along * s[1]
    return 0


@native
def _dae_start(r: Given, t, s) -> int:
    """λ that fits position and velocity, and μ = 0."""
    s[4] = (-GRAVITY * s[1] + s[2] ** 2 + s[3] ** 2) / (s[0] ** 2 + s[1] ** 2)
    if len(s) > 5:
        s[5] = 0.0
    return 0


@native
def _index_1(r: Given, t, s, F) -> int:
    F[0], F[1] = s[2], s[3]
    F[2], F[3] = -s[4] * s[0], -GRAVITY - s[4] * s[1]
    F[4] = -GRAVITY * s[1] + s[2] ** 2 + s[3] ** 2 - s[4] * (s[0] ** 2 + s[1] ** 2)
    return 0


@native
def _index_1_slope(r: Given, t, s, J) -> int:
    J[:] = 0.0
    J[0, 2] = J[1, 3] = 1.0
    J[2, 0], J[2, 4], J[3, 1], J[3, 4] = -s[4], -s[0], -s[4], -s[1]
    J[4, 0], J[4, 1] = -2.0 * s[4] * s[0], -GRAVITY - 2.0 * s[4] * s[1]
    J[4, 2], J[4, 3], J[4, 4] = 2.0 * s[2], 2.0 * s[3], -(s[0] ** 2) - s[1] ** 2
    return 0


@native
def _ggl(r: Given, t, s, F) -> int:
    F[0], F[1] = s[2] - s[5] * s[0], s[3] - s[5] * s[1]
    F[2], F[3] = -s[4] * s[0], -GRAVITY - s[4] * s[1]
    F[4] = 0.5 * (s[0] ** 2 + s[1] ** 2 - 1.0)
    F[5] = s[0] * s[2] + s[1] * s[3]
    return 0


@native
def _ggl_slope(r: Given, t, s, J) -> int:
    J[:] = 0.0
    for i in range(2):
        J[i, i], J[i, 2 + i], J[i, 5] = -s[5], 1.0, -s[i]
        J[2 + i, i], J[2 + i, 4] = -s[4], -s[i]
        J[4, i] = s[i]
        J[5, i], J[5, 2 + i] = s[2 + i], s[i]
    return 0


@native
def _singular(r: Given, t, z, J) -> int:
    J[:] = 0.0
    return 0


def pendulum(index: int, retract, slope=None) -> Problem:
    F, J = (_index_1, _index_1_slope) if index == 1 else (_ggl, _ggl_slope)
    return Problem(
        size=4, retract=retract.bind(NONE), dae=F.bind(NONE), dae_jacobian=(slope or J).bind(NONE), dae_size=4 + index,
        dae_start=_dae_start.bind(NONE), dae_index=index,
    )  # fmt: skip


def swing(t: np.ndarray) -> np.ndarray:
    """sin(φ/2) = k cd(ωt): position and velocity."""
    k, omega = np.sin(AMPLITUDE / 2), np.sqrt(GRAVITY)
    sn, _, dn, _ = ellipj(omega * t + ellipk(k**2), k**2)
    phi, rate = 2 * np.arcsin(k * sn), 2 * k * omega * ellipj(omega * t + ellipk(k**2), k**2)[1]
    assert np.all(dn > 0)
    x, y = np.sin(phi), -np.cos(phi)
    return np.stack([x, y, -y * rate, x * rate], axis=-1)


@pytest.mark.parametrize("form", ["index-1", "ggl"])
@pytest.mark.parametrize("retract", [_stay, _circle], ids=["free", "retracted"])
def test_radau_has_order_five_on_differential_algebraic_equations(form, retract):
    """Between the steps of index 2 across the constraints only with the retraction, without it order 3."""
    problem = pendulum({"index-1": 1, "ggl": 2}[form], retract)
    times = np.linspace(0.0, SWING, 101)
    steps, errors = [], []
    for tolerance in 10.0 ** -np.linspace(5.0, 11.0, 13):
        done = Radau(form, rtol=tolerance, atol=tolerance).run(problem, swing(0.0), times)
        assert done.status == Status.FINISHED
        missed = np.abs(done.states - swing(times))
        assert missed.max() < ADDED_UP * tolerance
        errors.append(missed.max() if retract is _circle else missed[-1].max())
        steps.append(done.steps)
    assert slope(steps, errors) > 5.0 - SLOPE, f"{steps} {errors}"


def test_radau_keeps_the_constraints_of_index_two_by_itself():
    done = Radau("ggl", rtol=1e-9, atol=1e-9).run(pendulum(2, _stay), swing(0.0), np.array([0.0, 50.0]))
    x, v = done.last[:2], done.last[2:]
    assert abs(x @ x - 1.0) < 1e-9 and abs(x @ v) < 1e-9


@pytest.mark.parametrize("form", ["index-1", "ggl"])
def test_a_pause_changes_no_bit_of_differential_algebraic_equations(form):
    problem, integrator = pendulum({"index-1": 1, "ggl": 2}[form], _circle), Radau(form, rtol=1e-7, atol=1e-7)
    times = np.linspace(0.0, SWING, 23)
    whole = integrator.run(problem, swing(0.0), times)
    parts, _ = in_pieces(integrator, problem, times, swing(0.0), [1, 2, 17, 30])
    np.testing.assert_array_equal(parts.states, whole.states)
    assert parts.evaluations == whole.evaluations


def test_a_singular_matrix_ends_in_a_step_too_small():
    done = Radau("ggl").run(pendulum(2, _stay, _singular), swing(0.0), np.array([0.0, 1.0]))
    assert done.status == Status.STEP_TOO_SMALL
    np.testing.assert_array_equal(done.last, swing(0.0))


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 60])
def test_factors_solve_linear_equations(kind, n):
    random = np.random.default_rng(n)
    A = random.normal(size=(n, n)).astype(kind)
    if kind is complex:
        A += 1j * random.normal(size=(n, n))
    A[0, 0] = 0.0 if n > 1 else 2.0  # needs a pivot
    x = random.normal(size=n).astype(kind)
    factors, pivots, b = A.copy(), np.empty(n, dtype=np.int64), A @ x
    assert lu_factor(factors, pivots)
    lu_solve(factors, pivots, b)
    np.testing.assert_allclose(b, x, rtol=1e-9, atol=1e-9)
    A[:, -1] = 0.0
    assert not lu_factor(A, pivots)
    assert not lu_factor(np.full((n, n), np.nan, dtype=kind), pivots)
