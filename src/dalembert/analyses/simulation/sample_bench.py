"""A place where one thread runs sample after sample: all records are made once, and set back to their first contents
before each run. What is left of Python between two native runs takes a small part of a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.analyses.simulation.drive import Driver
from dalembert.dynamics import Dynamics
from dalembert.integrators import Result, Status, loop
from dalembert.integrators.base import Stepwise
from dalembert.native import Record
from dalembert.native.records import reachable
from dalembert.numerics.context import Statistics
from dalembert.values import ARRAY

__all__ = ["Bench", "BenchRun"]


@dataclass(frozen=True)
class BenchRun:
    """How a run on a bench went: counts of the loop, what native functions saw, and see ``Outcome.projects``."""

    counts: tuple[int, int, int, int, float]
    statistics: np.ndarray
    projects: bool

    def result(self, times: np.ndarray, states: np.ndarray) -> Result:
        """As a driver gives it; the outputs lie elsewhere."""
        return Result(times, states, Status.FINISHED, float(times[-1]), states[-1], *self.counts)

    def seen(self) -> dict[str, float]:
        """Statistics by name."""
        record = Statistics()
        record.slot_words[:] = self.statistics
        return record.values()


class Bench:
    """Runs from the first to the last output time, of one thread.

    Args:
        dynamics, choice, times: as of a driver.
        start: a state (q, u, W) and parameters, for the lengths of all arrays.
    """

    def __init__(
        self, dynamics: Dynamics, choice: Choice, times: np.ndarray, start: np.ndarray, parameters: dict[str, float]
    ):
        driver = Driver(dynamics, choice, times, start, parameters)
        self._method: Any = driver.method
        self.dynamics, self.monitor = dynamics, driver.monitor
        self._context, self._memory, self._out = driver.context, driver.memory, driver.out
        stepper = self._method.stepper(driver.problem, driver.memory)
        self._call = loop.integrate.prepare(stepper, driver.problem, driver.memory, times, driver.out, driver.monitor)
        self._first = [(array, array.copy()) for array in _arrays([stepper, driver.problem, driver.context])]
        self._projects = bool(self._method.projects or driver.problem.staged)

    @staticmethod
    def takes(dynamics: Dynamics, choice: Choice) -> bool:
        """True for methods that take steps one by one and look at nothing of the start before they begin."""
        explicit = isinstance(choice.method, Stepwise) and set(choice.method.needs) <= {"rhs", "retract"}
        plain = not (dynamics.flat.events or dynamics.is_large or dynamics.kernels.assumes)
        return explicit and dynamics.variables is None and plain

    def run(self, start: np.ndarray, parameters: np.ndarray, out: np.ndarray) -> BenchRun | None:
        """Outputs of a sample from its start; None if it did not reach its end: then a driver tells more."""
        request = self.monitor.request
        for array, first in self._first:
            np.copyto(array, first)
        self.monitor.request = request
        context, memory = self._context, self._memory
        context.parameters[:] = parameters
        context.rank, context.holonomic_rank = self.dynamics.rows.held.get(parameters.tobytes(), (0, 0))
        memory.y[:] = start
        self._out[0] = start
        status = self._call()
        if status != Status.FINISHED:
            return None
        out[:] = self._out
        counts = memory.steps, memory.rejected, memory.evaluations, memory.narrow, memory.defect
        return BenchRun(counts, context.statistics.slot_words.copy(), self._projects)


def _arrays(records: list[Record]) -> list[np.ndarray]:
    """Numbers of all records that can be reached from some: their slots, and arrays of their own."""
    found: dict[int, np.ndarray] = {}
    for record in reachable(*records):
        found[record.slot_words.ctypes.data] = record.slot_words
        for kept in record.kept_values.values():
            if isinstance(kept, ARRAY) and kept.size:
                found[kept.ctypes.data] = kept
    return list(found.values())
