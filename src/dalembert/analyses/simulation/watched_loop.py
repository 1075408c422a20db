"""The native time loop of a run, watched: it can be paused and interrupted, and shows how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from dalembert.integrators import Status, loop
from dalembert.integrators.base import Monitor

__all__ = ["WATCH_PERIOD", "WatchedLoop"]

WATCH_PERIOD = 0.05  # s


class WatchedLoop:
    """Runs the pieces of a run one after the other, in a thread of its own, so that this one can watch.

    One thread for all of them: a run that is cut by events would pay for a thread, and for the memory of its native
    calls, at each of them. It begins with the first piece.

    Args:
        span: first and last output time.
        progress: called now and then with the fraction done.
        pause_due: asked now and then whether the loop should pause.

    Attributes:
        monitor: shared with the native loop.
        seconds: wall time that the pieces took so far.
        interrupted: the user wants the run to end (Ctrl-C); it keeps what was computed.
    """

    def __init__(
        self,
        span: tuple[float, float],
        progress: Callable[[float], None] | None,
        pause_due: Callable[[], bool] | None,
    ):
        self.span, self.progress, self.pause_due = span, progress, pause_due
        self.monitor = Monitor(reached=span[0])
        self.seconds, self.interrupted = 0.0, False
        self._pieces: SimpleQueue[Callable[[], None] | None] | None = None

    def advance(self, piece: Callable[[], Status]) -> Status:
        """Run a piece, and watch it until it ends.

        Its end is an event that it sets itself: an interrupted ``Thread.join`` takes a thread for ended that still
        runs.
        """
        box: list[Any] = []
        claimed, done = threading.Lock(), threading.Event()

        def work() -> None:
            if not claimed.acquire(blocking=False):
                return
            began = time.perf_counter()
            try:
                box.append(piece())
                self.seconds += time.perf_counter() - began
            except BaseException as error:  # handed to the caller's thread below
                box.append(error)
            finally:
                done.set()

        self.monitor.request = 0
        try:
            self._submit(work)
            self._watch(done)
        except BaseException as error:
            self.monitor.request = loop.STOP
            if claimed.acquire(blocking=False):
                box.append(Status.STOPPED)  # it has not begun, and will not
            else:
                done.wait()
            if not isinstance(error, KeyboardInterrupt):
                raise
            self.interrupted = True
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]

    def end(self) -> None:
        """No more pieces will come: the thread ends after those that it has."""
        if self._pieces is not None:
            self._pieces.put(None)
            self._pieces = None

    def _submit(self, work: Callable[[], None]) -> None:
        if self._pieces is None:
            pieces = SimpleQueue[Callable[[], None] | None]()
            threading.Thread(target=_work, args=(pieces,), daemon=True).start()
            self._pieces = pieces
        self._pieces.put(work)

    def _watch(self, done: threading.Event) -> None:
        """Until the piece has ended: show how far it is, and ask for a pause when one is due."""
        first, last = self.span
        while True:
            ended = done.wait(WATCH_PERIOD)
            if self.progress is not None:
                self.progress(float((self.monitor.reached - first) / (last - first)))
            if ended:
                return
            if self.pause_due is not None and self.pause_due():
                self.monitor.request = loop.PAUSE


def _work(pieces: SimpleQueue[Callable[[], None] | None]) -> None:
    while (piece := pieces.get()) is not None:
        piece()
        del piece  # it holds the whole run
