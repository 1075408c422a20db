"""Rolled recursions (a native loop over links) equal the unrolled ones, for every joint of the catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_models import HOLONOMIC, tree_model

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.dynamics import dynamics as dynamics_module
from dalembert.dynamics.rolled import Rolled

# Both routes are the same recursion in another order of operations.
ROUND_OFF = 1e-11

ROLLABLE = tuple(kind for kind in HOLONOMIC if kind != "custom")


def _random_state(dynamics, rng):
    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    return tree.integrate(dynamics.coordinates.neutral(), rng.normal(size=dynamics.nv)), rng.normal(size=dynamics.nv)


def _tree(seed, kinds=ROLLABLE):
    """A random tree without forces."""
    return da.compile(tree_model(seed, kinds, forces=False), formulation="recursive")


def _close(a, b):
    scale = max(np.abs(b).max(initial=0.0), 1.0)
    return np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0) <= ROUND_OFF * scale


@pytest.mark.parametrize("kind", ROLLABLE)
def test_every_joint_kind_rolls(kind):
    dynamics = _tree(1, kinds=(kind,) * 4)
    rng = np.random.default_rng(2)
    q, u = _random_state(dynamics, rng)
    tau = rng.normal(size=dynamics.nv)
    rolled = Rolled(dynamics.coordinates, dynamics.flat.parameters)
    du = rolled.acceleration(q, u, tau)[1]
    assert _close(du, dynamics.acceleration(q, u, tau))
    assert _close(rolled.inverse(q, u, du), dynamics.inverse(q, u, du))


@pytest.mark.parametrize("seed", range(6))
def test_mixed_trees_roll(seed):
    dynamics = _tree(seed)
    rng = np.random.default_rng(seed)
    q, u = _random_state(dynamics, rng)
    rolled = Rolled(dynamics.coordinates, dynamics.flat.parameters)
    qdot, du = rolled.acceleration(q, u, np.zeros(dynamics.nv))
    blocks = dynamics.dynamics_kernel(0.0, q, u, dynamics.parameters(), np.zeros(dynamics.nv))
    assert _close(qdot, blocks.qdot)
    assert _close(du, blocks.acceleration)
    seen, expected = rolled.observe(q[None], u[None]), dynamics.observe(0.0, q, u)
    for field in ("pose", "twist", "kinetic", "potential", "momentum", "joints"):
        assert _close(getattr(seen, field)[0], getattr(expected, field)), field


def test_a_large_tree_simulates_as_a_small_one(monkeypatch):
    model = da.library.n_pendulum(n=6)
    plain = da.simulate(model, 0.5)
    monkeypatch.setattr(dynamics_module, "ROLLED_FROM", 2)
    large = da.simulate(model, 0.5)
    assert not plain.dynamics.is_large
    assert large.dynamics.is_large
    assert large.certificate.trusted
    np.testing.assert_allclose(large.q, plain.q, atol=1e-8)
    np.testing.assert_allclose(large.data.position, plain.data.position, atol=1e-8)
    np.testing.assert_allclose(large.data.outputs, plain.data.outputs, atol=1e-8)


def test_batches_equal_single_states():
    dynamics = _tree(3)
    rng = np.random.default_rng(3)
    states = [_random_state(dynamics, rng) for _ in range(5)]
    q, u = np.array([s[0] for s in states]), np.array([s[1] for s in states])
    tau = rng.normal(size=(5, dynamics.nv))
    du = dynamics.acceleration(q, u, tau)
    assert du.shape == (5, dynamics.nv)
    for i in range(5):
        assert _close(du[i], dynamics.acceleration(q[i], u[i], tau[i]))
        assert _close(du[i], dynamics.solve(q[i], u[i], tau[i])[0])
    assert _close(dynamics.solve(q, u, tau)[0], du)
    out = np.empty_like(du)
    assert dynamics.acceleration(q, u, tau, out=out) is out
    assert _close(out, du)
    assert _close(dynamics.inverse(q, u, du), tau)


def test_wrong_lengths_say_what_was_meant():
    dynamics = da.compile(da.library.spinning_top())
    assert dynamics.nq != dynamics.nv
    with pytest.raises(da.DalembertError, match=r"q must have .* other of q and u"):
        dynamics.solve(np.zeros(dynamics.nv), np.zeros(dynamics.nv))


def test_large_trees_take_batches_and_out(monkeypatch):
    model = da.library.n_pendulum(n=5)
    plain = da.compile(model)
    monkeypatch.setattr(dynamics_module, "ROLLED_FROM", 2)
    large = da.compile(model)
    assert large.is_large
    q, u, du = np.random.default_rng(5).normal(size=(3, 4, 5))
    out = np.empty((4, 5))
    assert large.inverse(q, u, du, out=out) is out
    assert _close(out, plain.inverse(q, u, du))
    assert _close(large.inverse(q[0], u[0], du), plain.inverse(q[0], u[0], du))
    assert _close(large.acceleration(q[0], u[0], du), plain.acceleration(q[0], u[0], du))
