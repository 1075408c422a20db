"""Friction in a run: what sticks and what slips, at the start and wherever that may change.

What is at rest sticks if the force that holds it is at most what friction gives; else it slips against that force.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.constraints.dry_friction import STOPPED
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError

__all__ = ["Grip", "grips", "settle_friction"]

STILL = 1e-9  # a velocity (against the fastest one) that is none
TORN = 1e-7  # an acceleration (against the largest one) that what sticks does not have
TOGETHER = 1e-9  # what is that near to slipping when something else slips does so too
MORE = 1e-12  # by which a force must exceed what friction holds, relative


def settle_friction(
    d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float], stopped: str = "", loose: str = ""
) -> tuple[dict[str, float], str | None]:
    """Parameters that tell what sticks and which way the rest slips; and why there is no answer, if so.

    Args:
        stopped: friction that just came to a halt.
        loose: friction that just broke loose.
    """
    flat, q, u = d.flat, x[: d.nq], x[d.nq : d.nq + d.nv]
    slips = np.atleast_1d(d.kernels.slip_kernel(t, q, u, d.parameters(parameters)))
    values, still = dict(parameters), list[str]()
    least = STILL * (1.0 + np.abs(u).max(initial=0.0))
    speeds = np.sqrt(np.add.reduceat(slips * slips, [own.start for own in flat.slip_parts])).tolist()
    for name, own, speed in zip(flat.frictions, flat.slip_parts, speeds, strict=True):
        friction, switch, ways = flat.constraints[name][0], flat.switches[name], own.stop - own.start
        values[switch] = 0.0
        if friction.touches is not None and not values.get(flat.switches[friction.touches]):
            values.update(dict.fromkeys(friction.parameters(), 0.0))
        elif name in (stopped, loose) or speed <= (least if ways == 1 else max(least, 2 * STOPPED)):
            still.append(name)
            values[switch] = 1.0
            values.update(dict.fromkeys(friction.parameters(), 0.0))
        else:
            values.update(friction.sliding(slips[own]))
    breaking = [loose, *_breaking(d, t, x, parameters)] if loose else []
    for _ in range(len(still) + 1):
        try:
            du, forces = d.solve(q, u, t=t, parameters=values)
        except DalembertError as error:
            return values, str(error)
        held = {name: forces[list(d.rows.of([name]))] for name in still if values[flat.switches[name]]}
        if not held:
            break
        sizes = _holding(d, values)
        if np.abs(_rates(d, t, x, values, du)).max() > TORN:
            # Not all of it can stick: what drives it moves it anyway.
            free, _ = d.solve(q, u, t=t, parameters={**values, **{flat.switches[name]: 0.0 for name in held}})
            rates = _rates(d, t, x, values, free)
            moving = {name: rates[list(d.rows.of([name]))] for name in held}
            worst = max(moving, key=lambda name: float(np.linalg.norm(moving[name])))
            values |= {flat.switches[worst]: 0.0, **flat.constraints[worst][0].started(-moving[worst])}
            continue
        over = {name: _over(force, sizes[flat.frictions.index(name)]) for name, force in held.items()}
        worst = next((name for name in breaking if name in held), max(over, key=lambda name: over[name], default=""))
        if not worst or (worst not in breaking and over[worst] <= 0.0):
            break
        values |= {flat.switches[worst]: 0.0, **flat.constraints[worst][0].started(held[worst])}
    return values, None


class Grip(NamedTuple):
    """The force (N, or N m of a torque) of friction that sticks, and the most that it can be."""

    force: float
    most: float


def grips(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> dict[str, Grip]:
    """Of all friction that sticks, by name."""
    flat = d.flat
    _, forces = d.solve(x[: d.nq], x[d.nq : d.nq + d.nv], t=t, parameters=parameters)
    return {
        name: Grip(float(np.linalg.norm(forces[list(d.rows.of([name]))])), float(most))
        for name, most in zip(flat.frictions, _holding(d, parameters), strict=True)
        if parameters.get(flat.switches[name])
    }


def _holding(d: Dynamics, parameters: dict[str, float]) -> np.ndarray:
    """How much each friction may be while it sticks, after an evaluation."""
    return np.array(d.evaluation(parameters).friction.outputs)[1 : 2 * len(d.flat.frictions) : 2]


def _over(force: np.ndarray, size: float) -> float:
    """By how much what holds it is more than friction gives."""
    return float(np.linalg.norm(force)) - size * (1.0 + MORE)


def _breaking(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> list[str]:
    """What sticks and is about to slip at the same instant."""
    held = grips(d, t, x, parameters)
    return [name for name, grip in held.items() if grip.force >= (1.0 - TOGETHER) * grip.most]


def _rates(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float], du: np.ndarray) -> np.ndarray:
    """A u̇ + γ of all rows, relative to the largest acceleration."""
    q, u = x[: d.nq], x[d.nq : d.nq + d.nv]
    blocks = d.dynamics_kernel(t, q, u, d.parameters(parameters), np.zeros(d.nv))
    rates = np.asarray(blocks.jacobian)[: len(d.rows)] @ du + np.asarray(blocks.gamma)[: len(d.rows)]
    return rates / (1.0 + np.abs(du).max(initial=0.0))
