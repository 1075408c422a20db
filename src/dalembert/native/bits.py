"""The bits of floating-point numbers."""

from __future__ import annotations

import struct

__all__ = ["bits_of", "float_of"]


def bits_of(x: float) -> int:
    """The IEEE bits of x as a signed 64-bit number."""
    return struct.unpack("<q", struct.pack("<d", x))[0]


def float_of(n: int) -> float:
    """The float with these IEEE bits."""
    return struct.unpack("<d", struct.pack("<q", n))[0]
