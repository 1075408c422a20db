"""Driving a native time loop: watching, events, checkpoints, and a change of method where a problem turns out stiff."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analyses.assembly.rank import hold_rank
from dalembert.analyses.contacts.impact import carry_out
from dalembert.analyses.contacts.stick import settle_friction
from dalembert.analyses.contacts.touch import Hit, begin_contacts, hit, settle
from dalembert.analyses.simulation.checkpoint import Checkpoint
from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.analyses.simulation.jolts import jolt_noted, jump_explained
from dalembert.analyses.simulation.worker import Worker
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.dynamics.gaps import wait_for
from dalembert.errors import ModelError, SimulationError
from dalembert.formulations import Formulation
from dalembert.integrators import Status, loop
from dalembert.integrators.base import Monitor, Result, result
from dalembert.model.data import ContactEvent, FrictionEvent
from dalembert.numerics.context import OK, Context
from dalembert.state import State
from dalembert.trajectory.outcome import Happening, Outcome

if TYPE_CHECKING:
    from dalembert.modular.compiled_system import CompiledSystem

__all__ = ["WATCH_PERIOD", "Driver", "guard_spacing", "overlooked"]

# A run with more events than this, or with so many of one kind within so short a time (s), bounces without end.
MOST_EVENTS = 100_000
QUICK_EVENTS, QUICK_TIME = 4, 1e-6
# So many impacts within this share of a run are chatter.
CHATTER_EVENTS, CHATTER_SHARE = 1000, 1e-4
WATCH_PERIOD = 0.05

# At so many evenly spaced times of a run at least, and at most, steps are compared with the equations.
LEAST_SAMPLES, MOST_SAMPLES = 1000, 100_000

# What a run may have to say, in words.
ENDLESS = (
    "event {name!r} happens faster and faster ({count} events): what bounces comes to rest. Fix: let an event switch "
    "on a constraint that holds it, or make the stop a stiff spring and damper"
)
OVERLOOKED = (
    "{many} cut where something happens within a step, such as a short force or a kink; what is shorter than {spacing} "
    "s may pass unseen (step=… bounds the steps)"
)

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

SOFTENED = (
    "in {count} impacts the restitution given would have added energy, as laws of restitution do with friction; it was "
    "lowered to where none is taken (by a factor of {least:.3g} at least)"
)

CHATTERS = (
    "contact {name!r} chatters: {count} impacts within {time:.2g} s.  Fix: restitution=0, or a contact that gives "
    "(contact or stop instead of rigid-contact or limit)"
)

_COUNTS = ("steps", "rejected", "evaluations", "narrow", "switches", "jolts")


def guard_spacing(times: np.ndarray) -> float:
    """Distance (s) of the places at which steps are compared with the equations."""
    outputs = min(max(len(times) - 1, LEAST_SAMPLES), MOST_SAMPLES)
    return float(times[-1] - times[0]) / outputs


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


class Driver:
    """One run through all output times.

    Args:
        choice: integrator and stabilization.
        progress: called now and then with the fraction done.
        checkpoint: where to keep the run from time to time.

    Attributes:
        chosen: the equations, with the velocities that are chosen at present.
        method, fallback: the integrator, and what takes over if the problem turns out stiff.
        seconds: wall time that the time loop took so far.
        interrupted: the user wants the run to end (Ctrl-C); it keeps what was computed.
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
        self.dynamics, self.times, self.progress, self.checkpoint = dynamics, times, progress, checkpoint
        self.method, self.fallback, self.settle = choice.method, choice.fallback, choice.settle
        self.parameters = dict(parameters)
        self.chosen = dynamics
        self.segments: list[tuple[int, dict[str, float]]] = [(0, dict(parameters))]
        self.events: list[Happening] = []
        self.notes: list[str] = []
        self.out = np.empty((len(times), len(x)))
        self.out[0] = x
        self.monitor = Monitor(reached=float(times[0]))
        self.counts = np.zeros(len(_COUNTS), dtype=np.int64)
        self.statistics: dict[str, float] = {}
        self.seconds = self.defect = 0.0
        self.choices = 0
        self.interrupted = False
        self.worker = Worker()
        self.lost = 0.0
        self.softened: list[float] = []
        self.idle: tuple[str, ...] = ()
        self.meshed = 0
        self.ranks: dict[tuple[tuple[str, float], ...], tuple[int, int] | None] = {}
        self.undefined: dict[int, tuple[int, float]] = {}
        touching = isinstance(dynamics, Dynamics) and (dynamics.flat.contacts or dynamics.flat.frictions)
        if touching and not self.method.jumps:
            self._begin_contacts(float(times[0]), x)
        self.begin(float(times[0]), x, 1)

    def begin(self, t: float, x: np.ndarray, written: int, happened: int = 0, active: np.ndarray | None = None) -> None:
        """A new start of the method at t with x = (q, u, W)."""
        if active is not None or not self._keeps_problem():
            self.problem, self.context = self.chosen.problem(self.parameters, self.method.needs, (t, x), active)
            self.settle(self.context)
            self.made_for = self.chosen, self.method
        if isinstance(self.chosen, Dynamics) and self.chosen.flat.contacts:
            wait_for(self.context, self.chosen, self.idle)
        self.problem.spacing = guard_spacing(self.times)
        y = x
        if self.problem.encode is None:
            self.problem.staged = self.context.inner is not None
            self.problem.rhs = self.context.rhs
        else:
            y = np.zeros(self.problem.size)
            if self.problem.encode(t, x, y) > OK:
                raise SimulationError(f"the run cannot begin: {self.context.failure()}")
        if isinstance(self.context, Context):
            c = self.context
            read = c.n_contacts + c.n_frictions + c.n_assumed + c.n_watched
            c.unread = not read and set(self.method.needs) <= {"rhs", "retract"}
        self.context.statistics.restore(self.statistics)
        self.memory = self.method.start(self.problem, t, y, written)
        self.memory.event = happened

    def _keeps_problem(self) -> bool:
        """Whether the problem of the last start does again, with the parameters of now: impacts begin runs anew."""
        chosen, context = self.chosen, self.context
        if self.made_for != (chosen, self.method) or not isinstance(chosen, Dynamics) or chosen.is_large:
            return False
        remembers = context.solver is not None and context.solver.record is not context
        if remembers or context.n_active or self.problem.encode is not None or "jacobian" in self.method.needs:
            return False
        values = chosen.parameters(self.parameters)
        context.parameters[:] = values
        context.rank, context.holonomic_rank = chosen.rows.held.get(values.tobytes(), (0, 0))
        return True

    def run(self) -> Outcome:
        """Go to the end, or as far as possible."""
        try:
            return self._run()
        finally:
            self.worker.end()

    def _run(self) -> Outcome:
        if self.checkpoint is not None:
            self.checkpoint.restore(self)
        ended_by = trouble = None
        while True:
            status = self._advance()
            # What the memory holds is consistent here; an interrupt before the next start comes back to it.
            before, pieces = dict(vars(self)), len(self.segments)
            try:
                if self.interrupted and status in (Status.PAUSED, Status.STIFF, Status.ILL_CONDITIONED, Status.EVENT):
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
                del self.segments[pieces:]
                status = Status.STOPPED
                break
        if status == Status.FAILED:
            trouble = jump_explained(self.chosen, self.memory)
            trouble = trouble or (None if self.context.statistics.failure else self._why())
        if self.checkpoint is not None and status != Status.STOPPED:
            self.checkpoint.remove()
        # Estimates of the error are led back too where stages are.
        found, projects = self._result(status), self.method.projects or self.problem.staged
        seen = (*jolt_noted(self.chosen, self.memory), *overlooked(found, self.problem.spacing))
        notes = (*self.notes, *self._impacts_noted(), *self._chosen_anew(), *seen)
        return Outcome(
            found, self.segments, self.events, ended_by, trouble, notes, projects, self.method, self.times,
            self._undefined(),
        )  # fmt: skip

    # States of the run

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

    def _result(self, status: Status) -> Any:
        """The outputs, and the last state if it lies beyond them."""
        found = result(self.problem, status, self.memory, self.times, self.out)
        counts = dict(zip(_COUNTS, self._totals().tolist(), strict=True))
        found = replace(found, **counts, defect=max(self.defect, self.memory.defect))
        if found.end > found.time[-1] and np.all(np.isfinite(found.last)):
            times, states = np.append(found.time, found.end), np.vstack([found.states, found.last])
            found = replace(found, time=times, states=states)
        return found

    def _chosen_anew(self) -> list[str]:
        """How often other velocities were chosen, in words."""
        if not self.choices:
            return []
        often = "once" if self.choices == 1 else f"{self.choices} times"
        assert isinstance(self.dynamics, Dynamics)
        what = f"{self.dynamics.formulation.name} chose other quasi-velocities {often}"
        return [f"{what}, where the former ones came to depend on the constraints"]

    def _impacts_noted(self) -> list[str]:
        hits = sum(event.name.endswith((" hit", " hit above")) for event in self.events)
        said = [f"{hits} impact{'s' * (hits > 1)} took {self.lost:.6g} J"] if self.lost and hits else []
        if self.softened:
            said.append(SOFTENED.format(count=len(self.softened), least=min(self.softened)))
        return said

    def _change_method(self) -> None:
        assert self.fallback is not None
        t, x, written = self.time, self.state, self.written
        self.notes.append(
            f"{self.method.name} found the problem stiff at t = {t:.4g} s; {self.fallback.name} went on from there"
        )
        self._keep()
        self.method, self.fallback = self.fallback, None
        self.begin(t, x, written)

    def _choose_anew(self) -> None:
        """Go on with other velocities where those of the formulation come to depend on the constraints."""
        t, x, written = self.time, self.state, self.written
        assert isinstance(self.chosen, Dynamics)
        formulation = self.chosen.formulation.anew(self.chosen.coordinates, t, x[: self.chosen.nq], self.parameters)
        self._keep()
        if formulation is not None and formulation != self.chosen.formulation:
            self.take(formulation)
            self.choices += 1
        # Otherwise there is nothing better; from here on it may become worse.
        self.begin(t, x, written)

    def take(self, formulation: Formulation) -> None:
        """Go on with this choice of a formulation."""
        assert isinstance(self.dynamics, Dynamics)
        kind, held = self.dynamics.recipe.coordinates, self.dynamics.rows.held
        self.chosen = cached_dynamics(self.dynamics.model, formulation, kind)
        self.chosen.rows.held.update(held)

    def _keep(self) -> None:
        """Counts and statistics go on over a new start."""
        self.counts, self.defect = self._totals(), max(self.defect, self.memory.defect)
        self.notes += jolt_noted(self.chosen, self.memory)
        self.statistics = self.context.statistics.values()
        self.undefined = self._undefined()

    def _undefined(self) -> dict[int, tuple[int, float]]:
        """Events that were no number so far, see ``Outcome``."""
        memory, found = self.memory, dict(self.undefined)
        for i in np.flatnonzero(memory.undefined).tolist():
            count, first = found.get(i, (0, float(memory.undefined_at[i])))
            found[i] = count + int(memory.undefined[i]), first
        return found

    def _totals(self) -> np.ndarray:
        return self.counts + [getattr(self.memory, name) for name in _COUNTS]

    # The native loop

    def _advance(self) -> Status:
        """Run the native loop in a thread, so that it can be watched, paused and interrupted.

        The end of the thread is an event that it sets itself: an interrupted ``Thread.join`` takes a thread for ended
        that still runs.
        """
        box: list[Any] = []
        claimed, done = threading.Lock(), threading.Event()

        def work() -> None:
            if not claimed.acquire(blocking=False):
                return
            began = time.perf_counter()
            try:
                box.append(self.method.advance(self.problem, self.memory, self.times, self.out, self.monitor))
                self.seconds += time.perf_counter() - began
            except BaseException as error:  # handed to the caller's thread below
                box.append(error)
            finally:
                done.set()

        self.monitor.request = 0
        try:
            self.worker.submit(work)
            self._watch(done)
        except BaseException as error:
            self.monitor.request = loop.STOP
            if claimed.acquire(blocking=False):
                box.append(Status.STOPPED)  # it has not begun, and will not
            else:
                done.wait()
            if not isinstance(error, KeyboardInterrupt):
                raise
            self.interrupted = True
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]

    def _watch(self, done: threading.Event) -> None:
        """Until the loop has ended: tell how far it is, and ask for a pause when a checkpoint is due."""
        first, span = self.times[0], self.times[-1] - self.times[0]
        while True:
            ended = done.wait(WATCH_PERIOD)
            if self.progress is not None:
                self.progress(float((self.monitor.reached - first) / span))
            if ended:
                return
            if self.checkpoint is not None and self.checkpoint.due():
                self.monitor.request = loop.PAUSE

    # Events

    def _begin_contacts(self, t: float, x: np.ndarray) -> None:
        """Which contacts are closed at the start, and what sticks."""
        d = self.dynamics
        assert isinstance(d, Dynamics)
        if not d.follows_switches:
            raise ModelError(
                f"formulation {d.formulation.name!r} chooses variables of its own, and knows nothing that closes or "
                f"sticks during a run ({', '.join(d.flat.contacts + d.flat.frictions)}).  "
                f"Fix: formulation='lagrange-multipliers'"
            )
        found = begin_contacts(d, t, x, self.parameters) if d.flat.contacts else Hit(self.parameters)
        self._note_hit(t, x, found)
        trouble = found.trouble or self._rub(t, x)
        if trouble:
            raise SimulationError(f"the run cannot begin: {trouble}")
        self.out[0] = x
        self.segments = [(0, dict(self.parameters))]
        self._hold_rank(t, x, True)

    def _note_hit(self, t: float, x: np.ndarray, found: Hit) -> None:
        """The energy that an impact takes counts as work."""
        self.parameters, self.idle = found.parameters, found.idle
        x[-1] -= found.lost
        self.lost += found.taken
        self.softened += [found.kept] if found.kept < 1.0 else []
        self.events += [Happening(t + left, f"{name} rest") for name, left in found.rest]

    def _rub(self, t: float, x: np.ndarray, event: Any = None) -> str | None:
        """What sticks and what slips from here on; words if that has no answer."""
        assert isinstance(self.dynamics, Dynamics)
        if not self.dynamics.flat.frictions:
            return None
        named = {} if not isinstance(event, FrictionEvent) else {"stopped" if event.sticks else "loose": event.friction}
        self.parameters, trouble = settle_friction(self.dynamics, t, x, self.parameters, **named)
        return trouble

    def _touch(self, t: float, x: np.ndarray, event: ContactEvent) -> str | None:
        """A contact closes or opens; words if it cannot."""
        assert isinstance(self.dynamics, Dynamics)
        if event.side < 0:
            self._settle(t, x, without=event.contact)
            return None
        found = hit(self.dynamics, t, x, self.parameters, (event.contact, event.side))
        if found.trouble:
            return f"event {event.name!r}: {found.trouble}"
        if found.gentle and self.dynamics.flat.constraints[event.contact][0].runs_off:
            # A flank comes into mesh beside another: nothing happens, and rounding tells when.
            self.events.pop()
            self.meshed += 1
            if self.meshed >= MOST_EVENTS:
                return CHATTERS.format(name=event.contact, count=self.meshed, time=t - self.times[0])
            found = replace(found, rest=())
        self._note_hit(t, x, found)
        last = self.events[-CHATTER_EVENTS:]
        if len(last) == CHATTER_EVENTS and t - last[0].time < CHATTER_SHARE * (self.times[-1] - self.times[0]):
            return CHATTERS.format(name=event.contact, count=CHATTER_EVENTS, time=t - last[0].time)
        return None

    def _settle(self, t: float, x: np.ndarray, without: str | None = None) -> None:
        """What is closed from here on, at rest."""
        assert isinstance(self.dynamics, Dynamics)
        found = settle(self.dynamics, t, x, self.parameters, without)
        self.parameters, self.idle = found.parameters, found.idle

    def _press_on(self, t: float, x: np.ndarray) -> None:
        """Forces of contacts jump where friction goes over from slip to stick: some may end there."""
        assert isinstance(self.dynamics, Dynamics)
        if self.dynamics.flat.contacts:
            self._settle(t, x)

    def _hold_rank(self, t: float, x: np.ndarray, switched: bool) -> None:
        """Of an over-constrained mechanism whose parameters or acting constraints are others now."""
        dynamics = self.dynamics
        if not isinstance(dynamics, Dynamics) or (not dynamics.rows.held and not switched):
            return
        changing = {f"{name}.{part}" for name in dynamics.flat.frictions for part in ("slip", "force")}
        acting = tuple((name, value) for name, value in self.parameters.items() if name not in changing)
        key = dynamics.parameters(self.parameters).tobytes()
        if acting in self.ranks:
            # The same constraints acted before; forces of friction do not matter.
            held = self.ranks[acting]
            if held is not None:
                dynamics.rows.held[key] = held
        else:
            now = State(t, x[: dynamics.nq], x[dynamics.nq : -1], dynamics.coordinates, self.parameters)
            relative = dynamics.relative.coordinates
            hold_rank(dynamics, State(t, *now.to(relative), relative, self.parameters))
            self.ranks[acting] = dynamics.rows.held.get(key)
        if self.chosen is not dynamics and isinstance(self.chosen, Dynamics):
            self.chosen.rows.held.update(dynamics.rows.held)

    def _react(self) -> tuple[str | None, str | None]:
        """Carry out an event; returns the event that ends the run and the trouble that does."""
        t, y, index = self.time, self.state, self.memory.event
        if isinstance(self.dynamics, Dynamics):
            name = self.dynamics.flat.event_owners[index - 1]
            event = self.dynamics.flat.events[name][0]
        else:
            name = self.dynamics.event_owners[index - 1]
            event = self.dynamics.events[name]
        self.events.append(Happening(t, name))
        if event.stop:
            return name, None
        last = self.events[-QUICK_EVENTS:]
        contact = isinstance(event, (ContactEvent, FrictionEvent))
        quick = (
            not contact
            and len(last) == QUICK_EVENTS
            and t - last[0].time < QUICK_TIME
            and {e.name for e in last} == {name}
        )
        if quick or len(self.events) >= MOST_EVENTS:
            return None, ENDLESS.format(name=name, count=len(self.events))
        if isinstance(event, ContactEvent):
            trouble = self._touch(t, y, event)
        elif isinstance(event, FrictionEvent):
            self._press_on(t, y)
            trouble = None
        elif isinstance(self.dynamics, Dynamics):
            self.parameters, trouble = carry_out(self.dynamics, name, t, y, self.parameters)
            if self.dynamics.flat.contacts and not trouble:
                self._settle(t, y)
        else:
            self.parameters, trouble = self.dynamics.carry_out(name, t, y, self.parameters)
        trouble = trouble or self._rub(t, y, event) if isinstance(self.dynamics, Dynamics) else trouble
        if event.set or getattr(event, "switch", None):
            self.segments.append((self.written, dict(self.parameters)))
            self._hold_rank(t, y, bool(getattr(event, "switch", None)))
        if trouble:
            return None, trouble
        self._keep()
        self.begin(t, y, self.written, index)
        return None, None
