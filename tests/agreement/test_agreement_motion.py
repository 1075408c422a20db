"""Every formulation in all its coordinates gives every body the acceleration that an independent solution gives it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.cases import CASES, TREES, case, parallelogram
from support.pairs import ANALYTICAL, PAIRS
from support.refusals import compiled
from support.states import accelerations_in_world, body_motion, consistent_state, equations_at, transfer

from dalembert.algebra import NUMPY
from dalembert.coordinates import COORDINATES
from dalembert.dynamics import Dynamics
from dalembert.formulations import FORMULATIONS
from dalembert.fuzz.oracle import Oracle
from dalembert.spatial import Pose, so3

# Same mechanics in other coordinates: only round-off differs, amplified by the constraints' condition (below 1e5).
AGREEMENT = 1e-9
# Positions are projected to 1e-12 m or rad, velocities follow.
ON_CONSTRAINTS = 1e-11
TIME = 0.3
SEEDS = (0, 1)

EXACT = [name for name, formulation in FORMULATIONS.items() if formulation.supports().exact]
COMBINATIONS = [(f, c) for f, c in PAIRS if f in EXACT]
# Most formulations get the same blocks: a few cases of each are enough for every day, the others are slow verification.
EVERY_DAY = (
    "three loops", "driven slider crank", "a rolling disc in a loop", "welded and massless parts",
    "equations of position and velocity", "planar parallelogram with spatial hinges",
)  # fmt: skip
THOROUGH = {("lagrange-multipliers", "relative"), ("lagrange-multipliers", "natural"), ("recursive", "relative")}


def _combination(name: str, formulation: str, coordinates: str):
    often = EVERY_DAY[1:3] if formulation in ANALYTICAL else EVERY_DAY
    rare = (formulation, coordinates) not in THOROUGH and name not in often
    return pytest.param(name, formulation, coordinates, marks=pytest.mark.slow if rare else ())


@cache
def dynamics_of(name: str, formulation: str, coordinates: str) -> Dynamics:
    return compiled(case(name), formulation, coordinates)


@cache
def physical_state(name: str, seed: int):
    """Poses, twists and joint coordinates of a random consistent state."""
    dynamics = dynamics_of(name, "lagrange-multipliers", "relative")
    q, u = consistent_state(dynamics, seed, t=TIME)
    equations = equations_at(dynamics.coordinates, TIME, q, u)
    joints = {joint: equations.joint_coordinates(joint)[0] for joint in dynamics.flat.joints}
    return body_motion(dynamics.coordinates, q, u), joints, (q, u)


@cache
def truth(name: str, seed: int):
    (poses, twists), joints, _ = physical_state(name, seed)
    flat = dynamics_of(name, "lagrange-multipliers", "relative").flat
    return Oracle(flat, TIME, poses, twists, joints).solve()


def state_in(name: str, seed: int, coordinates) -> tuple[np.ndarray, np.ndarray]:
    (poses, twists), joints, (q, u) = physical_state(name, seed)
    if coordinates.name == "relative":
        return q, u
    turns = {(joint, i): value for joint, values in joints.items() for i, value in enumerate(values)}
    return transfer(coordinates, poses, twists, turns)


def takes(formulation: str, name: str) -> bool:
    support = FORMULATIONS[formulation].supports()
    constrained = bool(dynamics_of(name, "lagrange-multipliers", "relative").rows)
    return not constrained or (
        support.closed_loops and support.nonholonomic and support.rheonomic and support.redundant_constraints
    )


@pytest.mark.parametrize("name", CASES)
def test_the_state_is_consistent(name):
    """What the tests below stand on: random states satisfy the constraints, and are not trivial."""
    dynamics = dynamics_of(name, "lagrange-multipliers", "relative")
    for seed in SEEDS:
        _, _, (q, u) = physical_state(name, seed)
        equations = equations_at(dynamics.coordinates, TIME, q, u)
        assert np.abs(equations.position_residual()).max(initial=0) < ON_CONSTRAINTS
        assert np.abs(equations.velocity_residual()).max(initial=0) < ON_CONSTRAINTS * (1 + np.abs(u).max())
        assert np.abs(u).max() > 1e-3


@pytest.mark.parametrize(
    ("name", "formulation", "coordinates"),
    [_combination(name, *how) for name in CASES for how in COMBINATIONS],
    ids=lambda part: part,
)
def test_bodies_accelerate_as_the_oracle_says(name, formulation, coordinates):
    if not takes(formulation, name):
        pytest.skip(f"{formulation} does not take constraints")
    dynamics = dynamics_of(name, formulation, coordinates)
    for seed in SEEDS:
        expected, _, _ = truth(name, seed)
        q, u = state_in(name, seed, dynamics.coordinates)
        du, _ = dynamics.solve(q, u, t=TIME)
        got = accelerations_in_world(dynamics.coordinates, q, u, du, TIME)
        np.testing.assert_allclose(got, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_reactions_are_those_of_the_oracle(name, coordinates):
    """Joint by joint where they are unique; where they are not, every body is in balance.

    What a gear or drive does to a screw may be split between torque and thrust in more than one way: left out.
    """
    dynamics = dynamics_of(name, "lagrange-multipliers", coordinates)
    expected, reactions, redundant = truth(name, 0)
    q, u = state_in(name, 0, dynamics.coordinates)
    du, multipliers = dynamics.solve(q, u, t=TIME)
    got = equations_at(dynamics.coordinates, TIME, q, u).reactions(du, multipliers)
    assert list(got) == list(dynamics.flat.joints)
    size = max(np.abs(wrench).max() for wrench in [*reactions.values(), *got.values(), np.ones(1)])
    constraints = dynamics.flat.constraints
    if not redundant and not (constraints and any(data.kind == "screw" for data, _ in dynamics.flat.joints.values())):
        for joint, wrench in reactions.items():
            np.testing.assert_allclose(got[joint], wrench, rtol=0, atol=AGREEMENT * size, err_msg=joint)
    if not constraints:
        (poses, twists), joints, _ = physical_state(name, 0)
        rest = Oracle(dynamics.flat, TIME, poses, twists, joints).imbalance(expected, got)
        np.testing.assert_allclose(rest, 0.0, atol=AGREEMENT * size)


@pytest.mark.parametrize("name", TREES)
def test_inverse_dynamics_inverts_forward_dynamics(name):
    """τ(q, u, u̇(q, u)) = 0: without more forces than the model's own, u̇ is what they produce."""
    dynamics = dynamics_of(name, "recursive", "relative")
    q, u = state_in(name, 0, dynamics.coordinates)
    du, _ = dynamics.solve(q, u, t=TIME)
    tau = dynamics.inverse(q, u, du, t=TIME)
    rng = np.random.default_rng(0)
    more = rng.normal(size=dynamics.nv)
    M = dynamics.mass_matrix(q)
    size = np.abs(M).max() * np.abs(du).max()
    np.testing.assert_allclose(tau, 0.0, atol=AGREEMENT * size)
    np.testing.assert_allclose(dynamics.inverse(q, u, du + more, t=TIME), M @ more, atol=AGREEMENT * size)
    # And forces given as an argument do what inverse dynamics asks of them.
    np.testing.assert_allclose(
        dynamics.acceleration(q, u, M @ more, t=TIME), du + more, atol=AGREEMENT * np.abs(du).max()
    )


