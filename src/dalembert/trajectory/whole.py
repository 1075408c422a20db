"""What a file of a run must hold: notes, arrays and times as runs have them. Files are changed by strangers."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.trajectory.outcome import Occurrence
from dalembert.trajectory.recorded import DIMENSIONS
from dalembert.values import DICT

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["check_whole", "read_events", "read_numbers", "read_segments", "read_text"]


def check_whole(data: xr.Dataset, notes: Iterable[str], arrays: Iterable[str]) -> None:
    """Notes, arrays with their dimensions, and what every run has besides: times that rise, events, parameters.

    Raises:
        ValueError: something is missing, or not as it should be.
    """
    for name in notes:
        if not isinstance(data.attrs.get(name), str):
            raise ValueError(f"its note {name!r} is missing or no text")
    for name in arrays:
        dimensions = DIMENSIONS[name]
        if data[name].dims != dimensions or data[name].dtype != float:
            raise ValueError(f"{name} must be numbers by {' and '.join(dimensions)}")
    times = data["time"].values
    if not (data["time"].dims == ("time",) and len(times) and np.isfinite(times).all() and (np.diff(times) >= 0).all()):
        raise ValueError("its times do not rise")
    read_events(json.loads(data.attrs.get("events", "[]")))
    read_segments(json.loads(data.attrs.get("parameters", "[[0, {}]]")), len(times))


def read_events(found: Any) -> list[Occurrence]:
    """Events that happened."""
    return [Occurrence(float(event["time"]), read_text(event["name"])) for event in found]


def read_segments(found: Any, written: int) -> list[tuple[int, dict[str, float]]]:
    """Stretches of outputs with their parameters, as a run makes them: from the first output on, in order."""
    segments = [(operator.index(start), read_numbers(values)) for start, values in found]
    starts = [start for start, _ in segments]
    if not starts or starts[0] != 0 or starts[-1] > written or starts != sorted(starts):
        raise ValueError(f"its segments begin at {starts}")
    return segments


def read_numbers(values: Any) -> dict[str, float]:
    """Numbers by name."""
    if not isinstance(values, DICT):
        raise TypeError(f"{values!r} are not numbers by name")
    return {read_text(name): float(value) for name, value in values.items()}


def read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
