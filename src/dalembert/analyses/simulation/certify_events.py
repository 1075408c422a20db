"""Events whose formula is no number on the way: what is not a number passes through nothing, so they cannot happen."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.model.data import ContactEvent, FrictionEvent
from dalembert.trajectory import Check
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.recorded import Recorded

__all__ = ["event_checks", "event_values"]


def event_checks(dynamics: Dynamics, data: Recorded, outcome: Outcome) -> list[Check]:
    """At how many outputs the formula of an event, or the gap of a contact, is no number.

    Those that name reactions or accelerations are not looked at again, nor those of large mechanisms.
    """
    flat = dynamics.flat
    owners = [(name, flat.events[name][0]) for name in flat.event_owners]
    at = [i for i, (_, event) in enumerate(owners) if not isinstance(event, FrictionEvent) and _has_value(event)]
    if not at or flat.felt or flat.watched or dynamics.is_large:
        return []
    undefined: np.ndarray = np.isnan(event_values(dynamics, data, outcome)[:, at])
    count = int(undefined.any(axis=1).sum())
    if not count:
        return []
    names = dict.fromkeys(owners[at[i]][0] for i in np.flatnonzero(undefined.any(axis=0)))
    first = float(data["time"][int(np.argmax(undefined.any(axis=1)))])
    about = f"outputs at which {', '.join(map(repr, names))} is no number, first at t = {first:.4g} s: it cannot happen"
    fix = "a formula that is defined on both sides of zero, e.g. 1 - x instead of sqrt(1 - x)"
    return [Check("undefined events", count, 0.0, "", about, fix)]


def _has_value(event: object) -> bool:
    """Whether an event is where its own formula says: not where a contact opens or comes to rest."""
    return not isinstance(event, ContactEvent) or event.side >= 0


def event_values(dynamics: Dynamics, data: Recorded, outcome: Outcome) -> np.ndarray:
    """The values of all events at all outputs."""
    t, q, u = data["time"], data["q"], data["u"]
    kernel = dynamics.kernels.event_kernel
    parts = [
        np.asarray(kernel(t[at], q[at], u[at], dynamics.parameters(values))).reshape(len(t[at]), -1)
        for at, values in pieces(outcome.segments, len(t))
    ]
    return np.concatenate(parts)
