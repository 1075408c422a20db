"""What touches, at one instant and in any algebra: gaps, what slips there, and how both depend on accelerations.

With the gaps g of one-sided constraints and the velocities s of all that rubs:  g̈ = J u̇ + β,  ṡ = S u̇ + σ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.coordinates.moving import moving
from dalembert.equations.mechanism_equations import Equations, part_of

__all__ = ["touches"]


class _Load:
    """The same multiplier everywhere: what friction makes of one unit, less what it is without load, is its grip."""

    def __init__(self, al: Any, size: float):
        self.al, self.size = al, size

    def wrench(self, joint: str) -> np.ndarray:
        return self.al.zeros(6)

    def multiplier(self, constraint: str) -> Any:
        return self.al.constant(self.size)


def touches(e: Equations) -> dict[str, np.ndarray]:
    """Gaps, their rates, J and β; slips in all directions, S and σ; restitution of each gap; for each friction the
    forces at which it slips and by which it sticks, over the multiplier of its contact (0 in joints), and what it is
    without load."""
    al = e.al

    def seen(du: np.ndarray) -> tuple[list[Any], list[Any]]:
        motion = moving(e.tree, e.t, e.q, e.u, du, e.tree.states(e.q, e.u, du))
        return e.gaps(motion), e.slips(motion)

    def accelerations(du: np.ndarray) -> np.ndarray:
        gaps, slips = seen(du)
        return al.array([*(part_of(gap, "a") for gap in gaps), *(part_of(slip, "v") for slip in slips)])

    gaps, slips = seen(al.zeros(e.nv))
    n, rows, bias = len(gaps), al.columns(accelerations, e.nv), accelerations(al.zeros(e.nv))
    rubbing = [(e.flat.constraints[name][0], e.motion.within(e.flat.constraints[name][1])) for name in e.flat.frictions]
    sizes = [
        [
            al.zeros(2) if friction.touches is None else al.array(friction.sizes(motion, _Load(al, size)))
            for size in (0, 1)
        ]
        for friction, motion in rubbing
    ]
    grips, rest = [loaded - free for free, loaded in sizes], [free[0] for free, _ in sizes]
    owners = [e.flat.constraints[name] for name, _ in e.flat.gap_names]
    return {
        "gap": al.array([part_of(gap, "x") for gap in gaps]),
        "gap_rate": al.array([part_of(gap, "v") for gap in gaps]),
        "gap_bias": bias[:n],
        "gap_jacobian": rows[:n],
        "slip": al.array([part_of(slip, "x") for slip in slips]),
        "slip_bias": bias[n:],
        "slip_jacobian": rows[n:],
        "restitution": al.array([e.motion.within(scope).evaluate(contact.restitution) for contact, scope in owners]),
        "grip": al.array(grips) if grips else al.zeros(0, 2),
        "rest": al.array(rest),
    }
