"""Instructions read at once from the serialized function are those that CasADi tells one by one."""

import casadi as ca
import numpy as np
from codegen.test_kernel_operations import BINARY_CALLS, UNARY_CALLS

from dalembert.codegen import instructions
from dalembert.codegen.tape import trace


def _function(seed: int) -> ca.Function:
    """Random operations on values met before, with constants of all sizes."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", 7)
    values = list(ca.vertsplit(x))
    unary, binary = list(UNARY_CALLS.values()), list(BINARY_CALLS.values())
    for _ in range(300):
        a, b = (values[i] for i in rng.integers(max(0, len(values) - 40), len(values), 2))
        kinds = (unary[rng.integers(len(unary))](a), binary[rng.integers(len(binary))](a, b), a * rng.normal() * 1e200)
        values.append(kinds[rng.integers(3)])
    return ca.Function("kernel", [x], [ca.vertcat(*values)])


def test_both_ways_read_the_same():
    for seed in range(5):
        function = _function(seed)
        n = function.n_instructions()
        found, expected = instructions._at_once(function, n), instructions._one_by_one(function, range(n))
        assert found is not None and n >= instructions._MANY
        constant = expected[0]["op"] == ca.OP_CONST
        assert constant.any() and not constant.all()
        np.testing.assert_array_equal(found[0][~constant], expected[0][~constant])
        for field in ("op", "target"):
            np.testing.assert_array_equal(found[0][field], expected[0][field])
        np.testing.assert_array_equal(found[1][constant], expected[1][constant])


def test_a_text_that_is_not_known_is_not_trusted(monkeypatch):
    """Another version of CasADi may write functions differently: then each instruction is asked for."""
    x = ca.SX.sym("x", 30)
    outputs = {"y": ca.sin(x) * x - 0.25}
    first = trace("f", {"x": x}, outputs)
    for text in ("", "abab", "a" * 4001, "b" * 80000):
        monkeypatch.setattr(ca.Function, "serialize", lambda self, text=text: text)
        assert instructions._at_once(_function(0), _function(0).n_instructions()) is None
        assert trace("f", {"x": x}, outputs).digest == first.digest
