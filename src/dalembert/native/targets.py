"""Native functions for any machine: one object file, or one WebAssembly module, with all that they need.

    program = Program()
    program.entry("solve", solve_constrained, kinds)      # void solve(int64_t *io)
    data = program.object(TARGETS["macos-arm64"])

All functions, the kernels and the functions in fields of records are merged into one LLVM module, in which only what
was asked for is visible. An object needs ``malloc``, ``free``, and what its code generator takes for granted, such as
``memcpy``; a WebAssembly module needs nothing.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from dalembert.errors import CompileError
from dalembert.native import arena, library, mathematics
from dalembert.native.build import entry_text, plain_text, units
from dalembert.native.cache import read_object, write_object
from dalembert.native.fingerprint import translator_version
from dalembert.native.jit import attributes, optimized
from dalembert.native.linker import Linked, link
from dalembert.native.translate import instance_of, unit_text
from dalembert.native.types import FLOAT, Type

__all__ = ["MICROCONTROLLERS", "TARGETS", "WASM", "Program", "Target"]


@dataclass(frozen=True)
class Target:
    """A machine.

    Attributes:
        triple: LLVM's name of processor, system and conventions.
        cpu, features: what the processor can do; the least of its kind by default.
        reloc: how code refers to addresses.
    """

    triple: str
    cpu: str = ""
    features: str = ""
    reloc: str = "pic"

    def machine(self) -> llvm.TargetMachine:
        _start()
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=_LEVEL, reloc=self.reloc, codemodel="default"
        )


_LEVEL = 2
# Cost of functions that are put into their callers in pages: a fifth less code than with LLVM's 225, and as fast.
_SMALL = 110
WASM = Target(
    "wasm32-unknown-unknown",
    "",
    "+bulk-memory,+bulk-memory-opt,+nontrapping-fptoint,+sign-ext,+mutable-globals",
    "static",
)
TARGETS = {
    "linux-x86-64": Target("x86_64-unknown-linux-gnu"),
    "linux-arm64": Target("aarch64-unknown-linux-gnu"),
    "macos-x86-64": Target("x86_64-apple-macosx10.15"),
    "macos-arm64": Target("arm64-apple-macosx11"),
    "windows-x86-64": Target("x86_64-pc-windows-msvc"),
    "windows-arm64": Target("aarch64-pc-windows-msvc"),
    "wasm32": WASM,
}
# Processors of ARM without an operating system. Doubles are hardware in the M7 only; else the compiler's library adds
# and multiplies them.
MICROCONTROLLERS = {
    "cortex-m3": Target("thumbv7m-unknown-none-eabi", "cortex-m3", "", "static"),
    "cortex-m4": Target("thumbv7em-unknown-none-eabihf", "cortex-m4", "", "static"),
    "cortex-m7": Target("thumbv7em-unknown-none-eabihf", "cortex-m7", "", "static"),
    "cortex-m33": Target("thumbv8m.main-unknown-none-eabihf", "cortex-m33", "", "static"),
}

# WebAssembly has no malloc: chunks of the arena are given back in reverse order, so the end of what is used is enough.
_HEAP = """
@__heap_base = external global i8
@dalembert_heap = internal global ptr null
declare i32 @llvm.wasm.memory.grow.i32(i32, i32)
declare i32 @llvm.wasm.memory.size.i32(i32)
define ptr @dalembert_malloc(i64 %n) #0 {
  %now = load ptr, ptr @dalembert_heap
  %first = icmp eq ptr %now, null
  %start = select i1 %first, ptr @__heap_base, ptr %now
  %at = ptrtoint ptr %start to i64
  %rounded = add i64 %n, 63
  %bytes = and i64 %rounded, -64
  %end = add i64 %at, %bytes
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %wide = zext i32 %pages to i64
  %have = shl i64 %wide, 16
  %fits = icmp ule i64 %end, %have
  br i1 %fits, label %good, label %more
more:
  %lack = sub i64 %end, %have
  %up = add i64 %lack, 65535
  %many = lshr i64 %up, 16
  %room = icmp ult i64 %many, 65536
  br i1 %room, label %grow, label %none
