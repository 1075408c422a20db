"""Which letter each coordinate gets: its own name where that is one, else θ for an angle and s for a length."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from dalembert.derivation.names import is_letter

__all__ = ["CoordinateName", "coordinate_names", "parameter_letter"]


@dataclass(frozen=True)
class CoordinateName:
    """How an entry of q is called.

    Attributes:
        name: for symbols, such as ``theta_hinge``.
        given: that of the joint or of its part, by which a person knows it.
        unit: of the coordinate.  momentum: of the momentum that belongs to it.
    """

    name: str
    given: str
    meaning: str
    unit: str = ""
    momentum: str = ""


@dataclass(frozen=True)
class _Kind:
    letter: str
    words: str
    unit: str = ""
    momentum: str = ""


_KINDS = {
    "angle": _Kind("theta", "angle", "rad", "kg m²/s"),
    "length": _Kind("s", "position", "m", "kg m/s"),
    "quaternion": _Kind("q", "quaternion"),
    "number": _Kind("q", "coordinate"),
}
_LETTERS = {"kg": "m", "m": "l"}


def parameter_letter(unit: str) -> str | None:
    """The letter that carries the name of a parameter, if its unit tells one."""
    return _LETTERS.get(unit)


def coordinate_names(coordinates: Any, taken: set[str]) -> list[CoordinateName]:
    """Names of all entries of q. A letter that only one coordinate needs goes without a subscript.

    Args:
        taken: names of parameters.
    """
    symbols = list(coordinates.symbols)[: coordinates.nv]
    kinds = [_KINDS.get(symbol.kind, _KINDS["number"]) for symbol in symbols]
    given = [symbol.part or symbol.joint for symbol in symbols]
    worded = [kind.letter if _is_word(name) else "" for name, kind in zip(given, kinds, strict=True)]
    letters, count = Counter(worded), Counter(given)
    found: list[CoordinateName] = []
    for symbol, kind, own, letter in zip(symbols, kinds, given, worded, strict=True):
        if letter:
            alone = letters[letter] == 1 and letter not in taken and letter not in count and letter != "q"
            name = letter if alone else f"{letter}_{_subscript(symbol, count[own] == 1)}"
        else:
            alone = not symbol.part or (count[own] == 1 and own not in taken)
            name = own if alone else f"{own}_{symbol.joint}"
        words = f"{kind.words} of joint {symbol.joint}"
        found.append(CoordinateName(name, own, words, kind.unit, kind.momentum))
    rest = coordinates.labels()[0][len(found) :]
    return found + [CoordinateName(label, label, f"turns of {label}") for label in rest]


def _subscript(symbol: Any, alone: bool) -> str:
    """The joint's name; a part that others have too is distinguished by it."""
    if not symbol.part or symbol.part in _KINDS:
        return symbol.joint
    return symbol.part if alone else f"{symbol.part}_{symbol.joint}"


def _is_word(name: str) -> bool:
    """True for words and for points such as A or B2, which are no letters of coordinates."""
    head = re.split(r"[^A-Za-z]", name)[0]
    return not is_letter(head) or bool(re.fullmatch(r"[A-Z]\d*", name))
