"""Driving a native time loop: watching, events, checkpoints, and a change of method where a problem turns out stiff."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.checkpoint import Checkpoint
from dalembert.dynamics import Context, Dynamics
from dalembert.errors import SimulationError
from dalembert.formulations import Equations
from dalembert.integrators import Integrator, Status, loop
from dalembert.integrators.base import result
from dalembert.numerics.linear import OK, solve_constrained
from dalembert.numerics.native import call_address
from dalembert.trajectory.outcome import Happening, Outcome

__all__ = ["Driver"]

# A run with more events than this, or with so many of one kind within so short a time (s), bounces without end.
MOST_EVENTS = 100_000
QUICK_EVENTS, QUICK_TIME = 4, 1e-6
# How far positions may be open when a constraint is switched on (m, rad).
SWITCH_TOLERANCE = 1e-6
WATCH_PERIOD = 0.05

_COUNTS = (loop.STEPS, loop.REJECTED, loop.EVALUATIONS)


class Driver:
    """One run through all output times.

    Args:
        method: the integrator.
        fallback: what to take instead if the problem turns out stiff; None to go on.
        settle: sets stabilisation and projection of a new context.
        checkpoint: where to keep the run from time to time.

    Attributes:
        seconds: wall time that the time loop took so far.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        method: Integrator,
        times: np.ndarray,
        x: np.ndarray,
        parameters: dict[str, float],
        *,
        fallback: Integrator | None = None,
        settle: Callable[[Context], None] = lambda context: None,
        progress: Callable[[float], None] | None = None,
        checkpoint: Checkpoint | None = None,
    ):
        self.dynamics, self.method, self.times, self.fallback = dynamics, method, times, fallback
        self.settle, self.progress, self.checkpoint = settle, progress, checkpoint
        self.parameters = dict(parameters)
        self.segments: list[tuple[int, dict[str, float]]] = [(0, dict(parameters))]
        self.events: list[Happening] = []
        self.notes: list[str] = []
        self.out = np.empty((len(times), len(x)))
        self.out[0] = x
        self.monitor = np.array([times[0], 0.0])
        self.counts = np.zeros(len(_COUNTS))
        self.statistics: np.ndarray | None = None
        self.seconds = 0.0
        self.begin(float(times[0]), x, 1)

    def begin(self, t: float, x: np.ndarray, written: int, happened: int = 0, active: np.ndarray | None = None) -> None:
        """A new start of the method at t with x = (q, u, W)."""
        self.problem, self.context = self.dynamics.problem(self.parameters, self.method.needs, (t, x), active)
        self.settle(self.context)
        if self.dynamics.form is None:
            self.problem.table[loop.STAGED] = self.context.rhs != self.problem["rhs"]
            self.problem.table[loop.RHS] = self.context.rhs
        y, form = x, self.dynamics.form
        if form is not None:
            y = np.zeros(form.size)
            if call_address(form.encode, self.context.address, t, x, y) > 0:
                raise SimulationError(f"the run cannot begin: {self.context.failure()}")
        if self.statistics is not None:
            self.context.statistics[:] = self.statistics
        self.memory = self.method.start(self.problem, t, y, written)
        self.memory[loop.EVENT_INDEX] = happened

    def run(self) -> Outcome:
        """Go to the end, or as far as possible."""
        if self.checkpoint is not None:
            self.checkpoint.restore(self)
        ended_by = trouble = None
        while True:
            status = self._advance()
            if status == Status.PAUSED:
                assert self.checkpoint is not None
                self.checkpoint.save(self)
            elif status == Status.STIFF and self.fallback is not None:
                self._change_method()
            elif status == Status.EVENT:
                ended_by, trouble = self._react()
                if ended_by or trouble:
                    break
                if self.memory[loop.WRITTEN] == len(self.times):
                    status = Status.FINISHED
                    break
            else:
                break
        if self.checkpoint is not None and status != Status.STOPPED:
            self.checkpoint.remove()
        # Estimates of the error are led back too where stages are.
        notes, projects = tuple(self.notes), self.method.projects or bool(self.problem["staged"])
        return Outcome(self._result(status), self.segments, self.events, ended_by, trouble, notes, projects)

    # States of the run

    @property
    def time(self) -> float:
        return float(self.memory[loop.T])

    @property
    def state(self) -> np.ndarray:
        """(q, u, W), not finite if the method got lost."""
        x = np.full(self.out.shape[1], np.nan)
        loop.write(self.problem.table, self.time, loop.state(self.problem.table, self.memory), x)
        return x

    @property
    def written(self) -> int:
        return int(self.memory[loop.WRITTEN])

    def _result(self, status: Status) -> Any:
        """The outputs, and the last state if it lies beyond them."""
        found = result(self.problem, status, self.memory, self.times, self.out)
        totals = self.counts + [self.memory[i] for i in _COUNTS]
        found = replace(found, steps=int(totals[0]), rejected=int(totals[1]), evaluations=int(totals[2]))
        if found.end > found.time[-1] and np.all(np.isfinite(found.last)):
            times, states = np.append(found.time, found.end), np.vstack([found.states, found.last])
            found = replace(found, time=times, states=states)
        return found

    def _change_method(self) -> None:
        assert self.fallback is not None
        t, x, written = self.time, self.state, self.written
        self.notes.append(
            f"{self.method.name} found the problem stiff at t = {t:.4g} s; {self.fallback.name} went on from there"
        )
        self._keep()
        self.method, self.fallback = self.fallback, None
        self.begin(t, x, written)

    def _keep(self) -> None:
        """Counts and statistics go on over a new start."""
        self.counts += [self.memory[i] for i in _COUNTS]
        self.statistics = self.context.statistics.copy()

    # The native loop

    def _advance(self) -> Status:
        """Run the native loop in a thread, so that it can be watched, paused and interrupted."""
        box: list[Any] = []

        def work() -> None:
            began = time.perf_counter()
            try:
                box.append(self.method.advance(self.problem, self.memory, self.times, self.out, self.monitor))
                self.seconds += time.perf_counter() - began
            except BaseException as error:  # handed to the caller's thread below
                box.append(error)

        thread = threading.Thread(target=work, daemon=True)
        first, span = self.times[0], self.times[-1] - self.times[0]
        self.monitor[1] = 0.0
        thread.start()
        try:
            while thread.is_alive():
                thread.join(WATCH_PERIOD)
                if self.progress is not None:
                    self.progress(float((self.monitor[0] - first) / span))
                if self.checkpoint is not None and self.checkpoint.due():
                    self.monitor[1] = loop.PAUSE
        except KeyboardInterrupt:
            self.monitor[1] = loop.STOP
            thread.join()
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]

    # Events

    def _react(self) -> tuple[str | None, str | None]:
        """Carry out an event; returns the event that ends the run and the trouble that does."""
        t, y, index = self.time, self.state, int(self.memory[loop.EVENT_INDEX])
        name = self.dynamics.flat.event_owners[index - 1]
        event, _ = self.dynamics.flat.events[name]
        self.events.append(Happening(t, name))
        if event.stop:
            return name, None
        last = self.events[-QUICK_EVENTS:]
        quick = len(last) == QUICK_EVENTS and t - last[0].time < QUICK_TIME and {e.name for e in last} == {name}
        if quick or len(self.events) >= MOST_EVENTS:
            return None, (
                f"event {name!r} happens faster and faster ({len(self.events)} events): what bounces comes to rest. "
                f"Fix: let an event switch on a constraint that holds it, or make the stop a stiff spring and damper"
            )
        before = self._energy(t, y)
        values, rates = self._equations(t, y).event_values()[name]
        self.parameters |= dict(zip(event.set, map(float, values), strict=True))
        switches = self.dynamics.flat.switches
        self.parameters |= {switches[constraint]: float(on) for constraint, on in event.switch.items()}
        if event.set or event.switch:
            self.segments.append((self.written, dict(self.parameters)))
        trouble = self._fit(t, y, event, rates)
        if trouble:
            return None, f"event {name!r}: {trouble}"
        # The energy that an event takes or gives counts as work.
        y[-1] += self._energy(t, y) - before
        self._keep()
        self.begin(t, y, self.written, index)
        return None, None

    def _equations(self, t: float, y: np.ndarray) -> Equations:
        d = self.dynamics
        tree = d.coordinates.place(NUMPY, {**d.flat.parameters, **self.parameters})
        return Equations(tree, t, y[: d.nq], y[d.nq : d.nq + d.nv])

    def _energy(self, t: float, y: np.ndarray) -> float:
        d = self.dynamics
        kinetic, potential = d.energy(y[: d.nq], y[d.nq : d.nq + d.nv], t=t, parameters=self.parameters)
        return float(np.sum(kinetic) + np.sum(potential))

    def _fit(self, t: float, y: np.ndarray, event: Any, rates: np.ndarray) -> str | None:
        """New velocities by an impact on the joints named; all constraints hold afterwards. Words if that fails."""
        if not (event.rates or event.switch or event.set):
            return None
        d = self.dynamics
        equations, q, u = self._equations(t, y), y[: d.nq], y[d.nq : d.nq + d.nv]
        A, rate = np.zeros((0, d.nv)), np.zeros(0)
        M = d.mass_matrix(q, parameters=self.parameters)
        if d.rows:
            seen = d.residuals(t, q, u, self.parameters)
            A, rate, open_by = np.asarray(seen.jacobian), np.asarray(seen.velocity), np.asarray(seen.position)
            if len(open_by) and np.abs(open_by).max() > SWITCH_TOLERANCE:
                row = d.rows[int(np.argmax(np.abs(open_by)))]
                return (
                    f"{row} does not hold in this position (open by {np.abs(open_by).max():.2g}); a constraint at "
                    f"position level can be switched on only where it holds.  Fix: level='velocity', or another event"
                )
        for (joint, i), wanted in zip(event.rate_targets, rates, strict=True):
            row = _rate_row(equations, joint, i, d.nv)
            A, rate = np.vstack([A, row]), np.append(rate, row @ u - wanted)
        du = np.zeros(d.nv)
        status, *_, conflict = solve_constrained(M, np.zeros(d.nv), A, rate, du, np.zeros(len(A)))
        if status != OK:
            return "some direction of motion has neither mass nor constraint"
        if conflict > 1e-6 * (1.0 + np.abs(rate).max(initial=0.0)):
            return "the velocities it asks for contradict the constraints"
        u += du
        return None


def _rate_row(equations: Equations, joint: str, index: int, nv: int) -> np.ndarray:
    """How a velocity of a joint depends on all velocities."""

    def rates(u: np.ndarray) -> np.ndarray:
        return Equations(equations.tree, equations.t, equations.q, u).joint_coordinates(joint)[1]

    return np.array([rates(column)[index] for column in np.eye(nv)], dtype=float)
