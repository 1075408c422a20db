"""Coordinates: how q and u describe the mechanism.

``relative`` and ``absolute`` coordinates are a tree of joints from the ground to all bodies, plus joints that are cut:
``relative`` takes a spanning tree of the model's own joints; ``absolute`` hangs every body on a free joint and cuts
all. ``natural`` coordinates know no joints in between (see ``natural``). What the equations of motion ask of any kind
is the contract of :class:`Kinematics`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY, Algebra
from dalembert.joints import Free, Joint
from dalembert.joints.reversed import Reversed
from dalembert.model import Flat, Mechanism
from dalembert.model.mechanism import PlacedJoint, unit_of_length
from dalembert.spatial import Pose, quaternion
from dalembert.tree import InverseDerivatives, Link
from dalembert.tree.momenta import momentum_rates
from dalembert.tree.outward import outward
from dalembert.tree.recursions import generalized_forces, inverse_dynamics, mass_matrix
from dalembert.tree.tree_derivatives import inverse_dynamics_derivatives

__all__ = ["Coordinates", "Kinematics", "TreeKinematics", "Winding"]


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


class Coordinates:
    """The layout of q and u.

    Attributes:
        name: of the kind of coordinates.  options: with which it was asked for, if there are any.
        slots: tree joints, parents first.
        slot_of_joint: those of the model's own joints.
        bodies: their names, in the order of the states.
        cut: names of the joints that are closed by constraints.
        own_states: places in q, behind the coordinates, of the model's own states (``Model.state``), of first order.
        windings: further entries, at the end of q.
        eliminated: constraints that the coordinates satisfy by themselves.
        rheonomic: True if the position depends on time besides q.
        nq, nv: lengths of q and u.
        velocities: quasi-velocities that the user gave, by name (see ``generalized``).
    """

    name: ClassVar[str]
    velocities: Mapping[str, sp.Expr] = MappingProxyType({})
    options: Any = None

    def __init__(self, flat: Flat):
        self.flat = flat
        self.nominal = Mechanism.nominal(flat)
        self._placed: tuple[dict[str, Any], Kinematics] | None = None
        self.slots, self.cut = self._layout()
        start, self.nv = self._sizes()
        self.own_states = {name: start + i for i, name in enumerate(flat.states)}
        self.windings = self._find_windings(start + len(self.own_states))
        self.nq = start + self.tail
        self.slot_of_joint = {slot.joint: slot for slot in self.slots if slot.joint is not None}

    @property
    def eliminated(self) -> frozenset[str]:
        return frozenset()

    @property
    def rheonomic(self) -> bool:
        return False

    def __reduce__(self) -> Any:
        # Made again from the model; what was placed in floats stays behind.
        return type(self), (self.flat,) if self.options is None else (self.flat, self.options)

    def _layout(self) -> tuple[list[Slot], tuple[str, ...]]:
        raise NotImplementedError

    def _sizes(self) -> tuple[int, int]:
        """Lengths of q, without windings, and of u."""
        of_q, of_u = self._parts()
        return max((part.stop for part in of_q), default=0), max((part.stop for part in of_u), default=0)

    def _parts(self) -> tuple[list[slice], list[slice]]:
        return [slot.q for slot in self.slots], [slot.u for slot in self.slots]

    @property
    def tail(self) -> int:
        """How many entries at the end of q are no coordinates: states and windings."""
        return len(self.own_states) + len(self.windings)

    def tail_labels(self) -> list[str]:
        """Names of those entries."""
        return [*self.own_states] + [f"{w.joint}[{w.index}] turns" for w in self.windings]

    @property
    def bodies(self) -> list[str]:
        return [slot.body for slot in self.slots]

    @property
    def is_constrained(self) -> bool:
        """True if the coordinates depend on each other, whatever constraints the model gives."""
        return bool(self.cut)

    @property
    def has_constraints(self) -> bool:
        """True if coordinates depend on each other, some constraint is given, or some joint is nonholonomic."""
        if self.is_constrained or self.flat.constraints.keys() - self.eliminated:
            return True
        return any(self.nominal_joint(name).joint.nonholonomic for name in self.flat.joints)

    def kept(self, joint: str) -> Sequence[int]:
        """Which equations of a cut joint are imposed: all, unless the coordinates satisfy some by themselves."""
        return range(6 - self.nominal_joint(joint).joint.nv)

    def _slots(self, tree: list[tuple[str, str, str | None, bool, int, int]]) -> list[Slot]:
        """Slots one after the other from (body, parent, joint, reversed, nq, nv)."""
        slots: list[Slot] = []
        q, u = 0, 0
        for body, parent, joint, turned, nq, nv in tree:
            slots.append(Slot(body, parent, joint, turned, slice(q, q + nq), slice(u, u + nv)))
            q, u = q + nq, u + nv
        return slots

    def nominal_joint(self, name: str) -> PlacedJoint:
        """A joint of the model in floats."""
        return self.nominal.joint(name)

    def _find_windings(self, start: int) -> list[Winding]:
        """Angles of cut joints that an equation, a force, an output, an event or a state asks for."""
        asked: set[str] = set()
        flat = self.flat
        for section in (flat.constraints, flat.forces, flat.outputs, flat.events, flat.states):
            for element, _ in section.values():
                asked |= element.joints_read()
        for name in self.cut:
            if self.nominal_joint(name).joint.measured:
                asked.add(name)
        windings: list[Winding] = []
        for name in self.cut:
            if name in asked:
                for index in self.nominal_joint(name).joint.angles:
                    windings.append(Winding(name, index, start + len(windings)))
        return windings

    # In an algebra

    def place(self, al: Algebra, parameters: dict[str, Any]) -> Any:
        """In an algebra, as ``Kinematics`` promises. In floats the last one is kept: analyses ask for it often."""
        if al is not NUMPY:
            return self._place(al, parameters)
        kept = self._placed
        if kept is None or kept[0] != parameters:
            self._placed = kept = (dict(parameters), self._place(al, parameters))
        return kept[1]

    def _place(self, al: Algebra, parameters: dict[str, Any]) -> Kinematics:
        return TreeKinematics(self, self._mechanism(al, parameters))

    def _mechanism(self, al: Algebra, parameters: dict[str, Any]) -> Mechanism:
        shared = al is NUMPY and parameters == self.flat.parameters
        return self.nominal if shared else Mechanism(self.flat, al, parameters)

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

    def drawn(self) -> np.ndarray:
        """q of the reference configuration, at the nominal parameters."""
        mechanism = self.nominal

        def body(name: str) -> tuple[Pose, np.ndarray]:
            return mechanism.body_pose(name), np.zeros(6)

        def joint(name: str) -> tuple[np.ndarray, np.ndarray]:
            placed = mechanism.joint(name)
            X_1, X_2 = body(placed.first)[0] @ placed.X_1P, body(placed.second)[0] @ placed.X_2S
            return placed.joint.coordinates(NUMPY, X_1.inverse() @ X_2), np.zeros(placed.joint.nv)

        return self.place(NUMPY, dict(self.flat.parameters)).state(body, joint)[0]

    @cached_property
    def usual_arm(self) -> float | None:
        """What is usual for the distance of a joint from the origin of its body (m), if there is any."""
        return self.nominal.usual_arm

    def velocity_units(self, length: float) -> np.ndarray:
        """The unit of every velocity for a unit of length: that length where a joint slides, else 1.

        What slides and turns, as along a curve, slides if that gives a motion of the size of the mechanism; where this
        is an everyday one, it turns.
        """
        units, arm = np.ones(self.nv), self.usual_arm or 1.0
        for slot in self.slots:
            joint = self.joint_at(slot)
            S = np.abs(joint.subspace(NUMPY, joint.neutral()))
            turns = S[:3].max(axis=0, initial=0.0)
            sizes = np.maximum(turns, S[3:].max(axis=0, initial=0.0) / arm)
            slides = turns == 0
            if unit_of_length(arm) != 1.0:
                slides |= np.abs(np.log(sizes * arm)) < np.abs(np.log(sizes))
            units[slot.u] = np.where(slides, length, 1.0)
        return units

    @cached_property
    def _lengths_of_u(self) -> np.ndarray:
        return self.velocity_units(2.0) == 2.0

    @cached_property
    def quaternions(self) -> list[slice]:
        """Where the quaternions of joints stand among q."""
        found: list[slice] = []
        for slot in self.slots:
            joint = self.joint_at(slot)
            if joint.nq > joint.nv:
                found += [slice(slot.q.start + first, slot.q.start + first + 4) for first in joint.quaternions]
        return found

    def lengths(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which entries of q, and which of u over time, are lengths; the others are angles and pure numbers.

        Args:
            q: some position.
        """
        of_u, of_q = self._lengths_of_u, np.zeros(self.nq, dtype=bool)
        if of_u.any():
            placed = self.place(NUMPY, dict(self.flat.parameters))
            for shift in np.eye(self.nv)[of_u]:
                of_q |= placed.integrate(q, shift) != q
        return of_q, of_u

    def labels(self) -> tuple[list[str], list[str]]:
        """Names of the entries of q and of u."""
        q_names: list[str] = []
        u_names: list[str] = []
        for slot in self.slots:
            name = slot.joint or slot.body
            nq, nv = slot.q.stop - slot.q.start, slot.u.stop - slot.u.start
            q_names += [name] if nq == 1 else [f"{name}[{i}]" for i in range(nq)]
            u_names += [name] if nv == 1 else [f"{name}[{i}]" for i in range(nv)]
        return q_names + self.tail_labels(), u_names


