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


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("n", [4, 25])
def test_many_constants_come_from_a_table(n, dense):
    x = ca.SX.sym("x", n)
    matrix = ca.diag(x) + ca.SX(np.diag(np.arange(1.0, n), 1)) - ca.SX(np.diag(np.arange(2.0, n), 2))
    kernel = compile_function("constants", {"x": x}, {"M": ca.densify(matrix) if dense else matrix, "c": ca.SX.ones(n)})
    expected = np.diag(np.arange(1.0, n), 1) - np.diag(np.arange(2.0, n), 2)
    values = np.random.default_rng(1).normal(size=(9, n))
    batch = kernel(values)
    for i, row in enumerate(values):
        np.testing.assert_array_equal(kernel(row).M, expected + np.diag(row))
        np.testing.assert_array_equal(batch.M[i], expected + np.diag(row))
        np.testing.assert_array_equal(batch.c[i], np.ones(n))


def test_many_stores_are_cut_into_pieces_and_agree():
    n = 400
    x = ca.SX.sym("x", n)
    matrix = ca.diag(ca.sin(x)) + ca.SX(np.eye(n, k=1)) * x[0] + ca.SX(np.eye(n, k=-1))
    kernel = compile_function("stores", {"x": x}, {"M": matrix})
    assert len(kernel.build(batch=False).plan().pieces) > 1
    row = np.random.default_rng(2).normal(size=n)
    expected = np.diag(np.sin(row)) + np.eye(n, k=1) * row[0] + np.eye(n, k=-1)
    np.testing.assert_allclose(kernel(row), expected, atol=1e-15)
