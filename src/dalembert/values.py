"""Classes of plain Python and NumPy values, for ``isinstance``: what a type checker knows nothing of stays ``Any``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = [
    "ARRAY", "BOOLEAN", "COMPLEX_NUMBER", "DICT", "FLOATING", "INTEGER", "LIST", "MAPPING", "MISSHAPEN", "NO_NUMBER",
    "NUMBER", "SEQUENCE", "TUPLE", "finite_number", "is_finite", "is_positive",
]  # fmt: skip

Classes = tuple[type[Any], ...]

ARRAY: Classes = (np.ndarray,)
BOOLEAN: Classes = (bool, np.bool_)
COMPLEX_NUMBER: Classes = (complex, np.complexfloating)
DICT: Classes = (dict,)
FLOATING: Classes = (float, np.floating)
# A bool counts as an integer here, as in Python.
INTEGER: Classes = (int, np.integer)
LIST: Classes = (list,)
MAPPING: Classes = (Mapping,)
NUMBER: Classes = (int, float, np.number)
SEQUENCE: Classes = (list, tuple)
TUPLE: Classes = (tuple,)

# What ``float`` and ``np.asarray(…, dtype=float)`` raise for what is no number, or too large for one.
NO_NUMBER = (TypeError, ValueError, OverflowError)
# What reading of data raises that have another shape than they should.
MISSHAPEN = (*NO_NUMBER, AttributeError, LookupError, RecursionError)


def finite_number(value: Any) -> float | None:
    """Whatever ``float`` takes as a finite number, else None."""
    try:
        number = float(value)
    except NO_NUMBER:
        return None
    return number if math.isfinite(number) else None


def is_finite(value: Any) -> bool:
    """Whether it is a real number, neither infinite nor NaN, nor too large for a float."""
    return isinstance(value, NUMBER) and finite_number(value) is not None


def is_positive(value: Any) -> bool:
    """Whether it is a finite number above zero."""
    return is_finite(value) and bool(value > 0)
