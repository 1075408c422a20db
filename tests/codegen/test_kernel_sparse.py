"""Kernels with many zero outputs, whose outputs are cleared by a loop."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import compile_function


@pytest.mark.parametrize("n", [3, 9, 40])
def test_zeros_are_written_and_values_survive(n):
    x = ca.SX.sym("x", n)
    matrix = ca.diag(ca.sin(x))
    matrix[0, n - 1] = 2.5
    kernel = compile_function("sparse", {"x": x}, {"M": ca.densify(matrix), "y": x**2})
    rng = np.random.default_rng(0)
    values = rng.normal(size=(7, n))
    batch = kernel(values)
    for i, row in enumerate(values):
        expected = np.diag(np.sin(row))
        expected[0, n - 1] = 2.5
        one = kernel(row)
        np.testing.assert_allclose(one.M, expected, atol=1e-15)
        np.testing.assert_allclose(one.y, row**2, rtol=1e-15)
        np.testing.assert_allclose(batch.M[i], expected, atol=1e-15)
        np.testing.assert_allclose(batch.y[i], row**2, rtol=1e-15)


def test_old_contents_of_the_output_do_not_shine_through():
    x = ca.SX.sym("x", 30)
    kernel = compile_function("sparse", {"x": x}, {"M": ca.densify(ca.diag(x))})
    out = np.full((30, 30), np.nan)
    kernel(np.arange(30.0), out=out)
    np.testing.assert_array_equal(out, np.diag(np.arange(30.0)))
