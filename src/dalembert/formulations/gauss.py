"""Gauss's principle of least constraint: of all possible accelerations, the one nearest to the free acceleration."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import BlockFormulation
from dalembert.formulations.udwadia_kalaba import has_inverse
from dalembert.native import native
from dalembert.numerics.context import ILL_CONDITIONED, OK, Context, Solution, System, watch
from dalembert.numerics.elimination import lower_substitute
from dalembert.numerics.linear import cholesky, largest_entry, orthogonal_factors, pseudo_solve, ranked_factors
from dalembert.numerics.solver_steps import undetermined

__all__ = ["Gauss"]

# Columns of the least-squares problem below this fraction of the first: a direction that is not determined.
UNDETERMINED = 1e-12


@native
def _weight(M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray):
    """The Cholesky factor L of the weight and L⁻¹ f.

    Where M has no inverse, ½ w |A u̇ + γ|² is added to the constraint: all candidates have the same, none, of it.
    """
    L, s = M.copy(), f.copy()
    if not has_inverse(M):
        w = np.abs(M).max() / largest_entry(A) ** 2
        L += w * (A.T @ A)
        s -= w * (A.T @ gamma)
    good = cholesky(L)
    if good:
        lower_substitute(L, s)
    return good, np.tril(L), s


@native
def _solver(c: Context, t: float, e: System, out: Solution) -> int:
    M, A, du = e.M, e.A, out.du
    m, n = A.shape
    good, L, s = _weight(M, e.f, A, e.gamma)
    if not good:
        return undetermined(c, M, A, ILL_CONDITIONED)
    # Aᵀ P = Q R:  the constraints decide Q₁ᵀ u̇ = y …
    rank, ratio, Q, R, pivots = ranked_factors(A)
    y, conflict = np.zeros(n), 0.0
    for i in range(m):
        rest = -e.gamma[pivots[i]]
        for k in range(min(i, rank)):
            rest -= R[i, k] * y[k]
        if i < rank:
            y[i] = rest / R[i, i]
        else:
            conflict = max(conflict, abs(rest))
    watch(c, rank, ratio, conflict)
    du[:] = Q.T @ y
    # … and the rest of u̇ makes |Lᵀ u̇ − L⁻¹ f| least.
    free = Q[rank:]
    full, _, Qc, Rc, order = orthogonal_factors(free @ L, UNDETERMINED, 0.0)
    if full < n - rank:
        return undetermined(c, M, A, ILL_CONDITIONED)
    z = np.zeros(n - rank)
    pseudo_solve(full, Qc, Rc, order, s - L.T @ du, z)
    du += free.T @ z
    pseudo_solve(rank, Q, R, pivots, M @ du - e.f, out.multipliers)
    return OK


class Gauss(BlockFormulation):
    """A least-squares problem with equations as side conditions:

        ½ (u̇ − M⁻¹f)ᵀ M (u̇ − M⁻¹f) → min   with   A u̇ = −γ

    With M = L Lᵀ it is  |Lᵀ u̇ − L⁻¹ f| → min,  solved by two orthogonal factorizations: one of Aᵀ for the side
    conditions, one for the squares that remain. No normal equations are formed, so conditioning is not squared.

    Reference: C. F. Gauss, "Über ein neues allgemeines Grundgesetz der Mechanik", J. reine angew. Math. 4 (1829)
    232–235; G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th ed., sec. 6.2 (equality-constrained least squares).
    """

    name: ClassVar[str] = "gauss"
    title: ClassVar[str] = "Gauss's least constraint"
    solver = _solver

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        _, L, _ = _weight(M, np.zeros(len(M)), A, np.zeros(len(A)))
        rank, _, Q, _, _ = ranked_factors(A)
        return (Q[rank:] @ L).T
