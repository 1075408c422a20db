"""Which limits and rigid contacts are closed at an equilibrium: they push or are open, and are never entered.

    g ≥ 0  ⊥  λ ≥ 0

By active sets: a gap that the search enters is closed from then on, one whose force would pull is opened again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dalembert.analyses.statics.equilibrium_balance import BALANCED, Balance, Candidate, Roles
from dalembert.dynamics import Dynamics
from dalembert.dynamics.gaps import Gap, open_gaps
from dalembert.state import State

__all__ = ["ContactBalance"]


class ContactBalance:
    """The equations of one mechanism for every choice of what is closed.

    Args:
        start: gives time and parameters; what their switches close stays closed.
    """

    def __init__(self, dynamics: Dynamics, start: State, roles: Roles):
        self.dynamics, self.start, self.roles = dynamics, start, roles
        off = dynamics.flat.off(start.parameters)
        self.free = [name for name in dynamics.flat.contacts if name in off]
        self._balances: dict[tuple[tuple[str, float], ...], Balance] = {}

    def state(self, at: Candidate, unknowns: tuple[str, ...] = ()) -> State:
        """A candidate as a state; closed contacts are among its parameters."""
        names = self.dynamics.parameter_names
        values = {name: float(at.p[names.index(name)]) for name in {*self.start.parameters, *unknowns}}
        values |= {self.dynamics.flat.switches[name]: side for name, side in self.closed(at.p).items()}
        return State(self.start.time, at.q, at.u, self.dynamics.coordinates, values)

    def closed(self, p: np.ndarray) -> dict[str, float]:
        """What is closed, and on which side."""
        d = self.dynamics
        values = {name: float(p[d.parameter_names.index(d.flat.switches[name])]) for name in self.free}
        return {name: value for name, value in values.items() if value}

    def of(self, p: np.ndarray) -> Balance:
        """The balance with what parameters close."""
        return self._of(self.closed(p))

    def _of(self, closed: Mapping[str, float]) -> Balance:
        key = tuple(sorted(closed.items()))
        if key not in self._balances:
            switches = {self.dynamics.flat.switches[name]: side for name, side in key}
            given = State(
                self.start.time,
                self.start.q,
                self.start.u,
                self.start.coordinates,
                {**self.start.parameters, **switches},
            )
            self._balances[key] = Balance(self.dynamics, given, self.roles)
        return self._balances[key]

    def _with(self, at: Candidate, closed: Mapping[str, float]) -> Candidate:
        p, d = at.p.copy(), self.dynamics
        for name in self.free:
            p[d.parameter_names.index(d.flat.switches[name])] = closed.get(name, 0.0)
        return replace(at, p=p)

    def find(self, at: Candidate, downhill: bool) -> tuple[Candidate, float]:
        """The best from one start, and what is left of its balance."""
        closed: dict[str, float] = {}
        tried: list[dict[str, float]] = []
        found, left = at, float("inf")
        while closed not in tried:
            tried.append(dict(closed))
            balance = self._of(closed)
            way = balance.descend if downhill else balance.solve
            found, left = way(self._with(at, closed))
            entered, pulling = self.entered(found), self._pulling(found, balance)
            if not entered and not (pulling and left <= BALANCED):
                return found, left
            if self.roles.moving:
                break
            if entered:
                worst = min(entered, key=lambda gap: gap.value)
                closed[worst.owner] = worst.side
            elif pulling:
                del closed[pulling]
        return found, float("inf")

    def entered(self, at: Candidate) -> list[Gap]:
        """Gaps that are open, and negative."""
        if not self.free:
            return []
        return [gap for gap in open_gaps(self.dynamics, self.state(at)) if gap.is_entered]

    def pushes(self, at: Candidate) -> dict[str, float]:
        """λ of all that is closed: what pushes its gap open (N, or N m)."""
        return {name: float(at.multipliers[self.dynamics.rows.of([name])[0]]) for name in self.closed(at.p)}

    def _pulling(self, at: Candidate, balance: Balance) -> str:
        """The contact that pulls most."""
        pushes = self.pushes(at)
        if not pushes:
            return ""
        worst = min(pushes, key=lambda name: pushes[name])
        return worst if pushes[worst] < -self.least_push(at, balance) else ""

    def least_push(self, at: Candidate, balance: Balance) -> float:
        """A force so small is none."""
        return BALANCED * balance.force(balance.tangent(at))
