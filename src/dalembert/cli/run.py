"""``dalembert run``: from a name to files and a short table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.atomic import make_folder
from dalembert.cli.progress import messages, working
from dalembert.errors import ReadWarning

__all__ = ["get_model", "run_model"]

MOST_EVENTS = 4  # that are listed
STRETCH = 1_000_000  # of the progress bar
_FILES = (".yaml", ".yml", ".urdf", ".xml")


def get_model(name: str) -> Any:
    """A model file or a bundled model."""
    path = Path(name)
    if path.suffix.lower() in _FILES or path.exists() or len(path.parts) > 1:
        from dalembert.io import read

        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", ReadWarning)
            model = read(path)
        for note in notes:
            Console(stderr=True, highlight=False, soft_wrap=True).print(str(note.message), style="yellow", markup=False)
        return model
    from dalembert.library import build

    return build(name)


def run_model(
    name: str,
    duration: float,
    options: dict[str, Any],
    folder: Path,
    html: Path | None,
    files: bool,
    strict: bool,
    quiet: bool = False,
) -> bool:
    """Simulate, write files, print the result; True if the certificate is good. Else no files if it is ``strict``."""
    console, aside = Console(highlight=False), messages(quiet)
    with working(f"reading {escape(name)}", aside):
        model = get_model(name)
        from dalembert.analyses.simulation.simulate import simulate
    stem = Path(name).stem if Path(name).suffix else Path(name).name.replace("_", "-")
    if files:
        make_folder(folder)
    if options.get("checkpoint") and options["checkpoint"].exists():
        console.print(f"  going on from {options['checkpoint']}", style="dim", soft_wrap=True, markup=False)
    began = time.perf_counter()
    with _progress(aside, escape(model.name)) as update:
        trajectory = simulate(model, duration, progress=update, **options)
    seconds = time.perf_counter() - began
    _print_result(console, trajectory, seconds)
    if strict and not trajectory.certificate.trusted:
        return False
    wanted: list[tuple[Path, Callable[[Path], Any]]] = []
    if files:
        draw = partial(trajectory.plot, forces=True)
        wanted = [(folder / f"{stem}.nc", trajectory.save), (folder / f"{stem}.png", draw)]
    if files or html is not None:
        wanted.append((html or folder / f"{stem}.html", trajectory.animate))
    for path, write in wanted:
        with working(f"writing {escape(str(path))}", aside):
            write(path)
        console.print(f"  wrote {path}  ({path.stat().st_size / 1e6:.1f} MB)", style="dim", soft_wrap=True)
    certificate = trajectory.certificate
    return certificate.trusted if certificate.checked else certificate.finished


@contextmanager
def _progress(console: Console, title: str) -> Generator[Any]:
    """A progress bar on a terminal, nothing elsewhere. Until the time loop has begun, machine code is being made."""
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task, begun = bar.add_task(f"compiling {title}", total=STRETCH), False

        def update(fraction: float) -> None:
            nonlocal begun
            if begun:
                bar.update(task, completed=STRETCH * fraction)
            elif fraction > 0:
                # A run that goes on from a checkpoint starts here; the time left must not count what was done before.
                begun = True
                bar.reset(task, completed=round(STRETCH * fraction), description=f"simulating {title}")

        yield update


def _print_result(console: Console, trajectory: Any, seconds: float) -> None:
    certificate, dynamics = trajectory.certificate, trajectory.dynamics
    style = "green" if certificate.trusted else "bold red" if certificate.checked else "yellow"
    console.print(f"[bold]{dynamics.model.name}[/]  [{style}]{escape(certificate.headline)}[/]", soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_row("formulation", f"{dynamics.formulation.name} ({dynamics.reason})")
    size = f"{dynamics.nq} coordinates, {dynamics.nv} velocities, {len(dynamics.rows)} constraint equations"
    table.add_row("coordinates", f"{dynamics.coordinates.name}: {size}")
    table.add_row("integrator", f"{trajectory.attrs['integrator']} ({trajectory.attrs['reason']})")
    table.add_row("effort", ", ".join(f"{count} {name}" for name, count in certificate.counts.items()))
    for name, value, verdict in certificate.rows():
        style = "bold red" if "FAILED" in verdict else ""
        table.add_row(name, f"{value}  {verdict}", style=style)
    if trajectory.events:
        table.add_row("events", escape(_events(trajectory.events)))
    for remark in certificate.remarks:
        table.add_row("remark", escape(remark))
    time = trajectory.values("time")
    table.add_row("wall time", f"{seconds:.2f} s for {time[-1] - time[0]:g} s, compilation included")
    console.print(table)


def _events(events: list[Any]) -> str:
    """How many, and the first few."""
    first = ", ".join(f"{event.name} at {event.time:.6g} s" for event in events[:MOST_EVENTS])
    return f"{len(events)}: {first}{', …' if len(events) > MOST_EVENTS else ''}"
