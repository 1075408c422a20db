"""Broyden's rule: an inverse that learns from every step, as native code.

Of equations r(x) = 0 with H ≈ −(∂r/∂x)⁻¹, a step s = H r that changes r by −w teaches  H ← H + (s − H w) sᵀH / sᵀH w,
so that H w = s. The determinant of H is multiplied by sᵀs / sᵀH w.

Reference: C. G. Broyden, "A class of methods for solving nonlinear simultaneous equations", Math. Comp. 19 (1965).
"""

from __future__ import annotations

import numpy as np

from dalembert.native import native

__all__ = ["learn", "learn_along", "steps_along"]


@native
def learn(H: np.ndarray, step: np.ndarray, change: np.ndarray) -> bool:
    """Improve H by a step s that changed r by −w, ``change`` = w; False if det H would become negative."""
    n = step.shape[0]
    image = H @ change
    scale = 0.0
    for i in range(n):
        scale += step[i] * image[i]
    if scale == 0.0:
        return True
    row = step @ H
    for i in range(n):
        share = (step[i] - image[i]) / scale
        for j in range(n):
            H[i, j] += share * row[j]
    return scale > 0.0


@native
def steps_along(H: np.ndarray, r: np.ndarray, done: np.ndarray, steps: np.ndarray) -> None:
    """s = H r of many problems; zero of those that are done."""
    for k in range(r.shape[0]):
        steps[k] = 0.0
        if done[k] == 0.0:
            steps[k] = H[k] @ r[k]


@native
def learn_along(H: np.ndarray, steps: np.ndarray, changes: np.ndarray) -> None:
    """``learn`` of many problems, whatever becomes of det H."""
    for k in range(steps.shape[0]):
        learn(H[k], steps[k], changes[k])
