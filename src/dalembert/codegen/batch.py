"""Many states at once: plain arrays to groups of lanes and back, a block at a time, on several threads."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dalembert.codegen.build import Code
from dalembert.codegen.lanes import mover
from dalembert.codegen.layout import Field

__all__ = ["run_batch"]

_BATCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_SINGLE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

# Doubles in the blocks of inputs and outputs: 256 KiB stay in the second-level cache.
_BLOCK = 32768
_ALIGNMENT = 64


def run_batch(
    code: Code,
    width: int,
    sizes: tuple[int, int],
    inputs: list[tuple[Field, np.ndarray]],
    outputs: list[tuple[Field, np.ndarray]],
    n: int,
    threads: int,
) -> None:
    """Evaluate n states.

    Args:
        code: the batch version, or the scalar version if ``width`` is 1.
        width: states per group.
        sizes: scalar inputs and scalar outputs per state.
        inputs: C-contiguous arrays (n, size), or (size,) for an input that all states share.
        outputs: C-contiguous arrays (n, size) that receive the results.
        n: number of states, at least 1.
        threads: number of threads; the compiled code runs without the interpreter's lock.
    """
    groups = -(-n // width)
    n_in, n_out = sizes
    threads = min(threads, groups)
    per_block = max(1, min(_BLOCK // max(1, (n_in + n_out) * width), -(-groups // threads)))
    starts = range(0, groups, per_block)
    shared = [(field, array) for field, array in inputs if array.ndim == 1]
    # Empty arrays have nothing to move; the address of the others is looked up once.
    own = [(f, array, array.ctypes.data) for f, array in inputs if array.ndim == 2 and f.size]
    results = [(f, array, array.ctypes.data) for f, array in outputs if f.size]

    def work(thread: int) -> None:
        block = _Block(code, width, n_in, n_out, per_block)
        for field, array in shared:
            block.inp[:, field.start : field.stop, :] = array[:, None]
        for first in starts[thread::threads]:
            begin, end = first * width, min(n, (first + per_block) * width)
            for field, array, address in own:
                block.pack(field, array, address, begin, end)
            block.run(-(-(end - begin) // width))
            for field, array, address in results:
                block.unpack(field, array, address, begin, end)

    if threads == 1:
        work(0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


class _Block:
    """Memory of one thread: ``inp[group, i, lane]``, ``out[group, i, lane]`` and the work vector."""

    def __init__(self, code: Code, width: int, n_in: int, n_out: int, groups: int):
        self.width = width
        self.inp = _aligned(groups, n_in, width)
        self.out = _aligned(groups, n_out, width)
        self.work = _aligned(1, code.n_work, 1)
        self.pointers = tuple(array.ctypes.data for array in (self.inp, self.out, self.work))
        self.function = (_SINGLE if width == 1 else _BATCH)(code.address)
        self.mover = mover(width)

    def run(self, groups: int) -> None:
        if self.width > 1:
            self.function(*self.pointers, groups)
            return
        inp, out, work = self.pointers
        for g in range(groups):
            self.function(inp + g * self.inp.strides[0], out + g * self.out.strides[0], work)

    def pack(self, field: Field, states: np.ndarray, address: int, begin: int, end: int) -> None:
        """states[begin + group*width + lane, i] -> inp[group, i, lane]; spare lanes repeat the last state."""
        width, size = self.width, field.size
        full, rest = divmod(end - begin, width)
        if full:
            target = self.pointers[0] + 8 * field.start * width
            self.mover.pack(address + 8 * begin * size, target, size, self.inp.strides[0] // 8, full)
        if rest:
            group = self.inp[full, field.start : field.stop, :]
            group[:, :rest] = states[end - rest : end].T
            group[:, rest:] = states[end - 1][:, None]

    def unpack(self, field: Field, states: np.ndarray, address: int, begin: int, end: int) -> None:
        """out[group, i, lane] -> states[begin + group*width + lane, i]."""
        width, size = self.width, field.size
        full, rest = divmod(end - begin, width)
        if full:
            source = self.pointers[1] + 8 * field.start * width
            self.mover.unpack(address + 8 * begin * size, source, size, self.out.strides[0] // 8, full)
        if rest:
            states[end - rest : end] = self.out[full, field.start : field.stop, :rest].T


def _aligned(groups: int, size: int, width: int) -> np.ndarray:
    """Zeros that begin on a cache line."""
    count = groups * size * width
    raw = np.zeros(count + _ALIGNMENT // 8)
    skip = (-raw.ctypes.data % _ALIGNMENT) // 8
    return raw[skip : skip + count].reshape(groups, size, width)
