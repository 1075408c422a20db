"""Every algebra computes the same numbers, and jets are derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.algebras import ALGEBRAS, ROUND_OFF, run, run_symbolically

from dalembert.algebra import NUMPY, Jets, get_algebra
from dalembert.algebra.base import FUNCTIONS
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.algebra.dense_solve import solve_spd

# Where each function is smooth, and its SymPy twin.
DOMAIN = {"asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "log": (0.1, 5.0), "sqrt": (0.1, 5.0), "tan": (-1.4, 1.4)}
SYMPY_NAMES = {"absolute": sp.Abs}

# Second derivatives multiply round-off by the curvature, at most about 1e3 on these domains.
DERIVATIVE_ROUND_OFF = 1e-11

TWO_ARGUMENTS = {
    "atan2": (lambda al, a, b: al.atan2(a, b), lambda a, b: sp.atan2(a, b)),
    "minimum": (lambda al, a, b: al.minimum(a, b), lambda a, b: sp.Min(a, b)),
    "maximum": (lambda al, a, b: al.maximum(a, b), lambda a, b: sp.Max(a, b)),
    "where": (
        lambda al, a, b: al.where(al.less(a, b), a * b, a - b),
        lambda a, b: sp.Piecewise((a * b, a < b), (a - b, True)),
    ),
    "divide": (lambda al, a, b: a / b, lambda a, b: a / b),
    "reciprocal": (lambda al, a, b: 2 / a - 3 / b, lambda a, b: 2 / a - 3 / b),
    "arithmetic": (
        lambda al, a, b: 2 - a * b + 3 * a**2 - b**3 / 4 - (-a),
        lambda a, b: 2 - a * b + 3 * a**2 - b**3 / 4 + a,
    ),
    "power": (lambda al, a, b: al.power(2 + a * a, b), lambda a, b: (2 + a * a) ** b),
}
PAIRS = [(0.7, 1.3), (1.3, 0.7), (-0.8, 0.4), (0.6, -0.9), (-0.5, -1.7)]
EXPONENTS = (0, 1, 2, 3, 4, 7, 0.5, 1.5, -1, -2, -0.5)


def sympy_of(name: str):
    return SYMPY_NAMES.get(name) or getattr(sp, name)


def points(name: str) -> list[float]:
    low, high = DOMAIN.get(name, (-2.0, 2.0))
    return [low + (high - low) * x for x in (0.03, 0.31, 0.54, 0.97)]


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_one_scalar_has_the_value_that_sympy_gives(name, algebra):
    for x in points(name):
        expected = float(sympy_of(name)(sp.Float(x, 30)))
        assert run(algebra, lambda al, x: getattr(al, name)(x), x) == pytest.approx([expected], rel=ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_function_of_two_scalars_has_the_value_that_sympy_gives(name, algebra):
    ours, theirs = TWO_ARGUMENTS[name]
    for a, b in PAIRS:
        expected = float(theirs(sp.Float(a, 30), sp.Float(b, 30)))
        assert run(algebra, ours, a, b) == pytest.approx([expected], rel=ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_power_with_a_number_as_exponent(algebra, exponent):
    for base in (0.3, 2.5) + ((-1.7,) if float(exponent).is_integer() else ()):
        got = run(algebra, lambda al, x: al.power(x, exponent), base)
        assert got == pytest.approx([math.pow(base, exponent)], rel=ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize(("y", "x"), [(0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0)])
def test_atan2_on_the_axes(algebra, y, x):
    assert run(algebra, lambda al, y, x: al.atan2(y, x), y, x) == pytest.approx([math.atan2(y, x)], abs=ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_less_is_strict(algebra):
    def chosen(al, a, b):
        return al.where(al.less(a, b), 1.0, 2.0)

    assert [run(algebra, chosen, 1.0, b).item() for b in (0.5, 1.0, 1.5)] == [2.0, 2.0, 1.0]


# Jets


T = sp.Symbol("t", real=True)


def curve(x: float, v: float, a: float) -> sp.Expr:
    """A function of t with this value and derivatives at 0, and a third derivative that must not be seen."""
    return sp.Float(x, 30) + sp.Float(v, 30) * T + sp.Float(a, 30) * T**2 / 2 + T**3


def derivatives(expression: sp.Expr) -> list[float]:
    return [float(sp.diff(expression, T, k).subs(T, 0).doit()) for k in range(3)]


def jet_of(algebra: str, function, *jets: tuple[float, float, float]) -> np.ndarray:
    """(x, ẋ, ẍ) of a function of jets over the algebra."""

    def parts(al, values):
        over = Jets(al)
        arguments = [over.jets(*row).item() for row in values]
        return [part.item() for part in over.parts(np.array(function(over, *arguments), dtype=object))]

    return run(algebra, parts, np.array(jets))


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jet_of_a_function_is_its_derivative(name, algebra):
    for x in points(name):
        got = jet_of(algebra, lambda al, x: getattr(al, name)(x), (x, 0.8, -1.1))
        expected = derivatives(sympy_of(name)(curve(x, 0.8, -1.1)))
        np.testing.assert_allclose(got, expected, rtol=DERIVATIVE_ROUND_OFF, atol=DERIVATIVE_ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_jet_of_two_arguments_is_its_derivative(name, algebra):
    ours, theirs = TWO_ARGUMENTS[name]
    for a, b in PAIRS:
        got = jet_of(algebra, ours, (a, 0.8, -1.1), (b, -0.3, 0.6))
        branch = theirs
        if name in ("minimum", "maximum", "where"):
            # SymPy differentiates Min and Max through Heaviside; the active branch is what is meant.
            first = {"minimum": a < b, "maximum": b < a}.get(name)
            branch = (
                (lambda x, y, first=first: x if first else y)
                if first is not None
                else (lambda x, y, below=a < b: x * y if below else x - y)
            )
        expected = derivatives(branch(curve(a, 0.8, -1.1), curve(b, -0.3, 0.6)))
        np.testing.assert_allclose(got, expected, rtol=DERIVATIVE_ROUND_OFF, atol=DERIVATIVE_ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_jet_of_a_power_with_a_number_as_exponent(algebra, exponent):
    for base in (0.6, 2.5) + ((-1.7,) if float(exponent).is_integer() else ()):
        got = jet_of(algebra, lambda al, x: al.power(x, exponent), (base, 0.8, -1.1))
        expected = derivatives(curve(base, 0.8, -1.1) ** sp.nsimplify(exponent))
        np.testing.assert_allclose(got, expected, rtol=DERIVATIVE_ROUND_OFF, atol=DERIVATIVE_ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_jets_mix_with_numbers_and_constants_do_not_move(algebra):
    def mixed(al, x):
        return 3 - x / 2 + 4 * x + al.constant(5) * x - al.power(al.constant(2), 3) + al.sin(al.constant(1))

    got = jet_of(algebra, mixed, (0.3, 0.8, -1.1))
    np.testing.assert_allclose(got, [8.5 * 0.3 - 5 + math.sin(1), 8.5 * 0.8, -8.5 * 1.1], rtol=ROUND_OFF)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=6, max_size=6))
def test_jets_obey_the_product_rule_and_the_quotient_undoes_it(numbers):
    jets = Jets(NUMPY)
    a, b = jets.jets(*numbers[:3]).item(), jets.jets(3.0 + numbers[3], *numbers[4:]).item()
    back = (a * b) / b
    # The quotient divides by b ≥ 1 three times; sizes stay below 1e3.
    np.testing.assert_allclose([back.x, back.v, back.a], numbers[:3], atol=1e-11)


# Arrays and linear algebra


@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_arrays_mean_what_they_mean_in_numpy(algebra):
    al = get_algebra(algebra)
    values = np.arange(6.0).reshape(2, 3) / 4
    for got, expected in (
        (al.array(values.tolist()), values),
        (al.zeros(2, 3), np.zeros((2, 3))),
        (al.eye(3), np.eye(3)),
        (al.concatenate([]), np.zeros(0)),
        (al.concatenate([al.zeros(2), al.array([1.0])]), np.array([0.0, 0, 1])),
        (al.array(values.tolist()) @ al.eye(3), values),
        (al.zeros(0, 4), np.zeros((0, 4))),
    ):
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got.astype(float), expected)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_columns_is_the_matrix_of_a_linear_map(algebra, n):
    A = np.random.default_rng(n).normal(size=(4, n))
    got = run(algebra, lambda al, A: al.columns(lambda x: A @ x if n else al.zeros(4), n), A)
    np.testing.assert_allclose(got, A.reshape(-1), rtol=ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_solve_spd_solves(algebra, n, scale):
    rng = np.random.default_rng(n)
    L = rng.normal(size=(n, n))
    A, B, b = scale * (L @ L.T + np.eye(n)), rng.normal(size=(n, 2)), rng.normal(size=n)
    got = run(algebra, lambda al, A, B, b: [solve_spd(al, A, B), solve_spd(al, A, b)], A, B, b)
    expected = np.concatenate([np.linalg.solve(A, B).reshape(-1), np.linalg.solve(A, b)])
    # The condition of L Lᵀ + 1 with n = 6 is below 1e2.
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e2 * ROUND_OFF / scale)


def test_solve_spd_leaves_its_arguments_alone():
    A, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    solve_spd(NUMPY, A, b)
    assert A.tolist() == [[2, 1], [1, 3]] and b.tolist() == [1, 2]


def test_symbols_survive_where_and_give_the_same_numbers_later():
    def choice(al, x):
        return [al.where(al.less(x[0], x[1]), al.sin(x[0]), al.sqrt(x[1])), al.maximum(x[0], x[1])]

    for x in ([0.2, 0.9], [0.9, 0.2]):
        np.testing.assert_allclose(run_symbolically(choice, x), run("numpy", choice, x), rtol=ROUND_OFF)


def test_graphs_may_be_deeper_than_the_stack_of_python_whether_they_are_used_or_not():
    def grown(al, x):
        value = x[0]
        for _ in range(20_000):
            value = value + 0.5 * x[1]
        return [value]

    x = [0.25, 0.5]
    assert run("casadi", grown, x) == run("numpy", grown, x)
    _, unused = CASADI.symbols("x", 2)
    grown(CASADI, unused)


def test_a_graph_is_made_of_what_is_asked_for():
    _, x = CASADI.symbols("x", 2)
    for result in (x[0] * x[1] + 2, -x[0], 1 / x[0], CASADI.sin(x[0]), CASADI.atan2(x[0], 1.0)):
        assert result.made is None
        result.sx  # noqa: B018
        assert result.made is not None and result.a is None
    with pytest.raises(TypeError, match="meets 'str'"):
        CASADI.sin("x")
