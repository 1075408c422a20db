"""At level 0 one state at a time is not compiled but run from a table: the same bits as compiled code."""

import itertools

import casadi as ca
import numpy as np
import pytest
from codegen.test_kernel_operations import BINARY_CALLS, EDGES, UNARY_CALLS

from dalembert import simulate
from dalembert.codegen import compile_function
from dalembert.codegen.interpret import can_run
from dalembert.codegen.lookup import find
from dalembert.codegen.tape import BINARY, UNARY
from dalembert.library import four_bar


@pytest.fixture
def nothing_compiles(monkeypatch):
    """The interpreter is there already; from here on the compiler may not be asked."""
    compile_function("first", {}, {"y": ca.SX(1)}, optimize=0)()

    def refuse(*_, **__):
        raise AssertionError("the compiler was asked")

    monkeypatch.setattr("dalembert.codegen.kernel_build.build_object", refuse)
    monkeypatch.setattr("dalembert.codegen.interpret.build_object", refuse)


def _bits(kernel, *states):
    return np.concatenate([np.atleast_1d(kernel(state)) for state in states]).view(np.int64)


def test_every_operation_has_the_bits_of_compiled_code():
    x = ca.SX.sym("x", 2)
    calls = [UNARY_CALLS[op](x[0]) for op in UNARY] + [BINARY_CALLS[op](x[0], x[1]) for op in BINARY]
    states = [np.array(pair) for pair in itertools.product(EDGES, EDGES)]
    made = [compile_function("f", {"x": x}, {"y": ca.vertcat(*calls)}, optimize=level, cache=False) for level in (0, 1)]
    assert {*UNARY, *BINARY} <= {*made[0]._tape.ops}
    found, expected = (_bits(kernel, *states) for kernel in made)
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_compiled(nothing_compiles):
    x = ca.SX.sym("x", 3)
    outputs = {"y": ca.sin(x[0]) * x[1] - 2.5, "z": x[2]}
    kernel = compile_function("f", {"x": x}, outputs, optimize=0)
    y, z = kernel([0.3, 4.0, -7.0])
    assert (y, z) == (np.sin(0.3) * 4.0 - 2.5, -7.0)
    with pytest.raises(AssertionError, match="compiler was asked"):
        compile_function("f", {"x": x}, {"y": ca.sin(x[0]) * x[1] - 2.5, "z": x[2]}, optimize=1, cache=False)(
            x=[0, 0, 0]
        )


def test_outputs_that_are_inputs_constants_or_zeros(nothing_compiles):
    x = ca.SX.sym("x", 2)
    sparse = ca.SX(20, 20)
    sparse[3, 4], sparse[19, 19] = x[0] * x[1], x[1]
    outputs = {"sparse": sparse, "same": x, "constants": ca.SX([1.5, -0.25, 1.5])}
    kernel = compile_function("f", {"x": x}, outputs, optimize=0)
    for state in ([2.0, 3.0], [-1.0, 5.0]):
        result = kernel(state)
        expected = np.zeros((20, 20))
        expected[3, 4], expected[19, 19] = state[0] * state[1], state[1]
        np.testing.assert_array_equal(result.sparse, expected)
        np.testing.assert_array_equal(result.same.ravel(), state)
        np.testing.assert_array_equal(result.constants.ravel(), [1.5, -0.25, 1.5])


def test_products_and_tables_are_compiled():
    x = ca.SX.sym("x", 4)
    A = ca.reshape(x, 2, 2)
    product = compile_function("p", {"x": x}, {}, products={"y": [A, A]}, optimize=0)
    table = compile_function("t", {"x": x}, {"y": find(x[0], np.arange(5.0))}, optimize=0)
    assert not can_run(product._tape) and not can_run(table._tape)
    np.testing.assert_array_equal(
        product([1.0, 2.0, 3.0, 4.0]).T, np.array([[1.0, 2.0], [3.0, 4.0]]) @ [[1, 2], [3, 4]]
    )
    assert table([2.5, 0, 0, 0]) == 3.0


def test_a_mechanism_moves_by_the_same_bits(monkeypatch):
    found = []
    for level in "01":
        monkeypatch.setenv("DALEMBERT_OPTIMIZE", level)
        found.append(simulate(four_bar(), 0.2, output_step=0.05).joint("A").q.values)
    np.testing.assert_array_equal(*found)
