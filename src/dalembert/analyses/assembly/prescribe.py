"""Prescribed motion of a mechanism: what is given, the working model that follows it, and why it cannot."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.dynamics.prescribed import Target
from dalembert.elements.allowed import OF_VELOCITY
from dalembert.elements.base import formula_of
from dalembert.equations import Level
from dalembert.errors import DalembertError, ModelError, check_known
from dalembert.expressions import parse, reference
from dalembert.expressions.symbols import references
from dalembert.model import Flat, Mechanism, Model
from dalembert.model.flatten import Scope
from dalembert.values import MAPPING, NO_NUMBER, SEQUENCE, TUPLE

__all__ = [
    "Given", "Point", "Unknown", "add_turns", "given_motion", "output_name", "quantities_of", "targets_of",
    "unknowns_of", "working_model",
]  # fmt: skip

INDEXED = re.compile(r"(.*)\[(\d+)\]")
ROOT = Scope("", None, None)


class Point(NamedTuple):
    """A point of a body, in world axes of the reference configuration (m)."""

    body: str
    at: tuple[Any, ...]


@dataclass(frozen=True)
class Given:
    """One prescribed quantity.

    Attributes:
        name: as the user called it.
        formula: of the motion; or point and axis.
        joint: whose coordinate it is, if it is one, with ``index``.
        value: as the user gave it.
    """

    name: str
    formula: sp.Expr | None
    point: tuple[Point, int] | None
    joint: tuple[str, int] | None
    value: Any

    @property
    def key(self) -> Any:
        """What tells it from others, besides its value."""
        return self.name, self.formula, self.point, self.joint


@dataclass(frozen=True)
class Unknown:
    """One unknown: its name, the parameter that stands for it, and its unit.

    Attributes:
        joint: that it acts on, with the index of the velocity, if it is a drive.
        force: named force, with the index of its component, whose value it is.
        limits: least and largest value.
    """

    name: str
    parameter: str
    joint: tuple[str, int] | None = None
    force: tuple[str, int | None] | None = None
    limits: tuple[float, float] | None = None


def given_motion(flat: Flat, motion: Mapping[Any, Any]) -> list[Given]:
    """All prescribed quantities: those of the caller, and the model's own drives of other coordinates."""
    found = [one for key, value in motion.items() for one in quantities_of(flat, key, value)]
    asked = {one.joint for one in found if one.joint is not None}
    for name, joint, index, formula in _drives(flat):
        if (joint, index) not in asked:
            found.append(Given(name, reference("q", joint, index), None, (joint, index), formula))
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DalembertError(f"motion: {', '.join(twice)} is given twice")
    if not found:
        raise DalembertError(
            'no motion is given, and the model has no drive.  Fix: motion={"A": "2*pi*t"}, or --motion "A=2*pi*t"'
        )
    return found


def _drives(flat: Flat) -> list[tuple[str, str, int, sp.Expr]]:
    """Drives that act: name, joint, index, formula of t."""
    off = flat.off()
    return [
        (name, joint, index, formula)
        for name, (constraint, _) in flat.constraints.items()
        if not constraint.eliminates and name not in off
        for joint, index, formula in constraint.gives()
    ]


def quantities_of(flat: Flat, key: Any, value: Any, what: str = "motion") -> list[Given]:
    """The quantities that a key names: a joint, one of its coordinates, an output, a formula, or a point of a body.

    Args:
        what: the argument that the key stands in, for messages.
    """
    if isinstance(key, TUPLE) and len(key) == 2 and isinstance(key[0], str):  # a Point is a tuple, too
        return _given_point(flat, Point(key[0], tuple(key[1])), value, what)
    key = getattr(key, "name", key)
    if isinstance(key, sp.Expr):
        return [_given_formula(flat, str(key), key, value, what)]
    if not isinstance(key, str):
        raise DalembertError(f"{what}: expected the name of a joint, of an output, or a formula, got {key!r}")
    if key in flat.joints:
        return _given_joint(flat, key, value, what)
    match = INDEXED.fullmatch(key)
    if match and match[1] in flat.joints:
        joint, index = match[1], int(match[2])
        nominal = _joint(flat, joint)
        if index >= nominal.nq:
            raise DalembertError(f"{what}: joint {joint!r} has {nominal.nq} coordinates, got index {index}")
        return [Given(key, reference("q", joint, index), None, (joint, index), value)]
    if key in flat.outputs:
        return [_given_formula(flat, key, flat.outputs[key][0].formula, value, what)]
    if not re.search(r"\w\(", key):
        known = ", ".join([*flat.joints, *flat.outputs])
        raise DalembertError(
            f"{what}: unknown {key!r}; there are {known}; a formula such as 'x(slider)', or (body, point) will do too"
        )
    return [_given_formula(flat, key, parse(key), value, what)]


def _joint(flat: Flat, name: str) -> Any:
    return Mechanism.nominal(flat).joint(name).joint


