"""Penalties, frequencies and damping by constraint and by row, and Baumgarte's two constants."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian
from dalembert.formulations.canonical_augmented import CanonicalAugmented
from dalembert.formulations.penalty import Penalty


def linkage() -> da.Model:
    """A triangle of two bars that a drive and a joint hold."""
    model = da.Model("linkage", gravity=(0, -9.81, 0))
    model.body("a", mass=1.3, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.body("b", mass=0.7, com=(1, 0.5, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("A", model.ground, "a", point=(0, 0, 0), axis="z")
    model.revolute("B", "a", "b", point=(1, 0, 0), axis="z")
    model.distance("rod", model.ground, "b", point=(2, 0, 0), point_2=(1, 1, 0), cut=True)
    model.constraint("tie", "q(A) + 0.3*q(B)")
    return model


def state(dynamics: da.Dynamics) -> tuple[np.ndarray, np.ndarray]:
    """Off the constraints, and moving across them."""
    return np.array([0.05, -0.03]), np.array([0.4, 0.9])


@pytest.mark.parametrize("by_name", [True, False])
def test_diagonal_penalties_solve_the_printed_equation(by_name: bool):
    """(M + Aᵀ α A) u̇ = f − Aᵀ α (γ + 2 Ω μ φ̇ + Ω² φ)  with diagonal α, Ω, μ: eqs. (5.37), (5.47), by NumPy."""
    plain = da.compile(linkage(), formulation="lagrange-multipliers")
    owners = [row.owner for row in plain.rows]
    alpha, omega, mu = ({"rod": 3e3, "tie": 7e5}, {"rod": 5.0, "tie": 30.0}, {"rod": 0.2, "tie": 1.4})
    options = [values if by_name else [values[o] for o in owners] for values in (alpha, omega, mu)]
    dynamics = da.compile(linkage(), formulation=Penalty(*options))
    q, u = state(dynamics)
    left = plain.residuals(0.0, q, u)
    M, A = plain.mass_matrix(q), np.asarray(left.jacobian)
    f, h = -plain.bias(q, u), 1e-6
    rates = [np.asarray(plain.residuals(0.0, q + s * h * u, u).velocity) for s in (1, -1)]
    gamma = (rates[0] - rates[1]) / (2 * h)  # Ȧ u
    a, w, m = (np.diag([values[o] for o in owners]) for values in (alpha, omega, mu))
    a = a * np.abs(M).max()
    g = gamma + 2 * w @ m @ np.asarray(left.velocity) + w @ w @ np.asarray(left.position)
    expected = np.linalg.solve(M + A.T @ a @ A, f - A.T @ a @ g)
    du, multipliers = dynamics.solve(q, u)
    np.testing.assert_allclose(du, expected, rtol=1e-6)
    np.testing.assert_allclose(multipliers, -a @ (A @ expected + g), rtol=1e-4)


def test_names_that_are_left_out_have_the_usual_value():
    model = linkage()
    q, u = state(da.compile(model))
    some = da.compile(model, formulation=Penalty(alpha={"rod": 1e7}, omega=10.0)).solve(q, u)[0]
    np.testing.assert_array_equal(some, da.compile(model, formulation="penalty").solve(q, u)[0])


def test_augmented_turns_end_at_the_constraints_whatever_the_diagonal():
    model = linkage()
    formulation = AugmentedLagrangian(alpha={"rod": 1e2, "tie": 1e5}, omega={"rod": 3.0}, mu=[1.0, 0.5])
    run = da.simulate(model, 0.3, formulation=formulation)
    exact = da.simulate(model, 0.3)
    np.testing.assert_allclose(run.values("q"), exact.values("q"), atol=1e-6)
    assert da.Recipe.from_json(run.dynamics.recipe.to_json()).formulation == formulation


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": {"rob": 1.0}}, "penalty: alpha: no constraint is called 'rob'; there are rod, tie"),
        ({"omega": [1.0]}, r"penalty: omega: expected 2 numbers, one for each constraint row \(rod, tie\), got 1"),
    ],
)
def test_wrong_diagonals_are_refused(options: dict, message: str):
    dynamics = da.compile(linkage(), formulation=Penalty(**options))
    with pytest.raises(da.DalembertError, match=message):
        dynamics.solve([0.0, 0.0], [0.0, 0.0])


def test_a_diagonal_must_make_sense():
    with pytest.raises(da.DalembertError, match="alpha must be a positive number"):
        Penalty(alpha=[1.0, -1.0])
    with pytest.raises(da.DalembertError, match="one number for all rows"):
        CanonicalAugmented(alpha={"rod": 1.0})


# Baumgarte


def test_two_constants_of_baumgarte():
    """An open constraint closes as φ̈ + 2α φ̇ + β² φ = 0 says: with α < β it swings, φ = e^(−αt) φ₀ (cos ωt + …)."""
    model = da.System("slider")
    model.coordinate("x", kind="length")
    model.coordinate("y", kind="length")
    model.particle("p", mass=1, position=("q(x)", "q(y)", 0))
    model.constraint("line", "q(y) - 0.5*q(x)")
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="generalized")
    alpha, beta = 2.0, 9.0
    start = da.State(0.0, *_open_state(dynamics), dynamics.relative.coordinates, {})
    run = da.simulate(dynamics, 1.0, initial=start, baumgarte=(alpha, beta), rtol=1e-11, atol=1e-13)
    x, y = run.values("q")[:, :2].T
    t, w = run.values("time"), np.sqrt(beta**2 - alpha**2)
    expected = np.exp(-alpha * t) * 0.01 * (np.cos(w * t) + alpha / w * np.sin(w * t))
    np.testing.assert_allclose(y - 0.5 * x, expected, atol=1e-9)
    for wrong in ((1.0, 2.0, 3.0), (1.0, -2.0)):
        with pytest.raises(da.DalembertError, match="baumgarte must be"):
            da.simulate(dynamics, 1.0, baumgarte=wrong)


def _open_state(dynamics: da.Dynamics) -> tuple[np.ndarray, np.ndarray]:
    """y is off by 0.01, at rest across the line."""
    state = da.assemble(dynamics)
    q, u = state.q.copy(), state.u.copy()
    names = dynamics.relative.q_names
    q[names.index("y")] += 0.01
    for k, name in enumerate(names):
        if name.startswith("p_position"):
            q[k] = {"0": q[names.index("x")], "1": q[names.index("y")]}.get(name[-2], 0.0)
    return q, u


# Led back only after an intolerable violation


def test_states_are_led_back_only_where_they_drift_too_far():
    """Projection after an intolerable violation only; with Baumgarte's terms besides, the hybrid of Park and Haug."""
    options = {"integrator": "rk4", "step": 0.002, "output_step": 0.02}
    equations = da.compile(da.library.four_bar(), formulation="lagrange-multipliers")

    def worst(**more: object) -> float:
        return da.simulate(equations, 2.0, **options, **more).certificate["position residual"]

    loose, every = worst(stabilization="none"), worst(stabilization="partition")
    drift = loose / 20
    seldom, hybrid = worst(stabilization="partition", drift=drift), worst(drift=drift, baumgarte=(5.0, 5.0))
    assert every < 1e-12 < drift / 100 < seldom <= 1.5 * drift
    assert every < hybrid <= seldom
    for wrong in ({"stabilization": "none"}, {"stabilization": "baumgarte"}, {"stabilization": "index-1"}):
        with pytest.raises(da.DalembertError, match=r"drift=0\.001 is for states"):
            da.simulate(equations, 0.1, drift=1e-3, **wrong)
    with pytest.raises(da.DalembertError, match="drift must be a positive number"):
        da.simulate(equations, 0.1, drift=-1.0)
