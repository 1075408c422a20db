"""Calls from Python: arguments of all kinds, what is refused, results, threads, pickles."""

import os
import pickle
import re
import signal
import threading
from typing import NamedTuple

import numpy as np
import pytest

from dalembert.native import FUNCTIONS, Int, Record, Vector, build, native, plain
from dalembert.native.function import kind_of
from dalembert.native.jit import build_object
from dalembert.native.translate import instance_of, unit_text
from dalembert.numerics.linear import constrained_factors, constrained_solution, solve_constrained


class Point(NamedTuple):
    x: float
    v: np.ndarray


class Counter(Record):
    n = Int()
    v = Vector("n")


@native
def same(x):
    return x


@native
def double(x):
    return x * 2


@native
def scaled(x, factor=2.0, shift=1):
    return x * factor + shift


@native
def silent(x):
    x[0] = 1.0


@native
def moved(p):
    return Point(p.x + 1.0, p.v * 2.0), (p.x, (1, True))


@native
def sum_of(x):
    s = 0.0
    for v in x:
        s += v
    return s


@native
def trace(A):
    s = 0.0
    for i in range(A.shape[0]):
        s += A[i, i] * float(i + 1)
    return s


@native
def corner(C):
    return C[1, 0, 1] + 10.0 * C[0, 1, 0], C.shape


@native
def scratch(n, seed):
    # Much temporary memory, a result that depends on every turn.
    out = np.zeros(n)
    for k in range(200):
        x = np.full(n, seed + float(k))
        y = x * 0.5 + out
        out[:] = y - x * 0.25
        for i in range(n):
            out[i] += float((i * k) % 7)
    return out, out.sum()


NUMBERS = [
    3,
    -(2**63),
    2**63 - 1,
    2.5,
    -0.0,
    True,
    False,
    1.0 + 2.0j,
    np.int64(7),
    np.int32(-7),
    np.float64(0.5),
    np.bool_(True),
]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_numbers_come_back(value):
    found = same(value)
    assert found == value and type(found) in (int, float, bool, complex)
    assert np.signbit(np.real(found)) == np.signbit(np.real(value))


