"""Validation of a model: everything that is wrong, found in one go, at nominal values of the parameters."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from dalembert.elements import LINEAR
from dalembert.elements.base import formulas_in
from dalembert.errors import ModelWarning, Problem, warn
from dalembert.expressions import parameter
from dalembert.expressions.parse import CONSTANTS, FUNCTIONS
from dalembert.expressions.symbols import QUANTITIES, parameters_of
from dalembert.model.flatten import floating
from dalembert.model.given_inputs import depends_on_motion, input_loop
from dalembert.model.model import MAX_ELEMENTS, MAX_SUBMODEL_DEPTH, Model, nesting
from dalembert.model.signals_data import InputSignal, Table
from dalembert.model.validate_bodies import check_body, check_placement, check_shape
from dalembert.model.validate_elements import check_element, check_event, check_initial, check_joint, check_switches
from dalembert.model.validate_formulas import check_formula, check_formulas
from dalembert.model.validate_scope import Draft, Place, hint

__all__ = ["Draft", "printable", "problems"]

EARTH, EARTH_VARIES = 9.81, 0.03  # m/s², anywhere on the ground
RESERVED = ("ground", "world", "body")
TITLES = {
    "bodies": "body", "points": "point", "joints": "joint", "constraints": "constraint", "forces": "force",
    "states": "state", "inputs": "input", "tables": "table",
    "outputs": "output", "events": "event", "fmus": "fmu", "submodels": "sub-model",
}  # fmt: skip


def problems(model: Model, drafts: dict[int, Draft] | None = None) -> list[Problem]:
    """Everything that is wrong with a model and its sub-models.

    Args:
        drafts: by identity of a model, what its reader could not build.
    """
    if nesting(model)[0] > MAX_ELEMENTS:
        return [Problem(f"model {model.name!r}: more than {MAX_ELEMENTS} elements in all sub-models", "submodels")]
    root = Place(model, (drafts or {}).get(id(model)), None, "", "")
    _grow(root, [model], drafts or {})
    for place in root.walk():
        _bind(place)
    _reach(root)
    _find_floating(root)
    if not root.bodies and "bodies" not in root.unsure and not root.found:
        root.report("bodies", f"model {model.name!r}: has no bodies", "add one, e.g. {name: rod, mass: 1}")
    for place in root.walk():
        _check_place(place)
    check_switches(root)
    return list(dict.fromkeys(root.found))


# The tree of sub-models


def _grow(place: Place, line: list[Model], drafts: dict[int, Draft]) -> None:
    """Build the tree; a model that contains itself, or lies too deep, is reported and left out."""
    for i, (path, sub) in enumerate(place.elements("submodels")):
        title, inner = f"sub-model {sub.name!r}", sub.model
        if not isinstance(inner, Model):
            place.report(f"{path}.model", f"{title}: expected a model, got {type(inner).__name__}", "model=da.Model(…)")
            continue
        if any(inner is outer for outer in line):
            names = " → ".join(repr(outer.name) for outer in [*line, inner])
            place.report(f"{path}.model", f"{title}: the model contains itself: {names}", "use two different models")
            continue
        if len(line) > MAX_SUBMODEL_DEPTH:
            place.report(f"{path}.model", f"{title}: sub-models nested deeper than {MAX_SUBMODEL_DEPTH}")
            continue
        child = Place(inner, drafts.get(id(inner)), place, f"{place.path}{path}.model.", f"{place.prefix}{sub.name}.")
        place.children.append((i, sub, child))
        _grow(child, [*line, inner], drafts)


def _bind(place: Place) -> None:
    """Give each sub-model the formulas, and their nominal values, that this model binds."""
    for _, sub, child in place.children:
        child.bound = sub.parameters
        for name, formula in sub.parameters.items():
            value = place.value(formula)
            if name in child.values and value is not None:
                child.values[name] = value


def _reach(place: Place) -> None:
    """Names in reach, innermost first; a name that two elements share is reported where it is seen."""
    missing = place.draft.missing
    place.bodies = {body.name for body in place.model.bodies} | missing.get("bodies", set())
    place.joints = dict.fromkeys(missing.get("joints", set()))
    place.joints |= {joint.name: joint for joint in place.model.joints}
    place.constraints = {constraint.name for constraint in place.model.constraints} | missing.get("constraints", set())
    if missing.get("submodels") or "submodels" in place.unsure:
        place.unsure |= {"bodies", "joints", "constraints"}
    names: set[str] = set()
    for _, sub, child in place.children:
        _reach(child)
        place.unsure |= child.unsure & {"bodies", "joints", "constraints"}
        if sub.name in names:
            continue  # reported as a name used twice
        names.add(sub.name)
        inner_bodies = {f"{sub.name}.{name}" for name in child.bodies}
        inner_joints = {f"{sub.name}.{name}": joint for name, joint in child.joints.items()}
        inner_constraints = {f"{sub.name}.{name}" for name in child.constraints}
        for section, own, inner in (
            ("bodies", place.bodies, inner_bodies),
            ("joints", place.joints, inner_joints),
            ("constraints", place.constraints, inner_constraints),
        ):
            for name in sorted(set(own) & set(inner)):
                message = f"{TITLES[section]} {name!r}: sub-model {sub.name!r} has one of the same full name"
                place.report(section, message, "choose another name")
        place.bodies |= inner_bodies
        place.joints |= inner_joints
        place.constraints |= inner_constraints


def _find_floating(root: Place) -> None:
    """Bodies that no chain of joints connects to the ground; the first of each group gets a free joint."""
    edges: list[tuple[str, str]] = []
    bodies: dict[str, tuple[str, Place, str]] = {}

    def collect(place: Place, base: str) -> None:
        def full(name: str) -> str:
            return base if name == "ground" else place.prefix + name

        for path, body in place.elements("bodies"):
            bodies.setdefault(place.prefix + body.name, (body.name, place, path))
        joints = (joint for joint in place.model.joints if not joint.cut)
        edges.extend((full(joint.bodies[0]), full(joint.bodies[1])) for joint in joints)
        for _, sub, child in place.children:
            collect(child, full(sub.base))

    collect(root, "ground")
    for full_name in floating(bodies, edges):
        name, place, path = bodies[full_name]
        root.floating.add(full_name)
        if name in place.joints and place.joints[name] is not None and not any(place.draft.missing.values()):
            message = f"body {name!r}: floats, but the name of its free joint is taken by joint {name!r}"
            place.report(f"{path}.name", message, "rename the joint, or connect the body to the ground")


# One model


def _check_unit_of_gravity(place: Place) -> None:
    """Nothing falls at 9810 m/s²: it is the number of who draws in millimeters."""
    values = [place.value(component) for component in place.model.gravity]
    size = math.hypot(*(value for value in values if value is not None))
    for per_meter, unit in ((1000.0, "mm"), (100.0, "cm")):
        if abs(size / per_meter - EARTH) < EARTH_VARIES:
            warn(f"gravity: {size:.5g} m/s² is that of the earth in {unit}/s²; lengths are in m, masses in kg, "
                 f"so divide gravity and all lengths by {per_meter:.0f}", ModelWarning)  # fmt: skip


def _check_place(place: Place) -> None:
    model = place.model
    for key, text in (("name", model.name), ("description", model.description)):
        if not isinstance(text, str) or not printable(text) or len(text) > (200 if key == "name" else 10_000):
            place.report(key, f"model: {key} must be a short text without control characters", f"{key}: pendulum")
    for i, component in enumerate(model.gravity):
        check_formula(place, f"gravity[{i}]", "gravity", component)
    _check_unit_of_gravity(place)
    for name in model.parameter_values:
        _check_parameter_name(place, f"parameters.{name}", f"parameter {name[:60]!r}", name)
    for section, title in TITLES.items():
        _check_names(place, section, title)
        for path, element in place.elements(section):
            label = f"{title} {element.name!r}"
            check_formulas(place, path, label, element)
            _CHECKS[section](place, path, label, element)
    for i, shape in enumerate(model.ground_shapes):
        path, label = f"ground_shapes[{i}]", f"ground: {shape.kind}"
        check_formulas(place, path, label, shape)
        check_shape(place, path, label, shape)
    for section, given in (("initial", model.initial_values), ("initial_rates", model.initial_rates)):
        for name, values in given.items():
            for i, value in enumerate(values):
                at = f"{section}.{name}" + (f"[{i}]" if len(values) > 1 else "")
                check_formula(place, at, f"{section} of joint {name!r}", value)
    check_initial(place)
    for name, formula in model.quasi_velocities.items():
        check_formula(place, f"velocities.{name}", f"velocity {name!r}", formula, LINEAR)


def printable(text: str) -> bool:
    """No control characters but line ends and tabs, no halves of characters."""
    return all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in text)


def _check_parameter_name(place: Place, path: str, title: str, name: str) -> None:
    """What formulas name must be a word that they can."""
    if name in CONSTANTS:
        place.report(path, f"{title}: the name is taken", "choose another name")
    elif (
        not name.isidentifier()
        or name.startswith("_")
        or iskeyword(name)
        or len(name) > 200
        # Python's grammar, in which formulas are written, reads letters in this form.
        or unicodedata.normalize("NFKC", name) != name
    ):
        place.report(
            path,
            f"{title}: this name cannot be used in formulas",
            "use letters, digits and _, a letter first, and no word of Python",
        )


def _check_names(place: Place, section: str, title: str) -> None:
    first: dict[str, str] = {}
    for path, element in place.elements(section):
        name = element.name
        if section in ("bodies", "joints") and (name in RESERVED if section == "bodies" else name == "ground"):
            place.report(f"{path}.name", f"{title} {name!r}: the name is reserved", "choose another name")
        if name in first:
            message = f"{title} {name!r}: the name is used twice, first at {place.path}{first[name]}"
            place.report(f"{path}.name", message, "choose another name")
        first.setdefault(name, path)


def _check_signal(place: Place, path: str, title: str, signal: Any) -> None:
    """Parameters, states, inputs and tables share their names, since formulas name them all alike."""
    name = signal.name
    _check_parameter_name(place, f"{path}.name", title, name)
    if name in place.model.parameter_values:
        place.report(f"{path}.name", f"{title}: a parameter has the same name", "choose another name")
    same = [s for s in (place.model.states, place.model.inputs, place.model.tables) if any(e.name == name for e in s)]
    if len(same) > 1 and not any(e is signal for e in same[0]):
        place.report(f"{path}.name", f"{title}: a state or an input has the same name", "choose another name")
    if isinstance(signal, Table):
        if name in (*FUNCTIONS, *QUANTITIES):
            place.report(f"{path}.name", f"{title}: a function of formulas has this name", "choose another name")
        return
    _check_output(place, path, title, signal)
    if isinstance(signal, InputSignal):
        loop = input_loop(place.model, signal.name)
        if loop:
            message = f"{title}: depends on itself: {' → '.join(loop)}"
            place.report(f"{path}.default", message, "let one of them be a state, which remembers its value")
        elif depends_on_motion(place.model, signal.default):
            _check_timed(place, f"{path}.default", title, place.model, name)


def _check_output(place: Place, path: str, title: str, output: Any) -> None:
    if not printable(output.unit) or len(output.unit) > 40:
        message = f"{title}: unit must be a short text without control characters"
        place.report(f"{path}.unit", message, "unit: N m")


def _check_point(place: Place, path: str, title: str, point: Any) -> None:
    check_element(place, path, title, point)
    if point.name in place.bodies or point.name == "ground":
        place.report(f"{path}.name", f"{title}: a body has the same name", "choose another name")


def _check_fmu(place: Place, path: str, title: str, unit: Any) -> None:
    """What an FMU gives goes to inputs of the model that nothing else gives."""
    known = {given.name: given for given in place.model.inputs}
    taken = {name for other in place.model.fmus if other is not unit for name in other.outputs}
    for name in unit.outputs:
        at = f"{path}.outputs.{name}"
        if name not in known and "inputs" not in place.unsure and name not in place.draft.missing.get("inputs", ()):
            fix = hint(name, known) if known else "the model has none; add one: model.input(…)"
            place.report(at, f"{title}: the model has no input {name!r}", fix)
        elif name in known and not known[name].default.is_number:
            place.report(
                at, f"{title}: input {name!r} is a formula already", "give it a number, its value at the start"
            )
        elif name in taken:
            place.report(at, f"{title}: input {name!r} is given twice", "leave out one of them")
    if not unit.inputs and not unit.outputs:
        place.report(
            path, f"{title}: has neither inputs nor outputs", "inputs={variable: formula}, outputs={input: variable}"
        )


def _check_submodel(place: Place, path: str, title: str, sub: Any) -> None:
    place.check_body(f"{path}.base", title, sub.base)
    if sub.base == sub.name or sub.base.startswith(f"{sub.name}."):
        place.report(f"{path}.base", f"{title}: cannot use its own body {sub.base!r}", "base: ground")
    check_placement(place, f"{path}.pose", title, sub.pose)
    if isinstance(sub.model, Model):
        known = sub.model.parameter_values
        for name in sub.parameters:
            if name not in known:
                message = f"{title}: model {sub.model.name!r} has no parameter {name!r}"
                place.report(f"{path}.parameters.{name}", message, hint(name, known))
        signals = [given.name for given in sub.model.inputs]
        for name, formula in sub.inputs.items():
            if name not in signals:
                message = f"{title}: model {sub.model.name!r} has no input {name!r}"
                place.report(f"{path}.inputs.{name}", message, hint(name, signals))
            elif depends_on_motion(place.model, formula):
                _check_timed(place, f"{path}.inputs.{name}", title, sub.model, name)


def _check_timed(place: Place, path: str, title: str, model: Model, name: str) -> None:
    """An input that depends on the motion cannot stand where time derivatives are needed."""
    for constraint in model.constraints:
        if any(parameter(name) in parameters_of(given) for *_, given in formulas_in(constraint)):
            message = f"{title}: input {name!r} depends on the motion and is used in constraint {constraint.name!r}"
            place.report(path, message, "a formula of t and parameters, or a force instead of the constraint")


_CHECKS: dict[str, Callable[[Place, str, str, Any], None]] = {
    "bodies": check_body,
    "points": _check_point,
    "joints": check_joint,
    "constraints": check_element,
    "forces": check_element,
    "states": _check_signal,
    "inputs": _check_signal,
    "tables": _check_signal,
    "outputs": _check_output,
    "events": check_event,
    "fmus": _check_fmu,
    "submodels": _check_submodel,
}
