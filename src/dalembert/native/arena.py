"""Memory of native functions: an arena, from which arrays are taken in order and given back in reverse order.

An arena is a block of 8-byte slots, on every target alike:

    cursor    where the next array begins
    limit     end of the present chunk
    chunk     newest chunk that was asked for from the system; it begins with the one before
    fault     in checking mode: number of the first expression that went wrong

The first chunk belongs to the caller. A function that returns no array gives back what it took when it returns, a loop
after each turn.
"""

from __future__ import annotations

import ctypes
import threading

import numpy as np

__all__ = ["ALLOCATE", "FAULT", "GROW", "RELEASE", "SLOTS", "Arena", "arena"]

SLOTS = 4
FAULT = 3

# Bytes of the first chunk of a thread's arena, and the least that is asked for later.
_FIRST, _CHUNK = 1 << 20, 1 << 18
_PAINT = 0xA7

# Inlined where it is used.
ALLOCATE = """
define internal ptr @allocate(ptr %arena, i64 %n) alwaysinline {
  %up = add i64 %n, 15
  %bytes = and i64 %up, -16
  %p = load ptr, ptr %arena
  %l = getelementptr i8, ptr %arena, i64 8
  %limit = load ptr, ptr %l
  %q = getelementptr i8, ptr %p, i64 %bytes
  %fits = icmp ule ptr %q, %limit
  br i1 %fits, label %fast, label %slow
fast:
  store ptr %q, ptr %arena
  ret ptr %p
slow:
  %g = call ptr @dalembert_grow(ptr %arena, i64 %bytes)
  ret ptr %g
}
declare ptr @dalembert_grow(ptr, i64)
"""

RELEASE = """
define internal void @release(ptr %arena, ptr %cursor, ptr %limit, ptr %chunk) alwaysinline {
  store ptr %cursor, ptr %arena
  %c = getelementptr i8, ptr %arena, i64 16
  %now = load ptr, ptr %c
  %same = icmp eq ptr %now, %chunk
  br i1 %same, label %out, label %more
more:
  call void @dalembert_shrink(ptr %arena, ptr %limit, ptr %chunk)
  br label %out
out:
  ret void
}
declare void @dalembert_shrink(ptr, ptr, ptr)
"""

# One unit of its own, shared by all.
GROW = f"""
declare ptr @dalembert_malloc(i64)
declare void @dalembert_free(ptr)
declare void @llvm.trap()
define ptr @dalembert_grow(ptr %arena, i64 %bytes) #0 {{
  %need = add i64 %bytes, 128
  %small = icmp ult i64 %need, {_CHUNK}
  %size = select i1 %small, i64 {_CHUNK}, i64 %need
  %chunk = call ptr @dalembert_malloc(i64 %size)
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %fail, label %go
fail:
  call void @llvm.trap()
  unreachable
go:
  %c = getelementptr i8, ptr %arena, i64 16
  %old = load ptr, ptr %c
  store ptr %old, ptr %chunk
  store ptr %chunk, ptr %c
  %start = getelementptr i8, ptr %chunk, i64 64
  %next = getelementptr i8, ptr %start, i64 %bytes
  store ptr %next, ptr %arena
  %end = getelementptr i8, ptr %chunk, i64 %size
  %l = getelementptr i8, ptr %arena, i64 8
  store ptr %end, ptr %l
  ret ptr %start
}}
define void @dalembert_shrink(ptr %arena, ptr %limit, ptr %to) #0 {{
  %c = getelementptr i8, ptr %arena, i64 16
  %l = getelementptr i8, ptr %arena, i64 8
  store ptr %limit, ptr %l
  br label %loop
loop:
  %chunk = load ptr, ptr %c
  %done = icmp eq ptr %chunk, %to
  br i1 %done, label %out, label %more
more:
  %before = load ptr, ptr %chunk
  store ptr %before, ptr %c
  call void @dalembert_free(ptr %chunk)
  br label %loop
out:
  ret void
}}
"""


class Arena(threading.local):
    """The arena of a thread that calls native functions from Python."""

    def __init__(self) -> None:
        self._memory = np.empty(_FIRST, dtype=np.uint8)
        start = -(-self._memory.ctypes.data // 64) * 64
        self._first = (start, self._memory.ctypes.data + _FIRST)
        self.slots = (ctypes.c_int64 * SLOTS)(*self._first)
        self.address = ctypes.addressof(self.slots)

    def paint(self) -> None:
        """Make the memory tell what is used of it from now on."""
        self._memory[:] = _PAINT

    def used(self) -> int:
        """Bytes that were written since it was painted."""
        written = np.flatnonzero(self._memory != _PAINT)
        return int(written[-1]) + 1 if len(written) else 0

    @property
    def fault(self) -> int:
        """Number of the fault of the last call, in checking mode."""
        return self.slots[FAULT]

    def reset(self, free: int) -> None:
        """Give everything back after a call; ``free`` is the address of the C library's function."""
        slots = self.slots
        chunk = slots[2]
        while chunk:
            before = ctypes.c_void_p.from_address(chunk).value or 0
            _free(free)(chunk)
            chunk = before
        slots[0], slots[1] = self._first
        slots[2] = slots[FAULT] = 0


def _free(address: int):
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


arena = Arena()
