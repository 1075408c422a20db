"""A table as a picture: one line for each thing that is compared, one panel of decades for each quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.view.figures import GRID, INK, MUTED, new_figure, open_frame, title_of
from dalembert.view.scene import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_dots"]

_MARKERS = ("o", "^", "s", "D")
SMALLEST = 1e-17  # what is zero is drawn here, hollow


def plot_dots(
    names: Sequence[str],
    groups: Sequence[str],
    panels: Mapping[str, Mapping[str, Sequence[float | None]]],
    *,
    title: str = "",
    note: str = "",
) -> Figure:
    """Lines from top to bottom, panels from left to right.

    Args:
        names: of the lines.
        groups: one for each line; a group has a color.
        panels: by title: series by label, each with one value, or None, for each line. Series differ by marker.
        note: small print below.
    """
    size = (1.0 + 2.3 * len(panels) + 0.075 * max(map(len, names)), 1.9 + 0.235 * len(names))
    figure = new_figure(*size)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    kinds = list(dict.fromkeys(groups))
    colors = {kind: PALETTE[k % len(PALETTE)] for k, kind in enumerate(kinds)}
    for panel, (heading, series) in zip(axes, panels.items(), strict=True):
        _draw(panel, heading, series, [colors[group] for group in groups])
    first = axes[0]
    first.set_yticks(range(len(names)), names, parse_math=False)
    first.set_ylim(len(names) - 0.5, -0.5)
    for text, group in zip(first.get_yticklabels(), groups, strict=True):
        text.set_color(colors[group])
    _keys(figure, colors, note)
    title_of(figure, title)
    return figure


def _draw(panel: Axes, heading: str, series: Mapping[str, Sequence[float | None]], colors: list[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullFormatter

    for marker, values in zip(_MARKERS, series.values(), strict=False):
        for line, (value, color) in enumerate(zip(values, colors, strict=True)):
            if value is not None and np.isfinite(value):
                face = color if value > SMALLEST else "white"
                panel.plot(max(value, SMALLEST), line, marker, color=color, markerfacecolor=face, markersize=5.5)
    panel.set_xscale("log")
    low, high = np.log10(panel.get_xlim())
    low, high = np.floor(low + 0.05), np.ceil(high - 0.05)
    panel.set_xlim(10.0 ** (low - 0.15), 10.0 ** (max(high, low + 2) + 0.15))
    panel.xaxis.set_major_locator(LogLocator(numticks=6))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_title(heading, loc="left", color=INK, fontsize=10, fontweight="bold", parse_math=False)
    open_frame(panel)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="y", color=GRID, linewidth=0.8)
    labels = [label for label in series if label]
    if labels:
        handles = [Line2D([], [], marker=m, color=MUTED, linestyle="") for m, _ in zip(_MARKERS, labels, strict=False)]
        legend: Any = panel.legend(
            handles, labels, loc="upper left", bbox_to_anchor=(-0.06, -0.12 / max(1.0, len(colors) / 12)),
            frameon=False, fontsize=8, handletextpad=0.2, labelspacing=0.3, borderaxespad=0.0,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_color(INK)


def _keys(figure: Figure, colors: Mapping[str, str], note: str) -> None:
    """Which color is which group, and the small print, side by side below."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], marker="o", color=color, linestyle="", label=kind) for kind, color in colors.items()]
    legend = figure.legend(
        handles=handles, loc="outside lower left", frameon=False, fontsize=9, ncols=len(handles), handletextpad=0.2,
        title=note or None, title_fontsize=8.5, alignment="left",
    )  # fmt: skip
    legend.get_title().set_color(MUTED)
