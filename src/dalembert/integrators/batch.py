"""Explicit methods with fixed steps for many states at once, in the lanes of vector registers.

States are y = (q, W, u): the order in which a kernel of (t, q, u, p, τ) gives their rates (q̇, power, u̇). A block holds
``y[group, i*width + lane]``, so that one pass over a kernel's instructions moves ``width`` samples; a block stays in
the cache while it goes through all its steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from dalembert.codegen import Kernel, call_batch
from dalembert.integrators.base import Integrator
from dalembert.integrators.explicit import FixedStep

__all__ = ["Lanes"]

# Doubles in a block: 128 KiB stay in the second-level cache.
_BLOCK = 16384


@njit(cache=True, nogil=True)
def _pack(states, block, first, width):
    """Columns of states to rows ``first``, ``first`` + 1 … of a block; spare lanes repeat the last state."""
    n, size = states.shape
    for g in range(block.shape[0]):
        for lane in range(width):
            row = min(g * width + lane, n - 1)
            for i in range(size):
                block[g, (first + i) * width + lane] = states[row, i]


@njit(cache=True, nogil=True)
def _stage(inp, y, k, factor, t, nq, width):
    """The kernel's input at y + factor k."""
    u = (nq + 1) * width
    for g in range(y.shape[0]):
        for j in range(width):
            inp[g, j] = t
        for j in range(nq * width):
            inp[g, width + j] = y[g, j] + factor * k[g, j]
        for j in range(u, y.shape[1]):
            inp[g, j] = y[g, j] + factor * k[g, j]


@njit(cache=True, nogil=True)
def _write(y, k, index, out, written, nq, width):
    """Samples that are still going write their output; one that is not finite any more ends here, with NaN."""
    n = y.shape[1] // width
    for s in range(out.shape[0]):
        if written[s] != index:
            continue
        g, lane = s // width, s % width
        finite = True
        for i in range(n):
            finite = finite and np.isfinite(y[g, i * width + lane]) and np.isfinite(k[g, i * width + lane])
        if not finite:
            out[s, index:] = np.nan
            continue
        written[s] = index + 1
        for i in range(nq):
            out[s, index, i] = y[g, i * width + lane]
        for i in range(nq + 1, n):
            out[s, index, i - 1] = y[g, i * width + lane]
        out[s, index, n - 1] = y[g, nq * width + lane]


@njit(cache=True, nogil=True)
def _normalise(move, y, inp, out, work, nq, width):
    """q back onto its manifold, by moving nowhere."""
    for g in range(y.shape[0]):
        for j in range(nq * width):
            inp[g, j] = y[g, j]
    call_batch(move, inp, out, work, y.shape[0])
    for g in range(y.shape[0]):
        for j in range(nq * width):
            y[g, j] = out[g, j]


@njit(cache=True, nogil=True)
def _march(kernel, move, width, nq, inp, moving, work, below, weights, times, step, y, out, written, monitor):
    """All outputs of one block. ``below``: the entries a_i of stage i, which uses the stage before it only."""
    groups, stages = y.shape[0], weights.shape[0]
    k, total = np.empty_like(y), np.empty_like(y)
    moved = np.empty((groups, nq * width))
    _stage(inp, y, y, 0.0, times[0], nq, width)
    call_batch(kernel, inp, k, work, groups)
    _write(y, k, 0, out, written, nq, width)
    for index in range(1, times.shape[0]):
        span = times[index] - times[index - 1]
        count = max(1, math.ceil(span / step - 1e-9))
        h = span / count
        for i in range(count):
            if monitor[1] != 0.0:
                return
            t = times[index - 1] + i * h
            for g in range(groups):
                for j in range(y.shape[1]):
                    total[g, j] = weights[0] * k[g, j]
            for s in range(1, stages):
                _stage(inp, y, k, h * below[s], t + below[s] * h, nq, width)
                call_batch(kernel, inp, k, work, groups)
                for g in range(groups):
                    for j in range(y.shape[1]):
                        total[g, j] += weights[s] * k[g, j]
            for g in range(groups):
                for j in range(y.shape[1]):
                    y[g, j] += h * total[g, j]
            if move != 0:
                _normalise(move, y, moving, moved, work, nq, width)
            _stage(inp, y, y, 0.0, times[index] if i == count - 1 else t + h, nq, width)
            call_batch(kernel, inp, k, work, groups)
        _write(y, k, index, out, written, nq, width)
        monitor[0] = times[index]


@dataclass(frozen=True)
class Lanes:
    """Samples of one system without constraints, as a method with fixed steps takes them.

    Args:
        kernel: (t, q, u, p, τ) to (q̇, power, u̇).
        move: (q, δ, p) to q moved along δ and normalised; None if q needs no care.
    """

    kernel: Kernel
    move: Kernel | None
    nq: int
    nv: int

    @staticmethod
    def takes(method: Integrator, times: np.ndarray) -> bool:
        """True for methods with fixed steps whose stages use only the stage before."""
        if not isinstance(method, FixedStep):
            return False
        steps = np.ceil(np.diff(times) / method.step).sum()
        return bool(np.all(method.stages == np.diag(np.diag(method.stages, -1), -1))) and steps <= method.max_steps

    def samples_per_block(self, samples: int, threads: int) -> int:
        """As many as the cache holds, and no more than one thread's share."""
        width = self.kernel.width
        each = self.kernel.n_in + 4 * self.kernel.n_out
        groups = max(1, min(_BLOCK // (each * width), -(-samples // (width * threads))))
        return groups * width

    def run(
        self,
        method: FixedStep,
        start: np.ndarray,
        parameters: np.ndarray,
        times: np.ndarray,
        out: np.ndarray,
        written: np.ndarray,
        monitor: np.ndarray,
    ) -> None:
        """Take one block of samples through all times.

        Args:
            start: (q, u) of each sample.
            parameters: p of each sample.
            out: (q, u, W) for each sample and time.
            written: becomes the number of outputs of each sample before it failed or was stopped.
            monitor: two floats shared with the caller: [0] the time reached; [1] not zero to stop.
        """
        width, nq, nv = self.kernel.width, self.nq, self.nv
        groups = -(-len(start) // width)
        inp, y = np.zeros((groups, self.kernel.n_in * width)), np.zeros((groups, (nq + nv + 1) * width))
        _pack(np.ascontiguousarray(start[:, :nq]), y, 0, width)
        _pack(np.ascontiguousarray(start[:, nq:]), y, nq + 1, width)
        _pack(parameters, inp, 1 + nq + nv, width)
        moving, move, n_work = np.zeros((groups, 0)), 0, self.kernel.n_work_batch
        if self.move is not None:
            moving, move = np.zeros((groups, self.move.n_in * width)), self.move.batch_address
            _pack(parameters, moving, nq + nv, width)
            n_work = max(n_work, self.move.n_work_batch)
        below = np.append(0.0, np.diag(method.stages, -1))
        _march(
            self.kernel.batch_address, move, width, nq, inp, moving, np.zeros(n_work + 1), below, method.weights, times,
            method.step, y, out, written, monitor,
        )  # fmt: skip
