"""Events whose formula is no number on the way: what is not a number passes through nothing, so they cannot happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.analyses.simulation.seen import Seen
from dalembert.model.data import ContactEvent, FrictionEvent
from dalembert.trajectory import Check

__all__ = ["event_checks", "undefined_checks"]


def event_checks(seen: Seen) -> list[Check]:
    """At how many outputs, and places of steps, the formula of an event, or the gap of a contact, is no number.

    At outputs those that name reactions or accelerations are not evaluated again, nor those of large mechanisms.
    """
    dynamics, flat, within = seen.dynamics, seen.dynamics.flat, seen.outcome.undefined
    owners = [(name, flat.events[name][0]) for name in flat.event_owners]
    at = [i for i, (_, event) in enumerate(owners) if not isinstance(event, FrictionEvent) and _has_value(event)]
    found = {i: within[i] for i in at if i in within}
    if at and not (flat.feedback or flat.watched or dynamics.is_large):
        times = seen.data["time"]
        undefined: np.ndarray = np.isnan(seen.events[:, at])
        for column, i in enumerate(at):
            if undefined[:, column].any():
                count, first = found.get(i, (0, np.inf))
                here = float(times[int(np.argmax(undefined[:, column]))])
                found[i] = count + int(undefined[:, column].sum()), min(first, here)
    return undefined_checks([name for name, _ in owners], found)


def undefined_checks(owners: Sequence[str], found: Mapping[int, tuple[int, float]]) -> list[Check]:
    """Of events that are no number, by their numbers: at how many places, and the time of the first one."""
    if not found:
        return []
    names, first = dict.fromkeys(owners[i] for i in sorted(found)), min(first for _, first in found.values())
    listed = ", ".join(map(repr, names))
    about = (
        f"outputs and places in steps at which {listed} is not a number, first at t = {first:.4g} s: "
        "it cannot happen there"
    )
    fix = "a formula that is defined on both sides of zero, e.g. 1 - x instead of sqrt(1 - x)"
    return [Check("undefined events", sum(count for count, _ in found.values()), 0.0, "", about, fix)]


def _has_value(event: object) -> bool:
    """Whether an event is where its own formula says: not where a contact opens or comes to rest."""
    return not isinstance(event, ContactEvent) or event.side >= 0
