"""Compiled expression graphs in fields of records, as plain Python calls them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = ["BatchCalled", "Called", "InPlace"]

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_BATCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class Called:
    """A kernel as plain Python calls it."""

    def __init__(self, kernel: Any, memory: np.ndarray):
        self.kernel, self.memory = kernel, memory

    def __call__(self, *args: Any) -> np.ndarray:
        n, m, at = self.kernel.n_in, self.kernel.n_out, 0
        for arg in args:
            given = np.atleast_1d(np.asarray(arg, dtype=float))
            self.memory[at : at + len(given)] = given
            at += len(given)
        if at != n:
            raise TypeError(f"kernel '{self.kernel.name}' takes {n} numbers, got {at}")
        start = self.memory.ctypes.data
        _KERNEL(self.kernel.address)(start, start + 8 * n, start + 8 * (n + m))
        return self.outputs

    @property
    def outputs(self) -> np.ndarray:
        """What the last call gave."""
        return self.memory[self.kernel.n_in : self.kernel.n_in + self.kernel.n_out]


class InPlace:
    """A kernel that works in place, as plain Python runs it."""

    def __init__(self, kernel: Any):
        self.kernel, self._function = kernel, _KERNEL(kernel.address)

    def run(self, inputs: np.ndarray, outputs: np.ndarray) -> None:
        for array, n, what in ((inputs, self.kernel.n_in, "inputs"), (outputs, self.kernel.n_out, "outputs")):
            if len(array) < n or array.dtype != np.float64 or array.strides != (8,):
                raise TypeError(f"kernel '{self.kernel.name}' needs room for {n} {what} in a row, got {array.shape}")
        scratch = np.empty(max(1, self.kernel.n_work))
        self._function(inputs.ctypes.data, outputs.ctypes.data, scratch.ctypes.data)


class BatchCalled:
    """A batch kernel as plain Python calls it."""

    def __init__(self, kernel: Any, work: np.ndarray):
        self.kernel, self.work, self._function = kernel, work, _BATCH(kernel.batch_address)

    def __call__(self, inp: np.ndarray, out: np.ndarray, groups: int) -> None:
        width = self.kernel.width * groups
        if inp.size < self.kernel.n_in * width or out.size < self.kernel.n_out * width:
            raise TypeError(f"kernel '{self.kernel.name}': too few inputs or outputs for {groups} groups")
        self._function(inp.ctypes.data, out.ctypes.data, self.work.ctypes.data, groups)
