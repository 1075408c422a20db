"""Random expression graphs: CasADi = scalar = batch = threads = pickled = cached = exported C."""

import ctypes
import dataclasses
import math
import pickle
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalembert.codegen import Kernel, compile_function
from dalembert.codegen.kernel_build import Build
from dalembert.codegen.tape import UNARY
from dalembert.errors import CompileError
from dalembert.native.jit import host

QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
N_IN = 4

# Operations that map integers to integers: every evaluation is exact, whatever is fused or reordered.
# Products are reduced modulo 1009, so that nothing outgrows 2⁵³.
EXACT = {
    "add": lambda x, y: ca.fmod(x + y, 1009),
    "sub": lambda x, y: ca.fmod(x - y, 1009),
    "mul": lambda x, y: ca.fmod(x * y, 1009),
    "muladd": lambda x, y: ca.fmod(x * y + x, 1009),
    "sq": lambda x, y: ca.fmod(x * x - y, 1009),
    "neg": lambda x, y: -x,
    "fmin": ca.fmin,
    "fmax": ca.fmax,
    "fabs": lambda x, y: ca.fabs(x),
    "sign": lambda x, y: ca.sign(x - y),
    "floor": lambda x, y: ca.floor(x / 2) + ca.ceil(y / 4),
    "copysign": ca.copysign,
    "remainder": lambda x, y: ca.remainder(x, 7) + y,
    "if": lambda x, y: ca.if_else(x < y, x, y + 1),
    "logic": lambda x, y: ca.logic_or(ca.logic_and(x, y), x == y) + ca.logic_not(y),
}


@st.composite
def graphs(draw, operations, largest=60):
    """A list of (operation, operand, operand); operand k is input k, or the result of step k - N_IN."""
    steps = []
    for k in range(draw(st.integers(1, largest))):
        operand = st.integers(0, N_IN + k - 1)
        steps.append((draw(st.sampled_from(sorted(operations))), draw(operand), draw(operand)))
    return steps


