"""``dalembert assemble`` and ``dalembert kinematics``: positions that close, and motions that drives lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.cli.inverse_command import motion_of
from dalembert.cli.progress import messages, working, write_files
from dalembert.cli.run import get_model
from dalembert.errors import DalembertError
from dalembert.values import DICT

__all__ = ["assemble_model", "kinematics_of_model"]


def assemble_model(name: str, *, options: dict[str, Any], branches: bool, plot: Path | None) -> None:
    """Assemble, print coordinates and velocities of all joints, draw."""
    from dalembert.analyses.assembly.assemble_branches import Branches
    from dalembert.analyses.assembly.assemble_model import assemble
    from dalembert.analyses.assembly.assemble_search import Closures

    console = Console(highlight=False, soft_wrap=True)
    with working(f"assembling {escape(name)}", messages()):
        model = get_model(name)
        call: Any = assemble
        found: Any = call(model, branches="all" if branches else None, **options)
    console.print(f"[bold]{escape(model.name)}[/]")
    if isinstance(found, Branches):
        console.print(str(found), markup=False)
    elif isinstance(found, DICT):
        for variable, value in found.items():
            console.print(f"  {variable} = {value:.9g}", markup=False)
        if plot is not None:
            raise DalembertError("--plot: a subsystem has no picture")
        return
    else:
        console.print(_joints(found))
        if plot is not None:
            import numpy as np

            closures = Closures(found.q[None], np.ones(1, int), np.zeros(1, bool), 1, 1)
            found = Branches(("",), (found,), "", closures)
    if plot is not None:
        found.draw(plot)
        console.print(f"  wrote {plot}", style="dim", markup=False)


def _joints(state: Any) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("joint", "coordinates", "velocities"):
        table.add_column(heading)
    coordinates = state.coordinates
    for name in coordinates.flat.joints:
        if coordinates.nominal_joint(name).joint.measurable or name in coordinates.slot_of_joint:
            parts = ("  ".join(f"{float(x) + 0.0:.9g}" for x in part) for part in state.joint(name))
            table.add_row(escape(name), *parts)
    return table


def kinematics_of_model(
    name: str, *, motion: list[str], duration: float, options: dict[str, Any], files: list[Path]
) -> bool:
    """Follow the drives, print what is remarkable, write files by their suffix; True if the result can be trusted."""
    from dalembert.analyses.motions.kinematics import kinematics

    console = Console(highlight=False, soft_wrap=True)
    with working(f"kinematics of {escape(name)}", messages()):
        model = get_model(name)
        found = kinematics(model, duration, dict(motion_of(text, None) for text in motion), **options)
    console.print(str(found), markup=False, style="" if found.certificate.trusted else "red")
    writers = {".nc": found.save, ".csv": found.save, ".html": found.animate, ".png": found.plot}
    write_files(console, files, writers)
    return found.certificate.trusted
