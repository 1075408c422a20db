"""From a tape to code in memory: plan, cache, compiler and linker put together."""

from __future__ import annotations

import functools
import hashlib
import os
import weakref
from dataclasses import dataclass
from pathlib import Path

from dalembert.codegen.emit_kernel import emit_module
from dalembert.codegen.interpret import can_run, load_program
from dalembert.codegen.plan import Plan, plan_pieces
from dalembert.codegen.tape import Tape, libm_functions
from dalembert.errors import CompileError
from dalembert.native import jit
from dalembert.native.build import mathematics_address
from dalembert.native.cache import read_object, write_object
from dalembert.native.jit import build_object, host, load_object, write_assembly

__all__ = ["Build", "Code"]

# Measured on kernels of 2000 to 13 000 instructions (AVX2, LLVM 22): in pieces of 1000 they run 3 to 15 % faster than
# as one function, up to 45 % from 10 000 instructions on, and compile in half the time, which for one function grows
# faster than its length. Batches are cut later: a product and a sum in two pieces cannot be contracted. Level 1 is as
# fast as 2 and 3, because the tape has no repeats left to find. Level 0, best in pieces of 125, compiles six to eight
# times faster; it runs 1.7 times slower at 4000 instructions, 1.15 times at 25 000, and as fast at 40 000.
UNCUT, PIECE = 1500, 1000
PIECE_LEVEL_0 = 125
UNCUT_BATCH, PIECE_BATCH = 6000, 2000
# The compiler compares every store of a function with the others: sparse matrices of many entries are cut more finely.
MANY_STORES, PIECE_OF_STORES = 500, 500
LONG, LONG_BATCH = 40_000, 200_000  # from here on level 0


@dataclass(eq=False)
class Code:
    """Machine code in this process; the address is valid as long as this object lives.

    Attributes:
        address: of the function.
        n_work: doubles of work memory that it needs.
        engine: owns the memory of the code.
        from_cache: whether the object file came from disk.
    """

    address: int
    n_work: int
    engine: object
    from_cache: bool


_DECIDING = (
    "tape", "emit_kernel", "emit_products", "helpers", "plan", "products", "kernel_build", "lookup", "interpret",
)  # fmt: skip

# Kernels with the same instructions share one copy of the code.
_loaded: weakref.WeakValueDictionary[str, Code] = weakref.WeakValueDictionary()


@functools.lru_cache(maxsize=1)
def _sources() -> str:
    """SHA-256 of the modules that decide on the code, so that a new version never meets an old cache."""
    sha = hashlib.sha256()
    for name in _DECIDING:
        sha.update(Path(__file__).with_name(name + ".py").read_bytes())
    sha.update(Path(jit.__file__).read_bytes())
    return sha.hexdigest()


def _mathematics(tape: Tape) -> dict[str, int]:
    """Addresses of the functions that a kernel calls."""
    return {f"dalembert_{name}": mathematics_address(name) for name in libm_functions(tape.ops)}


@dataclass(frozen=True)
class Build:
    """One version of a kernel: scalar or batch, how it is cut, how it is optimized.

    Attributes:
        tape: the instructions.
        batch: the version over groups of states, as wide as the vectors of this machine.
        level: optimization level 0 to 3, or None to choose by length.
        piece: instructions per function, or None to choose.
    """

    tape: Tape
    batch: bool
    level: int | None = None
    piece: int | None = None

    @property
    def symbol(self) -> str:
        """Name of the function in the object file."""
        return "kernel_batch" if self.batch else "kernel"

    @property
    def width(self) -> int:
        """Number of states that one pass over the instructions computes."""
        return host().width if self.batch else 1

    def optimization(self) -> int:
        """The level given, that of the environment, or the one chosen by the length of the tape."""
        if self.level is not None:
            return self.level
        wanted = os.environ.get("DALEMBERT_OPTIMIZE", "")
        if wanted not in ("", "0", "1", "2", "3"):
            raise CompileError(f"DALEMBERT_OPTIMIZE must be 0, 1, 2 or 3, got {wanted!r}.  Fix: unset it")
        return int(wanted) if wanted else 1 if len(self.tape.ops) < (LONG_BATCH if self.batch else LONG) else 0

    def _in_haste(self) -> bool:
        """Level 0 because somebody asked for it, not because the tape is long.

        Then one state at a time is not compiled but run by ``interpret``; in what is compiled nothing is inlined.
        """
        return self.optimization() == 0 and (self.level == 0 or os.environ.get("DALEMBERT_OPTIMIZE") == "0")

    def _interpreted(self) -> bool:
        return not self.batch and self._in_haste() and can_run(self.tape)

    def plan(self) -> Plan:
        """How the tape is cut."""
        return plan_pieces(self.tape, self._piece())

    def _piece(self) -> int:
        if self.piece is not None:
            return self.piece
        if not self.batch and self.optimization() == 0:
            return PIECE_LEVEL_0
        if len(self.tape.stored) > max(MANY_STORES, self.tape.instructions // 4):
            return PIECE_OF_STORES
        uncut, piece = (UNCUT_BATCH, PIECE_BATCH) if self.batch else (UNCUT, PIECE)
        return uncut if self.tape.instructions <= uncut else piece

    def ir(self, plan: Plan | None = None) -> str:
        """LLVM IR before optimization."""
        return emit_module(self.tape, plan or self.plan(), self.symbol, self.width, batch=self.batch)

    def assembly(self) -> str:
        """Assembler text for this machine."""
        return write_assembly(self.ir(), self.optimization())

    def key(self) -> str:
        """Name of the object file in the cache, computed without writing the IR."""
        parts = (
            self.tape.digest,
            _sources(),
            host().key(),
            f"{self.symbol} {self.width} {self.optimization()} {self._piece()}",
        )
        return hashlib.sha256("|".join(parts).encode()).hexdigest()

    def load(self, *, cache: bool) -> Code:
        """The code, from memory, from disk, or compiled now."""
        key = self.key()
        code = _loaded.get(key)
        if code is not None:
            return code
        code = _loaded[key] = self._run() if self._interpreted() else self._compile(key, cache)
        return code

    def _run(self) -> Code:
        """The code that runs the tape without compiling it."""
        address, n_work, engine = load_program(self.tape, f"{_sources()} {host().key()}")
        return Code(address, n_work, engine, False)

    def _compile(self, key: str, cache: bool) -> Code:
        plan = self.plan()
        data = read_object(key) if cache else None
        from_cache = data is not None
        if data is None:
            data = build_object(self.ir(plan), self.optimization(), lean=self._in_haste())
            if cache:
                write_object(key, data)
        address, engine = load_object(data, self.symbol, _mathematics(self.tape))
        n_work = (plan.n_work + self.tape.products.n_work) * self.width
        return Code(address, n_work, engine, from_cache)