def test_redundant_equations_are_seen():
    """The parallelogram's cut hinge: 5 equations, of which only the 2 of the plane are independent."""
    dynamics = dynamics_of("planar parallelogram with spatial hinges", "lagrange-multipliers", "relative")
    q, u = state_in("planar parallelogram with spatial hinges", 0, dynamics.coordinates)
    A = equations_at(dynamics.coordinates, TIME, q, u).jacobian
    assert A.shape == (5, 3)
    assert np.linalg.matrix_rank(A, tol=1e-8) == 2


# A third crank of the same length: the mechanism moves although counting says that it cannot.


def leaning(model, angle: float, rate: float):
    """Poses and twists of the parallelogram whose cranks lean by an angle."""
    R = so3.rotation_z(NUMPY, angle)
    poses, twists = {"ground": Pose.identity(NUMPY)}, {"ground": np.zeros(6)}
    shift = R @ [0, 1, 0] - [0, 1, 0]
    for body in model.bodies:
        com = np.array([float(x) for x in body.com])
        if body.name == "bar":
            poses["bar"] = Pose(np.eye(3), com + shift)
            twists["bar"] = np.concatenate([np.zeros(3), np.cross([0, 0, rate], R @ [0, 1, 0])])
        else:
            foot = np.array([com[0] - 0.1, 0, 0])
            poses[body.name] = Pose(R, foot + R @ (com - foot))
            twists[body.name] = np.concatenate([[0, 0, rate], R.T @ np.cross([0, 0, rate], R @ (com - foot))])
    return poses, twists


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_an_over_constrained_mechanism_moves(coordinates):
    model = parallelogram(0.0, 2.0, 1.0)
    dynamics = Dynamics(model, "lagrange-multipliers", coordinates)
    poses, twists = leaning(model, 0.4, 1.3)
    q, u = transfer(dynamics.coordinates, poses, twists)
    equations = equations_at(dynamics.coordinates, TIME, q, u)
    assert np.abs(equations.position_residual()).max() < ON_CONSTRAINTS
    assert np.abs(equations.velocity_residual()).max() < ON_CONSTRAINTS
    joints = {joint: equations.joint_coordinates(joint)[0] for joint in dynamics.flat.joints}
    expected, _, _ = Oracle(dynamics.flat, TIME, poses, twists, joints).solve()
    du, _ = dynamics.solve(q, u, t=TIME)
    got = accelerations_in_world(dynamics.coordinates, q, u, du, TIME)
    np.testing.assert_allclose(got, expected, atol=AGREEMENT * np.abs(expected).max())
    assert abs(expected[1, 2]) > 0.1


@pytest.mark.parametrize("off", [1e-10, 1e-7, 1e-4])
def test_an_over_constrained_mechanism_is_put_together_again(off):
    """After a step with a coarse tolerance the positions are off by this much; the retraction brings them back."""
    model = parallelogram(0.0, 2.0, 1.0)
    dynamics = Dynamics(model, "lagrange-multipliers", "relative")
    q, u = transfer(dynamics.coordinates, *leaning(model, 0.4, 1.3))
    q = q + off * np.random.default_rng(0).uniform(-1, 1, len(q))
    problem, context = dynamics.problem()
    y = np.concatenate([q, u, [0.0]])
    status = problem.retract(0.0, y, np.empty_like(y))
    assert status == 0, context.failure()
    # Off by ε, this mechanism shows a residual of ε² only: 1e-12 of residual is 1e-6 of position.
    assert np.abs(dynamics.residuals(0.0, y[: dynamics.nq], u).position).max() < 1e-9
    assert np.abs(y[: dynamics.nq] - q).max() < 10 * off + 1e-6
