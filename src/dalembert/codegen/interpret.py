"""Kernels for those who call them a few times: the tape is not compiled but run, instruction by instruction.

One function, compiled once for all kernels, walks over a *program*: a table of numbers made from the tape. What each
operation computes is the text that ``emit_kernel`` writes for it, so that the bits are those of the compiled kernel.

A program is (all numbers in the order of this machine)

    int32 inputs, constants, instructions, cleared outputs, stores, 0
    double constants[...]
    int32 (operation, a, b) per instruction
    int32 (output, value) per store

Values are numbered inputs first, then constants, then instructions, and lie in this order in the work vector.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np

from dalembert.codegen.emit_kernel import operation_text
from dalembert.codegen.helpers import helper_text
from dalembert.codegen.tape import BINARY, UNARY, Tape, libm_functions
from dalembert.native.build import mathematics_address
from dalembert.native.cache import read_object, write_object
from dalembert.native.jit import build_object, load_object

__all__ = ["can_run", "load_program"]

_OPERATIONS = (*UNARY, *BINARY)
_CODE = {name: code for code, name in enumerate(_OPERATIONS)}
_LEVEL = 2

# How a kernel calls the interpreter; its program is an address given to the linker.
_THUNK = """@program = external global i8
declare void @interpret(ptr, ptr, ptr, ptr)
define void @kernel(ptr %in, ptr %out, ptr %work) #0 {
  call void @interpret(ptr @program, ptr %in, ptr %out, ptr %work)
  ret void
}"""


def can_run(tape: Tape) -> bool:
    """Whether the interpreter knows all that a tape does: products and tables are compiled."""
    return not tape.products.calls and not tape.tables


def load_program(tape: Tape, sources: str) -> tuple[int, int, object]:
    """A function ``void kernel(const double* in, double* out, double* work)`` that runs a tape.

    Args:
        tape: the instructions.
        sources: what the cache of objects is keyed by besides the text.

    Returns:
        its address, the doubles of work memory that it needs, and the owner of both code and program.
    """
    program, n_values = _program(tape)
    address, engine = load_object(
        _object(_THUNK, sources), "kernel", {"program": program.ctypes.data, "interpret": _interpreter(sources)[0]}
    )
    return address, n_values, (engine, program)


def _program(tape: Tape) -> tuple[np.ndarray, int]:
    """The program of a tape, and the number of its values."""
    n = len(tape.ops)
    codes = np.array([_CODE.get(op, -1 if op == "input" else -2) for op in tape.ops], dtype=np.int32)
    a, b = (np.frombuffer(part, dtype=np.int64, count=n) for part in (tape.a, tape.b))
    first = tape.n_in + len(tape.constants)
    is_input, is_constant = codes == -1, codes == -2
    is_instruction = codes >= 0
    place = np.where(is_input, a, a + tape.n_in)
    place[is_instruction] = first + np.arange(np.count_nonzero(is_instruction))
    assert is_constant.sum() == len(tape.constants)
    x, y = a[is_instruction], b[is_instruction]
    instructions = np.stack([codes[is_instruction], place[x], np.where(y < 0, 0, place[y])], axis=1)
    stored = np.array(tape.stored, dtype=np.int64).reshape(-1, 2)
    stores = np.stack([stored[:, 0], place[stored[:, 1]]], axis=1)
    cleared = len(tape.results) if tape.is_sparse else 0
    header = [tape.n_in, len(tape.constants), len(instructions), cleared, len(stores), 0]
    constants = np.frombuffer(tape.constants, dtype=np.float64) if len(tape.constants) else np.zeros(0)
    parts = (np.array(header, dtype=np.int32), constants, instructions.astype(np.int32), stores.astype(np.int32))
    return np.frombuffer(b"".join(part.tobytes() for part in parts), dtype=np.uint8), first + len(instructions)


@functools.cache
def _object(text: str, sources: str) -> bytes:
    """The object file of a text, from the cache or compiled now."""
    key = hashlib.sha256(f"interpreter|{sources}|{_LEVEL}|{text}".encode()).hexdigest()
    data = read_object(key)
    if data is None:
        data = build_object(text, _LEVEL, lean=True)
        write_object(key, data)
    return data


@functools.cache
def _interpreter(sources: str) -> tuple[int, object]:
    """Address and owner of the function that runs programs."""
    imports = {f"dalembert_{name}": mathematics_address(name) for name in libm_functions(_OPERATIONS)}
    return load_object(_object(_interpreter_text(), sources), "interpret", imports)


def _interpreter_text() -> str:
    """LLVM IR of the interpreter: copy inputs and constants, run the instructions, store the outputs."""
    used: set[str] = set()
    functions = [operation_text(name, used) for name in _OPERATIONS]
    numbered = [(f"op{code}", name) for code, name in enumerate(_OPERATIONS)]
    step = _STEP.format(
        cases="\n".join(f"    i32 {label[2:]}, label %{label}" for label, _ in numbered),
        blocks="\n".join(
            f"{label}:\n  %r.{label} = call double @op.{name}(double %x, double %y)\n  br label %next"
            for label, name in numbered
        ),
        results=", ".join(f"[ %r.{label}, %{label} ]" for label, _ in numbered),
    )
    loops = [
        _loop("inputs", "constants", _COPY.format(name="inputs", source="%in", target="%work")),
        _loop("constants", "instructions", _COPY.format(name="constants", source="%c0", target="%w1")),
        _loop("instructions", "cleared", step, last="next"),
        _loop("cleared", "stores", _CLEAR),
        _loop("stores", "done", _STORE),
    ]
    return "\n".join([*functions, _HEAD, *loops, _TAIL, helper_text(used, 1, inline_sincos=False)])


def _loop(name: str, after: str, body: str, last: str = "") -> str:
    """A loop over ``%name.i`` below ``%name.count``; ``last`` is the block that its body ends in, if not its first."""
    return f"""{name}:
  br label %{name}.head
{name}.head:
  %{name}.i = phi i64 [ 0, %{name} ], [ %{name}.next, %{last or name + ".body"} ]
  %{name}.more = icmp slt i64 %{name}.i, %{name}.count
  br i1 %{name}.more, label %{name}.body, label %{after}
{name}.body:
{body}
  %{name}.next = add i64 %{name}.i, 1
  br label %{name}.head"""


def _counts() -> str:
    """The counts at the head of a program."""
    lines: list[str] = []
    for place, name in enumerate(_COUNTS):
        lines += [
            f"  %{name}.at = getelementptr inbounds i32, ptr %program, i64 {place}",
            f"  %{name}.short = load i32, ptr %{name}.at, align 4",
            f"  %{name}.count = sext i32 %{name}.short to i64",
        ]
    return "\n".join(lines)


_COUNTS = ("inputs", "constants", "instructions", "cleared", "stores")
_HEAD = f"""define void @interpret(ptr %program, ptr noalias readonly %in, ptr noalias %out, ptr noalias %work) #0 {{
{_counts()}
  %c0 = getelementptr inbounds i32, ptr %program, i64 {len(_COUNTS) + 1}
  %i0 = getelementptr inbounds double, ptr %c0, i64 %constants.count
  %length = mul i64 %instructions.count, 3
  %s0 = getelementptr inbounds i32, ptr %i0, i64 %length
  %w1 = getelementptr inbounds double, ptr %work, i64 %inputs.count
  %w2 = getelementptr inbounds double, ptr %w1, i64 %constants.count
  br label %inputs"""
_TAIL = "done:\n  ret void\n}"
_COPY = """  %{name}.from = getelementptr inbounds double, ptr {source}, i64 %{name}.i
  %{name}.to = getelementptr inbounds double, ptr {target}, i64 %{name}.i
  %{name}.value = load double, ptr %{name}.from, align 8
  store double %{name}.value, ptr %{name}.to, align 8"""
_STEP = """  %at = mul i64 %instructions.i, 3
  %pop = getelementptr inbounds i32, ptr %i0, i64 %at
  %pa = getelementptr inbounds i32, ptr %pop, i64 1
  %pb = getelementptr inbounds i32, ptr %pop, i64 2
  %op = load i32, ptr %pop, align 4
  %a = load i32, ptr %pa, align 4
  %b = load i32, ptr %pb, align 4
  %px = getelementptr inbounds double, ptr %work, i32 %a
  %py = getelementptr inbounds double, ptr %work, i32 %b
  %x = load double, ptr %px, align 8
  %y = load double, ptr %py, align 8
  switch i32 %op, label %unknown [
{cases}
  ]
unknown:
  unreachable
{blocks}
next:
  %result = phi double {results}
  %target = getelementptr inbounds double, ptr %w2, i64 %instructions.i
  store double %result, ptr %target, align 8"""
_CLEAR = """  %zero = getelementptr inbounds double, ptr %out, i64 %cleared.i
  store double 0.0, ptr %zero, align 8"""
_STORE = """  %pair = mul i64 %stores.i, 2
  %po = getelementptr inbounds i32, ptr %s0, i64 %pair
  %pv = getelementptr inbounds i32, ptr %po, i64 1
  %o = load i32, ptr %po, align 4
  %v = load i32, ptr %pv, align 4
  %from = getelementptr inbounds double, ptr %work, i32 %v
  %to = getelementptr inbounds double, ptr %out, i32 %o
  %stored = load double, ptr %from, align 8
  store double %stored, ptr %to, align 8"""
