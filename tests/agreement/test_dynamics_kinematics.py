"""Point Jacobians, bias, energy and mass center as methods of ``Dynamics``."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.fuzz.random_models import tree_model

STEP = 1e-6


@pytest.fixture(scope="module")
def dynamics():
    return da.compile(tree_model(4, ("revolute", "spherical", "prismatic", "universal", "free"), forces=False))


@pytest.fixture(scope="module")
def state(dynamics):
    rng = np.random.default_rng(2)
    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    q = tree.integrate(dynamics.coordinates.neutral(), rng.normal(size=dynamics.nv))
    return tree, q, rng.normal(size=dynamics.nv)


def test_point_jacobian_gives_the_velocity_and_its_rate(dynamics, state):
    tree, q, u = state
    point = np.array([0.3, -0.2, 0.5])
    for body in dynamics.bodies(q):
        found = dynamics.point_jacobian(body, point, q, u)

        def place(s, body=body):
            X = dynamics.bodies(tree.integrate(q, s * u))[body]
            return X.rotation @ point + X.position

        expected = (place(STEP) - place(-STEP)) / (2 * STEP)
        np.testing.assert_allclose(found.jacobian @ u, expected, atol=1e-8)
        ends = [dynamics.point_jacobian(body, point, tree.integrate(q, s * u)).jacobian for s in (STEP, -STEP)]
        np.testing.assert_allclose(found.rate, (ends[0] - ends[1]) / (2 * STEP), atol=1e-7)
    with pytest.raises(da.DalembertError, match="unknown body"):
        dynamics.point_jacobian("nobody", point, q)


def test_bias_energy_and_mass_center(dynamics, state):
    _, q, u = state
    du = dynamics.acceleration(q, u, dynamics.bias(q, u))
    np.testing.assert_allclose(du, 0, atol=1e-9)
    kinetic, potential = dynamics.energy(q, u)
    assert kinetic == pytest.approx(u @ dynamics.mass_matrix(q) @ u / 2, rel=1e-12)
    mechanism = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters).mechanism
    mass = sum(mechanism.inertia(body).mass for body in dynamics.flat.bodies)
    assert potential == pytest.approx(-mass * mechanism.gravity @ dynamics.mass_center(q), rel=1e-12)
