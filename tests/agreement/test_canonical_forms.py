"""Canonical equations as a system of index 2, the basic augmented form, and multipliers from impulses.

Against (5.97), (5.98), (5.114)–(5.117) and step 5 of algorithm 5-8 of García de Jalón and Bayo.
"""

import numpy as np
import pytest

import dalembert as da
from dalembert.formulations.canonical_augmented import CanonicalAugmented
from dalembert.formulations.penalty import Penalty

TIGHT = {"rtol": 1e-10, "atol": 1e-12}


@pytest.mark.parametrize("name", ["pendulum", "four_bar", "rolling_disc"])
def test_radau_solves_the_canonical_system_of_index_2(name: str):
    """p = M u, ṗ = ∂L/∂q + Q + Aᵀλ, A u + b = 0 moves as the equations at the level of accelerations do."""
    model = getattr(da.library, name)()
    exact = da.simulate(model, 0.5, output_step=0.05, rtol=1e-12, atol=1e-13, certify=False)
    run = da.simulate(model, 0.5, output_step=0.05, formulation="canonical", stabilization="index-2", **TIGHT)
    assert run.certificate.trusted, run.certificate
    np.testing.assert_allclose(run.values("q"), exact.values("q"), atol=2e-8)


def test_the_system_of_index_2_carries_the_work_of_drives():
    """A driven crank: energy balances although λ is the only force that does the drive's work."""
    model = da.library.four_bar()
    model.drive("A", "2*t + t**2")
    run = da.simulate(model, 0.5, formulation="canonical", stabilization="index-2", output_step=0.05, **TIGHT)
    assert run.certificate.trusted and run.certificate["energy balance"] < 1e-8, run.certificate


def test_the_system_of_index_2_is_that_of_canonical_equations():
    with pytest.raises(da.DalembertError, match="formulation='canonical'"):
        da.simulate(da.library.four_bar(), 0.1, stabilization="index-2")
    with pytest.raises(da.DalembertError, match="integrates"):
        da.simulate(da.library.four_bar(), 0.1, formulation="canonical-independent", stabilization="index-2")


def test_the_basic_form_without_turns_is_the_penalty_method():
    """(5.116) is (5.37) in canonical variables; a constant M, so that α, a multiple of its largest entry, is too."""
    model = da.library.four_bar()
    options = {"coordinates": "absolute", "stabilization": "none", "certify": False, "output_step": 0.1, **TIGHT}
    penalty = da.simulate(model, 1.0, formulation=Penalty(alpha=1e4), **options)
    basic = CanonicalAugmented(alpha=1e4, iterations=0, form="basic")
    np.testing.assert_allclose(
        da.simulate(model, 1.0, formulation=basic, **options).values("q"), penalty.values("q"), atol=5e-9
    )
    # It is no exact motion; with turns it is one.
    exact = da.simulate(model, 1.0, output_step=0.1, certify=False, **TIGHT).joint("A").q.values
    assert abs(penalty.joint("A").q.values - exact).max() > 1e-3
    turns = da.simulate(model, 1.0, formulation=CanonicalAugmented(alpha=1e4, form="basic"), **options)
    np.testing.assert_allclose(turns.joint("A").q.values, exact, atol=1e-9)


def test_the_printed_sign_in_5_116a_contradicts_5_115():
    """From p = M q̇ + Φᵀ α Φ̇ + Φᵀσ* follows −Φᵀσ* on the right of (5.116a); the text prints +."""
    rng = np.random.default_rng(1)
    M, A, b, u, sigma, alpha = np.diag(rng.uniform(1, 2, 4)), *(rng.normal(size=s) for s in ((2, 4), 2, 4, 2)), 7.0
    p = M @ u + A.T @ (alpha * (A @ u + b)) + A.T @ sigma
    K = M + alpha * A.T @ A
    np.testing.assert_allclose(np.linalg.solve(K, p - alpha * A.T @ b - A.T @ sigma), u, atol=1e-12)
    assert abs(np.linalg.solve(K, p - alpha * A.T @ b + A.T @ sigma) - u).max() > 0.1


@pytest.mark.parametrize("formulation", ["canonical", "canonical-augmented"])
def test_multipliers_are_the_rates_of_impulses(formulation: str):
    """Step 5 of algorithm 5-8: λ by differences of σ (here λ = −σ̇: forces are +Aᵀλ, the text has −Φᵀλ)."""
    dynamics = da.compile(da.library.four_bar(), formulation=formulation)
    state = da.assemble(dynamics)
    problem, context = dynamics.problem(None, ("rhs",), (0.0, np.concatenate([state.q, state.u])))
    x = np.concatenate([state.q, state.u, [0.0]])
    y, h, sigma = np.zeros(problem.size), 1e-3, []
    assert problem.encode(0.0, x, y) <= 0
    for k in range(5):
        assert problem.decode(k * h, y, x) == 0
        sigma.append(context.multipliers.copy())
        if k == 2:
            q, u = x[: dynamics.nq].copy(), x[dynamics.nq : -1].copy()
        y = y + h / 6 * sum(w * f for w, f in zip((1, 2, 2, 1), _stages(problem, k * h, y, h), strict=True))
    slope = (sigma[0] - 8 * sigma[1] + 8 * sigma[3] - sigma[4]) / (12 * h)
    np.testing.assert_allclose(-slope, dynamics.solve(q, u, t=2 * h)[1], rtol=1e-6, atol=1e-6)


def _stages(problem, t: float, y: np.ndarray, h: float) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for shift in (0.0, 0.5, 0.5, 1.0):
        rate = np.zeros(problem.size)
        assert problem.rhs(t + shift * h, y + shift * h * found[-1] if found else y, rate) == 0
        found.append(rate)
    return found
