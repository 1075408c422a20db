"""What formulations that integrate other variables y than x = (q, u, W) share, as native functions.

See ``formulations.base.Form``: it gives ẏ and leads from x to y and back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import carray, cfunc, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.dynamics.native import evaluate, workspace
from dalembert.numerics.layout import (
    CONSTRAINTS,
    DECODE,
    ENCODE,
    EVENT,
    FORM,
    FORM_RHS,
    HOLONOMIC,
    N_EVENTS,
    N_FORM,
    N_STATE,
    NP,
    NQ,
    NV,
    RETRACT,
    ROWS,
    TAU,
    VARYING,
    entries,
)  # fmt: skip
from dalembert.numerics.linear import OK
from dalembert.numerics.native import SIGNATURE, call_address, float_pointer, put

__all__ = ["function_address"]

# Steps of differences, of variables of size one.
NUDGE = 1.5e-8


@njit(cache=True, nogil=True)
def _closure(context, t, x, out):
    """φ, A u + b, A and M from (q, u)."""
    c = entries(context)
    nv, rows, holonomic = c[NV], c[ROWS], c[HOLONOMIC]
    inp, values, work = workspace(c)
    evaluate(c, c[CONSTRAINTS], t, x, inp, values, work)
    put(out, 0, values, 0, holonomic + rows + rows * nv + nv * nv)
    return OK


@njit(cache=True, nogil=True)
def _rates(context, t, x, out):
    """q̇, the power of forces without potential, and the blocks of the form, from (q, u)."""
    c = entries(context)
    inp, values, work = workspace(c)
    put(inp, 1 + c[NQ] + c[NV] + c[NP], float_pointer(c[TAU]), 0, c[NV])
    evaluate(c, c[FORM], t, x, inp, values, work)
    put(out, 0, values, 0, c[N_FORM])
    return OK


@njit(cache=True, nogil=True)
def _retract(context, t, y, quality):
    """y back onto its manifold, by way of x."""
    c = entries(context)
    x, state = np.empty(c[NQ] + c[NV] + 1), carray(y, 1)
    status = call_address(c[DECODE], context, t, state, x)
    if status == OK:
        status = call_address(c[RETRACT], context, t, x, carray(quality, 1))
    if status != OK:
        return status
    return call_address(c[ENCODE], context, t, x, state)


@njit(cache=True, nogil=True)
def _events(context, t, y, g):
    c = entries(context)
    x = np.empty(c[NQ] + c[NV] + 1)
    status = call_address(c[DECODE], context, t, carray(y, 1), x)
    if status != OK:
        return status
    inp, values, work = workspace(c)
    evaluate(c, c[EVENT], t, x, inp, values, work)
    put(g, 0, values, 0, c[N_EVENTS])
    return OK


@njit(cache=True, nogil=True)
def _jacobian(context, t, y, out):
    """∂ẏ/∂y by differences. n is the length of y: that of its varying part and of what it remembers."""
    c = entries(context)
    n, varying = c[N_STATE], c[VARYING]
    J, moved = carray(out, (n, n)), carray(y, n).copy()
    rate, other = np.empty(n), np.empty(n)
    J[:] = 0.0
    status = call_address(c[FORM_RHS], context, t, moved, rate)
    if status != OK:
        return status
    for j in range(varying):
        kept = moved[j]
        moved[j] = kept + NUDGE * max(1.0, abs(kept))
        step = moved[j] - kept
        status = call_address(c[FORM_RHS], context, t, moved, other)
        if status != OK:
            return status
        moved[j] = kept
        for i in range(n):
            J[i, j] = (other[i] - rate[i]) / step
    return OK


_FUNCTIONS = {
    "closure": _closure, "rates": _rates, "retract": _retract, "events": _events, "jacobian": _jacobian,
}  # fmt: skip


@lru_cache
def _native(name: str) -> Any:
    return cfunc(SIGNATURE, cache=True)(_FUNCTIONS[name].py_func)


def function_address(name: str) -> int:
    """The address of one of the functions, compiled at its first use."""
    return _native(name).address
