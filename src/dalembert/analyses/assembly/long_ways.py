"""Ways to wanted coordinates that are too long for as many small stages as they would take.

A path keeps loops in their branch. What no constraint sees needs none. Lengths are led in longer stages, small against
what can move so far. Angles of loops that would be turned too often are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.joints import Joint

__all__ = ["LARGEST_MOVE", "MOST_STAGES", "refuse_turns", "seen_by_constraints"]

LARGEST_MOVE = 0.25  # how far (in even units) a given value is led in one stage
MOST_STAGES = 40_000
PROBES, SPREAD = 4, 0.1  # positions at which it is looked for what constraints see, and how far (rad) they are apart


def seen_by_constraints(
    dynamics: Dynamics, tree: Any, time: float, q: np.ndarray, parameters: dict[str, float]
) -> np.ndarray:
    """True for every velocity that a constraint on the position sees, here or near by."""
    nv, rng, at = dynamics.nv, np.random.default_rng(0), q
    seen = np.zeros(nv, dtype=bool)
    for _ in range(PROBES):
        A = dynamics.residuals(time, at, np.zeros(nv), parameters).jacobian[: dynamics.holonomic]
        seen |= np.asarray(abs(A).sum(axis=0)).ravel() != 0  # what is not finite sees, too
        at = tree.normalize(tree.integrate(q, SPREAD * dynamics.even.velocities * rng.uniform(-1, 1, nv)))
    return seen


def refuse_turns(dynamics: Dynamics, joints: Mapping[str, tuple[Joint, np.ndarray]]) -> None:
    """Raise if an angle of a loop would be led too far, given joints and how they move: longer stages could lose its
    branch."""
    most = MOST_STAGES * LARGEST_MOVE
    for name, (joint, move) in joints.items():
        turned = np.nan_to_num(np.abs(move))[list(joint.angles)].max(initial=0.0) if joint.nq == joint.nv else 0.0
        if turned > most:
            raise DalembertError(
                f"{dynamics.flat.name!r} cannot be assembled: {name!r} would turn by {turned:.3g} rad from where it "
                f"starts; loops can be followed over at most {most:.3g} rad.  Fix: an initial value with fewer "
                f"whole turns"
            )
