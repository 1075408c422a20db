"""Armatures of cut joints act along the joint's own velocities u_J = B(q) u; recursions know those of the tree."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.algebra import Jets
from dalembert.coordinates.moving import moving
from dalembert.model.mechanism import PlacedJoint

if TYPE_CHECKING:
    from dalembert.equations.mechanism_equations import Equations

__all__ = ["CutRotors"]


class Rotor(NamedTuple):
    """A joint outside the tree, its armature a, and B and Ḃ u of its velocities."""

    placed: PlacedJoint
    armature: Any
    B: np.ndarray
    bias: np.ndarray


class CutRotors:
    """All joints outside the tree that have an armature, of a mechanism at one instant."""

    def __init__(self, equations: Equations):
        self.equations, self.al = equations, equations.al

    @cached_property
    def armatures(self) -> list[tuple[str, Any]]:
        """Joints by name, with their armatures."""
        tree = self.equations.tree
        names = [name for name in self.equations.flat.joints if name not in tree.coordinates.slot_of_joint]
        armatures = [(name, tree.mechanism.armature(name)) for name in names]
        return [(name, a) for name, a in armatures if a is not None]

    @cached_property
    def rotors(self) -> list[Rotor]:
        found: list[Rotor] = []
        for name, a in self.armatures:
            bias = self._acceleration(name, self.al.zeros(self.equations.nv))
            B = self.al.columns(lambda du, n=name, b=bias: self._acceleration(n, du) - b, self.equations.nv)
            found.append(Rotor(self.equations.tree.mechanism.joint(name), a, B, bias))
        return found

    def _acceleration(self, name: str, du: np.ndarray) -> np.ndarray:
        """u̇_J = B u̇ + Ḃ u."""
        e = self.equations
        moved = moving(e.tree, e.t, e.q, e.u, du, e.tree.states(e.q, e.u, du))
        return Jets(self.al).parts(moved.joint(name)[1])[1]

    def added_to(self, M: np.ndarray) -> np.ndarray:
        """The mass matrix of the tree with these armatures."""
        for rotor in self.rotors:
            M = M + rotor.armature * (rotor.B.T @ rotor.B)
        return M

    def kinetic_energy(self, energy: Any) -> Any:
        """That of the tree with ½ a uᵀu of these armatures."""
        for name, a in self.armatures:
            u_J = self.equations.motion.joint(name)[1]
            energy = energy + a * (u_J @ u_J) / 2
        return energy

    def momentum_rate(self, rate: np.ndarray) -> np.ndarray:
        """∂L/∂q + Q of the tree with what these armatures add."""
        e = self.equations
        for placed, a, B, _ in self.rotors:
            u_J = B @ e.u
            rest = placed.joint.rotor_rate(self.al, u_J, self.al.zeros(len(u_J)))
            rate = rate + a * (e.along(B).T @ u_J - B.T @ rest)
        return rate

    def loads(self, du: np.ndarray | None) -> list[tuple[PlacedJoint, np.ndarray, np.ndarray]]:
        """Joint, B and the joint force that its armature takes; for u̇ = 0 if that is left out."""
        loads: list[tuple[PlacedJoint, np.ndarray, np.ndarray]] = []
        for placed, a, B, bias in self.rotors:
            rate = bias if du is None else B @ du + bias
            loads.append((placed, B, a * placed.joint.rotor_rate(self.al, B @ self.equations.u, rate)))
        return loads

    def forces(self, du: np.ndarray | None) -> np.ndarray:
        """What these armatures take from all velocities."""
        return sum((B.T @ force for _, B, force in self.loads(du)), self.al.zeros(self.equations.nv))

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Armatures a as rows that yield:  B u̇ + β + μ/a = 0  with the forces Bᵀμ;  gives B, β, 1/a."""
        al = self.al
        rows: list[tuple[np.ndarray, Any, Any]] = []
        for placed, a, B, bias in self.rotors:
            rate = placed.joint.rotor_rate(al, B @ self.equations.u, bias)
            rows += [(B[i], rate[i], 1 / a) for i in range(len(B))]
        if not rows:
            return al.zeros(0, self.equations.nv), al.zeros(0), al.zeros(0)
        B, beta, yielding = zip(*rows, strict=True)
        return np.stack(B), al.array(list(beta)), al.array(list(yielding))