grow:
  %count = trunc i64 %many to i32
  %old = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %count)
  %bad = icmp eq i32 %old, -1
  br i1 %bad, label %none, label %good
none:
  ret ptr null
good:
  %next = inttoptr i64 %end to ptr
  store ptr %next, ptr @dalembert_heap
  ret ptr %start
}
define void @dalembert_free(ptr %p) #0 {
  store ptr %p, ptr @dalembert_heap
  ret void
}
"""

# Products of 128 bits, which LLVM makes of sums over loops: a b = a₀ b₀ + 2⁶⁴ (a₀ b₁ + a₁ b₀), a₀ b₀ by halves.
_WIDE = """
define void @__multi3(ptr %out, i64 %a, i64 %a1, i64 %b, i64 %b1) #0 {
  %al = and i64 %a, 4294967295
  %ah = lshr i64 %a, 32
  %bl = and i64 %b, 4294967295
  %bh = lshr i64 %b, 32
  %ll = mul i64 %al, %bl
  %lh = mul i64 %al, %bh
  %hl = mul i64 %ah, %bl
  %hh = mul i64 %ah, %bh
  %carry = lshr i64 %ll, 32
  %part = add i64 %hl, %carry
  %low = and i64 %part, 4294967295
  %middle = add i64 %lh, %low
  %up = lshr i64 %part, 32
  %more = lshr i64 %middle, 32
  %h0 = add i64 %hh, %up
  %h1 = add i64 %h0, %more
  %x = mul i64 %a, %b1
  %y = mul i64 %a1, %b
  %h2 = add i64 %h1, %x
  %h3 = add i64 %h2, %y
  %first = mul i64 %a, %b
  store i64 %first, ptr %out
  %next = getelementptr i8, ptr %out, i64 8
  store i64 %h3, ptr %next
  ret void
}
"""

# Minimum and maximum, which LLVM takes from a library of C; what is no number gives way to the other.
_EXTREMES = "".join(
    f"""