def _given_joint(flat: Flat, name: str, value: Any, what: str) -> list[Given]:
    """A joint with one coordinate, or one with several and as many values."""
    joint = _joint(flat, name)
    if joint.nq == 1:
        return [Given(name, reference("q", name), None, (name, 0), value)]
    if joint.quaternions:
        raise DalembertError(
            f"{what}: joint {name!r} ({joint.kind}) rotates freely in space, which angles cannot prescribe.  "
            "Fix: prescribe points, such as "
            f"{what}={{('body', (x, y, z)): [..., ..., ...]}}, or positions such as 'x(body)'"
        )
    if not isinstance(value, SEQUENCE) or len(value) != joint.nq:
        raise DalembertError(
            f"{what} of joint {name!r}: expected {joint.nq} formulas or samples, None where a coordinate is free; "
            f"or single ones by '{name}[0]' … '{name}[{joint.nq - 1}]'"
        )
    return [
        Given(f"{name}[{i}]", reference("q", name, i), None, (name, i), one)
        for i, one in enumerate(value)
        if one is not None
    ]


def _given_point(flat: Flat, point: Point, value: Any, what: str) -> list[Given]:
    check_known(f"{what}: unknown body", point.body, flat.bodies, "the model has")
    if len(point.at) != 3 or not isinstance(value, SEQUENCE) or len(value) != 3:
        raise DalembertError(
            f"{what} of a point of {point.body!r}: expected a point (x, y, z) and three formulas or samples, None "
            f"where a component is free"
        )
    try:
        at = tuple(formula_of(x) for x in point.at)
    except ValueError as error:
        raise DalembertError(f"{what} of a point of {point.body!r}: {error}") from None
    place = ", ".join(f"{float(x):g}" if x.is_Number else str(x) for x in at)
    exact = Point(point.body, at)
    return [
        Given(f"{axis} of {point.body} at ({place})", None, (exact, i), None, one)
        for i, (axis, one) in enumerate(zip("xyz", value, strict=True))
        if one is not None
    ]


def _given_formula(flat: Flat, name: str, formula: sp.Expr, value: Any, what: str) -> Given:
    found = references(formula)
    if not found:
        raise DalembertError(f"{what}: {name} names nothing that moves")
    for ref in found:
        known = flat.joints if ref.quantity in ("q", "u") else flat.bodies
        check_known(f"{what}: {name}: unknown", ref.element, known, "there are")
    single = next(iter(found)) if len(found) == 1 else None
    joint = None
    if single is not None and single.quantity == "q" and formula == reference("q", single.element, single.index):
        joint = (single.element, single.index)
    return Given(name, formula, None, joint, value)


def targets_of(given: list[Given]) -> list[Target]:
    """The same quantities as the equations see them."""
    return [_target(one) for one in given]


def _target(one: Given) -> Target:
    if one.point is not None:
        point, axis = one.point

        def place(motion: Any) -> Any:
            X, _ = motion.body(point.body)
            return X.apply(motion.within(ROOT).local_point(point.body, point.at))[axis]

        return Target(one.name, place)
    formula = one.formula
    assert formula is not None
    level = Level.VELOCITY if any(ref.quantity in OF_VELOCITY for ref in references(formula)) else Level.POSITION
    return Target(one.name, lambda motion: motion.within(ROOT).evaluate(formula), level)


# Unknowns


def unknowns_of(flat: Flat, given: list[Given], asked: Any) -> list[Unknown]:
    """What is to be found: drives of joints, values of forces, parameters; by default the drives of all joints whose
    coordinates are prescribed."""
    if asked is None:
        joints = [one.joint for one in given if one.joint is not None]
        if len(joints) < len(given):
            others = ", ".join(one.name for one in given if one.joint is None)
            raise DalembertError(
                f"which joints drive the mechanism?  {others} is not a joint coordinate.  "
                "Fix: unknowns=['A', ...] with the joints that are driven, named forces, or parameters"
            )
        asked = [joint if _joint(flat, joint).nv == 1 else f"{joint}[{index}]" for joint, index in joints]
    if isinstance(asked, str):
        asked = [asked]
    if not isinstance(asked, (*MAPPING, *SEQUENCE)):
        raise DalembertError(f"unknowns: expected names, or a dictionary with their limits, got {asked!r}")
    limits: dict[Any, Any] = dict(asked) if isinstance(asked, MAPPING) else dict.fromkeys(asked)
    names = [getattr(name, "name", name) for name in limits]
    if len(set(names)) < len(names):
        raise DalembertError(f"unknowns: a name is given twice in {', '.join(map(str, names))}")
    drives = {name: joint for name, joint, _, _ in _drives(flat)}
    found: list[Unknown] = []
    for name, bounds in zip(names, limits.values(), strict=True):
        found += _unknown(flat, drives.get(name, name), name, limits_of(name, bounds))
    return found


