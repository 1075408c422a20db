"""The simplifier keeps values, proves zeros, writes short forms, and stays within its budget."""

from __future__ import annotations

import itertools
import math
import time

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from sympy import cos, sin

import dalembert as da
from dalembert.derivation.collect import length
from dalembert.derivation.simplify import Budget, is_quotient, is_zero, simplify, simplify_array
from dalembert.derivation.trigonometric_field import TooLarge

m, M, l, g, A, C = sp.symbols("m M l g A C", positive=True)
m1, m2, l1, l2 = sp.symbols("m1 m2 l1 l2", positive=True)
a, b, c, u, v = sp.symbols("a b c u v", real=True)
SYMBOLS = (m, l, a, b, u, v)
MOVING = {a, b, c, u, v}

numbers = st.one_of(
    st.integers(-3, 3).map(sp.Integer), st.sampled_from([sp.Rational(1, 2), sp.Rational(-2, 3), sp.Float(0.25)])
)
angles = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.sampled_from([0, sp.pi / 6, sp.pi / 2])).map(
    lambda k: k[0] * a + k[1] * b + k[2]
)
leaves = st.one_of(numbers, st.sampled_from(SYMBOLS), angles.map(sin), angles.map(cos))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
        inner.map(lambda x: x**2),
        st.tuples(inner, inner).map(lambda p: p[0] / (2 + p[1] ** 2)),
        inner.map(lambda x: sp.sqrt(1 + x**2)),
    ),
    max_leaves=8,
)


def value(expression, point):
    """With 30 digits."""
    with mpmath.workdps(30):
        return mpmath.mpf(str(sp.N(expression.subs(point), 30)))


@settings(max_examples=60, deadline=None)
@given(expressions, st.integers(0, 10**6))
def test_the_value_stays(expression, seed):
    rng = np.random.default_rng(seed)
    point = {s: sp.Rational(int(rng.integers(1, 4000)), 1009) for s in SYMBOLS}
    before, after = value(expression, point), value(simplify(expression, MOVING, 2.0), point)
    assert abs(before - after) <= 1e-13 * (1 + abs(before))  # decimals are doubles


@settings(max_examples=40, deadline=None)
@given(expressions.filter(lambda e: not e.has(sp.Float)))
def test_zero_is_proved(expression):
    """(x + 1)² − x² − 2x − 1 is zero, with the sines and cosines of the second x by addition theorems."""
    other = expression.xreplace(
        {f: sin(f.args[0] - b) * cos(b) + cos(f.args[0] - b) * sin(b) for f in expression.atoms(sin)}
        | {f: cos(f.args[0] - b) * cos(b) - sin(f.args[0] - b) * sin(b) for f in expression.atoms(cos)}
    )
    assert is_zero((expression + 1) ** 2 - other**2 - 2 * other - 1, 2.0) in (True, None)


@pytest.mark.parametrize(
    ("expression", "zero"),
    [
        (sin(a) ** 2 + cos(a) ** 2 - 1, True),
        ((sp.sqrt(2 + (m**2 + 2) ** -2) + 1) ** 2 - 2 * sp.sqrt(2 + (m**2 + 2) ** -2) - 3 - (m**2 + 2) ** -2, True),
        (cos(a - b) - cos(a) * cos(b) - sin(a) * sin(b), True),
        (sp.tan(a) * cos(a) - sin(a), True),
        (sin(3 * a) - 3 * sin(a) + 4 * sin(a) ** 3, True),
        (cos(a) - 2 * cos(a / 2) ** 2 + 1, True),
        (cos(a + sp.pi / 6) - sp.sqrt(3) / 2 * cos(a) + sin(a) / 2, True),
        (
            sp.Float(0.1) * m * (sin(a) ** 2 + 2 * cos(a) ** 2)
            - sp.Float(0.3) * m
            + sp.Float(0.1) * m * (1 + sin(a) ** 2),
            True,
        ),
        ((1 - cos(a) ** 2) / sin(a) - sin(a), True),
        (sp.sqrt(1 + a**2) ** 3 - (1 + a**2) * sp.sqrt(1 + a**2), True),
        (1 / (1 + sin(a)) - (1 - sin(a)) / cos(a) ** 2, True),
        (sin(a) ** 2 - cos(a) ** 2, False),
        (sin(a) - a, False),
    ],
)
def test_zeros(expression, zero):
    assert is_zero(expression) is zero
    assert (simplify(expression) == 0) is zero


