"""Derivatives as methods of ``Dynamics``."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import InputError

STEP = 1e-6


def test_methods_agree_with_differences():
    dynamics = da.compile(da.library.double_pendulum())
    rng = np.random.default_rng(0)
    q, u, tau = rng.normal(size=(3, 2))
    found = dynamics.acceleration_derivatives(q, u, tau)
    np.testing.assert_allclose(found.du, dynamics.acceleration(q, u, tau), rtol=1e-12)
    for name, at in (("ddu_dq", 0), ("ddu_du", 1), ("ddu_dtau", 2)):
        expected = np.empty((2, 2))
        for j in range(2):
            ends = []
            for sign in (1, -1):
                x = [q.copy(), u.copy(), tau.copy()]
                x[at][j] += sign * STEP
                ends.append(dynamics.acceleration(*x))
            expected[:, j] = (ends[0] - ends[1]) / (2 * STEP)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-6, atol=1e-6)
    inverse = dynamics.inverse_derivatives(q, u, found.du)
    np.testing.assert_allclose(inverse.dtau_ddu, dynamics.mass_matrix(q), rtol=1e-12)
    np.testing.assert_allclose(inverse.dtau_ddu @ found.ddu_dq, -inverse.dtau_dq, rtol=1e-9, atol=1e-9)


def test_batches():
    dynamics = da.compile(da.library.double_pendulum())
    q, u = np.random.default_rng(1).normal(size=(2, 9, 2))
    many = dynamics.acceleration_derivatives(q, u)
    for i in range(9):
        np.testing.assert_allclose(many.ddu_dq[i], dynamics.acceleration_derivatives(q[i], u[i]).ddu_dq, rtol=1e-12)


@pytest.mark.parametrize("build", [da.library.double_pendulum, da.library.four_bar])
def test_batches_by_parameters(build):
    model = build()
    dynamics, state = da.compile(model), da.assemble(model)
    names = list(dynamics.flat.parameters)[:2]
    u = np.random.default_rng(2).normal(size=(4, dynamics.nv))
    many = dynamics.acceleration_derivatives(state.q, u, by=names, t=np.linspace(0, 1, 4))
    assert many.ddu_dp.shape == (4, dynamics.nv, 2)
    one = dynamics.acceleration_derivatives(state.q, u[2], by=names[1])
    np.testing.assert_allclose(many.ddu_dp[2, :, 1:], one.ddu_dp, rtol=1e-10, atol=1e-10)


def test_wrong_questions_about_parameters_are_refused():
    dynamics = da.compile(da.library.double_pendulum())
    q = np.zeros(2)
    with pytest.raises(InputError, match="unknown parameter 'lenght'; the model has upper_length"):
        dynamics.acceleration_derivatives(q, q, by=["lenght"])
    with pytest.raises(InputError, match="without by"):
        dynamics.acceleration_derivatives(q, q, by="lower_mass", out=dynamics.acceleration_derivatives(q, q))
