"""How much work something is, however fast the machine: calls of functions, counted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Effort", "effort"]


class Effort:
    """Calls of functions so far, of Python's and of C's."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            self.calls += 1


@contextmanager
def effort() -> Iterator[Effort]:
    """Count what is called within; a thousand calls are a fraction of a millisecond."""
    spent, before = Effort(), sys.getprofile()
    sys.setprofile(spent)
    try:
        yield spent
    finally:
        sys.setprofile(before)
