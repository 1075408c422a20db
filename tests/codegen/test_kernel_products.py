"""Products of sparse matrices in loops, and the transposition of large results: the same as written out."""

from __future__ import annotations

import ctypes
import pickle
import shutil

import casadi as ca
import numpy as np
import pytest
from test_kernel_graphs import load_c

from dalembert.codegen import compile_function, kernel_batch
from dalembert.codegen.products import TILE, Factor, plan_products
from dalembert.errors import CompileError

RNG = np.random.default_rng(0)


def sparse(x: ca.SX, rows: int, columns: int, density: float) -> ca.SX:
    """A matrix of monomials in x with structural zeros."""
    matrix = ca.SX(rows, columns)
    for i, j in np.argwhere(RNG.random((rows, columns)) < density):
        matrix[int(i), int(j)] = x[int(i + j) % x.numel()] * x[int(3 * i + 1) % x.numel()]
    return matrix


@pytest.mark.parametrize("columns", [1, TILE - 1, TILE, 2 * TILE + 3])
@pytest.mark.parametrize("density", [0.1, 0.5, 1.0])
def test_products_agree_with_casadi(columns, density):
    x = ca.SX.sym("x", 11)
    A, B, C = sparse(x, 6, 9, density), sparse(x, 9, 7, density), sparse(x, 7, columns, density)
    D = sparse(x, 9, 4, density)
    products = {"long": (A, B, C, C.T), "three": (A, B, C), "two": (A, D)}
    kernel = compile_function("products", {"x": x}, {"y": 2 * x}, products=products, cache=False)
    assert kernel.outputs == {"y": (11,), "long": (6, 7), "three": (6, columns) if columns > 1 else (6,), "two": (6, 4)}
    reference = ca.Function("f", [x], [2 * x, A @ B @ C @ C.T, A @ B @ C, A @ D])
    states = RNG.normal(size=(13, 11))
    many = kernel(states)
    for i, state in enumerate(states):
        for batch_result, one, expected in zip(many, kernel(state), reference(state), strict=True):
            expected = np.array(expected).reshape(one.shape)
            # Sums of a few hundred terms; the order of the terms differs.
            tolerance = 1e-14 * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(one, expected, rtol=0, atol=100 * tolerance)
            np.testing.assert_allclose(batch_result[i], expected, rtol=0, atol=100 * tolerance)


def test_a_product_with_its_transpose_is_symmetric_to_the_last_bit():
    x = ca.SX.sym("x", 11)
    G = sparse(x, 21, 21, 0.3)
    kernel = compile_function("square", {"x": x}, {}, products={"S": (G, G.T)}, cache=False)
    found = kernel(RNG.normal(size=(9, 11)))
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))


def test_zero_factors_and_old_contents_of_the_memory():
    x = ca.SX.sym("x", 3)
    A = ca.diag(x)
    kernel = compile_function("zero", {"x": x}, {"y": x}, products={"Z": (A, ca.SX(3, 20)), "A": (A, A)}, cache=False)
    work, out = np.full(kernel.n_work, np.nan), np.full(kernel.n_out, np.nan)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(kernel.address)
    inp = np.array([1.0, 2.0, 3.0])
    function(inp.ctypes.data, out.ctypes.data, work.ctypes.data)
    np.testing.assert_array_equal(out, [1, 2, 3, *np.zeros(60), 1, 0, 0, 0, 4, 0, 0, 0, 9])
    np.testing.assert_array_equal(kernel(inp[None]).Z, np.zeros((1, 3, 20)))


def test_equal_factors_share_memory_and_alike_columns_share_tiles():
    entries = tuple((i, j) for i in range(8) for j in range(i + 1))
    L = Factor(8, 8, entries, tuple(range(len(entries))))
    assert plan_products([[L, L], [L, L]], 0).n_work < plan_products([[L, L]], 0).n_work + 8 * 8 + 1
    # Columns 0, 2, 4, ... have entries in one row, the others in another: two blocks with one tile each.
    stripes = Factor(2, 12, tuple((j % 2, j) for j in (*range(0, 12, 2), *range(1, 12, 2))), tuple(range(12)))
    unit = Factor(2, 2, ((0, 0), (1, 1)), (0, 1))
    plan = plan_products([[unit, stripes]], 0)
    assert sorted(call.columns for call in plan.calls) == [(0, 2, 4, 6, 8, 10), (1, 3, 5, 7, 9, 11)]
    assert len(plan.cleared) == 12


def test_misfits_are_refused_and_products_are_pickled():
    x = ca.SX.sym("x", 4)
    A = sparse(x, 3, 5, 0.5)
    with pytest.raises(CompileError, match="'P' must have two or more factors that fit, got 3 x 5 and 3 x 5"):
        compile_function("misfit", {"x": x}, {}, products={"P": (A, A)})
    kernel = compile_function("fit", {"x": x}, {}, products={"P": (A, A.T)})
    state = RNG.normal(size=4)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(state), kernel(state))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not found: exported C cannot be compiled")
def test_exported_c_has_the_products(tmp_path):
    x = ca.SX.sym("x", 11)
    A, B = sparse(x, 6, 9, 0.4), sparse(x, 9, 19, 0.3)
    kernel = compile_function("products", {"x": x}, {"y": ca.sin(x)}, products={"P": (A, B, B.T)})
    state = RNG.normal(size=11)
    found, expected = load_c(kernel, tmp_path)(state), kernel(state)
    np.testing.assert_allclose(found, np.concatenate([expected.y, expected.P.ravel()]), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("size", [16, 25, 36, 49, 50, 51, 81])
def test_large_results_that_go_past_the_caches(size, monkeypatch):
    """Every length of a state modulo a vector, aligned or not, with and without a last group that is not full."""
    monkeypatch.setattr(kernel_batch, "_STREAMED", 0)
    x = ca.SX.sym("x", size)
    kernel = compile_function("copy", {"x": x}, {"y": x + 1, "z": x - 1})
    for n in (1, 8, 21):
        states = RNG.normal(size=(n, size))
        found = kernel(states)
        assert found.y.ctypes.data % 64 == 0
        np.testing.assert_array_equal(found.y, states + 1)
        np.testing.assert_array_equal(found.z, states - 1)
        memory = np.full(n * size + 2, np.nan)
        kernel(states, out={"y": memory[1:-1].reshape(n, size), "z": found.z})
        np.testing.assert_array_equal(memory[1:-1].reshape(n, size), states + 1)
        assert np.isnan(memory[[0, -1]]).all()
