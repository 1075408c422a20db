"""``dalembert inverse``: the forces behind a motion, as a table and as files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.cli.progress import messages, working, write_files
from dalembert.cli.run import get_model
from dalembert.errors import DalembertError

__all__ = ["inverse_model", "motion_of"]


def inverse_model(
    name: str,
    *,
    motion: list[str],
    unknowns: list[str],
    duration: float,
    options: dict[str, Any],
    files: list[Path],
    smoothing: float | None,
) -> bool:
    """Compute, print the sizing report, write files by their suffix; True if the result can be trusted."""
    from dalembert.analyses.motions.inverse import inverse_dynamics

    console = Console(highlight=False, soft_wrap=True)
    with working(f"inverse dynamics of {escape(name)}", messages()):
        model = get_model(name)
        given = dict(motion_of(text, smoothing) for text in motion)
        asked = dict(_limits(text) for text in unknowns) if unknowns else None
        found = inverse_dynamics(model, given, duration, unknowns=asked, **options)
    console.print(f"[bold]{escape(model.name)}[/]: {escape(repr(found))}")
    for rows in found.sizing().rows():
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for k, heading in enumerate(rows[0]):
            table.add_column(heading, justify="left" if k == 0 else "right")
        for row in rows[1:]:
            table.add_row(*map(escape, row))
        console.print(table)
    console.print(str(found.certificate), markup=False, style="" if found.certificate.trusted else "red")
    writers = {".nc": found.save, ".csv": found.save, ".html": found.animate, ".png": found.sizing().plot}
    write_files(console, files, writers)
    return found.certificate.trusted


def motion_of(text: str, smoothing: float | None) -> tuple[str, Any]:
    """``A=2*pi*t``, or ``A=@table.csv`` with columns time and value."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise DalembertError(f"--motion {text!r}: expected quantity=formula, e.g. --motion 'A=2*pi*t', or A=@table.csv")
    value = value.strip()
    if not value.startswith("@"):
        return name.strip(), value
    from dalembert.analyses.motions.signals import Samples

    return name.strip(), Samples(*_table(Path(value[1:])), smoothing)


def _table(path: Path) -> tuple[list[float], list[float]]:
    """Times and values of a table; lines that are no numbers are headings."""
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise DalembertError(f"cannot read {path}: {error}") from None
    times: list[float] = []
    values: list[float] = []
    for number, line in enumerate(lines, 1):
        try:
            t, value = float(line[0]), float(line[1])
        except (IndexError, ValueError):
            if number == 1 or not any(line):
                continue
            raise DalembertError(f"{path}:{number}: expected two numbers, time and value, got {line}") from None
        times.append(t)
        values.append(value)
    return times, values


def _limits(text: str) -> tuple[str, Any]:
    """``A``, ``A=5`` or ``A=-2:5``."""
    name, equals, bounds = text.partition("=")
    if not equals:
        return name.strip(), None
    try:
        numbers = [float(part) for part in bounds.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise DalembertError(f"--unknown {text!r}: expected a name, name=limit or name=least:largest")
    return name.strip(), numbers[0] if len(numbers) == 1 else tuple(numbers)
