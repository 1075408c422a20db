"""WebAssembly gives the bits of this machine: every construct, records with all they refer to, a whole simulation."""

import numpy as np
import pytest
import test_arrays
import test_language
from machine import Machine, Part, driven, growth, kernels, large, machine
from support.native import equal

import dalembert as da
from dalembert import library
from dalembert.errors import CompileError
from dalembert.integrators.problem import Memory
from dalembert.native import native, plain
from dalembert.native.linker import link
from dalembert.native.targets import Program
from dalembert.native.types import FLOAT, Pointer, vector
from dalembert.native.wasm import WasmRun
from dalembert.numerics.linear import solve_constrained

wasmtime = pytest.importorskip("wasmtime", reason="wasmtime is not installed: pip install wasmtime")


@native
def outside(x, i):
    return x[i]


def test_a_module_is_complete():
    program = Program()
    program.entry("drive", driven, (Pointer(Machine), FLOAT, vector()))
    program.function(growth, (Pointer(Part), FLOAT, vector(), vector()))
    for kernel in kernels():
        program.kernel(kernel)
    made = program.wasm()
    assert made.imports == () and made.data[:4] == b"\0asm"
    assert set(made.table) >= {"kernel_0", "kernel_1"} and sorted(made.table.values()) == [1, 2, 3]
    module = wasmtime.Module(wasmtime.Engine(), made.data)
    assert module.imports == []
    names = {export.name for export in module.exports}
    assert names == {"memory", "__heap_base", "table", "drive", "dalembert_malloc", "dalembert_free"}


@pytest.mark.parametrize(("rows", "n"), [(3, 5), (12, 10), (0, 3), (42, 36)])
def test_solve_constrained(rows, n):
    rng = np.random.default_rng(rows)
    M, A = rng.normal(size=(n, n)), rng.normal(size=(rows, n))
    M = M @ M.T + np.eye(n)
    if rows > 2:
        A[-1] = A[0] - 2.0 * A[1]
    f, gamma = rng.normal(size=n), A @ rng.normal(size=n)
    du, multipliers, here, there = (np.zeros(size) for size in (n, rows, n, rows))
    wanted = solve_constrained(M, f, A, gamma, here, there)
    found = WasmRun(solve_constrained, M, f, A, gamma, du, multipliers)()
    assert equal(found, wanted) and equal(du, here) and equal(multipliers, there) and du.any()


def first_of_each(cases):
    """One case of each function."""
    found = {}
    for function, args in cases:
        found.setdefault(function.key, (function, args))
    return list(found.values())


EVERYTHING = first_of_each([*test_language.CASES, *test_language.ROUNDED, *test_arrays.CASES, *test_arrays.ROUNDED])


@pytest.mark.parametrize(("function", "args"), EVERYTHING, ids=[function.__name__ for function, _ in EVERYTHING])
def test_every_construct(function, args):
    """The language and its mathematics, to the bit."""
    here, there = ([np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args] for _ in range(2))
    wanted, found = function(*here), WasmRun(function, *there)()
    assert equal(found, wanted) and equal(tuple(there), tuple(here))


def test_records_functions_and_kernels():
    one, other = machine(), machine()
    here, there = np.zeros(3), np.zeros(3)
    wanted = driven(one, 0.75, here)
    run = WasmRun(driven, other, 0.75, there)
    assert equal(run(), wanted) and equal(there, here)
    for name, value in one.values().items():
        assert equal(other.values()[name], value), name
    assert other.part is other.other and other.part.weight == 1.5 and other.part.count == 5
    assert equal(other.kernel.outputs, one.kernel.outputs)
    # Pointers are what they were: the records still work here, and there with what Python has changed.
    assert equal(driven(other, 0.75, there), driven(one, 0.75, here))
    one.part.weight = other.part.weight = -3.0
    assert equal(run(), driven(one, 0.75, here)) and equal(there, here)


def test_views_stay_views():
    x, y = np.arange(8.0), np.arange(8.0)
    test_arrays.between(x[1:5], x[0:4])
    WasmRun(test_arrays.between, y[1:5], y[0:4])()
    assert equal(x, y)
    A, B = np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3)
    test_arrays.between(A[:, 1], A[1])
    WasmRun(test_arrays.between, B[:, 1], B[1])()
    assert equal(A, B)


def test_read_only_arrays_are_left_alone():
    x = np.arange(4.0)
    x.flags.writeable = False
    y = np.zeros(4)
    WasmRun(test_arrays.between, y, x)()
    assert equal(y, x)


def test_memory_grows():
    assert equal(WasmRun(large, 20)(), large(20))


def test_it_runs_again_with_what_python_has_changed():
    x, y = np.zeros(3), np.arange(3.0)
    run = WasmRun(test_arrays.between, x, y)
    run()
    assert equal(x, np.arange(3.0))
    y += 5.0
    run()
    assert equal(x, y)


def test_checks():
    x = np.arange(3.0)
    assert WasmRun(outside, x, 2, checking=True)() == 2.0
    with pytest.raises(CompileError, match=r"test_wasm.py:\d+: native function 'outside': `x\[i\]`: index outside"):
        WasmRun(outside, x, 3, checking=True)()


def test_what_cannot_be_linked():
    with pytest.raises(CompileError, match="no WebAssembly object"):
        link(b"\x7fELF", [])


def simulated(integrator, there):
    """A run of the four-bar, with its time loop here or in WebAssembly; and the modules."""
    modules = []

    def call(function, args):
        if there and any(isinstance(arg, Memory) for arg in args):
            run = WasmRun(function, *args)
            modules.append(run.module)
            return run()
        return function.compiled(*args)

    with plain(call):
        return da.simulate(library.build("four-bar"), 3.0, integrator=integrator, rtol=1e-10), modules


@pytest.mark.parametrize("integrator", ["dopri8", pytest.param("radau", marks=pytest.mark.slow)])
def test_a_whole_run_of_the_closed_four_bar(integrator):
    """Time loop, equations of motion, projection and kernels in one module without imports: the same bits."""
    wanted, _ = simulated(integrator, there=False)
    found, modules = simulated(integrator, there=True)
    assert modules and all(module.imports == () and len(module.data) < 200_000 for module in modules)
    assert equal(np.asarray(found.q), np.asarray(wanted.q)) and equal(np.asarray(found.u), np.asarray(wanted.u))
    assert np.ptp(np.asarray(found.q)) > 1.0