def limits_of(name: str, bounds: Any) -> tuple[float, float] | None:
    """Least and largest value, as the user gave them."""
    if bounds is None:
        return None
    try:
        if np.ndim(bounds) == 0:
            bounds = (-abs(float(bounds)), abs(float(bounds)))
        low, high = map(float, bounds)
    except NO_NUMBER:
        low, high = 1.0, 0.0
    if not low <= high:
        raise DalembertError(
            f"unknown {name!r}: limits must be (least, largest) or one positive number, got {bounds!r}"
        )
    return low, high


def _unknown(flat: Flat, name: Any, title: str, limits: tuple[float, float] | None) -> list[Unknown]:
    if not isinstance(name, str):
        raise DalembertError(f"unknowns: expected names, got {name!r}")
    match = INDEXED.fullmatch(name)
    base, index = (match[1], int(match[2])) if match else (name, None)
    slug = "unknown_" + re.sub(r"\W", "_", name)
    while slug in flat.parameters:
        slug += "_"
    if base in flat.joints:
        nv = _joint(flat, base).nv
        if (index is not None and index >= nv) or nv == 0:
            raise DalembertError(f"unknowns: joint {base!r} has {nv} velocities to drive, got {name!r}")
        if nv == 1 or index is not None:
            return [Unknown(title, slug, joint=(base, index or 0), limits=limits)]
        return [Unknown(f"{title}[{i}]", f"{slug}_{i}", joint=(base, i), limits=limits) for i in range(nv)]
    if base in flat.forces:
        value = getattr(flat.forces[base][0], "value", None)
        if value is None:
            raise DalembertError(
                f"unknowns: force {base!r} follows from the motion.  Fix: name a joint-force, a force, a torque, or a "
                f"parameter"
            )
        if not isinstance(value, TUPLE):
            return [Unknown(title, slug, force=(base, None), limits=limits)]
        chosen = range(len(value)) if index is None else [index]
        return [
            Unknown(f"{base}[{i}]" if index is None else title, f"{slug}_{i}", force=(base, i), limits=limits)
            for i in chosen
        ]
    if name in flat.parameters:
        return [Unknown(title, name, limits=limits)]
    known = ", ".join([*flat.joints, *flat.forces, *flat.parameters])
    raise DalembertError(f"unknowns: unknown {name!r}; there are the joints, forces and parameters {known}")


# The working model


def working_model(model: Model, given: list[Given], unknowns: list[Unknown]) -> Model:
    """The model without its drives, with a parameter in the place of each unknown, and with outputs for what is
    prescribed: the equations that follow the motion are its equations."""
    made = _without_drives(model)
    symbols = {one.parameter: sp.Symbol(one.parameter, real=True) for one in unknowns}
    for one in unknowns:
        if one.joint is not None:
            made.define_parameter(one.parameter, 0.0)
            joint, index = one.joint
            made.joint_force(f"drive {one.parameter}", joint, symbols[one.parameter], index=index)
        elif one.force is not None:
            made.define_parameter(one.parameter, 0.0)
            _replace_force(made, *one.force, symbols[one.parameter])
    known = {output.name for output in made.outputs}
    for one in given:
        if one.formula is not None and output_name(one.name) not in known and one.joint is None:
            made.output(output_name(one.name), one.formula)
    return made


def output_name(name: str) -> str:
    """How the output for a prescribed quantity is called: itself, if that is a name."""
    return name if re.fullmatch(r"[A-Za-z][\w\- ]*", name) else "given " + re.sub(r"\W+", " ", name).strip()


def add_turns(model: Model, given: list[Given], cut: tuple[str, ...]) -> bool:
    """Outputs for prescribed angles of cut joints, so that their turns are counted; False if there are none."""
    known = {output.name for output in model.outputs}
    more = [
        one for one in given if one.joint is not None and one.joint[0] in cut and output_name(one.name) not in known
    ]
    for one in more:
        model.output(output_name(one.name), one.formula)
    return bool(more)


def _without_drives(model: Model) -> Model:
    made = copy.copy(model)
    made.derived, made.sources, made.events = [], dict(model.sources), []
    for section in ("forces", "outputs"):
        setattr(made, section, list(getattr(model, section)))
    made.parameter_values = dict(model.parameter_values)
    made.constraints = [c for c in model.constraints if c.eliminates or not c.gives()]
    made.submodels = [sub.model_copy(update={"model": _without_drives(sub.model)}) for sub in model.submodels]
    return made


def _replace_force(model: Model, name: str, index: int | None, symbol: sp.Symbol) -> None:
    for i, force in enumerate(model.forces):
        if force.name == name:
            value = symbol if index is None else (*force.value[:index], symbol, *force.value[index + 1 :])
            model.forces[i] = force.model_copy(update={"value": value})
            return
    raise ModelError(f"unknowns: force {name!r} belongs to a sub-model.  Fix: name the joint that it acts on")
