"""Which name each coordinate gets: that of its joint, or of its part where a joint has several."""

from __future__ import annotations

from collections import Counter
from typing import Any

__all__ = ["coordinate_names"]

_KINDS = {"angle": "angle", "length": "position", "quaternion": "quaternion", "number": "coordinate"}


def coordinate_names(coordinates: Any, taken: set[str]) -> list[tuple[str, str]]:
    """Name and meaning of each entry of q.

    Args:
        taken: names of parameters.
    """
    symbols = list(coordinates.symbols)[: coordinates.nv]
    count = Counter(symbol.part or symbol.joint for symbol in symbols)
    found: list[tuple[str, str]] = []
    for symbol in symbols:
        kind = _KINDS.get(symbol.kind, "coordinate")
        if not symbol.part:
            found.append((symbol.joint, f"{kind} of joint {symbol.joint}"))
            continue
        alone = count[symbol.part] == 1 and symbol.part not in taken
        name = symbol.part if alone else f"{symbol.part}_{symbol.joint}"
        found.append((name, f"{kind} {symbol.part} of joint {symbol.joint}"))
    return found + [(label, f"turns of {label}") for label in coordinates.labels()[0][len(found) :]]
