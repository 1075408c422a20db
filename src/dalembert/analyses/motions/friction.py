"""Coulomb friction on unknown forces: sizes of constraint forces that act back on them.

The unknowns are linear in the sizes, u = u₀ + U n, and each size is nᵢ = √pᵢ(u) with pᵢ quadratic, such as the normal
force √(Y² + Z²) of a guide. For one size this is a quadratic equation,

    (1 − γ) n² − β n − α = 0,      γ = (μ |b|)²,   N = |a + b x|,  x = −μ sign(v) N

with exactly one solution n ≥ 0 if and only if μ |b| < 1. Several sizes have a unique solution if the matrix
Kᵢⱼ = |∂(parts of nᵢ)/∂nⱼ| has a spectral radius below 1: n ↦ √p(n) is then a contraction. Otherwise there are none or
several: the mechanism jams (P. Painlevé, Leçons sur le frottement, 1895).
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

__all__ = ["Friction", "solve_sizes"]

STEPS = 100
CLOSE = 1e-14  # change of the sizes, relative, at which they are found


class Friction(NamedTuple):
    """Sizes n at all instants (NaN where they are not unique), the number μ|b| (or the spectral radius of K), and how
    many solutions there are where it is ≥ 1: −1 where nobody has counted."""

    sizes: np.ndarray
    number: np.ndarray
    solutions: np.ndarray


def solve_sizes(u0: np.ndarray, U: np.ndarray, p0: np.ndarray, g: np.ndarray, H: np.ndarray) -> Friction:
    """n with nᵢ² = pᵢ(u₀ + U n) at all instants.

    Args:
        u0, U: (time, unknown) and (time, unknown, size).
        p0, g, H: of  p = p₀ + gᵀu + ½ uᵀH u;  (time, size), (time, size, unknown), (time, size, unknown, unknown).
    """
    # p(n) = α + β n + ½ nᵀΓ n
    alpha = p0 + np.einsum("tia,ta->ti", g, u0) + 0.5 * np.einsum("ta,tiab,tb->ti", u0, H, u0)
    beta = np.einsum("tia,taj->tij", g, U) + np.einsum("ta,tiab,tbj->tij", u0, H, U)
    Gamma = np.einsum("taj,tiab,tbk->tijk", U, H, U)
    K = np.sqrt(np.maximum(0.5 * np.einsum("tijj->tij", Gamma), 0.0))
    number = np.abs(np.asarray(np.linalg.eigvals(K), dtype=complex)).max(axis=1)
    unique = number < 1.0
    count = np.where(unique, 1, -1)
    if alpha.shape[1] == 1:
        return _single(alpha[:, 0], beta[:, 0, 0], 0.5 * Gamma[:, 0, 0, 0], number, count)
    return Friction(_several(alpha, beta, Gamma, unique), number, count)


def _single(alpha: np.ndarray, beta: np.ndarray, gamma: np.ndarray, number: np.ndarray, count: np.ndarray) -> Friction:
    """The root of (1 − γ) n² − β n − α = 0 that is not negative, without cancellation."""
    a = 1.0 - gamma
    root = np.sqrt(np.maximum(beta * beta + 4.0 * a * np.maximum(alpha, 0.0), 0.0))
    q = 0.5 * (np.abs(beta) + root)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(beta >= 0, q / a, np.where(q > 0, alpha / q, 0.0))
    jammed = number >= 1.0
    exists = (beta * beta + 4.0 * a * alpha >= 0) & (beta < 0)
    count = np.where(jammed, np.where(exists, 2, 0), 1)
    return Friction(np.where(jammed, np.nan, np.maximum(n, 0.0))[:, None], number, count)


def _several(alpha: np.ndarray, beta: np.ndarray, Gamma: np.ndarray, unique: np.ndarray) -> np.ndarray:
    """Newton's method on n − √p(n), with steps of the contraction where it would leave n ≥ 0."""
    n = np.sqrt(np.maximum(alpha, 0.0))
    one, linalg = np.eye(alpha.shape[1]), cast(Any, np.linalg)
    for _ in range(STEPS):
        p = alpha + np.einsum("tij,tj->ti", beta, n) + 0.5 * np.einsum("tj,tijk,tk->ti", n, Gamma, n)
        target = np.sqrt(np.maximum(p, 0.0))
        slope = (beta + np.einsum("tijk,tk->tij", Gamma, n)) / np.maximum(2.0 * target, 1e-300)[:, :, None]
        matrix = one - slope
        regular = np.abs(np.linalg.det(matrix)) > 1e-12
        side = (target - n)[:, :, None]
        step = np.asarray(linalg.solve(np.where(regular[:, None, None], matrix, one), side)[:, :, 0], dtype=float)
        safe = regular & np.all(n + step >= 0, axis=1) & np.all(np.isfinite(step), axis=1)
        new = np.where(safe[:, None], n + step, target)
        change = np.abs(new - n).max(initial=0.0, where=unique[:, None])
        n = new
        if change <= CLOSE * (1.0 + np.abs(n).max(initial=0.0)):
            break
    return np.where(unique[:, None], n, np.nan)
