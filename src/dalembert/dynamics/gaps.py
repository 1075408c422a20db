"""Gaps of limits and rigid contacts at given positions, for analyses that prescribe or look for positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.dynamics.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.equations.touches import gaps
from dalembert.errors import DalembertError
from dalembert.numerics.context import Context
from dalembert.state import State

__all__ = ["Gap", "check_gaps", "closed_gaps", "open_gaps", "refuse_friction", "wait_for"]

CLOSED = 1e-9  # a gap as small as this (in its unit, see ``dynamics.even_units``) is closed


class Gap(NamedTuple):
    """One side of a limit or rigid contact: whose, the value of its switch that closes it, its value (m or rad), and
    how small that is where it is closed."""

    owner: str
    side: float
    value: float
    least: float

    @property
    def is_entered(self) -> bool:
        return self.value < -self.least

    @property
    def touches(self) -> bool:
        return abs(self.value) <= self.least


def open_gaps(dynamics: Dynamics, state: State) -> list[Gap]:
    """The gaps at a state of all that is not closed there by its switch."""
    flat = dynamics.flat
    off = flat.off(state.parameters)
    if not off.intersection(flat.contacts):
        return []
    tree = dynamics.coordinates.place(NUMPY, {**flat.parameters, **state.parameters})
    found = gaps(Equations(tree, state.time, state.q, np.zeros(dynamics.nv)))
    parts = zip(flat.gap_names, found, closed_gaps(dynamics), strict=True)
    return [Gap(name, side + 1.0, float(value), least) for (name, side), value, least in parts if name in off]


def closed_gaps(dynamics: Dynamics) -> np.ndarray:
    """How small each gap is where it is closed (m or rad)."""
    return CLOSED * dynamics.even.gaps


def check_gaps(what: str, dynamics: Dynamics, state: State) -> None:
    """Raise if a limit or a rigid contact forbids a state."""
    for gap in open_gaps(dynamics, state):
        if gap.is_entered:
            raise DalembertError(
                f"{what}: {gap.owner!r} is {-gap.value:.3g} (m or rad) beyond its limit there.  Fix: other values, or "
                f"model.remove({gap.owner!r}) to leave it out"
            )


def wait_for(context: Context, dynamics: Dynamics, idle: tuple[str, ...]) -> None:
    """Let gaps of contacts that touch without load be a little negative before they close: rounding goes either way."""
    owners, events = dynamics.flat.event_owners, dynamics.flat.events
    least = {name: value for (name, _), value in zip(dynamics.flat.gap_names, closed_gaps(dynamics), strict=True)}
    contacts = [getattr(events[name][0], "contact", None) for name in owners]
    slack = [-least[name] / 2 if name in idle else 0.0 for name in contacts]
    context.set(n_slack=len(slack) if idle else 0, slack=np.array(slack if idle else ()))


def refuse_friction(dynamics: Dynamics, parameters: dict[str, float], fix: str) -> None:
    """Raise if friction may slip, which an equilibrium does not know; what its switch holds is a plain constraint."""
    off = dynamics.flat.off(parameters)
    slipping = [name for name in dynamics.flat.frictions if name in off]
    if slipping:
        raise DalembertError(
            f"equilibrium: the model has friction that sticks and slips ({', '.join(slipping)}), which it does not "
            f"know.  Fix: {fix}model.remove({slipping[0]!r}) to leave it out"
        )
