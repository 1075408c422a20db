"""The node model as a subsystem: labeled matrices, composition, linearization and whatever else subsystems have.

Flat, as Mo2DPack has it, or in groups: each group of bodies is derived by itself, and pins between groups are external
invariants (Theorem 2.10).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.errors import ModelError, Problem
from dalembert.expressions.symbols import parameter
from dalembert.model.fields import nearest
from dalembert.modular import Label, LabeledMatrix, Subsystem
from dalembert.planar.node_model import NodeModel
from dalembert.planar.planar_data import BASE, RevoluteJoint
from dalembert.planar.planar_geometry import body_of, ends
from dalembert.planar.planar_names import near_quantities, symbols_of
from dalembert.planar.planar_names import quantities as names_of

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["build_subsystem", "inertia_matrix", "node_models"]


def build_subsystem(
    planar: Planar,
    independent: Iterable[Any] | None = None,
    groups: Mapping[str, Iterable[Any]] | None = None,
    quantities: Iterable[str] = (),
) -> Subsystem:
    """See ``Planar.to_subsystem``."""
    planar.validate()
    known = names_of(planar)
    for name in quantities:
        if name not in known:
            raise ModelError(Problem(f"unknown quantity {name!r}", "quantities", near_quantities(name, known)))
    made = _grouped(planar, groups) if groups else _filled(_name(planar.name), NodeModel(planar, quantities))
    chosen = [] if independent is None else list(independent)
    if chosen:
        made.independent(*chosen)
    return made


def _name(text: str) -> str:
    word = re.sub(r"\W+", "_", text).strip("_")
    return word if word[:1].isalpha() else f"S_{word}"


def _laws(planar: Planar) -> dict[str, sp.Expr]:
    """Inputs that follow from t and the motion; those whose law is a number stay inputs."""
    return {name: law for name, law in planar.input_laws.items() if not law.is_number}


def _free_inputs(planar: Planar) -> list[str]:
    return [key for key in planar.input_laws if key not in _laws(planar)]


def _begun(name: str, planar: Planar) -> Subsystem:
    """A subsystem with the parameters and inputs of a planar mechanism."""
    system = Subsystem(name)
    if planar.parameter_values:
        system.parameters(**planar.parameter_values)
    if free := _free_inputs(planar):
        system.input(" ".join(free))
    return system


def _filled(name: str, model: NodeModel) -> Subsystem:
    """A subsystem with all that a node model holds."""
    planar = model.planar
    system = _begun(name, planar)
    laws = {parameter(key): model.formula(law) for key, law in _laws(planar).items()}
    if model.coordinates:
        system.coordinates(" ".join(model.coordinates))
    if model.velocities:
        system.quasi_velocity(" ".join(model.velocities))
    system.kinematics(*({parameter(f"{key}.d"): value} for key, value in model.kinematics.items()))
    for key, formula in model.invariants.items():
        system.invariant(formula.xreplace(laws), name=key)
    for table in (model.active, model.inertia):
        system.effective_forces({parameter(key): value.xreplace(laws) for key, value in table.items()})
    system.guess({parameter(key): model.drawn.value(value) for key, value in model.coordinates.items()})
    for body in planar.bodies:
        corners = [model.node(f"{body.name}.{node}") for node in body.nodes]
        if len(corners) == 1:
            system.draw(body.name, at=corners[0])
        else:
            system.draw(body.name, line=[*corners, corners[0]] if len(corners) > 2 else corners)
    return system


# Groups


def _grouped(planar: Planar, groups: Mapping[str, Iterable[Any]]) -> Subsystem:
    owner = _owners(planar, groups)
    system, free = _begun(_name(planar.name), planar), _free_inputs(planar)
    models = node_models(planar, groups)
    for group, model in models.items():
        given = {key: parameter(key) for key in planar.parameter_values}
        inputs = {key: parameter(key) for key in planar.input_laws if key in free}
        system.include(_filled(group, model), group, parameters=given, inputs=inputs)
    for joint in planar.joints:
        sides = [owner.get(body) for body in ends(joint)]
        if None in sides or sides[0] == sides[1]:
            continue
        assert isinstance(joint, RevoluteJoint)
        places = [_seen(models[owner[body_of(node)]].node(node), owner[body_of(node)]) for node in joint.nodes]
        for axis, first, second in zip("xy", *places, strict=True):
            system.invariant(second - first, name=f"{joint.name}.{axis}")
    return system


def node_models(planar: Planar, groups: Mapping[str, Iterable[Any]] | None) -> dict[str, NodeModel]:
    """Node models of all groups by name; that of the whole without groups, as ``""``."""
    if not groups:
        return {"": NodeModel(planar)}
    owner = _owners(planar, groups)
    return {group: _part(planar, group, owner)[1] for group in groups}


def _owners(planar: Planar, groups: Mapping[str, Iterable[Any]]) -> dict[str, str]:
    """The group of every body."""
    owner: dict[str, str] = {}
    known = [body.name for body in planar.bodies]
    for group, bodies in groups.items():
        for body in (getattr(one, "name", one) for one in bodies):
            if body not in known or body in owner:
                said = f"is in {owner[body]!r} already" if body in owner else f"is not a body; {nearest(body, known)}"
                raise ModelError(Problem(f"group {group!r}: {body!r} {said}", "groups"))
            owner[body] = group
    left = [body for body in known if body not in owner]
    if left:
        raise ModelError(Problem(f"groups: {', '.join(left)} in no group", "groups", "put every body into one"))
    for joint in planar.joints:
        sides = {owner.get(body) for body in ends(joint)} - {None}
        if len(sides) > 1 and (not isinstance(joint, RevoluteJoint) or joint.torque is not None):
            both = " and ".join(sorted(map(str, sides)))
            message = f"joint {joint.name!r} connects the groups {both}; only passive pins do"
            raise ModelError(Problem(message, "groups", "put its bodies into one group"))
    for name in ("contacts", "springs", "coordinates", "quasi_velocities", "constraints"):
        if getattr(planar, name):
            raise ModelError(Problem(f"groups: {name.replace('_', '-')} are not divided", "groups", "leave groups out"))
    return owner


def _part(planar: Planar, group: str, owner: Mapping[str, str]) -> tuple[Planar, NodeModel]:
    """The mechanism of a group: its bodies, its joints, and those to the base."""
    part = type(planar)(group, gravity=planar.gravity)
    part.parameter_values = dict(planar.parameter_values)
    part.input_laws = dict(planar.input_laws)
    part.base_nodes.update(planar.base_nodes)
    part.bodies = [body for body in planar.bodies if owner[body.name] == group]
    part.joints = [j for j in planar.joints if {owner.get(body, BASE) for body in ends(j)} <= {group, BASE}]
    part.forces = [force for force in planar.forces if owner.get(body_of(force.node)) == group]
    return part, NodeModel(part)


def _seen(place: Any, group: str) -> Any:
    """A place in the symbols of the whole."""
    found = [cast("sp.Expr", sp.sympify(value, strict=True)) for value in place]
    swap = {one: parameter(f"{group}.{one.name}") for formula in found for one in symbols_of(formula)}
    return [formula.xreplace(swap) for formula in found]


def inertia_matrix(model: NodeModel) -> LabeledMatrix:
    """−∂f/∂ẇ of the inertia forces, by label."""
    from dalembert.algebra.sympy_algebra import SYMPY

    names = [name for name in model.coordinates if name not in model.kinematics]
    labels = [Label((), name, 2, 0) for name in names] + [Label((), name, 2, 1) for name in model.velocities]
    entries: dict[Label, dict[Label, Any]] = {}
    for row in labels:
        force = model.inertia.get(row.name, sp.Integer(0))
        for column in labels:
            slope = cast("sp.Expr", -sp.diff(force, column.symbol))
            if slope != 0:
                entries.setdefault(row, {})[column] = slope
    return LabeledMatrix(SYMPY, tuple(labels), tuple(labels), entries)
