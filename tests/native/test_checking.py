"""Checking mode: every kind of fault is found, with file, line and expression; fresh memory shows."""

import inspect

import casadi as ca
import numpy as np
import pytest
from support.native import agree

from dalembert.codegen import compile_function
from dalembert.errors import CompileError
from dalembert.native import Function, Int, Kernel, Matrix, Outputs, Record, Ref, Vector, checking, native
from dalembert.native.function import _mode

X = np.array([1.0, 2.0, 3.0])
A = np.arange(6.0).reshape(2, 3)
K = np.array([0, 5, 1])


class Part(Record):
    n = Int()
    v = Vector("n")


class Whole(Record):
    n = Int()
    v = Vector("n")
    M = Matrix("n", "n")
    part = Ref(Part)
    f = Function(Vector)
    kernel = Kernel()


class Two(Outputs):
    a = Vector("n")
    b = Matrix("n", "n")


class Rest(Outputs):
    a = Vector("n")
    b = Vector("*")


@native
def element(x, i):
    return x[i]  # fault


@native
def element_written(x, i):
    x[i] = 1.0  # fault


@native
def element_changed(x, i):
    x[i] += 1.0  # fault


@native
def entry_(A, i):
    return A[1, i]  # fault


@native
def row(A, i):
    return A[i]  # fault


@native
def column(A, i):
    A[:, i] = 0.0  # fault


@native
def slice_beyond(x, i):
    return x[:i]  # fault


@native
def slice_negative(x, i):
    return x[i:]  # fault


@native
def different_lengths(x, i):
    return x + np.zeros(i)  # fault


@native
def filled_wrong(x, i):
    x[:] = np.zeros(i)  # fault


@native
def changed_wrong(x, i):
    x += np.zeros(i)  # fault


@native
def wrong_product(A, i):
    return A @ np.zeros(i)  # fault


@native
def wrong_matrix_product(A, i):
    return A @ np.zeros((i, 2))  # fault


@native
def picked(x, k):
    return x[k]  # fault


@native
def placed(x, k):
    x[k] = np.zeros(3)  # fault


@native
def placed_wrong_length(x, i):
    x[np.arange(2)] = np.zeros(i)  # fault


@native
def reshaped(x, i):
    return x.reshape(2, i)  # fault


@native
def negative_length(x, i):
    return np.zeros(i)  # fault


@native
def divided(x, i):
    return 5 // i  # fault


@native
def remainder(x, i):
    return 5 % i  # fault


@native
def too_large(x, i):
    return int(1e300 * i)  # fault


@native
def largest(x, i):
    return x[:i].max()  # fault


@native
def of_tuple(x, i):
    return (1.0, 2.0)[i]  # fault


@native
def no_value(x, i):
    if i > 0:
        y = 1.0
    return y  # fault


@native
def no_turn(x, i):
    for k in range(i):
        last = x[k:]
    return last  # fault


@native
def too_few(w: Whole, numbers):
    e = Two.of(w, numbers)  # fault
    return e.a[0]


@native
def too_few_for_the_rest(w: Whole, numbers):
    return Rest.of(w, numbers).b  # fault


@native
def missing_record(w: Whole, numbers):
    return w.part.n  # fault


@native
def missing_function(w: Whole, numbers):
    return w.f(numbers)  # fault


@native
def missing_kernel(w: Whole, numbers):
    return w.kernel(numbers)  # fault


@native
def wrong_inputs(w: Whole, numbers):
    return w.kernel(numbers, 1.0)  # fault


@native
def helper(x, i):
    y = x * 2.0
    return y[i]  # fault


@native
def through_a_call(x, i):
    s = helper(x, i)
    while s != 0.0:
        s = helper(x, i) + 1.0
    return s


@native
def bound(p: Part, x) -> int:
    x[p.n] = 1.0  # fault
    return 0


@native
def through_a_field(w: Whole, x):
    return w.f(x)


def kernel():
    x = ca.SX.sym("x", 3)
    return compile_function("k", {"x": x}, {"y": x[0]})


# Calls that end with each of these words.
FAULTS = {
    "index outside the array": [
        (element, X, 3), (element, X, -1), (element, np.zeros(0), 0), (element_written, X, 10**12),
        (element_changed, X, 3), (entry_, A, 3), (row, A, 2), (row, A, -(10**12)), (column, A, 3), (picked, X, K),
        (placed, X, K), (of_tuple, X, 2),
    ],
    "a slice that reaches beyond the array": [(slice_beyond, X, 4)],
    "a slice from or to a negative number": [(slice_negative, X, -(10**12))],
    "arrays of different length": [
        (different_lengths, X, 2), (filled_wrong, X, 2), (filled_wrong, X, 4), (changed_wrong, X, 4),
        (placed_wrong_length, X, 3),
    ],
    "a product of arrays whose lengths do not fit": [
        (wrong_product, A, 2), (wrong_product, A, 4), (wrong_matrix_product, A, 2),
    ],
    "reshape to another size": [(reshaped, X, 2)],
    "negative length of an array": [(negative_length, X, -1)],
    "division by zero": [(divided, X, 0), (remainder, X, 0)],
    "this number is too large for an integer": [(too_large, X, 1)],
    "the largest of no numbers": [(largest, X, 0)],
    "'y' has no value on this way": [(no_value, X, 0)],
    "'last' has no value on this way": [(no_turn, X, 0)],
    "too few numbers for Two": [(too_few, Whole(n=2), np.zeros(5))],
    "too few numbers for Rest": [(too_few_for_the_rest, Whole(n=4), X)],
    "'part' is None": [(missing_record, Whole(), X)],
    "this function is not there (None)": [(missing_function, Whole(), X)],
    "this kernel is not there (None)": [(missing_kernel, Whole(), X)],
    "a kernel is given a wrong number of inputs": [(wrong_inputs, Whole(kernel=kernel()), X)],
}  # fmt: skip
CALLS = [(what, *call) for what, calls in FAULTS.items() for call in calls]


