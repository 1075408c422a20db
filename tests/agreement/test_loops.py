"""Loops in the recursive formulation: dense for small mechanisms, sparse for large ones."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from support.cases import LOOPS, case
from test_agreement_motion import TIME, state_in

import dalembert as da
from dalembert.dynamics import Dynamics, choose
from dalembert.fuzz.random_models import loop_model
from dalembert.numerics.sparse import factor, multiply, pattern_of, substitute

pytestmark = pytest.mark.checked

AGREEMENT = 1e-9
PLAIN = [name for name in LOOPS if not any(kind in name for kind in ("screw", "custom"))]


def bare(name: str) -> da.Model:
    """A case without forces and outputs, which may ask for cut joints, with the same motion of the same bodies."""
    model = case(name)
    for part in (model.forces, model.outputs):
        part.clear()
    return model


def _state(name: str, dynamics: Dynamics) -> tuple[np.ndarray, np.ndarray]:
    """Without the turns that forces asked for."""
    q, u = state_in(name, 0, dynamics.coordinates)
    return q[: dynamics.nq], u


@pytest.fixture
def all_rolled(monkeypatch):
    """Every mechanism that can runs by rolled recursions."""
    monkeypatch.setattr(choose, "LOOPS_ROLLED_FROM", 1)


# The sparse factor


@pytest.mark.parametrize("seed", range(5))
def test_sparse_factor_solves(seed):
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 6, 20)]
    couplings = [(i, i + 1) for i in range(19)] + [tuple(map(int, rng.integers(0, 20, 2))) for _ in range(10)]
    pattern, n = pattern_of(sizes, couplings), sum(sizes)
    first = np.concatenate([[0], np.cumsum(sizes)])
    mask = np.eye(n, dtype=bool)
    for a, b in [*couplings, *((i, i) for i in range(20))]:
        mask[first[a] : first[a + 1], first[b] : first[b + 1]] = True
    K = rng.normal(size=(n, n))
    K = np.where(mask | mask.T, K + K.T, 0.0) + 3 * n * np.eye(n)
    placed = np.zeros((n, n))
    placed[np.ix_(pattern.place, pattern.place)] = K
    columns = np.repeat(np.arange(n), np.diff(pattern.start))
    values = placed[pattern.index, columns]
    lower, pivots = np.zeros(len(pattern.column_index)), np.zeros(n)
    factor(pattern, values, lower, pivots, np.zeros(n, dtype=np.int64), np.zeros(n))
    b = rng.normal(size=n)
    x, product = b.copy(), np.empty(n)
    substitute(pattern, lower, pivots, x)
    np.testing.assert_allclose(placed @ x, b, atol=1e-12)
    multiply(pattern, values, x, product)
    np.testing.assert_allclose(product, b, atol=1e-12)


# Rolled loops


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("name", PLAIN)
def test_rolled_loops_move_as_multipliers_say(name, coordinates, all_rolled):
    try:
        dynamics = Dynamics(bare(name), "recursive", coordinates)
    except da.ModelError as error:
        pytest.skip(str(error))
    assert dynamics.is_large
    reference = Dynamics(bare(name), "lagrange-multipliers", coordinates)
    q, u = _state(name, dynamics)
    expected, multipliers = reference.solve(q, u, t=TIME)
    du, mine = dynamics.solve(q, u, t=TIME)
    np.testing.assert_allclose(du, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max())
    seen, known = dynamics.residuals(TIME, q, u), reference.residuals(TIME, q, u)
    np.testing.assert_allclose(seen.jacobian.toarray(), known.jacobian, atol=1e-12)
    np.testing.assert_allclose(seen.position, known.position, atol=1e-13)
    np.testing.assert_allclose(seen.velocity, known.velocity, atol=1e-12)
    # The same forces on all velocities, also where the multipliers are not unique.
    np.testing.assert_allclose(
        known.jacobian.T @ mine, known.jacobian.T @ multipliers, atol=1e-8 * np.abs(multipliers).max(initial=1.0)
    )


def test_rolled_loops_come_back_onto_the_constraints(all_rolled):
    name = "loop closed by revolute"
    dynamics = Dynamics(bare(name), "recursive")
    assert dynamics.is_large
    q, u = _state(name, dynamics)
    rng = np.random.default_rng(0)
    q_off = dynamics.coordinates.place(da.algebra.NUMPY, dynamics.flat.parameters).integrate(
        q, 1e-3 * rng.normal(size=dynamics.nv)
    )
    y = np.concatenate([q_off, u + 1e-3 * rng.normal(size=dynamics.nv), [0.0]])
    context, scratch = dynamics.context(), np.empty_like(y)
    assert context.retract(TIME, y, scratch) == 0
    left = dynamics.residuals(TIME, y[: dynamics.nq], y[dynamics.nq : -1])
    assert np.abs(left.position).max() < 1e-13
    assert np.abs(left.velocity).max() < 1e-11


@pytest.mark.compiled
def test_a_large_mechanism_runs_by_itself():
    """Twelve windows, 25 bodies: a pendulum with θ̈ = a sin θ."""
    n = 12
    run = da.simulate(da.library.n_four_bar(n=n), 1.0, rtol=1e-11, atol=1e-13)
    assert run.dynamics.formulation.name == "recursive" and run.dynamics.is_large
    assert run.certificate.trusted, str(run.certificate)
    theta, speed = 2.4 - run.joint("A0").q.values, -run.joint("A0").u.values
    a = ((n + 1) / 2 + n) / ((n + 1) / 3 + n) * 9.81
    np.testing.assert_allclose(speed**2 / 2 + a * np.cos(theta), a * np.cos(2.4), atol=1e-8)
    # Cut joints are measured too.
    np.testing.assert_allclose(run.joint("C3").q.values, run.joint("B3").q.values * -1.0, atol=1e-9)


# Dense loops


def test_armatures_of_cut_joints_yield():
    """A rotor on a joint that is cut belongs to no tree joint; multipliers carry it."""
    for seed in range(3):
        model = loop_model(300 + seed, ("revolute", "spherical", "universal"), ("revolute",))
        cut = Dynamics(model, "lagrange-multipliers").coordinates.cut
        for i, data in enumerate(model.joints):
            if data.name in cut:
                model.joints[i] = data.model_copy(update={"armature": sp.Float(0.7)})
        a, b = (Dynamics(model, name) for name in ("lagrange-multipliers", "recursive"))
        assert b.kernels.yielding == len(cut)
        rng = np.random.default_rng(seed)
        state = da.assemble(model)
        q, u = state.to(a.coordinates)
        u = u + _admissible(a, q, rng)
        expected, known = a.solve(q, u)
        du, mine = b.solve(q, u)
        np.testing.assert_allclose(du, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max())
        np.testing.assert_allclose(mine, known, rtol=0, atol=1e-8 * np.abs(known).max())


def _admissible(dynamics: Dynamics, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random velocity that the constraints allow."""
    A = np.asarray(dynamics.residuals(0.0, q, np.zeros(dynamics.nv)).jacobian)
    u = rng.normal(size=dynamics.nv)
    return u - np.linalg.pinv(A) @ (A @ u)


def test_a_massless_tip_is_reported_in_words():
    model = da.Model("light loop")
    for name, com in (("left", (0, 0.5, 0)), ("top", (0.5, 1, 0)), ("right", (1, 0.5, 0))):
        heavy = name != "top"
        model.body(name, mass=float(heavy), com=com, inertia=(0.1 * heavy,) * 3)
    model.revolute("A", model.ground, "left", point=(0, 0, 0), axis="z")
    model.revolute("B", "left", "top", point=(0, 1, 0), axis="z")
    model.spherical("C", "top", "right", point=(1, 1, 0))
    model.revolute("D", model.ground, "right", point=(1, 0, 0), axis="z")
    with pytest.raises(da.ModelError, match="has none in some direction"):
        da.compile(model, formulation="recursive")
