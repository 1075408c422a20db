"""Rows of kernels in a record, which work inside longer vectors; matrices of whole numbers."""

from __future__ import annotations

from contextlib import nullcontext

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import compile_function
from dalembert.errors import CompileError
from dalembert.native import Int, IntegerMatrix, Kernels, Record, Vector, checking, native, plain


class Steps(Record):
    """Kernels by number, and where each reads and writes."""

    n, size, steps = 3 * Int()
    kernels = Kernels("n")
    order = IntegerMatrix("steps", 3)
    numbers = Vector("size")


@native
def run_all(s: Steps) -> int:
    done = 0
    for i in range(s.steps):
        kind, begin, to = s.order[i, 0], s.order[i, 1], s.order[i, 2]
        if s.kernels[kind]:
            s.kernels[kind].run(s.numbers[begin:], s.numbers[to:])
            done += 1
    return done


@native
def not_vectors(s: Steps):
    s.kernels[0].run(s.numbers)


@native
def from_the_end(s: Steps, k) -> int:
    s.kernels[-3].run(s.numbers, s.numbers[6:])
    s.kernels[-k].run(s.numbers[1:], s.numbers[7:])
    return 1 if s.kernels[-1] else 0


def _kernel(name, n, make):
    x = ca.SX.sym("x", n)
    return compile_function(name, {"x": x}, {"y": make(x)}, batch=False)


@pytest.fixture(scope="module")
def steps():
    double = _kernel("double_three", 3, lambda x: 2 * x)
    total = _kernel("total_of_two", 2, ca.sum1)
    # Long enough to need scratch space between its pieces.
    x = ca.SX.sym("x", 2)
    y = x
    for _ in range(400):
        y = ca.vertcat(ca.sin(y[0]) + y[1], ca.cos(y[1]) * y[0])
    long = compile_function("long_chain", {"x": x}, {"y": y}, batch=False, piece=50)
    order = np.array([[0, 0, 5], [1, 5, 9], [3, 0, 0], [2, 5, 10]])
    return lambda: Steps(
        n=4, size=12, steps=4, kernels=[double, total, long, None], order=order, numbers=np.arange(1.0, 13.0)
    )


@pytest.mark.parametrize("mode", ["machine code", "plain Python", "checked"])
def test_kernels_read_and_write_in_place(steps, mode):
    s = steps()
    with checking(mode == "checked"):
        if mode == "plain Python":
            with plain():
                assert run_all(s) == 3
        else:
            assert run_all(s) == 3
    a, b = 2.0, 4.0
    for _ in range(400):
        a, b = np.sin(a) + b, np.cos(b) * a
    expected = [1, 2, 3, 4, 5, 2, 4, 6, 9, 6, a, b]
    np.testing.assert_allclose(s.numbers, expected, rtol=1e-12)


@pytest.mark.parametrize("mode", ["machine code", "plain Python"])
def test_kernels_are_counted_from_the_end(steps, mode):
    s = steps()
    with plain() if mode == "plain Python" else nullcontext():
        assert from_the_end(s, 3) == 0
    assert s.numbers[6:8].tolist() == [3.0, 5.0]


def test_checks_see_a_vector_that_is_too_short(steps):
    s = steps()
    s.order[1, 2] = s.size
    with checking(), pytest.raises(CompileError, match="more outputs than it is given room for"):
        run_all(s)
    with plain(), pytest.raises(TypeError, match="'total_of_two' needs room for 1 outputs"):
        run_all(s)


def test_checks_see_a_kernel_that_is_not_there(steps):
    s = steps()
    s.order[0, 0] = 4
    with checking(), pytest.raises(CompileError, match="index outside the kernels"):
        run_all(s)


def test_what_to_write_is_said(steps):
    with pytest.raises(CompileError, match=r"two vectors of floats.*kernels\[k\].run\(inputs, outputs\)"):
        not_vectors(steps())


def test_missing_kernels_are_none_and_a_wrong_number_is_refused(steps):
    assert Steps(n=2, size=0, steps=0).kernels == (None, None)
    with pytest.raises(TypeError, match=r"Steps.kernels\[n\] must be \(3,\), got \(1,\)"):
        Steps(n=3, size=0, steps=0, kernels=[None])
    with pytest.raises(TypeError, match="int64 with 2 axes"):
        Steps(n=0, size=0, steps=1, order=np.zeros(3, dtype=np.int64))
