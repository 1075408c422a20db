"""What an elimination along a hierarchy keeps of each node on the way up, for the way down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.native import native
from dalembert.numerics.reflections import Reflections

__all__ = [
    "ABOVE", "BORDER", "BORDER_SLOTS", "COLUMNS", "DONE", "ENTRIES", "FREE", "LEFT", "LEFT_SLOTS", "LOWER",
    "MORE_PLACES", "MORE_STARTS", "MORE_TAU", "MORE_VALUES", "ORDER", "PLACES", "RANK", "ROWS", "SLOTS", "STARTS",
    "STEP", "TAU", "TOUCHES", "TURNED", "UPPER", "VALUES", "WIDTH", "Memory", "block_of", "keep", "keep_whole",
    "turns_of", "wholes_of",
]  # fmt: skip

# What is kept of each node, in ``Memory.head``: numbers, then places in ``wholes`` and in ``reals``.
WIDTH, RANK, TURNED, DONE, LEFT, BORDER = 0, 1, 2, 3, 4, 5
SLOTS, COLUMNS, ROWS, PLACES, STARTS, ORDER, MORE_PLACES, MORE_STARTS, LEFT_SLOTS, BORDER_SLOTS = range(6, 16)
VALUES, TAU, LOWER, ABOVE, STEP, MORE_VALUES, MORE_TAU, TOUCHES, FREE, UPPER = range(16, 26)
ENTRIES = 26


class Memory(NamedTuple):
    """What the way up leaves for the way down.

    Attributes:
        head: of each node, where its things are.
        reals, wholes: the things; ``top``: how much of both is used.
        W: M where it couples nodes, as it is now; a row and a column for each slot.
        g, c: f and γ, as they are now.
        alive: whether a slot, first that of a column, still holds a variable.
    """

    head: np.ndarray
    reals: np.ndarray
    wholes: np.ndarray
    top: np.ndarray
    W: np.ndarray
    g: np.ndarray
    c: np.ndarray
    alive: np.ndarray


@native
def keep(s: Memory, values: np.ndarray) -> int:
    """Where the values are from now on."""
    at = s.top[0]
    s.reals[at : at + values.size] = values.reshape(values.size)
    s.top[0] = at + values.size
    return at


@native
def keep_whole(s: Memory, values: np.ndarray) -> int:
    """The same of whole numbers."""
    at = s.top[1]
    s.wholes[at : at + values.shape[0]] = values
    s.top[1] = at + values.shape[0]
    return at


@native
def block_of(s: Memory, node: int, what: int, rows: int, columns: int) -> np.ndarray:
    """A matrix that was kept."""
    at = s.head[node, what]
    return s.reals[at : at + rows * columns].reshape(rows, columns)


@native
def wholes_of(s: Memory, node: int, what: int, count: int) -> np.ndarray:
    """Whole numbers that were kept."""
    at = s.head[node, what]
    return s.wholes[at : at + count]


@native
def turns_of(s: Memory, node: int, rank: int, more: bool) -> Reflections:
    """The reflections of a node: those of its own rows, or those of the rows of its ancestors."""
    h = s.head[node]
    starts = s.wholes[h[MORE_STARTS if more else STARTS] :][: rank + 1]
    places = s.wholes[h[MORE_PLACES if more else PLACES] :][: starts[rank]]
    values = s.reals[h[MORE_VALUES if more else VALUES] :][: starts[rank]]
    tau = s.reals[h[MORE_TAU if more else TAU] :][:rank]
    return Reflections(values, places, starts, tau)
