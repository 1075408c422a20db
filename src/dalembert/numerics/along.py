"""Many rows of numbers, as native code: what is largest in each column, and where they change most."""

from __future__ import annotations

import numpy as np

from dalembert.native import native

__all__ = ["changes_most", "largest_along"]


def largest_along(rows: np.ndarray) -> np.ndarray:
    """The largest number of each column in size, NaN where one is; 0 without rows."""
    largest = np.zeros(rows.shape[1])
    _largest(rows, largest)
    return largest


def changes_most(rows: np.ndarray, parts: int) -> np.ndarray:
    """Numbers of the rows after the largest change of each column; then, for each of so many parts, after the change
    that is the largest share of that. 0 where nothing changes."""
    places = np.zeros(rows.shape[1] + parts, dtype=np.int64)
    _changes(rows, places)
    return places


@native
def _largest(rows: np.ndarray, largest: np.ndarray):
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            size = abs(rows[i, j])
            if size > largest[j] or size != size:
                largest[j] = size


@native
def _changes(rows: np.ndarray, places: np.ndarray):
    n, columns = rows.shape
    largest, parts = np.zeros(columns), places.shape[0] - columns
    for i in range(1, n):
        for j in range(columns):
            change = abs(rows[i, j] - rows[i - 1, j])
            if change > largest[j]:
                largest[j], places[j] = change, i
    for k in range(parts):
        most = 0.0
        for i in range(1 + (n - 1) * k // parts, 1 + (n - 1) * (k + 1) // parts):
            for j in range(columns):
                change = abs(rows[i, j] - rows[i - 1, j])
                if change > most * largest[j]:
                    most, places[columns + k] = change / largest[j], i
