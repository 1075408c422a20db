"""Kernels called by address inside Numba loops."""

import os
import subprocess
import sys

import casadi as ca
import numba
import numpy as np
import pytest

from dalembert.codegen import call_kernel, call_kernel_offset, compile_function


@numba.njit
def euler(address, state, rate, work, step, count):
    for _ in range(count):
        call_kernel(address, state, rate, work)
        for i in range(len(state)):
            state[i] += step * rate[i]


@numba.njit
def rows(address, inp, out, work):
    for i in range(len(inp)):
        call_kernel(address, inp[i], out[i], work)


@numba.njit
def parts(address, inp, out, n_in, n_out, count, work):
    for i in range(count):
        call_kernel_offset(address, inp, i * n_in, out, i * n_out, work)


def test_one_loop_serves_every_kernel():
    x = ca.SX.sym("x", 2)
    oscillator = compile_function("f", {"x": x}, {"dx": ca.vertcat(x[1], -x[0])})
    decay = compile_function("g", {"x": x}, {"dx": -x})
    for kernel, exact in ((oscillator, [np.cos(1), -np.sin(1)]), (decay, [np.exp(-1), 0])):
        state, rate, work = np.array([1.0, 0.0]), np.empty(2), np.empty(kernel.n_work)
        euler(kernel.address, state, rate, work, 1e-5, 100_000)
        # Explicit Euler: the error is of the order of the step.
        np.testing.assert_allclose(state, exact, atol=2e-5)
    assert len(euler.signatures) == 1


def test_rows_and_offsets():
    x = ca.SX.sym("x", 3)
    kernel = compile_function("f", {"x": x}, {"y": ca.vertcat(ca.sum1(x), ca.exp(x[1]))})
    inp = np.random.default_rng(0).normal(size=(6, 3))
    work = np.empty(kernel.n_work)
    by_rows, by_offsets = np.empty((6, 2)), np.empty(12)
    rows(kernel.address, inp, by_rows, work)
    parts(kernel.address, inp.ravel(), by_offsets, 3, 2, 6, work)
    np.testing.assert_array_equal(by_rows, kernel(inp))
    np.testing.assert_array_equal(by_offsets.reshape(6, 2), by_rows)


def test_callable_from_python():
    x = ca.SX.sym("x", 2)
    kernel = compile_function("f", {"x": x}, {"y": 3 * x})
    out = np.empty(2)
    call_kernel(kernel.address, np.array([1.0, 2.0]), out, np.empty(0))
    np.testing.assert_array_equal(out, [3, 6])


LOOP = """
import casadi as ca, numba, numpy as np, sys
from dalembert.codegen import call_kernel, compile_function

@numba.njit(cache=True)
def twice(address, inp, out, work):
    call_kernel(address, inp, out, work)
    out *= 2

if __name__ == "__main__":
    x = ca.SX.sym("x", 2)
    kernel = compile_function("f", {"x": x}, {"y": float(sys.argv[1]) * x})
    out = np.empty(2)
    twice(kernel.address, np.ones(2), out, np.empty(kernel.n_work))
    print(out[1], sum(twice.stats.cache_hits.values()))
"""


def test_cached_loop_runs_with_another_kernel_in_another_process(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text(LOOP)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, str(script), factor], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for factor in ("3", "5")
    ]
    assert printed == [["6.0", "0"], ["10.0", "1"]]


def test_wrong_arrays_are_refused_when_compiled():
    with pytest.raises(numba.TypingError, match="'inp' must be a C-contiguous float64 array"):
        call_kernel(0, np.zeros(2, dtype=np.float32), np.zeros(2), np.zeros(0))
    with pytest.raises(numba.TypingError, match="'out' must be a C-contiguous float64 array"):
        call_kernel(0, np.zeros(2), np.zeros(4)[::2], np.zeros(0))
