"""Which color a curve gets: the same name keeps its color from panel to panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.view.scene import PALETTE, Plot

__all__ = ["series_colors"]


def series_colors(plots: Sequence[Plot], known: Mapping[str, str] | None = None) -> list[dict[str, str]]:
    """For each plot, series name to hex color.

    A name in ``known`` (the bodies) or in an earlier plot keeps its color; other names take the first
    palette color that is free in their plot. More series than colors start the palette again.
    """
    seen = dict(known or {})
    tables: list[dict[str, str]] = []
    for plot in plots:
        table: dict[str, str] = {}
        for name in plot.series:
            if name in seen and seen[name] not in table.values():
                table[name] = seen[name]
        for k, name in enumerate(plot.series):
            if name not in table:
                free = (color for color in PALETTE if color not in table.values())
                table[name] = next(free, PALETTE[k % len(PALETTE)])
                seen.setdefault(name, table[name])
        tables.append(table)
    return tables