@pytest.mark.parametrize(
    ("expression", "short"),
    [
        (m1 * l1**2 + m2 * l1**2, l1**2 * (m1 + m2)),
        (m2 * l1 * l2 * (cos(a) * cos(b) + sin(a) * sin(b)), l1 * l2 * m2 * cos(a - b)),
        (M + m - m * cos(a) ** 2, M + m * sin(a) ** 2),
        (m * sin(a) * cos(a), m * sin(a) * cos(a)),
        ((1 - cos(a) ** 2) / sin(a), sin(a)),
        ((A**2 - C**2) / (A - C), A + C),
        (sp.expand(A * (u + v * cos(a)) ** 2) / 2, A * (u + v * cos(a)) ** 2 / 2),
        (sp.Float(9.81) * m * l * sin(a) + sp.Float(0.5) * m * l**2, l * m * (l / 2 + sp.Float(9.81) * sin(a))),
        ((cos(a) * cos(b) - sin(a) * sin(b)) * cos(c) + sin(c), sin(c) + cos(c) * cos(a + b)),
        (cos(a) ** 2 - sin(a) ** 2, cos(2 * a)),
        (m * g * l * sin(a) / (m * l**2), g * sin(a) / l),
        (
            sp.together(sp.expand(u**2 / (2 * A) + (v - c * cos(a)) ** 2 / (2 * A * sin(a) ** 2) + c**2 / (2 * C))),
            u**2 / (2 * A) + (v - c * cos(a)) ** 2 / (2 * A * sin(a) ** 2) + c**2 / (2 * C),
        ),
    ],
)
def test_short_forms(expression, short):
    found = simplify(expression, MOVING)
    assert found == short
    assert simplify(found, MOVING) == found


def test_never_longer():
    already = l * (g * sin(a) + l * u) * (m1 + m2)
    assert length(simplify(already, MOVING)) <= length(already)


def _large(seed: int, angles: int, factors: int, functions=(sin, cos)):
    """A product with very many terms when written out."""
    rng = np.random.default_rng(seed)
    symbols = sp.symbols(f"x0:{angles}", real=True)
    return sp.Mul(*(sum(int(rng.integers(1, 99)) * f(x) for x in symbols for f in functions) for _ in range(factors)))


def test_a_large_expression_is_left_alone_before_it_is_written_out():
    large, budget = _large(1, 12, 8), Budget()
    assert simplify(large, budget=budget) == large
    assert budget.spent < budget.work // 2
    assert is_zero(large, 5000) is None


def test_the_budget_is_for_all_of_an_array():
    large, budget = [_large(seed, 10, 4, (sin,)) for seed in range(40)], Budget(2000)
    out = simplify_array(np.array(large, dtype=object), budget=budget)
    assert out.shape == (40,)
    assert budget.work < budget.spent < 1.1 * budget.work


def test_a_part_of_a_budget_is_paid_by_the_whole():
    whole = Budget(100)
    part = whole.share(10)
    part.check(cost=10)
    with pytest.raises(TooLarge):
        part.check()
    assert (part.spent, whole.spent) == (11, 11)
    whole.check(terms=500, cost=39)
    with pytest.raises(TooLarge):
        whole.share(1000).check()
    with pytest.raises(TooLarge):
        Budget(terms=3).check(terms=4)


def test_no_clock_decides_the_form(monkeypatch):
    """What is simplified hangs on the work that it is, however slow the machine."""
    model = da.library.double_pendulum()
    expected = da.derive(model, "lagrange")
    hours = itertools.count()
    for name in ("process_time", "perf_counter", "monotonic", "time"):
        monkeypatch.setattr(time, name, lambda: 3600.0 * next(hours))
    found = da.derive(model, "lagrange")
    assert found.latex() == expected.latex()
    counts = []
    for _ in range(2):
        budget = Budget(3000)  # not enough
        out = simplify_array(np.array([_large(3, 3, 4), _large(4, 3, 4)], dtype=object), budget=budget)
        counts.append((budget.spent, *out))
    assert counts[0] == counts[1]


def test_what_is_not_finite_stays():
    assert simplify(sp.zoo) == sp.zoo
    assert math.isnan(float(simplify(sp.nan)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ((m**2 - l**2) / (m - l), False),
        (sp.sqrt(m + l) * 3 / (2 * sp.sqrt(m + l)), False),
        ((m**2 + l**2) / (m - l), True),
        (m / l, True),
        (m / sp.sqrt(m + l), True),
        (sin(a) ** 2 / (1 - cos(a)), False),
    ],
)
def test_quotients_stay_quotients(expression, expected):
    """What is left below the line is there in the simple form too, and nothing where nothing is left."""
    assert is_quotient(expression) is expected
    assert bool(sp.denom(simplify(expression)).free_symbols) is expected