def compiled(values, x, **options):
    n = len(values)
    outputs = {"last": values[-1], "some": ca.vertcat(*values[N_IN :: max(1, n // 5)]), "zero": ca.SX(2, 2)}
    reference = ca.Function("f", [x], [ca.densify(v) for v in outputs.values()])
    return compile_function("graph", {"x": x}, outputs, **options), reference


def exact_graph(steps):
    x = ca.SX.sym("x", N_IN)
    values = ca.vertsplit(x)
    for op, i, j in steps:
        values.append(EXACT[op](values[i], values[j]))
    return values, x


def by_casadi(reference, states):
    rows = [reference(state) for state in states]
    return [np.array([np.array(row[i]) for row in rows]) for i in range(3)]


def assert_equal(result, expected):
    for got, want in zip(result, expected, strict=True):
        np.testing.assert_array_equal(got, want.reshape(got.shape))


integer_states = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).integers(-50, 50, (11, N_IN)).astype(float)
)


@settings(max_examples=40, **QUIET)
@given(steps=graphs(EXACT), states=integer_states)
def test_every_way_to_run_a_graph_agrees(steps, states):
    kernel, reference = compiled(*exact_graph(steps))
    expected = by_casadi(reference, states)
    assert_equal(kernel(states), expected)
    assert_equal(kernel(states, threads=3), expected)
    for i, state in enumerate(states):
        assert_equal(kernel(state), [e[i] for e in expected])
    assert_equal(pickle.loads(pickle.dumps(kernel))(states), expected)
    layouts = (kernel._layout_in, kernel._layout_out)
    # Code cut into tiny pieces, and a batch without the batch version.
    assert_equal(Kernel("graph", kernel._tape, *layouts, piece=3, cache=False)(states), expected)
    assert_equal(Kernel("graph", kernel._tape, *layouts, batch=False)(states), expected)
    del kernel
    again, _ = compiled(*exact_graph(steps))
    assert_equal(again(states), expected)
    assert again._code(True).from_cache


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not found: exported C cannot be compiled")
@settings(max_examples=8, **QUIET)
@given(steps=graphs(EXACT, largest=30), states=integer_states)
def test_exported_c_agrees(tmp_path_factory, steps, states):
    kernel, reference = compiled(*exact_graph(steps))
    function = load_c(kernel, tmp_path_factory.mktemp("c"))
    expected = by_casadi(reference, states)
    for i, state in enumerate(states):
        flat = np.concatenate([e[i].ravel() for e in expected])
        np.testing.assert_array_equal(function(state), flat)


def load_c(kernel, directory):
    source, header = kernel.export_c(directory)
    assert header.exists()
    library = directory / "kernel.so"
    command = ["gcc", "-std=c99", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-lm"]
    subprocess.run(command, check=True)
    function = getattr(ctypes.CDLL(str(library)), kernel.name)
    double_p = ctypes.POINTER(ctypes.c_double)

    def call(x):
        out, work = np.zeros(kernel.n_out), np.zeros(100_000)
        function(*(np.ascontiguousarray(a).ctypes.data_as(double_p) for a in (x, out, work)))
        return out

    return call


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not found: exported C cannot be compiled")
def test_exported_c_of_every_function_of_math_h(tmp_path):
    x = ca.SX.sym("x", 2)
    a, b = x[0], x[1]
    names = [name for name in UNARY if hasattr(ca, name)]
    values = [getattr(ca, name)(a) for name in names]
    values += [ca.atan2(a, b), ca.hypot(a, b), a**b, b**1.7, ca.fmod(a, b), ca.remainder(b, a), ca.SX(-0.1)]
    values += [ca.SX(np.inf), ca.SX(-np.inf), ca.SX(np.nan), ca.SX(-0.0), ca.SX(1e300)]
    kernel = compile_function("all_of_it", {"x": x}, {"y": ca.vertcat(*values)})
    point = np.array([0.4, 1.3])
    # Half an ulp each for libm's and our sine and cosine.
    np.testing.assert_allclose(load_c(kernel, tmp_path)(point), kernel(point), rtol=4e-16)


def test_exported_c_in_pieces(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found: exported C cannot be compiled")
    rng = np.random.default_rng(5)
    names = sorted(EXACT)
    steps = [(names[rng.integers(len(names))], *rng.integers(max(0, k - 90), N_IN + k, 2)) for k in range(3000)]
    values, x = exact_graph(steps)
    y = ca.vertcat(*values[::10])
    kernel = compile_function("graph", {"x": x}, {"y": y})
    source, header = kernel.export_c(tmp_path / "renamed.c")
    assert source.name == "renamed.c"
    assert "graph_1(" in source.read_text()
    assert "GRAPH_N_WORK 0" not in header.read_text()
    state = np.array([3.0, -7.0, 11.0, 2.0])
    expected = np.array(ca.Function("f", [x], [y])(state)).ravel()
    np.testing.assert_array_equal(load_c(kernel, tmp_path)(state), expected)


# Smooth operations with the size of their derivatives: (expression, value, (|∂/∂x|, |∂/∂y|)).
SMOOTH = {
    "add": (lambda x, y: x + y, lambda x, y: x + y, lambda x, y: (1, 1)),
    "mul": (lambda x, y: x * y, lambda x, y: x * y, lambda x, y: (abs(y), abs(x))),
    "muladd": (lambda x, y: x * y - x, lambda x, y: x * y - x, lambda x, y: (abs(y) + 1, abs(x))),
    "sin": (lambda x, y: ca.sin(x), lambda x, y: math.sin(x), lambda x, y: (1, 0)),
    "cos": (lambda x, y: ca.cos(x), lambda x, y: math.cos(x), lambda x, y: (1, 0)),
    "tanh": (lambda x, y: ca.tanh(x), lambda x, y: math.tanh(x), lambda x, y: (1, 0)),
    "div": (
        lambda x, y: x / (2 + ca.cos(y)),
        lambda x, y: x / (2 + math.cos(y)),
        lambda x, y: (1, abs(x)),
    ),
    "atan2": (
        lambda x, y: ca.atan2(x, 1 + y * y),
        lambda x, y: math.atan2(x, 1 + y * y),
        lambda x, y: (1, 2 * abs(x * y)),
    ),
    "sqrt": (lambda x, y: ca.sqrt(1 + x * x), lambda x, y: math.hypot(1, x), lambda x, y: (1, 0)),
}


@settings(max_examples=40, **QUIET)
@given(steps=graphs(SMOOTH, largest=40), seed=st.integers(0, 2**32 - 1))
def test_smooth_graphs_agree_within_the_running_error_bound(steps, seed):
    state = np.random.default_rng(seed).uniform(-2, 2, N_IN)
    x = ca.SX.sym("x", N_IN)
    symbols, values, errors = ca.vertsplit(x), list(state), [0.0] * N_IN
    for op, i, j in steps:
        expression, value, slopes = SMOOTH[op]
        a, b = values[i], values[j]
        new = value(a, b)
        if abs(new) > 1e3:
            continue
        da, db = slopes(a, b)
        symbols.append(expression(symbols[i], symbols[j]))
        values.append(new)
        # Running error: inherited, plus a few roundings of the result and of its parts.
        errors.append(da * errors[i] + db * errors[j] + 1e-15 * (1 + abs(new) + abs(a) + abs(a * b)))
    kernel = compile_function("smooth", {"x": x}, {"y": ca.vertcat(*symbols)}, cache=False)
    expected = np.array(ca.Function("f", [x], [ca.vertcat(*symbols)])(state)).ravel()
    bound = 2 * np.array(errors)
    assert np.all(np.abs(kernel(state) - expected) <= bound)
    assert np.all(np.abs(kernel(np.tile(state, (5, 1))) - expected) <= bound)


def test_levels_of_optimization_agree():
    rng = np.random.default_rng(8)
    names = sorted(EXACT)
    steps = [(names[rng.integers(len(names))], *rng.integers(max(0, k - 20), N_IN + k, 2)) for k in range(300)]
    states = rng.integers(-50, 50, (9, N_IN)).astype(float)
    values, x = exact_graph(steps)
    for level in (0, 1, 2, 3):
        kernel, reference = compiled(values, x, optimize=level)
        assert Build(kernel._tape, True, level).optimization() == level
        assert_equal(kernel(states), by_casadi(reference, states))


def test_levels_of_optimization_give_the_same_bits(monkeypatch):
    """One state at a time every operation is rounded by itself; the level may come from the environment."""
    rng = np.random.default_rng(3)
    x = ca.SX.sym("x", N_IN)
    values = list(ca.vertsplit(x))
    for _ in range(400):
        a, b = (values[i] for i in rng.integers(max(0, len(values) - 30), len(values), 2))
        kinds = (a * b + ca.sin(b), a - b / (2 + b * b), ca.exp(-a * a) + ca.sqrt(1 + b * b))
        values.append(kinds[rng.integers(3)] / (1 + a * a))
    state, found = rng.normal(size=N_IN), []
    for level in "0123":
        monkeypatch.setenv("DALEMBERT_OPTIMIZE", level)
        kernel = compile_function("f", {"x": x}, {"y": ca.vertcat(*values)}, cache=False)
        assert Build(kernel._tape, False).optimization() == int(level)
        found.append(kernel(state))
    assert np.all(np.isfinite(found)) and all(np.array_equal(found[0], other) for other in found[1:])
    monkeypatch.setenv("DALEMBERT_OPTIMIZE", "fast")
    with pytest.raises(CompileError, match="DALEMBERT_OPTIMIZE must be 0, 1, 2 or 3, got 'fast'"):
        compile_function("g", {"x": x}, {"y": 2 * x}, cache=False)(state)


@pytest.mark.parametrize("width", [2, 4, 8])
def test_vectors_of_other_machines_agree(monkeypatch, width):
    """LLVM splits vectors that are too wide for this machine, so that all widths can be tested on any."""
    other = dataclasses.replace(host(), width=width)
    monkeypatch.setattr("dalembert.codegen.kernel_build.host", lambda: other)
    monkeypatch.setattr("dalembert.codegen.kernel.host", lambda: other)
    x = ca.SX.sym("x", N_IN)
    both = [f(x) for f in (ca.sin, ca.cos, ca.exp, ca.floor, ca.sign)]
    y = ca.vertcat(*both, ca.fmin(x, x[0]), ca.if_else(x > 0, x, -x), ca.atan2(x, 1))
    kernel = compile_function("f", {"x": x}, {"y": y}, cache=False)
    assert f"<{width} x double>" in kernel.build(batch=True).ir()
    states = np.random.default_rng(0).normal(scale=9, size=(21, N_IN))
    states[3, 1], states[5, 2] = 1e7, np.nan
    # In vectors, products and sums of sine and cosine may be contracted: the last bit may differ.
    np.testing.assert_array_max_ulp(kernel(states), np.array([kernel(state) for state in states]), maxulp=1)
