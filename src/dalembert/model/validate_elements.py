"""Validation of joints, constraints, forces and events: what they name must exist; the rest each class knows itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import sympy as sp

from dalembert.elements import Element, Placement, Sizes
from dalembert.elements.base import names_in, records_in
from dalembert.joints import JOINTS, JointData
from dalembert.joints.checks import check_joint as check_kind
from dalembert.joints.checks import check_values
from dalembert.model.data import Event
from dalembert.model.fields import nearest
from dalembert.model.validate_bodies import check_placement
from dalembert.model.validate_scope import Place, hint

__all__ = ["check_element", "check_event", "check_initial", "check_joint", "check_switches"]


def check_element(place: Place, path: str, title: str, element: Element) -> None:
    """Everything about an element but its formulas and its own name."""
    for at, kind, name in names_in(element):
        if kind == "joint":
            place.check_joint(f"{path}.{at}", title, name)
        elif kind == "constraint":
            if name not in place.constraints and "constraints" not in place.unsure:
                others = [known for known in place.constraints if known != element.name]
                place.report(f"{path}.{at}", f"{title}: unknown constraint {name!r}", hint(name, others))
        elif kind == "body" or name not in ("world", "body"):
            place.check_body(f"{path}.{at}", title, name)
    for at, record in records_in(element):
        if isinstance(record, Placement):
            check_placement(place, f"{path}.{at}", title, record)
    element.check(ElementSite(place, path, title))


class ElementSite:
    """What an element asks while it is checked (see ``dalembert.elements.Site``)."""

    def __init__(self, place: Place, path: str, title: str):
        self.place, self.path, self.title = place, path, title

    def report(self, field: str, message: str, fix: str = "") -> None:
        self.place.report(f"{self.path}.{field}" if field else self.path, f"{self.title}: {message}", fix)

    def value(self, formula: sp.Expr | None) -> float | None:
        return None if formula is None else self.place.value(formula)

    def along(self, formula: sp.Expr, name: str, points: Iterable[float]) -> list[float] | None:
        return self.place.along(formula, name, points)

    def vector(self, formulas: Iterable[sp.Expr] | None) -> list[float] | None:
        return None if formulas is None else self.place.vector(formulas)

    def is_joint(self, name: str) -> bool:
        return self.place.is_joint(name)

    def bearing(self, joint: str) -> Any:
        data = self.place.joints.get(joint)
        kind = None if data is None else JOINTS.get(data.kind)
        return None if kind is None else kind.bearing or ""

    def sizes(self, joint: str) -> Sizes | None:
        return self.place.sizes(joint)

    def check_coordinate(self, field: str, joint: str, index: int = 0) -> bool:
        if not self.is_joint(joint):
            return False  # reported as a name that nothing has
        sizes = self.sizes(joint)
        if sizes is not None and index < sizes.nq and sizes.in_quaternion(index):
            message = f"coordinate {index} of joint {joint!r} is part of a quaternion, not an angle or length"
            fix = "choose a joint with an angle, or a constraint of kind equation, or a torque"
            self.report(field, message, fix)
        elif sizes is not None and sizes.nq == 0:
            self.report(field, f"joint {joint!r} has no coordinates", "choose another joint")
            return False
        return True

    def check_index(self, field: str, joint: str, index: int, what: Any) -> None:
        sizes = self.sizes(joint)
        count = None if sizes is None else sizes.nq if what == "coordinates" else sizes.nv
        if count is not None and index >= count:
            message = f"index {index} is out of range; joint {joint!r} has {count} {what}"
            self.report(field, message, f"an index from 0 to {count - 1}" if count else "choose another joint")


# Joints


def check_joint(place: Place, path: str, title: str, joint: JointData) -> None:
    """Everything about a joint but its formulas and its name."""
    check_element(place, path, title, joint)
    if joint.kind not in JOINTS:
        place.report(f"{path}.kind", f"{title}: unknown kind {joint.kind!r}", nearest(joint.kind, sorted(JOINTS)))
        return
    check_kind(JOINTS[joint.kind], joint, ElementSite(place, path, title))
    here = None if joint.point is None else place.vector(joint.point)
    if JOINTS[joint.kind].pivots and here is not None:
        _check_particles(place, path, title, (joint.bodies, here))


def _check_particles(place: Place, path: str, title: str, joint: tuple[tuple[str, str], list[float]]) -> None:
    """A joint that turns holds a particle by its own point only: anywhere else nothing could move."""
    bodies, here = joint
    for name in bodies:
        own = place.joints.get(name)
        parallel = own is not None and own.kind in JOINTS and JOINTS[own.kind].parallel
        if own is None or not parallel or own.bodies != ("ground", name) or own.point is None:
            continue
        at = place.vector(own.point)
        if at is not None and not np.allclose(at, here, atol=1e-9):
            message = f"{title}: {name!r} is a particle, which cannot rotate, and is not at the point of the joint"
            fix = f"a body that turns, model.body({name!r}, mass=…, com=…), or a massless rod, model.distance(…)"
            place.report(f"{path}.point", message, fix)


def check_initial(place: Place) -> None:
    """Initial coordinates and rates name joints and have their sizes."""
    for section, given, rates in (
        ("initial", place.model.initial_values, False),
        ("initial_rates", place.model.initial_rates, True),
    ):
        for name, values in given.items():
            path, title = f"{section}.{name}", f"{section} of joint {name!r}"
            if not place.check_joint(path, section, name):
                continue
            sizes = place.sizes(name)
            if sizes is not None:
                check_values(ElementSite(place, path, title), "", "", values, sizes, rates)


# Events


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
