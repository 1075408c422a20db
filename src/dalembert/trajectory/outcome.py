"""What a run leaves besides its states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from dalembert.integrators.base import Integrator, Result, Status
from dalembert.numerics.along import changes_most

__all__ = ["Occurrence", "Outcome", "pieces"]

# So many outputs stand for all where an evaluation is dear, and those between which an entry changes most in each part
# of the run; and so many where an evaluation tells of all that are near, or an error need be known to a decade only.
SOME, PARTS, FEW = 120, 8, 32


@dataclass(frozen=True)
class Occurrence:
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
    events: list[Occurrence] = field(default_factory=lambda: [])
    ended_by: str | None = None
    trouble: str | None = None
    notes: tuple[str, ...] = ()
    projects: bool = False
    method: Integrator | None = None
    times: np.ndarray | None = None
    undefined: dict[int, tuple[int, float]] = field(default_factory=lambda: {})

    @cached_property
    def finished(self) -> bool:
        """The run reached its end, or one that an event made, and its states are finite."""
        ended = self.result.status == Status.FINISHED or self.ended_by is not None
        return ended and bool(np.all(np.isfinite(self.result.states)))

    @cached_property
    def some(self) -> np.ndarray:
        """Numbers of some outputs in rising order: evenly, and on both sides of where something happens; all of them if
        there are few. Those that were asked for and not reached are among them."""
        n = self._asked
        change = np.abs(np.diff(self.result.states[:n], axis=0))
        length = len(change) // PARTS
        within = change[: PARTS * length].reshape(PARTS, length, -1).argmax(axis=1) if length else np.empty((0, 0), int)
        before = within + length * np.arange(len(within))[:, None]
        return self._spread(SOME, before, before + 1, np.arange(PARTS * length, len(change)) + 1)

    @property
    def few(self) -> np.ndarray:
        """Fewer of them: evenly, and on both sides of where each entry changes most, and of where any of them does,
        relative to its largest change, in each part of the run."""
        return self._spread(FEW, self._turns, np.maximum(self._turns - 1, 0))

    @property
    def fewest(self) -> np.ndarray:
        """Evenly, and behind the change that is the largest share in each part of the run."""
        return self._spread(FEW, self._turns[-PARTS:])

    @cached_property
    def _turns(self) -> np.ndarray:
        return changes_most(self.result.states[: self._asked], PARTS)

    @property
    def _asked(self) -> int:
        return len(self.result.time if self.times is None else self.times)

    def _spread(self, count: int, *others: np.ndarray) -> np.ndarray:
        """So many outputs, evenly, and others; all if there are no more."""
        n = self._asked
        if n <= count:
            return np.arange(n)
        chosen = _evenly(n, count).copy()
        for places in others:
            chosen[places] = True
        return np.flatnonzero(chosen)


@lru_cache(maxsize=100)
def _evenly(n: int, count: int) -> np.ndarray:
    """Which of n outputs are so many evenly spaced ones, and the first."""
    chosen = np.zeros(n, dtype=bool)
    chosen[(np.arange(count + 1) * ((n - 1) / count) + 0.5).astype(int)] = True
    return chosen


def pieces(segments: list[tuple[int, dict[str, float]]], n: int) -> Iterator[tuple[slice, dict[str, float]]]:
    """Stretches of outputs with the same parameters."""
    ends = [start for start, _ in segments[1:]] + [n]
    for (start, parameters), end in zip(segments, ends, strict=True):
        if end > start:
            yield slice(start, end), parameters
