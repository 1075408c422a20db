"""Factors of the mass matrix of a tree, without fill-in:  M = Lᵀ D L.

M_ij vanishes unless one of the joints i, j carries the other. Eliminated from the tips to the ground, the unit lower
triangular L keeps that pattern: row k of L has entries only at the ancestors of k. Unrolled, no pivoting.

Reference: R. Featherstone, "Rigid Body Dynamics Algorithms", sec. 6.5; docs/theory/derivatives.md, eqs. (14.16)-
(14.18).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Algebra
from dalembert.tree.link import Tree

__all__ = ["TreeFactors", "ancestors"]


def ancestors(tree: Tree) -> list[list[int]]:
    """For each velocity the velocities that carry it, nearest first; within a joint each carries the next."""
    above: list[list[int]] = [[] for _ in range(tree.nv)]
    nearest: list[list[int]] = []
    for link in tree.links:
        carried = nearest[link.parent] if link.parent >= 0 else []
        for k in range(link.u.start, link.u.stop):
            above[k] = carried
            carried = [k, *carried]
        nearest.append(carried)
    return above


@dataclass(frozen=True)
class TreeFactors:
    """M = Lᵀ D L of a positive definite mass matrix.

    Attributes:
        above: ancestors of each velocity, nearest first.
        L: unit lower triangular; its diagonal is not stored.
        inverse_D: reciprocals of the diagonal.
    """

    al: Algebra
    above: list[list[int]]
    L: np.ndarray
    inverse_D: np.ndarray

    @classmethod
    def of(cls, tree: Tree, M: np.ndarray) -> TreeFactors:
        al, n = tree.al, len(M)
        above, H = ancestors(tree), M.copy()
        L, inverse_D = al.zeros(n, n), al.zeros(n)
        for k in reversed(range(n)):
            inverse_D[k] = 1 / H[k, k]
            for position, i in enumerate(above[k]):
                L[k, i] = H[k, i] * inverse_D[k]
                for j in above[k][position:]:
                    H[i, j] = H[i, j] - L[k, i] * H[k, j]
        return cls(al, above, L, inverse_D)

    def solve(self, B: np.ndarray, sign: int = 1) -> np.ndarray:
        """± M⁻¹ B for a vector or a matrix B:  Lᵀ y = B,  y ← D⁻¹ y,  L x = y."""
        x = B.copy()
        for k in reversed(range(len(x))):
            for i in self.above[k]:
                x[i] = x[i] - self.L[k, i] * x[k]
        for k in range(len(x)):
            x[k] = x[k] * (sign * self.inverse_D[k])
            for i in self.above[k]:
                x[k] = x[k] - self.L[k, i] * x[i]
        return x

    def inverse_L(self) -> np.ndarray:
        """N = L⁻¹, which has the pattern of L."""
        N = self.al.eye(len(self.above))
        for k, above in enumerate(self.above):
            for position, i in enumerate(above):
                N[k, i] = -self.L[k, i] - sum(self.L[k, j] * N[j, i] for j in above[:position])
        return N

    def inverse_root(self) -> np.ndarray:
        """G = N D^(−1/2), so that M⁻¹ = G Gᵀ."""
        root = self.al.zeros(len(self.above))
        for k, d in enumerate(self.inverse_D):
            root[k] = self.al.sqrt(d)
        return self.inverse_L() * root

    def inverse(self) -> np.ndarray:
        """M⁻¹ = N D⁻¹ Nᵀ with N = L⁻¹: zero between trees that share nothing but the ground.

        Only one half of the symmetric product is computed.
        """
        n = len(self.above)
        N, out = self.inverse_L(), self.al.zeros(n, n)
        scaled = [N[:, k] * self.inverse_D[k] for k in range(n)]
        own = [[k, *self.above[k]] for k in range(n)]
        for i in range(n):
            for j in range(i + 1):
                common = [k for k in own[j] if k in own[i]]
                if common:
                    out[i, j] = out[j, i] = sum(scaled[k][i] * N[j, k] for k in common)
        return out
