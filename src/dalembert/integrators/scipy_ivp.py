"""SciPy's integrators, to check ours by others' code.

Each step goes through Python. Steps are not retracted, outputs are: between them a constrained motion drifts as the
tolerance allows. A request to pause is not granted, as SciPy's methods cannot be written to a file; events are refused.

Reference: P. Virtanen et al., "SciPy 1.0", Nature Methods 17 (2020) 261-272; scipy.integrate.solve_ivp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np

from dalembert.errors import DalembertError
from dalembert.integrators import loop
from dalembert.integrators.base import AdaptiveSteps, Memory, Monitor, Problem, Status
from dalembert.integrators.switching import write
from dalembert.native import Native, native

__all__ = ["SciPy"]


class _Failure(Exception):
    """A native function has no value."""


@native
def _rate(p: Problem, given: np.ndarray, out: np.ndarray) -> int:
    """ẏ from (t, y)."""
    return p.rhs(given[0], given[1:], out)


@native
def _slopes(p: Problem, given: np.ndarray, out: np.ndarray) -> int:
    """∂ẏ/∂y from (t, y)."""
    return p.jacobian(given[0], given[1:], out)


def _function(function: Native, problem: Problem, *shape: int) -> Any:
    """A native function as SciPy wants it; its arguments have a fixed place, so that a call costs a microsecond."""
    given, out = np.empty(1 + problem.size), np.empty(shape)
    call = function.prepare(problem, given, out)

    def value(t: float, y: np.ndarray) -> np.ndarray:
        given[0], given[1:] = t, y
        if call() != 0:
            raise _Failure(function)
        return out.copy()

    return value


def _retracted(problem: Problem, t: float, y: np.ndarray) -> np.ndarray:
    y = np.array(y, dtype=float)
    if problem.retract(float(t), y, np.empty(len(y))) > 0:
        raise _Failure("retract")
    return y


@dataclass(frozen=True)
class SciPy(AdaptiveSteps):
    """The methods behind SciPy's solve_ivp, as a cross-check: slow, without pauses and events.

    Args:
        method: as solve_ivp names it.
        rtol, atol: local error allowed, relative and absolute.
    """

    method: Literal["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"] = "DOP853"
    rtol: float = 1e-10
    atol: float = 1e-12

    name: ClassVar[str] = "scipy"
    order: ClassVar[int] = 8

    def advance(self, problem: Problem, memory: Memory, times: np.ndarray, out: np.ndarray, monitor: Monitor) -> Status:
        if problem.n_events > problem.n_branches:
            raise DalembertError(
                f"integrator {self.name!r} does not handle events.  Fix: another integrator, such as 'dopri8'"
            )
        try:
            return self._steps(problem, memory, times, out, monitor)
        except _Failure:
            return Status.FAILED

    def _steps(self, problem: Problem, memory: Memory, times: np.ndarray, out: np.ndarray, monitor: Monitor) -> Status:
        from scipy import integrate  # a second of imports, for those who want it

        n = problem.size
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "max_step": self.max_step}
        if problem.jacobian is not None and self.method in ("Radau", "BDF", "LSODA"):
            options["jac"] = _function(_slopes, problem, n, n)
        rhs, before = _function(_rate, problem, n), memory.evaluations
        solver = getattr(integrate, self.method)(rhs, memory.t, memory.y.copy(), times[-1], **options)
        while solver.status == "running":
            monitor.reached = memory.t
            if monitor.request == loop.STOP:
                return Status.STOPPED
            if memory.steps >= self.max_steps:
                return Status.TOO_MANY_STEPS
            solver.step()
            memory.evaluations = before + solver.nfev
            if cast(str, solver.status) == "failed":
                break
            for i in range(memory.written, int(np.searchsorted(times, cast(float, solver.t), side="right"))):
                at_end = times[i] == solver.t
                found = _retracted(problem, times[i], solver.y if at_end else solver.dense_output()(times[i]))
                if write(problem, float(times[i]), found, out[i]) != 0:
                    raise _Failure("decode")
                memory.written = i + 1
            memory.y[:], memory.t = _retracted(problem, solver.t, solver.y), solver.t
            memory.steps += 1
        return Status.FINISHED if solver.status == "finished" else Status.STEP_TOO_SMALL
