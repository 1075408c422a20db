"""Machine code from LLVM IR, by the LLVM that comes with llvmlite."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass

import llvmlite
import llvmlite.binding as llvm

from dalembert.errors import CompileError

__all__ = ["Host", "build_object", "host", "load_object", "write_assembly"]

_lock = threading.RLock()
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
    if llvm.llvm_version_info[0] < 20:
        # From llvmlite 0.45 on the core initialises itself and the call raises.
        llvm.initialize()
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
def _libm() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else ctypes.util.find_library("m"))


@functools.cache
def _libm_address(name: str) -> int:
    try:
        address = ctypes.cast(getattr(_libm(), name), ctypes.c_void_p).value
    except AttributeError:
        address = None
    if not address:
        raise CompileError(f"the C library of this system has no function '{name}'")
    return address


def _target_machine(level: int) -> llvm.TargetMachine:
    machine = host()
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=level, reloc="pic", codemodel="default", jit=True
    )


def _attributes() -> str:
    pure = "memory(none)" if llvm.llvm_version_info[0] >= 16 else "readnone"
    return f'attributes #0 = {{ nounwind "no-builtins" }}\nattributes #1 = {{ nounwind willreturn {pure} }}\n'


def _optimised(text: str, level: int, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text + "\n" + _attributes())
    module.triple = host().triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    builder = llvm.create_pass_builder(machine, options)
    if level >= 2:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
    passes.run(module, builder)
    return module


def build_object(text: str, level: int) -> bytes:
    """Compile IR to a relocatable object file.

    Args:
        text: LLVM IR without attribute groups 0 and 1, which are added here.
        level: 0 to 3, as -O0 to -O3 of a C compiler.
    """
    with _lock:
        machine = _target_machine(level)
        return machine.emit_object(_optimised(text, level, machine))


def write_assembly(text: str, level: int) -> str:
    """Compile IR to the text of the assembler."""
    with _lock:
        machine = _target_machine(level)
        return machine.emit_assembly(_optimised(text, level, machine))


@functools.lru_cache(maxsize=1)
def _linker() -> llvm.LLJIT:
    # JITLink puts all sections of an object next to each other, which position-independent code relies on.
    return llvm.create_lljit_compiler(_target_machine(1), use_jit_link=True, suppress_errors=True)


def load_object(data: bytes, symbol: str, libm: Iterable[str]) -> tuple[int, object]:
    """Link an object file into this process.

    Args:
        data: the object file.
        symbol: name of the function wanted.
        libm: functions of the C library that the object calls.

    Returns:
        the address of ``symbol``, valid as long as the second value lives: it owns the code.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(data).export_symbol(symbol)
    # What the code generator itself may call: the stack probe of Windows, floor on old processors.
    builder.add_current_process()
    for name in libm:
        builder.import_symbol(f"dalembert_{name}", _libm_address(name))
    if sys.platform == "win32":
        # Windows objects with floating-point code refer to this marker of the C runtime; nothing reads it.
        builder.import_symbol("_fltused", _libm_address("sin"))
    with _lock:
        try:
            owner = builder.link(_linker(), f"dalembert{next(_numbers)}")
        except RuntimeError as error:
            raise CompileError(f"cannot link '{symbol}': {error}") from error
    return owner[symbol], owner
