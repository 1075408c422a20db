"""All formulations in all their coordinates agree on a generated family of mechanisms: on the accelerations of all
bodies, and on every reaction that is unique."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.family import FAMILY
from support.pairs import PAIRS
from support.refusals import compiled
from support.states import accelerations_in_world, body_motion, consistent_state, equations_at, transfer

import dalembert as da
from dalembert.dynamics import Dynamics
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.penalty import Penalty

# Only round-off differs, amplified by the constraints' condition.
AGREEMENT = 1e-9
# Penalty methods leave 1/α of the forces open.
APPROXIMATE = 1e-3
TIME = 0.3

# One of each sort at once, the whole family with the slow tests: tracing takes seconds for each.
QUICK = (
    "1 in space, closed by revolute",
    "1 in the plane",
    "2 in the plane, driven",
    "1 rolling",
    "over-constrained bennett",
)
MEMBERS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FAMILY]


@cache
def model_of(name: str) -> da.Model:
    return FAMILY[name]()


@cache
def reference(name: str) -> Dynamics:
    return Dynamics(model_of(name), "lagrange-multipliers", "relative")


@cache
def start(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A consistent state that is not the drawn one."""
    dynamics = reference(name)
    if "over-constrained" not in name:
        return consistent_state(dynamics, 0, t=TIME, spread=0.1)
    joint = model_of(name).joints[0].name
    state = da.assemble(model_of(name), {joint: 0.4}, {joint: 1.3}, time=TIME)
    return state.q, state.u


@cache
def doctor(name: str) -> da.analyses.Redundancy:  # type: ignore[name-defined]
    q, u = start(name)
    return da.redundancy(model_of(name), da.State(TIME, q, u, reference(name).coordinates, {}))


@cache
def placed(name: str, coordinates: str) -> tuple[Dynamics, np.ndarray, np.ndarray]:
    """The equations by Lagrange multipliers, and the state, in some coordinates."""
    q, u = start(name)
    if coordinates == "relative":
        return reference(name), q, u
    flat = reference(name)
    equations = equations_at(flat.coordinates, TIME, q, u)
    turns = {(j, i): x for j in flat.flat.joints for i, x in enumerate(equations.joint_coordinates(j)[0])}
    dynamics = Dynamics(model_of(name), "lagrange-multipliers", coordinates)
    return dynamics, *transfer(dynamics.coordinates, *body_motion(flat.coordinates, q, u), turns)


def reactions(name: str, coordinates: str, du: np.ndarray, multipliers: np.ndarray) -> dict[str, np.ndarray]:
    dynamics, q, u = placed(name, coordinates)
    return equations_at(dynamics.coordinates, TIME, q, u).reactions(du, multipliers)


@cache
def expected(name: str, coordinates: str = "relative") -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Accelerations of bodies, multipliers, reactions."""
    dynamics, q, u = placed(name, coordinates)
    du, multipliers = dynamics.solve(q, u, t=TIME)
    bodies = accelerations_in_world(dynamics.coordinates, q, u, du, TIME)
    return bodies, multipliers, reactions(name, coordinates, du, multipliers)


def equations_by(name: str, formulation: str, coordinates: str) -> Dynamics:
    """The equations by a formulation; those that take the same blocks share the kernel."""
    if formulation == "penalty":  # heavier than by default: one of the loops hardly resists
        return da.compile(model_of(name), formulation=Penalty(alpha=1e9), coordinates=coordinates)
    return compiled(model_of(name), formulation, coordinates)


def refused(formulation: str, name: str) -> bool:
    support, rows = FORMULATIONS[formulation].supports(), reference(name).rows
    holonomic = all(row.holonomic for row in rows)
    return not (
        support.closed_loops
        and (support.nonholonomic or holonomic)
        and (support.redundant_constraints or not doctor(name).redundant)
        and (support.rheonomic or "driven" not in name)
    )


@pytest.mark.parametrize("name", MEMBERS)
def test_the_family_is_what_it_says(name):
    """Loops, freedom, redundancy; and states that satisfy the constraints and move."""
    found, (q, u) = doctor(name), start(name)
    if not name.startswith("over"):
        assert len(da.inspect(model_of(name)).loops) == int(name[0]) or "rolling" in name
    if "in the plane" in name:
        assert found.redundant == 3 * int(name[0])
    elif name.startswith("over"):
        assert found.redundant > 0 and found.mobility == 1
    else:
        # Random loops may lock two bodies together, and then more equations than needed do so.
        assert found.mobility > 0
    nonholonomic = sum(not row.holonomic for row in reference(name).rows)
    assert found.mobility == found.gruebler + found.redundant - nonholonomic
    assert not found.singular
    equations = equations_at(reference(name).coordinates, TIME, q, u)
    assert np.abs(equations.position_residual()).max() < 1e-11
    assert np.abs(equations.velocity_residual()).max() < 1e-10 * (1 + np.abs(u).max())
    assert np.abs(expected(name)[0]).max() > 1e-2


@pytest.mark.parametrize(("formulation", "coordinates"), PAIRS, ids=lambda part: part)
@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.slow
def test_bodies_and_unique_reactions_agree(name, formulation, coordinates):
    if refused(formulation, name):
        pytest.skip(f"{formulation} does not take this")
    dynamics = equations_by(name, formulation, coordinates)
    _, q, u = placed(name, coordinates)
    du, multipliers = dynamics.solve(q, u, t=TIME)
    bodies = accelerations_in_world(dynamics.coordinates, q, u, du, TIME)
    tolerance = AGREEMENT if FORMULATIONS[formulation].supports().exact else APPROXIMATE
    wanted, _, wrenches = expected(name)
    np.testing.assert_allclose(bodies, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())
    _, least, same = expected(name, coordinates)
    # The same multipliers make the same reactions; others are worked out.
    near = len(least) == len(multipliers) and np.abs(multipliers - least).max() <= AGREEMENT * np.abs(least).max()
    got = same if near else reactions(name, coordinates, du, multipliers)
    size = max(np.abs(wrench).max() for wrench in wrenches.values())
    for joint, wrench in wrenches.items():
        error = np.abs(got[joint] - wrench)[doctor(name).unique[joint]]
        assert error.max(initial=0.0) <= 10 * tolerance * size, f"{joint}: {got[joint]} instead of {wrench}"
