"""Momenta of the tree and what changes them: one pass inward over the links.

Legend (link axes): P momentum of a link and of all links beyond it, F applied wrench on them, V twist, S subspace,
a armature.

Reference: D. S. Bae, Y. S. Won, "A Hamiltonian equation of motion for realtime vehicle simulation", ASME Adv. Des.
Autom. 2 (1990) 151-157; R. Featherstone, "Rigid Body Dynamics Algorithms", ch. 2.
"""

from __future__ import annotations

import numpy as np

from dalembert.spatial.pose import cross_motion
from dalembert.tree.link import Tree
from dalembert.tree.outward import LinkState

__all__ = ["momentum_rates"]


def momentum_rates(
    tree: Tree, states: list[LinkState], q: np.ndarray, u: np.ndarray, wrenches: list[np.ndarray]
) -> np.ndarray:
    """∂L/∂q + Q − τ, with ṗ = ∂L/∂q + Q of the momenta p = M u where no constraint acts; cost linear in bodies.

        p = Sᵀ P + a u,      ṗ = (Ṡ + V × S)ᵀ P + Sᵀ F + τ

    from  Ṗ + V ×* P = F + the wrench through the joint, of which the joint feels τ.  A rotor takes what turns its own
    momentum.

    Args:
        states: in motion, for u̇ = 0, gravity left out.
        wrenches: applied to each link, without gravity.
    """
    al, gravity = tree.al, tree.mechanism.gravity
    P = [link.inertia.apply(state.V_L) for link, state in zip(tree.links, states, strict=True)]
    F = [
        w + link.inertia.apply(al.concatenate([al.zeros(3), s.X_WL.R.T @ gravity]))
        for link, s, w in zip(tree.links, states, wrenches, strict=True)
    ]
    rates = al.zeros(tree.nv)
    for i in reversed(range(len(tree.links))):
        link, state = tree.links[i], states[i]
        if state.S.shape[1]:
            S_dot = link.joint.subspace_rate(al, q[link.q], u[link.u])
            turned = np.stack([cross_motion(state.V_L, column) for column in state.S.T], axis=1)
            rates[link.u] = rates[link.u] + (S_dot + turned).T @ P[i] + state.S.T @ F[i]
            if state.rotor is not None:
                rates[link.u] = rates[link.u] - state.rotor
        if link.parent >= 0:
            P[link.parent] = P[link.parent] + state.X_PL.force(P[i])
            F[link.parent] = F[link.parent] + state.X_PL.force(F[i])
    return rates
