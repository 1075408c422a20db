"""``dalembert linearize``: eigenvalues and modes of small motions, as a table, and over a parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.cli.progress import messages, tell_written, working
from dalembert.cli.run import get_model
from dalembert.errors import DalembertError

__all__ = ["linearize_model"]

LEADING = 3  # states shown for each mode
DEFAULT_POINTS = 101
TABLE_WIDTH = 180  # columns that the table may need; a terminal that is narrower scrolls or cuts


def linearize_model(
    name: str, *, options: dict[str, Any], over: str | None, plot: Path | None, csv: Path | None, quiet: bool = False
) -> None:
    """Linearize, print modes, write files."""
    console = Console(highlight=False, soft_wrap=True)
    from dalembert.analyses.linearization.linearize import linearize, linearize_over

    model = get_model(name)
    written: list[Path] = []
    crossings: list[Any] = []
    with working(f"linearizing {escape(name)}", messages(quiet)):
        if over is None:
            chart, found = None, linearize(model, **options)
        else:
            parameter, values = _range(over)
            chart = linearize_over(model, parameter, values, **options)
            found = chart[0]
            crossings = chart.crossings()
    console.width = max(console.width, TABLE_WIDTH)
    if chart is None:
        console.print(f"[bold]{escape(found.name)}[/]: {len(found.states)} states; {escape(found.kind)}")
        console.print(_modes(found))
        if plot is not None:
            found.plot_modes(plot)
    else:
        console.print(
            f"[bold]{escape(found.name)}[/]: {len(found.states)} states, {len(chart)} values of {chart.parameter}"
        )
        for crossing in crossings:
            console.print(f"  {chart.parameter} = {crossing}", markup=False)
        if not crossings:
            console.print("  no mode becomes stable or unstable in this range")
        if plot is not None:
            chart.plot(plot)
    if plot is not None:
        written.append(plot)
    if csv is not None:
        written.append(_write(csv, found if chart is None else chart))
    tell_written(console, written)


def _modes(found: Any) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in (
        "eigenvalue (1/s)",
        "frequency (Hz)",
        "damping ratio",
        "",
        "states that take part",
        "bodies that move",
    ):
        table.add_column(head, no_wrap=True)
    for mode in found.modes():
        value = mode.eigenvalue
        text = f"{value.real:.10g}" + (f" ± {value.imag:.10g}i" if value.imag else "")
        frequency = f"{mode.frequency:.6g}" if value.imag else "–"
        damping = f"{mode.damping:.4f}" if value.imag else "–"
        table.add_row(text, frequency, damping, mode.kind, _leading(mode.participation), _leading(mode.bodies))
    return table


def _leading(shares: dict[str, float]) -> str:
    first = sorted(shares.items(), key=lambda entry: -entry[1])[:LEADING]
    return escape(", ".join(f"{name} {share:.0%}" for name, share in first if share >= 0.005))


def _range(text: str) -> tuple[str, list[float]]:
    """``speed=0:10:101`` as a name and numbers."""
    import numpy as np

    name, equals, rest = text.partition("=")
    parts = rest.split(":")
    try:
        first, last = float(parts[0]), float(parts[1])
        count = int(parts[2]) if len(parts) > 2 else DEFAULT_POINTS
    except (ValueError, IndexError):
        equals = ""
        first = last = count = 0
    if not equals or not name.strip() or len(parts) > 3 or count < 2 or not first < last:
        raise DalembertError(f"--over {text!r}: expected name=first:last or name=first:last:count, e.g. speed=0:10:101")
    return name.strip(), [float(value) for value in np.linspace(first, last, count)]


def _write(path: Path, found: Any) -> Path:
    """Matrices of one linear model, or eigenvalues over a parameter, as text."""
    import csv
    import io

    from dalembert.atomic import write_atomic

    text = io.StringIO()
    writer = csv.writer(text)
    if hasattr(found, "models"):
        modes = range(found.eigenvalues.shape[1])
        writer.writerow([found.parameter, *(f"{part} {k}" for k in modes for part in ("real", "imaginary"))])
        for value, row in zip(found.values, found.eigenvalues, strict=True):
            writer.writerow([repr(float(value)), *(repr(float(x)) for entry in row for x in (entry.real, entry.imag))])
    else:
        writer.writerow(["", *found.states, *found.inputs])
        rows = [(f"d {name}/dt", *parts) for name, *parts in zip(found.states, found.A, found.B, strict=True)]
        rows += [(name, *parts) for name, *parts in zip(found.outputs, found.C, found.D, strict=True)]
        for name, left, right in rows:
            writer.writerow([name, *(repr(float(x)) for x in (*left, *right))])
    return write_atomic(path, text.getvalue().encode(), DalembertError)
