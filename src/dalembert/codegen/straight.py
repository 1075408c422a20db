"""Which results of a tape are straight: sums of its first inputs times numbers that do not depend on them."""

from __future__ import annotations

import numpy as np

from dalembert.codegen.tape import Tape

__all__ = ["straight_results"]

FIXED, STRAIGHT, BENT = range(3)


def straight_results(tape: Tape, moving: int) -> np.ndarray:
    """1 for each result that the first ``moving`` inputs change along a straight line, else 0."""
    kinds: list[int] = []
    for op, a, b in zip(tape.ops, tape.a, tape.b, strict=True):
        if op == "input":
            kind = STRAIGHT if a < moving else FIXED
        elif op == "const":
            kind = FIXED
        else:
            kind = _kind(op, kinds[a], FIXED if b < 0 else kinds[b])
        kinds.append(kind)
    return np.array([kinds[k] != BENT for k in tape.results], dtype=np.int64)


def _kind(op: str, first: int, second: int) -> int:
    """Of an operation, by those of its operands."""
    most = max(first, second)
    if most != STRAIGHT or op in ("add", "sub", "neg", "twice"):
        return most
    one_moves = op == "mul" and FIXED in (first, second)
    of_a_kind = op in ("div", "if_else_zero") and (second if op == "div" else first) == FIXED
    return STRAIGHT if one_moves or of_a_kind else BENT
