"""Coordinates that follow from others, q_J = f(t, q), eliminated from the tree.

Legend: q the numbers that stay, q_J all numbers of the tree, F = ∂q_J/∂q, f_t = ∂q_J/∂t:

    q_J = f(t, q),   u_J = F q̇ + f_t,   u̇_J = F q̈ + Ḟ q̇ + ḟ_t,   M = Fᵀ M_J F,   forces by Fᵀ

Reference: docs/theory/generalized-coordinates.md.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.algebra import Algebra, Jets
from dalembert.coordinates.base import PlainKinematics, Slot
from dalembert.coordinates.generalized_kinematics import GeneralizedKinematics, rated
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.expressions import TIME, Reference, evaluate, references
from dalembert.joints.product import Ball
from dalembert.tree import InverseDerivatives

if TYPE_CHECKING:
    from dalembert.coordinates.generalized import GeneralizedCoordinates
    from dalembert.model.mechanism import Mechanism

__all__ = ["Elimination", "MappedKinematics", "find_elimination"]


@dataclass(frozen=True)
class Elimination:
    """Which numbers of the tree follow from the others.

    Attributes:
        size: how many numbers the tree has.
        kept: those that stay, in order.
        formulas: the others, in an order in which each knows what it needs.
        entries: where q(joint, i) of formulas is among the numbers of the tree.
        owners: constraints that are thereby satisfied.
    """

    size: int
    kept: tuple[int, ...]
    formulas: tuple[tuple[int, sp.Expr], ...]
    entries: dict[tuple[str, int], int]
    owners: frozenset[str]

    @property
    def rheonomic(self) -> bool:
        return any(TIME in formula.free_symbols for _, formula in self.formulas)

    def expand(self, al: Algebra, mechanism: Mechanism, t: Any, q: np.ndarray) -> np.ndarray:
        """q_J = f(t, q), by the parameters of a mechanism and the branches that it chooses."""
        full = al.zeros(self.size)
        for value, i in zip(q, self.kept, strict=False):
            full[i] = value

        def lookup(atom: sp.Symbol | Reference) -> Any:
            if isinstance(atom, Reference):
                return full[self.entries[atom.element, atom.index]]
            return t if atom == TIME else mechanism.parameters[atom.name]

        for i, formula in self.formulas:
            full[i] = evaluate(al, formula, lookup, mechanism.chosen)
        return full


def find_elimination(full: GeneralizedCoordinates) -> Elimination | None:
    """What can be eliminated: explicit constraints, and drives of joints in the tree; not what can be switched off."""
    entries = _entries(full)
    found: dict[int, tuple[str, sp.Expr]] = {}
    driven: dict[int, tuple[str, sp.Expr]] = {}
    for name, (constraint, _) in full.flat.constraints.items():
        if name in full.flat.switches:
            continue
        for joint, i, formula in constraint.gives():
            if constraint.eliminates:
                found[_target(full, entries, found, name, joint, i)] = (name, formula)
            elif (joint, i) in entries:
                driven.setdefault(entries[joint, i], (name, formula))
    driven = {i: value for i, value in driven.items() if i not in found}
    if len(found) + len(driven) < full.nv:
        # With no coordinate left nothing could be integrated; then drives stay equations.
        found |= driven
    if not found:
        return None
    for name, formula in found.values():
        _check_references(full, entries, name, formula)
    kept = tuple(i for i in range(full.nv) if i not in found)
    return Elimination(full.nv, kept, _in_order(found, entries), entries, frozenset(name for name, _ in found.values()))


def _entries(full: GeneralizedCoordinates) -> dict[tuple[str, int], int]:
    """Where the coordinates of tree joints that are plain numbers stand."""
    entries: dict[tuple[str, int], int] = {}
    for slot in full.slots:
        assert slot.joint is not None
        how = rated(full.joint_at(slot))
        if how is None:
            entries |= {(slot.joint, i): slot.q.start + i for i in range(slot.q.stop - slot.q.start)}
        elif not how.is_free:
            for factor, here, own, _ in how.parts:
                if not isinstance(factor, Ball) and factor.nq:
                    entries[slot.joint, own.start] = slot.q.start + here.start
    return entries


def _target(full: GeneralizedCoordinates, entries: Any, found: Any, name: str, joint: str, i: int) -> int:
    title = f"constraint {name!r}"
    if joint in full.cut:
        raise ModelError(
            Problem(
                f"{title}: the coordinates of joint {joint!r} cannot be given, because it closes a loop",
                "constraints",
                "mark another joint of the loop with cut: true, or take a constraint of kind equation",
            )
        )
    at = entries[joint, i]
    if at in found:
        raise ModelError(
            Problem(f"{title}: joint {joint!r} is given by constraint {found[at][0]!r} too", "constraints")
        )
    return at


def _check_references(full: GeneralizedCoordinates, entries: Any, name: str, formula: sp.Expr) -> None:
    for ref in references(formula):
        if ref.element in full.cut:
            raise ModelError(
                Problem(
                    f"constraint {name!r}: refers to joint {ref.element!r}, which closes a loop; nothing follows from "
                    f"its coordinates",
                    "constraints",
                    "mark another joint of the loop with cut: true, or take a constraint of kind equation",
                )
            )
        if (ref.element, ref.index) not in entries:
            raise ModelError(
                Problem(
                    f"constraint {name!r}: q({ref.element}, {ref.index}) is part of a rotation, not an angle or length",
                    "constraints",
                )
            )


def _in_order(found: dict[int, tuple[str, sp.Expr]], entries: Any) -> tuple[tuple[int, sp.Expr], ...]:
    """Formulas so that each comes after those that it needs."""
    needs = {
        i: {entries[ref.element, ref.index] for ref in references(formula)} & set(found)
        for i, (_, formula) in found.items()
    }
    order: list[int] = []
    while len(order) < len(found):
        ready = [i for i in found if i not in order and needs[i] <= set(order)]
        if not ready:
            raise ModelError(_cycle(found, needs, order))
        order += ready
    return tuple((i, found[i][1]) for i in order)


def _cycle(found: dict[int, tuple[str, sp.Expr]], needs: dict[int, set[int]], done: list[int]) -> Problem:
    i = next(i for i in found if i not in done)
    line: list[int] = []
    while i not in line:
        line.append(i)
        i = next(k for k in sorted(needs[i]) if k not in done)
    names = [found[k][0] for k in [*line[line.index(i) :], i]]
    said = " → ".join(repr(name) for name in dict.fromkeys(names)) + f" → {names[0]!r}"
    return Problem(
        f"explicit constraints depend on each other in a circle: {said}", "constraints", "give one of them freely"
    )


class MappedStates(list[Any]):
    """Links in motion, with what the tree's numbers do: q, u, du of the tree; F and Ḟ where they are asked for."""

    def __init__(self, states: list[Any], placed: MappedKinematics, q: np.ndarray, u: np.ndarray, moved: Any):
        super().__init__(states)
        self._placed, self._q, self._u = placed, q, u
        self.q, self.u, self.du = moved

    @cached_property
    def F(self) -> np.ndarray:
        """∂q_J/∂q."""
        placed, still = self._placed, 0 * self._u
        return placed.al.columns(lambda e: placed.moved(self._q, e, still, 0)[1], len(self._u))

    @cached_property
    def F_dot(self) -> np.ndarray:
        """Ḟ e = ½ (B(u + e) − B(u) − B₀(e)),  B the accelerations for q̈ = 0, in B₀ time stands still."""
        placed, u, still = self._placed, self._u, 0 * self._u

        def bias(rates: np.ndarray, flow: int) -> np.ndarray:
            return placed.moved(self._q, rates, still, flow)[2]

        return placed.al.columns(lambda e: (bias(u + e, 1) - bias(u, 1) - bias(e, 0)) / 2, len(u))


