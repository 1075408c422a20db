"""Inputs and outputs of a linear model, by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.dynamics import Dynamics
from dalembert.dynamics.perturb import Perturbations, Point
from dalembert.errors import DalembertError, ExpressionError
from dalembert.expressions import parse, reference, references
from dalembert.expressions.symbols import FEEDBACK_QUANTITIES, JOINT_QUANTITIES, STATE, TIME, parameters_of
from dalembert.values import TUPLE

__all__ = ["Port", "find_inputs", "find_outputs"]

_COMPONENT = re.compile(r"^(?P<name>.*)\[(?P<index>\d+)\]$")
_KINDS = ("joint", "constraint", "force", "parameter")

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Port:
    """One input.

    Attributes:
        kind: what it acts on.  name, index: the element, and which component of it.
        label: what it is called in the linear model.
    """

    kind: str
    name: str
    index: int
    label: str

    @property
    def parameter(self) -> bool:
        """True for a parameter, which may change more than forces."""
        return self.kind == "parameter"

    def column(self, perturb: Perturbations, at: Point, T: dict[str, np.ndarray]) -> Columns:
        """What one unit of it adds to the residuals r, g, v, φ, and to q̇, as far as that is rates of states."""
        none = np.zeros(len(T["g"])), np.zeros(len(T["v"])), np.zeros(len(T["phi"])), np.zeros(len(T["qdot"]))
        if self.kind == "parameter":
            by = perturb.by_parameters((self.name,), at)
            return by["r_p"][:, 0], by["g_p"][:, 0], by["v_p"][:, 0], by["phi_p"][:, 0], by["qdot_p"][:, 0]
        if self.kind == "joint":
            # A force f on a joint has the power f u_J.
            rate = reference("u", self.name, self.index)
            return (-perturb.formulas({"rate": rate}, (), at)["y_u"][0], *none)
        if self.kind == "constraint":
            return (-T["A"][perturb.kernels.rows.of([self.name])[self.index]], *none)
        return (-perturb.unit_force(self.name, self.index, at), *none)

    def feedback(self, perturb: Perturbations, at: Point) -> np.ndarray:
        """What one unit of it adds to the accelerations and reactions that formulas name, at the same u̇ and λ."""
        if self.kind == "parameter":
            return perturb.feedback((self.name,), at)["h_p"][:, 0]
        if self.kind == "constraint":
            return perturb.feedback((), at)["h_m"][:, perturb.kernels.rows.of([self.name])[self.index]]
        joint, force = (self.name, None) if self.kind == "joint" else (None, self.name)
        return perturb.feedback_by_force(joint, force, self.index, at)


def find_inputs(dynamics: Dynamics, names: Sequence[str], release: Sequence[str]) -> list[Port]:
    """Inputs by name: joints, released constraints, forces with a value, parameters."""
    flat = dynamics.flat
    sizes: dict[str, dict[str, int]] = {
        "joint": {name: dynamics.coordinates.nominal_joint(name).joint.nv for name in flat.joints},
        "constraint": {name: len(dynamics.rows.of([name])) for name in release},
        "force": {name: _components(force) for name, (force, _) in flat.forces.items()},
        "parameter": dict.fromkeys(flat.parameters, 1),
    }
    found: list[Port] = []
    for text in names:
        kind, name, index = _named(text, sizes)
        size = sizes[kind][name]
        if size == 0:
            raise DalembertError(
                f"inputs: {kind} {name!r} has no value that could change.  "
                "Fix: make one of its numbers a parameter, and name that"
            )
        if index is not None and index >= size:
            raise DalembertError(f"inputs: {text!r}: {kind} {name!r} has {size} components, counted from 0")
        every = range(size) if index is None else (index,)
        found += [Port(kind, name, i, name if size == 1 else f"{name}[{i}]") for i in every]
    return found


def _components(force: Any) -> int:
    """How many numbers the value of a force has; none for springs and potentials."""
    value = getattr(force, "value", None)
    return 0 if value is None else len(value) if isinstance(value, TUPLE) else 1


def _named(text: str, sizes: dict[str, dict[str, int]]) -> tuple[str, str, int | None]:
    """Kind, name and component that a text means."""
    kinds, rest = list(_KINDS), text
    head, colon, tail = text.partition(":")
    if colon and head in _KINDS:
        kinds, rest = [head], tail
    match = _COMPONENT.match(rest)
    for name, index in ((rest, None), (match["name"], int(match["index"])) if match else (rest, None)):
        for kind in kinds:
            if name in sizes[kind]:
                return kind, name, index
    known = "; ".join(f"{kind}s {', '.join(sizes[kind])}" for kind in kinds if sizes[kind])
    raise DalembertError(f"inputs: unknown {text!r}; the model has {known}")


def find_outputs(dynamics: Dynamics, names: Sequence[str] | None, default: Sequence[str]) -> dict[str, sp.Expr]:
    """Formulas of the outputs, by name."""
    flat = dynamics.flat
    if names is None:
        own = {name: output.formula for name, (output, _) in flat.outputs.items()}
        return own or _all_joints(dynamics, default)
    found: dict[str, sp.Expr] = {}
    for name in names:
        found |= _output(dynamics, name)
    return found


def _all_joints(dynamics: Dynamics, default: Sequence[str]) -> dict[str, sp.Expr]:
    """Coordinates by the names of states, where those are coordinates of joints."""
    found: dict[str, sp.Expr] = {}
    for name in default:
        match = _COMPONENT.match(name)
        joint = match["name"] if match else name
        joints = dynamics.flat.joints
        data = dynamics.coordinates.nominal_joint(joint).joint if joint in joints else None
        if data is not None and data.nq == data.nv:
            found |= _output(dynamics, name)
    return found


def _output(dynamics: Dynamics, text: str) -> dict[str, sp.Expr]:
    flat = dynamics.flat
    if text in flat.outputs:
        return {text: flat.outputs[text][0].formula}
    rest, quantity = (text.removesuffix(".d"), "u") if text.endswith(".d") else (text, "q")
    match = _COMPONENT.match(rest)
    joint, index = (match["name"], int(match["index"])) if match and rest not in flat.joints else (rest, None)
    if joint in flat.joints:
        data = dynamics.coordinates.nominal_joint(joint).joint
        size = data.nv if quantity == "u" else data.nq
        if index is not None and index >= size:
            raise DalembertError(f"outputs: {text!r}: joint {joint!r} has {size} of them, counted from 0")
        every = range(size) if index is None else (index,)
        suffix = ".d" if quantity == "u" else ""
        return {(joint if size == 1 else f"{joint}[{i}]") + suffix: reference(quantity, joint, i) for i in every}
    return {text: _formula(dynamics, text)}


def _formula(dynamics: Dynamics, text: str) -> sp.Expr:
    """A formula that names only what the model has."""
    flat = dynamics.flat
    try:
        formula = parse(text, tables=True)
    except ExpressionError as error:
        known = ", ".join([*flat.outputs, *flat.joints])
        raise DalembertError(f"outputs: {text!r} is no output, joint or formula ({error}); known: {known}") from None
    formula = flat.settled(formula)
    unknown = [symbol.name for symbol in parameters_of(formula) if symbol.name not in flat.parameters]
    for ref in references(formula):
        if ref.quantity in FEEDBACK_QUANTITIES:
            continue
        known_to = flat.joints if ref.quantity in JOINT_QUANTITIES else {**flat.bodies, **flat.points, **flat.forces}
        if ref.quantity != STATE and ref.element not in known_to:
            unknown.append(ref.element)
    if unknown:
        known = ", ".join([*flat.outputs, *flat.joints, *flat.bodies, *flat.parameters])
        raise DalembertError(f"outputs: {text!r}: unknown {unknown[0]!r}; the model has {known}")
    feedback = [ref.text for ref in references(formula) if ref.quantity in FEEDBACK_QUANTITIES]
    unheard = [text for text in feedback if text not in flat.parameters]
    if unheard:
        raise DalembertError(
            f"outputs: no formula of the model names {unheard[0]!r}, so nothing follows it.  "
            f"Fix: model.output('y', {text!r}), and outputs=['y']"
        )
    if not (references(formula) or TIME in formula.free_symbols):
        raise DalembertError(f"outputs: {text!r} names no motion")
    return formula
