"""Newton's and Euler's equations of free bodies, held together by the reactions of their joints."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import BlockFormulation, Support
from dalembert.native import native
from dalembert.numerics.context import ILL_CONDITIONED, OK, Context, Solution, System, watch
from dalembert.numerics.elimination import equilibrate, semi_cholesky, upper_substitute
from dalembert.numerics.linear import (
    RANK_TOLERANCE,
    cholesky_substitute,
    orthogonal_factors,
    pseudo_solve,
    ranked_factors,
)
from dalembert.numerics.solver_steps import largest_residual, undetermined

__all__ = ["NewtonEuler"]

# Velocities of one body.
BODY = 6

# Pivots of a body's inertia below this fraction of its first: no inertia in that direction.
MASSLESS = 1e-13

# Pivots of the scaled Schur complement below this fraction of its first: it squares the condition of A.
REDUNDANT = 1e-12

# The second turn corrects what the condition of the Schur complement cost the first.
TURNS = 3


@native
def _block_size(M: np.ndarray) -> int:
    """6 if bodies are coupled by joints alone, else (rotors between them) the whole of M."""
    n = M.shape[0]
    for i in range(n):
        for j in range(n):
            if i // BODY != j // BODY and M[i, j] != 0.0:
                return n
    return BODY


@native
def _inverse(M: np.ndarray, size: int):
    """G with M G y = y for all forces that inertia can balance, and N, the directions without inertia; body by body."""
    n = M.shape[0]
    G, N, nullity = np.zeros((n, n)), np.zeros((n, n)), 0
    order = np.empty(size, dtype=np.int64)
    for body in range(n // size):
        s = body * size
        H = M[s : s + size, s : s + size].copy()
        rank = semi_cholesky(H, order, MASSLESS)
        L, x = H[:rank, :rank].copy(), np.empty(rank)
        for j in range(rank):
            x[:] = 0.0
            x[j] = 1.0
            cholesky_substitute(L, x)
            for i in range(rank):
                G[s + order[i], s + order[j]] = x[i]
        for k in range(rank, size):
            for i in range(rank):
                x[i] = -H[k, i]
            upper_substitute(L, x)
            N[s + order[k], nullity] = 1.0
            for i in range(rank):
                N[s + order[i], nullity] = x[i]
            nullity += 1
    return G, N[:, :nullity].copy()


@native
def _by_blocks(G: np.ndarray, A: np.ndarray, size: int) -> np.ndarray:
    """G Aᵀ, body by body and only for the rows that act on it."""
    m, n = A.shape
    W = np.zeros((n, m))
    for r in range(m):
        for body in range(n // size):
            s = body * size
            for j in range(s, s + size):
                if A[r, j] != 0.0:
                    for i in range(s, s + size):
                        W[i, r] += G[i, j] * A[r, j]
    return W


@native
def _schur(A: np.ndarray, W: np.ndarray, AN: np.ndarray) -> np.ndarray:
    """⎡ A G Aᵀ  A N ⎤
    ⎣ NᵀAᵀ     0  ⎦"""
    m, free = AN.shape
    K = np.zeros((m + free, m + free))
    K[:m, :m] = A @ W
    K[:m, m:] = AN
    K[m:, :m] = AN.T
    return K


@native
def _solver(c: Context, t: float, e: System, out: Solution) -> int:
    M, f, A, du, multipliers = e.M, e.f, e.A, out.du, out.multipliers
    m = A.shape[0]
    size = _block_size(M)
    G, N = _inverse(M, size)
    W, AN = _by_blocks(G, A, size), A @ N
    free = N.shape[1]
    if free > 0 and orthogonal_factors(AN, RANK_TOLERANCE, 0.0)[0] < free:
        return undetermined(c, M, A, ILL_CONDITIONED)
    # ⎡ A G Aᵀ  A N ⎤ ⎡ λ ⎤   ⎡ −γ − A G f ⎤
    # ⎣ NᵀAᵀ     0  ⎦ ⎣ η ⎦ = ⎣   −Nᵀ f    ⎦,     u̇ = G (f + Aᵀλ) + N η
    K = _schur(A, W, AN)
    scale = equilibrate(K)
    full, _, Q, R, pivots = orthogonal_factors(K, REDUNDANT, 0.0)
    rhs, x = np.empty(m + free), np.empty(m + free)
    du[:] = 0.0
    multipliers[:] = 0.0
    for _ in range(TURNS):
        force = f + A.T @ multipliers - M @ du
        rhs[:m] = -e.gamma - A @ (du + G @ force)
        rhs[m:] = -(N.T @ force)
        pseudo_solve(full, Q, R, pivots, rhs * scale, x)
        x *= scale
        multipliers += x[:m]
        du += G @ force + W @ x[:m] + N @ x[m:]
    rank, ratio, Q, R, pivots = ranked_factors(A)
    watch(c, rank, ratio, largest_residual(A, e.gamma, du))
    if rank < m:
        pseudo_solve(rank, Q, R, pivots, M @ du - f, multipliers)
    return OK


class NewtonEuler(BlockFormulation):
    """Every body by itself, with the reactions of its joints as unknown forces:

        u̇ = M⁻¹ (f + Aᵀλ),      (A M⁻¹ Aᵀ) λ = −γ − A M⁻¹ f

    M has one 6×6 block for each body and is inverted block by block. Directions without inertia, as the axis of a thin
    rod, become unknowns of their own, which the joints decide. The Schur complement may lack rank: redundant joints get
    the reactions of least norm. Absolute coordinates only.

    Reference: R. E. Roberson, R. Schwertassek, "Dynamics of Multibody Systems", Springer 1988; W. Schiehlen, "Multibody
    system dynamics: roots and perspectives", Multibody Syst. Dyn. 1 (1997) 149–188.
    """

    name: ClassVar[str] = "newton-euler"
    title: ClassVar[str] = "Newton-Euler with joint reactions"
    solver = _solver

    @classmethod
    def supports(cls) -> Support:
        return replace(super().supports(), coordinates=("absolute",))

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        size = _block_size(M)
        G, N = _inverse(M, size)
        if not len(A):
            return M
        K = _schur(A, _by_blocks(G, A, size), A @ N)
        equilibrate(K)
        return K
