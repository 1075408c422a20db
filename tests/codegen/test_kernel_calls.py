"""Calling a kernel from Python: shapes, broadcasting, conversion, messages, pickling, inspection."""

import copy
import ctypes
import pickle
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import compile_function
from dalembert.errors import CompileError, InputError

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def kernel():
    q, A = ca.SX.sym("q", 3), ca.SX.sym("A", 2, 3)
    return compile_function("f", {"q": q, "A": A}, {"y": A @ q, "B": A * 2, "s": ca.dot(q, q)})


q, A = RNG.normal(size=3), RNG.normal(size=(2, 3))


def assert_f(result, q, A):
    np.testing.assert_allclose(result.y, np.einsum("...ij,...j->...i", A, q), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(result.s[..., 0], np.einsum("...j,...j->...", q, q), rtol=1e-14)
    np.testing.assert_array_equal(result.B, np.broadcast_to(2 * A, result.B.shape))


def test_one_state_by_position_and_by_name(kernel):
    assert_f(kernel(q, A), q, A)
    assert_f(kernel(A=A, q=q), q, A)
    assert_f(kernel(q, A=A), q, A)
    assert kernel(q, A).y.shape == (2,)
    assert kernel.inputs == {"q": (3,), "A": (2, 3)}
    assert kernel.outputs == {"y": (2,), "B": (2, 3), "s": (1,)}
    assert (kernel.n_in, kernel.n_out) == (9, 9)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 1000, 5001])
@pytest.mark.parametrize("threads", [1, 4])
def test_batches_of_all_sizes(kernel, n, threads):
    Q, AA = RNG.normal(size=(n, 3)), RNG.normal(size=(n, 2, 3))
    assert_f(kernel(Q, AA, threads=threads), Q, AA)
    assert_f(kernel(Q, A, threads=threads), Q, A)
    assert_f(kernel(q, AA, threads=threads), q, AA)


def test_some_outputs_of_many_states(kernel):
    Q = RNG.normal(size=(9, 3))
    s, y = kernel.some(("s", "y"), Q, A)
    np.testing.assert_array_equal(s, kernel(Q, A).s)
    np.testing.assert_array_equal(y, kernel(Q, A).y)
    with pytest.raises(InputError, match="many states"):
        kernel.some(("s",), q, A)


def test_empty_batch(kernel):
    result = kernel(np.empty((0, 3)), A)
    assert [value.shape for value in result] == [(0, 2), (0, 2, 3), (0, 1)]


def test_other_kinds_of_arrays_are_converted(kernel):
    Q = RNG.normal(size=(6, 5))
    assert_f(kernel(Q[::2, ::2], A), Q[::2, ::2], A)
    assert_f(kernel(np.asfortranarray(q), np.asfortranarray(A)), q, A)
    assert_f(kernel([1, 2, 3], A.astype(np.float32)), np.array([1.0, 2, 3]), A.astype(np.float32) * 1.0)
    assert_f(kernel(q.astype(">f8"), A), q, A)
    frozen = q.copy()
    frozen.flags.writeable = False
    assert_f(kernel(frozen, A), q, A)


def test_results_are_independent(kernel):
    first = kernel(q, A)
    before = first.y.copy()
    kernel(2 * q, A)
    np.testing.assert_array_equal(first.y, before)


def test_out(kernel):
    out = [np.empty(2), np.empty((2, 3)), np.empty(1)]
    assert kernel(q, A, out=out) is out
    np.testing.assert_array_equal(out[0], kernel(q, A).y)
    named = {"y": np.empty((4, 2)), "B": np.empty((4, 2, 3)), "s": np.empty((4, 1))}
    kernel(np.tile(q, (4, 1)), A, out=named)
    np.testing.assert_allclose(named["y"], np.tile(A @ q, (4, 1)), rtol=1e-13)
    with pytest.raises(ValueError, match=r"out for 'y' must be an array \(2,\), got \(3,\)"):
        kernel(q, A, out=[np.empty(3), *out[1:]])
    with pytest.raises(ValueError, match="must hold 3 arrays"):
        kernel(q, A, out=out[:1])


