"""Recursive dynamics of the tree: passes outward and inward over the links.

Legend: I inertia, F wrench on a link from its parent's side, S subspace, τ joint forces; link axes throughout.

Reference: R. Featherstone, "Rigid Body Dynamics Algorithms", ch. 5-7; D. S. Bae, E. J. Haug, parts I and II.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import Algebra
from dalembert.algebra.dense_solve import solve_spd
from dalembert.spatial import ArticulatedInertia
from dalembert.tree.link import Tree
from dalembert.tree.outward import LinkState, outward

__all__ = [
    "Eliminated", "articulated", "forward_dynamics", "generalized_forces", "gravity_base", "inverse_dynamics",
    "mass_matrix", "response", "step_back", "step_inward", "tip_wrenches",
]  # fmt: skip


def gravity_base(al: Algebra, gravity: np.ndarray) -> np.ndarray:
    """The upward acceleration of the ground that stands for gravity."""
    return al.concatenate([al.zeros(3), -gravity])


def inverse_dynamics(tree: Tree, states: list[LinkState], wrenches: list[np.ndarray]) -> np.ndarray:
    """τ = M u̇ + h − Q (recursive Newton-Euler).

    ``states`` carry the accelerations, gravity included (see ``gravity_base``); ``wrenches`` act on each link.
    """
    tau = tree.al.zeros(tree.nv)
    for link, state, F in zip(tree.links, states, tip_wrenches(tree, states, wrenches), strict=True):
        if state.S.shape[1]:
            tau[link.u] = state.S.T @ F if state.rotor is None else state.S.T @ F + state.rotor
    return tau


def tip_wrenches(tree: Tree, states: list[LinkState], wrenches: list[np.ndarray]) -> list[np.ndarray]:
    """The wrench on each link through its tree joint:  F = I A + V ×* I V − F_ext + Σ F of its children."""
    F = [
        link.inertia.apply(s.A_L) + link.inertia.bias(s.V_L) - w
        for link, s, w in zip(tree.links, states, wrenches, strict=True)
    ]
    return _summed(tree, states, F)


def generalized_forces(tree: Tree, states: list[LinkState], wrenches: list[np.ndarray]) -> np.ndarray:
    """Forces on all velocities that do the work of wrenches on the links."""
    Q = tree.al.zeros(tree.nv)
    for link, state, F in zip(tree.links, states, _summed(tree, states, list(wrenches)), strict=True):
        if state.S.shape[1]:
            Q[link.u] = state.S.T @ F
    return Q


def _summed(tree: Tree, states: list[LinkState], F: list[np.ndarray]) -> list[np.ndarray]:
    """Wrenches on links together with those on all links beyond them."""
    for i in reversed(range(len(tree.links))):
        parent = tree.links[i].parent
        if parent >= 0:
            F[parent] = F[parent] + states[i].X_PL.force(F[i])
    return F


def mass_matrix(tree: Tree, states: list[LinkState]) -> np.ndarray:
    """M(q) by composite bodies:  M_ii = Sᵀ I_c S + a 1,  M_ji = S_jᵀ F."""
    al = tree.al
    M = al.zeros(tree.nv, tree.nv)
    composite = [link.inertia for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link, state = tree.links[i], states[i]
        if link.parent >= 0:
            composite[link.parent] = composite[link.parent] + composite[i].moved(al, state.X_PL)
        if not state.S.shape[1]:
            continue
        F = np.stack([composite[i].apply(column) for column in state.S.T], axis=1)
        M[link.u, link.u] = state.S.T @ F
        if link.armature is not None:
            M[link.u, link.u] = M[link.u, link.u] + link.armature * al.eye(state.S.shape[1])
        j = i
        while tree.links[j].parent >= 0:
            F = np.stack([states[j].X_PL.force(column) for column in F.T], axis=1)
            j = tree.links[j].parent
            if states[j].S.shape[1]:
                block = states[j].S.T @ F
                M[tree.links[j].u, link.u] = block
                M[link.u, tree.links[j].u] = block.T
    return M


def forward_dynamics(
    tree: Tree, q: np.ndarray, u: np.ndarray, tau: np.ndarray, wrenches: list[np.ndarray], base: Any
) -> np.ndarray:
    """u̇ of a tree by articulated bodies, which is the recursive elimination of Bae and Haug; cost linear in bodies.

        inward:   U = I S,  D = Sᵀ U,  e = τ − Sᵀ p,   I_P += X* (I − U D⁻¹ Uᵀ) X,   p_P += X* (p + I_a c + U D⁻¹ e)
        outward:  u̇ = D⁻¹ (e − Uᵀ A'),   A = A' + S u̇

    An armature a adds a 1 to D and takes its gyroscopic part from τ.
    """
    states = outward(tree, q, u)
    return _back(tree, states, articulated(tree, states, tau, wrenches), base)


class Eliminated(NamedTuple):
    """A joint whose velocities are eliminated: U, D, D⁻¹Uᵀ and D⁻¹e."""

    U: np.ndarray
    D: np.ndarray
    W: np.ndarray
    e: np.ndarray


def articulated(tree: Tree, states: list[LinkState], tau: np.ndarray, wrenches: list[np.ndarray]) -> list[Eliminated]:
    """The inward pass of ``forward_dynamics``: all joints eliminated, from the tips to the ground."""
    al = tree.al
    I = [ArticulatedInertia.from_rigid(al, link.inertia) for link in tree.links]
    p = [link.inertia.bias(s.V_L) - w for link, s, w in zip(tree.links, states, wrenches, strict=True)]
    joints: list[Any] = [None] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        joints[i], I_up, p_up = step_inward(al, states[i], I[i], p[i], tau[link.u])
        if link.parent >= 0:
            I[link.parent], p[link.parent] = I[link.parent] + I_up, p[link.parent] + p_up
    return joints


def response(tree: Tree, states: list[LinkState], joints: list[Eliminated], Q: np.ndarray) -> np.ndarray:
    """M⁻¹ Q, with the joints eliminated before; only links between a force and the ground, and those beyond, move."""
    al = tree.al
    p: list[Any] = [None] * len(tree.links)
    moved: list[Any] = [None] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        link, state, joint = tree.links[i], states[i], joints[i]
        pushed = bool(np.any(Q[link.u] != 0))
        if p[i] is None and not pushed:
            continue
        p_i = al.zeros(6) if p[i] is None else p[i]
        if len(joint.e):
            e = solve_spd(al, joint.D, Q[link.u] - state.S.T @ p_i)
            p_i, moved[i] = p_i + joint.U @ e, e
        if link.parent >= 0:
            up = state.X_PL.force(p_i)
            p[link.parent] = up if p[link.parent] is None else p[link.parent] + up
    resting = [state.at_rest(al) for state in states]
    joints = [
        joint._replace(e=al.zeros(len(joint.e)) if e is None else e) for joint, e in zip(joints, moved, strict=True)
    ]
    return _back(tree, resting, joints, al.zeros(6))


def _back(tree: Tree, states: list[LinkState], joints: list[Eliminated], base: Any) -> np.ndarray:
    """The last pass outward: u̇ of all joints."""
    du = tree.al.zeros(tree.nv)
    A: list[np.ndarray] = []
    for link, state, joint in zip(tree.links, states, joints, strict=True):
        du[link.u], acceleration = step_back(state, joint, base if link.parent < 0 else A[link.parent])
        A.append(acceleration)
    return du


def step_inward(
    al: Algebra, state: LinkState, I: ArticulatedInertia, p: np.ndarray, tau: np.ndarray
) -> tuple[Eliminated, ArticulatedInertia, np.ndarray]:
    """One link as its parent feels it: its joint eliminated, and inertia and bias wrench in the parent's frame."""
    S = state.S
    if S.shape[1]:
        U = np.stack([I.apply(column) for column in S.T], axis=1)
        D = S.T @ U
        if state.armature is not None:
            D, tau = D + state.armature * al.eye(S.shape[1]), tau - state.rotor
        joint = Eliminated(U, D, solve_spd(al, D, U.T), solve_spd(al, D, tau - S.T @ p))
        I, p = I.without(U, joint.W), p + U @ joint.e
    else:
        joint = Eliminated(al.zeros(6, 0), al.zeros(0, 0), al.zeros(0, 6), al.zeros(0))
    return joint, I.moved(al, state.X_PL), state.X_PL.force(p + I.apply(state.c))


def step_back(state: LinkState, joint: Eliminated, A_P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u̇ and the acceleration of one link from its parent's:  u̇ = D⁻¹e − D⁻¹Uᵀ A'."""
    A = state.X_PL.motion_inverse(A_P) + state.c
    if not len(joint.e):
        return joint.e, A
    du = joint.e - joint.W @ A
    return du, A + state.S @ du
