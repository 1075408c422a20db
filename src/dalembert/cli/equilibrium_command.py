"""``dalembert equilibrium``: where a model rests or how it moves steadily, as a table, a picture and a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.atomic import write_atomic
from dalembert.cli.progress import messages, working
from dalembert.cli.run import get_model
from dalembert.errors import DalembertError

__all__ = ["equilibrium_model", "steady_pairs"]

TABLE_WIDTH = 180


def equilibrium_model(name: str, options: dict[str, Any], plot: Path | None, table: Path | None, quiet: bool) -> None:
    """Search, print a line for each solution and the reactions of the first, write files."""
    from dalembert.analyses.statics.equilibrium import equilibrium

    console = Console(highlight=False, soft_wrap=True)
    with working(f"looking where {escape(name)} rests", messages(quiet)):
        found = equilibrium(get_model(name), **options)
    console.width = max(console.width, TABLE_WIDTH)
    console.print(str(found).splitlines()[0], style="bold", markup=False)
    heading, *rows = found.rows()
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for head in heading:
        shown.add_column(head)
    for row in rows:
        shown.add_row(*map(escape, row))
    console.print(shown)
    first = found[0]
    springs = {key: value for key, value in first.preloads().items() if abs(value) > 0}
    if springs:
        console.print("forces of 0: " + ", ".join(f"{key} {value:.6g}" for key, value in springs.items()), markup=False)
    if first.parameters and options["unknowns"]:
        asked = ", ".join(f"{key} = {first.parameters[key]:.10g}" for key in options["unknowns"])
        console.print(f"found: {asked}", markup=False)
    if plot is not None:
        found.plot(plot)
        console.print(f"  wrote {plot}", style="dim", markup=False)
    if table is not None:
        text = io.StringIO()
        csv.writer(text).writerows([["kind", *first.dynamics.q_names, *(f"{n}.d" for n in first.dynamics.u_names)]])
        csv.writer(text).writerows([[one.kind, *map(repr, map(float, (*one.state.q, *one.state.u)))] for one in found])
        write_atomic(table, text.getvalue().encode(), DalembertError)
        console.print(f"  wrote {table}", style="dim", markup=False)


def steady_pairs(given: list[str] | None) -> dict[str, float | None] | None:
    """``name=number``, or a name alone for a velocity that is to be found."""
    if given is None:
        return None
    found: dict[str, float | None] = {}
    for text in given:
        name, equals, number = text.partition("=")
        try:
            found[name.strip()] = float(number) if equals else None
        except ValueError:
            raise DalembertError(f"--steady {text!r}: expected name=number, or a name alone") from None
    return found
