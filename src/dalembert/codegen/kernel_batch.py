"""Many states at once: plain arrays to groups of lanes and back, a block at a time, on several threads."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dalembert.codegen.kernel_build import Code
from dalembert.codegen.lanes import runner, streamed_rests
from dalembert.codegen.layout import Field
from dalembert.native.records import address_of

__all__ = ["aligned_arrays", "run_batch"]

_BATCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

# Doubles in the blocks of inputs and outputs: 256 KiB stay in the second-level cache.
_BLOCK = 32768
_ALIGNMENT = 64
# Bytes of a result from which on it goes past the caches: nobody would find all of it in the second-level cache.
_STREAMED = 1 << 21


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
    full, rest = divmod(n, width)
    n_in, n_out = sizes
    threads = max(1, min(threads, full))
    per_block = max(1, min(_BLOCK // max(1, (n_in + n_out) * width), -(-full // threads))) if width > 1 else 1
    shared = [(field, array) for field, array in inputs if array.ndim == 1]
    # Empty arrays have nothing to move.
    own = [(field, array) for field, array in inputs if array.ndim == 2 and field.size]
    results = [(field, array) for field, array in outputs if field.size]

    def work(thread: int) -> None:
        block = _Block(code, width, n_in, n_out, per_block)
        for field, array in shared:
            block.inp[:, field.start : field.stop, :] = array[:, None]
        block.run(own, results, *(full * k // threads for k in (thread, thread + 1)))
        if rest and thread == threads - 1:
            block.run_last(own, results, rest)

    if threads == 1:
        work(0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


class _Block:
    """Memory of one thread: ``inp[group, i, lane]``, ``out[group, i, lane]`` and the work vector."""

    def __init__(self, code: Code, width: int, n_in: int, n_out: int, groups: int):
        self.code, self.width = code, width
        self.inp, self.out, self.work = aligned_arrays([(groups, n_in, width), (groups, n_out, width), (code.n_work,)])
        self.pointers = tuple([address_of(array) for array in (self.inp, self.out, self.work)])

    def run(
        self, inputs: list[tuple[Field, np.ndarray]], outputs: list[tuple[Field, np.ndarray]], first: int, last: int
    ) -> None:
        """Evaluate the groups first, ..., last - 1, all of them full."""
        width = self.width
        moved = [(*pair, -1) for pair in inputs] + [(*pair, self._rest(*pair)) for pair in outputs]
        fields = np.array(
            [
                (address_of(array) + 8 * first * width * field.size, field.size, field.start * width, rest)
                for field, array, rest in moved
            ],
            dtype=np.int64,
        )
        strides = self.inp.strides[0] // 8, self.out.strides[0] // 8
        counts = len(inputs), len(fields), last - first, len(self.inp)
        # Kept while it runs: two threads that ask first make one each.
        loop = runner(width)
        loop.run(self.code.address, *self.pointers, *strides, address_of(fields), *counts)

    def _rest(self, field: Field, array: np.ndarray) -> int:
        """Length of a state modulo a vector for a result that is to go past the caches, -1 for others."""
        if array.nbytes < _STREAMED or field.size < 4 * self.width or address_of(array) % (8 * self.width):
            return -1
        rest = field.size % self.width
        return rest if rest in streamed_rests(self.width) else -1

    def run_last(
        self, inputs: list[tuple[Field, np.ndarray]], outputs: list[tuple[Field, np.ndarray]], rest: int
    ) -> None:
        """Evaluate the last states, which do not fill their group: spare lanes repeat the last one."""
        for field, array in inputs:
            group = self.inp[0, field.start : field.stop, :]
            group[:, :rest] = array[-rest:].T
            group[:, rest:] = array[-1][:, None]
        _BATCH(self.code.address)(*self.pointers, 1)
        for field, array in outputs:
            array[-rest:] = self.out[0, field.start : field.stop, :rest].T


def aligned_arrays(shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Arrays without values that begin on cache lines, in one block of memory: large blocks come in large pages."""
    if not shapes:
        return []
    line = _ALIGNMENT // 8
    sizes = [math.prod(shape) for shape in shapes]
    starts = list(itertools.accumulate((-(-size // line) * line for size in sizes), initial=0))
    raw = np.empty(starts[-1] + line)
    block = raw[(-address_of(raw) % _ALIGNMENT) // 8 :]
    return [
        block[start : start + size].reshape(shape) for start, size, shape in zip(starts, sizes, shapes, strict=False)
    ]
