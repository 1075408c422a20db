"""The table of all rows, in Markdown and as one HTML page, with diagrams of work against precision."""

from __future__ import annotations

import base64
import html
import io
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from dalembert.atomic import write_atomic
from dalembert.bench.measure import Precision, Row
from dalembert.bench.peers import Ratio
from dalembert.bench.problems import PROBLEMS
from dalembert.errors import DalembertError

__all__ = ["report", "table_of"]

Section = tuple[str, Sequence[str], Sequence[Sequence[str]]]
HEAD = ("problem", "way", "error", "must be", "", "verdict", "evaluations", "first (s)", "again (ms)")


def table_of(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The cells of a table, row by row."""
    return [
        (
            row.problem, row.way, f"{row.error:.1e}", f"≤ {row.meets:.0e}", "met" if row.met else "MISSED",
            row.verdict, str(row.evaluations or ""), f"{row.first:.2f}", f"{1e3 * row.again:.1f}",
        )
        for row in rows
    ]  # fmt: skip


def _ratios(ratios: Sequence[Ratio]) -> list[tuple[str, ...]]:
    return [
        (r.peer, r.task, r.note or f"{r.median:.2f}", "" if r.note else f"{r.low:.2f} … {r.high:.2f}") for r in ratios
    ]


def _precision(curves: Sequence[Precision]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for curve in curves:
        for rtol, error, seconds in zip(curve.tolerances, curve.errors, curve.seconds, strict=True):
            reached = "stopped early" if np.isnan(error) else f"{error:.1e}"
            rows.append((curve.problem, curve.integrator, f"{rtol:.0e}", reached, f"{1e3 * seconds:.2f}"))
    return rows


def report(rows: Sequence[Row], ratios: Sequence[Ratio], curves: Sequence[Precision], folder: str | Path) -> list[Path]:
    """Write ``bench.md`` and ``bench.html``.

    Raises:
        DalembertError: the folder cannot be written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DalembertError(f"cannot write to {folder}: {error.strerror or error}") from None
    sections: list[Section] = [
        ("Public problems", HEAD, table_of(rows)),
        ("Peers: their time over ours, in the same run", ("peer", "task", "median", "quartiles"), _ratios(ratios)),
        ("Work and precision", ("problem", "integrator", "rtol", "error", "processor time (ms)"), _precision(curves)),
    ]
    sections = [section for section in sections if section[2]]
    about = (
        f"dalembert {version('dalembert')}, Python {platform.python_version()}, {platform.machine()}. Times are those "
        "of the processor: the first run compiles, again is the fastest of three, certificate included."
    )
    sources = [(problem.name, problem.title, problem.source) for problem in PROBLEMS.values()]
    sections.append(("Sources", ("problem", "what", "reference"), sources))
    return [
        write_atomic(folder / "bench.md", _markdown(about, sections)),
        write_atomic(folder / "bench.html", _page(about, sections, curves)),
    ]


def _markdown(about: str, sections: Sequence[Section]) -> str:
    parts = ["# Bench", about]
    for title, head, rows in sections:
        lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
        parts.append(f"## {title}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _page(about: str, sections: Sequence[Section], curves: Sequence[Precision]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    parts = [f"<h1>Bench</h1><p>{html.escape(about)}</p>"]
    for title, head, rows in sections:
        body = "".join(cells("td", row) for row in rows)
        parts.append(f"<h2>{html.escape(title)}</h2><table>{cells('th', head)}{body}</table>")
    if curves:
        picture = base64.b64encode(_diagram(curves)).decode("ascii")
        parts.append(f'<img alt="Error against processor time" src="data:image/png;base64,{picture}">')
    style = (
        "body{font:15px/1.5 system-ui;margin:2rem auto;max-width:75rem;padding:0 1rem}table{border-collapse:collapse}"
        "td,th{padding:.2rem .8rem;border-bottom:1px solid #ddd;text-align:left}img{max-width:100%}"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>dalembert bench</title>'
        f"<style>{style}</style>{''.join(parts)}</html>\n"
    )


def _diagram(curves: Sequence[Precision]) -> bytes:
    from matplotlib.figure import Figure

    problems = list(dict.fromkeys(curve.problem for curve in curves))
    figure = Figure(figsize=(5.2 * len(problems), 4.2), layout="constrained")
    for k, problem in enumerate(problems):
        axes = figure.add_subplot(1, len(problems), k + 1)
        for curve in curves:
            if curve.problem == problem:
                axes.loglog(np.maximum(curve.errors, 1e-17), 1e3 * curve.seconds, "o-", label=curve.integrator)
        axes.set(title=problem, xlabel="error", ylabel="processor time (ms)")
        axes.invert_xaxis()
        axes.grid(alpha=0.3)
        axes.legend()
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=110)
    return image.getvalue()
