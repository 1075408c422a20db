"""The contract of an integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

__all__ = ["Integrator", "Problem", "Result", "Status"]


class Status(IntEnum):
    """How a time loop ended."""

    FINISHED = 0
    STEP_TOO_SMALL = 1
    FAILED = 2
    TOO_MANY_STEPS = 3
    STOPPED = 4


@dataclass(frozen=True)
class Problem:
    """What is to be integrated, as addresses of native functions (see ``integrators.native``).

    Attributes:
        rhs, retract: ẏ = f(t, y), and y back onto its manifold.
        context: handed to both.
        owner: kept alive as long as the problem.
    """

    rhs: int
    retract: int
    context: int
    owner: Any = None


@dataclass(frozen=True)
class Result:
    """States at the output times that were reached.

    Attributes:
        time, states: one row for each output.
        status: how it ended; ``end`` is the time reached.
    """

    time: np.ndarray
    states: np.ndarray
    status: Status
    end: float
    steps: int
    rejected: int
    evaluations: int


class Integrator(ABC):
    """How time passes. Frozen options; knows functions and a retraction, nothing of mechanics.

    Attributes:
        name: as users call it.
        order: of convergence.
        adaptive: True if it chooses its steps.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    adaptive: ClassVar[bool]

    @abstractmethod
    def run(self, problem: Problem, y: np.ndarray, times: np.ndarray, monitor: np.ndarray) -> Result:
        """Integrate from times[0] through all times.

        Args:
            y: state at times[0], on its manifold.
            times: where the solution is wanted, increasing.
            monitor: two floats shared with the caller: [0] the time reached so far, [1] set non-zero to stop.
        """
