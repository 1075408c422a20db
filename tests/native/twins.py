"""Every native function against itself: as machine code and as plain Python, on the same inputs.

A run in plain Python goes through all native functions that it needs. The first calls of each are done twice, and what
they return and change must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dalembert.native import Bound, Native, Outputs, Record, plain

__all__ = ["Twins"]

# Products of matrices are summed in another order, and functions such as sin may differ in the last bit; a few solves
# in a row make more of it.
RELATIVE = 1e-9


# What memory holds that plain Python has not written: nobody may depend on it.
UNWRITTEN = 0x7FF8_0DEA_D0DE_AD00
_EMPTY = np.empty, np.empty_like


def _mark(array: np.ndarray) -> np.ndarray:
    if array.dtype in (np.float64, np.int64, np.complex128):
        array.view(np.int64)[...] = UNWRITTEN
    return array


_marked = (
    lambda *args, **named: _mark(_EMPTY[0](*args, **named)),
    lambda *args, **named: _mark(_EMPTY[1](*args, **named)),
)


@contextmanager
def _empty(functions: tuple[Any, Any]) -> Iterator[None]:
    """What ``np.empty`` and ``np.empty_like`` are inside."""
    before = np.empty, np.empty_like
    np.empty, np.empty_like = functions
    try:
        yield
    finally:
        np.empty, np.empty_like = before


class Twins:
    """Counts what was compared, and collects what differs.

    Args:
        most: how many calls of one function are done twice in each ``watch``.

    Attributes:
        seen: how often each function was compared.
        wrong: what differed.
    """

    def __init__(self, most: int = 2):
        self.most = most
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._now: Counter[str] = Counter()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Native functions that are called inside run in plain Python, and some of them compiled as well."""
        self._now.clear()
        with np.errstate(all="ignore"), plain(self.run):
            yield

    def run(self, function: Native, args: tuple[Any, ...]) -> Any:
        if self._now[function.key] >= self.most:
            with _empty(_marked):
                return function.python(*args)
        self._now[function.key] += 1
        self.seen[function.key] += 1
        arrays = list(_arrays(args, {}).values())
        before = [array.copy() for array in arrays]
        with _empty(_EMPTY):
            compiled = function.compiled(*args)
        after = [array.copy() for array in arrays]
        for array, old in zip(arrays, before, strict=True):
            if array.flags.writeable:
                array[...] = old
        with _empty(_marked):
            result = function.python(*args)
        for name, one, other in [("result", compiled, result), *zip(_numbers(), after, arrays, strict=False)]:
            if not _agree(one, other):
                self.wrong.append(f"{function.key}: {name}: compiled {str(one)[:300]}, plain {str(other)[:300]}")
        return result


def _numbers() -> Iterator[str]:
    n = 0
    while True:
        yield f"array {n}"
        n += 1


def _arrays(value: Any, found: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """All memory that a value leads to, once each."""
    if isinstance(value, np.ndarray):
        if value.size:
            found.setdefault(id(value), value)
    elif isinstance(value, Record):
        if id(value.slot_words) not in found:
            found[id(value.slot_words)] = value.slot_words
            for kept in value.kept_values.values():
                _arrays(kept, found)
    elif isinstance(value, Bound):
        _arrays(value.record, found)
    elif isinstance(value, tuple | list | Outputs):
        for item in value:
            _arrays(item, found)
    elif hasattr(value, "memory"):
        _arrays(value.memory, found)
    return found


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | Outputs):
        return len(list(one)) == len(list(other)) and all(_agree(a, b) for a, b in zip(one, other, strict=True))
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    if a.dtype == np.int64 and b.dtype == np.int64:
        # Also the words of a record: whole numbers and addresses are equal, floats nearly.
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        close = _close(np.atleast_1d(a).view(np.float64), np.atleast_1d(b).view(np.float64))
        return bool(np.all((a == b) | close | (b == UNWRITTEN)))
    if a.dtype == complex or b.dtype == complex:
        unwritten = np.ascontiguousarray(b.real).view(np.int64) == UNWRITTEN
        return bool(np.all(_close(a.real, b.real) & _close(a.imag, b.imag) | unwritten))
    unwritten = np.ascontiguousarray(b).view(np.int64) == UNWRITTEN if b.dtype == float and b.ndim else False
    return bool(np.all(_close(a.astype(float), b.astype(float)) | unwritten))


def _close(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    finite = np.isfinite(a) & np.isfinite(b)
    scale = max(1.0, float(np.abs(b[finite]).max(initial=0.0)))
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= RELATIVE * scale
    return np.where(finite, near, (a == b) | (np.isnan(a) & np.isnan(b)))
