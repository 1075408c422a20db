"""Numbers of long tables in expression graphs: found by halving, picked by their index.

CasADi's graphs have no such operation. Here it is a composition that nobody else writes, with a constant that stands
for a row of numbers: floor(√min(x, K)), K below −1e300. Its derivative is zero, as that of a piecewise constant
function must be. Tapes know it (see ``Tape.tables``); CasADi's own interpreter makes NaN of it, so that it cannot pass
unseen.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import casadi as ca
import numpy as np

__all__ = ["calls_tables", "find", "pick", "row_of"]

_FIRST = -1e300
_rows: dict[tuple[str, bytes], float] = {}
_known: dict[float, tuple[str, np.ndarray]] = {}
_making = threading.Lock()


def find(x: ca.SX, knots: np.ndarray) -> ca.SX:
    """How many of the rising knots are not above x."""
    return _node("find", x, knots)


def pick(index: ca.SX, values: np.ndarray) -> ca.SX:
    """The number of a row at an index, which must be a whole number within it."""
    return _node("pick", index, values)


def _node(kind: str, x: ca.SX, row: np.ndarray) -> ca.SX:
    held = np.ascontiguousarray(row, dtype="<f8")
    if x.is_constant():
        given = float(x)
        return ca.SX(float(np.searchsorted(held, given, side="right")) if kind == "find" else float(held[int(given)]))
    key = (kind, held.tobytes())
    with _making:
        if key not in _rows:
            # The next number below: each row has one of its own.
            _rows[key] = math.nextafter(min(_known, default=_FIRST), -math.inf)
            _known[_rows[key]] = (kind, held)
    return ca.floor(ca.sqrt(ca.fmin(x, _rows[key])))


def row_of(constant: float) -> tuple[str, np.ndarray] | None:
    """What a constant stands for: ``find`` or ``pick``, and its row; None if it is a number."""
    return _known.get(constant)


def calls_tables(function: Any) -> bool:
    """True if a CasADi function looks up tables, which CasADi's interpreter cannot do."""
    codes = ((k, function.instruction_id(k)) for k in range(function.n_instructions()))
    return bool(_known) and any(row_of(function.instruction_constant(k)) for k, code in codes if code == ca.OP_CONST)
