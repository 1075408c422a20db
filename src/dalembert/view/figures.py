"""Still pictures of plots, in the same colours as the page. Works without a display."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.view.check import SceneError, check
from dalembert.view.colors import series_colors
from dalembert.view.files import write_whole
from dalembert.view.scene import PALETTE, Plot, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_series", "write_png"]

_INK, _MUTED, _GRID = "#1f2933", "#616e7c", "#e4e7eb"
_DASHES = ("-", "--", ":", "-.")


def plot_series(time: ArrayLike, plots: Sequence[Plot], *, title: str = "") -> Figure:
    """Stacked panels that share the time axis.

    Args:
        time: (T,), seconds.
        plots: one panel each, series of length T.
        title: heading of the whole figure.

    Raises:
        SceneError: no plots, or a series does not fit the time or holds NaN.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not plots:
        raise SceneError("plot_series needs at least one plot")
    time = np.asarray(time, dtype=float)
    check(Scene(title=title, time=time, plots=plots))
    figure = Figure(figsize=(8.0, 0.7 + 2.1 * len(plots)), dpi=150, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(plots), 1, sharex=True, squeeze=False)[:, 0]
    for panel, plot, colors in zip(axes, plots, series_colors(plots), strict=True):
        _draw(panel, time, plot, colors)
    axes[-1].set_xlabel("time (s)", color=_MUTED)
    if time.size > 1 and time[-1] > time[0]:
        axes[-1].set_xlim(time[0], time[-1])
    if title:
        figure.suptitle(title, x=0.01, ha="left", color=_INK, fontsize=13, fontweight="bold", parse_math=False)
    figure.align_ylabels(axes)
    return figure


def write_png(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write ``figure`` as a PNG, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return write_whole(path, buffer.getvalue())


def _draw(panel: Axes, time: np.ndarray, plot: Plot, colors: dict[str, str]) -> None:
    """One panel: open frame, light grid, legend outside the data."""
    lines = [
        panel.plot(
            time,
            np.asarray(values, dtype=float),
            color=colors[name],
            linestyle=_DASHES[(k // len(PALETTE)) % len(_DASHES)],
            linewidth=1.6,
            marker="o" if time.size == 1 else None,
        )[0]
        for k, (name, values) in enumerate(plot.series.items())
    ]
    panel.set_title(plot.title, loc="left", color=_INK, fontsize=10.5, fontweight="bold", parse_math=False)
    panel.set_ylabel(plot.ylabel, color=_MUTED, parse_math=False)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color("#9aa5b1")
    panel.tick_params(colors=_MUTED, labelsize=9)
    panel.grid(color=_GRID, linewidth=0.8)
    panel.set_axisbelow(True)
    if not lines:
        return
    # Names are set afterwards: a leading underscore would hide the entry, a dollar sign start mathematics.
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
        text.set_color(_INK)