def test_single_output_is_an_array():
    x = ca.SX.sym("x", 2)
    kernel = compile_function("g", {"x": x}, {"y": 2 * x})
    out = np.empty(2)
    assert kernel(np.ones(2), out=out) is out
    np.testing.assert_array_equal(kernel(np.ones(2)), [2, 2])


def test_declared_shapes():
    t, M, r = ca.SX.sym("t"), ca.SX.sym("M"), ca.SX.sym("r", 1, 3)
    kernel = compile_function(
        "g",
        {"t": t, "M": M, "r": r},
        {"a": t + M, "b": r.T},
        shapes={"t": (), "M": (1, 1), "a": (), "b": (3, 1)},
    )
    row = np.array([[1.0, 2, 3]])
    result = kernel(1.0, [[2.0]], row)
    assert result.a.shape == ()
    assert result.a == 3
    np.testing.assert_array_equal(result.b, row.T)
    np.testing.assert_array_equal(kernel(np.arange(5.0), [[2.0]], row).a, np.arange(5.0) + 2)
    with pytest.raises(CompileError, match=r"shape \(2,\) of 't'"):
        compile_function("g", {"t": t}, {"a": t}, shapes={"t": (2,)})
    with pytest.raises(CompileError, match="unknown arrays: z"):
        compile_function("g", {"t": t}, {"a": t}, shapes={"z": (2,)})


def test_sizes_of_zero():
    x, e = ca.SX.sym("x", 2), ca.SX.sym("e", 0)
    kernel = compile_function("g", {"x": x, "e": e}, {"y": x, "none": ca.SX(0, 1)})
    assert kernel(np.ones(2), np.empty(0)).none.shape == (0,)
    assert kernel(np.ones((4, 2)), np.empty((4, 0))).none.shape == (4, 0)
    constant = compile_function("g", {}, {"y": ca.SX([1, 2])})
    np.testing.assert_array_equal(constant(), [1, 2])


def test_nan_passes_unless_checked(kernel):
    bad = np.array([np.nan, 1, 2])
    assert np.isnan(kernel(bad, A).y).all()
    with pytest.raises(ValueError, match="'q' holds NaN or infinity"):
        kernel(bad, A, check_finite=True)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones(4), A), ValueError, r"'q' must have shape \(3,\), or \(n, 3\) for n states, got \(4,\)"),
        ((np.ones((3, 1)), A), ValueError, r"got \(3, 1\).  Fix: q.reshape\(\(3,\)\)"),
        ((A, q), ValueError, None),
        ((q, q), ValueError, r"'A' must have shape \(2, 3\).*which would fit 'q'"),
        ((np.ones((5, 3)), np.ones((4, 2, 3))), ValueError, "'A' holds 4 states, the inputs before it 5"),
        ((q,), TypeError, r"takes \(q, A\); missing: 'A'"),
        ((q, A, q), TypeError, "got 3 positional arguments"),
        ((q * 1j, A), InputError, "'q' must hold real numbers, got dtype complex128"),
        ((["a", "b", "c"], A), InputError, "must hold real numbers"),
    ],
)
def test_wrong_arguments(kernel, arguments, error, message):
    with pytest.raises(error, match=message):
        kernel(*arguments)


