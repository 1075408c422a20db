"""What touches, at one instant and in any algebra: gaps, what slips there, and how both depend on accelerations.

With the gaps g of one-sided constraints and the velocities s of all that rubs:  g̈ = J u̇ + β,  ṡ = S u̇ + σ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.coordinates.moving import TreeMotion, moving
from dalembert.equations.mechanism_equations import Equations, Reactions, part_of

__all__ = ["friction_sizes", "gaps", "slips", "touches"]


class _Load:
    """The same multiplier everywhere: what friction makes of one unit, less what it is without load, is its grip."""

    def __init__(self, al: Any, size: float):
        self.al, self.size = al, size

    def wrench(self, joint: str) -> np.ndarray:
        return self.al.zeros(6)

    def multiplier(self, constraint: str) -> Any:
        return self.al.constant(self.size)


def gaps(e: Equations, motion: TreeMotion | None = None) -> list[Any]:
    """All gaps of one-sided constraints (see ``Flat.gap_names``), of this motion or another."""
    motion, contacts = motion or e.motion, [e.flat.constraints[name] for name in e.flat.contacts]
    return [gap for contact, scope in contacts for gap in contact.gaps(motion.within(scope))]


def slips(e: Equations, motion: TreeMotion | None = None) -> list[Any]:
    """The velocities of all friction, in each of its directions (see ``Flat.slip_parts``)."""
    motion, frictions = motion or e.motion, [e.flat.constraints[name] for name in e.flat.frictions]
    return [part for friction, scope in frictions for part in friction.slip(motion.within(scope))]


def friction_sizes(e: Equations, du: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """How large each friction is while it slips, and may be while it sticks: (friction, 2)."""
    reactions, found = Reactions(e, du, multipliers), list[list[Any]]()
    for name in e.flat.frictions:
        friction, scope = e.flat.constraints[name]
        found.append(friction.sizes(e.motion.within(scope), reactions))
    return e.al.array(found)


def touches(e: Equations) -> dict[str, np.ndarray]:
    """Gaps, their rates, J and β; slips in all directions, S and σ; restitution of each gap; for each friction the
    forces at which it slips and by which it sticks, over the multiplier of its contact (0 in joints), and what it is
    without load."""
    al = e.al

    def seen(du: np.ndarray) -> tuple[list[Any], list[Any]]:
        motion = moving(e.tree, e.t, e.q, e.u, du, e.tree.states(e.q, e.u, du))
        return gaps(e, motion), slips(e, motion)

    def accelerations(du: np.ndarray) -> np.ndarray:
        opening, sliding = seen(du)
        return al.array([*(part_of(gap, "a") for gap in opening), *(part_of(slip, "v") for slip in sliding)])

    open_by, sliding = seen(al.zeros(e.nv))
    n, rows, bias = len(open_by), al.columns(accelerations, e.nv), accelerations(al.zeros(e.nv))
    frictions = [e.flat.constraints[name] for name in e.flat.frictions]
    sizes = [
        [
            al.zeros(2)
            if friction.touches is None
            else al.array(friction.sizes(e.motion.within(scope), _Load(al, size)))
            for size in (0, 1)
        ]
        for friction, scope in frictions
    ]
    grips, rest = [loaded - free for free, loaded in sizes], [free[0] for free, _ in sizes]
    owners = [e.flat.constraints[name] for name, _ in e.flat.gap_names]
    return {
        "gap": al.array([part_of(gap, "x") for gap in open_by]),
        "gap_rate": al.array([part_of(gap, "v") for gap in open_by]),
        "gap_bias": bias[:n],
        "gap_jacobian": rows[:n],
        "slip": al.array([part_of(slip, "x") for slip in sliding]),
        "slip_bias": bias[n:],
        "slip_jacobian": rows[n:],
        "restitution": al.array([e.motion.within(scope).evaluate(contact.restitution) for contact, scope in owners]),
        "grip": al.array(grips) if grips else al.zeros(0, 2),
        "rest": al.array(rest),
    }
