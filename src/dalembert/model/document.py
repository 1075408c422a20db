"""The model as plain data, and back: the layout of model files.

Only dictionaries, lists, texts and numbers appear. Fields at their defaults are left out, so that a file
shows what matters.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Annotated, Any

import sympy as sp
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from dalembert.constraints import CONSTRAINTS, Constraint
from dalembert.elements import Formula, Gravity, JointName, Placement, Record
from dalembert.elements.base import AXES, plain_formula
from dalembert.errors import ModelError, Problem
from dalembert.forces import FORCES, Force
from dalembert.joints import JointData, data_of
from dalembert.model.data import Body, Event, Output, Point, Shape, SubModel
from dalembert.model.document_reader import DocumentReader, clip, explain, kind_of, path_of
from dalembert.model.fields import nearest
from dalembert.model.fmu_data import FMUElement
from dalembert.model.model import MAX_SUBMODEL_DEPTH, SECTIONS, Model, check_nesting
from dalembert.model.signals_data import InputSignal, StateVariable, Table
from dalembert.model.validate import TITLES, problems
from dalembert.model.validate_scope import Draft
from dalembert.values import DICT, LIST, SEQUENCE

__all__ = ["UNREAD", "Document", "from_document", "to_document"]

# Stands for a sub-model that a reader has already complained about; its names are taken to exist.
UNREAD = object()
_MAPPING: tuple[type[Any], ...] = (Mapping,)
_CONFIG = ConfigDict(arbitrary_types_allowed=True)
_VALUES = TypeAdapter(tuple[Formula, ...], config=_CONFIG)
_GRAVITY = TypeAdapter(Gravity, config=_CONFIG)
_KINDS: dict[str, Mapping[str, type[Record]]] = {"constraints": CONSTRAINTS, "forces": FORCES}
_CLASSES: dict[str, type[Record]] = {
    "bodies": Body,
    "points": Point,
    "states": StateVariable,
    "inputs": InputSignal,
    "tables": Table,
    "outputs": Output,
    "events": Event,
    "fmus": FMUElement,
    "submodels": SubModel,
}


class Document(Record):
    """A model file."""

    name: str = Field(description="name of the mechanism")
    description: str = Field("", description="one line for lists")
    gravity: Gravity = Field((0, 0, -9.81), validate_default=True, description="acceleration of free fall (m/s²)")
    parameters: dict[str, float] = Field({}, description="name and nominal value of each parameter")
    bodies: list[Body] = Field([], description="the rigid bodies; the world is called 'ground'")
    points: list[Point] = Field([], description="points of bodies that formulas name")
    joints: list[JointData] = Field([], description="joints between bodies; any joint may close a loop")
    constraints: list[Constraint] = Field([], description="gears, racks, couplers, equations and drives")
    forces: list[Force] = Field([], description="springs, bushings, forces, torques and motors")
    states: list[StateVariable] = Field([], description="states besides the motion: currents, pressures, controllers")
    inputs: list[InputSignal] = Field([], description="signals from outside, which a run gives")
    tables: list[Table] = Field([], description="functions given by points")
    outputs: list[Output] = Field([], description="quantities to record along every trajectory")
    events: list[Event] = Field([], description="end stops, clutches, switches: what happens when a quantity is zero")
    fmus: list[FMUElement] = Field([], description="FMUs that run beside the mechanism, if a run trusts their files")
    ground_shapes: list[Shape] = Field([], description="what to draw on the ground")
    initial: dict[JointName, Formula | tuple[Formula, ...]] = Field(
        {}, description="coordinates of joints at the start: a value or a list"
    )
    initial_rates: dict[JointName, Formula | tuple[Formula, ...]] = Field(
        {}, description="velocities of joints at the start: a value or a list"
    )
    velocities: dict[str, Formula] = Field(
        {}, description="quasi-velocities for analytical formalisms: formulas linear in rates"
    )
    submodels: list[SubModel] = Field([], description="models inside this one; their elements are called name.element")


# To plain data


def to_document(model: Model) -> dict[str, Any]:
    """The model as dictionaries, lists, texts and numbers."""
    check_nesting(model)
    return _document(model)


def _document(model: Model) -> dict[str, Any]:
    data: dict[str, Any] = {"name": model.name}
    if model.description:
        data["description"] = model.description
    if model.gravity != _default(Document, "gravity"):
        data["gravity"] = plain_data(model.gravity)
    data["parameters"] = dict(model.parameter_values)
    for section in SECTIONS[:-1]:
        data[section] = [element_data(element) for element in getattr(model, section)]
    data["ground_shapes"] = [element_data(shape) for shape in model.ground_shapes]
    data["initial"] = {name: _scalar(values) for name, values in model.initial_values.items()}
    data["initial_rates"] = {name: _scalar(values) for name, values in model.initial_rates.items()}
    data["velocities"] = {name: plain_data(formula) for name, formula in model.quasi_velocities.items()}
    data["submodels"] = [_submodel(sub) for sub in model.submodels]
    return {key: value for key, value in data.items() if key == "name" or value not in ([], {})}


def _submodel(sub: SubModel) -> dict[str, Any]:
    if not isinstance(sub.model, Model):
        raise ModelError(
            Problem(f"sub-model {sub.name!r}: expected a model, got {type(sub.model).__name__}", "submodels")
        )
    data = element_data(sub, skip=("model",))
    data["model"] = _document(sub.model)
    return data


def element_data(record: Record, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a record that differ from their defaults."""
    data: dict[str, Any] = {}
    implied = record.implied()
    for key, field in type(record).model_fields.items():
        value = getattr(record, key)
        usual = not field.is_required() and _same(
            value, implied[key] if key in implied else _default(type(record), key)
        )
        if key in skip or (usual and key != "kind"):
            continue
        if key in ("axis", "axis_2"):
            data[key] = _axis(value)
        elif key == "reference":
            data[key] = _scalar(value)
        else:
            data[key] = plain_data(value)
    return data


