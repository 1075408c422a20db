"""Small linear complementarity problems: what touches either pushes or moves apart."""

from __future__ import annotations

import numpy as np

__all__ = ["solve_complementarity"]

MOST_PIVOTS = 1000
NEGATIVE = 1e-12  # of the largest entry: less is rounding


def solve_complementarity(W: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """z ≥ 0 with  w = W z + q ≥ 0  and  wᵀz = 0;  None if none is found.

    Murty's pivoting: the first index that is wrong changes sides. It ends for every W that is positive definite; where
    several contacts share a load that does not tell them apart, z has the least norm.
    """
    n = len(q)
    pushing = q < 0
    scale = NEGATIVE * max(np.abs(q).max(initial=0.0), 1e-300)
    reach = NEGATIVE * max(np.abs(q).max(initial=0.0) / max(np.abs(W).max(initial=0.0), 1e-300), 1e-300)
    for _ in range(MOST_PIVOTS):
        z = np.zeros(n)
        if pushing.any():
            at = np.flatnonzero(pushing)
            z[at] = np.linalg.lstsq(W[np.ix_(at, at)], -q[at], rcond=1e-12)[0]
        w = W @ z + q
        wrong = np.flatnonzero((pushing & (z < -reach)) | (~pushing & (w < -scale)))
        if not len(wrong):
            return np.maximum(z, 0.0)
        pushing[wrong[0]] = not pushing[wrong[0]]
    return None