class MappedKinematics(PlainKinematics):
    """A tree some of whose numbers follow from the others, at a time."""

    coordinates: GeneralizedCoordinates
    derives = True

    def __init__(self, coordinates: GeneralizedCoordinates, inner: GeneralizedKinematics, elimination: Elimination):
        super().__init__(coordinates, inner.mechanism)
        self.inner, self.elimination, self.t = inner, elimination, None
        self.links, self.index = inner.links, inner.index

    def at(self, t: Any) -> MappedKinematics:
        other = copy(self)
        other.t = t
        return other

    def _expand(self, al: Algebra, t: Any, q: np.ndarray) -> np.ndarray:
        return self.elimination.expand(al, self.mechanism, t, q)

    def moved(self, q: np.ndarray, u: np.ndarray, du: np.ndarray | None = None, flow: int = 1) -> tuple[Any, Any, Any]:
        """q_J, u_J, u̇_J; with ``flow`` 0 time stands still."""
        if self.t is None and self.elimination.rheonomic:
            raise DalembertError("some coordinates are given functions of time: say when, by at(t)")
        al, jets, n = self.al, Jets(self.al), len(self.elimination.kept)
        t = al.constant(0) if self.t is None else self.t
        time = jets.jets(al.vector([t]), al.vector([al.constant(flow)]), al.zeros(1))[0]
        moving = jets.jets(q[:n], u, al.zeros(n) if du is None else du)
        return jets.parts(self._expand(jets, time, moving))

    def states(self, q: np.ndarray, u: np.ndarray, du: np.ndarray | None = None, base: Any = None) -> MappedStates:
        moved = self.moved(q, u, du)
        return MappedStates(self.inner.states(*moved, base), self, q, u, moved)

    def mass_matrix(self, states: Any) -> np.ndarray:
        return states.F.T @ self.inner.mass_matrix(states) @ states.F

    def inverse_dynamics(self, states: Any, wrenches: list[np.ndarray]) -> np.ndarray:
        return states.F.T @ self.inner.inverse_dynamics(states, wrenches)

    def generalized_forces(self, states: Any, wrenches: list[np.ndarray]) -> np.ndarray:
        return states.F.T @ self.inner.generalized_forces(states, wrenches)

    def momentum_rates(self, states: Any, q: np.ndarray, u: np.ndarray, wrenches: list[np.ndarray]) -> np.ndarray:
        """Of  Fᵀ p_J:  Fᵀ ṗ_J + Ḟᵀ p_J,  p_J = M_J u_J; the momenta M q̇ themselves where f does not name t."""
        rates = self.inner.momentum_rates(states, states.q, states.u, wrenches)
        return states.F.T @ rates + states.F_dot.T @ (self.inner.mass_matrix(states) @ states.u)

    def inverse_derivatives(self, q: np.ndarray, u: np.ndarray, du: np.ndarray, base: Any) -> InverseDerivatives:
        """By the algebra's own derivatives: it must have symbols, and q and u must be some."""
        al, n = self.al, len(u)
        states = self.states(q, u, du, base)
        tau = self.inverse_dynamics(states, [al.zeros(6) for _ in self.links])
        by_q, by_u = (al.jacobian(tau, symbols) for symbols in (q[:n], u))
        return InverseDerivatives(by_q, by_u, self.mass_matrix(states))

    def kinetic_energy(self, states: Any, u: np.ndarray) -> Any:
        return self.inner.kinetic_energy(states, states.u)

    def rigid(self, al: Algebra, q: np.ndarray) -> list[tuple[str, list[Any]]]:
        """|Q|² = 1 of quaternions, none of whose numbers follow from others."""
        full = al.zeros(self.elimination.size)
        for value, i in zip(q, self.elimination.kept, strict=False):
            full[i] = value
        return self.inner.rigid(al, full)

    def derived(self, al: Algebra, t: Any, q: np.ndarray, u: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Joints that follow from others, wholly or in part, and those that the tree describes in another way."""
        if isinstance(al, Jets):
            q_J = self._expand(al, t, q)
            _, first, second = al.parts(q_J)
            u_J = al.jets(first, second, al.base.zeros(len(first)))
        else:
            q_J, u_J, _ = self.at(t).moved(q, u)
        found = self.inner.derived(al, t, q_J, u_J)
        for slot in self._missing:
            assert slot.joint is not None
            found[slot.joint] = q_J[slot.q], u_J[slot.u]
        return found

    @cached_property
    def _missing(self) -> list[Slot]:
        """Tree joints by their own coordinates, some of which follow from others."""
        known = self.coordinates.slot_of_joint
        return [slot for name, slot in self.inner.coordinates.slot_of_joint.items() if name not in known]

    def quasi_velocities(self, t: Any, q: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Names, Y and Z of  u = Y(t, q) q̇ + Z(t, q)."""
        from dalembert.coordinates.generalized_velocities import quasi_velocities

        return quasi_velocities(self.coordinates, self, t, q)

    def fill(self, q: np.ndarray, u: np.ndarray, body: Callable[[str], Any], joint: Callable[[str], Any]) -> None:
        kept = list(self.elimination.kept)
        full = self.inner.coordinates
        q_J, u_J = self.al.zeros(full.nq), self.al.zeros(full.nv)
        self.inner.fill(q_J, u_J, body, joint)
        q[: len(kept)], u[:] = q_J[kept], u_J[kept]
