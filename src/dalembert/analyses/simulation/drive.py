"""Driving a native time loop through a run: events, checkpoints, and a change of method where a problem is stiff."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analyses.simulation.account import Account, jolts, overlooked
from dalembert.analyses.simulation.checkpoint import Checkpoint
from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.analyses.simulation.watched_loop import WatchedLoop
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, SimulationError
from dalembert.integrators import Status
from dalembert.integrators.base import EqualSteps, result
from dalembert.integrators.switching import find_at_once
from dalembert.numerics.context import OK
from dalembert.trajectory.outcome import Outcome

if TYPE_CHECKING:
    from dalembert.modular.compiled_system import CompiledSystem

__all__ = ["Driver", "guard_spacing"]

# At so many evenly spaced times of a run at least, and at most, steps are compared with the equations.
LEAST_SAMPLES, MOST_SAMPLES = 1000, 100_000

# After these a run may go on.
_GO_ON = frozenset({Status.PAUSED, Status.STIFF, Status.ILL_CONDITIONED, Status.EVENT})

# Why a run failed, in words.
LOST = "integrator {name!r} lost the state, which is not finite any more.  Fix: a smaller step, or another integrator"
UNDEFINED = {
    "rhs": "the equations of motion have no finite solution there.  Fix: look for a division by zero or a root of a "
    "negative number in the formulas",
    "events": "an event or a branch of a formula is not finite there.  Fix: look for a division by zero or a root of a "
    "negative number in the formulas of events",
}
UNSOLVED = (
    "integrator {name!r} cannot solve the equations of its step, although the equations of motion have a solution "
    "there.  Fix: another integrator, such as 'dopri8', or a smaller step"
)
JUMPS = (
    "{names} switches to another branch there, with a jump of {size:.3g} in position, which no motion can "
    "follow.  Fix: "
    "formulas without a jump"
)
FOLLOWS = (
    "velocities would have to jump by {size:.3g}, where {names} switches to another branch; "
    "the variables of this run cannot jump.  Fix: formulas whose rates do not jump, or {other}"
)


def guard_spacing(times: np.ndarray) -> float:
    """Distance (s) of the places at which steps are compared with the equations."""
    outputs = min(max(len(times) - 1, LEAST_SAMPLES), MOST_SAMPLES)
    return float(times[-1] - times[0]) / outputs


def _check_steps(method: Any, span: float) -> None:
    """Refuse more fixed steps than a run may take, before the first one."""
    if isinstance(method, EqualSteps) and span > method.step * method.max_steps:
        raise DalembertError(
            f"{span / method.step:.3g} steps of {method.step:g} s asked for, at most {method.max_steps} are taken.  "
            f"Fix: a longer step"
        )


class Driver:
    """One run through all output times.

    Args:
        choice: integrator, stabilization, and what events do.
        progress: called now and then with the fraction done.
        checkpoint: where to keep the run from time to time.

    Attributes:
        method, fallback: the integrator, and what takes over if the problem turns out stiff.
        account: parameters, events, counts and remarks.
        handler: what events do.
        loop: the native loop, watched.
    """

    problem: Any
    context: Any = None
    made_for: tuple[Any, Any] | None = None

    def __init__(
        self,
        dynamics: Dynamics | CompiledSystem,
        choice: Choice,
        times: np.ndarray,
        x: np.ndarray,
        parameters: Mapping[str, float],
        *,
        progress: Callable[[float], None] | None = None,
        checkpoint: Checkpoint | None = None,
    ):
        self.dynamics, self.times, self.checkpoint = dynamics, times, checkpoint
        self.method, self.fallback, self.settle = choice.method, choice.fallback, choice.settle
        first, last = float(times[0]), float(times[-1])
        _check_steps(self.method, last - first)
        self.account = Account(dict(parameters))
        self.handler = choice.handler(dynamics, self.account, (first, last))
        self.loop = WatchedLoop((first, last), progress, None if checkpoint is None else checkpoint.due)
        self.monitor = self.loop.monitor
        self.out = np.empty((len(times), len(x)))
        if not self.method.jumps:
            self.handler.begin(first, x)
        self.out[0] = x
        self.begin(first, x, 1)

    def begin(self, t: float, x: np.ndarray, written: int, happened: int = 0, active: np.ndarray | None = None) -> None:
        """A new start of the method at t with x = (q, u, W)."""
        chosen, parameters, needs = self.chosen, self.account.parameters, self.method.needs
        if active is not None or not self._keeps_problem():
            self.problem, self.context = chosen.problem(parameters, needs, (t, x), active)
            self.settle(self.context)
            self.made_for = chosen, self.method
        self.handler.prepare(self.problem, self.context)
        self.problem.spacing = guard_spacing(self.times)
        y = x
        if self.problem.encode is None:
            self.problem.staged = self.context.inner is not None
            self.problem.rhs = self.context.rhs
        else:
            y = np.zeros(self.problem.size)
            if self.problem.encode(t, x, y) > OK:
                raise SimulationError(f"the run cannot begin: {self.context.failure()}")
        self.context.read_by(needs)
        self.context.statistics.restore(self.account.statistics)
        self.memory = self.method.start(self.problem, t, y, written)
        self.memory.event = happened

    def _keeps_problem(self) -> bool:
        """Whether the problem of the last start does again, with the parameters of now: impacts begin runs anew."""
        if self.made_for != (self.chosen, self.method) or self.problem.encode is not None:
            return False
        return "jacobian" not in self.method.needs and self.handler.renews(self.context)

    def run(self) -> Outcome:
        """Go to the end, or as far as possible."""
        try:
            return self._run()
        finally:
            self.loop.end()

    def _run(self) -> Outcome:
        if self.checkpoint is not None:
            self.checkpoint.restore(self)
        ended_by = trouble = None
        while True:
            status = self._advance()
            if status not in _GO_ON:
                if status == Status.STOPPED:
                    self._keep()
                break
            # What the memory holds is consistent here; an interrupt before the next start comes back to it.
            before, pieces = self._as_it_is(), len(self.account.segments)
            try:
                if self.loop.interrupted:
                    raise KeyboardInterrupt
                if status == Status.PAUSED:
                    assert self.checkpoint is not None
                    self.checkpoint.save(self)
                elif status == Status.STIFF and self.fallback is not None:
                    self._change_method()
                elif status == Status.ILL_CONDITIONED:
                    self._choose_anew()
                elif status == Status.EVENT:
                    ended_by, trouble = self._react()
                    if ended_by or trouble:
                        break
                    if self.memory.written == len(self.times):
                        status = Status.FINISHED
                        break
                else:
                    break
            except KeyboardInterrupt:
                vars(self).update(before)
                del self.account.segments[pieces:]
                status = Status.STOPPED
                break
        if status == Status.FAILED:
            trouble = self._jump_explained() or (None if self.context.statistics.failure else self._why())
        if self.checkpoint is not None and status != Status.STOPPED:
            self.checkpoint.remove()
        return self._outcome(status, ended_by, trouble)

    def _keep(self) -> None:
        """Write the checkpoint where the user stopped the run; what was computed is kept even if that fails."""
        if self.checkpoint is not None:
            try:
                self.checkpoint.save(self)
            except DalembertError as error:
                self.account.notes = [*self.account.notes, str(error)]

    def _as_it_is(self) -> dict[str, Any]:
        """Everything that a reaction changes."""
        return {**vars(self), "account": copy(self.account), "handler": copy(self.handler)}

    def _outcome(self, status: Status, ended_by: str | None, trouble: str | None) -> Outcome:
        account, memory = self.account, self.memory
        found = account.counted(result(self.problem, status, memory, self.times, self.out), memory)
        # Estimates of the error are led back too where stages are.
        projects = self.method.projects or self.problem.staged
        seen = (*jolts(memory, self.handler.branching), *overlooked(found, self.problem.spacing))
        notes = (*account.notes, *self.handler.remarks(), *seen)
        return Outcome(
            found, account.segments, account.events, ended_by, trouble, notes, projects, self.method, self.times,
            account.all_undefined(memory),
        )  # fmt: skip

    # States of the run

    @property
    def chosen(self) -> Any:
        """The equations, with the velocities that are chosen at present."""
        return self.handler.chosen

    @property
    def time(self) -> float:
        return self.memory.t

    @property
    def state(self) -> np.ndarray:
        """(q, u, W), not finite if the method got lost."""
        x = np.full(self.out.shape[1], np.nan)
        self.problem.write(self.time, self.memory.y, x)
        return x

    @property
    def written(self) -> int:
        return self.memory.written

    def _why(self) -> str:
        """Why the loop failed though no function of the equations gave a reason, in words."""
        t, y, p = self.time, self.memory.y, self.problem
        if not np.all(np.isfinite(y)):
            return LOST.format(name=self.method.name)
        for what, size in (("rhs", p.size), ("events", p.n_events)):
            function, values = getattr(p, what), np.zeros(size)
            if size and function is not None and (function(t, y, values) > OK or not np.all(np.isfinite(values))):
                return UNDEFINED[what]
        return UNSOLVED.format(name=self.method.name)

    def _jump_explained(self) -> str | None:
        """Why the run ended where another branch was taken, in words, if it did."""
        memory = self.memory
        if not memory.jumped_by:
            return None
        names = self.handler.branching(memory.jumped_by)
        if memory.jump > 0:
            return JUMPS.format(names=names, size=memory.jump)
        return FOLLOWS.format(names=names, size=-memory.jump, other=self.handler.advice_on_jumps())

    # Pieces of the run

    def _advance(self) -> Status:
        """Run the native loop from where the memory stands."""
        piece = partial(self.method.advance, self.problem, self.memory, self.times, self.out, self.monitor)
        return self.loop.advance(piece)

    def _close(self) -> None:
        """Counts and statistics go on over a new start."""
        self.account.close(self.memory, self.context.statistics.values(), self.handler.branching)

    def _change_method(self) -> None:
        assert self.fallback is not None
        t, x, written = self.time, self.state, self.written
        self.account.notes.append(
            f"{self.method.name} found the problem stiff at t = {t:.4g} s; {self.fallback.name} went on from there"
        )
        self._close()
        self.method, self.fallback = self.fallback, None
        self.begin(t, x, written)

    def _choose_anew(self) -> None:
        """Go on with other velocities where those of the formulation come to depend on the constraints."""
        t, x, written = self.time, self.state, self.written
        self._close()
        self.handler.choose_anew(t, x)
        self.begin(t, x, written)

    def _at_once(self, index: int) -> list[int]:
        """An event and all others that rise through zero with it, in the order of the model; what ends the run is
        last."""
        together = np.zeros(self.problem.n_events)
        find_at_once(self.problem, self.memory, together)
        found = (np.flatnonzero(together) + 1).tolist()
        kept = self.handler.at_once(index, [i for i in found if i != index])
        return sorted([index, *kept], key=lambda i: (self.handler.event(i)[1].stop, i))

    def _react(self) -> tuple[str | None, str | None]:
        """Carry out an event, and others at the same time; returns the event that ends the run and the trouble that
        does."""
        t, x, index, written = self.time, self.state, self.memory.event, self.written
        together, ended_by = self._at_once(index), None
        ends = t == self.times[-1] or self.handler.event(together[-1])[1].stop
        if ends and t == self.times[written - 1]:
            written -= 1  # the last output is what the event leads to: from there one may go on
        for each in together:
            name, event = self.handler.event(each)
            self.account.happened(t, name)
            if event.stop:
                ended_by = name
                break
            trouble = self.account.endless(self.handler.bounces(event))
            trouble = trouble or self.handler.react(name, event, t, x, written)
            if trouble:
                return None, trouble
        self.out[written : self.written] = x
        if not ended_by or len(together) > 1:
            self._close()
            self.begin(t, x, self.written, index)
        return ended_by, None
