"""Closed forms from joint screws, with the closure of cut joints written in the same screws."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.coordinates import TreeKinematics
from dalembert.equations import BlockEquations, Equations, mechanism_of
from dalembert.formulations.base import BlockFormulation, Support, usual_blocks
from dalembert.joints import Joint
from dalembert.model.mechanism import PlacedJoint
from dalembert.spatial import Pose
from dalembert.spatial.pose import cross_motion
from dalembert.tree.outward import pose_jets
from dalembert.tree.product_of_exponentials import LieGroupTree

__all__ = ["LieGroup", "closure_rates"]


class LieGroup(BlockFormulation):
    """Lagrange's equations of the tree in closed form, from products of exponentials of its joint screws:

        G(q) u̇ + C(q, u) u + g(q) = Q + Aᵀλ,      A u̇ + γ = 0

    G = Σ Kᵀ J K, and C are the Christoffel symbols, brackets of the columns K of the Jacobian. A cut joint closes its
    loop by the components of its relative pose that must vanish; the rates of these are rows P of its relative twist:

        V_α = Σ L_a u_a,     L_a = Ad(S)⁻¹ (K_a of the second body − Ad(…) K_a of the first),     A = P L

    with the same brackets for L̇. Solved with the null space of A, as with multipliers.

    Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
    Strojarstvo 51 (2009) 597-612, secs. 2-4, tables 1 and 2.
    """

    name: ClassVar[str] = "lie-group"
    title: ClassVar[str] = "Lie group, joint screws"

    @classmethod
    def supports(cls) -> Support:
        return replace(super().supports(), coordinates=("relative",))

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        e = mechanism_of(equations, self.name)
        assert isinstance(e.tree, TreeKinematics)
        lie = LieGroupTree.from_tree(e.tree)
        return usual_blocks(e, *_dynamics(e, lie), *_constraints(e, lie))


def _dynamics(e: Equations, lie: LieGroupTree) -> tuple[np.ndarray, np.ndarray]:
    """G and Q − C u − g; armatures are masses on the velocities of their joints."""
    wrenches, f = e.applied()
    on_bodies = [link.X_LB.force_inverse(wrench) for link, wrench in zip(e.tree.links, wrenches, strict=True)]
    M = lie.mass_matrix(e.q)
    f = f + lie.generalized_forces(e.q, on_bodies) - lie.coriolis(e.q, e.u) @ e.u - lie.gravity_forces(e.q)
    for link, state in zip(e.tree.links, e.states, strict=True):
        if link.armature is not None and state.rotor is not None:
            f[link.u] = f[link.u] - state.rotor
            M[link.u, link.u] = M[link.u, link.u] + link.armature * e.al.eye(link.joint.nv)
    return e.cut_rotors.added_to(M), f - e.cut_rotors.forces(None)


def _constraints(e: Equations, lie: LieGroupTree) -> tuple[np.ndarray, np.ndarray]:
    """A and γ: first the cut joints, by their relative twists; then all else, by the twists of the bodies."""
    al, tree = e.al, e.tree
    if not e.rows:
        return al.zeros(0, e.nv), al.zeros(0)
    bodies = _Bodies(e, lie)
    rows: list[np.ndarray] = []
    rest: list[np.ndarray] = []
    for name in tree.coordinates.cut:
        A, gamma = _closure(e, bodies, tree.mechanism.joint(name))
        rows.append(A)
        rest.append(gamma)
    done = sum(len(gamma) for gamma in rest)
    if done < len(e.rows):
        J, c = (part[done:] for part in e.acceleration_by_bodies())
        A = J[:, 6 * len(tree.links) :]
        for k, link in enumerate(tree.links):
            _, K, _, rate = bodies[link.body]
            of_body = J[:, 6 * k : 6 * k + 6] @ link.X_LB.adjoint(al)
            A, c = A + of_body @ K, c + of_body @ rate
        rows.append(A)
        rest.append(c)
    return np.concatenate(rows), np.concatenate(rest)


class _Bodies:
    """Pose, K (6 × nv), twist K u and K̇ u of each body, by name; those of the ground vanish."""

    def __init__(self, e: Equations, lie: LieGroupTree):
        self._al, self._nv = e.al, e.nv
        K, rate = lie.jacobian(e.q), lie.jacobian_rate(e.q, e.u) @ e.u
        self._index = {name: k for k, name in enumerate(lie.names)}
        self._poses, self._K, self._V, self._rate = lie.poses(e.q), K, K @ e.u, rate

    def __getitem__(self, name: str) -> tuple[Pose, np.ndarray, np.ndarray, np.ndarray]:
        al = self._al
        if name == "ground":
            return Pose.identity(al), al.zeros(6, self._nv), al.zeros(6), al.zeros(6)
        k = self._index[name]
        at = slice(6 * k, 6 * k + 6)
        return self._poses[k], self._K[at], self._V[at], self._rate[at]


def _closure(e: Equations, bodies: _Bodies, placed: PlacedJoint) -> tuple[np.ndarray, np.ndarray]:
    """Rows P L and P (L̇ u) + … of a cut joint.

    With the twist V of the second frame against the first, in its own axes, and V_1 that of the first there:
    d/dt Ad(X)⁻¹ = −[V, Ad(X)⁻¹ ·], so that  L̇ u = V̇_2 − V̇_1 + [V, V_1].
    """
    al, joint = e.al, placed.joint
    X_1, K_1, V_1, A_1 = bodies[placed.first]
    X_2, K_2, V_2, A_2 = bodies[placed.second]
    X = (X_1 @ placed.X_1P).inverse() @ (X_2 @ placed.X_2S)
    first = (placed.X_1P @ X).inverse().adjoint(al)
    second = placed.X_2S.inverse().adjoint(al)
    L = second @ K_2 - first @ K_1
    carried = first @ V_1
    V = second @ V_2 - carried
    rate = second @ A_2 - first @ A_1 + cross_motion(V, carried)

    # Where the loop is closed P spans the same rows as the selectors of table 2.
    P = al.columns(lambda A: closure_rates(al, joint, X, al.zeros(6), A), 6)
    return P @ L, closure_rates(al, joint, X, V, rate)


def closure_rates(al: Algebra, joint: Joint, X: Pose, V: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Second derivatives of the components of a relative pose that must vanish (table 1), for a twist and its rate."""
    jets = Jets(al)
    moved = pose_jets(jets, X, V, A)
    q = joint.coordinates(jets, moved) if joint.measured else None  # whole turns have no rates
    return al.array([getattr(value, "a", 0.0) for value in joint.position(jets, moved, q)])
