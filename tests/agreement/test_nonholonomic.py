"""The nonholonomic mechanisms of the library: every formulation that takes them finds the same accelerations."""

from __future__ import annotations

from functools import cache
from typing import Any

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


def every_day(name: str, formulation: str, coordinates: str) -> bool:
    """The bicycle has all that the others have: each formulation takes it in the coordinates it names first."""
    return name == "bicycle" and coordinates == FORMULATIONS[formulation].supports().coordinates[0]


def cases(*pairs: tuple[str, str]) -> list[Any]:
    every = [(name, *pair) for name in NAMES for pair in pairs]
    return [pytest.param(*one, marks=() if every_day(*one) else pytest.mark.slow, id=" ".join(one)) for one in every]


@pytest.mark.parametrize(("name", "formulation", "coordinates"), cases(*PAIRS))
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


# Runs

ANALYTICAL = [(name, "generalized") for name, kind in FORMULATIONS.items() if hasattr(kind, "derive")]
# Long enough for the sleigh to turn round, in which rates of its x or y would fail as quasi-velocities.
DURATION = {"knife-edge": 3.0}


@cache
def run_of(name: str, formulation: str, coordinates: str) -> da.Trajectory:
    options: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "output_step": 0.1}
    model, duration = da.library.build(name), DURATION.get(name, 1.0)
    return da.simulate(model, duration, formulation=formulation, coordinates=coordinates, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "formulation", "coordinates"),
    [pytest.param(name, *pair, id=f"{name} {pair[0]}") for name in NAMES for pair in ANALYTICAL],
)
def test_analytical_formalisms_run(name, formulation, coordinates):
    """In their own variables: quasi-velocities, momenta, fewer of them."""
    expected, run = run_of(name, "lagrange-multipliers", "relative"), run_of(name, formulation, coordinates)
    assert run.certificate.trusted, run.certificate
    position = run.data.position.sel(body=expected.data.body)
    np.testing.assert_allclose(position, expected.data.position, rtol=0, atol=1e-8)