ARRAYS = [
    np.arange(5.0), np.arange(5), np.array([True, False]), np.array([1.0j, 2.0]), np.zeros(0),
    np.zeros((0, 3)), np.zeros((3, 0)),
    np.arange(6.0).reshape(2, 3), np.arange(6).reshape(3, 2).T, np.arange(24.0).reshape(2, 3, 4),
    np.arange(10.0)[::3], np.arange(10.0)[::-1], np.arange(12.0).reshape(3, 4)[::2, ::-2], np.ones((1, 1))[:, :1],
    np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.broadcast_to(1.5, (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}{array.strides}")
def test_arrays_come_back(array):
    found = same(array)
    assert found.dtype == array.dtype and np.array_equal(found, array) and not np.shares_memory(found, array)


def test_arrays_with_gaps():
    A = np.arange(36.0).reshape(6, 6)
    for view in (A[:, 2], A[2], A[::2, 3], A[::-1, 0], A.T[1, 1:4], A[1, ::-2]):
        assert sum_of(view) == view.sum()
    for view in (A, A.T, A[1:4, 2:5], A[::2, ::-2], A[::-1, ::-1]):
        assert trace(view) == sum(view[i, i] * (i + 1) for i in range(len(view)))
    C = np.arange(60.0).reshape(3, 4, 5)
    for view in (C, C.T, C[::2, 1:, ::3], C[:, ::-1]):
        assert corner(view) == (view[1, 0, 1] + 10.0 * view[0, 1, 0], view.shape)


REFUSED = [
    (np.zeros(3, dtype=np.float32), r"test_calls.same: arrays must have one to three axes.*got float32 with 1"),
    (np.zeros(3, dtype=np.int32), "got int32 with 1"),
    (np.zeros(3, dtype=">f8"), "got >f8 with 1"),
    (np.array(1.0), "got float64 with 0"),
    (np.zeros((1, 1, 1, 1)), "got float64 with 4"),
    (np.array(["a"]), "got <U1 with 1"),
    (np.zeros(2, dtype=[("a", "u1"), ("b", "<f8")])["b"], r"must be aligned.*Fix: np.ascontiguousarray"),
    ([1.0, 2.0], r"test_calls.same: native code takes numbers, arrays, tuples and records, got list"),
    ("text", "got str"),
    (None, "got NoneType"),
    ((1.0, [2.0]), "got list"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message[-20:] for _, message in REFUSED])
def test_refused_arguments(value, message):
    with pytest.raises(TypeError, match=message):
        same(value)


def test_too_large_numbers():
    with pytest.raises(OverflowError):
        same(2**63)


def test_wrong_arguments():
    for call in (
        lambda: scaled(),
        lambda: scaled(1.0, 2.0, 3, 4),
        lambda: scaled(1.0, other=1),
        lambda: scaled(1.0, x=2.0),
    ):
        with pytest.raises(TypeError, match="argument"):
            call()
        with plain(), pytest.raises(TypeError, match="argument"):
            call()


def test_defaults_and_keywords():
    def results():
        return [scaled(3.0), scaled(3.0, 4.0), scaled(3.0, shift=5), scaled(shift=0, x=1.0, factor=0.5)]

    assert results() == [7.0, 13.0, 11.0, 0.5]
    with plain():
        assert results() == [7.0, 13.0, 11.0, 0.5]


def test_prepared_calls_know_defaults():
    assert scaled.prepare(3.0)() == 7.0
    with plain():
        assert scaled.prepare(3.0)() == 7.0
    with pytest.raises(TypeError, match="argument"):
        scaled.prepare()


def test_types_of_arguments_make_functions_of_their_own():
    assert double(2) == 4 and isinstance(double(2), int)
    assert double(2.5) == 5.0
    assert double(1.0j) == 2.0j
    assert double(np.arange(3)).dtype == np.int64
    assert double(np.ones((2, 2))).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_none():
    assert silent(np.zeros(2)) is None


def test_tuples():
    p, rest = moved(Point(1.5, np.arange(2.0)))
    assert isinstance(p, Point) and p.x == 2.5 and p.v.tolist() == [0.0, 2.0] and rest == (1.5, (1, True))
    assert same((1, (2.0, True), ())) == (1, (2.0, True), ())


def test_classes_made_inside_functions():
    class Inner(NamedTuple):
        a: float

    @native
    def made(x):
        return Inner(x)

    assert isinstance(made(2.0), Inner) and made(2.0).a == 2.0


def times(factor):
    @native
    def inner(x):
        return x * factor

    return inner


def test_constants_of_enclosing_functions():
    assert times(2.0)(3.0) == 6.0 and times(5.0)(3.0) == 15.0


def test_functions_of_one_factory_are_told_apart():
    def difference(one, other):
        @native
        def inner(x):
            return one(x) - other(x)

        return inner

    two, five = times(2.0), times(5.0)
    assert difference(two, five)(1.0) == -3.0 and difference(five, two)(1.0) == 3.0


def test_arguments_are_changed_in_place():
    x = np.zeros(6)
    silent(x[1::2])
    assert x.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("first", [False, True], ids=["compiled before", "compiled by the threads"])
def test_threads(first):
    if first:

        @native
        def function(n, seed):
            return scratch(n, seed)
    else:
        function = scratch
        function(3, 1.0)
    wanted = {(n, seed): scratch.python(n, seed) for n in (5, 400) for seed in (0.5, 2.0)}
    faults, gate = [], threading.Barrier(8)

    def work(k):
        try:
            gate.wait()
            for turn in range(20):
                n, seed = (5, 400)[(k + turn) % 2], (0.5, 2.0)[k // 2 % 2]
                out = function(n, seed)[0]
                if not np.array_equal(out, wanted[n, seed][0]):
                    faults.append((k, n, seed))
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_forked_while_another_thread_compiles():
    """It must not wait for a thread that it does not have."""
    held, forked = threading.Event(), threading.Event()

    @native
    def first_use(x):
        return x + 1.0

    def compiles():
        with build._lock:
            held.set()
            forked.wait(0.5)

    thread = threading.Thread(target=compiles)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if first_use(1.0) == 2.0 else 1)
    forked.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_pickle_and_registry():
    assert pickle.loads(pickle.dumps(same)) is same
    assert FUNCTIONS[f"{__name__}.same"] is same and repr(same) == f"<native {__name__}.same>"
    assert same.__name__ == "same" and sum_of.python(np.ones(2)) == 2.0


@native
def filled(c: Counter):
    for i in range(c.n):
        c.v[i] = float(i)
    return c.v.sum()


def test_records():
    c = Counter(n=4)
    assert filled(c) == 6.0 and c.v.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_plain_mode_can_be_nested_and_watched():
    seen = []

    def run(function, args):
        seen.append(function)
        return function.python(*args)

    with plain(run):
        assert double(2.0) == 4.0
        with plain():
            assert double(2.0) == 4.0
    assert seen == [double]


def test_a_whole_function_holds_all_that_it_calls_and_computes_the_same():
    # All but what is rare.
    kinds = tuple(kind_of(np.ones(shape)) for shape in ((3, 3), 3, (2, 3), 2, 3, 2))
    root = instance_of(solve_constrained, kinds, False)
    assert [*build.units(root, lazily=True)] == [root.symbol]
    assert len(root.copied()) > 10
    apart = instance_of(constrained_factors, (kinds[0], kinds[2]), False)
    assert len(build.units(apart)) > 5
    rng = np.random.default_rng(8)
    M, A, f, gamma = np.diag([1.0, 2.0, 3.0]), rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=2)
    found = [(np.empty(3), np.empty(2)) for _ in range(3)]
    solve_constrained(M, f, A, gamma, *found[0])
    _, _, _, Q, R, free = constrained_factors(M, A)
    constrained_solution(M, f, gamma, Q, R, free, *found[1])
    for one, other in zip(found[0], found[1], strict=True):
        np.testing.assert_array_equal(one, other)
    # Without room for λ, only u̇ is wanted.
    solve_constrained(M, f, A, gamma, found[2][0], np.empty(0))
    np.testing.assert_array_equal(found[2][0], found[0][0])
    np.testing.assert_allclose(A @ found[0][0], -gamma, rtol=1e-13)
    np.testing.assert_allclose(M @ found[0][0], f + A.T @ found[0][1], rtol=1e-13, atol=1e-14)


def test_what_only_one_unit_sees_is_part_of_it():
    """At level 1 nothing is left of short functions but what their callers do with them, whatever they cost."""
    vector, matrix = kind_of(np.empty(1)), kind_of(np.empty((1, 1)))
    made = instance_of(solve_constrained, (matrix, vector, matrix, vector, vector, vector), False)
    text = unit_text(made, inlined=True)
    names = re.findall(r"define internal \S+ @(\w+)", text)
    assert len(names) > 3
    data = build_object(text, 1, lean=True)
    assert [name for name in names if name.encode() in data] == []
