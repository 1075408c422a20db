"""Stabilizations, the automatic choice of integrators, and runs that have to stop."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.integrators import INTEGRATORS

LONG = 20.0


@pytest.mark.parametrize("stabilization", ["projection", "partition", "index-1", "ggl"])
def test_what_stays_on_the_constraints(stabilization):
    run = da.simulate(da.library.four_bar(), 2.0, stabilization=stabilization)
    assert run.certificate.trusted, run.certificate
    assert run.certificate["position residual"] < 1e-11
    assert run.certificate["velocity residual"] < 1e-11


def _drift(**options):
    run = da.simulate(da.library.four_bar(), LONG, integrator="rk4", step=2e-3, output_step=0.1, **options)
    return run.certificate["position residual"]


def test_baumgarte_holds_the_drift_that_nothing_else_holds():
    drift = _drift(stabilization="none")
    held = _drift(baumgarte=10.0)
    assert drift > 1e-4
    assert held < 0.05 * drift
    assert _drift(stabilization="projection") < 1e-11


def test_baumgarte_stiffer_holds_better():
    assert _drift(baumgarte=20.0) < _drift(baumgarte=5.0)


@pytest.mark.parametrize("name", ["four-bar", "rolling-disc"])
def test_baumgarte_by_its_definition(name):
    """A u̇ + γ = −2 α (A u + b) − β² φ, off the constraints, holonomic or not."""
    dynamics, rate = da.compile(da.library.build(name)), 7.0
    rng = np.random.default_rng(5)
    q, u = rng.normal(size=dynamics.nq), rng.normal(size=dynamics.nv)
    problem, context = dynamics.problem()
    context.alpha = context.beta = rate
    dy = np.empty(dynamics.nq + dynamics.nv + 1)
    assert problem.rhs(0.0, np.concatenate([q, u, [0.0]]), dy) == 0
    blocks, seen = (
        dynamics.dynamics_kernel(0.0, q, u, context.parameters, np.zeros(dynamics.nv)),
        dynamics.residuals(0.0, q, u),
    )
    wanted = -2 * rate * np.asarray(seen.velocity)
    wanted[: dynamics.holonomic] -= rate**2 * np.asarray(seen.position)
    found = np.asarray(blocks.jacobian) @ dy[dynamics.nq : -1] + np.asarray(blocks.gamma)
    keeps = np.linalg.norm(np.asarray(blocks.jacobian), axis=1) > 1e-9  # the plane rows of a spatial joint are empty
    np.testing.assert_allclose(found[keeps], wanted[keeps], rtol=1e-9, atol=1e-9)


def test_partition_moves_as_few_coordinates_as_there_are_equations():
    """After a disturbance off the constraints, projection moves all coordinates, partition only one."""
    from dalembert.numerics.alignment import partition_step
    from dalembert.numerics.linear import solve_constrained

    rng = np.random.default_rng(3)
    root = rng.normal(size=(5, 5))
    M, A, residual = root @ root.T + np.eye(5), rng.normal(size=(2, 5)), rng.normal(size=2)
    shortest, dependent = np.zeros(5), np.zeros(5)
    solve_constrained(M, np.zeros(5), A, residual, shortest, np.zeros(2))
    partition_step(M, A, residual, dependent)
    np.testing.assert_allclose(A @ shortest, -residual)
    np.testing.assert_allclose(A @ dependent, -residual)
    assert np.count_nonzero(dependent) == 2
    assert shortest @ M @ shortest < dependent @ M @ dependent
    # Eq. 67: the squared part of each coordinate direction that is normal to the constraints, in the metric M.
    normal = A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A)
    best = np.argsort(-np.diag(normal) / np.diag(M))[:2]
    assert set(np.flatnonzero(dependent)) == set(best)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stabilization": "glue"}, "unknown stabilization 'glue'"),
        ({"stabilization": "projection", "baumgarte": 5.0}, "exclude each other"),
        ({"baumgarte": -1.0}, "must be a positive number"),
        ({"stabilization": "ggl", "integrator": "rk4"}, "is a form of 'radau'"),
        ({"integrator": "rk4", "rtol": 1e-6}, "has a fixed step and takes no rtol"),
        ({"integrator": "rk5"}, "unknown integrator 'rk5'"),
        ({"step": float("nan")}, "step must be a finite number or None, got nan"),
        ({"step": -1.0}, "step must be a positive number"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(da.DalembertError, match=words):
        da.simulate(da.library.four_bar(), 1.0, **options)


# The choice


def stiff() -> da.Model:
    """A pendulum in honey: its velocity is damped 1e5 times faster than it swings."""
    model = da.library.pendulum()
    model.torsional_spring("honey", "pivot", stiffness=0, damping=1e5)
    return model


def test_auto_goes_over_to_radau_where_a_problem_is_stiff():
    run = da.simulate(stiff(), 1.0)
    assert run.data.attrs["integrator"] == "radau"
    assert any("stiff" in remark for remark in run.certificate.remarks)
    assert run.certificate.trusted, run.certificate
    assert run.certificate.counts["steps"] < 2000
    # Not asked for another accuracy, it is held to that of any other run.
    assert run.certificate.accuracy == pytest.approx(1e-6)
    exact = da.simulate(stiff(), 1.0, integrator="radau", rtol=1e-13, atol=1e-15, certify=False)
    assert np.abs(run.values("q") - exact.values("q")).max() < 1e-8
    explicit = da.simulate(stiff(), 0.01, integrator="dopri8")
    same = da.simulate(stiff(), 0.01, integrator="radau")
    np.testing.assert_allclose(same.q.values, explicit.q.values, atol=1e-9)


@pytest.mark.parametrize(("rtol", "name"), [(1e-3, "tsit5"), (1e-10, "dopri8"), (None, "dopri8")])
def test_auto_looks_at_the_tolerance_and_says_why(rtol, name):
    run = da.simulate(da.library.double_pendulum(), 1.0, rtol=rtol)
    assert run.data.attrs["integrator"] == name
    assert "tolerance" in run.data.attrs["reason"]


# Runs that have to stop keep what they have


def test_too_many_steps_keeps_the_trajectory():
    method = INTEGRATORS["dopri8"](max_steps=50)
    run = da.simulate(da.library.double_pendulum(), 10.0, integrator=method, output_step=0.01)
    assert not run.certificate.finished
    assert "the limit of max_steps was reached" in run.certificate.message
    assert 0.05 < float(run.time[-1]) < 10
    assert np.all(np.isfinite(run.q))


def test_a_singularity_is_reported_with_time_and_joint():
    model = da.library.pendulum()
    model.joint_force("pole", "pivot", "1/(1 - t)")
    run = da.simulate(model, 2.0)
    assert not run.certificate.trusted
    assert "pivot" in run.certificate.message
    assert 0.9 < float(run.time[-1]) <= 1.0


def test_strict_raises():
    with pytest.raises(da.SimulationError, match="cannot be trusted"):
        da.simulate(da.library.four_bar(), 1.0, integrator="euler", strict=True)


def test_large_trees_refuse_implicit_methods():
    with pytest.raises(da.ModelError, match="without derivatives"):
        da.simulate(da.library.n_pendulum(n=120), 0.1, integrator="radau")
