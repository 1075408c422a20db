"""A planar mechanism as plain data, and back: the layout of planar files (``kind: planar``)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from dalembert.elements import PlainFormula, Record
from dalembert.errors import ModelError, Problem
from dalembert.model.document import MAX_MESSAGE, clip, element_data, explain, kind_of, plain_data
from dalembert.model.fields import nearest
from dalembert.model.validate_scope import where_of
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

    kind: Literal["planar"] = Field(description="tells a planar mechanism from a model")
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


_KINDS: dict[str, dict[str, type[Record]]] = {"joints": dict(JOINTS_2D), "contacts": CONTACTS}
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


class _Reader:
    """Builds the mechanism and keeps what is wrong, going on with the rest."""

    def __init__(self, sources: dict[str, str]):
        self.sources = sources
        self.found: list[Problem] = []

    def report(self, path: str, message: str, fix: str = "") -> None:
        message, fix = (
            text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + "..." for text in (message, fix)
        )
        where = where_of(self.sources, path) or self.sources.get("", "")
        self.found.append(Problem(f"{message}.", path, fix, where))

    def planar(self, data: dict[str, Any]) -> Planar:
        for key in data:
            if key not in PlanarDocument.model_fields:
                self.report(clip(key), f"planar mechanism: unknown field {clip(key)!r}", nearest(key, _fields()))
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
            self.section(planar, section, data.get(section))
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

    def section(self, planar: Planar, section: str, given: Any) -> None:
        if given is None:
            return
        if not isinstance(given, LIST):
            self.report(section, f"{section}: expected a list, got {kind_of(given)}", f"{section}: [{{name: …}}]")
            return
        for i, item in enumerate(given):
            element = self.element(section, item, f"{section}[{i}]")
            if element is not None:
                getattr(planar, section).append(element)

    def element(self, section: str, item: Any, path: str) -> Record | None:
        title = TITLES[section]
        if not isinstance(item, DICT):
            self.report(path, f"{title}: expected fields such as name: …, got {kind_of(item)}", "- name: …")
            return None
        if isinstance(item.get("name"), str):
            title += f" {clip(item['name'])!r}"
        kind = _CLASSES.get(section)
        if kind is None:
            known, named = _KINDS[section], item.get("kind")
            kind = known.get(named) if isinstance(named, str) else None
            if kind is None:
                message = "kind is missing" if named is None else f"unknown kind {clip(named)!r}"
                self.report(f"{path}.kind" if named is not None else path, f"{title}: {message}", nearest(named, known))
                return None
        try:
            return kind.model_validate(item)
        except ValidationError as error:
            for part in error.errors():
                self.explain(kind, part, path, title)
        return None

    def explain(self, kind: type[Record], part: Any, path: str, title: str) -> None:
        steps, message, fix = explain(kind, part)
        if part["type"] == "extra_forbidden":
            fix = nearest(part["loc"][0], kind.model_fields)
            self.report(f"{path}.{steps}", f"{title}: unknown field {steps!r}", fix)
        elif part["type"] == "missing":
            self.report(path, f"{title}: {steps} {message}", fix)
        else:
            self.report(f"{path}.{steps}", f"{title}: {steps}: {message}", fix)


def _fields() -> list[str]:
    return list(PlanarDocument.model_fields)
