"""Graphs run over any scalars, and read as definitions."""

from __future__ import annotations

import operator

import casadi as ca
import mpmath
import numpy as np
import pytest
import sympy as sp
from support.effort import effort

from dalembert.codegen.tape import BINARY, UNARY
from dalembert.derivation.expression_graph import Scalars, SympyScalars, define, replay, tape_of

# CasADi keeps these for its own use, or has no function for them
_UNTRACED = {"fmod", "remainder", "copysign"}


class MpmathScalars(Scalars):
    """Numbers with many digits.

    Attributes:
        context: of mpmath, with its precision.
    """

    def __init__(self, digits=30):
        super().__init__()
        mp = mpmath.mp.clone()
        self.context = mp
        mp.dps = digits
        names = ("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh")
        self.operations |= {name: getattr(mp, name) for name in (*names, "acosh", "atanh", "floor", "ceil", "erf")}
        unary = {
            "fabs": abs, "sign": mp.sign, "log1p": lambda x: mp.log(1 + x), "expm1": mp.expm1, "not": operator.not_,
        }  # fmt: skip
        binary = {
            "atan2": mp.atan2, "fmin": min, "fmax": max, "pow": mp.power, "constpow": mp.power, "hypot": mp.hypot,
            "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
            "and": lambda a, b: bool(a) and bool(b), "or": lambda a, b: bool(a) or bool(b),
            "if_else_zero": lambda c, x: x if c else mp.mpf(0),
        }  # fmt: skip
        self.operations |= {**unary, **binary}

    def constant(self, value):
        return self.context.mpf(value)


def function_of_all():
    """A function with every kind of operation that mechanics traces."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    parts = [
        -x, ca.exp(x), ca.log(y), ca.sqrt(y), x**2, 2 * x, 1 / y, ca.sin(x), ca.cos(x), ca.tan(x), ca.asin(x / 9),
        ca.acos(x / 9), ca.atan(x), ca.sinh(x), ca.cosh(x), ca.tanh(x), ca.fabs(x), ca.sign(x), ca.floor(y), ca.ceil(y),
        x + y, x - y, x * y, x / y, y**x, y**2.5, ca.fmin(x, y), ca.fmax(x, y), ca.atan2(x, y), ca.hypot(x, y),
        ca.if_else(x < y, x * y, y - x), ca.if_else(ca.logic_and(x <= y, y > 0), x, y), ca.if_else(x == y, x, 2 * y),
        ca.erf(x), ca.asinh(x), ca.log1p(y), ca.expm1(x),
    ]  # fmt: skip
    return ca.Function("all", [x, y], [ca.vertcat(*parts)])


@pytest.mark.parametrize("point", [(0.3, 1.7), (-0.4, 0.2), (1.5, 1.5)])
def test_replay_gives_the_numbers_of_casadi(point):
    function = function_of_all()
    expected = np.array(function(*point)).ravel()
    many = replay(function, MpmathScalars(30), [mpmath.mpf(x) for x in point])
    np.testing.assert_allclose([float(x) for x in many], expected, rtol=1e-14, atol=1e-15)
    x, y = sp.symbols("x y", real=True)
    symbolic = replay(function, SympyScalars(), [x, y])
    values = [complex(e.subs({x: point[0], y: point[1]}).evalf()) for e in symbolic]
    np.testing.assert_allclose(values, expected, rtol=1e-13, atol=1e-14)


def test_every_operation_of_a_tape_has_a_meaning():
    for scalars in (SympyScalars(), MpmathScalars()):
        assert set(UNARY) | set(BINARY) - _UNTRACED <= set(scalars.operations)


def test_thirty_digits():
    x = ca.SX.sym("x")
    (result,) = replay(
        ca.Function("f", [x], [ca.sin(x) ** 2 + ca.cos(x) ** 2 - 1]), MpmathScalars(30), [mpmath.mpf("0.7")]
    )
    assert abs(result) < 1e-29


def chain(n: int) -> ca.Function:
    """A long recursion in which every value is used twice: written out it would have 2ⁿ terms."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    a, b = x, y
    for _ in range(n):
        a, b = ca.sin(a) * b + a, a * b / 2 - ca.cos(b)
    return ca.Function("chain", [x, y], [ca.vertcat(a, b)])


def test_definitions_name_what_is_shared():
    x, y = sp.symbols("x y", real=True)
    found = define(chain(4), [x, y])
    assert len(found) >= 6
    known = {x: 0.4, y: 0.9}
    for symbol, formula in zip(found.symbols, found.formulas, strict=True):
        assert formula.free_symbols <= set(known), "a definition uses what is defined before it"
        known[symbol] = float(formula.subs(known))
    expected = np.array(chain(4)(0.4, 0.9)).ravel()
    np.testing.assert_allclose([float(r.subs(known)) for r in found.results], expected, rtol=1e-13)
    written_out = found.expanded(found.results[0])
    assert written_out.free_symbols == {x, y}
    np.testing.assert_allclose(float(written_out.subs({x: 0.4, y: 0.9})), expected[0], rtol=1e-13)


def test_only_what_a_result_needs():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    p, q = ca.sin(x) + 1, ca.cos(y) + 1
    found = define(ca.Function("f", [x, y], [ca.vertcat(p * p * p + p, q * q * q + q)]), sp.symbols("x y", real=True))
    part = found.needed([found.results[0]])
    assert 0 < len(part) < len(found)
    assert all(sp.Symbol("y", real=True) not in formula.free_symbols for formula in part.formulas)


def test_names_do_not_collide_with_inputs():
    found = define(chain(3), [sp.Symbol("z1", real=True), sp.Symbol("z2", real=True)])
    assert not {"z1", "z2"} & {symbol.name for symbol in found.symbols}


def test_long_graphs_are_quick():
    spent = []
    for length in (500, 2000):
        function = chain(length)
        with effort() as one:
            tape = tape_of(function)
            found = define(tape, sp.symbols("x y", real=True))
        spent.append(one.calls)
    assert len(tape.ops) > 10_000
    assert len(found) > 3000
    assert spent[1] < 5 * spent[0] < 10_000_000  # in proportion to the length


def test_fractions_stay_fractions():
    x = ca.SX.sym("x")
    found = define(ca.Function("f", [x], [x / 3 + x * (2.0 / 3.0) ** 2 + 9.81]), [sp.Symbol("x", real=True)])
    text = str(found.results[0])
    assert text == "7*x/9 + 9.81"


def test_expressions_are_those_that_sympy_makes():
    """Formulas that were put together without evaluation are the evaluated ones."""
    rng = np.random.default_rng(4)
    symbols = [ca.SX.sym(f"s{k}") for k in range(9)]
    values = list(symbols)
    for _ in range(400):
        a, b = (values[i] for i in rng.integers(max(0, len(values) - 30), len(values), 2))
        values.append([a + b, a - b, a * b, -a * b, 2 * a, ca.sin(a) * b, a * 0.5][int(rng.integers(7))])
    found = define(ca.Function("f", [ca.vertcat(*symbols)], [ca.vertcat(*values[-40:])]), sp.symbols("s0:9", real=True))
    for formula in [*found.formulas, *found.results]:
        again = formula.func(*formula.args) if formula.args else formula
        assert again == formula
        assert hash(again) == hash(formula)
