"""Run a native function as machine code and as plain Python on equal arguments, and compare what they leave behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.native import Native, plain

__all__ = ["ROUNDING", "agree", "equal"]

# A few units in the last place: what transcendental functions, powers and sums of NumPy and of ours may differ by.
ROUNDING = 1e-15


def equal(a: Any, b: Any, rounding: float = 0.0) -> bool:
    """The same numbers, to the bit unless ``rounding`` is given; NaN equals NaN, 0.0 differs from -0.0."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return (
            isinstance(a, tuple) and len(a) == len(b) and all(equal(x, y, rounding) for x, y in zip(a, b, strict=True))
        )
    if a is None or b is None:
        return a is b
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype.kind != y.dtype.kind:
        return False
    if x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    if rounding:
        return np.allclose(x, y, rtol=4 * rounding, atol=rounding, equal_nan=True)
    numbers = [np.ascontiguousarray(z).reshape(-1).view(np.float64) for z in (x, y)]
    signs = [np.signbit(z) & ~np.isnan(z) for z in numbers]
    return np.array_equal(*numbers, equal_nan=True) and np.array_equal(*signs)


def _copied(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        if not arg.flags.c_contiguous:
            # Arrays with gaps, or backwards, stay what they are.
            room = np.full([2 * n for n in arg.shape], 7, dtype=arg.dtype)
            steps = [2 if stride > 0 else -2 for stride in arg.strides]
            view = room[tuple(slice(None, None, step) for step in steps)]
            view[...] = arg
            return view
        return arg.copy()
    if isinstance(arg, tuple):
        items = [_copied(item) for item in arg]
        return type(arg)(*items) if hasattr(arg, "_fields") else tuple(items)
    return arg


def agree(function: Native, *args: Any, rounding: float = 0.0) -> Any:
    """Both ways give the same result and change their arguments alike; returns the result."""
    mine, python = _copied(args), _copied(args)
    found = function(*mine)
    with plain(), np.errstate(all="ignore"):
        wanted = function(*python)
    assert equal(found, wanted, rounding), f"{function.key}{args}: compiled {found!r}, Python {wanted!r}"
    assert equal(mine, python, rounding), f"{function.key}: leaves {mine!r}, Python {python!r}"
    return found