def test_wrong_names(kernel):
    with pytest.raises(TypeError, match="given twice: 'q'; unknown: 'v'; missing: 'A'"):
        kernel(q, q=q, v=q)
    with pytest.raises(ValueError, match="threads must be a positive integer, got 0"):
        kernel(np.ones((3, 3)), A, threads=0)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "message"),
    [
        ("f", {"x": ca.SX.sym("x")}, {"y": ca.SX.sym("z")}, "symbols that are not inputs: z.*add them"),
        ("f", {"x": ca.SX.sym("x") + 1}, {"y": ca.SX(1)}, "input 'x' must be made of SX symbols"),
        ("f", {"x": 3.0}, {"y": ca.SX(1)}, "input 'x' must be made of SX symbols, got float"),
        ("f", {"out": ca.SX.sym("x")}, {"y": ca.SX(1)}, "'out' is an option of the call"),
        ("f", {"2x": ca.SX.sym("x")}, {"y": ca.SX(1)}, "'2x' cannot name an array"),
        ("f", {}, {}, "has no outputs"),
        ("f", {}, {"y": ca.MX(1)}, "output 'y' must be an SX expression, got MX"),
        ("f", {"x": ca.MX.sym("x")}, {"y": ca.SX(1)}, "input 'x' must be made of SX symbols, got MX"),
        ("f g", {}, {"y": ca.SX(1)}, "must be a C identifier"),
    ],
)
def test_wrong_definitions(name, inputs, outputs, message):
    with pytest.raises(CompileError, match=message):
        compile_function(name, inputs, outputs)


def test_wrong_level():
    with pytest.raises(CompileError, match="optimize must be None, 0, 1, 2 or 3, got 7"):
        compile_function("f", {}, {"y": ca.SX(1)}, optimize=7)


def test_pickle_and_copy(kernel):
    for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert_f(other(q, A), q, A)
        assert repr(other) == repr(kernel)
    result = pickle.loads(pickle.dumps(kernel(q, A)))
    assert_f(result, q, A)
    assert result._fields == ("y", "B", "s")


def test_inspection(kernel):
    assert repr(kernel).startswith("<Kernel f(q[3], A[2, 3]) -> y[2], B[2, 3], s[1], ")
    assert "define void @kernel(" in kernel.ir
    assert f"<{kernel.width} x double>" in kernel.build(batch=True).ir()
    assert "kernel:" in kernel.build(batch=False).assembly().replace("_kernel:", "kernel:")
    assert "kernel_batch" in kernel.build(batch=True).assembly()
    assert 10 <= kernel.instructions <= 30


def test_repeated_expressions_are_computed_once():
    x = ca.SX.sym("x", 2)
    again = [ca.sin(x[0] * x[1]) + 1, ca.sin(x[1] * x[0]) + 1, ca.cos(x[0] * x[1])]
    assert compile_function("f", {"x": x}, {"y": ca.vertcat(*again)}).instructions == 4


def test_batch_address(kernel):
    """The layout of groups that is promised to those who call by address."""
    W, groups = kernel.width, 3
    inp = RNG.normal(size=(groups, kernel.n_in, W))
    out = np.empty((groups, kernel.n_out, W))
    work = np.empty(max(1, kernel.n_work_batch))
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)
    kind(kernel.batch_address)(inp.ctypes.data, out.ctypes.data, work.ctypes.data, groups)
    states = inp.transpose(0, 2, 1).reshape(groups * W, kernel.n_in)
    expected = kernel(states[:, :3], states[:, 3:].reshape(-1, 2, 3))
    got = out.transpose(0, 2, 1).reshape(groups * W, kernel.n_out)
    np.testing.assert_array_equal(got[:, :2], expected.y)
    np.testing.assert_array_equal(got[:, 2:8].reshape(-1, 2, 3), expected.B)


def test_many_threads_share_a_kernel(kernel):
    states = RNG.normal(size=(400, 3))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda state: kernel(state, A), states))
    for state, result in zip(states, results, strict=True):
        assert_f(result, state, A)


def test_zeros_of_a_column_are_structural():
    """Zeros cost no instruction; a zero with a sign is kept, since it is another number."""
    symbol, (x,) = CASADI.symbols("x", 1)
    values = [0.0, -0.0, x, 2.0, x - x, 0]
    column = CASADI.to_sparse_sx(values)
    assert column.shape == (6, 1) and column.sparsity().row() == [1, 2, 3, 4]
    found = compile_function("zeros", {"x": symbol}, {"y": column})(np.array([3.0]))
    expected = compile_function("zeros", {"x": symbol}, {"y": CASADI.to_sx(values)})(np.array([3.0]))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    assert CASADI.to_sparse_sx([0.0, 0.0]).nnz() == 0 and CASADI.to_sparse_sx([]).shape == (0, 1)
