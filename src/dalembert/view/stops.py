"""Marks of limits: how far a hinge may turn, or a slider go, on the body that carries it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sympy.core.function import AppliedUndef

from dalembert.elements.travel import Travel
from dalembert.expressions.symbols import as_reference
from dalembert.model import Mechanism
from dalembert.view.scene import Shape

__all__ = ["stops"]

COLOR = "#c92a2a"
ARC = 24  # points of an arc
FULL = 2 * np.pi


def stops(flat: Any, nominal: Mechanism, placed: Mechanism, body: str, thickness: float) -> list[Shape]:
    """What limits and stops of hinges and sliders look like on the first body of their joints.

    Args:
        nominal: decides what is drawn.
        placed: whose numbers are drawn, in any algebra.
        thickness: of links.
    """
    found: list[Shape] = []
    for joint, lower, upper in _bounds(flat):
        here = placed.joint(joint)
        if here.first != body or here.joint.nv != 1:
            continue
        values = [None if bound is None else placed.evaluate(bound) for bound in (lower, upper)]
        if {"origin", "z"} <= {*here.joint.common}:  # a hinge
            spread = [None if bound is None else float(nominal.evaluate(bound)) for bound in (lower, upper)]
            found += _sector(placed, here, _reach(nominal, joint, thickness), values, spread, thickness)
        elif {"x", "y", "z"} <= {*here.joint.common}:  # a slider
            found += [_plate(here, value, thickness) for value in values if value is not None]
    return found


def _bounds(flat: Any) -> Iterator[tuple[str, Any, Any]]:
    """Joints whose first coordinate is limited, with its bounds."""
    for element, _ in (*flat.constraints.values(), *flat.forces.values()):
        of: Any = getattr(element, "of", None) if isinstance(element, Travel) else None
        if isinstance(of, AppliedUndef):
            reference = as_reference(of)
            if reference.quantity == "q" and reference.index == 0:
                yield reference.element, element.lower, element.upper


def _reach(nominal: Mechanism, joint: str, thickness: float) -> tuple[float, float]:
    """Direction of the second body about the axis while the coordinate is zero, and how far out marks are."""
    here = nominal.joint(joint)
    ends = [nominal.inertia(here.second).com] + [
        (other.X_1P if other.first == here.second else other.X_2S).p
        for other in map(nominal.joint, nominal.flat.joints)
        if here.second in (other.first, other.second) and other.name != joint
    ]
    seen = [here.X_2S.R.T @ (np.asarray(end, dtype=float) - here.X_2S.p) for end in ends]
    far = max(seen, key=lambda d: float(np.hypot(d[0], d[1])))
    return float(np.arctan2(far[1], far[0])), max(0.35 * float(np.hypot(far[0], far[1])), 5 * thickness)


def _sector(
    placed: Mechanism, here: Any, reach: tuple[float, float], values: list[Any], spread: list[Any], thickness: float
) -> list[Shape]:
    """An arc from bound to bound, with an end at each."""
    al, (zero, radius) = placed.al, reach

    def at(angle: Any, out: float) -> np.ndarray:
        along = al.array([out * al.cos(angle + zero), out * al.sin(angle + zero), al.constant(0)])
        return here.X_1P.p + here.X_1P.R @ along

    lines = [[at(value, 0.75 * radius), at(value, 1.15 * radius)] for value in values if value is not None]
    if None not in spread and 0 < spread[1] - spread[0] < FULL:
        low, high = values
        lines.append([at(low + (high - low) * (k / (ARC - 1)), radius) for k in range(ARC)])
    return [Shape("line", points=np.array(line), radius=0.3 * thickness, color=COLOR) for line in lines]


def _plate(here: Any, value: Any, thickness: float) -> Shape:
    """A bar across the way of a slider."""
    middle, side = here.X_1P.p + value * here.X_1P.R[:, 2], 3 * thickness * here.X_1P.R[:, 0]
    return Shape("line", points=np.array([middle - side, middle + side]), radius=0.5 * thickness, color=COLOR)