def line_of(function):
    source, first = inspect.getsourcelines(function.python)
    return first + next(k for k, text in enumerate(source) if "fault" in text and "def" not in text)


@pytest.mark.parametrize(("what", "function", "first", "second"), CALLS, ids=lambda item: getattr(item, "__name__", ""))
def test_faults(what, function, first, second):
    with checking(), pytest.raises(CompileError) as caught:
        function(first, second)
    message = str(caught.value)
    assert message.startswith(f"{__file__}:{line_of(function)}: native function '{function.__name__}': `"), message
    assert message.endswith(what), message


def test_faults_of_a_function_that_is_called():
    with checking(), pytest.raises(CompileError, match="index outside the array") as caught:
        through_a_call(X, 3)
    assert f":{line_of(helper)}: native function 'helper': `y[i]`" in str(caught.value)
    with checking():
        assert through_a_call(np.zeros(3), 2) == 0.0


def test_faults_of_a_function_in_a_field():
    with checking():
        w = Whole(f=bound.bind(Part(n=3)))
        with pytest.raises(CompileError, match="index outside the array") as caught:
            through_a_field(w, X)
        assert f":{line_of(bound)}: native function 'bound': `x[p.n] = 1.0`" in str(caught.value)
        assert through_a_field(w, np.zeros(4)) == 0


def test_nothing_is_left_of_a_fault():
    with checking():
        for _ in range(3):
            with pytest.raises(CompileError):
                element(X, 7)
            assert element(X, 2) == 3.0


def test_arrays_of_records_are_measured():
    w = Whole(n=2, part=Part(n=1))
    w.part.n = 5
    with checking(), pytest.raises(TypeError, match=r"Part.v\[n\] must be \(5,\), got \(1,\)"):
        missing_record(w, X)
    w.part.n = 1
    w.n = 4
    with checking(), pytest.raises(TypeError, match=r"Whole.v\[n\] must be \(4,\), got \(2,\)"):
        missing_record(w, X)


@native
def fresh(n):
    x, k, A, z = np.empty(n), np.empty(n, dtype=np.int64), np.empty((n, 2)), np.empty(n, dtype=np.complex128)
    return x, k, A, z, np.empty_like(x), np.zeros(n)


@native
def forgotten(n):
    s = 0.0
    for _ in range(n):
        x = np.empty(3)
        x[0] = 1.0
        x[1] = 2.0
        s += x[0] + x[1] + x[2]
    return s


def test_fresh_memory_shows():
    with checking():
        x, k, A, z, like, zeros = fresh(3)
        assert all(np.isnan(array).all() for array in (x, A, z, like)) and np.all(k < -(2**50)) and not zeros.any()
        assert np.isnan(forgotten(3))


@native
def right(x, A, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i] + A[i % 2, -1]
    y[1:] = y[:-1]
    y += A[0]
    return y @ A[1], A @ y, y[-n:], x[: n - 1], n // 2, y.reshape(-1, 1), y.max()


def test_what_is_right_stays_as_it_is():
    plain = agree(right, X, A, 3)
    with checking():
        checked = agree(right, X, A, 3)
    assert all(np.array_equal(one, other) for one, other in zip(plain, checked, strict=True))


def test_the_line_is_that_of_the_file_as_it_is_now(tmp_path):
    """A function that only moved in its file is not compiled again, but in checking mode its lines are right."""
    text = "from dalembert.native import native\n@native\ndef f(x, i):\n    return x[i]\n"
    messages = []
    for k, moved in enumerate(
        (text, text.replace("@native", "\n\n@native"), text.replace("    return", "\n    return"))
    ):
        path = tmp_path / f"m{k}.py"
        path.write_text(moved)
        scope = {"__name__": "moved"}
        exec(compile(moved, str(path), "exec"), scope)
        with checking(), pytest.raises(CompileError) as caught:
            scope["f"](X, 5)
        messages.append(str(caught.value))
    assert [message.split(": ")[0] for message in messages] == [
        f"{tmp_path / 'm0.py'}:4", f"{tmp_path / 'm1.py'}:6", f"{tmp_path / 'm2.py'}:5",
    ]  # fmt: skip


@pytest.mark.checked
def test_marked_tests_run_both_ways(native_mode):
    if native_mode == "checked":
        with pytest.raises(CompileError, match="index outside the array"):
            element(X, 3)
    else:
        assert element(X, 2) == 3.0
    assert _mode.checking == (native_mode == "checked")
