"""The moving mechanism as constraints and forces see it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra import Algebra, Jets
from dalembert.coordinates.base import Kinematics
from dalembert.elements import Motion
from dalembert.errors import ModelError
from dalembert.expressions import STATE, TIME, Reference, evaluate, parameter
from dalembert.expressions.symbols import (
    BEND_QUANTITY,
    DEFLECTION_QUANTITY,
    FEEDBACK_QUANTITIES,
    LINE_QUANTITIES,
    ROTATION_QUANTITIES,
    TURN_QUANTITIES,
)
from dalembert.forces.strut import line_between
from dalembert.model.flatten import Scope
from dalembert.model.mechanism import PlacedJoint
from dalembert.spatial import Pose, RigidInertia
from dalembert.spatial.so3 import cross

__all__ = ["FormulaMotion", "TreeMotion", "moving", "still"]

_COMPONENT = {"x": 0, "y": 1, "z": 2, "vx": 0, "vy": 1, "vz": 2, "wx": 0, "wy": 1, "wz": 2}


class FormulaMotion(Motion):
    """A motion along which formulas have values."""

    t: Any

    @abstractmethod
    def parameter(self, symbol: sp.Symbol) -> Any:
        """The value of a parameter."""

    def own_state(self, name: str) -> Any:
        """The value of a state of the model's own."""
        raise ModelError(f"state {name!r} has no value here")

    def evaluate(self, formula: sp.Expr) -> Any:
        return evaluate(self.al, formula, self._lookup, self.chosen)

    @property
    def chosen(self) -> Mapping[sp.Expr, Any]:
        """What chooses branches of formulas, see ``evaluate``."""
        return {}

    def _lookup(self, atom: sp.Symbol | Reference) -> Any:
        if isinstance(atom, Reference):
            return self._quantity(atom)
        return self.t if atom == TIME else self.parameter(atom)

    def _quantity(self, ref: Reference) -> Any:
        """What a formula names: a coordinate or velocity of a joint, or a component of a body's motion in world
        axes."""
        if ref.quantity == STATE:
            return self.own_state(ref.element)
        if ref.quantity in ("q", "u"):
            q, u = self.joint(ref.element)
            return (q if ref.quantity == "q" else u)[ref.index]
        if ref.quantity in (*LINE_QUANTITIES, *TURN_QUANTITIES):
            return self.line(ref.element)[ref.quantity == "rate"]
        name, point = self.point(ref.element)
        X, V = self.body(name)
        if ref.quantity in ROTATION_QUANTITIES:
            return X.R["xyz".index(ref.quantity[1]), "xyz".index(ref.quantity[2])]
        i = _COMPONENT[ref.quantity]
        if ref.quantity in ("x", "y", "z"):
            return (X.p if point is None else X.apply(point))[i]
        if not ref.quantity.startswith("v"):
            return (X.R @ V[:3])[i]
        return (X.R @ (V[3:] if point is None else V[3:] + cross(V[:3], point)))[i]

    def point(self, name: str) -> tuple[str, np.ndarray | None]:
        """Body and place, in its axes, of a point; None for the origin of a body of this name."""
        return name, None

    def line(self, force: str) -> tuple[Any, Any]:
        """Distance of the two ends of a force, or the angle between its bodies, and its rate."""
        raise ModelError(f"the length of {force!r} has no value here")


