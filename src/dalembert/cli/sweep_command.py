"""``dalembert sweep``: many runs of a model, as one file, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dalembert.cli.progress import messages
from dalembert.cli.run import get_model
from dalembert.errors import DalembertError

__all__ = ["sweep_model"]

HOW = ("grid", "lists", "latin", "random")
MOST_LINES = 20


def sweep_model(
    name: str, duration: float, design: tuple[list[str], str, int | None, int], options: dict[str, Any],
    files: list[Path], quiet: bool,
) -> bool:  # fmt: skip
    """Compute, print the numbers of all samples in short, write files by their suffix; False if a sample failed."""
    from dalembert.analyses.sweeps.sweep import sweep
    from dalembert.atomic import atomic_file

    writers = (".nc", ".png", ".csv")
    wrong = [path for path in files if path.suffix not in writers]
    if wrong:
        raise DalembertError(f"--write {wrong[0]}: expected a file that ends in {', '.join(writers)}")
    console, stderr = Console(highlight=False, soft_wrap=True), messages(quiet)
    made = _design(*design)
    texts = TextColumn("{task.description}"), TextColumn("{task.percentage:.0f} %")
    columns = texts[0], BarColumn(), texts[1], TimeRemainingColumn()
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True) as bar:
        task = bar.add_task(f"{len(made)} samples of {escape(name)}", total=1.0)
        found = sweep(
            get_model(name), made, duration, progress=lambda part: bar.update(task, completed=part), **options
        )
    console.print(f"[bold]{escape(found.attrs['model'])}[/]: {len(made)} samples, {found.attrs['failed']} failed")
    console.print(_summary(found))
    reasons = [str(text) for text in found.failure.values.ravel() if text]
    for text in dict.fromkeys(reasons[:3]):
        console.print(f"failed: {text}", style="red", markup=False)
    for path in files:
        if path.suffix == ".nc":
            with atomic_file(path) as part:
                _plain(found).to_netcdf(part, engine="h5netcdf")
        elif path.suffix == ".png":
            from dalembert.view import write_figure
            from dalembert.view.sweep_plots import sweep_figure

            write_figure(sweep_figure(found, made.names), path)
        else:
            _write_csv(path, found, made)
        console.print(f"  wrote {path}", style="dim", markup=False)
    return not reasons


def _design(over: list[str], how: str, samples: int | None, seed: int) -> Any:
    from dalembert.analyses.sweeps.sweep_design import Design

    if how not in HOW:
        raise DalembertError(f"--how {how!r}: expected one of {', '.join(HOW)}")
    values = dict(_values(text, how in ("latin", "random")) for text in over)
    if not values:
        raise DalembertError("--over: what is varied?  Fix: --over crank=0.3:0.5:5")
    if how in ("grid", "lists"):
        return Design.grid(values) if how == "grid" else Design.lists(values)
    if samples is None:
        raise DalembertError(f"--how {how}: how many samples?  Fix: --samples 100")
    made = Design.latin if how == "latin" else Design.random
    return made(values, samples, seed=seed)


def _values(text: str, distribution: bool) -> tuple[str, Any]:
    """``crank=0.3:0.5:5``, ``crank=0.3,0.4``; of random samples ``crank=0.3:0.5`` or ``crank=normal:0.4:0.01``."""
    import numpy as np

    name, equals, rest = text.partition("=")
    parts = [part.strip() for part in (rest.split(":") if ":" in rest else rest.split(","))]
    try:
        if not equals or not name.strip():
            raise ValueError
        if distribution:
            word = [parts.pop(0)] if parts[0].isalpha() else []
            numbers = tuple(map(float, parts))
            return name.strip(), numbers[0] if len(numbers) == 1 and not word else (*word, *numbers)
        if ":" in rest:
            first, last, count = float(parts[0]), float(parts[1]), int(parts[2])
            return name.strip(), np.linspace(first, last, count)
        return name.strip(), [float(part) for part in parts]
    except (ValueError, IndexError):
        fix = "name=low:high or name=normal:mean:deviation" if distribution else "name=first:last:count or name=a,b,c"
        raise DalembertError(f"--over {text!r}: expected {fix}") from None


def _summary(found: Any) -> Table:
    """Least, mean and largest value of every number."""
    import numpy as np

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for head in ("", "least", "mean", "largest"):
        table.add_column(head, justify="left" if not head else "right")
    for name in list(found.data_vars)[:MOST_LINES]:
        values = found[name].values
        if values.dtype.kind == "f" and np.isfinite(values).any():
            kept: Any = values[np.isfinite(values)]
            table.add_row(escape(str(name)), f"{kept.min():.6g}", f"{kept.mean():.6g}", f"{kept.max():.6g}")
    return table


def _plain(found: Any) -> Any:
    """Complex numbers in two parts, which NetCDF can hold."""
    for name in [name for name in found.data_vars if found[name].dtype.kind == "c"]:
        found = found.assign({f"{name} (imaginary)": found[name].imag, name: found[name].real})
    return found


def _write_csv(path: Path, found: Any, design: Any) -> None:
    """A line for each sample with all its numbers; series over time are left out."""
    import csv
    import io

    from dalembert.atomic import write_atomic

    size = len(design)
    names = [name for name in found.data_vars if found[name].size == size and name != "failure"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*design.names, *names, "failure"])
    columns = [found[name].values.ravel() for name in names]
    failure = found.failure.values.ravel()
    for i in range(size):
        numbers = [*design.table[i], *(column[i] for column in columns)]
        writer.writerow([*(repr(float(value)) for value in numbers), failure[i]])
    write_atomic(path, text.getvalue().encode(), DalembertError)
