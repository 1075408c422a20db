"""What happens in a run where its time loop stops at an event: parameters, constraints and velocities that change.

Events of users act as the equations say. In a mechanism contacts close and open, friction sticks and slips, and the
rank of what then acts is found anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analyses.assembly.rank import hold_rank
from dalembert.analyses.contacts.impact import carry_out
from dalembert.analyses.contacts.stick import settle_friction
from dalembert.analyses.contacts.touch import REST, Hit, begin_contacts, hit, settle
from dalembert.analyses.simulation.account import MOST_EVENTS, Account
from dalembert.dynamics import Context, Dynamics, cached_dynamics
from dalembert.dynamics.gaps import wait_for
from dalembert.dynamics.make_context import renew_context
from dalembert.dynamics.make_problem import find_straight
from dalembert.equations.quasi_velocities import choice_among
from dalembert.errors import ModelError, SimulationError
from dalembert.formulations import Formulation
from dalembert.model.data import ContactEvent, Event, FrictionEvent
from dalembert.state import State
from dalembert.trajectory.outcome import Occurrence

__all__ = ["CHOSE_ANEW", "EventHandler", "MechanismHandler"]

CHOSE_ANEW = "chose other quasi-velocities"

# So many impacts within this share of a run are chatter.
CHATTER_EVENTS, CHATTER_SHARE = 1000, 1e-4

# Constraint rows are chosen anew at a switch where those chosen before are less independent than this.
WORN = 0.01

CHATTERS = (
    "contact {name!r} chatters: {count} impacts within {time:.2g} s.  Fix: restitution=0, or a compliant contact "
    "(contact or stop instead of rigid-contact or limit)"
)


class EventHandler:
    """What events do, if the equations say so themselves: those of subsystems.

    Args:
        equations: of the run.
        account: of the run, whose parameters change.
        span: first and last output time.

    Attributes:
        chosen: the equations, with the velocities that are chosen at present.
        choices: how often others were chosen.
    """

    def __init__(self, equations: Any, account: Account, span: tuple[float, float]):
        self.equations = self.chosen = equations
        self.account, self.span = account, span
        self.choices = 0

    def begin(self, t: float, x: np.ndarray) -> None:
        """The run begins with the state x, which may be changed."""

    def renews(self, context: Any) -> bool:
        """Give the context of the last start the parameters of now, if it does again with these."""
        return False

    @property
    def idle(self) -> tuple[str, ...]:
        """Contacts that touch and would share a load which others carry."""
        return ()

    def resume(self, idle: tuple[str, ...]) -> None:
        """Go on from a checkpoint."""

    def prepare(self, problem: Any, context: Any) -> None:
        """Whatever a new start of the method must know."""

    def event(self, index: int) -> tuple[str, Any]:
        """Name and event by its number from 1 on."""
        name = self.equations.event_owners[index - 1]
        return name, self.equations.events[name]

    def at_once(self, index: int, others: list[int]) -> list[int]:
        """Which of the events that rise through zero together with one are to be carried out besides it."""
        return others

    def bounces(self, event: Any) -> bool:
        """Whether events of this kind, if they come faster and faster, are a bounce without end."""
        return True

    def react(self, name: str, event: Any, t: float, x: np.ndarray, written: int) -> str | None:
        """Carry out an event on the state x, which is changed in place; words if the run has to end."""
        self.account.parameters, trouble = self.equations.carry_out(name, t, x, self.account.parameters)
        if event.set:
            self.account.change(written)
        return trouble

    def choose_anew(self, t: float, x: np.ndarray) -> None:
        """Other velocities where those of the formulation come to depend on the constraints, if it has any."""

    def take(self, formulation: Formulation) -> None:
        """Go on with this choice of a formulation."""

    def branching(self, index: int) -> str:
        """The constraints behind a branch, by the number of its event from 1 on."""
        return " or ".join(self.equations.branching(index)) or "a constraint"

    def advice_on_jumps(self) -> str:
        """What takes velocities that jump."""
        return "an event before it that sets them"

    def remarks(self) -> list[str]:
        """For the certificate."""
        return self.account.impacts()


class MechanismHandler(EventHandler):
    """What events do in a mechanism."""

    equations: Dynamics
    chosen: Dynamics

    def __init__(self, equations: Dynamics, account: Account, span: tuple[float, float]):
        super().__init__(equations, account, span)
        flat = equations.flat
        self.contacts = Contacts(equations, account, span) if flat.contacts else None
        self.friction = Friction(equations, account) if flat.frictions else None
        self.ranks = Ranks(equations)

    def advice_on_jumps(self) -> str:
        eliminated = self.chosen.coordinates.eliminated
        return "coordinates='relative'" if eliminated else "formulation='lagrange-multipliers'"

    def begin(self, t: float, x: np.ndarray) -> None:
        """Which contacts are closed at the start, and what sticks."""
        d, parts = self.equations, [part for part in (self.contacts, self.friction) if part is not None]
        given = self.account.parameters
        if any(given.get(switch, d.flat.parameters[switch]) != d.flat.parameters[switch] for switch in self.switches):
            trouble = self._follow(t, x)
            if trouble:
                raise SimulationError(f"the run cannot begin: {trouble}")
        if not parts:
            return
        if not d.follows_switches:
            raise ModelError(
                f"formulation {d.formulation.name!r} uses variables of its own and cannot handle contacts or "
                f"friction that close or stick during a run ({', '.join(d.flat.contacts + d.flat.frictions)}).  "
                f"Fix: formulation='lagrange-multipliers'"
            )
        for part in parts:
            trouble = part.begin(t, x)
            if trouble:
                raise SimulationError(f"the run cannot begin: {trouble}")
        self.account.begin()
        self.ranks.hold(t, x, self.account.parameters, True, self.chosen)

    def renews(self, context: Context) -> bool:
        return renew_context(self.chosen.kernels, context, self.chosen.parameters(self.account.parameters))

    @property
    def idle(self) -> tuple[str, ...]:
        return () if self.contacts is None else self.contacts.idle

    def resume(self, idle: tuple[str, ...]) -> None:
        if self.contacts is not None:
            self.contacts.idle = idle

    def prepare(self, problem: Any, context: Context) -> None:
        if self.contacts is not None:
            wait_for(context, self.chosen, self.idle)
        if problem.n_events:
            n = problem.n_events if find_straight(self.chosen.kernels, context).all() else 0
            if n != problem.n_straight:
                problem.set(n_straight=n, slopes=np.zeros((n, problem.size + 1)))

    def event(self, index: int) -> tuple[str, Event]:
        flat = self.equations.flat
        name = flat.event_owners[index - 1]
        return name, flat.events[name][0]

    def at_once(self, index: int, others: list[int]) -> list[int]:
        # One impact is that of all gaps; what sticks and slips is settled after every event.
        kept, hits = list[int](), isinstance(self.event(index)[1], ContactEvent)
        for i in others:
            event = self.event(i)[1]
            if isinstance(event, ContactEvent):
                if hits or event.side < 0 or self.account.parameters.get(self.equations.flat.switches[event.contact]):
                    continue
                hits = True
            if not isinstance(event, FrictionEvent):
                kept.append(i)
        return kept

    def bounces(self, event: Event) -> bool:
        return not isinstance(event, ContactEvent | FrictionEvent)

    def react(self, name: str, event: Event, t: float, x: np.ndarray, written: int) -> str | None:
        account, trouble = self.account, None
        if not isinstance(event, ContactEvent | FrictionEvent):
            account.parameters, trouble = carry_out(self.equations, name, t, x, account.parameters)
        for part in (self.contacts, self.friction):
            if part is not None and not trouble:
                trouble = part.react(event, t, x)
        if event.set or event.switch:
            account.change(written)
            self.ranks.hold(t, x, account.parameters, bool(event.switch), self.chosen)
        if event.switch and not trouble:
            trouble = self._follow(t, x)
            trouble = trouble and f"event {name!r}: {trouble}"
        return trouble

    @property
    def switches(self) -> list[str]:
        """Parameters that switch constraints of the user."""
        flat = self.equations.flat
        return [switch for name, switch in flat.switches.items() if name not in (*flat.contacts, *flat.frictions)]

    def _follow(self, t: float, x: np.ndarray) -> str | None:
        """Choose among the constraints that act now, if the formulation chose before; words if it cannot."""
        d = self.chosen
        kept = d.formulation.kept(d.coordinates)
        if kept is None:
            return None
        seen = d.residuals(t, x[: d.nq], x[d.nq : -1], self.account.parameters)
        rank, quality = choice_among(np.asarray(seen.jacobian), kept)
        if rank == len(kept) and quality > WORN:
            return None
        if rank == len(kept):
            self.choose_anew(t, x)
        if self.chosen is d:
            return (
                f"formulation {d.formulation.name!r} is made for the constraints that act at the start "
                f"({len(kept)} independent equations), and cannot handle those that act now ({rank}).  "
                f"Fix: formulation='lagrange-multipliers', coordinates='relative'"
            )
        return None

    def choose_anew(self, t: float, x: np.ndarray) -> None:
        d = self.chosen
        formulation = d.formulation.anew(d.coordinates, t, x[: d.nq], self.account.parameters)
        # Otherwise there is nothing better; from here on it may become worse.
        if formulation is not None and formulation != d.formulation:
            self.take(formulation)
            self.choices += 1

    def take(self, formulation: Formulation) -> None:
        d = self.equations
        self.chosen = cached_dynamics(d.model, formulation, d.recipe.coordinates)
        self.chosen.rows.held.update(d.rows.held)

    def branching(self, index: int) -> str:
        branch = self.chosen.kernels.event_owners[index - 1]
        found = [repr(name) for name, own in self.chosen.flat.branching.items() if branch in own]
        return " or ".join(found) or "a constraint"

    def remarks(self) -> list[str]:
        found = super().remarks()
        if self.choices:
            often = "once" if self.choices == 1 else f"{self.choices} times"
            what = f"{self.equations.formulation.name} {CHOSE_ANEW} {often}"
            found.append(f"{what}, because the former ones were no longer independent")
        return found


class Contacts:
    """Contacts of a run: which of them are closed, and impacts where gaps close.

    Attributes:
        idle: contacts that touch and would share a load which others carry.
        meshed: how often a flank came into mesh beside another, or a gap closed that had just opened at rest.
    """

    def __init__(self, dynamics: Dynamics, account: Account, span: tuple[float, float]):
        self.dynamics, self.account, self.span = dynamics, account, span
        self.idle: tuple[str, ...] = ()
        self.meshed = 0

    def begin(self, t: float, x: np.ndarray) -> str | None:
        """What is closed at the start; words if that cannot be."""
        found = begin_contacts(self.dynamics, t, x, self.account.parameters)
        self._take(t, x, found)
        return found.trouble

    def react(self, event: Event, t: float, x: np.ndarray) -> str | None:
        """A contact closes or opens; words if it cannot."""
        if not isinstance(event, ContactEvent):
            # Forces of contacts jump, as where friction goes over from slip to stick: some may end there.
            return self._settle(t, x)
        if event.side < 0:
            return self._settle(t, x, without=event.contact)
        found = hit(self.dynamics, t, x, self.account.parameters, (event.contact, event.side))
        if found.trouble:
            return f"event {event.name!r}: {found.trouble}"
        events, (first, last) = self.account.events, self.span
        runs_off = self.dynamics.flat.constraints[event.contact][0].runs_off
        if found.gentle and (runs_off or self._opened(event.contact, t, found.parameters)):
            # A flank comes into mesh beside another, or what just opened has not left yet: nothing happens, and
            # rounding tells when.
            events.pop()
            self.meshed += 1
            if self.meshed >= MOST_EVENTS:
                return CHATTERS.format(name=event.contact, count=self.meshed, time=t - first)
            found = replace(found, rest=(), kept=1.0)
        self._take(t, x, found)
        latest = events[-CHATTER_EVENTS:]
        if len(latest) == CHATTER_EVENTS and t - latest[0].time < CHATTER_SHARE * (last - first):
            return CHATTERS.format(name=event.contact, count=CHATTER_EVENTS, time=t - latest[0].time)
        return None

    def _opened(self, contact: str, t: float, parameters: dict[str, float]) -> bool:
        """Whether a contact that is hit opened just before, and stays open: it opens without speed, so that at first
        only rounding moves its gap."""
        before = self.account.events[-2:-1]
        if not before or before[0].name != f"{contact} open" or parameters[self.dynamics.flat.switches[contact]]:
            return False
        return t - before[0].time < REST * (1.0 + abs(t))

    def _take(self, t: float, x: np.ndarray, found: Hit) -> None:
        """The energy that an impact takes counts as work."""
        account = self.account
        account.parameters, self.idle = found.parameters, found.idle
        x[-1] -= found.lost
        account.lost += found.taken
        account.softened += [found.kept] if found.kept < 1.0 else []
        account.events += [Occurrence(t + left, f"{name} rest") for name, left in found.rest]

    def _settle(self, t: float, x: np.ndarray, without: str | None = None) -> None:
        """What is closed from here on, at rest."""
        found = settle(self.dynamics, t, x, self.account.parameters, without)
        self.account.parameters, self.idle = found.parameters, found.idle


class Friction:
    """Friction of a run: what sticks and what slips."""

    def __init__(self, dynamics: Dynamics, account: Account):
        self.dynamics, self.account = dynamics, account

    def begin(self, t: float, x: np.ndarray) -> str | None:
        """What sticks at the start; words if that has no answer."""
        return self._settle(t, x)

    def react(self, event: Event, t: float, x: np.ndarray) -> str | None:
        """What sticks and what slips from here on; words if that has no answer."""
        if not isinstance(event, FrictionEvent):
            return self._settle(t, x)
        return self._settle(t, x, **{"stopped" if event.sticks else "loose": event.friction})

    def _settle(self, t: float, x: np.ndarray, **named: str) -> str | None:
        self.account.parameters, trouble = settle_friction(self.dynamics, t, x, self.account.parameters, **named)
        return trouble


class Ranks:
    """Ranks of the constraints of an over-constrained mechanism, by what acts."""

    def __init__(self, dynamics: Dynamics):
        self.dynamics = dynamics
        self.known: dict[tuple[tuple[str, float], ...], tuple[int, int] | None] = {}

    def hold(self, t: float, x: np.ndarray, parameters: dict[str, float], switched: bool, chosen: Dynamics) -> None:
        """Find the rank with other parameters, or other constraints that act, for the chosen equations as well."""
        dynamics, held = self.dynamics, self.dynamics.rows.held
        if not held and not switched:
            return
        changing = {f"{name}.{part}" for name in dynamics.flat.frictions for part in ("slip", "force")}
        acting = tuple((name, value) for name, value in parameters.items() if name not in changing)
        key = dynamics.parameters(parameters).tobytes()
        if acting in self.known:
            # The same constraints acted before; forces of friction do not matter.
            known = self.known[acting]
            if known is not None:
                held[key] = known
        else:
            now = State(t, x[: dynamics.nq], x[dynamics.nq : -1], dynamics.coordinates, parameters)
            relative = dynamics.relative.coordinates
            hold_rank(dynamics, State(t, *now.to(relative), relative, parameters))
            self.known[acting] = held.get(key)
        if chosen is not dynamics:
            chosen.rows.held.update(held)
