"""Recursive dynamics of the tree: passes outward and inward over the links.

Legend: I inertia, F wrench on a link from its parent's side, S subspace, τ joint forces; link axes throughout.

Reference: R. Featherstone, "Rigid Body Dynamics Algorithms", ch. 5-7; D. S. Bae, E. J. Haug, parts I and II.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.algebra.linear import solve_spd
from dalembert.coordinates.base import PlacedTree
from dalembert.coordinates.kinematics import LinkState, outward
from dalembert.spatial import ArticulatedInertia

__all__ = ["forward_dynamics", "gravity_base", "inverse_dynamics", "mass_matrix", "tip_wrenches"]


def gravity_base(al: Algebra, gravity: np.ndarray) -> np.ndarray:
    """The upward acceleration of the ground that stands for gravity."""
    return al.concatenate([al.zeros(3), -gravity])


def inverse_dynamics(tree: PlacedTree, states: list[LinkState], wrenches: list[np.ndarray]) -> np.ndarray:
    """τ = M u̇ + h − Q (recursive Newton-Euler).

    ``states`` carry the accelerations, gravity included (see ``gravity_base``); ``wrenches`` act on each link.
    """
    tau = tree.al.zeros(tree.coordinates.nv)
    for link, state, F in zip(tree.links, states, tip_wrenches(tree, states, wrenches), strict=True):
        if state.S.shape[1]:
            tau[link.u] = state.S.T @ F
    return tau


def tip_wrenches(tree: PlacedTree, states: list[LinkState], wrenches: list[np.ndarray]) -> list[np.ndarray]:
    """The wrench on each link through its tree joint:  F = I A + V ×* I V − F_ext + Σ F of its children."""
    F = [
        link.inertia.apply(s.A_L) + link.inertia.bias(s.V_L) - w
        for link, s, w in zip(tree.links, states, wrenches, strict=True)
    ]
    for i in reversed(range(len(tree.links))):
        parent = tree.links[i].parent
        if parent >= 0:
            F[parent] = F[parent] + states[i].X_PL.force(F[i])
    return F


def mass_matrix(tree: PlacedTree, states: list[LinkState]) -> np.ndarray:
    """M(q) by composite bodies:  M_ii = Sᵀ I_c S,  M_ji = S_jᵀ F."""
    al = tree.al
    M = al.zeros(tree.coordinates.nv, tree.coordinates.nv)
    composite = [link.inertia for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link, state = tree.links[i], states[i]
        if link.parent >= 0:
            composite[link.parent] = composite[link.parent] + composite[i].moved(al, state.X_PL)
        if not state.S.shape[1]:
            continue
        F = np.stack([composite[i].apply(column) for column in state.S.T], axis=1)
        M[link.u, link.u] = state.S.T @ F
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
    tree: PlacedTree, q: np.ndarray, u: np.ndarray, tau: np.ndarray, wrenches: list[np.ndarray], base: Any
) -> np.ndarray:
    """u̇ of a tree by articulated bodies, which is the recursive elimination of Bae and Haug; cost linear in bodies.

        inward:   U = I S,  D = Sᵀ U,  e = τ − Sᵀ p,   I_P += X* (I − U D⁻¹ Uᵀ) X,   p_P += X* (p + I_a c + U D⁻¹ e)
        outward:  u̇ = D⁻¹ (e − Uᵀ A'),   A = A' + S u̇
    """
    al = tree.al
    states = outward(tree, q, u)
    n = len(tree.links)
    I = [ArticulatedInertia.from_rigid(al, link.inertia) for link in tree.links]
    p = [link.inertia.bias(s.V_L) - w for link, s, w in zip(tree.links, states, wrenches, strict=True)]
    D_U: list[Any] = [None] * n
    D_e: list[Any] = [None] * n
    for i in reversed(range(n)):
        link, state = tree.links[i], states[i]
        I_a, p_a = I[i], p[i]
        if state.S.shape[1]:
            U = np.stack([I[i].apply(column) for column in state.S.T], axis=1)
            D = state.S.T @ U
            e = tau[link.u] - state.S.T @ p[i]
            D_U[i], D_e[i] = solve_spd(al, D, U.T), solve_spd(al, D, e)
            I_a = I[i].without(U, D_U[i])
            p_a = p[i] + U @ D_e[i]
        if link.parent >= 0:
            p_a = p_a + I_a.apply(state.c)
            I[link.parent] = I[link.parent] + I_a.moved(al, state.X_PL)
            p[link.parent] = p[link.parent] + state.X_PL.force(p_a)
    du, A = al.zeros(tree.coordinates.nv), []
    for i, link in enumerate(tree.links):
        A_P = base if link.parent < 0 else A[link.parent]
        a = states[i].X_PL.motion_inverse(A_P) + states[i].c
        if states[i].S.shape[1]:
            du[link.u] = D_e[i] - D_U[i] @ a
            a = a + states[i].S @ du[link.u]
        A.append(a)
    return du
