"""The command ``bench``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from dalembert.bench import Precision, bench, peers, report, work_precision

__all__ = ["run_bench", "run_fuzz", "run_replay"]

DIAGRAMS = ("pendulum", "heavy-top")


def run_bench(problems: list[str] | None, quick: bool, folder: Path | None) -> bool:
    """Solve public problems, print the table, write the report; True if every reference is met."""
    console = Console()
    with console.status("") as status:

        def tell(what: str) -> None:
            status.update(what)

        rows = bench(problems or None, quick=quick, progress=tell)
        tell("peers")
        ratios = [] if problems else peers()
        curves: list[Precision] = []
        if folder is not None and not quick:
            for name in (name for name in DIAGRAMS if not problems or name in problems):
                tell(f"{name}: work and precision")
                curves += work_precision(name)
    table = Table(title=f"{len(rows)} methods on {len({row.problem for row in rows})} public problems")
    for title in ("problem", "way", "error", "must be", "verdict"):
        table.add_column(title, overflow="fold")
    table.add_column("ms", justify="right")
    for row in rows:
        cells = (row.problem, row.way, f"{row.error:.0e}", f"≤ {row.meets:.0e}", row.verdict, f"{1e3 * row.again:.0f}")
        table.add_row(*cells, style="" if row.met else "bold red")
    console.print(table)
    for ratio in ratios:
        result = ratio.note or f"{ratio.median:.2f} times our time ({ratio.low:.2f} … {ratio.high:.2f})"
        console.print(f"{ratio.peer}, {ratio.task}: {result}")
    if folder is not None:
        for path in report(rows, ratios, curves, folder):
            console.print(f"wrote {path}")
    missed = [f"{row.problem} by {row.way}" for row in rows if not row.met]
    if missed:
        console.print(f"[bold red]missed[/]: {', '.join(missed)}")
    return not missed


def run_fuzz(seconds: float, seed: int, only: str | None, folder: Path | None) -> bool:
    """Try random cases, print what was found, keep what failed; True if nothing did."""
    from dalembert.fuzz import KINDS, fuzz

    console = Console()
    with console.status("") as status:
        kinds = KINDS if only is None else tuple(part.strip() for part in only.split(","))
        found = fuzz(seconds, seed, kinds=kinds, folder=folder or Path("fuzz"), progress=status.update)
    console.print(str(found), markup=False, soft_wrap=True)
    for reason, count in found.skipped.most_common(5):
        console.print(f"  {count} times: {reason}", markup=False, style="dim")
    return not found.findings


def run_replay(path: Path) -> bool:
    """Try a case again; True if it is well now."""
    from dalembert.fuzz import replay

    console, judged = Console(), replay(path)
    for finding in judged.findings:
        console.print(f"{finding.check}: {finding.words}", markup=False, soft_wrap=True)
    if not judged.findings:
        because = f"; {judged.skipped}" if judged.skipped else ""
        console.print(
            f"{path}: nothing wrong ({judged.comparisons} comparisons{because})", markup=False, soft_wrap=True
        )
    return not judged.findings
