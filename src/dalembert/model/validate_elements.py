"""Validation of joints, constraints and forces: what they name must exist; the rest each class knows itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp

from dalembert.elements import Element, Placement, Sizes
from dalembert.elements.base import names_in, records_in
from dalembert.joints import JOINTS
from dalembert.model.validate_bodies import check_placement
from dalembert.model.validate_scope import Place, hint

__all__ = ["ElementSite", "check_element"]


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
