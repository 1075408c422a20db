"""Formulas that are evaluated along a motion: outputs, coordinates of joints, and any formula, by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.dynamics.dynamics import Dynamics
from dalembert.errors import DalembertError, ExpressionError
from dalembert.expressions import parse, reference, references
from dalembert.expressions.symbols import FEEDBACK_QUANTITIES, JOINT_QUANTITIES, STATE, TIME, parameters_of

__all__ = ["find_outputs", "formula_kernel", "formula_of_motion"]

_COMPONENT = re.compile(r"^(?P<name>.*)\[(?P<index>\d+)\]$")


def formula_kernel(dynamics: Dynamics, formulas: Sequence[sp.Expr]) -> Any:
    """Formulas as one compiled function of times, states and parameters."""
    kernels = dynamics.kernels
    motion = kernels.traced.motion
    return kernels.compile("formulas", {"y": np.array([motion.evaluate(one) for one in formulas], dtype=object)})


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
    return {text: formula_of_motion(dynamics, text)}


def formula_of_motion(dynamics: Dynamics, text: str) -> sp.Expr:
    """A formula that names only what the model has."""
    flat = dynamics.flat
    try:
        formula = parse(text, tables=True)
    except ExpressionError as error:
        known = ", ".join([*flat.outputs, *flat.joints])
        raise DalembertError(
            f"outputs: {text!r} is not an output, joint or formula ({error}); known: {known}"
        ) from None
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
            f"Fix: model.output('y', {text!r}), and ask for 'y'"
        )
    if not (references(formula) or TIME in formula.free_symbols):
        raise DalembertError(f"outputs: {text!r} names no motion")
    return formula
