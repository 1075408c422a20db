"""The contract of an integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from dalembert.integrators import loop

__all__ = ["Integrator", "Problem", "Result", "Status"]


class Status(IntEnum):
    """How a time loop ended."""

    FINISHED = loop.FINISHED
    STEP_TOO_SMALL = loop.STEP_TOO_SMALL
    FAILED = loop.FAILED
    TOO_MANY_STEPS = loop.TOO_MANY_STEPS
    STOPPED = loop.STOPPED
    PAUSED = loop.PAUSED
    EVENT = loop.EVENT
    STIFF = loop.STIFF
    NO_CONVERGENCE = loop.NO_CONVERGENCE


@dataclass(frozen=True)
class Problem:
    """What is to be integrated: addresses of native functions and sizes (see ``integrators.loop``).

    Attributes:
        table: the numbers that native loops read, by the names in ``integrators.loop``.
        owner: kept alive as long as the problem.
    """

    table: np.ndarray
    owner: Any = None

    @classmethod
    def of(cls, size: int, owner: Any = None, **entries: int) -> Problem:
        """A problem with a state of ``size`` numbers; entries by the names of ``loop.TABLE``, in lower case."""
        table = np.zeros(len(loop.TABLE), dtype=np.int64)
        table[loop.SIZE] = size
        for name, value in entries.items():
            table[loop.TABLE.index(name)] = value
        return cls(table, owner)

    def __getitem__(self, name: str) -> int:
        return int(self.table[loop.TABLE.index(name)])


@dataclass(frozen=True)
class Result:
    """States at the output times that were reached.

    Attributes:
        time, states: one row for each output.
        status: how it ended; ``end`` is the time reached, ``last`` the state there.
    """

    time: np.ndarray
    states: np.ndarray
    status: Status
    end: float
    last: np.ndarray
    steps: int
    rejected: int
    evaluations: int


class Integrator(ABC):
    """How time passes. Frozen options; knows functions and a retraction, nothing of mechanics.

    All that a loop must remember between two steps is in one array, its memory; so a run can be paused, written to a
    file and resumed without a change in any bit.

    Attributes:
        name: as users call it.
        order: of convergence.
        adaptive: True if it chooses its steps.
        needs: functions of the problem that it calls, by the names of ``loop.TABLE``; "index-1" or "ggl" for a
            differential-algebraic form. An option may change them: ask an instance.
        projects: True if leading velocities back onto the constraints is part of the method itself, so that the size
            of that correction tells nothing.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    adaptive: ClassVar[bool]
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract")
    projects: ClassVar[bool] = False

    @abstractmethod
    def memory_size(self, problem: Problem) -> int:
        """How many numbers the method itself remembers, besides state and events."""

    @abstractmethod
    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        """Go on from where the memory stands until the end, an event, or a wish of the caller.

        Args:
            memory: made by ``start``.
            times: where the solution is wanted, increasing; times[0] is where the run began.
            out: states at those times, written as they are reached.
            monitor: two floats shared with the caller: [0] the time reached so far; [1] a wish, 1 to stop for good,
                2 to pause.
        """

    def start(self, problem: Problem, t: float, y: np.ndarray, written: int = 1) -> np.ndarray:
        """The memory of a run that begins at (t, y), with ``written`` outputs done."""
        n = len(y)
        memory = np.zeros(loop.HEADER + n + problem["n_events"] + self.memory_size(problem))
        memory[loop.T], memory[loop.WRITTEN] = t, written
        memory[loop.HEADER : loop.HEADER + n] = y
        return memory

    def run(self, problem: Problem, y: np.ndarray, times: np.ndarray, monitor: np.ndarray | None = None) -> Result:
        """Integrate from times[0] through all times, without events in between."""
        times = np.ascontiguousarray(times, dtype=float)
        out = np.empty((len(times), problem["nq"] + problem["nv"] + 1 if problem["decode"] else len(y)))
        memory = self.start(problem, times[0], y)
        loop.write(problem.table, times[0], np.asarray(y, dtype=float), out[0])
        status = self.advance(problem, memory, times, out, np.zeros(2) if monitor is None else monitor)
        return result(problem, status, memory, times, out)


def result(problem: Problem, status: Status, memory: np.ndarray, times: np.ndarray, out: np.ndarray) -> Result:
    """What a memory tells about its run; the last state is not finite if the method got lost."""
    written, last = int(memory[loop.WRITTEN]), np.full(out.shape[1], np.nan)
    loop.write(problem.table, memory[loop.T], loop.state(problem.table, memory), last)
    counts = (int(memory[i]) for i in (loop.STEPS, loop.REJECTED, loop.EVALUATIONS))
    return Result(times[:written], out[:written], status, float(memory[loop.T]), last, *counts)
