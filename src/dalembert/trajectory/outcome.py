"""What a run leaves besides its states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dalembert.integrators.base import Integrator, Result, Status

__all__ = ["Happening", "Outcome", "pieces"]

# So many outputs stand for all where an evaluation is dear, and those where an entry changes most in each part of the
# run.
SOME, PARTS = 120, 8


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
        method: the integrator, at the end of the run.
        times: outputs that were asked for.
        undefined: number of each event that was no number within steps, at how many places, and the first time.
    """

    result: Result
    segments: list[tuple[int, dict[str, float]]]
    events: list[Happening] = field(default_factory=lambda: [])
    ended_by: str | None = None
    trouble: str | None = None
    notes: tuple[str, ...] = ()
    projects: bool = False
    method: Integrator | None = None
    times: np.ndarray | None = None
    undefined: dict[int, tuple[int, float]] = field(default_factory=lambda: {})

    @property
    def finished(self) -> bool:
        """The run reached its end, or one that an event made, and its states are finite."""
        ended = self.result.status == Status.FINISHED or self.ended_by is not None
        return ended and bool(np.all(np.isfinite(self.result.states)))

    @cached_property
    def some(self) -> np.ndarray:
        """Numbers of some outputs in rising order: evenly, and where something happens; all of them if there are few.
        Those that were asked for and not reached are among them."""
        n, states = len(self.result.time if self.times is None else self.times), self.result.states
        if n <= SOME:
            return np.arange(n)
        chosen = np.zeros(n, dtype=bool)
        chosen[np.linspace(0, n - 1, SOME + 1).round().astype(int)] = True
        change = np.abs(np.diff(states[:n], axis=0))
        length = len(change) // PARTS
        if length:
            parts = change[: PARTS * length].reshape(PARTS, length, -1)
            before = np.arange(0, PARTS * length, length)[:, None] + parts.argmax(axis=1)
            # A peak of one output is at one end of the largest change, the way up or the way down.
            chosen[before] = chosen[before + 1] = True
        chosen[1 + PARTS * length : 1 + len(change)] = True
        return np.flatnonzero(chosen)


def pieces(segments: list[tuple[int, dict[str, float]]], n: int) -> Iterator[tuple[slice, dict[str, float]]]:
    """Stretches of outputs with the same parameters."""
    ends = [start for start, _ in segments[1:]] + [n]
    for (start, parameters), end in zip(segments, ends, strict=True):
        if end > start:
            yield slice(start, end), parameters
