"""Derivatives of inverse and forward dynamics of a tree in closed form: cost (number of joints) × (depth of the tree).

Derivatives with respect to q are taken in the tangent space: d τ(q ⊕ δ)/dδ at δ = 0, ⊕ the joints' ``integrate``; so they
have nv columns, quaternions or not.

Reference: S. Singh, R. P. Russell, P. M. Wensing, "Efficient Analytical Derivatives of Rigid-Body Dynamics using Spatial
Vector Algebra", IEEE RA-L 7 (2022); J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms",
RSS (2018). Equations: docs/theory/derivatives.md. Legend: see ``derivative_terms``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.coordinates.base import PlacedTree
from dalembert.coordinates.derivative_factors import TreeFactors
from dalembert.coordinates.derivative_terms import TreeInMotion

__all__ = [
    "ForwardDerivatives",
    "InverseDerivatives",
    "Load",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
    "mass_matrix_inverse",
]

# A column of M⁻¹ ∂τ by factors takes about 2 (mean number of ancestors) products for each entry, by the rank of ∂τ
# about 22; measured in compiled kernels of chains the two meet at this mean.
MANY_ANCESTORS = 8


class InverseDerivatives(NamedTuple):
    """∂τ/∂q (tangent), ∂τ/∂u and ∂τ/∂u̇ = M, each nv × nv: row, who feels it; column, who moves."""

    dtau_dq: np.ndarray
    dtau_du: np.ndarray
    dtau_ddu: np.ndarray


class ForwardDerivatives(NamedTuple):
    """u̇ and ∂u̇/∂q (tangent), ∂u̇/∂u, ∂u̇/∂τ = M⁻¹."""

    du: np.ndarray
    ddu_dq: np.ndarray
    ddu_du: np.ndarray
    ddu_dtau: np.ndarray


class Load(NamedTuple):
    """Forces Q(q, u) on all velocities that springs and the like exert, and their derivatives (∂/∂q tangent)."""

    Q: np.ndarray
    Q_q: np.ndarray
    Q_u: np.ndarray


def inverse_dynamics_derivatives(
    tree: PlacedTree, q: np.ndarray, u: np.ndarray, du: np.ndarray, base: np.ndarray
) -> InverseDerivatives:
    """∂τ/∂q (tangent), ∂τ/∂u and ∂τ/∂u̇ of  τ = M u̇ + h.

    Blocks between bodies on different branches are exact zeros.

    Args:
        du: u̇.
        base: acceleration of the ground (see ``recursions.gravity_base``).

    Equivalent to: automatic differentiation of ``recursions.inverse_dynamics`` (tests/agreement/test_derivatives.py).
    Reference: docs/theory/derivatives.md, eqs. (13.8)-(13.15).
    """
    motion = TreeInMotion(tree, q, u, base)
    return InverseDerivatives(*_products(motion, du), motion.mass_matrix())


def forward_dynamics_derivatives(
    tree: PlacedTree, q: np.ndarray, u: np.ndarray, tau: np.ndarray, base: np.ndarray, load: Load | None = None
) -> ForwardDerivatives:
    """u̇ and its derivatives, of  M u̇ + h = τ + Q,  by those of inverse dynamics:

        ∂u̇/∂q = −M⁻¹ (∂τ/∂q − ∂Q/∂q),   ∂u̇/∂u = −M⁻¹ (∂τ/∂u − ∂Q/∂u),   ∂u̇/∂τ = M⁻¹

    M must be positive definite: every body that moves alone has mass.

    Reference: docs/theory/derivatives.md, eqs. (13.16)-(13.20).
    """
    motion = TreeInMotion(tree, q, u, base)
    factors = TreeFactors.of(tree, motion.mass_matrix())
    Q = tau if load is None else tau + load.Q
    du = factors.solve(Q - motion.forces(tree.al.zeros(len(u))))
    inverse = factors.inverse()
    if factors.mean_ancestors > MANY_ANCESTORS:
        return ForwardDerivatives(du, *_products_with(inverse, motion, du, load), inverse)
    dq, dv = _products(motion, du)
    if load is not None:
        dq, dv = dq - load.Q_q, dv - load.Q_u
    return ForwardDerivatives(du, factors.solve(dq, -1), factors.solve(dv, -1), inverse)


def mass_matrix_inverse(tree: PlacedTree, q: np.ndarray) -> np.ndarray:
    """M(q)⁻¹ by the sparse factors of M.

    Reference: docs/theory/derivatives.md, eq. (13.18).
    """
    al = tree.al
    motion = TreeInMotion(tree, q, al.zeros(tree.coordinates.nv), al.zeros(6))
    return TreeFactors.of(tree, motion.mass_matrix()).inverse()


def _products(motion: TreeInMotion, du: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∂τ/∂q and ∂τ/∂u, a block for each pair of motions of which one carries the other."""
    terms, dq, dv = motion.terms(du)
    for i, own in enumerate(terms):
        for j in (i, *motion.ancestors(i)):
            for x in own:
                for y in terms[j]:
                    dq[x.k, y.k] = dq[x.k, y.k] + (x.t @ y.Y1[:3] + x.F @ y.Y2)
                    dv[x.k, y.k] = dv[x.k, y.k] + (x.t @ y.S[:3] + x.F @ y.Z)
                    if j != i:
                        dq[y.k, x.k] = dq[y.k, x.k] + y.S @ x.up_q
                        dv[y.k, x.k] = dv[y.k, x.k] + y.S @ x.up_u
    return dq, dv


def _products_with(
    inverse: np.ndarray, motion: TreeInMotion, du: np.ndarray, load: Load | None
) -> tuple[np.ndarray, np.ndarray]:
    """−M⁻¹ ∂τ/∂q and −M⁻¹ ∂τ/∂u without forming ∂τ, whose halves have low rank; for long chains.

    With z a row of M⁻¹:  Σ_k z_k ∂τ_k/∂q_j = T_j · Y1_j + Φ_j · Y2_j + σ_j · up_q_j, where T and Φ add up z t and z F of all
    that j carries, and σ adds up z S of all that carry j.
    """
    al, motions = motion.al, motion.motions
    terms, own_q, own_u = motion.terms(du)
    if load is not None:
        own_q, own_u = own_q - load.Q_q, own_u - load.Q_u
    out_q, out_u = -(inverse @ own_q), -(inverse @ own_u)
    for i, z in enumerate(inverse):
        # T and Φ in one vector, filled from the tips to the ground; then σ on the way back.
        inward = [al.zeros(9) for _ in motions]
        for m in reversed(range(len(motions))):
            for x in terms[m]:
                inward[m] = inward[m] + z[x.k] * al.concatenate([x.t, x.F])
            if motions[m].parent >= 0:
                inward[motions[m].parent] = inward[motions[m].parent] + inward[m]
        outward: list[np.ndarray] = []
        for m, own in enumerate(terms):
            sigma = outward[motions[m].parent] if motions[m].parent >= 0 else al.zeros(6)
            weights = al.concatenate([inward[m], sigma])
            for x in own:
                out_q[i, x.k] = out_q[i, x.k] - weights @ al.concatenate([x.Y1[:3], x.Y2, x.up_q])
                out_u[i, x.k] = out_u[i, x.k] - weights @ al.concatenate([x.S[:3], x.Z, x.up_u])
            outward.append(sigma + sum((z[x.k] * x.S for x in own), al.zeros(6)))
    return out_q, out_u
