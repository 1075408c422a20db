"""Generalized coordinates: plain numbers, u = q̇, and the same mechanics as in all other coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import CASES
from support.states import accelerations_in_world, equations_at, transfer
from test_agreement_motion import TIME, dynamics_of, physical_state, truth

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.coordinates import GeneralizedCoordinates
from dalembert.formulations import Equations

# Only round-off differs, amplified by the constraints' condition.
AGREEMENT = 1e-9
# Same motion by adaptive methods at rtol 1e-10.
MOTION = 1e-8
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def in_generalized(name: str, seed: int, *options) -> tuple[GeneralizedCoordinates, np.ndarray, np.ndarray]:
    flat = dynamics_of(name, "lagrange-multipliers", "relative").flat
    coordinates = GeneralizedCoordinates(flat, *options)
    (poses, twists), joints, _ = physical_state(name, seed)
    turns = {(joint, i): value for joint, values in joints.items() for i, value in enumerate(values)}
    return coordinates, *transfer(coordinates, poses, twists, turns)


def accelerations(e: Equations) -> np.ndarray:
    """u̇ of M u̇ = f + Aᵀλ, A u̇ + γ = 0, of least norm where it is not unique."""
    A, n = e.jacobian, e.nv
    K = np.block([[e.mass_matrix, -A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.lstsq(K, np.concatenate([e.forcing, -e.gamma]), rcond=1e-11)[0][:n]


@pytest.mark.parametrize("name", CASES)
def test_bodies_accelerate_as_the_oracle_says(name):
    coordinates, q, u = in_generalized(name, 0)
    assert coordinates.nq - len(coordinates.windings) == coordinates.nv
    e = equations_at(coordinates, TIME, q, u)
    np.testing.assert_array_equal(e.tree.qdot(q, u), u)
    expected, _, _ = truth(name, 0)
    got = accelerations_in_world(coordinates, q, u, accelerations(e))
    np.testing.assert_allclose(got, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize("name", CASES)
def test_joints_are_what_formulas_call_so(name):
    """q(joint) and u(joint) mean the same in all coordinates; −Q is the rotation Q."""
    coordinates, q, u = in_generalized(name, 1)
    relative, (_, _, (q_r, u_r)) = dynamics_of(name, "lagrange-multipliers", "relative"), physical_state(name, 1)
    here, there = equations_at(coordinates, TIME, q, u), equations_at(relative.coordinates, TIME, q_r, u_r)
    for joint in coordinates.flat.joints:
        (q_1, u_1), (q_2, u_2) = here.joint_coordinates(joint), there.joint_coordinates(joint)
        kind = coordinates.nominal_joint(joint).joint
        np.testing.assert_allclose(kind.difference(NUMPY, q_1, q_2), 0, atol=AGREEMENT, err_msg=joint)
        np.testing.assert_allclose(u_1, u_2, atol=AGREEMENT * np.abs(u_2).max(initial=1.0), err_msg=joint)


def free_body() -> da.Model:
    model = da.Model("free", gravity=(0, 0, -9.81))
    model.body("b", mass=2, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    model.free("f", "ground", "b")
    model.initial("f", (0.9, 0.1, 0.3, 0.2, 1, 2, 3), (0.3, 0.5, -0.2, 1, 2, 3))
    return model


def spherical_pendulum() -> da.Model:
    model = da.Model("spherical pendulum", gravity=(0, 0, -9.81))
    model.body("bob", mass=1.5, com=(0.8, 0, 0), inertia=(0.01, 0.02, 0.03))
    model.spherical("S", "ground", "bob", point=(0, 0, 0))
    model.joint_force("friction", "S", "-0.1*u(S)", index=0)
    model.initial("S", (1, 0, 0.3, 0), (0.5, 0.1, 1.0))
    return model


@pytest.mark.parametrize("build", [free_body, spherical_pendulum], ids=lambda build: build.__name__)
def test_the_same_motion(build):
    model = build()
    one, other = (da.simulate(model, 1.0, coordinates=c, **TIGHT).data for c in ("relative", "generalized"))
    for what in ("position", "orientation", "angular_velocity", "joint_velocities", "balance"):
        np.testing.assert_allclose(other[what].values, one[what].values, rtol=MOTION, atol=MOTION)
