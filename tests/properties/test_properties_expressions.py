"""Formulas have the same value in every algebra as in SymPy itself."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.algebras import ALGEBRAS, run

from dalembert.expressions import TIME, evaluate, parse, reference, to_text

# One evaluation of a few dozen operations on numbers of size one to ten.
ROUND_OFF = 1e-12

VALUES = {"a": 0.7, "b": -1.3, "k": 2.4, "t": 0.35}
Q, U, X = 0.45, -0.85, 1.15  # q(knee), u(knee, 1), x(tip)

FORMULAS = (
    "a + b*k - t", "-k*q(knee) - 0.1*u(knee, 1) + 3*sin(2*pi*t)", "a/b/k", "1/(a + k)", "k**2 + a**3 - b**2",
    "k**-1.5", "k**a", "sqrt(k + x(tip)**2)", "1/sqrt(k)", "a/sqrt(k + 1)", "exp(-a*t)*cos(k*t)", "exp(1)*a",
    "log(k) + atan2(b, a) + atan2(-a, b)", "asin(a/2) + acos(a/2) + atan(k)", "sinh(a) + cosh(b) - tanh(k)",
    "abs(b) + sign(b)*k", "min(a, b) + max(a, min(b, k))", "a if t < 1 else b", "a if t > 1 else b*k",
    "(a if q(knee) <= 0 else 2*a) + (b if x(tip) >= 1 else 1)", "tan(a) + tan(t + pi/2) + tan(b + 3*pi/2)",
    "sin(t + pi/2) + cos(t - pi)", "(a + b)**4/(k - t)**2", "max(0, k - 3)**2", "2**t", "k**(t/2)",
    "(1 if 1 <= 1 else 0)*a",
    "(k*(x(tip) - 0.2) + 0.3*u(knee, 1)) if x(tip) < 1.2 else 0", "7", "0.25", "pi", "-a", "a*a*a", "abs(a - k)*abs(b)",
)  # fmt: skip


def meaning(expression: sp.Expr) -> float:
    """SymPy's own value, with many digits."""
    values = {sp.Symbol(name, real=True): sp.Float(value, 30) for name, value in VALUES.items()}
    values[TIME] = sp.Float(VALUES["t"], 30)
    swap = {
        reference("q", "knee"): sp.Float(Q, 30),
        reference("u", "knee", 1): sp.Float(U, 30),
        reference("x", "tip"): sp.Float(X, 30),
    }
    return float(sp.N(expression.xreplace(swap).xreplace(values)))


def value_in(algebra: str, expression: sp.Expr) -> float:
    names = [*VALUES]

    def function(al, numbers):
        known = dict(zip([*names, ("q", "knee", 0), ("u", "knee", 1), ("x", "tip", 0)], numbers, strict=True))

        def lookup(atom):
            return known[(atom.quantity, atom.element, atom.index)] if hasattr(atom, "quantity") else known[atom.name]

        return evaluate(al, expression, lookup)

    return run(algebra, function, [*VALUES.values(), Q, U, X]).item()


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("text", FORMULAS)
def test_formula_has_its_meaning_in_every_algebra(text, algebra):
    expression = parse(text)
    assert value_in(algebra, expression) == pytest.approx(meaning(expression), rel=ROUND_OFF, abs=ROUND_OFF)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [("1 if t <= 0 else 2", 1), ("1 if t >= 0 else 2", 1), ("1 if t < 0 else 2", 2), ("1 if t > 0 else 2", 2)],
)
def test_comparisons_at_equality(text, expected, algebra):
    """A formula that switches on at t = 0 is on at t = 0."""
    got = run(algebra, lambda al, t: evaluate(al, parse(text), lambda atom: t), 0.0)
    assert got.item() == expected


@pytest.mark.parametrize("text", FORMULAS)
def test_printed_and_read_again_it_is_the_same_formula(text):
    expression = parse(text)
    again = parse(to_text(expression))
    assert meaning(again) == pytest.approx(meaning(expression), rel=ROUND_OFF, abs=ROUND_OFF)


LEAVES = st.sampled_from(["a", "b", "k", "t", "q(knee)", "u(knee, 1)", "x(tip)", "2", "0.5", "3", "pi"])


def grown(children):
    pair = st.tuples(children, children)
    return st.one_of(
        pair.map(lambda p: f"({p[0]} + {p[1]})"),
        pair.map(lambda p: f"({p[0]} - {p[1]})"),
        pair.map(lambda p: f"({p[0]})*({p[1]})"),
        pair.map(lambda p: f"({p[0]})/(1 + ({p[1]})**2)"),
        pair.map(lambda p: f"atan2({p[0]}, 2 + ({p[1]})**2)"),
        pair.map(lambda p: f"max({p[0]}, {p[1]})"),
        # A condition may not contain another conditional.
        pair.filter(lambda p: " if " not in p[1]).map(lambda p: f"(({p[0]}) if ({p[1]}) < 1 else 2*({p[0]}))"),
        children.map(lambda c: f"sin({c})"),
        children.map(lambda c: f"tanh({c})"),
        children.map(lambda c: f"abs({c})"),
        children.map(lambda c: f"sqrt(1 + ({c})**2)"),
        children.map(lambda c: f"exp(-({c})**2)"),
    )


@settings(max_examples=40, deadline=None)
@given(st.recursive(LEAVES, grown, max_leaves=8))
def test_random_formulas_agree(text):
    """NumPy and CasADi against SymPy; next to a switch both sides are right, so those draws are left out."""
    expression = parse(text)
    for condition in expression.atoms(sp.core.relational.Relational):
        if abs(meaning(condition.lhs - condition.rhs)) < 1e-6:
            return
    expected = meaning(expression)
    for algebra in ("numpy", "casadi"):
        assert value_in(algebra, expression) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.isfinite(expected)
