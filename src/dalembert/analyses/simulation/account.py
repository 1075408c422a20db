"""What a run has to say besides its states: what happened, how often, and what is worth a remark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dalembert.integrators.base import Memory, Result
from dalembert.trajectory.outcome import Occurrence

__all__ = [
    "ENDLESS", "MOST_EVENTS", "OVERLOOKED", "QUICK_AMONG", "QUICK_EVENTS", "QUICK_TIME", "Account", "jolts",
    "overlooked",
]  # fmt: skip

# A run with more events than this, or with so many of one kind (among so many of all) within so short a time (s),
# bounces without end.
MOST_EVENTS = 100_000
QUICK_EVENTS, QUICK_AMONG, QUICK_TIME = 4, 16, 1e-6

ENDLESS = (
    "event {name!r} happens faster and faster ({count} events): something bounces and comes to rest. Fix: let an event "
    "switch on a constraint that holds it, or make the stop a stiff spring and damper"
)
OVERLOOKED = (
    "{many} cut where something happens within a step, such as a short force or a kink; anything shorter than "
    "{spacing} s may be missed (step=… limits the steps)"
)
SOFTENED = (
    "in {count} impacts the restitution given would have added energy, as restitution with friction can; it was "
    "lowered until none is added (by a factor of {least:.3g} at least)"
)
JOLTS = (
    "velocities jump by {size:.3g} at t = {time:.6g} s, where {names} switches to another branch{more}: "
    "only an impulse could do that.  Fix: formulas whose rates do not jump"
)

_COUNTS = ("steps", "rejected", "evaluations", "narrow", "switches", "jolts")


@dataclass
class Account:
    """Parameters, events, counts and remarks of a run.

    Attributes:
        parameters: that differ from the model's at present.
        segments: (first output, parameters) from each change of parameters on.
        events: what happened, in order.
        notes: remarks for the certificate, made on the way.
        counts, defect, undefined: of the pieces of the run that are over; see ``Memory`` and ``Outcome``.
        statistics: of the context of the last one.
        lost: energy that impacts took (J).
        softened: factors of restitution that were lowered.
    """

    parameters: dict[str, float]
    segments: list[tuple[int, dict[str, float]]] = field(init=False)
    events: list[Occurrence] = field(default_factory=list[Occurrence])
    notes: list[str] = field(default_factory=list[str])
    counts: np.ndarray = field(default_factory=lambda: np.zeros(len(_COUNTS), dtype=np.int64))
    defect: float = 0.0
    undefined: dict[int, tuple[int, float]] = field(default_factory=dict[int, tuple[int, float]])
    statistics: dict[str, float] = field(default_factory=dict[str, float])
    lost: float = 0.0
    softened: list[float] = field(default_factory=list[float])

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """The run begins with the parameters of now."""
        self.segments = [(0, dict(self.parameters))]

    def happened(self, t: float, name: str) -> None:
        """An event."""
        self.events.append(Occurrence(t, name))

    def change(self, written: int) -> None:
        """The parameters of now hold from this output on."""
        self.segments.append((written, dict(self.parameters)))

    def close(self, memory: Memory, statistics: dict[str, float], branching: Callable[[int], str]) -> None:
        """A piece of the run is over; another one goes on from there. See ``jolts``."""
        self.counts, self.defect = self.totals(memory), max(self.defect, memory.defect)
        self.notes += jolts(memory, branching)
        self.statistics = statistics
        self.undefined = self.all_undefined(memory)

    def totals(self, memory: Memory) -> np.ndarray:
        """Counts with those of the present piece."""
        return self.counts + [getattr(memory, name) for name in _COUNTS]

    def all_undefined(self, memory: Memory) -> dict[int, tuple[int, float]]:
        """Events that were no number so far, see ``Outcome``."""
        found = dict(self.undefined)
        for i in np.flatnonzero(memory.undefined).tolist():
            count, first = found.get(i, (0, float(memory.undefined_at[i])))
            found[i] = count + int(memory.undefined[i]), first
        return found

    def counted(self, found: Result, memory: Memory) -> Result:
        """The result of the last piece with the counts of all; with its last state if that lies beyond the outputs."""
        if self.counts.any() or self.defect:
            counts = dict(zip(_COUNTS, self.totals(memory).tolist(), strict=True))
            found = replace(found, **counts, defect=max(self.defect, memory.defect))
        if found.end > found.time[-1] and np.all(np.isfinite(found.last)):
            times, states = np.append(found.time, found.end), np.vstack([found.states, found.last])
            found = replace(found, time=times, states=states)
        return found

    def endless(self, bounces: bool) -> str | None:
        """Why the run has to end with its last event, in words, if such events come faster and faster.

        Args:
            bounces: whether a few of one kind within no time show that; of contacts and friction they do not.
        """
        name, time = self.events[-1].name, self.events[-1].time
        # Others, as of friction that stops, may happen in between.
        same = [event.time for event in self.events[-QUICK_AMONG:] if event.name == name][-QUICK_EVENTS:]
        quick = bounces and len(same) == QUICK_EVENTS and time - same[0] < QUICK_TIME
        if quick or len(self.events) >= MOST_EVENTS:
            return ENDLESS.format(name=name, count=len(self.events))
        return None

    def impacts(self) -> list[str]:
        """What impacts took, and where they took less than was asked for, in words."""
        hits = sum(event.name.endswith((" hit", " hit above")) for event in self.events)
        said = [f"{hits} impact{'s' * (hits > 1)} took {self.lost:.6g} J"] if self.lost and hits else []
        if self.softened:
            said.append(SOFTENED.format(count=len(self.softened), least=min(self.softened)))
        return said


def jolts(memory: Memory, branching: Callable[[int], str]) -> list[str]:
    """Jumps of velocities since the method began, in words.

    Args:
        branching: the constraints behind a branch, by the number of its event from 1 on.
    """
    if not memory.jolts:
        return []
    more = f" (the largest of {memory.jolts} such jumps)" if memory.jolts > 1 else ""
    names = branching(memory.jolted_by)
    return [JOLTS.format(size=memory.jolt, time=memory.jolted_at, names=names, more=more)]


def overlooked(found: Result, spacing: float) -> list[str]:
    """What branches of formulas and the guard of steps had to do, in words."""
    notes: list[str] = []
    if found.switches:
        times = f"{found.switches} times" if found.switches > 1 else "once"
        notes.append(f"formulas went over to another branch (if, abs, sign, min, max) {times}, found as events")
    if not found.narrow:
        return notes
    many = f"{found.narrow} steps were" if found.narrow > 1 else "a step was"
    return [*notes, OVERLOOKED.format(many=many, spacing=f"{spacing:.2g}")]
