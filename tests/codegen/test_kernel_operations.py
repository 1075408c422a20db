"""Each operation of CasADi's SX, for one state and for many: the same numbers as CasADi, edges included."""

import itertools

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import compile_function
from dalembert.codegen.tape import BINARY, UNARY, trace
from dalembert.errors import CompileError
from dalembert.native.mathematics import FUNCTIONS

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.7, -2.6, 1e-320, 1e-9, 1e9, -1e17, 1e300]
EDGES += [np.inf, -np.inf, np.nan]

UNARY_CALLS = {name: getattr(ca, name) for name in UNARY if hasattr(ca, name)} | {
    "neg": lambda x: -x,
    "sq": lambda x: x * x,
    "twice": lambda x: 2 * x,
    "inv": lambda x: 1 / x,
    "not": ca.logic_not,
}

BINARY_CALLS = {name: getattr(ca, name) for name in BINARY if hasattr(ca, name)} | {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "constpow": lambda x, y: x**2.3 + 0 * y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": ca.logic_and,
    "or": ca.logic_or,
    "if_else_zero": lambda x, y: ca.if_else(x, y, 0),
}

# Our sine and cosine are within 1 ulp, libm's (which CasADi calls) too; everything else is the same code.
# CasADi calls the C library, kernels the one of native.mathematics: each is within one unit of the truth.
ULPS = dict.fromkeys(FUNCTIONS, 1) | {"sin": 2, "cos": 2, "fmod": 0, "remainder": 0}


def assert_same(op, got, expected):
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), nan)
    got, expected = got[~nan], expected[~nan]
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(got[infinite], expected[infinite])
    finite_got, finite = got[~infinite], expected[~infinite]
    assert np.all(np.abs(finite_got - finite) <= ULPS.get(op, 0) * np.spacing(np.abs(finite)))
    if op not in ("fmin", "fmax"):  # C leaves open which of 0 and -0 is smaller
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("op", UNARY)
def test_unary_operation(op):
    x = ca.SX.sym("x")
    expression = UNARY_CALLS[op](x)
    kernel = compile_function(op, {"x": x}, {"y": expression})
    assert op in trace(op, {"x": x}, {"y": expression}).ops
    reference = ca.Function("f", [x], [expression])
    states = np.array(EDGES)[:, None]
    expected = np.array([float(reference(v)) for v in EDGES])
    assert_same(op, kernel(states)[:, 0], expected)
    assert_same(op, np.array([kernel(v)[0] for v in states]), expected)


@pytest.mark.parametrize("op", BINARY)
def test_binary_operation(op):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    expression = BINARY_CALLS[op](x, y)
    kernel = compile_function(op, {"x": x, "y": y}, {"z": expression})
    assert op in trace(op, {"x": x, "y": y}, {"z": expression}).ops
    reference = ca.Function("f", [x, y], [expression])
    pairs = np.array(list(itertools.product(EDGES, EDGES)))
    expected = np.array([float(reference(*pair)) for pair in pairs])
    assert_same(op, kernel(pairs[:, :1], pairs[:, 1:])[:, 0], expected)
    assert_same(op, np.array([kernel(*pair)[0] for pair in pairs]), expected)


def test_conditions_feed_conditions():
    """Comparisons kept as booleans inside the kernel still behave as the numbers 0 and 1."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    inside = ca.logic_and(x > 0, ca.logic_not(y > 1))
    expression = ca.if_else(ca.logic_or(inside, x == y), x + inside, y - inside)
    kernel = compile_function("f", {"x": x, "y": y}, {"z": expression})
    reference = ca.Function("f", [x, y], [expression])
    pairs = np.array(list(itertools.product([-1.0, 0.0, 0.5, 2.0], repeat=2)))
    expected = np.array([float(reference(*pair)) for pair in pairs])
    np.testing.assert_array_equal(kernel(pairs[:, :1], pairs[:, 1:])[:, 0], expected)


@pytest.mark.parametrize("value", [0.1, -1e300, np.inf, -np.inf, np.nan, 5e-324])
def test_constants_are_exact(value):
    x = ca.SX.sym("x")
    kernel = compile_function("f", {"x": x}, {"y": ca.vertcat(x, ca.SX(value))})
    for got in (kernel(1.0)[1], kernel(np.ones((3, 1)))[2, 1]):
        assert got == value or (np.isnan(got) and np.isnan(value))


def test_unknown_operation_is_named():
    x = ca.SX.sym("x")
    with pytest.raises(CompileError, match="kernel 'f': operation 'erfinv' cannot be compiled"):
        compile_function("f", {"x": x}, {"y": ca.erfinv(x)})
