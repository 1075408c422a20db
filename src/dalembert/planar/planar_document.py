"""A planar mechanism as plain data, and back: the layout of planar files (``kind: planar``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from dalembert.elements import PlainFormula, Record
from dalembert.errors import ModelError
from dalembert.model.document import element_data, plain_data
from dalembert.model.document_reader import DocumentReader, clip, explain
from dalembert.model.fields import nearest
from dalembert.planar.planar_check import TITLES, problems
from dalembert.planar.planar_data import (
    CONTACTS,
    JOINTS_2D,
    ContactOnDisc,
    ContactOnLine,
    NodeForce,
    NodeSpring,
    NodeWord,
    PinInSlot,
    PlanarBody,
    PlanarConstraint,
    PlanarCoordinate,
    PlanarOutput,
    PlanarVelocity,
    Point,
    PrismaticJoint,
    RevoluteJoint,
    Word,
)
from dalembert.planar.planar_mechanism import Planar
from dalembert.values import DICT, LIST

__all__ = ["KIND", "PlanarDocument", "from_planar_document", "is_planar", "to_planar_document"]

KIND = "planar"


class PlanarDocument(Record):
    """A file of a planar mechanism."""

    kind: Literal["planar"] = Field(description="marks the file as a planar mechanism")
    name: str = Field(description="name of the mechanism")
    description: str = Field("", description="one line for lists")
    gravity: Point = Field((0, 0), validate_default=True, description="acceleration of free fall (m/s²)")
    parameters: dict[Word, float] = Field({}, description="name and nominal value of each parameter")
    inputs: dict[Word, PlainFormula] = Field({}, description="forces chosen from outside, and their laws in a run")
    base: dict[NodeWord, Point] = Field({}, description="nodes of the base (m)")
    bodies: list[PlanarBody] = Field([], description="rigid bodies by their nodes")
    joints: list[RevoluteJoint | PrismaticJoint | PinInSlot] = Field([], description="pins, slides, pins in slots")
    contacts: list[ContactOnLine | ContactOnDisc] = Field([], description="discs that roll")
    springs: list[NodeSpring] = Field([], description="springs and dampers between nodes")
    forces: list[NodeForce] = Field([], description="forces on nodes")
    coordinates: list[PlanarCoordinate] = Field([], description="coordinates of one's own")
    quasi_velocities: list[PlanarVelocity] = Field([], description="quasi-velocities of one's own")
    constraints: list[PlanarConstraint] = Field([], description="formulas that must vanish")
    outputs: list[PlanarOutput] = Field([], description="quantities to record")
    initial: dict[Word, float | list[float]] = Field({}, description="coordinates of joints at the start")
    initial_rates: dict[Word, float | list[float]] = Field({}, description="velocities of joints at the start")


_KINDS: dict[str, Mapping[str, type[Record]]] = {"joints": dict(JOINTS_2D), "contacts": CONTACTS}
_CLASSES: dict[str, type[Record]] = {
    "bodies": PlanarBody, "springs": NodeSpring, "forces": NodeForce, "coordinates": PlanarCoordinate,
    "quasi_velocities": PlanarVelocity, "constraints": PlanarConstraint, "outputs": PlanarOutput,
}  # fmt: skip


def is_planar(data: Any) -> bool:
    """True if plain data say that they describe a planar mechanism."""
    return isinstance(data, DICT) and data.get("kind") == KIND


def to_planar_document(planar: Planar) -> dict[str, Any]:
    """The mechanism as dictionaries, lists, texts and numbers."""
    data: dict[str, Any] = {"kind": KIND, "name": planar.name}
    if planar.description:
        data["description"] = planar.description
    if planar.gravity != (0, 0):
        data["gravity"] = plain_data(planar.gravity)
    data["parameters"] = dict(planar.parameter_values)
    data["inputs"] = plain_data(planar.input_laws)
    data["base"] = plain_data(planar.base_nodes)
    for section in TITLES:
        data[section] = [_planar_element(element) for element in getattr(planar, section)]
    for key, given in (("initial", planar.initial_values), ("initial_rates", planar.initial_rates)):
        data[key] = {name: values[0] if len(values) == 1 else list(values) for name, values in given.items()}
    return {key: value for key, value in data.items() if value not in ([], {})}


_LETTERS = {(1, 0): "x", (0, 1): "y", (-1, 0): "-x", (0, -1): "-y"}


def _planar_element(element: Record) -> dict[str, Any]:
    data = element_data(element, skip=("axis",))
    axis = getattr(element, "axis", None)
    if axis is not None:
        data["axis"] = _LETTERS.get(axis) or plain_data(axis)
    return data


def from_planar_document(data: dict[str, Any], sources: dict[str, str] | None = None) -> Planar:
    """The mechanism of a document.

    Args:
        sources: file and line of a path, e.g. ``{"joints[3].axis": "crank.yaml:41"}``.

    Raises:
        ModelError: listing everything that is wrong.
    """
    reader = _Reader(sources or {})
    planar = reader.planar(data)
    found = reader.found or problems(planar)
    if found:
        raise ModelError(found)
    return planar


class _Reader(DocumentReader):
    """Builds the mechanism."""

    titles, classes, kinds = TITLES, _CLASSES, _KINDS

    def planar(self, data: dict[str, Any]) -> Planar:
        known = PlanarDocument.model_fields
        for key in data:
            if key not in known:
                self.report(clip(key), f"planar mechanism: unknown field {clip(key)!r}", nearest(key, known))
        head = {key: data[key] for key in ("gravity", "parameters", "inputs", "base", "description") if key in data}
        head |= {key: data[key] for key in ("initial", "initial_rates", "name") if key in data}
        given = self.head(head)
        planar = Planar(given.name, gravity=given.gravity, description=given.description)
        planar.parameter_values, planar.input_laws = dict(given.parameters), dict(given.inputs)
        planar.base_nodes.update(given.base)
        for key, target in (("initial", planar.initial_values), ("initial_rates", planar.initial_rates)):
            for name, values in getattr(given, key).items():
                target[name] = tuple(values) if isinstance(values, LIST) else (values,)
        for section in TITLES:
            for i, item in enumerate(self.items(section, data.get(section), section) or []):
                element = self.element(section, item, f"{section}[{i}]")
                if element is not None:
                    getattr(planar, section).append(element)
        planar.sources = dict(self.sources)
        return planar

    def head(self, data: dict[str, Any]) -> PlanarDocument:
        """All fields but the lists; those that are wrong are left out."""
        try:
            return PlanarDocument.model_validate({"kind": KIND, **data})
        except ValidationError as error:
            wrong: set[str] = set()
            for part in error.errors():
                steps, message, fix = explain(PlanarDocument, part)
                key = str(part["loc"][0])
                wrong.add(key)
                self.report(steps, f"{steps} {message}" if part["type"] == "missing" else f"{steps}: {message}", fix)
            kept = {key: value for key, value in data.items() if key not in wrong}
            return PlanarDocument.model_validate({"kind": KIND, "name": "unnamed", **kept})
