"""Wrenches in the joints, from accelerations and multipliers.

Joints with equations of their own act through their multipliers. What passes through the others follows from the
balance of bodies: along the branches of a tree, or through what bodies share in natural coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert.algebra import Jets
from dalembert.coordinates import GeneralizedKinematics, MappedKinematics, NaturalKinematics, TreeKinematics
from dalembert.coordinates.moving import TreeMotion, moving
from dalembert.equations.mechanism_equations import part_of, residuals
from dalembert.errors import ModelError
from dalembert.spatial import Pose
from dalembert.spatial.so3 import cross
from dalembert.tree.outward import BodyState, pose_jets
from dalembert.tree.recursions import tip_wrenches

if TYPE_CHECKING:
    from dalembert.equations.mechanism_equations import Equations

__all__ = ["REACTIONS"]


def _of_tree(e: Equations, du: np.ndarray, multipliers: np.ndarray) -> dict[str, np.ndarray]:
    """Tree joints: from the balance of all bodies beyond them, less what springs, motors and drives exert along the
    joint's own freedom (see ``Joint.wrench``). Where coordinates follow from others, what makes them do so is such a
    drive, and all that acts along the freedom counts.
    """
    al, tree, q = e.al, e.tree, e.q
    mapped = isinstance(tree, MappedKinematics)
    if mapped:
        tree, q = tree.inner, cast(Any, e.states).q
    assert isinstance(tree, TreeKinematics)
    applied, motors = e.applied()
    constrained, drives = _constraint_forces(e, multipliers)
    wrenches, tau = [a + w for a, w in zip(applied, constrained, strict=True)], motors + drives
    reactions: dict[str, np.ndarray] = {}
    for name, F in _joint_wrenches(e, multipliers).items():
        placed = tree.mechanism.joint(name)
        X, _ = e.motion.relative(placed)
        reactions[name] = (e.motion.body(placed.second)[0] @ placed.X_2S).force(F)
        _act(e, wrenches, placed, X, F)
    _let_rotors_act(e, du, wrenches)
    states = e.tree.states(e.q, e.u, du, e.gravity)
    through = tip_wrenches(tree, states, wrenches)
    for slot, link, state, F in zip(tree.coordinates.slots, tree.links, states, through, strict=True):
        if slot.joint is None:
            continue
        if mapped:
            force = state.S.T @ F
        else:
            force = tau[link.u] if state.rotor is None else tau[link.u] - state.rotor
        own = link.joint.wrench(al, q[link.q], force) if link.joint.nv else al.zeros(6)
        on_child = state.X_WL.force(F - own)
        extra = reactions.get(slot.joint, al.zeros(6))
        reactions[slot.joint] = extra + (-on_child if slot.reversed else on_child)
    return {name: _about_joint(e, name, reactions.get(name, al.zeros(6))) for name in e.flat.joints}


def _act(e: Equations, wrenches: list[np.ndarray], placed: Any, X: Any, F: np.ndarray) -> None:
    """Add a wrench on the second frame of a joint, and its reaction, to those on links."""
    for body, wrench in ((placed.second, placed.X_2S.force(F)), (placed.first, -placed.X_1P.force(X.force(F)))):
        if body != "ground":
            i = e.tree.index[body]
            wrenches[i] = wrenches[i] + e.tree.links[i].X_LB.force(wrench)


def _let_rotors_act(e: Equations, du: np.ndarray, wrenches: list[np.ndarray]) -> None:
    """Add what armatures of joints outside the tree do to links."""
    for placed, _, force in e.cut_rotors.loads(du):
        X, _ = e.motion.relative(placed)
        _act(e, wrenches, placed, X, placed.joint.wrench(e.al, placed.joint.coordinates(e.al, X), -force))


def _about_joint(e: Equations, name: str, wrench: np.ndarray) -> np.ndarray:
    """A world wrench moved from the world origin to the joint's point on its second body."""
    placed = e.tree.mechanism.joint(name)
    point = (e.motion.body(placed.second)[0] @ placed.X_2S).p
    return e.al.concatenate([wrench[:3] - cross(point, wrench[3:]), wrench[3:]])


def _joint_wrenches(e: Equations, multipliers: np.ndarray) -> dict[str, np.ndarray]:
    """What each joint with equations does to its second frame, in that frame:  F = Gᵀλ,  φ̈ = G A + …"""
    al, jets = e.al, Jets(e.al)
    found: dict[str, np.ndarray] = {}
    for name in e.flat.joints:
        rows = zip(multipliers, e.rows, strict=True)
        mine = [(m, row) for m, row in rows if row.owner == name and not row.rigid]
        if not mine:
            continue
        placed = e.tree.mechanism.joint(name)
        joint, (X, _) = placed.joint, e.motion.relative(placed)
        holonomic = any(row.holonomic for _, row in mine)

        def power(A: np.ndarray, joint: Any = joint, X: Any = X, mine: Any = mine, holonomic: bool = holonomic) -> Any:
            moved = pose_jets(jets, X, al.zeros(6), A)
            q = joint.coordinates(jets, moved) if joint.measured else None
            rates = [part_of(v, "a") for v in joint.position(jets, moved, q)] if holonomic else []
            rates += joint.velocity(al, X, A)
            return al.array([sum((m * rates[row.index] for m, row in mine), al.constant(0))])

        found[name] = al.columns(power, 6)[0]
    return found


def _weighted(e: Equations, moved: TreeMotion, multipliers: np.ndarray, mine: set[int]) -> Any:
    """λᵀφ̈ (λᵀψ̇) of some rows."""
    parts = [
        m * part_of(value, "a" if row.holonomic else "v")
        for i, (m, (value, row)) in enumerate(zip(multipliers, residuals(moved), strict=True))
        if i in mine
    ]
    return sum(parts, e.al.constant(0))


