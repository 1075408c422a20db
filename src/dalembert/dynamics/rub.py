"""Friction that follows from reactions which follow from friction, as native code.

Accelerations and multipliers are linear in the forces of friction p, and p = −μ sign(v) N(u̇, λ). Broyden's method finds
them from those of the last evaluation: for one force, whose N is linear, it is there after two steps.
"""

from __future__ import annotations

import numpy as np

from dalembert.native import native
from dalembert.numerics.context import JAMMED, OK, Context, give_up

__all__ = ["rubbing_rhs"]

MOST_TURNS = 60
CLOSE = 1e-13  # of the largest force


@native
def _missing(c: Context, t: float, y: np.ndarray, dy: np.ndarray, r: np.ndarray) -> int:
    """By how much the forces of friction among the parameters miss Coulomb's law."""
    status = c.frictionless(t, y, dy)
    if status != OK:
        return status
    sizes = c.friction(t, y[: c.nq + c.nv], c.parameters, dy[c.nq : c.nq + c.nv], c.multipliers)
    for i in range(c.n_frictions):
        r[i] = -c.parameters[c.friction_force[i]]
        if c.parameters[c.friction_switch[i]] == 0.0:
            r[i] -= c.parameters[c.friction_slip[i]] * sizes[2 * i]
    return OK


@native
def rubbing_rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """ẏ with the forces of friction that the reactions demand."""
    n = c.n_frictions
    r, before, step, image, H = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.eye(n)
    status = _missing(c, t, y, dy, r)
    for turn in range(MOST_TURNS):
        if status != OK:
            return status
        missed, size = 0.0, 1e-300
        for i in range(n):
            missed = max(missed, abs(r[i]))
            size = max(size, max(abs(c.parameters[c.friction_force[i]]), abs(r[i])))
        if not missed > CLOSE * size:
            return _stands(c, H) if n == 1 and turn > 1 else OK
        step[:] = H @ r
        for i in range(n):
            c.parameters[c.friction_force[i]] += step[i]
        before[:] = r
        status = _missing(c, t, y, dy, r)
        # H ← H + (s − H w) sᵀH / sᵀH w  with  w = before − r, so that H w = s
        image[:] = H @ (before - r)
        scale = 0.0
        for i in range(n):
            scale += step[i] * image[i]
        if scale != 0.0:
            row = step @ H
            for i in range(n):
                for j in range(n):
                    H[i, j] += (step[i] - image[i]) * row[j] / scale
    return give_up(c, JAMMED)


@native
def _stands(c: Context, H: np.ndarray) -> int:
    """With one force: friction that grows faster than the force which it opposes has no solution, or two."""
    return OK if H[0, 0] > 0.0 else give_up(c, JAMMED)
