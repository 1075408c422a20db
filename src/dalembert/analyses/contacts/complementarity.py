"""Small linear complementarity problems: what touches either pushes or moves apart."""

from __future__ import annotations

import numpy as np

__all__ = ["lemke", "lighten", "solve_complementarity"]

MOST_PIVOTS = 1000
NEGATIVE = 1e-12  # of the largest entry: less is rounding
PIVOT = 1e-11  # what is smaller is no pivot
ENTERS = 1e-6  # of the largest entry: what no push stops
NULL = 1e-9  # of the largest one: an eigenvalue that is none


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
        # Where those that push depend on each other, one may move apart by what the others do.
        wrong = np.flatnonzero((pushing & ((z < -reach) | (w > scale))) | (~pushing & (w < -scale)))
        if not len(wrong):
            return None if (w < -ENTERS * np.abs(q).max(initial=0.0)).any() else np.maximum(z, 0.0)
        pushing[wrong[0]] = not pushing[wrong[0]]
    return None


def lighten(W: np.ndarray, z: np.ndarray, spare: list[int]) -> np.ndarray:
    """z ≥ 0 with the same W z, in which no more of the ``spare`` can be zero, earlier ones before later ones.

    Along a null vector of W, where several share what one of them could carry, z goes to where the first is zero.
    """
    z = z.copy()
    for i in spare:
        at = np.flatnonzero(z > 0)
        if i not in at:
            continue
        sizes, vectors = np.linalg.eigh(W[np.ix_(at, at)])
        null = vectors[:, sizes <= NULL * sizes[-1]]
        # The direction among them that takes most from i.
        n = null @ null[at == i][0] if null.shape[1] else np.zeros(len(at))
        falls = n > NULL
        if not falls[at == i][0]:
            continue
        shares = np.where(falls, z[at] / np.where(falls, n, 1.0), np.inf)
        if shares[at == i][0] <= shares.min() * (1.0 + NULL):
            z[at] -= shares.min() * n
            z[i] = 0.0
    return np.maximum(z, 0.0)


def lemke(W: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """z ≥ 0 with  w = W z + q ≥ 0  and  wᵀz = 0, for any W, all of the size 1;  None if the path ends on a ray.

    Lemke's complementary pivoting with a lexicographic ratio test, which does not cycle. It finds a solution for every
    W that is copositive and q that is not excluded by it. Reference: R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear
    Complementarity Problem" (1992), algorithm 4.4.5.
    """
    n = len(q)
    if np.all(q >= -NEGATIVE):
        return np.zeros(n)
    # w − W z − 1 z₀ = q; columns: w (0 … n−1), z (n … 2n−1), z₀, q.
    T = np.hstack([np.eye(n), -W, -np.ones((n, 1)), q[:, None]])
    basis, entering, row = list(range(n)), 2 * n, int(np.argmin(q))
    for _ in range(MOST_PIVOTS):
        leaving = basis[row]
        T[row] /= T[row, entering]
        column = T[:, entering].copy()
        column[row] = 0.0
        T -= np.outer(column, T[row])
        T[np.abs(T) < 1e-15] = 0.0
        basis[row] = entering
        if leaving == 2 * n:
            z = np.zeros(2 * n)
            z[basis] = np.maximum(T[:, -1], 0.0)
            return z[n:]
        entering = leaving + n if leaving < n else leaving - n
        candidates = np.flatnonzero(T[:, entering] > PIVOT)
        if not len(candidates):
            return None
        row = _first(T, candidates, entering, basis, 2 * n)
    return None


def _first(T: np.ndarray, candidates: np.ndarray, entering: int, basis: list[int], artificial: int) -> int:
    """The row with the smallest ratio; of equal ones that of z₀, else the first in the order of what follows."""
    n = len(T)
    for column in (2 * n + 1, *range(n)):
        ratios = T[candidates, column] / T[candidates, entering]
        candidates = candidates[ratios <= ratios.min() + 1e-13 * (1.0 + abs(ratios.min()))]
        if column == 2 * n + 1:
            for row in candidates:
                if basis[row] == artificial:
                    return int(row)
        if len(candidates) == 1:
            break
    return int(candidates[0])
