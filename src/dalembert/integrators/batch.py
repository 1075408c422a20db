"""Explicit methods with fixed steps for many states at once, in the lanes of vector registers.

States are y = (q, W, u): the order in which a kernel of (t, q, u, p, τ) gives their rates (q̇, power, u̇). A block holds
``y[group, i*width + lane]``, so that one pass over a kernel's instructions moves ``width`` samples; a block stays in
the cache while it goes through all its steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalembert.codegen import Kernel
from dalembert.integrators.base import Integrator, Monitor
from dalembert.integrators.runge_kutta import FixedStep
from dalembert.native import BatchKernel, Int, Matrix, Real, Record, Vector, native, vectorized

__all__ = ["Lanes"]

# Doubles in a block: 128 KiB stay in the second-level cache.
_BLOCK = 16384


class Block(Record):
    """Samples that go through time together, and the method that moves them.

    Attributes:
        n: numbers of a state; ``n_in``, ``n_moving``: of the inputs of both kernels.
        below: the entries a_i of stage i, which uses the stage before it only; ``weights``: of all stages.
        kernel, move: as in ``Lanes``, with their inputs in ``inp`` and ``moving``.
    """

    groups, width, nq, n, n_in, n_moving, stages = 7 * Int()
    step = Real()
    below, weights = 2 * Vector("stages")
    inp = Matrix("groups", "n_in * width")
    moving = Matrix("groups", "n_moving * width")
    y = Matrix("groups", "n * width")
    kernel, move = 2 * BatchKernel()


@native
def _pack(states: np.ndarray, block: np.ndarray, first: int, width: int):
    """Columns of states to rows ``first``, ``first`` + 1 … of a block; spare lanes repeat the last state."""
    n, size = states.shape
    for g in range(block.shape[0]):
        for lane in range(width):
            row = min(g * width + lane, n - 1)
            for i in range(size):
                block[g, (first + i) * width + lane] = states[row, i]


@vectorized
def _rates(b: Block, along: np.ndarray, factor: float, t: float, k: np.ndarray):
    """k becomes the rates at y + factor · along."""
    y, inp, width = b.y, b.inp, b.width
    for g in range(b.groups):
        for j in range(width):
            inp[g, j] = t
        for j in range(b.nq * width):
            inp[g, width + j] = y[g, j] + factor * along[g, j]
        for j in range((b.nq + 1) * width, y.shape[1]):
            inp[g, j] = y[g, j] + factor * along[g, j]
    b.kernel(inp, k, b.groups)


@native
def _write(b: Block, k: np.ndarray, index: int, out: np.ndarray, written: np.ndarray):
    """Samples that are still going write their output; one that is not finite any more ends here, with NaN."""
    y, nq, n, width = b.y, b.nq, b.n, b.width
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


@vectorized
def _normalize(b: Block, moved: np.ndarray):
    """q back onto its manifold, by moving nowhere."""
    y, moving, count = b.y, b.moving, b.nq * b.width
    moving[:, :count] = y[:, :count]
    b.move(moving, moved, b.groups)
    y[:, :count] = moved


@vectorized
def _step(b: Block, t: float, h: float, k: np.ndarray, total: np.ndarray):
    """y after a step from t, with the rates k at its start."""
    y, first = b.y, b.weights[0]
    for g in range(b.groups):
        for j in range(y.shape[1]):
            total[g, j] = first * k[g, j]
    for s in range(1, b.stages):
        below, weight = b.below[s], b.weights[s]
        _rates(b, k, h * below, t + below * h, k)
        for g in range(b.groups):
            for j in range(y.shape[1]):
                total[g, j] += weight * k[g, j]
    for g in range(b.groups):
        for j in range(y.shape[1]):
            y[g, j] += h * total[g, j]


@native
def _march(b: Block, times: np.ndarray, out: np.ndarray, written: np.ndarray, monitor: Monitor):
    """All outputs of one block."""
    k, total, moved = np.empty_like(b.y), np.empty_like(b.y), np.empty((b.groups, b.nq * b.width))
    _rates(b, b.y, 0.0, times[0], k)
    _write(b, k, 0, out, written)
    for index in range(1, len(times)):
        span = times[index] - times[index - 1]
        count = max(1, math.ceil(span / b.step - 1e-9))
        h = span / count
        for i in range(count):
            if monitor.request != 0:
                return
            t = times[index - 1] + i * h
            _step(b, t, h, k, total)
            if b.move:
                _normalize(b, moved)
            _rates(b, b.y, 0.0, times[index] if i == count - 1 else t + h, k)
        _write(b, k, index, out, written)
        monitor.reached = times[index]


@dataclass(frozen=True)
class Lanes:
    """Samples of one system without constraints, as a method with fixed steps takes them.

    Args:
        kernel: (t, q, u, p, τ) to (q̇, power, u̇).
        move: (q, δ, p) to q moved along δ and normalized; None if q needs no care.
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
        monitor: Monitor,
    ) -> None:
        """Take one block of samples through all times.

        Args:
            start: (q, u) of each sample.
            parameters: p of each sample.
            out: (q, u, W) for each sample and time.
            written: becomes the number of outputs of each sample before it failed or was stopped.
            monitor: shows the time reached, and is asked whether to stop.
        """
        width, nq, nv = self.kernel.width, self.nq, self.nv
        block = Block(
            groups=-(-len(start) // width), width=width, nq=nq, n=nq + nv + 1, n_in=self.kernel.n_in,
            n_moving=0 if self.move is None else self.move.n_in, stages=len(method.weights), step=method.step,
            below=np.append(0.0, np.diag(method.stages, -1)), weights=method.weights, kernel=self.kernel,
            move=self.move,
        )  # fmt: skip
        _pack(np.ascontiguousarray(start[:, :nq]), block.y, 0, width)
        _pack(np.ascontiguousarray(start[:, nq:]), block.y, nq + 1, width)
        _pack(parameters, block.inp, 1 + nq + nv, width)
        if self.move is not None:
            _pack(parameters, block.moving, nq + nv, width)
        _march(block, times, out, written, monitor)
