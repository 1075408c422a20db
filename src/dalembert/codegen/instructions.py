"""The instruction list of a CasADi function, read at once.

Asking CasADi for each instruction takes three calls, longer than all that follows. The serialized function holds the
same list as records of four 32-bit numbers in a row; a constant lies in the last two. Where the records are is found by
the first of them and checked by several others; if CasADi should write them differently, each is asked for.
"""

from __future__ import annotations

import struct
import sys
from typing import Any

import casadi as ca
import numpy as np

__all__ = ["read_instructions"]

_RECORD = np.dtype([("op", "<i4"), ("target", "<i4"), ("a", "<i4"), ("b", "<i4")])
_CHECKS = 8  # records that must be where they are expected
_MANY = 50  # instructions; for fewer the serialized text is mostly something else


def read_instructions(function: ca.Function) -> tuple[np.ndarray, np.ndarray]:
    """The instructions of a function of one vector, and the constants among them.

    Returns:
        records with fields op (CasADi's number), target, a, b: slots of the work vector, where there is no b any
        number; for an input b is its entry; for an output a is the slot and b the entry.
        A double for each record: the constant, where it is one.
    """
    n = function.n_instructions()
    found = _at_once(function, n) if n >= _MANY else None
    return _one_by_one(function, range(n)) if found is None else found


def _at_once(function: ca.Function, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    # Each byte is written as two letters, the lower half first; 'a' is zero.
    letters = np.frombuffer(function.serialize().encode(), dtype=np.uint8) - ord("a")
    data = (letters[0::2][: len(letters) // 2] | letters[1::2] << 4).tobytes()
    checked = sorted({*np.linspace(0, n - 1, _CHECKS).astype(int).tolist(), n - 1})
    expected = [_bytes(function, k) for k in checked]
    size = _RECORD.itemsize
    start = data.find(expected[0])
    while start >= 0:
        places = [start + size * k for k in checked]
        if all(data[place : place + size] == record for place, record in zip(places, expected, strict=True)):
            records = np.frombuffer(data, dtype=_RECORD, count=n, offset=start)
            constants = np.frombuffer(data, dtype=np.dtype([("", "<i4", 2), ("d", "<f8")]), count=n, offset=start)["d"]
            return records, constants
        start = data.find(expected[0], start + 1)
    return None


def _bytes(function: ca.Function, k: int) -> bytes:
    """Instruction k as it is expected in the serialized function."""
    records, constants = _one_by_one(function, range(k, k + 1))
    if records["op"][0] == ca.OP_CONST:
        return struct.pack("<iid", records["op"][0], records["target"][0], constants[0])
    return records.tobytes()


def _behind(method: str) -> Any:
    """The function behind a method of CasADi's functions, where it is found: the method costs as much again."""
    return getattr(sys.modules.get("casadi._casadi"), f"Function_{method}", None) or getattr(ca.Function, method)


_code_of = _behind("instruction_id")
_target_of = _behind("instruction_output")
_operands_of = _behind("instruction_input")


def _one_by_one(function: ca.Function, numbers: range) -> tuple[np.ndarray, np.ndarray]:
    rows: list[tuple[int, int, int, int]] = []
    constants = np.zeros(len(numbers))
    for row, k in enumerate(numbers):
        code, targets, operands = _code_of(function, k), _target_of(function, k), _operands_of(function, k)
        if code == ca.OP_OUTPUT:
            rows.append((code, targets[0], operands[0], targets[1]))
        elif code == ca.OP_CONST:
            constants[row] = function.instruction_constant(k)
            rows.append((code, targets[0], 0, 0))
        else:
            a, b = (*operands, *operands[:1], 0, 0)[:2]
            rows.append((code, targets[0] if targets else 0, a, b))
    return np.array(rows, dtype=_RECORD), constants
