"""The fundamental equation of Udwadia and Kalaba: accelerations in closed form by generalized inverses."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import BlockFormulation
from dalembert.native import native
from dalembert.numerics.context import FAILED, ILL_CONDITIONED, OK, Context, Solution, System
from dalembert.numerics.elimination import lower_substitute, semi_cholesky, upper_substitute
from dalembert.numerics.linear import cholesky, orthogonal_factors, pseudo_solve, ranked_factors
from dalembert.numerics.solver_steps import multipliers_after, undetermined

__all__ = ["UdwadiaKalaba", "has_inverse"]

# M with a pivot below this fraction of its first one is not inverted.
MASSLESS = 1e-9

# Pivots of [(1 − A⁺A) M; A] below this fraction of the first: a direction that is not determined.
UNDETERMINED = 1e-12


@native
def has_inverse(M: np.ndarray) -> bool:
    """True if M is safely positive definite."""
    n = M.shape[0]
    return semi_cholesky(M.copy(), np.empty(n, dtype=np.int64), MASSLESS) == n


@native
def _with_inverse(M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, du: np.ndarray):
    """u̇ = a + M^-½ (A M^-½)⁺ (−γ − A a),  a = M⁻¹ f;  any root of M will do: here its Cholesky factor."""
    L = M.copy()
    cholesky(L)
    a = f.copy()
    lower_substitute(L, a)
    upper_substitute(L, a)
    B = A.T.copy()
    for j in range(B.shape[1]):
        lower_substitute(L, B[:, j])
    rank, ratio, Q, R, pivots = ranked_factors(B)
    pseudo_solve(rank, Q, R, pivots, -gamma - A @ a, du)
    upper_substitute(L, du)
    du += a
    return OK, rank, ratio


@native
def _without_inverse(M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, du: np.ndarray):
    """u̇ = [(1 − A⁺A) M; A]⁺ [(1 − A⁺A) f; −γ],  the upper rows scaled to the size of the others."""
    m, n = A.shape
    rank, ratio, Q, _, _ = ranked_factors(A)
    free = Q[rank:]
    N = (free.T @ free) / max(np.abs(M).max(), 1e-300)
    G, rhs = np.empty((n + m, n)), np.empty(n + m)
    G[:n] = N @ M
    G[n:] = A
    rhs[:n] = N @ f
    rhs[n:] = -gamma
    full, _, Q, R, pivots = orthogonal_factors(G.T.copy(), UNDETERMINED, 0.0)
    pseudo_solve(full, Q, R, pivots, rhs, du)
    return (OK if full == n else FAILED), rank, ratio


@native
def _solver(c: Context, t: float, e: System, out: Solution) -> int:
    if has_inverse(e.M):
        status, rank, ratio = _with_inverse(e.M, e.f, e.A, e.gamma, out.du)
    else:
        status, rank, ratio = _without_inverse(e.M, e.f, e.A, e.gamma, out.du)
    if status != OK:
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    return multipliers_after(c, e, out, rank, ratio)


class UdwadiaKalaba(BlockFormulation):
    """What the constraints add to the free acceleration a = M⁻¹ f, in one formula:

        u̇ = a + M^-½ (A M^-½)⁺ (−γ − A a)

    with the Moore-Penrose inverse, so that redundant rows need no care. Where M has no inverse:

        u̇ = [ (1 − A⁺A) M ; A ]⁺ [ f ; −γ ]

    Reference: F. E. Udwadia, R. E. Kalaba, "A new perspective on constrained motion", Proc. R. Soc. A 439 (1992)
    407–410; F. E. Udwadia, P. Phohomsiri, "Explicit equations of motion for constrained mechanical systems with
    singular mass matrices and applications to multi-body dynamics", Proc. R. Soc. A 462 (2006) 2097–2117.
    """

    name: ClassVar[str] = "udwadia-kalaba"
    title: ClassVar[str] = "Udwadia-Kalaba"
    solver = _solver

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        if has_inverse(M):
            return np.linalg.solve(np.linalg.cholesky(M), A.T).T if len(A) else M
        free = np.eye(len(M)) - np.linalg.pinv(A) @ A
        return np.vstack([free @ M / np.abs(M).max(), A])
