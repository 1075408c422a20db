"""The nonholonomic mechanisms of the library: every formulation that takes them finds the same accelerations."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.refusals import compiled
from support.states import accelerations_in_world, body_motion, consistent_state, transfer

import dalembert as da
from dalembert.coordinates import COORDINATES
from dalembert.dynamics import Dynamics
from dalembert.formulations import FORMULATIONS

NAMES = ("rolling-disc", "rolling-sphere", "knife-edge", "snakeboard", "bicycle")
SEEDS = (0, 1)
TIME = 0.3
# Of the largest acceleration. What a penalty leaves open is of the order 1/α of the forces.
AGREEMENT, PENALTY = 1e-9, 1e-5
PAIRS = [
    (formulation, coordinates)
    for formulation, kind in FORMULATIONS.items()
    for coordinates in COORDINATES
    if coordinates in kind.supports().coordinates and kind.supports().nonholonomic
]


@cache
def reference(name: str, seed: int) -> tuple[np.ndarray, tuple]:
    """Accelerations of all bodies at a random state, and that state: poses and twists."""
    dynamics = Dynamics(da.library.build(name), "lagrange-multipliers", "relative")
    q, u = consistent_state(dynamics, seed, t=TIME)
    du = dynamics.acceleration(q, u, t=TIME)
    return accelerations_in_world(dynamics.coordinates, q, u, du), body_motion(dynamics.coordinates, q, u)


def every_day(name: str, coordinates: str) -> bool:
    """Bicycles in coordinates with many constraints take a while to compile."""
    return coordinates == "relative" or name in ("rolling-disc", "knife-edge")


CASES = [
    pytest.param(name, *pair, marks=() if every_day(name, pair[1]) else pytest.mark.slow, id=" ".join((name, *pair)))
    for name in NAMES
    for pair in PAIRS
]


@pytest.mark.parametrize(("name", "formulation", "coordinates"), CASES)
def test_same_accelerations(name, formulation, coordinates):
    dynamics = compiled(da.library.build(name), formulation, coordinates)
    limit = AGREEMENT if FORMULATIONS[formulation].supports().exact else PENALTY
    for seed in SEEDS:
        expected, state = reference(name, seed)
        q, u = transfer(dynamics.coordinates, *state)
        du = dynamics.acceleration(q, u, t=TIME)
        found = accelerations_in_world(dynamics.coordinates, q, u, du)
        np.testing.assert_allclose(found, expected, rtol=0, atol=limit * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_states_are_in_motion(name):
    """Accelerations of a state at rest would say little."""
    expected, (_, twists) = reference(name, 0)
    assert np.abs(expected).max() > 0.1
    assert max(np.abs(twist).max() for twist in twists.values()) > 0.1
