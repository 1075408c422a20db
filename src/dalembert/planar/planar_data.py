"""What a planar mechanism is made of: bodies by their nodes, joints, contacts, forces, constraints. Pure data.

Points are drawn in the reference configuration (m). Formulas may name parameters, inputs, ``t`` and the motion, see
:mod:`dalembert.planar.planar_names`.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

import sympy as sp
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from dalembert.elements import PlainFormula, Record
from dalembert.elements.base import formula_of, numbers_in
from dalembert.expressions import parameter
from dalembert.values import DICT

__all__ = [
    "BASE", "CONTACTS", "JOINTS_2D", "ContactOnDisc", "ContactOnLine", "Node", "NodeForce", "NodeSpring", "PinInSlot",
    "PlanarBody", "PlanarConstraint", "PlanarCoordinate", "PlanarJoint", "PlanarOutput", "PlanarVelocity",
    "PrismaticJoint", "RevoluteJoint",
]  # fmt: skip

BASE = "base"
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_AXES = {"x": (1, 0), "y": (0, 1), "-x": (-1, 0), "-y": (0, -1)}
# Quantities of a body, which no node may be called, so that ``crank.angle`` is one thing.
OF_BODY = ("angle", "omega")
OF_NODE = ("x", "y", "vx", "vy")


def _word(value: Any) -> str:
    value = getattr(value, "name", value)
    if isinstance(value, str) and keyword.iskeyword(value):
        raise ValueError(f"{value!r} is a word of the formula language; choose another name")
    if isinstance(value, str) and set(value) == {"d"}:
        raise ValueError(f"the name {value!r} would read as a derivative; choose another name")
    if not isinstance(value, str) or not _WORD.fullmatch(value) or len(value) > 100:
        raise ValueError(f"expected a name (letters, digits, _; a letter first), got {value!r}")
    return value


def _node_word(value: Any) -> str:
    value = _word(value)
    if value in OF_BODY or value in PlanarBody.model_fields:
        raise ValueError(f"a node cannot be called {value!r}; the name is taken")
    return value


def _center(value: Any) -> Any:
    """A node of the body, or two numbers."""
    if isinstance(value, Node):
        value = value.name.rpartition(".")[2]
    if value is None or isinstance(value, str):
        return value
    try:
        return tuple(formula_of(part) for part in _point(value))
    except ValueError:
        raise ValueError(f"expected a node, or two numbers (γ, ρ), got {value!r}") from None


def _some(value: Any) -> Any:
    if isinstance(value, DICT) and not value:
        raise ValueError("expected at least one node, e.g. A=(0, 0)")
    return value


def _node_name(value: Any) -> str:
    """``crank.pin``, or a node that a body gave."""
    value = getattr(value, "name", value)
    if not isinstance(value, str) or len(value) > 201 or not re.fullmatch(rf"{_WORD.pattern}\.{_WORD.pattern}", value):
        raise ValueError(f"expected a node, as body.node, e.g. crank.pin or base.O, got {value!r}")
    return value


def _end_name(value: Any) -> str:
    """A body, or a node of it."""
    value = getattr(value, "name", value)
    return _node_name(value) if isinstance(value, str) and "." in value else _word(value)


def _point(value: Any) -> Any:
    return numbers_in(value, 2, "two numbers (x, y)")


def _direction(value: Any) -> Any:
    if isinstance(value, str):
        if value not in _AXES:
            raise ValueError(f"expected two numbers or one of x, y, -x, -y, got {value!r}")
        return _AXES[value]
    return _point(value)


_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}], "x-type": "formula"}
_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}


def _text(word: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "maxLength": 201, "x-type": word})


Word = Annotated[str, BeforeValidator(_word), _text("name")]
NodeWord = Annotated[str, BeforeValidator(_node_word), _text("name")]
NodeName = Annotated[str, BeforeValidator(_node_name), _text("node")]
EndName = Annotated[str, BeforeValidator(_end_name), _text("body or node")]
Point = Annotated[
    tuple[PlainFormula, PlainFormula], BeforeValidator(_point), WithJsonSchema({**_PAIR, "x-type": "point"})
]
Nodes = Annotated[dict[NodeWord, Point], BeforeValidator(_some)]
Center = Annotated[
    str | tuple[sp.Expr, sp.Expr] | None,
    BeforeValidator(_center),
    PlainSerializer(lambda value: value),
    WithJsonSchema({"anyOf": [{"type": "string"}, _PAIR], "x-type": "node or point"}),
]
Direction = Annotated[
    tuple[PlainFormula, PlainFormula],
    BeforeValidator(_direction),
    WithJsonSchema({"anyOf": [_PAIR, {"enum": list(_AXES)}], "x-type": "direction"}),
]


class _Quantity:
    """What formulas may name of a node, body or joint: ``crank.angle``."""

    def __init__(self, key: str, text: str = ""):
        self.key, self.__doc__ = key, text

    def __get__(self, owner: Any, _type: type | None = None) -> sp.Symbol:
        if owner is None:
            return cast(sp.Symbol, self)
        return parameter(f"{owner.name}.{self.key}")


@dataclass(frozen=True)
class Node:
    """A point of a body; ``x``, ``y``, ``vx``, ``vy`` name its motion in formulas."""

    name: str

    def __str__(self) -> str:
        return self.name

    x, y = _Quantity("x"), _Quantity("y")
    vx, vy = _Quantity("vx"), _Quantity("vy")


class PlanarBody(Record):
    """A rigid body in the plane, by its nodes. Each is an attribute: ``crank.pin``.

    The center of mass is p₁ + γ (p₂ − p₁) + ρ ẑ × (p₂ − p₁) with the first two nodes.
    """

    name: Word = Field(description="unique name")
    nodes: Nodes = Field(description="name and drawn place of each node (m)")
    mass: PlainFormula = Field(0, validate_default=True, description="mass (kg)")
    inertia: PlainFormula = Field(
        0, validate_default=True, description="moment of inertia about the center of mass (kg m²)"
    )
    com: Center = Field(None, description="a node, or (γ, ρ); default: halfway between the first two nodes")
    force: Point | None = Field(None, description="force at the center of mass, world axes (N)")
    torque: PlainFormula | None = Field(None, description="torque (N m)")
    color: str | None = Field(None, pattern=r"^#[0-9a-fA-F]{6}$", description="as #rrggbb")

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_") or key in type(self).model_fields:
            raise AttributeError(key)
        if key in self.nodes:
            return Node(f"{self.name}.{key}")
        raise AttributeError(f"body {self.name!r} has no node {key!r}; it has {', '.join(self.nodes)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.nodes]

    angle: ClassVar = _Quantity("angle", "How far it has turned since it was drawn (rad), for use in formulas.")
    omega: ClassVar = _Quantity("omega", "Its angular velocity (rad/s), for use in formulas.")


class PlanarJoint(Record):
    """A joint; its quantities, zero as drawn, are attributes for use in formulas.

    Attributes:
        turns, slides: whether the second body turns or slides against the first.
    """

    turns: ClassVar[bool] = False
    slides: ClassVar[bool] = False
    name: Word = Field(description="unique name")

    angle: ClassVar = _Quantity("angle")
    omega: ClassVar = _Quantity("omega")
    slide: ClassVar = _Quantity("slide")
    speed: ClassVar = _Quantity("speed")

    def quantities(self) -> tuple[str, ...]:
        """What formulas may name of it."""
        return ("angle", "omega") * self.turns + ("slide", "speed") * self.slides


class RevoluteJoint(PlanarJoint):
    """A pin through two nodes that are drawn at the same place."""

    turns = True
    kind: Literal["revolute"] = "revolute"
    nodes: tuple[NodeName, NodeName] = Field(description="a node of the first and one of the second body")
    torque: PlainFormula | None = Field(
        None, description="of the first on the second body (N m): an input, or a formula"
    )


class PrismaticJoint(PlanarJoint):
    """The second body slides along a line of the first and does not turn against it."""

    slides = True
    kind: Literal["prismatic"] = "prismatic"
    bodies: tuple[Word, EndName] = Field(description="first body, and the second or the node of it that slides")
    axis: Direction = Field(description="direction of the line as drawn")
    point: Point | None = Field(None, description="where the guide is drawn; default: at the node that slides (m)")
    force: PlainFormula | None = Field(None, description="of the first on the second body along the axis (N)")


class PinInSlot(PlanarJoint):
    """A node of the second body slides along a line of the first and turns freely."""

    turns = slides = True
    kind: Literal["pin-in-slot"] = "pin-in-slot"
    slot: Word = Field(description="the body with the slot, the first")
    pin: NodeName = Field(description="the node of the second body")
    axis: Direction | None = Field(
        None, description="direction of the slot as drawn; default: along the first two nodes of its body"
    )
    force: PlainFormula | None = Field(None, description="of the first on the second body along the slot (N)")
    torque: PlainFormula | None = Field(None, description="of the first on the second body (N m)")


class ContactOnLine(Record):
    """A disc that rolls without slip along a line of another body; it never lifts off."""

    kind: Literal["rolling-on-line"] = "rolling-on-line"
    name: Word = Field(description="unique name")
    center: NodeName = Field(description="the node at the center of the disc")
    radius: PlainFormula = Field(description="of the disc (m)")
    line: Word = Field(BASE, description="the body with the line")
    axis: Direction = Field(description="direction of the line; the disc rolls on its left side")


class ContactOnDisc(Record):
    """A disc that rolls without slip on another; with ``inside`` the second rolls inside the first, a ring."""

    kind: Literal["rolling-on-disc"] = "rolling-on-disc"
    name: Word = Field(description="unique name")
    centers: tuple[NodeName, NodeName] = Field(description="the nodes at the centers")
    radii: Point = Field(description="of both (m)")
    inside: bool = Field(False, description="True: the second disc rolls inside the first")


class NodeSpring(Record):
    """A spring and damper between two nodes:  tension = k (l − l₀) + c l̇."""

    name: Word = Field(description="unique name")
    nodes: tuple[NodeName, NodeName] = Field(description="its ends")
    stiffness: PlainFormula = Field(0, validate_default=True, description="k (N/m)")
    damping: PlainFormula = Field(0, validate_default=True, description="c (N s/m)")
    length: PlainFormula | None = Field(
        None, description="free length l₀ (m); default: the length in the reference configuration"
    )


class NodeForce(Record):
    """A force on a node, world axes."""

    name: Word = Field(description="unique name")
    node: NodeName = Field(description="where it acts")
    value: Point = Field(description="components (N)")


class PlanarCoordinate(Record):
    """A coordinate of one's own, given by its rate:  q̇ = formula."""

    name: Word = Field(description="unique name")
    rate: PlainFormula = Field(description="q̇, linear in velocities")
    start: float = Field(0.0, allow_inf_nan=False, description="its value as drawn")


class PlanarVelocity(Record):
    """A quasi-velocity of one's own:  p = formula, with a force and an inertia that belong to it."""

    name: Word = Field(description="unique name")
    formula: PlainFormula = Field(description="p, linear in velocities")
    force: PlainFormula | None = Field(None, description="whose power is force · p")
    inertia: PlainFormula = Field(0, validate_default=True, description="J of the kinetic energy ½ J p²")


class PlanarConstraint(Record):
    """A formula that must vanish."""

    name: Word = Field(description="unique name")
    formula: PlainFormula = Field(description="must be zero")
    level: Literal["position", "velocity"] = Field("position", description="'position' (holonomic) or 'velocity'")


class PlanarOutput(Record):
    """A quantity to record."""

    name: Word = Field(description="unique name")
    formula: PlainFormula = Field(description="any quantity of the motion")
    unit: str = Field("", max_length=40, description="for labels")


JOINTS_2D: dict[str, type[PlanarJoint]] = {
    joint.model_fields["kind"].default: joint for joint in (RevoluteJoint, PrismaticJoint, PinInSlot)
}
CONTACTS: dict[str, type[Record]] = {
    contact.model_fields["kind"].default: contact for contact in (ContactOnLine, ContactOnDisc)
}
