"""Sizes that errors of a motion refer to, in units of the mechanism, and the accuracy that it is held to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.integrators import Integrator
from dalembert.numerics.along import largest_along
from dalembert.trajectory.outcome import Outcome

__all__ = ["ENOUGH", "LEAST_SHARE", "LEAST_SIZE", "accuracy_of", "motion_sizes", "motion_units", "sizes_of_motion"]

# Accuracy that a run is held to if none is given: so many tolerances, but this is enough if it is more than ten.
TOLERANCES, ENOUGH, LEAST_TOLERANCES = 1e4, 1e-3, 10.0

# Sizes that errors refer to: at least this share of the largest entry of its kind, and this besides, in units of the
# mechanism: lengths that are not everyday ones count in their own size, not below the shortest one (m).
LEAST_SHARE, LEAST_SIZE, SHORTEST = 0.01, 0.01, 1e-7
EVERYDAY = (1 / 32, 1024.0)  # m
LONGEST = 1024.0  # s: velocities in runs that last longer count in lengths over that time


def accuracy_of(method: Integrator, given: float | None, exact: bool = True) -> float:
    """Accuracy that a run is held to, relative to the size of the motion: given, or by the tolerance.

    Args:
        exact: whether its equations satisfy the constraints exactly; otherwise a tolerance tells nothing of its error.
    """
    if given is not None:
        return given
    rtol = getattr(method, "rtol", None) if method.adaptive and exact else None
    return ENOUGH if rtol is None else min(TOLERANCES * rtol, max(ENOUGH, LEAST_TOLERANCES * rtol))


def motion_sizes(
    states: np.ndarray, groups: Sequence[slice], unit: Sequence[slice] = (), units: np.ndarray | None = None
) -> np.ndarray:
    """Sizes that errors of the states refer to.

    Args:
        groups: entries of one kind; those with one unit count at least a hundredth of the largest.
        unit: entries whose size is 1, such as quaternions.
        units: of the entries; default: 1.
    """
    largest = largest_along(states)
    sizes, units = largest.copy(), np.ones(len(largest)) if units is None else units
    for group in groups:
        mine, own = sizes[group], units[group]
        for one in set(
            own.tolist()
        ):  # angles and lengths have nothing in common where lengths have a unit of their own
            at = own == one
            mine[at] = np.maximum(mine[at], LEAST_SHARE * mine[at].max())
    for part in unit:
        sizes[part] = 1.0
    return sizes


def motion_units(dynamics: Dynamics, states: np.ndarray, span: float) -> np.ndarray:
    """Of coordinates and velocities: what is everyday, or the size of the mechanism and the time that it is run for.

    Args:
        states: of the run, as far as they are known; the first one at least.
        span: how long it lasts (s).
    """
    nq, nv = dynamics.nq, dynamics.nv
    units = np.ones(nq + nv)
    length = dynamics.coordinates.usual_arm
    if length is not None and EVERYDAY[0] <= length <= EVERYDAY[1] and span <= LONGEST:
        return units
    of_q, of_u = dynamics.coordinates.lengths(states[0, :nq])
    if length is None:  # nothing is drawn that tells: the way that is gone
        length = max(float(np.abs(states[:, :nq][:, of_q]).max(initial=0.0)), SHORTEST)
        length = min(length, 1.0) if length > SHORTEST else 1.0
    length = 1.0 if EVERYDAY[0] <= length <= EVERYDAY[1] else length
    units[:nq][of_q] = units[nq:][of_u] = length
    # A large mechanism does not go its own length in a second.
    units[nq:] /= span if span > LONGEST or (length != 1.0 and span > 1.0) else 1.0
    return units


def sizes_of_motion(dynamics: Dynamics, outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """Of coordinates and velocities; and their units."""
    times, states = outcome.times, outcome.result.states
    assert times is not None
    nq, nv = dynamics.nq, dynamics.nv
    units = motion_units(dynamics, states, float(times[-1] - times[0]))
    kinds = [slice(0, nq), slice(nq, nq + nv)]
    return motion_sizes(states[:, : nq + nv], kinds, dynamics.coordinates.quaternions, units), units
