"""Unit quaternions of many rotation matrices along a motion, as native code."""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import native

__all__ = ["is_rotation", "orientations_along"]

ORTHOGONAL, STRETCHED = 1e-12, 1e-5  # how far axes of a body may be off right angles and off length one


@native
def is_rotation(R: np.ndarray) -> bool:
    """True if the axes, nine numbers row by row, are at right angles and of length one."""
    for i in range(3):
        for j in range(i, 3):
            s = R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] + R[3 * i + 2] * R[3 * j + 2]
            limit = ORTHOGONAL
            if i == j:
                s -= 1.0
                limit += STRETCHED
            if abs(s) > limit:
                return False
    return True


@native
def _orientation(R: np.ndarray, Q: np.ndarray):
    """(w, x, y, z) from the largest of the four columns of 4 Q Qᵀ (see ``spatial.quaternion``)."""
    trace = R[0] + R[4] + R[8]
    i = 0
    for k in range(1, 3):
        if R[4 * k] > R[4 * i]:
            i = k
    if trace > R[4 * i]:
        Q[0] = 1.0 + trace
        Q[1] = R[7] - R[5]
        Q[2] = R[2] - R[6]
        Q[3] = R[3] - R[1]
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        Q[0] = R[3 * k + j] - R[3 * j + k]
        Q[1 + i] = 1.0 - trace + 2.0 * R[4 * i]
        Q[1 + j] = R[3 * j + i] + R[3 * i + j]
        Q[1 + k] = R[3 * k + i] + R[3 * i + k]
    size = math.sqrt(Q[1] * Q[1] + Q[2] * Q[2] + Q[3] * Q[3] + Q[0] * Q[0])
    for k in range(4):
        Q[k] /= size


@native
def orientations_along(R: np.ndarray, Q: np.ndarray) -> bool:
    """Quaternions (times, bodies, 4) of axes (times, bodies, 9), continuous in time; True if all are rotations."""
    rotations = True
    for body in range(R.shape[1]):
        sign = 1.0
        for i in range(R.shape[0]):
            rotations = rotations and is_rotation(R[i, body])
            _orientation(R[i, body], Q[i, body])
            if i > 0:
                turn = 0.0
                for k in range(4):
                    turn += Q[i, body, k] * Q[i - 1, body, k]
                if turn != 0.0:
                    sign = math.copysign(1.0, turn)
                for k in range(4):
                    Q[i, body, k] *= sign
    return rotations