@dataclass(frozen=True)
class TreeMotion(FormulaMotion):
    """Implements :class:`dalembert.elements.Motion` over the tree.

    Attributes:
        al: the algebra of poses and twists; the tree's own, or jets over it.
        joint_q, joint_u: coordinates and velocities of tree joints, in that algebra.
        windings: the winding coordinates, by (joint, index).
        own_states: values of the model's own states; None where their rates would be asked for.
        rigid: gives the equations between the coordinates themselves (see ``Kinematics.rigid``).
        scope: the world in which the asking element was drawn.
    """

    al: Algebra
    tree: Kinematics
    t: Any
    poses: dict[str, Pose]
    twists: dict[str, np.ndarray]
    joint_q: dict[str, np.ndarray]
    joint_u: dict[str, np.ndarray]
    windings: dict[tuple[str, int], Any]
    rigid: Callable[[], list[tuple[str, list[Any]]]]
    own_states: dict[str, Any] | None = None
    scope: Scope = field(default_factory=lambda: Scope("", None, None))

    def within(self, scope: Scope) -> TreeMotion:
        """The same motion for an element drawn in another scope."""
        return replace(self, scope=scope)

    def body(self, name: str) -> tuple[Pose, np.ndarray]:
        return self.poses[name], self.twists[name]

    def inertia(self, body: str) -> RigidInertia:
        return self.tree.mechanism.inertia(body).about_origin(self.tree.al)

    def point(self, name: str) -> tuple[str, np.ndarray | None]:
        found = self.tree.mechanism.flat.points.get(name)
        if found is None:
            return name, None
        point, scope = found
        return point.body, self.within(scope).local_point(point.body, point.at, point.frame)

    def line(self, force: str) -> tuple[Any, Any]:
        given, scope = self.tree.mechanism.flat.forces[force]
        if given.turns:
            return given.turned(self.within(scope))
        (first, p, frame), (second, q, _) = given.ends() or _no_ends(force)
        _, _, length, rate = line_between(self.within(scope), (first, second), (p, q), frame)
        return length, rate

    def reference(self, body: str) -> Pose:
        return self.tree.mechanism.body_pose(body)

    def local_point(self, body: str, point: Any, frame: str = "world") -> np.ndarray:
        al, mechanism = self.tree.al, self.tree.mechanism
        X = Pose.translation(al, mechanism.vector(point))
        return mechanism.local(body, X, frame, self.scope).p

    def local_axes(self, body: str, frame: str = "world") -> np.ndarray:
        al, mechanism = self.tree.al, self.tree.mechanism
        return mechanism.local(body, Pose.identity(al), frame, self.scope).R

    def relative(self, placed: PlacedJoint) -> tuple[Pose, np.ndarray]:
        """Pose of the second joint frame in the first, and its twist in its own axes."""
        X_1, V_1 = self.body(placed.first)
        X_2, V_2 = self.body(placed.second)
        X = (X_1 @ placed.X_1P).inverse() @ (X_2 @ placed.X_2S)
        V = placed.X_2S.motion_inverse(V_2) - X.motion_inverse(placed.X_1P.motion_inverse(V_1))
        return X, V

    def joint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        if name in self.joint_q:
            return self.joint_q[name], self.joint_u[name]
        placed = self.tree.mechanism.joint(name)
        X, V = self.relative(placed)
        q = placed.joint.coordinates(self.al, X)
        q = np.array(q, dtype=object, copy=True) if q.dtype == object else q.copy()
        for index in placed.joint.angles:
            if (name, index) in self.windings:
                q[index] = self._unwind(q[index], self.windings[name, index])
        return q, placed.joint.rates(self.al, q, V)

    def lead(self, joint: str) -> Any:
        return self.tree.mechanism.joint(joint).joint.lead

    def _unwind(self, angle: Any, near: Any) -> Any:
        """The angle plus whole turns, closest to ``near``."""
        al = self.al
        offset = angle - near
        return near + al.atan2(al.sin(offset), al.cos(offset))

    def own_state(self, name: str) -> Any:
        if self.own_states is None:
            raise ModelError(
                f"state {name!r} appears in a formula whose time derivatives are needed, and those of a state need "
                f"accelerations.  Fix: name joints and bodies only, or t"
            )
        return self.own_states[name]

    @property
    def chosen(self) -> Mapping[sp.Expr, Any]:
        return self.tree.mechanism.chosen

    def _quantity(self, ref: Reference) -> Any:
        if ref.quantity in FEEDBACK_QUANTITIES:
            return self.parameter(parameter(ref.text))
        if ref.quantity not in (BEND_QUANTITY, "switch", DEFLECTION_QUANTITY):
            return super()._quantity(ref)
        flat = self.tree.coordinates.flat
        if ref.quantity == BEND_QUANTITY:
            constraint, scope = flat.constraints[ref.element]
            return constraint.switches(self.within(scope))[ref.index]
        force, scope = flat.forces[ref.element]
        if ref.quantity == DEFLECTION_QUANTITY:
            return force.deflections(self.within(scope))[ref.index]
        return force.switches(self.within(scope))[ref.index]

    def parameter(self, symbol: sp.Symbol) -> Any:
        if symbol.name not in self.tree.mechanism.parameters:
            raise ModelError(f"unknown parameter {symbol.name!r} in a formula")
        return self.tree.mechanism.parameters[symbol.name]


