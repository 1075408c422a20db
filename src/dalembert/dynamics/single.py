"""One state at a time from Python, with as little in between as possible."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba import njit

from dalembert.codegen import Kernel, call_kernel

__all__ = ["SingleState"]

_FLOAT = np.dtype(np.float64)
_UNIT = (8,)


@njit(cache=True, nogil=True)
def _evaluate(address, inp, work, gap, q, u, force, out):
    """Put q, u and force in their places, jump over the parameters, and call."""
    at = 1
    for i in range(q.shape[0]):
        inp[at + i] = q[i]
    at += q.shape[0]
    for i in range(u.shape[0]):
        inp[at + i] = u[i]
    at += u.shape[0] + gap
    for i in range(force.shape[0]):
        inp[at + i] = force[i]
    call_kernel(address, inp, out, work)


class SingleState(threading.local):
    """A kernel with inputs (t, q, u, p, force) and one output, at t = 0 and nominal parameters.

    Calling it costs about a microsecond; arrays that do not fit as they are get None, and take the general way.
    """

    def __init__(self, kernel: Kernel, nq: int, nv: int, parameters: np.ndarray):
        self._q, self._v, self._gap = (nq,), (nv,), len(parameters)
        self._n_out = kernel.n_out
        self._address = kernel.address
        self._kernel = kernel
        self._inp = np.zeros(kernel.n_in)
        self._inp[1 + nq + nv : 1 + nq + nv + len(parameters)] = parameters
        self._work = np.zeros(max(1, kernel.n_work))

    def __call__(self, q: Any, u: Any, force: Any) -> np.ndarray | None:
        # A non-array has no strides; the layouts of three plain vectors are told by dtype, shape and stride.
        try:
            fits = (
                q.shape == self._q and u.shape == self._v and force.shape == self._v
                and q.dtype is _FLOAT and u.dtype is _FLOAT and force.dtype is _FLOAT
                and q.strides == u.strides == force.strides == _UNIT
            )  # fmt: skip
        except AttributeError:
            fits = False
        if not fits:
            return None
        out = np.empty(self._n_out)
        _evaluate(self._address, self._inp, self._work, self._gap, q, u, force, out)
        return out
