"""Constrained equations of any rank and any units, solved by singular values."""

from __future__ import annotations

import numpy as np

__all__ = ["least_squares", "solve_constrained"]


def least_squares(K: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """K x = right for a symmetric K, whose rows may depend on each other: x of evened-out rows and columns, their
    scales, and the condition of what is independent."""
    scale = np.ones(len(K))
    for _ in range(12):
        size = np.abs(scale[:, None] * K * scale).max(axis=1)
        scale /= np.sqrt(np.where(size > 0, size, 1.0))
    even = scale[:, None] * K * scale
    U, s, Vt = np.linalg.svd(even)
    kept = s > 1e-11 * s[0]
    x = Vt.T[:, kept] @ ((U.T[kept] @ (scale * right)) / s[kept])
    return scale * x, scale, float(s[0] / s[kept][-1])


def solve_constrained(
    M: np.ndarray, C: np.ndarray, force: np.ndarray, d: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """M a = force + Cᵀλ,  C a = d:  a, λ, C in even units, and the condition.

    Accelerations are measured in what a unit of kinetic energy gives them (those without inertia in ``units``), rows of
    C by their largest entry then: so meters and radians, kilograms and multipliers are of one size.
    """
    largest = np.abs(np.diag(M) * units**2).max(initial=0.0)
    inert = np.diag(M) * units**2 > 1e-14 * largest
    largest = largest or 1.0
    own = np.where(inert, 1 / np.sqrt(np.where(inert, np.diag(M), 1.0)), units / np.sqrt(largest))
    rows = np.abs(C * own).max(axis=1, initial=1e-300)
    even = (C * own) / rows[:, None]
    m = len(C)
    K = np.block([[own[:, None] * M * own, -even.T], [even, np.zeros((m, m))]])
    x, _, condition = least_squares(K, np.concatenate([own * force, d / rows]))
    return own * x[: len(M)], x[len(M) :] / rows, even, condition