def _no_ends(force: str) -> Any:
    raise ModelError(f"{force!r} has no length.  Fix: length() and rate() are those of springs and struts")


def still(tree: Kinematics, t: Any, q: np.ndarray, u: np.ndarray, states: list[Any]) -> TreeMotion:
    """The motion in the tree's own algebra: values, no derivatives."""
    al = tree.al
    poses, twists = {"ground": Pose.identity(al)}, {"ground": al.zeros(6)}
    for link, state in zip(tree.links, states, strict=True):
        poses[link.body], twists[link.body] = state.X_WB, state.V
    slots = tree.coordinates.slot_of_joint
    joint_q = {name: q[slot.q] for name, slot in slots.items()}
    joint_u = {name: u[slot.u] for name, slot in slots.items()}
    for name, own in tree.derived(al, t, q, u).items():
        joint_q[name], joint_u[name] = own
    windings = {(w.joint, w.index): q[w.q] for w in tree.coordinates.windings}
    own = {name: q[place] for name, place in tree.coordinates.own_states.items()}
    return TreeMotion(al, tree, t, poses, twists, joint_q, joint_u, windings, lambda: tree.rigid(al, q[: len(u)]), own)


def moving(tree: Kinematics, t: Any, q: np.ndarray, u: np.ndarray, du: np.ndarray, states: list[Any]) -> TreeMotion:
    """The motion in jets: whatever is asked comes with its first and second time derivatives."""
    al, jets = tree.al, Jets(tree.al)
    zero, one = al.constant(0), al.constant(1)
    poses = {"ground": Pose.identity(jets)}
    twists = {"ground": jets.zeros(6)}
    for link, state in zip(tree.links, states, strict=True):
        poses[link.body], twists[link.body] = state.jets(jets)
    joint_q: dict[str, np.ndarray] = {}
    joint_u: dict[str, np.ndarray] = {}
    for name, slot in tree.coordinates.slot_of_joint.items():
        joint = tree.links[tree.index[slot.body]].joint
        rate = joint.qdot(al, q[slot.q], u[slot.u])
        joint_u[name] = jets.jets(u[slot.u], du[slot.u], al.zeros(len(u[slot.u])))
        # q̈ is the derivative of q̇(q, u), so jets of q̇ give it in their first part.
        first = jets.jets(q[slot.q], rate, al.zeros(len(rate)))
        _, second, _ = jets.parts(joint.qdot(jets, first, joint_u[name]))
        joint_q[name] = jets.jets(q[slot.q], rate, second)
    windings = {(w.joint, w.index): q[w.q] for w in tree.coordinates.windings}
    time = jets.jets(np.array([t], dtype=object), np.array([one], dtype=object), np.array([zero], dtype=object))[0]
    if tree.derives:
        rates = jets.jets(u, du, al.zeros(len(u)))
        for name, own in tree.derived(jets, time, jets.jets(q[: len(u)], u, du), rates).items():
            joint_q[name], joint_u[name] = own

    def rigid() -> list[tuple[str, list[Any]]]:
        return tree.rigid(jets, jets.jets(q[: len(u)], u, du))

    return TreeMotion(jets, tree, time, poses, twists, joint_q, joint_u, windings, rigid)
