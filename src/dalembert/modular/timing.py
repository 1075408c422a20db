"""What deriving costs, for those who ask: one line for each step in the log ``dalembert.modular``."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["LOG", "timed"]

LOG = logging.getLogger("dalembert.modular")


@contextmanager
def timed(owner: str, what: str) -> Generator[None]:
    """Log what was done for a subsystem, and the processor time that it took, at the level DEBUG."""
    if not LOG.isEnabledFor(logging.DEBUG):
        yield
        return
    begin = time.process_time()
    yield
    LOG.debug("subsystem %r: %s in %.1f ms", owner, what, 1e3 * (time.process_time() - begin))
