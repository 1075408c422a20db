"""Object files for six systems: formats, symbols, calling conventions, stack probes."""

import re

import casadi as ca
import pytest
from machine import Machine, Part, driven, growth, kernels, large
from support.objects import read_symbols
from test_language import variable_after_loop

from dalembert.codegen import compile_function
from dalembert.native.targets import TARGETS, Program, Target
from dalembert.native.types import FLOAT, INT, Pointer, matrix, vector
from dalembert.numerics.linear import solve_constrained

# What an object may ask for: memory, what copies and clears it, and rounding where the processor has no instruction for
# it; on macOS its names for clearing; on Windows a marker of floating-point code, and the probe of functions with more
# than a page on the stack.
NEEDED = frozenset({"malloc", "free", "memset", "memcpy", "memmove", "floor", "ceil"})
NEEDED_ON = {"linux": NEEDED, "macos": NEEDED | {"bzero", "__bzero"}, "windows": NEEDED | {"_fltused", "__chkstk"}}
SIX = [name for name in TARGETS if name != "wasm32"]
FORMATS = {"linux": "ELF", "macos": "Mach-O", "windows": "COFF"}
MACHINES = {
    "linux-x86-64": 62, "linux-arm64": 183, "macos-x86-64": 0x01000007, "macos-arm64": 0x0100000C,
    "windows-x86-64": 0x8664, "windows-arm64": 0xAA64,
}  # fmt: skip


@pytest.fixture(scope="module")
def program():
    """A solver, a function that calls functions and kernels of a record, and one that needs much memory."""
    made = Program()
    made.entry("solve", solve_constrained, (matrix(), vector(), matrix(), vector(), vector(), vector()))
    made.entry("drive", driven, (Pointer(Machine), FLOAT, vector()))
    made.entry("large", large, (INT,))
    made.function(growth, (Pointer(Part), FLOAT, vector(), vector()))
    for kernel in kernels():
        made.kernel(kernel)
    return made


@pytest.mark.parametrize("name", SIX)
def test_objects(program, name):
    symbols = read_symbols(program.object(TARGETS[name]))
    system = name.partition("-")[0]
    assert symbols.format == FORMATS[system] and symbols.machine == MACHINES[name]
    # What was asked for is visible, and nothing else.
    functions = {found for found in symbols.defined if not re.match(r"n[0-9a-f]{24}$|__real@|__xmm@|@feat", found)}
    assert functions == {"solve", "drive", "large", "kernel_0", "kernel_1"}
    assert sum(found.startswith("n") for found in symbols.defined) == 1
    assert {"malloc", "free"} <= symbols.undefined <= NEEDED_ON[system]
    # No frame is larger than a page, so no probe is needed.
    assert "__chkstk" not in symbols.undefined


def test_large_frames_are_probed_on_windows():
    """More than a page on the stack: the guard page must be touched, or the stack does not grow."""
    n = 800
    x = ca.SX.sym("x", n)
    y = ca.sqrt(x)
    rows = [y[i] * y[n - 1 - i] + x[i] for i in range(n)]
    kernel = compile_function("wide", {"x": x}, {"y": ca.vertcat(*rows)}, piece=10_000)
    program = Program()
    program.kernel(kernel)
    for name in ("windows-x86-64", "windows-arm64"):
        assert "__chkstk" in read_symbols(program.object(TARGETS[name])).undefined


@pytest.mark.parametrize(
    ("name", "register"),
    [
        ("linux-x86-64", r"\(%rdi\)"), ("macos-x86-64", r"\(%rdi\)"), ("windows-x86-64", r"\(%rcx\)"),
        ("linux-arm64", r"\[x0"), ("macos-arm64", r"\[x0"), ("windows-arm64", r"\[x0"),
    ],
)  # fmt: skip
def test_calling_conventions(name, register):
    """The one argument of an entry comes in the first register of the platform."""
    program = Program()
    program.entry("identity", variable_after_loop, (INT,))
    text = program.assembly(TARGETS[name])
    body = re.split(r"^_?identity:", text, flags=re.M)[1]
    first = next(line for line in body.splitlines() if "(%" in line or "[x" in line)
    assert re.search(register, first), first


def test_objects_by_name():
    program = Program()
    program.entry("solve", variable_after_loop, (INT,))
    data = program.object(Target("riscv64-unknown-linux-gnu"))
    assert read_symbols(data).machine == 243 and "solve" in read_symbols(data).defined
    with pytest.raises(RuntimeError, match="target"):
        Target("nonsense-unknown-none").machine()


def test_no_contraction(program):
    """Products and sums are rounded each, wherever the processor could do both at once."""
    for name in ("linux-arm64", "linux-x86-64"):
        target = Target(TARGETS[name].triple, features="+fma" if "x86" in name else "")
        assert not re.search(r"\bv?fn?m(add|sub|la|ls)", program.assembly(target))
