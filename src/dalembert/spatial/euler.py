"""Three successive rotations about coordinate axes, each about the moved one:  R = R_i(a) R_j(b) R_k(c).

Of the twelve sequences i ≠ j ≠ k, six are of Tait-Bryan (three different axes, singular at cos b = 0) and six of Euler
(first and last axis the same, singular at sin b = 0).
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import Algebra

__all__ = ["SEQUENCES", "angles", "axes_of", "steepness"]

SEQUENCES = tuple(i + j + k for i in "xyz" for j in "xyz" if j != i for k in "xyz" if k != j)


def axes_of(sequence: str) -> tuple[int, int, int]:
    """The axes 0, 1, 2 of a sequence such as ``zyx``."""
    i, j, k = ("xyz".index(letter) for letter in sequence)
    return i, j, k


def _sign(i: int, j: int) -> int:
    """1 if the third axis is i × j, −1 if it is j × i."""
    return 1 if (j - i) % 3 == 1 else -1


def angles(al: Algebra, axes: tuple[int, int, int], R: np.ndarray) -> np.ndarray:
    """The angles of a rotation matrix: a and c in (−π, π], b in [−π/2, π/2], or of Euler in [0, π]."""
    i, j, k = axes
    e = _sign(i, j)
    if i != k:
        a = al.atan2(-e * R[j, k], R[k, k])
        b = al.atan2(e * R[i, k], al.sqrt(R[i, i] * R[i, i] + R[i, j] * R[i, j]))
        return al.array([a, b, al.atan2(-e * R[i, j], R[i, i])])
    m = 3 - i - j
    a = al.atan2(R[j, i], -e * R[m, i])
    b = al.atan2(al.sqrt(R[i, j] * R[i, j] + R[i, m] * R[i, m]), R[i, i])
    return al.array([a, b, al.atan2(R[i, j], e * R[i, m])])


def steepness(axes: tuple[int, int, int], middle: np.ndarray) -> np.ndarray:
    """How far from singular, in floats: |cos b| or |sin b|, zero where the first and the last axis are parallel."""
    return np.abs(np.cos(middle) if axes[0] != axes[2] else np.sin(middle))
