"""``dalembert compare``: one model in every formulation, as a table."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from dalembert.cli.progress import messages, tell_written
from dalembert.cli.run import get_model

__all__ = ["compare_model"]

TABLE_WIDTH = 180  # columns that the table needs; a terminal that is narrower wraps nothing but scrolls or cuts


def compare_model(
    name: str, duration: float, options: dict[str, Any], files: dict[str, Path | None], quiet: bool = False
) -> bool:
    """Run, print the table, write files; True if some run can be trusted."""
    console = Console(highlight=False)
    model = get_model(name)
    from dalembert.analyses.comparison.compare import compare

    with _progress(messages(quiet)) as update:
        found = compare(model, duration, progress=update, **options)
    if console.width < TABLE_WIDTH:
        console.width = TABLE_WIDTH
    console.print(found.table())
    writers = {"csv": found.to_csv, "latex": found.to_latex, "plot": found.plot}
    written: list[Path] = []
    for kind, path in files.items():
        if path is not None:
            writers[kind](path)
            written.append(path)
    tell_written(console, written)
    return any(entry.status == "trusted" for entry in found)


@contextmanager
def _progress(console: Console) -> Generator[Any]:
    """A bar with the run that is under way on a terminal, nothing elsewhere."""
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (MofNCompleteColumn(), BarColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("assembling", total=None)

        def show(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what)

        yield show
