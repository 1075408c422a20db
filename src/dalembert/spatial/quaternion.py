"""Unit quaternions (w, x, y, z): rotations without singularity.

Legend: Q quaternion of R_AB, so that b in B reads R(Q) b in A;  ω angular velocity of B in A, in B axes.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import Algebra
from dalembert.spatial import so3

__all__ = ["conjugate", "exp", "from_matrix", "log", "multiply", "normalize", "rate", "shortest", "to_matrix"]


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The Hamilton product; R(a∘b) = R(a) R(b)."""
    out = np.empty(4, dtype=np.result_type(a, b))
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    return out


def conjugate(al: Algebra, Q: np.ndarray) -> np.ndarray:
    """The inverse rotation."""
    return al.array([Q[0], -Q[1], -Q[2], -Q[3]])


def normalize(al: Algebra, Q: np.ndarray) -> np.ndarray:
    """Q/|Q|."""
    return Q / al.sqrt(Q @ Q)


def to_matrix(al: Algebra, Q: np.ndarray) -> np.ndarray:
    """Rotation matrix of a unit quaternion."""
    w, x, y, z = Q
    return al.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def from_matrix(al: Algebra, R: np.ndarray) -> np.ndarray:
    """Unit quaternion of a rotation matrix, w ≥ 0 up to round-off; no division by a small number anywhere.

    Of the four candidate columns of 4 Q Qᵀ, the one with the largest diagonal element (≥ 1) is normalized.
    """
    t = R[0, 0] + R[1, 1] + R[2, 2]
    wx, wy, wz = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, yz, zx = R[0, 1] + R[1, 0], R[1, 2] + R[2, 1], R[2, 0] + R[0, 2]
    best = al.array([1 + t, wx, wy, wz])
    largest = best[0]
    for i, column in (
        (1, [wx, 1 + R[0, 0] - R[1, 1] - R[2, 2], xy, zx]),
        (2, [wy, xy, 1 + R[1, 1] - R[2, 2] - R[0, 0], yz]),
        (3, [wz, zx, yz, 1 + R[2, 2] - R[0, 0] - R[1, 1]]),
    ):
        better = al.less(largest, column[i])
        best = al.array([al.where(better, new, old) for new, old in zip(column, best, strict=True)])
        largest = al.where(better, column[i], largest)
    return shortest(al, normalize(al, best))


def shortest(al: Algebra, Q: np.ndarray) -> np.ndarray:
    """Of Q and −Q, which are the same rotation, the one with w ≥ 0."""
    flip = al.less(Q[0], 0)
    return al.array([al.where(flip, -element, element) for element in Q])


def exp(al: Algebra, r: np.ndarray) -> np.ndarray:
    """Unit quaternion of a rotation vector r:  (cos θ/2, sin(θ/2) r/θ)."""
    alpha, beta, _ = so3.coefficients(al, r / 2)
    # cos x = 1 − x² β(x)
    return al.concatenate([al.array([1 - (r @ r) / 4 * beta]), alpha * r / 2])


def log(al: Algebra, Q: np.ndarray) -> np.ndarray:
    """Rotation vector of a unit quaternion with w ≥ 0:  r = 2 atan2(|v|, w) v/|v|."""
    w, v = Q[0], Q[1:]
    x = v @ v
    small = al.less(x, 1e-16)
    length = al.sqrt(al.where(small, 1, x))
    # Next to the identity atan2(s, w)/s → 1/w.
    factor = al.where(small, 2 / al.where(small, w, 1), 2 * al.atan2(length, w) / length)
    return factor * v


def rate(al: Algebra, Q: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Q̇ = ½ Q ∘ (0, ω), ω in body axes."""
    return multiply(Q, al.concatenate([al.zeros(1), omega])) / 2
