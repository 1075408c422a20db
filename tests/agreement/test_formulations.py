"""What formulations promise beside agreement: multipliers, options, laws of error, refusals, and runs to trust."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from support.cases import LOOPS, case, driven_four_bar, flat_parallelogram, parallelogram
from support.pairs import coordinates_of as kinds_of
from support.states import equations_at, reference_coordinates, transfer
from test_agreement_motion import EVERY_DAY, EXACT, TIME, dynamics_of, leaning, state_in

import dalembert as da
from dalembert.coordinates import COORDINATES
from dalembert.dynamics import Dynamics
from dalembert.dynamics.evaluate import accelerations_along
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian
from dalembert.formulations.independent import BASES, Independent
from dalembert.formulations.penalty import Penalty

SOLVED = [name for name in FORMULATIONS if not FORMULATIONS[name].explicit]
# Multipliers of penalty methods are penalties times residuals: rounding times 1e5. The others have the condition of A.
MULTIPLIERS = 1e-8
SOME = [
    "three loops",
    "a rolling disc in a loop",
    "equations of position and velocity",
    "driven slider crank",
    LOOPS[0],
]


def coordinates_of(name: str, case_name: str = EVERY_DAY[0]) -> list[str]:
    """Those that a formulation takes; natural ones only for the cases of every day."""
    return [c for c in kinds_of(name) if c != "natural" or case_name in EVERY_DAY]


# Multipliers


@pytest.mark.parametrize("formulation", [name for name in EXACT if name in SOLVED and name != "lagrange-multipliers"])
@pytest.mark.parametrize("name", ["planar parallelogram with spatial hinges", "welded and massless parts", *SOME])
@pytest.mark.slow
def test_multipliers_are_those_of_least_norm(name, formulation):
    """Also where rows are redundant, so that reactions agree wherever they are unique and the choice is the same."""
    for coordinates in coordinates_of(formulation, name):
        dynamics = dynamics_of(name, formulation, coordinates)
        q, u = state_in(name, 0, dynamics.coordinates)
        _, expected = dynamics_of(name, "lagrange-multipliers", coordinates).solve(q, u, t=TIME)
        _, multipliers = dynamics.solve(q, u, t=TIME)
        size = np.abs(expected).max(initial=1.0)
        np.testing.assert_allclose(multipliers, expected, rtol=0, atol=MULTIPLIERS * size, err_msg=coordinates)


@pytest.mark.parametrize("formulation", SOLVED)
@pytest.mark.slow
def test_an_over_constrained_mechanism_moves_the_same_way(formulation):
    """A third crank of the same length: all rows are redundant with others."""
    for coordinates in coordinates_of(formulation):
        model = parallelogram(0.0, 2.0, 1.0)
        reference = Dynamics(model, "lagrange-multipliers", coordinates)
        q, u = transfer(reference.coordinates, *leaning(model, 0.4, 1.3))
        expected, _ = reference.solve(q, u, t=TIME)
        du, _ = Dynamics(model, formulation, coordinates).solve(q, u, t=TIME)
        error = 1e-9 if formulation in EXACT else 1e-6
        np.testing.assert_allclose(du, expected, rtol=0, atol=error * np.abs(expected).max())


# Penalties


@cache
def _loop_state():
    dynamics = dynamics_of("three loops", "lagrange-multipliers", "relative")
    q, u = state_in("three loops", 0, dynamics.coordinates)
    return q, u, dynamics.solve(q, u, t=TIME)[0]


def _error(formulation: Formulation) -> float:
    q, u, expected = _loop_state()
    du, _ = Dynamics(case("three loops"), formulation).solve(q, u, t=TIME)
    return float(np.abs(du - expected).max() / np.abs(expected).max())


def test_the_error_of_a_penalty_falls_with_its_inverse():
    alphas = 10.0 ** np.arange(2, 10)
    errors = np.array([_error(Penalty(alpha=alpha)) for alpha in alphas])
    # error = c/α (1 + O(1/(α σ))), σ ≈ 3 here: the larger α, the closer, since the solution is refined.
    np.testing.assert_allclose(errors * alphas, errors[-1] * alphas[-1], rtol=0.01)
    np.testing.assert_allclose(errors[3:] * alphas[3:], errors[-1] * alphas[-1], rtol=1e-4)
    # Beyond, rounding grows with α.
    assert _error(Penalty(alpha=1e14)) > 100 * _error(Penalty(alpha=1e8))


def test_each_turn_of_the_augmented_lagrangian_divides_the_error():
    """By about α σ:  from c/α to c/(α² σ), and so on down to rounding."""
    alpha = 1e3
    errors = [_error(AugmentedLagrangian(alpha=alpha, iterations=i, tolerance=0.0)) for i in range(4)]
    assert errors[0] == pytest.approx(_error(Penalty(alpha=alpha)))
    for before, after in pairwise(errors):
        assert after < 1e-2 * before
    # Turns correct what rounding spoils where the penalty alone has lost five digits.
    assert _error(AugmentedLagrangian(alpha=1e11)) < 1e-9 < 1e-7 < _error(AugmentedLagrangian(alpha=1e11, iterations=0))


@pytest.mark.parametrize("formulation", ["penalty", "augmented-lagrangian"])
def test_penalties_damp_violations_by_themselves(formulation):
    """φ̈ + 2Ωμ φ̇ + Ω² φ = 0 where the state is off the constraints."""
    omega, mu, name = 7.0, 0.8, "driven slider crank"
    dynamics = Dynamics(case(name), FORMULATIONS[formulation](omega=omega, mu=mu))  # type: ignore[call-arg]
    q, u = state_in(name, 0, dynamics.coordinates)
    rng = np.random.default_rng(0)
    q, u = q + 1e-3 * rng.normal(size=len(q)), u + 1e-3 * rng.normal(size=len(u))
    residuals = dynamics.residuals(TIME, q, u)
    e = equations_at(dynamics.coordinates, TIME, q, u)
    du, _ = dynamics.solve(q, u, t=TIME)
    wanted = -2 * omega * mu * residuals.velocity - omega**2 * residuals.position
    np.testing.assert_allclose(e.jacobian @ du + e.gamma, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("formulation", ["penalty", "augmented-lagrangian", "canonical-augmented"])
def test_penalties_pass_singular_positions(formulation):
    """A parallelogram lies flat twice in a turn; there A loses rank, and other routes leave the branch or stop."""
    dynamics = Dynamics(flat_parallelogram(), formulation)
    flat = np.zeros(dynamics.nq)
    assert np.linalg.matrix_rank(dynamics.residuals(0.0, flat, flat).jacobian, tol=1e-9) == 1
    du, multipliers = dynamics.solve(flat, np.zeros(dynamics.nv))
    assert np.isfinite(du).all() and np.isfinite(multipliers).all()
    # Through the flat position and out again, held by nothing but the penalties.
    start = {"A": -0.3, "B": 0.3}
    run = da.simulate(dynamics, 0.6, initial=start, initial_rates={"A": 1.0, "B": -1.0}, stabilization="none")
    assert run.time.values[-1] == 0.6
    assert run.joint("A").q.values[-1] > 0.25
    assert np.abs(run.dynamics.residuals(run.time.values, run.q.values, run.u.values).position).max() < 1e-4


# Independent velocities


@pytest.mark.parametrize("basis", [basis for basis in BASES if basis != "given"])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.slow
def test_any_basis_gives_the_same_accelerations(basis, coordinates):
    for name in SOME if coordinates != "natural" else SOME[:2]:
        dynamics = Dynamics(case(name), Independent(basis=basis), coordinates)
        q, u = state_in(name, 1, dynamics.coordinates)
        expected, _ = dynamics_of(name, "lagrange-multipliers", coordinates).solve(q, u, t=TIME)
        du, _ = dynamics.solve(q, u, t=TIME)
        np.testing.assert_allclose(du, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("formulation", ["independent", "coordinate-partitioning"])
def test_the_partition_is_kept_while_it_is_good(formulation):
    """A crank that turns: no coordinate is good all the way round, but one choice lasts for many evaluations."""
    run = da.simulate(da.library.four_bar(), 1.5, formulation=formulation)
    assert run.certificate.trusted
    assert np.ptp(run.joint("A").q.values) > 2 * np.pi
    dynamics, n = run.dynamics, len(run.time)
    context = dynamics.context()
    states = np.concatenate([run.q.values, run.u.values, np.zeros((n, 1))], axis=1)
    du, multipliers = np.empty((n, dynamics.nv)), np.empty((n, len(dynamics.rows)))
    done = accelerations_along(context, run.time.values, states, np.zeros((n, dynamics.nv)), du, multipliers)
    assert done == n
    assert 1 <= context.solver.record.choices < n / 20
    expected, _ = Dynamics(dynamics.model, "lagrange-multipliers").solve(run.q.values, run.u.values)
    np.testing.assert_allclose(du, expected, atol=1e-9 * np.abs(expected).max())


def test_partition_and_partitioning_go_together():
    how = {"formulation": "coordinate-partitioning", "stabilization": "partition", "coordinates": "absolute"}
    run = da.simulate(da.library.four_bar(), 2.0, **how)  # type: ignore[arg-type]
    assert run.certificate.trusted


# What is refused, and how options are given


def test_free_bodies_have_absolute_coordinates():
    with pytest.raises(da.ModelError, match=r"'newton-euler' cannot take relative coordinates"):
        da.compile(da.library.four_bar(), formulation="newton-euler", coordinates="relative")
    assert da.compile(da.library.four_bar(), formulation="newton-euler").coordinates.name == "absolute"


def solve_at_rest(model: da.Model, formulation: str, coordinates: str) -> None:
    dynamics = da.compile(model, formulation=formulation, coordinates=coordinates)
    dynamics.solve(reference_coordinates(dynamics.coordinates), np.zeros(dynamics.nv))


@pytest.mark.parametrize("formulation", SOLVED)
def test_a_direction_without_mass_and_constraint_is_reported_in_words(formulation):
    model = da.Model("light")
    model.body("rod")
    model.revolute("A", model.ground, "rod", point=(0, 0, 0), axis="z")
    for coordinates in coordinates_of(formulation):
        with pytest.raises(da.DalembertError, match="mass"):
            solve_at_rest(model, formulation, coordinates)


def test_options_are_checked_and_show():
    for wrong in (
        lambda: Penalty(alpha=0),
        lambda: Penalty(omega=-1),
        lambda: AugmentedLagrangian(iterations=-1),
        lambda: AugmentedLagrangian(tolerance=float("nan")),
        lambda: Independent(basis="lu"),
    ):
        with pytest.raises(da.DalembertError):
            wrong()
    assert repr(Penalty(alpha=1e6)) == "Penalty(alpha=1000000.0, omega=10.0, mu=1.0)"
    dynamics = da.compile(da.library.four_bar(), formulation=Penalty(alpha=1e6))
    assert dynamics.formulation == Penalty(alpha=1e6) and dynamics.reason == "as asked"


# Runs


RUNS = {
    "four-bar": da.library.four_bar,
    "slider-crank": da.library.slider_crank,
    "rolling disc": da.library.rolling_disc,
    "driven four-bar": driven_four_bar,
}


@cache
def _reference(name: str) -> da.Trajectory:
    return da.simulate(RUNS[name](), 1.0, formulation="lagrange-multipliers")


@pytest.mark.parametrize("formulation", SOLVED)
@pytest.mark.parametrize("name", RUNS)
def test_runs_can_be_trusted(name, formulation):
    for coordinates in coordinates_of(formulation, EVERY_DAY[0] if name == "four-bar" else name):
        run = da.simulate(RUNS[name](), 1.0, formulation=formulation, coordinates=coordinates)
        assert run.certificate.trusted, f"{coordinates}\n{run.certificate}"
        # Meters, of mechanisms of about one. What a penalty leaves open is of the order 1/α of the forces.
        error = 1e-7 if formulation in EXACT else 1e-4
        for body in run.data.body.values:
            expected = _reference(name).body(body).position
            np.testing.assert_allclose(run.body(body).position, expected, rtol=0, atol=error)
