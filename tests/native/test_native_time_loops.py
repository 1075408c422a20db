"""Time loops run as plain Python, compiled, and compiled with checks: the same numbers, to the bit."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import compile_function
from dalembert.errors import CompileError
from dalembert.integrators import INTEGRATORS, Status
from dalembert.integrators.base import Monitor, Problem
from dalembert.integrators.batch import Lanes
from dalembert.integrators.radau import Radau
from dalembert.integrators.runge_kutta import RungeKutta4
from dalembert.native import BatchKernel, Int, Matrix, Real, Record, checking, native, plain

# A pendulum of length 1 in Cartesian coordinates: q = (x, y), A = −q, y = (q, u, W).
END = 0.3
# An event is found on the polynomial of a step, whose value is led back onto the circle afterwards.
LED_BACK = 1e-3  # as far as a step of Euler's method errs
START = np.array([0.6, -0.8, 0.4, 0.3, 0.0])


class Pendulum(Record):
    """What its functions are given."""

    gravity = Real()


@native
def force(r: Pendulum, y) -> float:
    """λ of the constraint."""
    return (-r.gravity * y[1] + y[2] * y[2] + y[3] * y[3]) / (y[0] * y[0] + y[1] * y[1])


@native
def rhs(r: Pendulum, t, y, dy) -> int:
    s = force(r, y)
    dy[:2] = y[2:4]
    dy[2], dy[3], dy[4] = -s * y[0], -r.gravity - s * y[1], -0.3 * y[2] * y[2]
    return 0


@native
def retract(r: Pendulum, t, y, scratch) -> int:
    length = np.sqrt(y[0] * y[0] + y[1] * y[1])
    y[0] /= length
    y[1] /= length
    along = y[0] * y[2] + y[1] * y[3]
    y[2] -= along * y[0]
    y[3] -= along * y[1]
    scratch[0] = 1.0
    return 0


@native
def events(r: Pendulum, t, y, g) -> int:
    g[0] = y[0] - 0.61
    return 0


@native
def jacobian(r: Pendulum, t, y, J) -> int:
    """By differences, which is good enough for Newton's method."""
    n = len(y)
    here, there = np.empty(n), np.empty(n)
    rhs(r, t, y, here)
    for j in range(n):
        moved = y.copy()
        moved[j] += 1e-7
        rhs(r, t, moved, there)
        for i in range(n):
            J[i, j] = (there[i] - here[i]) / 1e-7
    return 0


@native
def exponential(r: Pendulum, t, z, out) -> int:
    out[:] = 0.0
    out[0], out[1] = z[0] + z[2], z[1] + z[3]
    out[2], out[5], out[6], out[9] = 1.0, 1.0, 1.0, 1.0
    return 0


@native
def residual(r: Pendulum, t, z, out) -> int:
    """From (q, u, u̇, λ): u̇ − f + q λ and (1 − q·q)/2, then their derivatives by δ, u, u̇, and A."""
    out[:] = 0.0
    out[0], out[1] = z[4] + z[6] * z[0], z[5] + r.gravity + z[6] * z[1]
    out[2] = 0.5 * (1.0 - z[0] * z[0] - z[1] * z[1])
    rows = out[3:].reshape(10, 2)
    rows[0, 0], rows[1, 1] = z[6], z[6]
    rows[6, 0], rows[7, 1] = 1.0, 1.0
    for j in range(2):
        rows[2, j], rows[9, j] = -z[j], -z[j]
    return 0


@native
def multipliers(r: Pendulum, t, y, out) -> int:
    s = force(r, y)
    out[0], out[1], out[2] = -s * y[0], -r.gravity - s * y[1], s
    return 0


@native
def discrete(r: Pendulum, t, z, out) -> int:
    """From (q, δ, h): momenta of the midpoint Lagrangian, work, and the slope of the first."""
    h, half = z[4], 0.5 * z[4] * r.gravity
    out[:] = 0.0
    out[0], out[1], out[2], out[3] = z[2] / h, z[3] / h + half, z[2] / h, z[3] / h - half
    out[5], out[8] = 1.0 / h, 1.0 / h
    return 0


