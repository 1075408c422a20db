"""Derivatives of formulas before their graph is built: the same as CasADi's of the built graph."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.algebra.forward import Steps, formula_gradients, formula_rates, formula_without, operands_first
from dalembert.modular.scope import Scope
from dalembert.modular.variables import local

NAMES = "xyz"


def _formulas(x: Any, y: Any, z: Any) -> list[Any]:
    al = CASADI
    return [
        x * y - 3.0 * z, (x + 2.0) / (y * y + 1.0), al.sqrt(x * x + y * y + 1.0) - z, al.sin(x) * al.cos(y) / 4.0,
        al.exp(-z) * x, 5.0 / (z + 3.0) - (y - x), x, 2.5,
    ]  # fmt: skip


def _scalars() -> tuple[list[Any], list[Any], dict[int, Any]]:
    symbols = [CASADI.symbol(name) for name in NAMES]
    return symbols, _formulas(*symbols), {id(symbol): symbol for symbol in symbols}


def _numbers(values: list[Any], symbols: list[Any], at: np.ndarray) -> np.ndarray:
    inputs = CASADI.to_sx(np.array(symbols, dtype=object))
    function = ca.Function("f", [inputs], [CASADI.to_sx(np.array(values, dtype=object))])
    return np.asarray(function(at)).reshape(-1)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_as_of_the_built_graph(seed: int) -> None:
    at = np.random.default_rng(seed).normal(size=3)
    symbols, values, leaves = _scalars()
    speeds = {id(symbols[0]): symbols[1] * 2.0, id(symbols[2]): 0.5}
    order = operands_first(values, leaves)
    assert order is not None
    rates = formula_rates(values, speeds, order)
    rows = formula_gradients(values, dict(zip(map(id, symbols), NAMES, strict=True)), order)
    without = formula_without(values, {id(symbols[1])}, order)
    directions = np.array([symbols[1] * 2.0, 0.0, 0.5], dtype=object)
    X = np.array(symbols, dtype=object)
    V = np.array(values, dtype=object)
    assert _numbers(rates, symbols, at) == pytest.approx(
        _numbers(list(CASADI.rate(V, X, directions)), symbols, at), rel=1e-13, abs=1e-14
    )
    jacobian = _numbers(list(CASADI.jacobian(V, X).reshape(-1)), symbols, at)
    mine = _numbers([row.get(name, 0.0) for row in rows for name in NAMES], symbols, at)
    assert mine == pytest.approx(jacobian, rel=1e-13, abs=1e-14)
    assert _numbers(without, symbols, at) == pytest.approx(
        _numbers(values, symbols, at * [1, 0, 1]), rel=1e-14, abs=1e-15
    )
    assert "z" not in rows[0] or rows[0]["z"] == -3.0


def test_what_is_built_or_has_no_rule_is_left_to_casadi() -> None:
    symbols, _, leaves = _scalars()
    built = symbols[0] * symbols[1]
    assert built.sx is not None
    assert operands_first([built], leaves) is None
    assert operands_first([CASADI.atan2(symbols[0], symbols[1])], leaves) is None
    assert operands_first([symbols[0] / (symbols[1] - symbols[1]), symbols[0] / 0.0], leaves) is None


def test_steps_are_taken_again_from_numbers_and_other_scalars() -> None:
    symbols, values, leaves = _scalars()
    order = operands_first(values, leaves)
    assert order is not None
    steps = Steps(values, symbols, order)
    some = Steps(values[1:4], symbols, order)
    at = np.array([0.3, -1.2, 0.7])
    expected = _numbers(values, symbols, at)  # this builds the graph, steps stay
    assert steps.numbers(list(at)) == pytest.approx(expected, rel=1e-15)
    assert some.numbers(list(at)) == pytest.approx(expected[1:4], rel=1e-15)
    u = CASADI.symbol("u")
    placed = steps.scalars([u, 2.0 * u, 0.0])
    assert _numbers(placed, [u], np.array([0.4])) == pytest.approx(
        _numbers(values, symbols, np.array([0.4, 0.8, 0.0])), rel=1e-15
    )


def test_where_python_knows_no_number_casadi_is_asked() -> None:
    symbols, _, leaves = _scalars()
    values = [1.0 / symbols[0], CASADI.sqrt(symbols[1])]
    order = operands_first(values, leaves)
    assert order is not None
    steps = Steps(values, symbols, order)
    assert steps.numbers([0.0, 1.0, 1.0]) is None
    assert steps.numbers([1.0, -1.0, 1.0]) is None
    assert steps.numbers([2.0, 4.0, 1.0]) == [0.5, 2.0]


def test_the_negative_of_a_term_is_subtracted_and_of_a_negative_is_the_term() -> None:
    x, y = CASADI.symbol("x"), CASADI.symbol("y")
    minus = -x
    assert (x + -y).op == ca.OP_SUB and (x - -y).op == ca.OP_ADD and -minus is x
    assert str((x + -y).sx) == "(x-y)"
    built = -y
    assert str(built.sx) == "(-y)" and str((x + built).sx) == "(x-y)"


def test_terms_that_invariants_share_are_one_scalar() -> None:
    S = da.Subsystem("shared")
    x, y, u, v = S.coordinates("x y u v")
    S.invariants(u - sp.sin(x - y) * 2, v - sp.sin(x - y) * 3)
    scope = Scope(CASADI, S.description())
    sine = sp.sin(local("x") - local("y"))
    assert scope.value(sine) is scope.value(sine)
