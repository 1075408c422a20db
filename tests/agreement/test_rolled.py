"""Rolled recursions (native loops over links and forces) equal the unrolled ones, for every joint of the catalog."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.dynamics import choose
from dalembert.dynamics.dynamics import Bodies
from dalembert.dynamics.rolled import Rolled
from dalembert.fuzz.random_models import HOLONOMIC, tree_model

# Both routes are the same recursion in another order of operations.
ROUND_OFF = 1e-12

ROLLABLE = tuple(kind for kind in HOLONOMIC if kind != "custom")


def _random_state(dynamics, rng):
    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    return tree.integrate(dynamics.coordinates.neutral(), rng.normal(size=dynamics.nv)), rng.normal(size=dynamics.nv)


def _tree(seed, kinds=ROLLABLE):
    """A random tree with every force of the catalog and armatures on some of the joints."""
    model = tree_model(seed, kinds)
    rotor = model.parameters(rotor=0.3)
    for i, joint in enumerate(model.joints):
        if joint.kind != "fixed" and (i + seed) % 3:
            model.joints[i] = type(joint).model_validate({**dict(joint), "armature": (i + 1) * rotor})
    return da.compile(model, formulation="recursive")


def _chain(n, *, spring="s", **fields):
    """Bodies hinged to each other, springs and dampers between neighbors, an armature on each joint."""
    model = da.Model(f"chain of {n}")
    previous = model.ground
    for i in range(n):
        body = model.body(f"b{i}", mass=1 + 0.1 * (i % 3), com=(i + 0.5, 0, 0.02 * (i % 5)), inertia=(0.01, 0.1, 0.1))
        axis = ("y", "z", (0, 1, 0.5))[i % 3]
        model.revolute(f"j{i}", previous, body, point=(i, 0, 0), axis=axis, armature=0.05 + 0.001 * i)
        ends = ((i - 0.5, 0.2, 0.1), (i + 0.5, 0.2, 0.1))
        model.spring(
            f"{spring}{i}", previous, body, at=ends, **{"stiffness": 100 + i, "damping": 0.5 + 0.01 * i, **fields}
        )
        previous = body.name
    return model


def _close(a, b):
    scale = max(np.abs(b).max(initial=0.0), 1.0)
    return np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0) <= ROUND_OFF * scale


def _agree(dynamics, seed=0, t=0.3):
    """Forward and inverse dynamics, power, and all that is seen are those of the unrolled recursions."""
    rng = np.random.default_rng(seed)
    q, u = _random_state(dynamics, rng)
    tau, rates = rng.normal(size=(2, dynamics.nv))
    rolled = Rolled(dynamics.coordinates, dynamics.flat.parameters)
    qdot, du, power = rolled.acceleration(t, q, u, tau)
    blocks = dynamics.dynamics_kernel(t, q, u, dynamics.parameters(), tau)
    assert _close(qdot, blocks.qdot)
    assert _close(du, blocks.acceleration)
    assert _close(power, blocks.power)
    assert _close(rolled.inverse(t, q, u, rates), dynamics.inverse(q, u, rates, t=t))
    seen, expected = rolled.observe(np.array([t]), q[None], u[None]), dynamics.observer(t, q, u, dynamics.parameters())
    for field in ("pose", "twist", "kinetic", "potential", "momentum", "joints"):
        assert _close(getattr(seen, field)[0], getattr(expected, field)), field


@pytest.mark.parametrize("kind", ROLLABLE)
def test_every_joint_kind_rolls(kind):
    _agree(_tree(1, kinds=(kind,) * 4))


@pytest.mark.parametrize("seed", range(6))
def test_mixed_trees_roll(seed):
    _agree(_tree(seed), seed)


def test_trees_without_forces_roll():
    _agree(da.compile(tree_model(2, ROLLABLE, forces=False), formulation="recursive"))


def test_springs_and_armatures_of_a_chain_roll():
    _agree(da.compile(_chain(12)))


def test_a_moving_ground_is_felt_by_all():
    model = _chain(12)
    model.moving_frame("earth", rotation=(0.1, "0.2*t", 0.3), acceleration=(0, 1, "sin(t)"))
    dynamics = da.compile(model)
    _agree(dynamics)
    # One form for all bodies, beside those of the first spring and of the others.
    assert len(Rolled(dynamics.coordinates, dynamics.flat.parameters).forces.kinds) == 3


FORMULAS = (
    "A*sin(w*t + 0.3) - 2*u(j0)**3",
    "-k*(q(j1) - q(j0)) if t > 0.2 else -3*q(j1)",
    "max(-1.5, min(2*q(j2), k/3))",
    "exp(-t/2)*x(b1)/(1 + z(b2)**2) - sqrt(4 + vx(b1)**2)",
    "abs(wz(b2) - 0.5)*k**2 + 2**q(j0)",
    "k",
)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("t", [0.1, 0.7])
def test_formulas_of_forces_roll(formula, t):
    model = _chain(3)
    model.parameters(A=1.3, w=2.0, k=0.7)
    model.joint_force("motor", "j1", formula)
    model.force("push", "b2", (formula, "0.4", f"-2*({formula})"), at=(2.5, 0.1, 0), axes="body")
    model.torque("twist", "b1", (0, formula, 0), reaction_on="b0")
    model.potential("field", "A*cos(q(j0) - k)*x(b2) + w*q(j1)**2*(z(b1) + 3)/2")
    _agree(da.compile(model), t=t)


def test_points_in_other_frames_and_submodels_roll():
    part = _chain(3, frame="body", length=0.9)
    stiffness = {"stiffness": (1, 2, 3), "angular_damping": (0, 0.1, 0)}
    part.bushing("bushing", "b0", "b2", point=(0.1, 0.2, 0.3), frame="b1", **stiffness)
    model = da.Model("two chains", gravity=(1, -2, -9))
    model.add(part, "left", pose={"position": (1, 2, 3), "rpy": (0.3, 0.2, 0.1)})
    trolley = model.body("trolley", mass=3, com=(1, 0, 0), inertia=(1, 2, 2))
    model.prismatic("rail", model.ground, trolley, point=(0, 0, 0), axis=(1, 1, 0))
    model.add(part, "right", base=trolley, pose=(0, 0, 1))
    model.spring("across", "left.b1", "right.b2", at=((0, 0, 0), (1, 1, 1)), stiffness=9, damping=0.3)
    _agree(da.compile(model))


def test_forces_of_one_form_share_kernels():
    def counts(n):
        model = _chain(n)
        for i in range(n):
            model.joint_force(f"motor {i}", f"j{i}", f"{i + 2}*sin({i + 3}*t) - 0.{i + 1}*u(j{i})")
        dynamics = da.compile(model)
        rolled = Rolled(dynamics.coordinates, dynamics.flat.parameters)
        return len(rolled.kinds), len(rolled.forces.kinds)

    # Links: with a load. Springs: on the ground and between bodies; motors.
    assert counts(3) == counts(40) == (1, 3)


def test_a_missing_damper_costs_nothing():
    def instructions(damping):
        dynamics = da.compile(_chain(2, damping=damping))
        return [kind.loads.instructions for kind in Rolled(dynamics.coordinates, {}).forces.kinds]

    assert all(without < full for without, full in zip(instructions(0), instructions(1), strict=True))


def test_a_large_tree_simulates_as_a_small_one(monkeypatch):
    plain = da.simulate(da.library.n_pendulum(n=6), 0.5)
    monkeypatch.setattr(choose, "TREES_ROLLED_FROM", 2)
    large = da.simulate(da.library.n_pendulum(n=6), 0.5)
    assert not plain.dynamics.is_large
    assert large.dynamics.is_large
    assert large.certificate.trusted
    np.testing.assert_allclose(large.q, plain.q, atol=1e-8)
    np.testing.assert_allclose(large.data.position, plain.data.position, atol=1e-8)
    np.testing.assert_allclose(large.data.outputs, plain.data.outputs, atol=1e-8)


def test_a_large_chain_with_springs_balances_its_energy(monkeypatch):
    def driven():
        model = _chain(8)
        model.joint_force("motor", "j3", "20*sin(5*t)")
        return model

    plain = da.simulate(driven(), 0.5)
    monkeypatch.setattr(choose, "TREES_ROLLED_FROM", 2)
    large = da.simulate(driven(), 0.5)
    assert large.dynamics.is_large and not plain.dynamics.is_large
    assert large.certificate.trusted
    assert np.abs(large.data.work).max() > 1.0
    for field in ("q", "work", "kinetic", "potential", "balance"):
        np.testing.assert_allclose(large.data[field], plain.data[field], rtol=1e-8, atol=1e-8)


def test_a_thousand_bodies_with_springs():
    n = 1000
    dynamics = da.compile(_chain(n))
    assert dynamics.is_large
    rng = np.random.default_rng(7)
    q, u, tau = 0.01 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)
    rolled = Rolled(dynamics.coordinates, {})
    _, du, power = rolled.acceleration(0.0, q, u, tau)
    assert np.array_equal(du, dynamics.acceleration(q, u, tau))
    # The inertia of a long chain about its root is large, and its round-off is in τ.
    assert np.abs(dynamics.inverse(q, u, du) - tau).max() < ROUND_OFF * np.abs(dynamics.bias(q, u)).max()
    # Springs and dampers one by one: the energy ½ k s², the power −c ṡ² of the stretch s.
    ground = Bodies(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))
    bodies = [ground, *dynamics.bodies(q, u).values()]
    centers = [np.zeros(3), *(np.array([i + 0.5, 0, 0.02 * (i % 5)]) for i in range(n))]
    elastic = weight = 0.0
    expected = tau @ u
    for i in range(n):
        ends = [np.array([i - 0.5, 0.2, 0.1]), np.array([i + 0.5, 0.2, 0.1])]
        arms = [bodies[i + k].rotation @ (ends[k] - centers[i + k]) for k in (0, 1)]
        d = np.diff([bodies[i + k].position + arms[k] for k in (0, 1)], axis=0)[0]
        v = np.diff(
            [bodies[i + k].velocity + np.cross(bodies[i + k].angular_velocity, arms[k]) for k in (0, 1)], axis=0
        )[0]
        elastic += (100 + i) * (np.linalg.norm(d) - 1) ** 2 / 2
        expected -= (0.5 + 0.01 * i) * (d @ v / np.linalg.norm(d)) ** 2
        weight += 9.81 * (1 + 0.1 * (i % 3)) * bodies[i + 1].position[2]
    assert _close(power, expected)
    assert _close(dynamics.energy(q, u)[1], elastic + weight)


@pytest.mark.compiled
def test_a_thousand_bodies_balance_their_energy():
    rates = {f"j{i}": 0.5 * (-1) ** i for i in range(1000)}
    run = da.simulate(_chain(1000), 0.05, output_step=0.01, initial_rates=rates)
    assert run.dynamics.is_large
    assert run.certificate.trusted
    # The drift is round-off of the kinetic energy, a sum over 1000 bodies, far below what the dampers take.
    drift = np.abs(run.data.balance - run.data.balance[0]).max()
    assert drift < 1000 * np.finfo(float).eps * run.data.kinetic.max() < -1e-4 * run.data.work[-1]


def test_parameters_of_forces_and_armatures(monkeypatch):
    plain = _tree(4)
    assert not plain.is_large
    monkeypatch.setattr(choose, "TREES_ROLLED_FROM", 2)
    large = da.compile(plain.model, formulation="recursive")
    assert large.is_large
    q, u = _random_state(plain, np.random.default_rng(4))
    for values in (None, {"k": 35.0, "rotor": 0.8}):
        at = {"t": 0.2, "parameters": values}
        assert _close(large.acceleration(q, u, **at), plain.acceleration(q, u, **at))
        assert _close(large.inverse(q, u, u, **at), plain.inverse(q, u, u, **at))
        assert _close(large.energy(q, u, **at), plain.energy(q, u, **at))


def test_threads_do_not_disturb_each_other():
    dynamics = da.compile(_chain(150))
    assert dynamics.is_large
    states = np.random.default_rng(8).normal(size=(16, 2, dynamics.nv))
    expected = [dynamics.acceleration(q, u) for q, u in states]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda state: [dynamics.acceleration(*state) for _ in range(20)], states))
        users = [dynamics.rolled().bind(None) for _ in range(3)]
    for du, repeated in zip(expected, found, strict=True):
        assert all(np.array_equal(du, again) for again in repeated)
    # Users at the same time have their own memory, which others get later.
    memory = {user.numbers.ctypes.data for user in users}
    assert len(memory) == 3
    del users
    later = [dynamics.rolled().bind(None) for _ in range(3)]
    assert memory <= {user.numbers.ctypes.data for user in later} | {
        spare.numbers.ctypes.data for spare in dynamics.rolled()._spare
    }


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
    assert not plain.is_large
    monkeypatch.setattr(choose, "TREES_ROLLED_FROM", 2)
    large = da.compile(model)
    assert large.is_large
    q, u, du = np.random.default_rng(5).normal(size=(3, 4, 5))
    out = np.empty((4, 5))
    assert large.inverse(q, u, du, out=out) is out
    assert _close(out, plain.inverse(q, u, du))
    assert _close(large.inverse(q[0], u[0], du), plain.inverse(q[0], u[0], du))
    assert _close(large.acceleration(q[0], u[0], du), plain.acceleration(q[0], u[0], du))
    for single in (plain.observe(0.0, q[0], u[0]), large.observe(0.0, q[0], u[0])):
        assert single.pose.shape == (60,)
        assert single.kinetic.shape == ()
    many, expected = (d.observe(np.linspace(0, 1, 4), q, u[0]) for d in (large, plain))
    for field in expected._fields:
        assert _close(getattr(many, field), getattr(expected, field)), field
