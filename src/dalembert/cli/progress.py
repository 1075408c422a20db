"""What is under way, on a terminal's standard error; nothing elsewhere, and nothing if the user wants quiet."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["messages", "working"]


def messages(quiet: bool = False) -> Console:
    """Where progress is shown; ``is_terminal`` tells whether it is."""
    return Console(stderr=True, highlight=False, quiet=quiet, force_terminal=False if quiet else None)


@contextmanager
def working(what: str, console: Console) -> Generator[None]:
    """Say what is being done for as long as it takes."""
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
