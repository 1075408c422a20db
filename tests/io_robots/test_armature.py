"""Armature: rotor inertia on joint velocities, in the tree and on cut joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.states import accelerations_in_world, body_motion, consistent_state, equations_at, transfer

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.coordinates import COORDINATES
from dalembert.dynamics import Dynamics
from dalembert.fuzz.random_models import HOLONOMIC, loop_model, tree_model
from dalembert.model import Model, flatten
from dalembert.tree.recursions import inverse_dynamics

# Two ways to the same number; what differs is round-off.
SAME = 1e-9
MOVING = tuple(kind for kind in HOLONOMIC if kind != "fixed")


def with_armature(model: Model, seed: int = 0) -> Model:
    """The model with a rotor on every joint that moves, one of them a parameter."""
    rng = np.random.default_rng(seed)
    rotor = model.parameters(rotor=0.7)
    for i, joint in enumerate(model.joints):
        value: Any = rotor if i == 0 else float(rng.uniform(0.1, 1.0))
        model.joints[i] = joint.model_copy(update={"armature": None})
        model.joints[i] = type(joint).model_validate({**dict(model.joints[i]), "armature": value})
    return model


def tree(seed: int) -> Model:
    """Four joints; the seeds together cover the catalog."""
    kinds = [MOVING[(4 * seed + i) % len(MOVING)] for i in range(4)]
    return with_armature(tree_model(seed, tuple(kinds)), seed)


def loops(seed: int) -> Model:
    return with_armature(loop_model(seed, ("spherical", "revolute", "free"), ("cylindrical",)), seed)


def random_state(coordinates: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    placed = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
    q = placed.integrate(coordinates.neutral(), 0.4 * rng.uniform(-1, 1, coordinates.nv))
    return q, rng.normal(size=coordinates.nv)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", COORDINATES)
@pytest.mark.parametrize("build", [tree, loops])
def test_mass_matrix_is_the_hessian_of_the_kinetic_energy(build, kind, seed):
    coordinates = COORDINATES[kind](flatten(build(seed)))
    q, _ = random_state(coordinates, seed)
    M = equations_at(coordinates, 0.0, q, np.zeros(coordinates.nv)).mass_matrix

    def T(u: np.ndarray) -> float:
        return equations_at(coordinates, 0.0, q, u).kinetic_energy()

    rng = np.random.default_rng(seed)
    for _ in range(3):
        u, v = rng.normal(size=(2, coordinates.nv))
        # A quadratic form is its own polar form, so no limit is taken.
        np.testing.assert_allclose(T(u + v) - T(u) - T(v), u @ M @ v, rtol=SAME, atol=SAME * abs(T(u)))


@pytest.mark.parametrize("seed", range(4))
def test_inverse_dynamics_inverts_forward_dynamics(seed):
    coordinates = COORDINATES["relative"](flatten(tree(seed)))
    q, u = random_state(coordinates, seed)
    equations = equations_at(coordinates, 0.2, q, u)
    du = equations.free_acceleration()
    scale = np.abs(equations.forcing).max() + np.abs(equations.mass_matrix @ du).max()
    np.testing.assert_allclose(equations.inverse(du), 0, atol=SAME * scale)
    np.testing.assert_allclose(equations.mass_matrix @ du, equations.forcing, atol=SAME * scale)


@pytest.mark.parametrize(("kind", "seed"), [("absolute", 0), ("absolute", 1), ("absolute", 2), ("natural", 0)])
@pytest.mark.parametrize("build", [tree, loops])
@pytest.mark.slow
def test_cut_joints_feel_their_armature_as_tree_joints_do(build, kind, seed):
    """In these coordinates no joint is in a tree: the same accelerations and the same reactions."""
    model = build(seed)
    relative, other = (Dynamics(model, "lagrange-multipliers", name) for name in ("relative", kind))
    q, u = consistent_state(relative, seed)
    poses, twists = body_motion(relative.coordinates, q, u)
    there = equations_at(relative.coordinates, 0.0, q, u)
    turns = {
        (name, i): value for name in relative.measurable for i, value in enumerate(there.joint_coordinates(name)[0])
    }
    found, reactions = [], []
    for dynamics, (at, rates) in ((relative, (q, u)), (other, transfer(other.coordinates, poses, twists, turns))):
        du, multipliers = dynamics.solve(at, rates)
        found.append(accelerations_in_world(dynamics.coordinates, at, rates, du))
        reactions.append(equations_at(dynamics.coordinates, 0.0, at, rates).reactions(du, multipliers))
    np.testing.assert_allclose(found[1], found[0], atol=1e-7 * np.abs(found[0]).max())
    if build is tree:
        largest = max(np.abs(wrench).max() for wrench in reactions[0].values())
        for name, wrench in reactions[0].items():
            np.testing.assert_allclose(reactions[1][name], wrench, atol=1e-7 * largest, err_msg=name)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "free"])
def test_without_an_armature_the_answer_is_another(kind):
    plain, rotor = (tree_model(3, (kind, "revolute")) for _ in range(2))
    with_armature(rotor)
    found = []
    for model in (plain, rotor):
        coordinates = COORDINATES["relative"](flatten(model))
        q, u = random_state(coordinates, 1)
        found.append(equations_at(coordinates, 0.0, q, u).free_acceleration())
    assert np.abs(found[0] - found[1]).max() > 1e-3


def geared_arm(**fields: Any) -> Model:
    model = da.Model("arm", gravity=(0, -9.81, 0))
    model.body("upper", mass=1, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    model.body("lower", mass=1, com=(1.5, 0, 0), inertia=(0, 0.1, 0.1))
    model.revolute("shoulder", "ground", "upper", point=(0, 0, 0), axis="z", armature="rotor", **fields)
    model.revolute("elbow", "upper", "lower", point=(1, 0, 0), axis="z", armature=0.5)
    model.parameters(rotor=2.0)
    return model


def test_a_single_pendulum_with_a_rotor_swings_as_the_closed_form_says():
    model = da.Model("pendulum", gravity=(0, -9.81, 0))
    model.body("rod", mass=2.0, com=(0, -0.5, 0), inertia=(0.1, 0, 0.1))
    model.revolute("hinge", "ground", "rod", point=(0, 0, 0), axis="z", armature=0.3)
    du, _ = da.compile(model).solve([0.7], [1.3])
    np.testing.assert_allclose(du[0], -2.0 * 9.81 * 0.5 * np.sin(0.7) / (0.1 + 2.0 * 0.25 + 0.3), rtol=1e-13)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_energy_is_conserved(coordinates):
    run = da.simulate(geared_arm(), 2.0, coordinates=coordinates, rtol=1e-10, atol=1e-10, output_step=0.1)
    energy = run.data.kinetic.values + run.data.potential.values
    assert np.ptp(run.data.kinetic.values) > 1.0
    np.testing.assert_allclose(energy, energy[0], atol=1e-6)


def test_a_rotor_is_a_parameter_like_any_other():
    dynamics = da.compile(geared_arm())
    M = [dynamics.mass_matrix([0.1, 0.2], parameters={"rotor": rotor}) for rotor in (2.0, 5.0)]
    np.testing.assert_allclose(M[1] - M[0], [[3.0, 0], [0, 0]], atol=1e-14)


def test_bodies_alone_are_what_inverse_dynamics_adds_rotors_to():
    """States carry the rotor's share, so no caller of the recursion can forget it."""
    coordinates = COORDINATES["relative"](flatten(geared_arm()))
    equations = equations_at(coordinates, 0.0, np.zeros(2), np.zeros(2))
    from dalembert.tree.outward import outward

    states = outward(equations.tree, equations.q, equations.u, np.array([1.0, 0.0]))
    tau = inverse_dynamics(equations.tree, states, [np.zeros(6)] * 2)
    np.testing.assert_allclose(tau, equations.mass_matrix[:, 0], rtol=1e-13)


def test_impossible_armatures_are_refused():
    model = geared_arm()
    model.set_parameter("rotor", -1.0)
    model.fixed("weld", "ground", "upper", armature=1.0)
    with pytest.raises(da.ModelError) as error:
        model.validate()
    assert "joint 'shoulder': armature must not be negative, got -1" in str(error.value)
    assert "joint 'weld': armature is too much" in str(error.value)


def test_armature_round_trips_through_yaml():
    from dalembert import io

    model = geared_arm()
    assert io.loads(io.dumps(model)) == model
    assert "armature: rotor" in io.dumps(model)
