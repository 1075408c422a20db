"""What a run leaves besides its states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dalembert.integrators.base import Result

__all__ = ["Happening", "Outcome"]


@dataclass(frozen=True)
class Happening:
    """An event that happened: when, and which."""

    time: float
    name: str


@dataclass(frozen=True)
class Outcome:
    """How a run went.

    Attributes:
        result: states at the output times.
        segments: (first output, parameters that differ from the model's) from each change of parameters on.
        events: what happened, in order.
        ended_by: the event that ended the run, if one did.
        trouble: why the run had to end, if native code cannot tell.
        notes: remarks for the certificate.
        projects: see ``Integrator.projects``.
    """

    result: Result
    segments: list[tuple[int, dict[str, float]]]
    events: list[Happening] = field(default_factory=lambda: [])
    ended_by: str | None = None
    trouble: str | None = None
    notes: tuple[str, ...] = ()
    projects: bool = False


def pieces(segments: list[tuple[int, dict[str, float]]], n: int) -> Iterator[tuple[slice, dict[str, float]]]:
    """Stretches of outputs with the same parameters."""
    ends = [start for start, _ in segments[1:]] + [n]
    for (start, parameters), end in zip(segments, ends, strict=True):
        if end > start:
            yield slice(start, end), parameters