def _gradient(e: Equations, function: Callable[[np.ndarray], Any], n: int) -> np.ndarray:
    """The gradient of an affine function of n numbers."""
    offset = function(e.al.zeros(n))
    return e.al.columns(lambda x: e.al.array([function(x) - offset]), n)[0]


def _constraint_forces(e: Equations, multipliers: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """What constraints do to bodies and to tree coordinates: the gradient of λᵀφ̈ by their accelerations.

    What they do to tree coordinates directly is part of the joint's own motion, like a motor.
    """
    al, tree, n = e.al, e.tree, 6 * len(e.tree.links)
    mine = {i for i, row in enumerate(e.rows) if row.owner in e.flat.constraints}
    if not mine:
        return [al.zeros(6) for _ in tree.links], al.zeros(e.nv)

    def weighted(x: np.ndarray) -> Any:
        rates = [link.X_LB.motion_inverse(x[6 * i : 6 * i + 6]) for i, link in enumerate(tree.links)]
        states = [BodyState(s.X_WB, s.V, A) for s, A in zip(e.states, rates, strict=True)]
        return _weighted(e, moving(tree, e.t, e.q, e.u, x[n:], states), multipliers, mine)

    gradient = _gradient(e, weighted, n + e.nv)
    return [gradient[6 * i : 6 * i + 6] for i in range(len(tree.links))], gradient[n:]


def _of_natural(e: Equations, du: np.ndarray, multipliers: np.ndarray) -> dict[str, np.ndarray]:
    """Joints pass forces on the points and vectors that their bodies share: what each body lacks in its balance."""
    tree = e.tree
    assert isinstance(tree, NaturalKinematics)
    if any(cluster.level is not None for cluster in tree.clusters):
        raise ModelError(
            "planar natural coordinates have no equations across the plane, so that reactions are not determined "
            "there.  Fix: coordinates='natural', which has them, or any other kind"
        )
    states, (applied, _) = tree.states(e.q, e.u, du, e.gravity), e.applied()
    rigid = [m for m, row in zip(multipliers, e.rows, strict=True) if row.rigid]
    wrenches = _joint_wrenches(e, multipliers)
    for name, (n, f) in tree.passed(states, applied, _on_clusters(e, tree, du, multipliers), rigid, e.q).items():
        R = _second_frame(e, name).R
        wrenches[name] = wrenches.get(name, e.al.zeros(6)) + e.al.concatenate([R.T @ n, R.T @ f])
    wrenches |= _through_welds(e, tree, du, multipliers, states, wrenches)
    reactions: dict[str, np.ndarray] = {}
    for name in e.flat.joints:
        R, F = _second_frame(e, name).R, wrenches.get(name, e.al.zeros(6))
        reactions[name] = e.al.concatenate([R @ F[:3], R @ F[3:]])
    return reactions


def _second_frame(e: Equations, name: str) -> Pose:
    """World pose of the second frame of a joint."""
    placed = e.tree.mechanism.joint(name)
    return e.motion.body(placed.second)[0] @ placed.X_2S


def _on_clusters(e: Equations, tree: NaturalKinematics, du: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """What joints, constraints and rotors do to (R, p) of the clusters: the gradient of λᵀφ̈ by R̈ and p̈."""
    others = {i for i, row in enumerate(e.rows) if not row.rigid}
    rotors, n = e.cut_rotors.loads(du), 12 * len(tree.clusters)

    def weighted(x: np.ndarray) -> Any:
        moved = moving(tree, e.t, e.q, e.u, du, tree.accelerated(e.states, x))
        value = _weighted(e, moved, multipliers, others)
        for placed, _, force in rotors:
            value = value - force @ cast(Any, moved.al).parts(moved.joint(placed.name)[1])[1]
        return value

    return _gradient(e, weighted, n) if others or rotors else e.al.zeros(n)


def _through_welds(
    e: Equations,
    tree: NaturalKinematics,
    du: np.ndarray,
    multipliers: np.ndarray,
    states: list[Any],
    joints: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Welds inside a cluster: the balance of all bodies beyond them, given the wrenches in all other joints."""
    welds = [weld for cluster in tree.clusters for weld in cluster.welds]
    if not welds:
        return {}
    al, motion, mechanism = e.al, e.motion, e.tree.mechanism
    applied, constrained = e.applied()[0], _constraint_forces(e, multipliers)[0]
    wrenches = [a + c for a, c in zip(applied, constrained, strict=True)]
    for name, F in joints.items():
        placed = mechanism.joint(name)
        _act(e, wrenches, placed, motion.relative(placed)[0], F)
    _let_rotors_act(e, du, wrenches)
    beyond = {"ground": al.zeros(6)}
    for link, s, w in zip(tree.links, states, wrenches, strict=True):
        beyond[link.body] = link.inertia.apply(s.A) + link.inertia.bias(s.V) - w
    found: dict[str, np.ndarray] = {}
    for weld in reversed(welds):
        placed, F = mechanism.joint(weld.joint), beyond[weld.body]
        X = motion.body(weld.parent)[0].inverse() @ motion.body(weld.body)[0]
        beyond[weld.parent] = beyond[weld.parent] + X.force(F)
        found[weld.joint] = placed.X_2S.force_inverse(-X.force(F) if weld.reversed else F)
    return found


REACTIONS: dict[type, Callable[[Any, np.ndarray, np.ndarray], dict[str, np.ndarray]]] = {
    TreeKinematics: _of_tree,
    GeneralizedKinematics: _of_tree,
    MappedKinematics: _of_tree,
    NaturalKinematics: _of_natural,
}
