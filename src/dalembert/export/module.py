"""A native function as a WebAssembly module with its memory: everything that its records refer to, in place.

Whoever runs it loads the module, makes room, copies the memory to ``base``, and calls ``run(io)``. To run it again, the
memory is copied again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.native.arena import SLOTS
from dalembert.native.function import Native
from dalembert.native.image import Image
from dalembert.native.records import Record
from dalembert.native.targets import Program
from dalembert.native.types import parts_of

__all__ = ["Packed", "pack"]

ENTRY = "run"
CHUNK = 1 << 20  # bytes of the arena's first chunk
_PAGE = 64  # bytes to which everything is aligned


@dataclass(frozen=True)
class Packed:
    """A module and its memory.

    Attributes:
        wasm: the module, which imports nothing.
        memory: what is copied to ``base`` before each run.
        room: bytes from ``base`` on that belong to it.
        io: address that ``run`` takes; ``result``: of the number that it returns.
        address: gives the address of an array or a record there.
    """

    wasm: bytes
    memory: bytes
    base: int
    room: int
    io: int
    result: int
    address: Callable[[Any], int]


def pack(function: Native, *args: Any, kept: Sequence[Record] = ()) -> Packed:
    """A module with a function and its arguments; ``kept``: records that may be put into fields of others later."""
    program = Program()
    image = Image(program, function, args, kept)
    kind = program.entry(ENTRY, function, image.kinds)
    module = program.wasm()
    base = end = -(-module.heap // _PAGE) * _PAGE

    def allocate(size: int) -> int:
        nonlocal end
        at, end = end, -(-(end + size) // _PAGE) * _PAGE
        return at

    image.place(allocate)
    arena, count = allocate(8 * SLOTS), len(image.slots())
    io = allocate(8 * (1 + count + len(parts_of(kind))))
    chunk = end
    memory = bytearray(end - base)

    def write(address: int, data: bytes) -> None:
        memory[address - base : address - base + len(data)] = data

    image.copy_in(write, module.table)
    write(arena, struct.pack(f"<{SLOTS}q", chunk, chunk + CHUNK, 0, 0))
    write(io, struct.pack(f"<{1 + count}q", arena, *image.slots()))

    def address(value: Any) -> int:
        return image.there(value.ctypes.data if hasattr(value, "ctypes") else value.address)

    return Packed(module.data, bytes(memory), base, end + CHUNK - base, io, io + 8 * (1 + count), address)
