"""Still pictures of plots, in the same colors as the page. Works without a display."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.atomic import check_suffix, write_atomic
from dalembert.errors import ViewError
from dalembert.view.check import SceneError, check
from dalembert.view.colors import series_colors
from dalembert.view.scene import PALETTE, Plot, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = ["new_figure", "open_frame", "plot_path", "plot_series", "titled", "with_file", "write_figure"]

INK, MUTED, GRID = "#1f2933", "#616e7c", "#e4e7eb"
_DASHES = ("-", "--", ":", "-.")
_MARK = "#9aa5b1"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

STRIP = 110.0  # height of the pictures above the panels (points)
MOST_MARKS = 300  # more would hide the curves; so many of them are drawn
LONG_NUMBERS = 1e4  # from here on thousands are set apart


def new_figure(width: float, height: float) -> Figure:
    """An empty figure (inches) that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def plot_series(
    time: ArrayLike,
    plots: Sequence[Plot],
    *,
    title: str = "",
    marks: ArrayLike = (),
    note: str = "",
    pictures: Sequence[tuple[str, Callable[[Axes], None]]] = (),
) -> Figure:
    """Stacked panels that share the time axis.

    Args:
        time: (T,), seconds.
        plots: one panel each, series of length T.
        title: heading of the whole figure.
        marks: times of thin vertical lines.
        note: what the marks are, said below the time axis.
        pictures: side by side above all panels on one scale: what is below each, and what draws it.

    Raises:
        SceneError: no plots, or a series does not fit the time or holds NaN.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from dalembert.view.stacked import StackedLayout

    if not plots:
        raise SceneError("plot_series needs at least one plot")
    time = np.asarray(time, dtype=float)
    check(Scene(title=title, time=time, plots=plots))
    strip = STRIP if pictures else 0.0
    figure = Figure(figsize=(8.0, 0.7 + 2.1 * len(plots) + strip / 72), dpi=150, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(plots), 1, sharex=True, squeeze=False)[:, 0]
    titles: list[Text] = []
    for panel, plot, colors in zip(axes, plots, series_colors(plots), strict=True):
        titles.append(_draw(panel, time, plot, colors))
        _mark(panel, np.asarray(marks, dtype=float))
    axes[-1].set_xlabel(f"time (s){f'      {note}' if note else ''}", color=MUTED, parse_math=False)
    if time.size > 1 and time[-1] > time[0]:
        axes[-1].set_xlim(time[0], time[-1])
        _long_numbers(axes[-1].xaxis, time)
    heading = title_of(figure, title)
    drawn = _pictures(figure, pictures)
    figure.set_layout_engine(StackedLayout(list(zip(axes, titles, strict=True)), heading, drawn, strip))
    return figure


def plot_path(x: ArrayLike, y: ArrayLike, *, labels: tuple[str, str], title: str = "", equal: bool = False) -> Figure:
    """One quantity against another; a dot where it starts. NaN breaks the line.

    Args:
        labels: of the two axes.
        equal: one scale for both axes.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    figure = new_figure(6.4, 5.6)
    panel = figure.subplots()
    panel.plot(x, y, color=PALETTE[0], linewidth=1.4)
    panel.plot(x[:1], y[:1], color=PALETTE[0], marker="o", markersize=6)
    panel.set_xlabel(labels[0], color=MUTED, parse_math=False)
    panel.set_ylabel(labels[1], color=MUTED, parse_math=False)
    open_frame(panel)
    for axis, values in ((panel.xaxis, x), (panel.yaxis, y)):
        _long_numbers(axis, values)
    if equal:
        panel.set_aspect("equal", adjustable="datalim")
    title_of(figure, title)
    return figure


def title_of(figure: Figure, title: str) -> Text | None:
    if not title:
        return None
    return figure.suptitle(title, x=0.01, ha="left", color=INK, fontsize=13, fontweight="bold", parse_math=False)


def _mark(panel: Axes, times: np.ndarray) -> None:
    if times.size:
        shown = times[np.unique(np.linspace(0, times.size - 1, MOST_MARKS).round().astype(int))]
        panel.vlines(shown, 0.0, 1.0, transform=panel.get_xaxis_transform(), color=_MARK, linewidth=0.6, zorder=1.5)


