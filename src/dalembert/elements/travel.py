"""How far something may move: a formula of the position between two bounds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.elements.base import Element
from dalembert.elements.motion import Motion
from dalembert.elements.site import Site
from dalembert.expressions import Reference, reference, references

__all__ = ["Travel", "check_travel", "slope", "travel_sides"]


@lru_cache(maxsize=1000)
def slope(formula: sp.Expr, ref: Reference) -> sp.Expr:
    """The derivative of a formula by something that it names; it is asked for in many algebras and at many states."""
    return cast(sp.Expr, formula.diff(reference(ref.quantity, ref.element, ref.index)))


class Travel:
    """What elements with the fields ``of``, ``lower`` and ``upper`` share."""

    if TYPE_CHECKING:  # each class describes these fields in its own words, and in its own order
        lower: sp.Expr | None
        upper: sp.Expr | None

    @classmethod
    def from_call(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """A joint stands for its first coordinate; formulas are left as they are."""
        given = fields.get("of")
        return {**fields, "of": reference("q", given.name) if isinstance(given, Element) else given}

    @property
    def sides(self) -> int:
        return (self.lower is not None) + (self.upper is not None)


def travel_sides(motion: Motion, of: sp.Expr, lower: sp.Expr | None, upper: sp.Expr | None) -> list[Any]:
    """What is left to the lower and to the upper bound."""
    x = motion.evaluate(of)
    below = [] if lower is None else [x - motion.evaluate(lower)]
    return below if upper is None else [*below, motion.evaluate(upper) - x]


def check_travel(site: Site, of: sp.Expr, lower: sp.Expr | None, upper: sp.Expr | None) -> None:
    """There must be a bound, the lower one below the upper one, and something that moves between them."""
    low, high = site.value(lower), site.value(upper)
    if lower is None and upper is None:
        site.report("lower", "neither lower nor upper is given", "lower: -1, upper: 1")
    if low is not None and high is not None and not low < high:
        site.report("upper", f"the limits are swapped: lower {low:g}, upper {high:g}", "swap them")
    found = references(of)
    if not found:
        site.report("of", f"{of} does not move", "name a coordinate, e.g. of: q(knee)")
    for ref in sorted(found, key=repr):
        if ref.quantity == "q" and site.is_joint(ref.element):
            site.check_coordinate("of", ref.element, ref.index)