@native
def project(r: Pendulum, t, y, out) -> int:
    out[:] = 0.0
    out[0] = 0.5 * (1.0 - y[0] * y[0] - y[1] * y[1])
    out[1], out[2], out[3], out[6] = -y[0], -y[1], 1.0, 1.0
    return 0


@native
def dae(r: Pendulum, t, z, F) -> int:
    """Index 1, z = (q, u, W, λ)."""
    F[:2] = z[2:4]
    F[2], F[3], F[4] = -z[5] * z[0], -r.gravity - z[5] * z[1], -0.3 * z[2] * z[2]
    F[5] = -r.gravity * z[1] + z[2] * z[2] + z[3] * z[3] - z[5] * (z[0] * z[0] + z[1] * z[1])
    return 0


@native
def dae_jacobian(r: Pendulum, t, z, J) -> int:
    J[:] = 0.0
    for i in range(2):
        J[i, 2 + i] = 1.0
        J[2 + i, i], J[2 + i, 5] = -z[5], -z[i]
        J[5, i], J[5, 2 + i] = -2.0 * z[5] * z[i], 2.0 * z[2 + i]
    J[5, 1] -= r.gravity
    J[4, 2] = -0.6 * z[2]
    J[5, 5] = -z[0] * z[0] - z[1] * z[1]
    return 0


@native
def dae_start(r: Pendulum, t, z) -> int:
    z[5] = force(r, z)
    return 0


@native
def impulses(r: Pendulum, t, given, out) -> int:
    """A step from (q, u, W, h): velocities by the force at its start, then positions by them."""
    h, s = given[5], force(r, given)
    out[2], out[3] = given[2] - h * s * given[0], given[3] - h * (r.gravity + s * given[1])
    out[:2] = given[:2] + h * out[2:4]
    out[4] = given[4] - 0.3 * h * given[2] * given[2]
    return 0


FUNCTIONS = (
    rhs, retract, impulses, events, jacobian, exponential, residual, multipliers, discrete, project, dae, dae_jacobian,
    dae_start,
)  # fmt: skip


def problem(**options) -> Problem:
    given = Pendulum(gravity=9.81)
    functions = {function.python.__name__: function.bind(given) for function in FUNCTIONS}
    return Problem(size=5, nq=2, nv=2, rows=1, dae_size=6, dae_index=1, **functions, **options)


METHODS = {
    name: kind(step=0.01) if not kind.adaptive else kind(rtol=1e-6, atol=1e-8) for name, kind in INTEGRATORS.items()
}
METHODS["radau index-1"] = Radau("index-1", rtol=1e-6, atol=1e-8)
OPTIONS = {"plain": {}, "staged": {"staged": True}}


def run(method, **options):
    return method.run(problem(**options), START, np.linspace(0.0, END, 12))


def same(first, second):
    for name in ("states", "last", "end", "steps", "rejected", "evaluations", "status"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", METHODS)
def test_a_time_loop_is_its_own_oracle(name, options):
    compiled = run(METHODS[name], **OPTIONS[options])
    assert compiled.status == Status.FINISHED and compiled.steps > 1
    with plain():
        same(run(METHODS[name], **OPTIONS[options]), compiled)
    with checking():
        same(run(METHODS[name], **OPTIONS[options]), compiled)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "scipy"])
def test_events_too(name):
    method, seen = METHODS[name], []
    for mode in (checking, plain):
        with mode():
            given = problem(n_events=1)
            memory, out = method.start(given, 0.0, START), np.zeros((3, 5))
            status = method.advance(given, memory, np.linspace(0.0, END, 3), out, Monitor())
            assert status == Status.EVENT and memory.event == 1
            assert abs(memory.y[0] - 0.61) < LED_BACK
            seen.append((memory.values(), out))
    for key, value in seen[0][0].items():
        np.testing.assert_array_equal(seen[1][0][key], value, err_msg=key)
    np.testing.assert_array_equal(seen[1][1], seen[0][1])


