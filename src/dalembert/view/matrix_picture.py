"""A picture of a labeled matrix: which entries there are, and how large they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.view.figures import with_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.modular import LabeledMatrix

__all__ = ["plot_matrix"]

MOST_LABELS = 60  # on one side; more would not be read


def plot_matrix(matrix: LabeledMatrix, path: str | os.PathLike[str] | None = None, *, title: str = "") -> Figure:
    """The entries of a matrix with its labels: numbers by color, red below zero and blue above; symbols filled.

    Args:
        path: a PNG, SVG or PDF file.
        title: heading.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = matrix.shape
    place = {column: j for j, column in enumerate(matrix.columns)}
    values = np.full((max(rows, 1), max(columns, 1)), np.nan)
    for i, row in enumerate(matrix.rows):
        for column, value in matrix.entries.get(row, {}).items():
            values[i, place[column]] = float(value) if matrix.al is NUMPY else 1.0
    figure = Figure(figsize=(2.0 + 0.22 * min(columns, MOST_LABELS), 1.4 + 0.22 * min(rows, MOST_LABELS)))
    FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained")
    axes = figure.add_subplot()
    largest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    image = axes.imshow(values, cmap="RdBu", vmin=-largest, vmax=largest, aspect="equal", interpolation="none")
    if columns <= MOST_LABELS:
        axes.set_xticks(range(columns), [str(label) for label in matrix.columns], rotation=90, fontsize=7)
    if rows <= MOST_LABELS:
        axes.set_yticks(range(rows), [str(label) for label in matrix.rows], fontsize=7)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#e4e7eb", linewidth=0.5)
    axes.tick_params(which="both", length=0)
    if matrix.al is NUMPY:
        figure.colorbar(image, ax=axes, shrink=0.8)
    if title:
        axes.set_xlabel(title)
    return with_file(figure, path)