_DEFAULTS: dict[tuple[type, str], Any] = {}


def _default(kind: type[Record], key: str) -> Any:
    """The default of a field as it comes out of validation, so that 0 is compared as a formula."""
    if (kind, key) not in _DEFAULTS:
        field = kind.model_fields[key]
        default = field.get_default(call_default_factory=True)
        if field.validate_default:
            default = TypeAdapter(_annotated(field), config=_CONFIG).validate_python(default)
        _DEFAULTS[kind, key] = default
    return _DEFAULTS[kind, key]


def _annotated(field: Any) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def plain_data(value: Any) -> Any:
    if isinstance(value, sp.Expr):
        return plain_formula(value)
    if isinstance(value, Placement):
        data = element_data(value)
        turned = any(getattr(value, key) is not None for key in ("rpy", "quaternion", "rotation"))
        return data if turned else plain_data(value.position)
    if isinstance(value, Record):
        return element_data(value)
    if isinstance(value, SEQUENCE):
        return [plain_data(item) for item in value]
    if isinstance(value, _MAPPING):
        return {key: plain_data(item) for key, item in value.items()}
    return value


def _axis(values: Any) -> Any:
    """A coordinate axis by its letter."""
    for letter, unit in AXES.items():
        for sign in (1, -1):
            if values == tuple(sp.Integer(sign * component) for component in unit):
                return letter if sign == 1 else f"-{letter}"
    return plain_data(values)


def _scalar(values: tuple[sp.Expr, ...]) -> Any:
    """A single value without its list."""
    return plain_data(values[0]) if len(values) == 1 else plain_data(values)


# From plain data


def from_document(data: Any, sources: dict[str, str] | None = None) -> Model:
    """The model of a document.

    Args:
        data: dictionaries, lists, texts and numbers, as ``to_document`` gives them.
        sources: file and line of a path, e.g. ``{"joints[3].axis": "robot.yaml:41"}``.

    Raises:
        ModelError: listing everything that is wrong, in the structure and in the mechanics.
    """
    reader = _Reader(sources or {})
    model = reader.model(data, "")
    found = reader.found
    if model is not None:
        found = found + problems(model, reader.drafts)
    if found:
        raise ModelError(found)
    assert model is not None
    return model


