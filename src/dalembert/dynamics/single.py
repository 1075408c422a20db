"""One state at a time from Python, with as little in between as possible."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from dalembert.codegen import Kernel

__all__ = ["SingleState"]

_FLOAT = np.dtype(np.float64)

# Arguments are pointers that are made once: without declared types nothing is converted at a call.
_CALL = ctypes.CFUNCTYPE(None)


class SingleState(threading.local):
    """A kernel with inputs (t, q, u, p, force) and one output, at t = 0 and nominal parameters.

    Calling it costs about a microsecond; arrays that do not fit as they are get None, and take the general way.
    """

    def __init__(self, kernel: Kernel, nq: int, nv: int, parameters: np.ndarray):
        at = 1 + nq + nv
        inputs, outputs, scratch = np.zeros(kernel.n_in), np.zeros(kernel.n_out), np.zeros(max(1, kernel.n_work))
        inputs[at : at + len(parameters)] = parameters
        pointers = [ctypes.byref(ctypes.c_double.from_address(part.ctypes.data)) for part in (inputs, outputs, scratch)]
        places = inputs[1 : 1 + nq], inputs[1 + nq : at], inputs[at + len(parameters) :]
        # One attribute for all: those of a thread are found slowly.
        self._parts = (nq,), (nv,), places, _CALL(kernel.address), pointers, outputs
        self._alive = kernel, inputs, scratch

    def __call__(self, q: Any, u: Any, force: Any) -> np.ndarray | None:
        nq, nv, places, call, pointers, outputs = self._parts
        try:
            fits = (
                q.shape == nq and u.shape == nv and force.shape == nv
                and q.dtype is _FLOAT and u.dtype is _FLOAT and force.dtype is _FLOAT
            )  # fmt: skip
        except AttributeError:
            fits = False
        if not fits:
            return None
        to_q, to_u, to_force = places
        to_q[...] = q
        to_u[...] = u
        to_force[...] = force
        call(*pointers)
        return outputs.copy()