class Kinematics(ABC):
    """Coordinates in an algebra: all that the equations of motion ask of them.

    Attributes:
        links: one for each body: its name ``body``, its ``inertia`` about the origin of a frame L fixed to it, the
            pose ``X_LB`` of the body's own frame there, and the ``armature`` of the joint it hangs on.
        index: where each body is among them; −1 for the ground.
        derives: True if some joints' own coordinates are functions of q (see ``derived``).

    A *state* says where one link is and how it moves: ``X_WL``, ``V_L``, ``A_L`` of L, ``X_WB``, ``V``, ``A`` of the
    body (see :class:`LinkState`), and ``jets``: pose and twist of the body with their time derivatives.
    """

    links: list[Any]
    index: dict[str, int]
    derives: bool = False

    def __init__(self, coordinates: Coordinates, mechanism: Mechanism):
        self.coordinates, self.mechanism, self.al, self.nv = coordinates, mechanism, mechanism.al, coordinates.nv

    @abstractmethod
    def states(self, q: np.ndarray, u: np.ndarray, du: np.ndarray | None = None, base: Any = None) -> list[Any]:
        """All links in motion; ``base`` is an acceleration of the ground (see ``outward``)."""

    @abstractmethod
    def qdot(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """q̇ without states and windings."""

    @abstractmethod
    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        """q moved along the tangent du; states and windings stay."""

    @abstractmethod
    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q with unit quaternions."""

    @abstractmethod
    def dexp(self, du: np.ndarray, inverse: bool = False) -> list[np.ndarray]:
        """D(δ) of ``integrate`` in blocks along the diagonal, or their inverses (see ``Joint.dexp``)."""

    @abstractmethod
    def mass_matrix(self, states: list[Any]) -> np.ndarray:
        """M, without armatures of cut joints."""

    @abstractmethod
    def inverse_dynamics(self, states: list[Any], wrenches: list[np.ndarray]) -> np.ndarray:
        """M u̇ + h less what wrenches on the links do to all velocities."""

    @abstractmethod
    def momentum_rates(self, states: list[Any], q: np.ndarray, u: np.ndarray, wrenches: list[np.ndarray]) -> np.ndarray:
        """What changes the momenta p = M u besides joint forces and constraints; ``states`` are without gravity."""

    @abstractmethod
    def generalized_forces(self, states: list[Any], wrenches: list[np.ndarray]) -> np.ndarray:
        """Forces on all velocities that do the work of wrenches on the links."""

    @abstractmethod
    def inverse_derivatives(self, q: np.ndarray, u: np.ndarray, du: np.ndarray, base: Any) -> InverseDerivatives:
        """Derivatives of M u̇ + h by q (tangent), u and u̇."""

    @abstractmethod
    def kinetic_energy(self, states: list[Any], u: np.ndarray) -> Any:
        """½ uᵀ M u."""

    def rigid(self, al: Algebra, q: np.ndarray) -> list[tuple[str, list[Any]]]:
        """Equations φ(q) = 0 between the coordinates of one body, by owner; q in the algebra ``al``, no windings."""
        return []

    def derived(self, al: Algebra, t: Any, q: np.ndarray, u: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Own coordinates and velocities of joints that are functions of t, q and u = q̇, in the algebra ``al``."""
        return {}

    def at(self, t: Any) -> Kinematics:
        """The same at time t, which matters where q does not say everything about the position."""
        return self

    def state(self, body: Callable[[str], Any], joint: Callable[[str], Any]) -> tuple[np.ndarray, np.ndarray]:
        """q and u of a physical state.

        Args:
            body: pose and twist of a body by name.  joint: coordinates and velocities of a joint by name.
        """
        q, u = self.al.zeros(self.coordinates.nq), self.al.zeros(self.coordinates.nv)
        self.fill(q, u, body, joint)
        for winding in self.coordinates.windings:
            q[winding.q] = joint(winding.joint)[0][winding.index]
        return q, u

    @abstractmethod
    def fill(self, q: np.ndarray, u: np.ndarray, body: Callable[[str], Any], joint: Callable[[str], Any]) -> None:
        """Coordinates and velocities from (pose, twist) of bodies and (q, u) of joints, in place."""


class PlainKinematics(Kinematics):
    """Coordinates that are plain numbers with their rates as velocities; states and windings stand behind them."""

    def qdot(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return u

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        return self.al.concatenate([q[: len(du)] + du, q[len(du) :]])

    def normalize(self, q: np.ndarray) -> np.ndarray:
        return q

    def dexp(self, du: np.ndarray, inverse: bool = False) -> list[np.ndarray]:
        return [self.al.eye(len(du))]


class TreeKinematics(Kinematics):
    """A tree of joints in an algebra: links with inertia, frames and joints as scalars."""

    links: list[Link]

    def __init__(self, coordinates: Coordinates, mechanism: Mechanism):
        super().__init__(coordinates, mechanism)
        index = {"ground": -1}
        self.links = []
        for slot in coordinates.slots:
            joint, X_BJ, X_LB = self._frames(slot)
            parent = index[slot.parent]
            X_PJ = self.links[parent].X_LB @ X_BJ if parent >= 0 else X_BJ
            inertia = mechanism.inertia(slot.body).moved(X_LB).about_origin(self.al)
            link = Link(slot.body, parent, joint, X_PJ, X_LB, inertia, slot.q, slot.u, self._armature(slot))
            self.links.append(link)
            index[slot.body] = len(self.links) - 1
        self.index = index

    def _armature(self, slot: Slot) -> Any:
        return None if slot.joint is None else self.mechanism.armature(slot.joint)

    def states(self, q: np.ndarray, u: np.ndarray, du: np.ndarray | None = None, base: Any = None) -> list[Any]:
        return outward(self, q, u, du, base)

    def qdot(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self.al.concatenate([link.joint.qdot(self.al, q[link.q], u[link.u]) for link in self.links])

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        parts = [link.joint.integrate(self.al, q[link.q], du[link.u]) for link in self.links]
        return self.al.concatenate([*parts, q[len(q) - self.coordinates.tail :]])

    def normalize(self, q: np.ndarray) -> np.ndarray:
        parts = [link.joint.normalize(self.al, q[link.q]) for link in self.links]
        return self.al.concatenate([*parts, q[len(q) - self.coordinates.tail :]])

    def dexp(self, du: np.ndarray, inverse: bool = False) -> list[np.ndarray]:
        joints = [(link.joint, du[link.u]) for link in self.links]
        return [joint.dexp_inverse(self.al, d) if inverse else joint.dexp(self.al, d) for joint, d in joints]

    def mass_matrix(self, states: list[Any]) -> np.ndarray:
        return mass_matrix(self, states)

    def inverse_dynamics(self, states: list[Any], wrenches: list[np.ndarray]) -> np.ndarray:
        return inverse_dynamics(self, states, wrenches)

    def momentum_rates(self, states: list[Any], q: np.ndarray, u: np.ndarray, wrenches: list[np.ndarray]) -> np.ndarray:
        return momentum_rates(self, states, q, u, wrenches)

    def generalized_forces(self, states: list[Any], wrenches: list[np.ndarray]) -> np.ndarray:
        return generalized_forces(self, states, wrenches)

    def inverse_derivatives(self, q: np.ndarray, u: np.ndarray, du: np.ndarray, base: Any) -> InverseDerivatives:
        return inverse_dynamics_derivatives(self, q, u, du, base)

    def kinetic_energy(self, states: list[Any], u: np.ndarray) -> Any:
        energy = self.al.constant(0)
        for link, state in zip(self.links, states, strict=True):
            energy = energy + link.inertia.energy(state.V_L)
            if link.armature is not None:
                energy = energy + link.armature * (u[link.u] @ u[link.u]) / 2
        return energy

    def fill(self, q: np.ndarray, u: np.ndarray, body: Callable[[str], Any], joint: Callable[[str], Any]) -> None:
        for slot in self.coordinates.slots:
            if slot.joint is None:
                X, V = body(slot.body)
                q[slot.q] = self.al.concatenate([quaternion.from_matrix(self.al, X.R), X.p])
                u[slot.u] = V
            else:
                q[slot.q], u[slot.u] = joint(slot.joint)

    def _frames(self, slot: Slot) -> tuple[Joint, Pose, Pose]:
        """The joint, its frame on the parent body, and the child body in its moved frame."""
        if slot.joint is None:
            return Free(), Pose.identity(self.al), Pose.identity(self.al)
        placed = self.mechanism.joint(slot.joint)
        if slot.reversed:
            return Reversed(placed.joint), placed.X_2S, placed.X_1P.inverse()
        return placed.joint, placed.X_1P, placed.X_2S.inverse()
