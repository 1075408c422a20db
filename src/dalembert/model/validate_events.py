"""Validation of events: what they set, which velocities they give, and what they switch."""

from __future__ import annotations

import sympy as sp

from dalembert.model.data import Event
from dalembert.model.validate_scope import Place, hint

__all__ = ["check_event", "check_switches"]


def check_event(place: Place, path: str, title: str, event: Event) -> None:
    """Everything that an event names must exist, and once."""
    _check_set(place, path, title, event)
    _check_rates(place, path, title, event)
    for name in event.switch:
        if name not in place.constraints and "constraints" not in place.unsure:
            fix = hint(name, place.constraints)
            if place.is_joint(name):
                fix = f"a joint cannot be switched, only constraints and drives; {fix}"
            place.report(f"{path}.switch.{name}", f"{title}: unknown constraint {name!r}", fix)


def _check_set(place: Place, path: str, title: str, event: Event) -> None:
    targets: dict[str, str] = {}
    for name in event.set:
        at = f"{path}.set.{name}"
        if name in place.draft.missing.get("parameters", ()):
            continue
        if name not in place.values and name not in place.known_parameters:
            owner = name.removesuffix(".on")
            switch = f"switch: {{{owner}: true}}" if owner != name and owner in place.constraints else ""
            message = f"{title}: unknown parameter {name!r}"
            place.report(at, message, switch or hint(name, place.known_parameters))
            continue
        full = _target(place, name)
        if full is None:
            message = f"{title}: parameter {name!r} is bound to a formula by the enclosing model and cannot be set"
            place.report(at, message, "set a parameter of that formula, or leave this one unbound")
        elif full in targets:
            message = f"{title}: parameters {targets[full]!r} and {name!r} are the same one"
            place.report(at, message, "set it once")
        else:
            targets[full] = name


def _target(place: Place, name: str) -> str | None:
    """Full name of the parameter that a known name stands for here; None if that is a formula."""
    while name in place.bound and place.parent is not None:
        formula = place.bound[name]
        if not isinstance(formula, sp.Symbol):
            return None
        name, place = formula.name, place.parent
    # The outermost model also reaches into its sub-models.
    return place.prefix + name if name in place.values or name in place.free_parameters else None


def _check_rates(place: Place, path: str, title: str, event: Event) -> None:
    seen: set[tuple[str, int]] = set()
    for key, (joint, index) in zip(event.rates, event.rate_targets, strict=True):
        at = f"{path}.rates.{key}"
        if not place.check_joint(at, title, joint):
            continue
        sizes = place.sizes(joint)
        if sizes is None:
            continue
        if index >= sizes.nv:
            message = f"{title}: index {index} is out of range; joint {joint!r} has {sizes.nv} velocities"
            place.report(at, message, f"an index from 0 to {sizes.nv - 1}" if sizes.nv else "choose another joint")
        elif sizes.nv > 1 and "[" not in key:
            message = f"{title}: joint {joint!r} has {sizes.nv} velocities; which one is meant?"
            place.report(at, message, f"one of {', '.join(f'{joint}[{i}]' for i in range(sizes.nv))}")
        elif (joint, index) in seen:
            place.report(at, f"{title}: velocity {index} of joint {joint!r} is given twice", "give it once")
        seen.add((joint, index))


def check_switches(root: Place) -> None:
    """The parameter ``constraint.on``, made for each constraint that can be off, must not exist already."""
    places = list(root.walk())
    switched = {place.prefix + name for place in places for event in place.model.events for name in event.switch}
    for place in places:
        for path, constraint in place.elements("constraints"):
            full = place.prefix + constraint.name
            if (not constraint.active or full in switched) and f"{full}.on" in root.free_parameters:
                message = f"constraint {constraint.name!r}: a sub-model of this name has a parameter 'on'"
                place.report(f"{path}.name", f"{message}, which is the name of its switch", "choose another name")