define double @{name}(double %x, double %y) #0 {{
  %first = fcmp {sign} double %x, %y
  %lone = fcmp uno double %y, %y
  %chosen = or i1 %first, %lone
  %z = select i1 %chosen, double %x, double %y
  ret double %z
}}
"""
    for name, sign in (("fmin", "olt"), ("fmax", "ogt"))
)


@functools.cache
def _start() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


class Program:
    """Native functions and kernels that are compiled together.

    Attributes:
        prefix: if given, nothing but entries, ``prefix_entry``, is visible: what records refer to stands in a table,
            ``prefix_table``, and memory comes from ``prefix_malloc``, so that several objects fit into one program.
    """

    def __init__(self, checking: bool = False):
        self.checking = checking
        self.prefix = ""
        # IR by what it defines; what is called from outside; what records refer to.
        self._texts: dict[str, str] = {"dalembert_grow": arena.GROW}
        self._entries: list[str] = []
        self._pointed: list[str] = []
        self._kernels: dict[int, tuple[str, Any]] = {}
        self.faults: dict[int, str] = {}

    def function(self, function: Any, kinds: tuple[Type, ...]) -> str:
        """The symbol of a function as fields of records hold it; its first parameter is the arena."""
        root = self._add(function, kinds)
        self._point(root.symbol)
        return root.symbol

    def entry(self, name: str, function: Any, kinds: tuple[Type, ...]) -> Type:
        """Make ``void name(int64_t *io)``, io: arena, parts of arguments and of the result, whose type is returned."""
        root = self._add(function, kinds)
        self._texts[name] = entry_text(name, root.symbol, kinds, root.result)
        self._entries.append(name)
        return root.result

    def kernel(self, kernel: Any) -> str:
        """The symbol of a kernel: ``void f(const double *in, double *out, double *work)``."""
        if id(kernel) not in self._kernels:
            name = f"kernel_{len(self._kernels)}"
            text = re.sub(r"@kernel(?=[.(])", f"@{name}", kernel.ir)
            self._texts[name] = text
            self._kernels[id(kernel)] = name, kernel
            self._point(name)
            for needed in re.findall(r"declare double @(dalembert_\w+)", text):
                self._mathematics(needed)
        return self._kernels[id(kernel)][0]

    def _point(self, name: str) -> None:
        if name not in self._pointed:
            self._pointed.append(name)

    def _add(self, function: Any, kinds: tuple[Type, ...]) -> Any:
        root = instance_of(function, kinds, self.checking)
        for symbol, unit in units(root).items():
            if symbol not in self._texts:
                self._texts[symbol] = unit_text(unit)
                for member in (unit, *unit.copied().values()):
                    self.faults |= member.faults
        return root

    def _mathematics(self, name: str) -> None:
        if name not in self._texts:
            python = mathematics.FUNCTIONS[name.removeprefix("dalembert_")]
            count = python.__code__.co_argcount
            checking, self.checking = self.checking, False
            root = self._add(library.own(python), (FLOAT,) * count)
            self.checking = checking
            self._texts[name] = plain_text(name, root.symbol, count)

    # -- machine code -------------------------------------------------------------------------------------------------

    def units(self) -> list[str]:
        """All LLVM code, unit by unit; what occurs twice is the same."""
        return list(self._texts.values())

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers of the functions that fields of records refer to, where they are no addresses."""
        return {name: 1 + k for k, name in enumerate(self._pointed)}

    def module(self, target: Target) -> llvm.ModuleRef:
        """The whole program as one optimized LLVM module."""
        machine = target.machine()
        texts, whole = list(self._texts.values()), None
        if target is WASM:
            texts += [_HEAP, _WIDE, *([_EXTREMES] if any("num.f64(" in text for text in texts) else [])]
        if target is WASM or self.prefix:
            # Functions that records refer to get numbers in a table.
            names = ", ".join(f"ptr @{name}" for name in self._pointed)
            declared = "\n".join(f"declare void @{name}()" for name in self._pointed)
            table = f"@{self.prefix or 'dalembert'}_table = constant [{len(self._pointed)} x ptr] [{names}]"
            texts.append(f"{declared}\n{table}\n")
        own, entries = f"{self.prefix}_" if self.prefix else "", "|".join(map(re.escape, self._entries))
        for text in texts:
            if target is not WASM:
                text = re.sub(r"@dalembert_(malloc|free)\b", rf"@{own}\1", text)
            if own:
                text = re.sub(rf"@({entries})(?=\()", rf"@{own}\1", text)
            part = llvm.parse_assembly(text + "\n" + attributes())
            part.triple, part.data_layout = target.triple, str(machine.target_data)
            if whole is None:
                whole = part
            else:
                whole.link_in(part)
        assert whole is not None
        visible = {*(own + name for name in self._entries), "dalembert_malloc", "dalembert_free", "__multi3"}
        visible |= {"fmin", "fmax"}
        visible |= set() if self.prefix else {*self._pointed}
        for function in whole.functions:
            if not function.is_declaration and function.name not in visible:
                function.linkage = "internal"
        return optimized(whole, _LEVEL, machine, lean=True, inlined=_SMALL if target is WASM else None)

    def object(self, target: Target) -> bytes:
        """A relocatable object file: ELF, Mach-O, COFF or WebAssembly; kept in the cache."""
        parts = [repr(target), self.prefix, llvmlite.__version__, translator_version(), *self._entries, *self._pointed]
        key = hashlib.sha256("|".join([*parts, *self._texts.values()]).encode()).hexdigest()
        data = read_object(key)
        if data is None:
            data = target.machine().emit_object(self.module(target))
            write_object(key, data)
        return data

    def assembly(self, target: Target) -> str:
        """The text of the assembler."""
        return target.machine().emit_assembly(self.module(target))

    def wasm(self) -> Linked:
        """A complete WebAssembly module, which imports nothing and exports its entries."""
        made = link(self.object(WASM), [*self._entries, "dalembert_malloc", "dalembert_free"])
        if made.imports:
            raise CompileError(f"the module would need {', '.join(made.imports)} from outside")
        return made
