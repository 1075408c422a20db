"""Events whose formula is no number on the way: what is not a number passes through nothing, so they cannot happen."""

from __future__ import annotations

import numpy as np

from dalembert.analyses.simulation.seen import Seen
from dalembert.model.data import ContactEvent, FrictionEvent
from dalembert.trajectory import Check

__all__ = ["event_checks"]


def event_checks(seen: Seen) -> list[Check]:
    """At how many outputs the formula of an event, or the gap of a contact, is no number.

    Those that name reactions or accelerations are not looked at again, nor those of large mechanisms.
    """
    dynamics, flat = seen.dynamics, seen.dynamics.flat
    owners = [(name, flat.events[name][0]) for name in flat.event_owners]
    at = [i for i, (_, event) in enumerate(owners) if not isinstance(event, FrictionEvent) and _has_value(event)]
    if not at or flat.felt or flat.watched or dynamics.is_large:
        return []
    undefined: np.ndarray = np.isnan(seen.events[:, at])
    count = int(undefined.any(axis=1).sum())
    if not count:
        return []
    names = dict.fromkeys(owners[at[i]][0] for i in np.flatnonzero(undefined.any(axis=0)))
    first = float(seen.data["time"][int(np.argmax(undefined.any(axis=1)))])
    about = f"outputs at which {', '.join(map(repr, names))} is no number, first at t = {first:.4g} s: it cannot happen"
    fix = "a formula that is defined on both sides of zero, e.g. 1 - x instead of sqrt(1 - x)"
    return [Check("undefined events", count, 0.0, "", about, fix)]


def _has_value(event: object) -> bool:
    """Whether an event is where its own formula says: not where a contact opens or comes to rest."""
    return not isinstance(event, ContactEvent) or event.side >= 0
