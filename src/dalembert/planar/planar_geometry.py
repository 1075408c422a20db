"""A planar mechanism as drawn: places, centers of mass, directions, as formulas of parameters and as numbers."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.errors import ExpressionError
from dalembert.expressions.evaluation import number
from dalembert.planar.planar_data import BASE, PinInSlot, PlanarBody, PlanarJoint, PrismaticJoint, RevoluteJoint

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["Drawn", "Pair", "across", "ends", "turned"]

Pair = tuple[sp.Expr, sp.Expr]


def across(v: Any) -> Any:
    """ẑ × v."""
    return (-v[1], v[0])


def turned(angle: Any, v: Any) -> Any:
    """v turned by an angle."""
    if angle == 0:
        return v
    c, s = sp.cos(angle), sp.sin(angle)
    return (c * v[0] - s * v[1], s * v[0] + c * v[1])


def minus(a: Any, b: Any) -> Any:
    return (a[0] - b[0], a[1] - b[1])


def plus(a: Any, b: Any, factor: Any = 1) -> Any:
    return (a[0] + factor * b[0], a[1] + factor * b[1])


def dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1]


def body_of(node: str) -> str:
    """``crank`` of ``crank.pin``."""
    return node.partition(".")[0]


def ends(joint: PlanarJoint) -> tuple[str, str]:
    """First and second body of a joint."""
    if isinstance(joint, RevoluteJoint):
        return body_of(joint.nodes[0]), body_of(joint.nodes[1])
    if isinstance(joint, PinInSlot):
        return joint.slot, body_of(joint.pin)
    assert isinstance(joint, PrismaticJoint)
    return joint.bodies[0], body_of(joint.bodies[1])


class Drawn:
    """Places of a mechanism in the reference configuration."""

    def __init__(self, planar: Planar):
        self.planar = planar
        self.body = {body.name: body for body in planar.bodies}

    def nodes(self, body: str) -> dict[str, Pair]:
        """Nodes of a body or of the base."""
        return self.planar.base_nodes if body == BASE else self.body[body].nodes

    def place(self, node: str) -> Pair:
        """Where a node is drawn."""
        body, _, name = node.partition(".")
        return self.nodes(body)[name]

    def first_node(self, body: str) -> str:
        return f"{body}.{next(iter(self.nodes(body)))}"

    def weights(self, body: PlanarBody) -> Pair:
        """γ and ρ of the center of mass, of the first two nodes."""
        places = list(body.nodes.values())
        if isinstance(body.com, tuple):
            return body.com
        zero = sp.Integer(0)
        if body.com is None:
            return (sp.Rational(1, 2), zero) if len(places) > 1 else (zero, zero)
        if len(places) == 1:
            return (zero, zero)
        return self.along(body.name, minus(body.nodes[body.com], places[0]))

    def along(self, body: str, v: Any) -> Pair:
        """γ and ρ of v = γ d + ρ ẑ × d with d between the first two nodes of a body."""
        first, second = list(self.nodes(body).values())[:2]
        d = minus(second, first)
        if v == d:
            return (sp.Integer(1), sp.Integer(0))
        square = dot(d, d)
        return (dot(d, v) / square, dot(across(d), v) / square)

    def com(self, body: PlanarBody) -> Pair:
        """Center of mass as drawn."""
        places = list(body.nodes.values())
        if isinstance(body.com, str):
            return body.nodes[body.com]
        if len(places) == 1:
            return places[0]
        gamma, rho = self.weights(body)
        d = minus(places[1], places[0])
        return plus(plus(places[0], d, gamma), across(d), rho)

    def slider(self, joint: PlanarJoint) -> str:
        """The node that slides."""
        if isinstance(joint, PinInSlot):
            return joint.pin
        assert isinstance(joint, PrismaticJoint)
        end = joint.bodies[1]
        return end if "." in end else self.first_node(end)

    def axis(self, joint: PrismaticJoint | PinInSlot) -> Pair:
        """Unit direction of the line as drawn."""
        e = joint.axis
        if e is None:
            first, second = list(self.nodes(ends(joint)[0]).values())[:2]
            e = minus(second, first)
        return self.unit(e)

    def unit(self, e: Any) -> Pair:
        """A direction of length one."""
        length = sp.sqrt(dot(e, e))
        return e if length == 1 else (e[0] / length, e[1] / length)

    # Numbers

    def value(self, formula: Any) -> float:
        """A formula of parameters at their nominal values; NaN where it has none."""
        try:
            return number(cast("sp.Expr", sp.sympify(formula, strict=True)), self.planar.parameter_values)
        except ExpressionError:
            return math.nan

    def point(self, node: str) -> tuple[float, float]:
        """Where a node is drawn, in numbers."""
        x, y = self.place(node)
        return self.value(x), self.value(y)

    @cached_property
    def extent(self) -> float:
        """Size of the drawing: the larger side of the box around all nodes (m)."""
        places = [*self.planar.base_nodes.values(), *(p for body in self.planar.bodies for p in body.nodes.values())]
        sides: list[float] = []
        for i in (0, 1):
            values = [self.value(place[i]) for place in places]
            values = [value for value in values if math.isfinite(value)]
            sides.append(max(values) - min(values) if values else 0.0)
        radii = [abs(self.value(radius)) for contact in self.planar.contacts for radius in radii_of(contact).values()]
        return max(*sides, *(2 * radius for radius in radii), 1e-9) if sides or radii else 1.0


def radii_of(contact: Any) -> dict[str, Any]:
    """Centers and radii of the discs of a contact."""
    if hasattr(contact, "centers"):
        return dict(zip(contact.centers, contact.radii, strict=True))
    return {contact.center: contact.radius}
