"""Machine code from LLVM IR, by the LLVM that comes with llvmlite."""

from __future__ import annotations

import ctypes
import functools
import itertools
import sys
import threading
from dataclasses import dataclass

import llvmlite
import llvmlite.binding as llvm

from dalembert.errors import CompileError

__all__ = [
    "Host", "attributes", "build_object", "host", "libc_address", "link_objects", "load_object", "optimized",
    "write_assembly",
]  # fmt: skip

lock = threading.RLock()
# Every library linked needs a name of its own.
_numbers = itertools.count()


@dataclass(frozen=True)
class Host:
    """The machine that runs this process, as LLVM sees it.

    Attributes:
        triple: target triple.
        cpu: name of the processor.
        features: its instruction sets.
        width: number of doubles in a vector register.
    """

    triple: str
    cpu: str
    features: str
    width: int

    def key(self) -> str:
        """All that the machine code depends on besides the IR."""
        return f"{self.triple}|{self.cpu}|{self.features}|{llvmlite.__version__}|{llvm.llvm_version_info}"


@functools.lru_cache(maxsize=1)
def host() -> Host:
    """Start LLVM and describe this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        width = 8
    elif features.get("avx"):
        width = 4
    else:
        width = 2
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features.flatten(), width)


@functools.lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


@functools.cache
def libc_address(name: str) -> int:
    """Address of a function of the C library."""
    try:
        address = ctypes.cast(getattr(_libc(), name), ctypes.c_void_p).value
    except AttributeError:
        address = None
    if not address:
        raise CompileError(f"the C library of this system has no function '{name}'")
    return address


@functools.cache
def _target_machine(level: int) -> llvm.TargetMachine:
    machine = host()
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=level, reloc="pic", codemodel="default", jit=True
    )


def attributes() -> str:
    """Attribute groups 0, of native functions and kernels, and 1, of functions without effects."""
    return 'attributes #0 = { nounwind "no-builtins" }\nattributes #1 = { nounwind willreturn memory(none) }\n'


def _optimized(text: str, level: int, machine: llvm.TargetMachine, lean: bool = False) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text + "\n" + attributes())
    module.triple = host().triple
    module.data_layout = str(machine.target_data)
    return optimized(module, level, machine, lean)


def optimized(
    module: llvm.ModuleRef, level: int, machine: llvm.TargetMachine, lean: bool = False, inlined: int | None = None
) -> llvm.ModuleRef:
    """The module, after LLVM's passes for a machine (see ``build_object``).

    Args:
        inlined: cost up to which functions are put into their callers, in LLVM's measure; its own choice without.
    """
    if level == 0 and lean:
        return module
    if level == 1 and lean:
        return _simplified(module, machine)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    if lean:
        options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
    if inlined is not None:
        options.inlining_threshold = inlined
    builder = llvm.create_pass_builder(machine, options)
    if level >= 2:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
    passes.run(module, builder)
    return module


def _simplified(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module, functions that ask for it made part of their callers, and each one left simplified by itself.

    Leaves out LLVM's decisions about what to inline and what it does to functions twice: less than half the time of
    level 2, and the machine code of our functions is as fast.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    for function in module.functions:
        if not function.is_declaration:
            builder.getFunctionPassManager().run(function, builder)
    return module


def build_object(text: str, level: int, lean: bool = False) -> bytes:
    """Compile IR to a relocatable object file.

    Args:
        text: LLVM IR without attribute groups 0 and 1, which are added here.
        level: 0 to 3, as -O0 to -O3 of a C compiler.
        lean: loops are neither unrolled nor vectorized; for small matrices that is faster, and compiles in a third of
            the time. At level 1 only functions marked ``alwaysinline`` are inlined, at level 0 none.
    """
    with lock:
        machine = _target_machine(level)
        return machine.emit_object(_optimized(text, level, machine, lean))


def write_assembly(text: str, level: int) -> str:
    """Compile IR to the text of the assembler."""
    with lock:
        machine = _target_machine(level)
        return machine.emit_assembly(_optimized(text, level, machine))


@functools.lru_cache(maxsize=1)
def _linker() -> llvm.LLJIT:
    # JITLink puts all sections of an object next to each other, which position-independent code relies on.
    return llvm.create_lljit_compiler(_target_machine(1), use_jit_link=True, suppress_errors=True)


def load_object(data: bytes, symbol: str, imports: dict[str, int]) -> tuple[int, object]:
    """Link an object file into this process.

    Args:
        data: the object file.
        symbol: name of the function wanted.
        imports: addresses of functions that the object calls.

    Returns:
        the address of ``symbol``, valid as long as the second value lives: it owns the code.
    """
    addresses, owner = link_objects([data], [symbol], imports)
    return addresses[symbol], owner


def link_objects(objects: list[bytes], symbols: list[str], imports: dict[str, int]) -> tuple[dict[str, int], object]:
    """Link object files with each other and into this process.

    Args:
        symbols: names of the functions wanted.
        imports: addresses of functions in this process that the objects call.

    Returns:
        the addresses of ``symbols``, valid as long as the second value lives: it owns the code.
    """
    builder = llvm.JITLibraryBuilder()
    for data in objects:
        builder.add_object_img(data)
    for symbol in symbols:
        builder.export_symbol(symbol)
    # What the code generator itself may call: the stack probe of Windows, floor on old processors.
    builder.add_current_process()
    for name, address in imports.items():
        builder.import_symbol(name, address)
    if sys.platform == "win32":
        # Windows objects with floating-point code refer to this marker of the C runtime; nothing reads it.
        builder.import_symbol("_fltused", libc_address("malloc"))
    with lock:
        try:
            owner = builder.link(_linker(), f"dalembert{next(_numbers)}")
        except RuntimeError as error:
            raise CompileError(f"cannot link {', '.join(symbols)}: {error}") from error
    return {symbol: owner[symbol] for symbol in symbols}, owner