@pytest.mark.parametrize("name", [name for name in METHODS if name != "scipy"])
def test_a_memory_is_known_by_the_names_of_its_fields(name):
    """What a checkpoint keeps is enough to go on, in another memory."""
    method, given, times = METHODS[name], problem(), np.linspace(0.0, END, 12)
    whole = run(method)
    memory, out = method.start(given, 0.0, START), np.zeros((12, 5))
    method.advance(given, memory, times[:5], out, Monitor())
    again = method.memory(given)
    again.restore(memory.values())
    assert set(memory.values()) == {name for name, field in type(memory).fields.items()}
    if not method.adaptive:  # a method that adapts its steps takes the end of the first part for its own
        method.advance(given, again, times, out, Monitor())
        np.testing.assert_array_equal(out[5:], whole.states[5:])


# Batch kernels


class Batched(Record):
    """A kernel for groups of states."""

    groups, size = 2 * Int()
    kernel = BatchKernel()
    x, y = 2 * Matrix("groups", "size")


@native
def twice(r: Batched) -> bool:
    """The kernel, applied twice."""
    if not r.kernel:
        return False
    r.kernel(r.x, r.y, r.groups)
    r.x[:] = r.y
    r.kernel(r.x, r.y, r.groups)
    return True


def test_batch_kernels_in_records():
    x = ca.SX.sym("x", 3)
    kernel = compile_function("f", {"x": x}, {"y": ca.vertcat(ca.sin(x[1]), x[0] * x[2], ca.exp(-x[0]))})
    width = kernel.width
    states = np.random.default_rng(3).normal(size=(2 * width, 3))
    packed = np.ascontiguousarray(states.reshape(2, width, 3).transpose(0, 2, 1)).reshape(2, 3 * width)
    wanted = kernel(kernel(states)).reshape(2, width, 3).transpose(0, 2, 1).reshape(2, 3 * width)
    for mode in (checking, plain):
        with mode():
            given = Batched(groups=2, size=3 * width, kernel=kernel, x=packed.copy())
            assert twice(given)
            np.testing.assert_allclose(given.y, wanted, rtol=1e-15)
    assert not twice(Batched(groups=2, size=3 * width))
    with checking():
        # Less room than two groups take, as the record says; there is memory enough behind it.
        x, y = np.zeros((2, 3, 2 * width))[:, :2]
        given = Batched(groups=2, size=2 * width, kernel=kernel, x=x, y=y)
        with pytest.raises(CompileError, match="too few numbers"):
            twice(given)


@pytest.mark.filterwarnings("ignore:invalid value")  # of the sample that is lost, in plain Python
@pytest.mark.parametrize("unit", [False, True], ids=["plain", "on a circle"])
def test_lanes_equal_one_sample_after_the_other(unit):
    """Also with a state that has to stay on a manifold, and with a sample that is lost on the way."""
    t, q, u, p, tau = (ca.SX.sym(name, n) for name, n in (("t", 1), ("q", 2), ("u", 2), ("p", 1), ("tau", 2)))
    du = -p * q - 0.1 * u + tau
    rates = ca.vertcat(u, ca.dot(u, tau), du)
    kernel = compile_function("f", {"t": t, "q": q, "u": u, "p": p, "tau": tau}, {"y": rates})
    moved = (q + u) / ca.norm_2(q + u)
    move = compile_function("m", {"q": q, "d": u, "p": p}, {"q": moved}) if unit else None
    samples = 2 * kernel.width + 1
    random = np.random.default_rng(1)
    start, parameters = random.normal(size=(samples, 4)), random.uniform(1, 2, size=(samples, 1))
    parameters[-1] = -1e6
    times, method = np.linspace(0.0, 40.0, 5), RungeKutta4(step=0.07)
    lanes, seen = Lanes(kernel, move, 2, 2), []
    for mode in (checking, plain):
        with mode():
            out, written = np.zeros((samples, 5, 5)), np.zeros(samples, dtype=np.int64)
            monitor = Monitor()
            lanes.run(method, start, parameters, times, out, written, monitor)
            assert monitor.reached == 40.0
            seen.append((out, written))
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    np.testing.assert_array_equal(seen[0][1], seen[1][1])
    out, written = seen[0]
    assert written[-1] < 5 and np.isnan(out[-1, -1]).all() and np.all(written[:-1] == 5)
    if unit:
        np.testing.assert_allclose(np.linalg.norm(out[:-1, 1:, :2], axis=2), 1.0, rtol=1e-14)
