"""Pictures of sweeps: curves over one name, maps over two, dots for random samples, bands over time.

Data sets are read through their attributes, so that this room imports nothing of the analyses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ViewError
from dalembert.view.figures import INK, MUTED, new_figure, open_frame, title_of, titled
from dalembert.view.scene import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["sweep_figure"]

HIDDEN = ("failure", "end", "drift")
MOST_PANELS, COLUMNS = 12, 3
MOST_CURVES = 60


def sweep_figure(data: Any, names: Sequence[str]) -> Figure:
    """A panel for each quantity of a sweep that was computed.

    Args:
        data: the data set.
        names: what was varied; the first one is the horizontal axis.
    """
    known = [str(name) for name in data.data_vars if data[name].dtype.kind == "f" and str(name) not in HIDDEN]
    if not known:
        raise ViewError("a sweep's picture shows computed numbers, and there are none.  Fix: ask for an output")
    chosen = known[:MOST_PANELS]
    columns = min(COLUMNS, len(chosen))
    rows = math.ceil(len(chosen) / columns)
    figure = new_figure(4.6 * columns, 3.4 * rows + 0.3)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, name in zip(panels, chosen, strict=False):
        _panel(figure, panel, data[name], name, list(names))
    for panel in panels[len(chosen) :]:
        panel.set_axis_off()
    title_of(figure, str(data.attrs.get("model", "")))
    return figure


def _panel(figure: Figure, panel: Axes, values: Any, name: str, names: list[str]) -> None:
    over = [axis for axis in values.dims if axis in names]
    rest = [axis for axis in values.dims if axis not in names and axis not in ("sample", "time")]
    if rest:
        values = values.isel(dict.fromkeys(rest, 0))
    if "time" in values.dims:
        _series(panel, values, name)
    elif len([axis for axis in over if values.sizes[axis] > 1]) == 2:
        y, x = [axis for axis in over if values.sizes[axis] > 1]
        table = values.squeeze().transpose(y, x)
        drawn = panel.pcolormesh(table[x].values, table[y].values, table.values, cmap="viridis", shading="nearest")
        figure.colorbar(drawn, ax=panel)
        titled(panel, name, x, y)
        return
    elif over:
        first = next((axis for axis in over if values.sizes[axis] > 1), over[0])
        table = values.transpose(first, ...)
        curves = table.values.reshape(table.sizes[first], -1)
        panel.plot(table[first].values, curves[:, :MOST_CURVES], color=PALETTE[0], linewidth=1.3, marker=".", alpha=0.8)
        titled(panel, name, first, "")
    else:
        first = names[0]
        panel.plot(values[first].values, values.values, ".", color=PALETTE[0], markersize=3, alpha=0.6)
        titled(panel, name, first, "")
    open_frame(panel)


def _series(panel: Axes, values: Any, name: str) -> None:
    """The median over time, and the bands that hold half and nine tenths of all samples."""
    table = values.transpose("time", ...)
    time, curves = table.time.values, table.values.reshape(table.sizes["time"], -1)
    curves = curves[:, np.isfinite(curves).all(axis=0)]
    if curves.shape[1] > 8:
        for low, high, alpha in ((5, 95, 0.18), (25, 75, 0.3)):
            bottom, top = np.percentile(curves, [low, high], axis=1)
            panel.fill_between(time, bottom, top, color=PALETTE[0], alpha=alpha, linewidth=0)
        panel.plot(time, np.median(curves, axis=1), color=INK, linewidth=1.3)
    else:
        panel.plot(time, curves, linewidth=1.3)
    titled(panel, name, "time (s)", "")
    panel.tick_params(colors=MUTED)
