"""The nonholonomic mechanisms of the library: every formulation that takes them finds the same accelerations."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from support.pairs import PAIRS
from support.refusals import compiled
from support.states import accelerations_in_world, body_motion, consistent_state, transfer

import dalembert as da
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.dynamics import Dynamics
from dalembert.formulations import FORMULATIONS

NAMES = ("rolling-disc", "rolling-sphere", "knife-edge", "snakeboard", "bicycle")
SEEDS = (0, 1)
TIME = 0.3
# Of the largest acceleration. What a penalty leaves open is of the order 1/α of the forces.
AGREEMENT, PENALTY = 1e-9, 1e-5
TAKEN = [(f, c) for f, c in PAIRS if FORMULATIONS[f].supports().nonholonomic]


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


@pytest.mark.parametrize(("name", "formulation", "coordinates"), cases(*TAKEN))
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


ANALYTICAL = [(name, "generalized") for name, kind in FORMULATIONS.items() if hasattr(kind, "derive")]


@pytest.mark.parametrize(("name", "formulation", "coordinates"), cases(*ANALYTICAL))
def test_derived_equations_hold(name, formulation, coordinates):
    """What a formalism derives, and prints:  K ẇ = k + Aᵀλ  and  A ẇ + γ = 0  along the true motion, for some λ."""
    dynamics = Dynamics(da.library.build(name), formulation, coordinates)
    e, al, symbols = dynamics.equations(), CASADI, dynamics.symbols
    derived = dynamics.formulation.derive(dynamics.formulation.mechanics(e))  # type: ignore[attr-defined]
    definition = al.concatenate([derived.definition, derived.constant_definitions])
    acceleration = al.symbols("acceleration", dynamics.nv)
    rates = al.rate(definition, e.q, e.qdot()) + al.rate(definition, e.u, acceleration[1])
    rates = rates + al.rate(definition, al.vector([e.t]), al.vector([1.0]))
    S = al.eye(len(derived.w)) if derived.metric is None else derived.metric
    parts = [S @ derived.matrix, S @ derived.forcing, derived.jacobian, derived.gamma]
    known = al.concatenate([derived.w, derived.constants])
    parts = [al.substitute(np.asarray(part), known, definition) for part in parts]
    given = [*(symbols[key][0] for key in "tqup"), acceleration[0]]
    evaluate = ca.Function("derived", given, [al.to_sx(part) for part in (*parts, rates)])
    reference_dynamics = Dynamics(dynamics.model, "lagrange-multipliers", coordinates)
    for seed in SEEDS:
        q, u = transfer(dynamics.coordinates, *reference(name, seed)[1])
        du = reference_dynamics.acceleration(q, u, t=TIME)
        found = [np.array(value, dtype=float) for value in evaluate(TIME, q, u, dynamics.parameters(), du)]
        K, k, A, gamma, dw = (value.reshape(np.shape(part)) for value, part in zip(found, (*parts, rates), strict=True))
        dw, G_dot = dw[: len(derived.w)], dw[len(derived.w) :]
        left = K @ dw - k
        left = left - A.T @ np.linalg.lstsq(A.T, left, rcond=None)[0]
        size = max(np.abs(K * dw).max(), np.abs(k).max(), 1.0)
        np.testing.assert_allclose(left, 0, rtol=0, atol=AGREEMENT * size)
        np.testing.assert_allclose(A @ dw + gamma, 0, rtol=0, atol=AGREEMENT * max(1.0, np.abs(gamma).max(initial=0)))
        np.testing.assert_allclose(G_dot, 0, rtol=0, atol=AGREEMENT * size)


# Runs

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
