"""Native functions as WebAssembly, run by ``wasmtime`` (``pip install wasmtime``): the same call, the same bits.

run = WasmRun(solve_constrained, M, f, A, gamma, du, multipliers)
status = run()                    # du and multipliers are filled
Path("solve.wasm").write_bytes(run.module.data)
"""

from __future__ import annotations

import struct
from typing import Any

from dalembert.errors import CompileError
from dalembert.native.arena import FAULT, SLOTS
from dalembert.native.function import Native, taken
from dalembert.native.image import Image
from dalembert.native.targets import Program
from dalembert.native.types import parts_of

__all__ = ["WasmRun"]

_ENTRY = "run"
# Bytes of the first chunk of the arena.
_CHUNK = 1 << 20


class WasmRun:
    """A call of a native function in WebAssembly.

    Attributes:
        module: the module: its bytes, and the numbers of functions in its table.
    """

    def __init__(self, function: Native, *args: Any, checking: bool = False):
        try:
            import wasmtime
        except ImportError as error:
            raise CompileError(
                "WebAssembly is run by wasmtime, which is missing.  Fix: pip install wasmtime"
            ) from error
        self._program = Program(checking)
        self._image = Image(self._program, function, args)
        self._result = self._program.entry(_ENTRY, function, self._image.kinds)
        self.module = self._program.wasm()
        engine = wasmtime.Engine()
        self._store = wasmtime.Store(engine)
        instance = wasmtime.Instance(self._store, wasmtime.Module(engine, self.module.data), [])
        self._exports: Any = instance.exports(self._store)
        self._image.place(self._allocate)
        self._arena = self._allocate(8 * SLOTS)
        self._chunk = self._allocate(_CHUNK)
        self._io = self._allocate(8 * (1 + len(self._image.slots()) + len(parts_of(self._result))))

    def _allocate(self, size: int) -> int:
        address = self._exports["dalembert_malloc"](self._store, size)
        if address == 0:
            raise MemoryError(f"WebAssembly has no {size} bytes left")
        return address & 0xFFFFFFFF

    def _write(self, address: int, data: bytes) -> None:
        self._exports["memory"].write(self._store, data, address)

    def _read(self, address: int, size: int) -> Any:
        return self._exports["memory"].read(self._store, address, address + size)

    def _write_slots(self, address: int, slots: list[int]) -> None:
        self._write(address, struct.pack(f"<{len(slots)}q", *slots))

    def __call__(self) -> Any:
        """Run it with the arguments as they are now; what it changes is changed in them."""
        slots = [self._arena, *self._image.slots()]
        results = len(parts_of(self._result))
        self._image.copy_in(self._write, self.module.table)
        self._write_slots(self._arena, [self._chunk, self._chunk + _CHUNK, 0, 0])
        self._write_slots(self._io, slots + [0] * results)
        self._exports[_ENTRY](self._store, self._io)
        self._image.copy_back(self._read)
        state = struct.unpack(f"<{SLOTS}q", self._read(self._arena, 8 * SLOTS))
        if state[FAULT]:
            raise CompileError(self._program.faults.get(state[FAULT], "a native function went wrong"))
        count = len(slots) + results
        io = list(struct.unpack(f"<{count}q", self._read(self._io, 8 * count)))
        for k, part in enumerate(parts_of(self._result)):
            if part == "ptr":
                # The upper half of a pointer's slot is not written.
                io[len(slots) + k] &= 0xFFFFFFFF
        return taken(self._result, io, len(slots), self._read)[0]