class _Reader(DocumentReader):
    """Builds models; ``depth``: of the sub-model that is read."""

    titles, classes, kinds = TITLES, _CLASSES, _KINDS

    def __init__(self, sources: dict[str, str]):
        super().__init__(sources)
        self.paths = sorted(sources)
        self.depth = 0
        self.drafts: dict[int, Draft] = {}

    def model(self, data: Any, at: str) -> Model | None:
        """A model whose paths begin with ``at``; None if there is nothing to build on."""
        if self.depth > MAX_SUBMODEL_DEPTH:
            self.report(at.rstrip("."), f"sub-models nested deeper than {MAX_SUBMODEL_DEPTH}")
            return None
        if not isinstance(data, DICT):
            got = "nothing" if data is None else kind_of(data)
            self.report(at.rstrip("."), f"expected a model (name, bodies, joints, …), got {got}", "name: pendulum")
            return None
        for key in data:
            if key not in Document.model_fields:
                fix = nearest(key, Document.model_fields)
                self.report(f"{at}{clip(key)}", f"model: unknown field {clip(key)!r}", fix)
        model = Model(self.text(data, at, "name") or "unnamed", description=self.text(data, at, "description"))
        if data.get("gravity") is not None:
            self.gravity(model, data["gravity"], at)
        draft = self.drafts[id(model)] = Draft()
        self.parameters(model, draft, data.get("parameters"), at)
        for section in SECTIONS:
            self.section(model, draft, section, data.get(section), at)
        self.ground_shapes(model, data.get("ground_shapes"), f"{at}ground_shapes")
        self.initial(model.initial_values, data.get("initial"), f"{at}initial")
        self.initial(model.initial_rates, data.get("initial_rates"), f"{at}initial_rates")
        given: dict[str, tuple[sp.Expr, ...]] = {}
        self.initial(given, data.get("velocities"), f"{at}velocities", "velocity")
        model.quasi_velocities = {name: formulas[0] for name, formulas in given.items() if formulas}
        model.sources = self.below(at)
        return model

    def below(self, at: str) -> dict[str, str]:
        """Sources whose path begins with ``at``, without it."""
        found: dict[str, str] = {}
        for i in range(bisect.bisect_left(self.paths, at), len(self.paths)):
            path = self.paths[i]
            if not path.startswith(at):
                break
            if path != at:
                found[path.removeprefix(at)] = self.sources[path]
        return found

    def text(self, data: dict[str, Any], at: str, key: str) -> str:
        value = data.get(key)
        if value is None:
            if key == "name":
                self.report(at.rstrip("."), "model: name is missing", "name: pendulum")
            return ""
        if not isinstance(value, str):
            self.report(at + key, f"model: {key}: expected a text, got {kind_of(value)}", f'{key}: "{clip(value)}"')
            return ""
        return value

    def gravity(self, model: Model, value: Any, at: str) -> None:
        try:
            model.gravity = _GRAVITY.validate_python(value)
        except ValidationError as error:
            for part in error.errors():
                path, message, fix = explain(None, part)
                self.report(f"{at}gravity{path}", f"gravity: {message}", fix or "[0, 0, -9.81]")

    def parameters(self, model: Model, draft: Draft, given: Any, at: str) -> None:
        path = f"{at}parameters"
        for name, value in self.mapping(given, path).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                got = f"the formula {clip(value)!r}" if isinstance(value, str) else kind_of(value)
                expected = f"a number, got {got}"
            else:
                try:
                    model.define_parameter(name, value)
                    continue
                except (ModelError, OverflowError):
                    expected = "a finite number"
            message = f"parameter {clip(name)!r}: expected {expected}"
            self.report(f"{path}.{clip(name)}", message, f"{clip(name)}: 1.0")
            draft.missing.setdefault("parameters", set()).add(name)

    def mapping(self, given: Any, path: str) -> dict[str, Any]:
        if given is None:
            return {}
        if not isinstance(given, DICT) or not all(isinstance(key, str) for key in given):
            self.report(path, f"expected names and values, got {kind_of(given)}", "name: value")
            return {}
        return given

    def initial(self, target: dict[str, tuple[sp.Expr, ...]], given: Any, path: str, title: str = "initial of") -> None:
        for name, value in self.mapping(given, path).items():
            values = value if isinstance(value, LIST) else [value]
            try:
                target[name] = _VALUES.validate_python(values)
            except ValidationError as error:
                for part in error.errors():
                    steps = path_of(part["loc"]) if isinstance(value, LIST) else ""
                    _, message, fix = explain(None, part)
                    self.report(f"{path}.{clip(name)}{steps}", f"{title} {clip(name)!r}: {message}", fix)

    def ground_shapes(self, model: Model, given: Any, path: str) -> None:
        if given is None:
            return
        if not isinstance(given, LIST):
            self.report(path, f"ground_shapes: expected a list, got {kind_of(given)}", "- kind: box")
            return
        for i, item in enumerate(given):
            try:
                model.ground_shapes.append(Shape.model_validate(item))
            except ValidationError as error:
                for part in error.errors():
                    steps, message, fix = explain(Shape, part)
                    self.report(f"{path}[{i}].{steps}".rstrip("."), f"ground_shapes: {steps}: {message}", fix)

    def section(self, model: Model, draft: Draft, section: str, given: Any, at: str) -> None:
        if given is None:
            return
        items = self.items(section, given, f"{at}{section}")
        if items is None:
            draft.unsure.add(section)
            return
        positions = draft.positions.setdefault(section, [])
        for i, item in enumerate(items):
            element = self.element(section, item, f"{at}{section}[{i}]")
            if element is not None:
                positions.append(i)
                getattr(model, section).append(element)
                continue
            name = item.get("name") if isinstance(item, DICT) else None
            if isinstance(name, str):
                draft.missing.setdefault(section, set()).add(name)
            else:
                draft.unsure.add(section)

    def element(self, section: str, item: Any, path: str) -> Any:
        element = super().element(section, item, path)
        unread = isinstance(element, SubModel) and element.model is None
        return None if unread else element

    def prepared(self, section: str, item: dict[str, Any], path: str) -> dict[str, Any]:
        if section == "joints" and item.get("reference") is not None and not isinstance(item["reference"], LIST):
            item["reference"] = [item["reference"]]
        if section == "submodels" and "model" in item:
            self.depth += 1
            item["model"] = None if item["model"] is UNREAD else self.model(item["model"], f"{path}.model.")
            self.depth -= 1
        return item

    def kind(self, section: str, item: dict[str, Any], path: str, title: str) -> type[Record] | None:
        return data_of(item.get("kind")) if section == "joints" else super().kind(section, item, path, title)
