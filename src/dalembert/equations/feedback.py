"""Accelerations and reactions as formulas name them, once u̇ and λ are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.coordinates.moving import TreeMotion, moving
from dalembert.equations.mechanism_equations import Equations, Reactions
from dalembert.expressions import Reference
from dalembert.expressions.symbols import COMPONENTS, JOINT_ACCELERATION, REACTION, TORQUE

__all__ = ["feedback_values"]


def feedback_values(
    e: Equations, names: Mapping[str, Reference], du: np.ndarray, multipliers: np.ndarray
) -> np.ndarray:
    """Accelerations and reactions that formulas name."""
    reactions = Reactions(e, du, multipliers)
    moved = moving(e.tree, e.t, e.q, e.u, du, e.tree.states(e.q, e.u, du))
    return e.al.array([_value(e, moved, reactions, ref) for ref in names.values()])


def _value(e: Equations, moved: TreeMotion, reactions: Reactions, ref: Reference) -> Any:
    """What a reference means.

    Args:
        moved: the motion in jets along u̇.
        reactions: the forces of joints and constraints.
    """
    if ref.quantity == TORQUE:
        return reactions.multiplier(ref.element)
    if ref.quantity == REACTION:
        return _reaction(e, reactions, ref)
    if ref.quantity == JOINT_ACCELERATION:
        return _part(moved, moved.joint(ref.element)[1][ref.index], 1)
    name, point = moved.point(ref.element)
    X, V = moved.body(name)
    i = "xyz".index(ref.quantity[-1])
    if ref.quantity.startswith("alpha"):
        return _part(moved, (X.R @ V[:3])[i], 1)
    return _part(moved, (X.p if point is None else X.apply(point))[i], 2)


def _part(moved: TreeMotion, value: Any, order: int) -> Any:
    """A derivative of a jet."""
    jets: Any = moved.al
    return jets.parts(np.array([value], dtype=object))[order][0]


def _reaction(e: Equations, reactions: Reactions, ref: Reference) -> Any:
    """A component of the wrench that a joint exerts on its second body, or the normal force of a contact."""
    if ref.element in e.flat.constraints:
        contact, scope = e.flat.constraints[ref.element]
        return contact.normal_force(e.motion.within(scope), reactions.multiplier(ref.element))
    al, component = e.al, COMPONENTS[ref.index]
    if component in ("normal", "axial"):
        f = reactions.wrench(ref.element)[3:]
        across = e.tree.mechanism.joint(ref.element).joint.loaded_across
        return f[2] if component == "axial" else al.length(f[:2] if across else f)
    if component == "bending":
        return al.length(reactions.wrench(ref.element)[:2])
    n, f = np.split(reactions.wrenches[ref.element], 2)
    if component in ("force", "torque"):
        return al.length(f if component == "force" else n)
    vector = n if component.startswith("t") else f
    return vector["xyz".index(component[-1])]