def _long_numbers(axis: Axis, values: np.ndarray) -> None:
    """Thousands apart instead of a power of ten at the end of the axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    size, span = np.nanmax(np.abs(values)), np.nanmax(values) - np.nanmin(values)
    if LONG_NUMBERS <= size < 1e8 and span > 10.0:
        axis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(_grouped))


def _grouped(value: float, place: int) -> str:
    return f"{value:,.0f}".replace(",", "\u2009")


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write ``figure``, whole or not at all: as PNG, or as SVG or PDF if the name ends so. Equal figures give equal
    files."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    suffix = check_suffix(path, "pictures are written as PNG, SVG or PDF", ".png", ".svg", ".pdf", error=ViewError)
    buffer = io.BytesIO()
    if suffix in (".svg", ".pdf"):
        dated = {"Date": None} if suffix == ".svg" else {"CreationDate": None}
        with matplotlib.rc_context({"svg.hashsalt": "dalembert"}):
            figure.savefig(buffer, format=suffix[1:], metadata=dated)
    else:
        # Drawn once; ``savefig`` would draw twice, the first time for the layout alone.
        FigureCanvasAgg(figure).print_png(buffer)
    return write_atomic(path, buffer.getvalue(), ViewError)


def with_file(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure; also as a file if there is a path."""
    if path is not None:
        write_figure(figure, path)
    return figure


def _pictures(figure: Figure, pictures: Sequence[tuple[str, Callable[[Axes], None]]]) -> list[Axes]:
    """Small pictures, all in the same window."""
    drawn: list[Axes] = []
    for label, draw in pictures:
        panel = figure.add_axes((0.0, 0.0, 0.1, 0.1))
        draw(panel)
        for line in panel.lines:
            line.set_linewidth(line.get_linewidth() / 2)
            line.set_markersize(line.get_markersize() / 2)
        panel.text(0.5, -0.04, label, transform=panel.transAxes, ha="center", va="top", fontsize=8, color=MUTED)
        drawn.append(panel)
    for limits, put in (("get_xlim", "set_xlim"), ("get_ylim", "set_ylim")):
        seen = [getattr(panel, limits)() for panel in drawn]
        for panel in drawn:
            getattr(panel, put)(min(low for low, _ in seen), max(high for _, high in seen))
    return drawn


def _draw(panel: Axes, time: np.ndarray, plot: Plot, colors: dict[str, str]) -> Text:
    """One panel: open frame, light grid, legend outside the data; returns its title."""
    lines = [
        panel.plot(
            time,
            np.asarray(values, dtype=float),
            color=colors[name],
            linestyle=_DASHES[(k // len(PALETTE)) % len(_DASHES)],
            linewidth=1.0 if plot.log else 1.6,
            marker="o" if time.size == 1 else None,
        )[0]
        for k, (name, values) in enumerate(plot.series.items())
    ]
    title = panel.set_title(plot.title, loc="left", color=INK, fontsize=10.5, fontweight="bold", parse_math=False)
    panel.set_ylabel(plot.ylabel, color=MUTED, parse_math=False)
    if plot.log:
        _decades(panel)
    open_frame(panel)
    if not lines:
        return title
    # Names are set afterward: a leading underscore would hide the entry, a dollar sign start mathematics.
    legend = panel.legend(
        lines,
        [str(k) for k in range(len(lines))],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=9,
        borderaxespad=0.0,
    )
    for text, name in zip(legend.get_texts(), plot.series, strict=True):
        text.set_parse_math(False)
        text.set_text(str(name))
        text.set_color(INK)
    return title


def _decades(panel: Axes) -> None:
    """A logarithmic axis over whole decades, at least two."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(FuncFormatter(_power_of_ten))
    panel.yaxis.set_minor_formatter(NullFormatter())
    low, high = (np.log10(limit) for limit in panel.get_ylim())
    low, high = np.floor(low), np.ceil(high)
    panel.set_ylim(10.0**low, 10.0 ** max(high, low + 2))


def _power_of_ten(value: float, place: int) -> str:
    """10⁻¹⁶ in plain letters: typeset mathematics takes longer than all the rest of a panel."""
    return "10" + f"{np.log10(value):.0f}".translate(_RAISED)


def titled(panel: Axes, title: str, x: str, y: str) -> None:
    """Title and names of the axes, in the house's letters."""
    panel.set_title(title, loc="left", color=INK, fontsize=10.5, fontweight="bold", parse_math=False)
    panel.set_xlabel(x, color=MUTED, parse_math=False)
    panel.set_ylabel(y, color=MUTED, parse_math=False)


def open_frame(panel: Axes) -> None:
    """Open frame, light grid."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(_MARK)
    panel.tick_params(colors=MUTED, labelsize=9)
    panel.grid(color=GRID, linewidth=0.8)
    panel.set_axisbelow(True)
