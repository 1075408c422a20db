"""The contract of an integrator."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import DalembertError
from dalembert.integrators import ends, loop
from dalembert.integrators.problem import Memory, Monitor, Problem, Step, Stepper

__all__ = [
    "AdaptiveSteps", "EqualSteps", "Integrator", "Memory", "Monitor", "Problem", "Result", "Status", "Step", "Stepper",
    "Stepwise",
]  # fmt: skip


class Status(IntEnum):
    """How a time loop ended."""

    FINISHED = ends.FINISHED
    STEP_TOO_SMALL = ends.STEP_TOO_SMALL
    FAILED = ends.FAILED
    TOO_MANY_STEPS = ends.TOO_MANY_STEPS
    STOPPED = ends.STOPPED
    PAUSED = ends.PAUSED
    EVENT = ends.EVENT
    STIFF = ends.STIFF
    NO_CONVERGENCE = ends.NO_CONVERGENCE
    NO_HEADWAY = ends.NO_HEADWAY
    ILL_CONDITIONED = ends.ILL_CONDITIONED


@dataclass(frozen=True)
class Result:
    """States at the output times that were reached.

    Attributes:
        time, states: one row for each output.
        status: how it ended; ``end`` is the time reached, ``last`` the state there.
        narrow: steps that were cut because the method did not see what happens within them.
        defect: the largest difference between the solution within a step and the equations, in tolerances.
        switches: how often a formula went over to another branch;  jolts: how often velocities jumped there.
    """

    time: np.ndarray
    states: np.ndarray
    status: Status
    end: float
    last: np.ndarray
    steps: int
    rejected: int
    evaluations: int
    narrow: int = 0
    defect: float = 0.0
    switches: int = 0
    jolts: int = 0


class Integrator(ABC):
    """How time passes. Frozen options; knows functions and a retraction, nothing of mechanics.

    All that the loop must remember between two steps is in one record, its memory; so a run can be paused, written to a
    file and resumed without a change in any bit.

    Attributes:
        name: as users call it.
        order: of convergence.
        adaptive: True if it chooses its steps.
        needs: functions of the problem that it calls, by their names in ``Problem``; "index-1" or "ggl" for a
            differential-algebraic form. An option may change them: ask an instance.
        projects: True if leading velocities back onto the constraints is part of the method itself, so that the size
            of that correction tells nothing.
        jumps: True if velocities jump within its steps: contacts are its own work, not that of events.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    adaptive: ClassVar[bool]
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract")
    projects: ClassVar[bool] = False
    jumps: ClassVar[bool] = False

    def memory(self, problem: Problem) -> Memory:
        """An empty memory; a method that remembers more than time and state has a class of its own for it."""
        return Memory(size=problem.size, n_events=problem.n_events)

    @abstractmethod
    def advance(self, problem: Problem, memory: Any, times: np.ndarray, out: np.ndarray, monitor: Monitor) -> Status:
        """Go on from where the memory stands until the end, an event, or a request of the caller.

        Args:
            memory: made by ``start``.
            times: where the solution is wanted, increasing; times[0] is where the run began.
            out: states at those times, written as they are reached.
            monitor: shows the time reached so far, and is asked for the caller's request.
        """

    def start(self, problem: Problem, t: float, y: np.ndarray, written: int = 1) -> Memory:
        """The memory of a run that begins at (t, y), with ``written`` outputs done.

        Raises:
            DalembertError: the problem lacks a function that the method calls.
        """
        self._check(problem)
        memory = self.memory(problem)
        memory.t, memory.written = t, written
        memory.y[:] = y
        return memory

    def _check(self, problem: Problem) -> None:
        """Native code would call what is not there."""
        wanted = [name if hasattr(problem, name) else "dae" for name in self.needs]
        wanted += ["events"] if problem.n_events else []
        missing = [name for name in dict.fromkeys(wanted) if getattr(problem, name) is None]
        if missing:
            raise DalembertError(
                f"integrator {self.name!r} calls {', '.join(missing)} of a problem, which this one does not have.  "
                f"Fix: an integrator that needs less, such as 'dopri8', or Problem({missing[0]}=…)"
            )

    def run(self, problem: Problem, y: np.ndarray, times: np.ndarray, monitor: Monitor | None = None) -> Result:
        """Integrate from times[0] through all times, without events in between."""
        times = np.ascontiguousarray(times, dtype=float)
        out = np.empty((len(times), problem.width))
        memory = self.start(problem, float(times[0]), y)
        problem.write(memory.t, memory.y, out[0])
        status = self.advance(problem, memory, times, out, Monitor() if monitor is None else monitor)
        return result(problem, status, memory, times, out)


@dataclass(frozen=True, kw_only=True)
class AdaptiveSteps(Integrator):
    """A method that chooses the length of its steps.

    Args:
        max_step: longest step (s).
        max_steps: most steps before the run is given up.
    """

    max_step: float = math.inf
    max_steps: int = 10_000_000

    adaptive: ClassVar[bool] = True


class Stepwise(Integrator):
    """A method that says how it takes one step; the loop, which is the same for all of them, does the rest."""

    @abstractmethod
    def stepper(self, problem: Problem, memory: Any) -> Stepper:
        """Its native functions, bound to the working space of a run."""

    def advance(self, problem: Problem, memory: Any, times: np.ndarray, out: np.ndarray, monitor: Monitor) -> Status:
        return Status(loop.integrate(self.stepper(problem, memory), problem, memory, times, out, monitor))


@dataclass(frozen=True)
class EqualSteps(Stepwise):
    """A method whose steps have one length.

    Args:
        step: longest step (s).
        max_steps: most steps before the run is given up.
    """

    step: float = 1e-3
    max_steps: int = 1_000_000_000

    adaptive: ClassVar[bool] = False


def result(problem: Problem, status: Status, memory: Memory, times: np.ndarray, out: np.ndarray) -> Result:
    """What a memory tells about its run; the last state is not finite if the method got lost."""
    written, last = memory.written, np.full(out.shape[1], np.nan)
    problem.write(memory.t, memory.y, last)
    m = memory
    counts = m.steps, m.rejected, m.evaluations, m.narrow, m.defect, m.switches, m.jolts
    return Result(times[:written], out[:written], status, m.t, last, *counts)
