"""What is under way, on a terminal's standard error; nothing elsewhere, and nothing if the user wants quiet. And what
was written."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from dalembert.errors import DalembertError

__all__ = ["messages", "tell_written", "working", "write_files"]


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


def write_files(console: Console, files: Iterable[Path], writers: Mapping[str, Callable[[Path], Any]]) -> None:
    """Write each file by what its name ends in."""
    for path in files:
        if path.suffix not in writers:
            raise DalembertError(f"--write {path}: expected a file that ends in {', '.join(writers)}")
        writers[path.suffix](path)
        tell_written(console, [path])


def tell_written(console: Console, paths: Iterable[Path]) -> None:
    """Say which files there are now."""
    for path in paths:
        console.print(f"  wrote {path}", style="dim", markup=False, soft_wrap=True)
