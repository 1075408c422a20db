"""SciPy's integrators, to check ours by others' code.

Each step goes through Python. Steps are not retracted, outputs are: between them a constrained motion drifts as the
tolerance allows. A wish to pause is not granted, as SciPy's methods cannot be written to a file; events are refused.

Reference: P. Virtanen et al., "SciPy 1.0", Nature Methods 17 (2020) 261-272; scipy.integrate.solve_ivp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numba import njit

from dalembert.errors import DalembertError
from dalembert.integrators import loop
from dalembert.integrators.base import Integrator, Problem, Status
from dalembert.numerics.native import call_address

__all__ = ["SciPy"]


class _Failure(Exception):
    """A native function has no value."""


@njit(cache=True, nogil=True)
def _call(address, context, t, y, out):
    return call_address(address, context, t, y, out)


def _function(problem: Problem, name: str, size: int) -> Any:
    """A native function as SciPy wants it."""

    def value(t: float, y: np.ndarray) -> np.ndarray:
        out = np.empty(size)
        if _call(problem[name], problem["context"], t, np.ascontiguousarray(y), out) != 0:
            raise _Failure(name)
        return out

    return value


def _retracted(problem: Problem, t: float, y: np.ndarray) -> np.ndarray:
    y = np.array(y, dtype=float)
    if _call(problem["retract"], problem["context"], t, y, np.empty(len(y))) > 0:
        raise _Failure("retract")
    return y


@dataclass(frozen=True)
class SciPy(Integrator):
    """The methods behind SciPy's solve_ivp, as a cross-check: slow, without pauses and events.

    Args:
        method: as solve_ivp names it.
        rtol, atol: local error allowed, relative and absolute.
        max_step: longest step (s).
        max_steps: gives up after so many.
    """

    method: Literal["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"] = "DOP853"
    rtol: float = 1e-10
    atol: float = 1e-12
    max_step: float = math.inf
    max_steps: int = 10_000_000

    name: ClassVar[str] = "scipy"
    order: ClassVar[int] = 8
    adaptive: ClassVar[bool] = True

    def memory_size(self, problem: Problem) -> int:
        return 0

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        if problem["n_events"] > 0:
            raise DalembertError(
                f"integrator {self.name!r} knows no events.  Fix: another integrator, such as 'dopri8'"
            )
        try:
            return self._steps(problem, memory, times, out, monitor)
        except _Failure:
            return Status.FAILED

    def _steps(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        from scipy import integrate  # a second of imports, for those who want it

        y, n = loop.state(problem.table, memory), problem["size"]
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "max_step": self.max_step}
        if problem["jacobian"] and self.method in ("Radau", "BDF", "LSODA"):
            jacobian = _function(problem, "jacobian", n * n)
            options["jac"] = lambda t, y: jacobian(t, y).reshape(n, n)
        rhs, before = _function(problem, "rhs", n), memory[loop.EVALUATIONS]
        solver = getattr(integrate, self.method)(rhs, memory[loop.T], y.copy(), times[-1], **options)
        while solver.status == "running":
            monitor[0] = memory[loop.T]
            if monitor[1] == loop.STOP:
                return Status.STOPPED
            if memory[loop.STEPS] >= self.max_steps:
                return Status.TOO_MANY_STEPS
            solver.step()
            memory[loop.EVALUATIONS] = before + solver.nfev
            if solver.status == "failed":
                break
            for i in range(int(memory[loop.WRITTEN]), int(np.searchsorted(times, solver.t, side="right"))):
                at_end = times[i] == solver.t
                found = _retracted(problem, times[i], solver.y if at_end else solver.dense_output()(times[i]))
                if loop.write(problem.table, times[i], found, out[i]) != 0:
                    raise _Failure("decode")
                memory[loop.WRITTEN] = i + 1
            y[:], memory[loop.T] = _retracted(problem, solver.t, solver.y), solver.t
            memory[loop.STEPS] += 1
        return Status.FINISHED if solver.status == "finished" else Status.STEP_TOO_SMALL
