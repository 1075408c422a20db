"""Coordinates: how q and u describe the mechanism.

Every kind of coordinates here is a tree of joints from the ground to all bodies, plus joints that are cut:
``relative`` takes a spanning tree of the model's own joints; ``absolute`` hangs every body on a free joint and cuts
all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import NUMPY, Algebra
from dalembert.expressions import references
from dalembert.joints import Free, Joint
from dalembert.joints.reversed import Reversed
from dalembert.model import Flat, Mechanism
from dalembert.model.mechanism import PlacedJoint
from dalembert.spatial import Pose, RigidInertia

__all__ = ["Coordinates", "Link", "PlacedTree", "Winding"]


@dataclass(frozen=True)
class Slot:
    """Where one tree joint keeps its numbers in q and u."""

    body: str
    parent: str
    joint: str | None
    reversed: bool
    q: slice
    u: slice


@dataclass(frozen=True)
class Winding:
    """A coordinate that counts the turns of an angle of a cut joint; q̇ is the rate of the angle."""

    joint: str
    index: int
    q: int


@dataclass(frozen=True)
class Link:
    """One body of the tree in an algebra.

    The link frame L is the moved joint frame: there the joint's motion is simplest, and one constant pose leads from
    link to link.

    Attributes:
        parent: index of the parent link, −1 for the ground.
        X_PJ: joint frame on the parent, in the parent's link frame.
        X_LB: body frame in the link frame.
        inertia: about the origin of the link frame.
        armature: rotor inertia on each of the joint's velocities, or None.
    """

    body: str
    parent: int
    joint: Joint
    X_PJ: Pose
    X_LB: Pose
    inertia: RigidInertia
    q: slice
    u: slice
    armature: Any = None


class Coordinates:
    """The layout of q and u over a tree of joints.

    Attributes:
        name: of the kind of coordinates.
        slots: tree joints, parents first.
        cut: names of the joints that are closed by constraints.
        windings: extra entries at the end of q.
        nq, nv: lengths of q and u.
    """

    name: ClassVar[str]

    def __init__(self, flat: Flat):
        self.flat = flat
        self._nominal = Mechanism.nominal(flat)
        self.slots, self.cut = self._layout()
        tree_nq = max((slot.q.stop for slot in self.slots), default=0)
        self.nv = max((slot.u.stop for slot in self.slots), default=0)
        self.windings = self._find_windings(tree_nq)
        self.nq = tree_nq + len(self.windings)
        self.slot_of_joint = {slot.joint: slot for slot in self.slots if slot.joint is not None}

    def _layout(self) -> tuple[list[Slot], tuple[str, ...]]:
        raise NotImplementedError

    def _slots(self, tree: list[tuple[str, str, str | None, bool, int, int]]) -> list[Slot]:
        """Slots one after the other from (body, parent, joint, reversed, nq, nv)."""
        slots, q, u = [], 0, 0
        for body, parent, joint, turned, nq, nv in tree:
            slots.append(Slot(body, parent, joint, turned, slice(q, q + nq), slice(u, u + nv)))
            q, u = q + nq, u + nv
        return slots

    def nominal_joint(self, name: str) -> PlacedJoint:
        """A joint of the model in floats."""
        return self._nominal.joint(name)

    def _find_windings(self, start: int) -> list[Winding]:
        """Angles of cut joints that an equation, a force, an output or an event asks for."""
        asked: set[str] = set()
        for section in (self.flat.constraints, self.flat.forces, self.flat.outputs, self.flat.events):
            for element, _ in section.values():
                asked |= _joints_asked(element)
        for name in self.cut:
            if self.nominal_joint(name).joint.measured:
                asked.add(name)
        windings = []
        for name in self.cut:
            if name in asked:
                for index in self.nominal_joint(name).joint.angles:
                    windings.append(Winding(name, index, start + len(windings)))
        return windings

    # In an algebra

    def place(self, al: Algebra, parameters: dict[str, Any]) -> PlacedTree:
        """The tree in an algebra."""
        shared = al is NUMPY and parameters == self.flat.parameters
        return PlacedTree(self, self._nominal if shared else Mechanism(self.flat, al, parameters))

    # In floats

    def joint_at(self, slot: Slot) -> Joint:
        """The joint of a slot, as it is traversed by the tree."""
        if slot.joint is None:
            return Free()
        joint = self.nominal_joint(slot.joint).joint
        return Reversed(joint) if slot.reversed else joint

    def neutral(self) -> np.ndarray:
        """q with every joint at neutral."""
        q = np.zeros(self.nq)
        for slot in self.slots:
            q[slot.q] = self.joint_at(slot).neutral()
        return q

    def labels(self) -> tuple[list[str], list[str]]:
        """Names of the entries of q and of u."""
        q_names, u_names = [], []
        for slot in self.slots:
            name = slot.joint or slot.body
            nq, nv = slot.q.stop - slot.q.start, slot.u.stop - slot.u.start
            q_names += [name] if nq == 1 else [f"{name}[{i}]" for i in range(nq)]
            u_names += [name] if nv == 1 else [f"{name}[{i}]" for i in range(nv)]
        q_names += [f"{w.joint}[{w.index}] turns" for w in self.windings]
        return q_names, u_names


def _joints_asked(element: Any) -> set[str]:
    """Joints whose coordinates an element reads, through its fields or its formulas."""
    asked = set()
    for key in ("joint", "pinion", "rack"):
        if isinstance(getattr(element, key, None), str):
            asked.add(getattr(element, key))
    asked.update(getattr(element, "joints", ()))
    asked.update(getattr(element, "terms", {}))
    for value in element.__dict__.values():
        parts = value.values() if isinstance(value, dict) else value
        for formula in parts if isinstance(value, (tuple, dict)) else (value,):
            if hasattr(formula, "free_symbols"):
                asked |= {ref.element for ref in references(formula) if ref.quantity == "q"}
    return asked


class PlacedTree:
    """Coordinates in an algebra: links with inertia, frames and joints as scalars."""

    def __init__(self, coordinates: Coordinates, mechanism: Mechanism):
        self.coordinates, self.mechanism, self.al = coordinates, mechanism, mechanism.al
        index = {"ground": -1}
        self.links: list[Link] = []
        for slot in coordinates.slots:
            joint, X_BJ, X_LB = self._frames(slot)
            parent = index[slot.parent]
            X_PJ = self.links[parent].X_LB @ X_BJ if parent >= 0 else X_BJ
            inertia = mechanism.inertia(slot.body).moved(X_LB).about_origin(self.al)
            armature = None if slot.joint is None else mechanism.armature(slot.joint)
            self.links.append(Link(slot.body, parent, joint, X_PJ, X_LB, inertia, slot.q, slot.u, armature))
            index[slot.body] = len(self.links) - 1
        self.index = index

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        """q moved along the tangent du; windings stay."""
        parts = [link.joint.integrate(self.al, q[link.q], du[link.u]) for link in self.links]
        return self.al.concatenate([*parts, q[len(q) - len(self.coordinates.windings) :]])

    def normalise(self, q: np.ndarray) -> np.ndarray:
        """q with unit quaternions."""
        parts = [link.joint.normalise(self.al, q[link.q]) for link in self.links]
        return self.al.concatenate([*parts, q[len(q) - len(self.coordinates.windings) :]])

    def _frames(self, slot: Slot) -> tuple[Joint, Pose, Pose]:
        """The joint, its frame on the parent body, and the child body in its moved frame."""
        if slot.joint is None:
            return Free(), Pose.identity(self.al), Pose.identity(self.al)
        placed = self.mechanism.joint(slot.joint)
        if slot.reversed:
            return Reversed(placed.joint), placed.X_2S, placed.X_1P.inverse()
        return placed.joint, placed.X_1P, placed.X_2S.inverse()
