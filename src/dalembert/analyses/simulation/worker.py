"""The thread in which the time loops of a run go, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

__all__ = ["Worker"]


class Worker:
    """One thread for all pieces of a run: a run that is cut by events would pay for a thread, and for the memory of its
    native calls, at each of them. It begins with the first piece."""

    def __init__(self) -> None:
        self._pieces: SimpleQueue[Callable[[], None] | None] | None = None

    def submit(self, piece: Callable[[], None]) -> None:
        """Let it run a piece, which handles its own errors."""
        if self._pieces is None:
            pieces = SimpleQueue[Callable[[], None] | None]()
            threading.Thread(target=_work, args=(pieces,), daemon=True).start()
            self._pieces = pieces
        self._pieces.put(piece)

    def end(self) -> None:
        """No more pieces will come: the thread ends after those that it has."""
        if self._pieces is not None:
            self._pieces.put(None)
            self._pieces = None


def _work(pieces: SimpleQueue[Callable[[], None] | None]) -> None:
    while (piece := pieces.get()) is not None:
        piece()
        del piece  # it holds the whole run
