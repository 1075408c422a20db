"""Which friction slips and which sticks at the reference of small motions.

Where it slips, its force −μ N v/|v| is smooth, and follows the motion like any force that depends on reactions. Where
it sticks with force to spare, small motions leave it stuck: it is a constraint. Between the two, motions to one side
differ from those to the other.
"""

from __future__ import annotations

import numpy as np

from dalembert.analyses.contacts.stick import grips, settle_friction
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError

__all__ = ["settled_friction"]

SPARE = 1e-9  # of what friction can hold: with less to spare it is about to slip
SIDES = (
    "so motions to one side differ from those to the other.  Fix: at= a state in which it slips, or sticks with force "
    "to spare; model.remove({name!r}) leaves it out; a damper in its place"
)


def settled_friction(d: Dynamics, t: float, q: np.ndarray, u: np.ndarray, given: dict[str, float]) -> dict[str, float]:
    """The parameters with those that tell what sticks and which way the rest slips.

    Friction that the caller holds by its switch stays a constraint, whatever it could bear.

    Raises:
        DalembertError: it is about to slip, or nothing is known of it.
    """
    flat = d.flat
    if not flat.off(given).intersection(flat.frictions):
        return given
    if not d.follows_switches:
        raise DalembertError(
            f"linearize: formulation {d.formulation.name!r} uses variables of its own and cannot handle "
            f"friction that sticks ({', '.join(flat.frictions)}).  Fix: formulation='lagrange-multipliers'"
        )
    x = np.concatenate([q, u, np.zeros(1)])
    values, trouble = settle_friction(d, t, x, given)
    if trouble:
        raise DalembertError(f"linearize: {trouble}")
    for name, (force, most) in grips(d, t, x, values).items():
        if force >= (1.0 - SPARE) * most:
            raise DalembertError(
                f"linearize: {name!r} holds {force:.6g} and can hold {most:.6g}: it is about to slip, "
                f"{SIDES.format(name=name)}"
            )
    slips, off = np.atleast_1d(d.kernels.slip_kernel(t, q, u, d.parameters(values))), flat.off(values)
    for name, own in zip(flat.frictions, flat.slip_parts, strict=True):
        touches = flat.constraints[name][0].touches not in off
        if name in off and touches and not np.any(slips[own]):
            raise DalembertError(f"linearize: {name!r} begins to slip there, {SIDES.format(name=name)}")
    return values
