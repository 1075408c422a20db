"""A step of deriving: quick, and its cost for those who ask, one line for each in the log ``dalembert.modular``."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["LOG", "deriving"]

LOG = logging.getLogger("dalembert.modular")


@contextmanager
def deriving(owner: str, what: str) -> Generator[None]:
    """What is done for a subsystem; the processor time that it took is logged at the level DEBUG.

    Graphs are many small objects that stay. To search them for garbage again and again would take an eighth of the
    time, so Python's search waits until the step is done.
    """
    searches, asked = gc.isenabled(), LOG.isEnabledFor(logging.DEBUG)
    begin = time.process_time() if asked else 0.0
    gc.disable()
    try:
        yield
    finally:
        if searches:
            gc.enable()
    if asked:
        LOG.debug("subsystem %r: %s in %.1f ms", owner, what, 1e3 * (time.process_time() - begin))
