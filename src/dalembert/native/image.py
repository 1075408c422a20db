"""The memory that a call needs, as it looks on another target: records, arrays and kernels, wherever they refer to.

Everything that the arguments of a call refer to is found by walking through the fields of records. Pieces of memory
that overlap stay together, so views of one array stay views of one array. Pointers are replaced by what they are there:
an address, or for functions and kernels a number in the function table.
"""

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.native.function import Native, kind_of, put
from dalembert.native.records import SLOTS_OF_KERNEL, BatchKernel, Kernel, Kernels, Outputs, Record, Ref
from dalembert.native.targets import Program
from dalembert.native.types import Array, Closure, Pointer, parts_of
from dalembert.values import ARRAY, TUPLE

__all__ = ["Image"]

# Pieces of memory keep their place within so many bytes.
_ALIGNMENT = 64


@dataclass
class _Block:
    """A piece of this process's memory, and where it is there.

    Attributes:
        found: as which piece, counted from 0.
        scratch: nobody reads what it holds between two calls.
    """

    start: int
    stop: int
    written: bool
    found: int
    scratch: bool
    there: int = 0


class Image:
    """The arguments of a call of a native function, and all that they refer to.

    Args:
        program: gets the functions and kernels that records refer to.
        args: the arguments.
        kept: further records, to which nothing refers yet.
    """

    def __init__(self, program: Program, function: Native, args: tuple[Any, ...], kept: Sequence[Record] = ()):
        self._program, self._args = program, args
        self.kinds = tuple(kind_of(arg) for arg in args)
        self._name = function.key
        self._blocks: list[_Block] = []
        self._seen: set[int] = set()
        self._empty: set[int] = {0}
        # Slots that hold an address: their place, and what they refer to, here; or the name of a function.
        self._pointers: dict[int, int | str] = {}
        for arg in (*args, *kept):
            self._walk(arg)
        self._merge()

    # -- what there is ------------------------------------------------------------------------------------------------

    def _walk(self, value: Any) -> None:
        if isinstance(value, ARRAY):
            self._memory(value)
        elif isinstance(value, Record):
            self._record(value)
        elif isinstance(value, (*TUPLE, Outputs)):
            for item in value:
                self._walk(item)

    def _memory(self, array: np.ndarray, scratch: bool = False) -> None:
        start = array.__array_interface__["data"][0]
        if array.size == 0:
            self._empty.add(start)
            return
        reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
        low, high = sum(min(0, x) for x in reach), sum(max(0, x) for x in reach)
        stop, writeable = start + high + array.itemsize, array.flags.writeable
        self._blocks.append(_Block(start + low, stop, writeable, len(self._blocks), scratch))

    def _record(self, record: Record) -> None:
        if id(record) in self._seen:
            return
        self._seen.add(id(record))
        self._memory(record.slot_words)
        for name, item in record.fields.items():
            kept, place = record.kept_values.get(name), record.address + 8 * record.slot_of[name]
            if kept is None:
                continue
            if isinstance(item.kind, Array):
                self._memory(kept)
                self._pointers[place] = kept.ctypes.data
            elif isinstance(item, Ref):
                self._record(kept)
                self._pointers[place] = kept.address
            elif isinstance(item.kind, Closure):
                kinds = (Pointer(type(kept.record)), *item.kind.arguments)
                self._pointers[place] = self._program.function(kept.function, kinds)
                self._pointers[place + 8] = kept.record.address
                self._record(kept.record)
            elif isinstance(item, Kernel):
                self._pointers[place] = self._program.kernel(kept.kernel)
                self._pointers[place + 8 * (SLOTS_OF_KERNEL - 1)] = kept.memory.ctypes.data
                self._memory(kept.memory, scratch=True)
            elif isinstance(item, Kernels):
                self._row_of_kernels(place, kept)
            elif isinstance(item, BatchKernel):
                raise CompileError(
                    f"{type(record).__name__}.{name}: batch kernels are made for the vectors of this machine.  "
                    f"Fix: one state at a time on other targets"
                )

    def _row_of_kernels(self, place: int, row: Any) -> None:
        table = row.table
        self._memory(table)
        self._pointers[place] = table.ctypes.data
        for k, kernel in enumerate(row):
            if kernel is not None:
                self._pointers[table.ctypes.data + 8 * SLOTS_OF_KERNEL * k] = self._program.kernel(kernel.kernel)

    def _merge(self) -> None:
        """Pieces that overlap are one."""
        merged: list[_Block] = []
        for block in sorted(self._blocks, key=lambda block: block.start):
            if merged and block.start < merged[-1].stop:
                merged[-1].stop = max(merged[-1].stop, block.stop)
                merged[-1].written = merged[-1].written or block.written
                merged[-1].scratch = merged[-1].scratch and block.scratch
                merged[-1].found = min(merged[-1].found, block.found)
            else:
                merged.append(block)
        self._blocks = merged
        self._starts = [block.start for block in merged]

    # -- there --------------------------------------------------------------------------------------------------------

    def place(self, allocate: Callable[[int], int]) -> None:
        """Find room for everything, by a function that gives the address of so many bytes.

        They are put by size, then in the order of the fields: an image does not depend on where things lie here, and
        what is alike lies together, which packs well.
        """
        for block in sorted(self._blocks, key=lambda block: (block.stop - block.start, block.found)):
            lead = block.start % _ALIGNMENT
            room = allocate(block.stop - block.start + lead + _ALIGNMENT)
            block.there = -(-room // _ALIGNMENT) * _ALIGNMENT + lead

    def there(self, address: int) -> int:
        """What an address of this process is there."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at >= 0 and address < self._blocks[at].stop:
            return self._blocks[at].there + address - self._blocks[at].start
        if address not in self._empty:
            raise CompileError("a pointer in a record refers to memory that belongs to none of its fields")
        return 0

    def links(self) -> list[tuple[int, int]]:
        """Where addresses of data lie there, and what they are there; without those of nothing."""
        found = [
            (self.there(place), self.there(what)) for place, what in self._pointers.items() if isinstance(what, int)
        ]
        return [(place, what) for place, what in found if what]

    def calls(self, numbers: dict[str, int]) -> list[tuple[int, int]]:
        """Where functions are referred to there, and their numbers."""
        return [(self.there(place), numbers[what]) for place, what in self._pointers.items() if isinstance(what, str)]

    def copy_in(self, write: Callable[[int, bytes], None], numbers: dict[str, int]) -> None:
        """Write everything as it is now; ``numbers``: of the functions, by name."""
        for block in self._blocks:
            if not block.scratch:
                write(block.there, ctypes.string_at(block.start, block.stop - block.start))
        for place, what in self._pointers.items():
            value = numbers[what] if isinstance(what, str) else self.there(what)
            write(self.there(place), value.to_bytes(8, "little"))

    def copy_back(self, read: Callable[[int, int], Any]) -> None:
        """Take over what native code has changed there; pointers stay what they are here."""
        kept = {place: ctypes.string_at(place, 8) for place in self._pointers}
        for block in self._blocks:
            if block.written:
                size = block.stop - block.start
                ctypes.memmove(block.start, bytes(read(block.there, size)), size)
        for place, content in kept.items():
            ctypes.memmove(place, content, 8)

    def slots(self) -> list[int]:
        """The arguments as the entry of the function wants them, behind the arena."""
        slots: list[int] = []
        for arg in self._args:
            put(self._name, arg, slots, [])
        parts = [part for kind in self.kinds for part in parts_of(kind)]
        return [self.there(slot) if part == "ptr" else slot for slot, part in zip(slots, parts, strict=True)]
