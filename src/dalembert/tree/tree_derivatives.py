"""Derivatives of inverse and forward dynamics of a tree in closed form: cost (number of joints) × (depth of the tree).

Derivatives with respect to q are taken in the tangent space: d τ(q ⊕ δ)/dδ at δ = 0, ⊕ the joints' ``integrate``; so
they have nv columns, quaternions or not.

Reference: S. Singh, R. P. Russell, P. M. Wensing, "Efficient Analytical Derivatives of Rigid-Body Dynamics using
Spatial Vector Algebra", IEEE RA-L 7 (2022); J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics
Algorithms", RSS (2018). Equations: docs/theory/derivatives.md. Legend: see ``derivative_terms``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.tree.derivative_factors import TreeFactors
from dalembert.tree.derivative_terms import TreeInMotion
from dalembert.tree.link import InverseDerivatives, Tree

__all__ = [
    "ForwardDerivatives", "InverseDerivatives", "Load", "forward_dynamics_derivatives", "forward_parts",
    "inverse_dynamics_derivatives",
]  # fmt: skip


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
    tree: Tree, q: np.ndarray, u: np.ndarray, du: np.ndarray, base: np.ndarray
) -> InverseDerivatives:
    """∂τ/∂q (tangent), ∂τ/∂u and ∂τ/∂u̇ of  τ = M u̇ + h.

    Blocks between bodies on different branches are exact zeros.

    Args:
        du: u̇.
        base: acceleration of the ground (see ``recursions.gravity_base``).

    Equivalent to: automatic differentiation of ``recursions.inverse_dynamics`` (tests/agreement/test_derivatives.py).
    Reference: docs/theory/derivatives.md, eqs. (14.8)-(14.15).
    """
    motion = TreeInMotion(tree, q, u, base)
    return InverseDerivatives(*_products(motion, du), motion.mass_matrix())


def forward_dynamics_derivatives(
    tree: Tree, q: np.ndarray, u: np.ndarray, tau: np.ndarray, base: np.ndarray, load: Load | None = None
) -> ForwardDerivatives:
    """u̇ and its derivatives, of  M u̇ + h = τ + Q,  by those of inverse dynamics:

        ∂u̇/∂q = −M⁻¹ (∂τ/∂q − ∂Q/∂q),   ∂u̇/∂u = −M⁻¹ (∂τ/∂u − ∂Q/∂u),   ∂u̇/∂τ = M⁻¹

    M must be positive definite: every body that moves alone has mass.

    Equivalent to: automatic differentiation of ``recursions.forward_dynamics`` (tests/agreement/test_derivatives.py).
    Reference: docs/theory/derivatives.md, eqs. (14.16)-(14.18).
    """
    factors, du, dq, dv = forward_parts(tree, q, u, tau, base, load)
    return ForwardDerivatives(du, factors.solve(dq, -1), factors.solve(dv, -1), factors.inverse())


def forward_parts(
    tree: Tree, q: np.ndarray, u: np.ndarray, tau: np.ndarray, base: np.ndarray, load: Load | None = None
) -> tuple[TreeFactors, np.ndarray, np.ndarray, np.ndarray]:
    """Factors of M, u̇, and what M⁻¹ is still to be applied to:  ∂(τ − Q)/∂q  and  ∂(τ − Q)/∂u."""
    motion = TreeInMotion(tree, q, u, base)
    factors = TreeFactors.of(tree, motion.mass_matrix())
    Q = tau if load is None else tau + load.Q
    du = factors.solve(Q - motion.forces(tree.al.zeros(len(u))))
    dq, dv = _products(motion, du)
    return (factors, du, dq, dv) if load is None else (factors, du, dq - load.Q_q, dv - load.Q_u)


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
