"""Choices that a formulation makes once and a motion wears out: quasi-velocities, ranks, weights of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.turning_line import turning_line

import dalembert as da
from dalembert.equations.quasi_velocities import offered, plan_of
from dalembert.equations.sampled import Sampled
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.volterra_reduced import VolterraReduced
from dalembert.fuzz.physical_states import consistent_state
from dalembert.fuzz.random_mechanisms import random_model

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
CHOOSING = [name for name, kind in FORMULATIONS.items() if getattr(kind, "choosing", False)]
CLOSE = 1e-9


def two_loops() -> da.Model:
    """A crank drives a rocker, the rocker a second one; every link passes through dead points."""
    model = da.Model("two loops", gravity=(0, -9.81, 0))
    A, B, C, D, E, F = ((0, 0, 0), (0.3, 0.4, 0), (1.2, 0.9, 0), (1, 0, 0), (1.9, 0.7, 0), (1.9, 0, 0))
    for name, a, b in (("crank", A, B), ("rod", B, C), ("rocker", C, D), ("link", C, E), ("last", E, F)):
        length = float(np.linalg.norm(np.subtract(b, a)))
        model.body(name, mass=1, com=tuple(np.add(a, b) / 2), inertia=(length**2 / 12,) * 3)
    for name, first, second, point, cut in (
        ("a", "ground", "crank", A, False), ("b", "crank", "rod", B, False), ("c", "rod", "rocker", C, False),
        ("d", "ground", "rocker", D, True), ("e", "rocker", "link", C, False), ("f", "link", "last", E, False),
        ("g", "ground", "last", F, True),
    ):  # fmt: skip
        model.revolute(name, first, second, point=point, axis="z", cut=cut)
    return model


def edge_mill() -> da.Model:
    """A disc rolls about an upright shaft; the loop keeps it upright, and its height with it: one equation too many."""
    model = da.Model("edge mill", gravity=(0, 0, -9.81))
    model.body("shaft", mass=1, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.1))
    model.body("disc", mass=2, com=(0.8, 0, 0.3), inertia=(0.09, 0.045, 0.045))
    model.revolute("shaft", model.ground, "shaft", point=(0, 0, 0.3), axis="z")
    model.cylindrical("arm", "shaft", "disc", point=(0.8, 0, 0.3), axis="x")
    model.rolling_disc("contact", model.ground, "disc", point=(0.8, 0, 0.3), axis="z", axis_2="x", radius=0.3)
    return model


# Quasi-velocities


def test_there_are_formulations_that_choose():
    assert set(CHOOSING) == {"kane", "gibbs-appell", "volterra", "volterra-reduced", "boltzmann-hamel"}


@pytest.mark.parametrize("formulation", CHOOSING)
def test_quasi_velocities_are_chosen_anew_at_a_dead_point(formulation: str):
    run = da.simulate(turning_line(), 3.0, formulation=formulation, coordinates="generalized", **TIGHT)
    r = np.cosh(3) + 0.3 * np.sinh(3)
    np.testing.assert_allclose(run.values("q")[-1], (r * np.cos(3), r * np.sin(3)), atol=CLOSE)
    assert run.certificate.trusted
    assert "chose other quasi-velocities" in str(run.certificate)
    # λ of the line: the force 2 ṙ across it. At the dead point of the first choice it is as good as elsewhere.
    t = run.values("time")
    np.testing.assert_allclose(np.abs(run.reaction("line")), 2 * (np.sinh(t) + 0.3 * np.cosh(t)), rtol=1e-7)


@pytest.mark.parametrize("formulation", CHOOSING)
def test_rows_are_chosen_anew_where_they_come_to_depend_on_each_other(formulation: str):
    """Two of the five rows of Bennett's linkage determine the rest, but no two of them everywhere: at t = 0.457 s runs
    ended, as rates by quasi-velocities stay finite where rows alone depend on each other."""
    run = da.simulate(da.library.bennett(), 1.0, formulation=formulation)
    exact = da.simulate(da.library.bennett(), 1.0)
    assert run.certificate.trusted
    np.testing.assert_allclose(run.values("position"), exact.values("position"), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", CHOOSING)
def test_two_loops_through_dead_points(formulation: str):
    model, options = two_loops(), {"coordinates": "generalized", "initial_rates": {"a": 3.0}}
    reference = da.simulate(model, 2.0, formulation="lagrange-multipliers", rtol=1e-12, atol=1e-13, **options)
    run = da.simulate(model, 2.0, formulation=formulation, **options, **TIGHT)
    np.testing.assert_allclose(run.values("position"), reference.values("position"), atol=CLOSE)
    assert run.certificate.trusted


def test_quasi_velocities_can_be_named():
    from dalembert.formulations.kane import Kane

    model = turning_line()
    run = da.simulate(model, 1.0, formulation=Kane(velocities=("d/dt x",)), coordinates="generalized", **TIGHT)
    assert run.certificate.trusted
    assert da.Recipe.from_json(run.dynamics.recipe.to_json()).formulation == Kane(velocities=("d/dt x",))
    with pytest.raises(da.ModelError, match=r"expected 1 quasi-velocities.*d/dt x, d/dt y"):
        da.compile(model, formulation=Kane(velocities=("speed",)), coordinates="generalized")
    with pytest.raises(da.ModelError, match=r"d/dt y, constraint line\[0\] depend on each other"):
        da.compile(model, formulation=Kane(velocities=("d/dt y",)), coordinates="generalized")


def test_single_evaluations_do_not_fail_at_a_dead_point():
    dynamics = da.compile(turning_line(), formulation="kane", coordinates="generalized")
    du, multipliers = dynamics.solve([0.0, 2.0], [-2.0, 1.0], t=np.pi / 2)
    np.testing.assert_allclose(du, (-2.0, 0.0), atol=1e-12)  # Coriolis −2 ṙ, and r̈ − r = 0
    np.testing.assert_allclose(np.abs(multipliers), 2.0)


@pytest.fixture(scope="module")
def four_loops() -> tuple[da.Model, np.ndarray, np.ndarray, np.ndarray]:
    """Four loops with two redundant rows, others than in the branch next to neutral joints; a state, and q̈ there."""
    model = random_model(140)
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="generalized")
    q, u = consistent_state(dynamics, 3, t=0.3, spread=0.1)
    return model, q, u, dynamics.solve(q, u, t=0.3)[0]


@pytest.mark.parametrize("formulation", ["volterra-reduced", "kane"])
def test_rows_are_chosen_where_the_mechanism_is_closed(formulation: str, four_loops: Any):
    model, q, u, expected = four_loops
    dynamics = da.compile(model, formulation=formulation, coordinates="generalized")
    du, _ = dynamics.solve(q, u, t=0.3)
    np.testing.assert_allclose(du, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_single_evaluations_do_not_trust_rows_that_depend_on_each_other(four_loops: Any):
    model, q, u, expected = four_loops
    named = VolterraReduced(rows=tuple(range(9)))
    du, _ = da.compile(model, formulation=named, coordinates="generalized").solve(q, u, t=0.3)
    np.testing.assert_allclose(du, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("seed", [140, 307, 313])
def test_chosen_rows_and_velocities_determine_the_rates_as_drawn(seed: int):
    dynamics = da.compile(random_model(seed), formulation="lagrange-multipliers", coordinates="generalized")
    coordinates = dynamics.coordinates
    plan, sampled = plan_of(coordinates), Sampled(coordinates)
    e = sampled.equations
    _, Y, _ = offered(e)
    stack = np.concatenate([Y[list(plan.velocities)], e.jacobian[list(plan.rows)]])
    (seen,) = sampled.values(stack, [(0.0, coordinates.drawn(), np.zeros(e.nv))], vary=False)
    assert seen.shape[0] == e.nv
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    assert np.linalg.svd(seen, compute_uv=False).min() > 0.01


@pytest.mark.parametrize("formulation", ["kane", pytest.param("volterra-reduced", marks=pytest.mark.slow)])
def test_rows_are_chosen_anew_where_an_event_switches_constraints(formulation: str):
    """The pin of a Geneva drive enters and leaves: at each time one row, another one."""
    model = da.library.geneva_drive()
    expected = da.simulate(model, 0.7)
    run = da.simulate(model, 0.7, formulation=formulation, coordinates="generalized")
    assert [event.name for event in run.events] == ["in", "out"]
    assert run.certificate.trusted, str(run.certificate)
    u, wanted = run.joint("turn").u.values, expected.joint("turn").u.values
    np.testing.assert_allclose(u, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())
    assert np.abs(wanted).max() > 15


@pytest.mark.parametrize("formulation", ["kane", "maggi", "hamilton", "routh"])
def test_what_cannot_follow_a_switch_says_so(formulation: str):
    model = da.library.pendulum()
    joint = next(iter(model.joints)).name
    model.constraint("brake", f"u({joint})", level="velocity", active=False)
    model.event("stop", "t - 0.1", switch={"brake": True})
    dynamics = da.compile(model, formulation=formulation, coordinates="generalized")
    words = f"formulation '{formulation}' is made for the constraints that act at the start"
    run = da.simulate(dynamics, 0.2)
    assert not run.certificate.trusted
    assert f"event 'stop': {words}" in str(run.certificate)
    with pytest.raises(da.SimulationError, match=words):
        da.simulate(dynamics, 0.2, parameters={"brake.on": 1.0})
    du, _ = dynamics.solve([1.0], [0.0], parameters={"brake.on": 1.0})
    np.testing.assert_allclose(du, 0, atol=1e-12)


def test_a_checkpoint_remembers_the_choice(tmp_path: Path):
    from dalembert.analyses.simulation.drive import Driver

    class Killed(Exception):
        pass

    options: dict[str, Any] = {"formulation": "kane", "coordinates": "generalized", **TIGHT}
    whole = da.simulate(turning_line(), 3.0, **options)
    file = tmp_path / "run.nc"
    advance, calls = Driver._advance, []

    def killed(self: Driver) -> Any:
        if self.handler.choices and not calls:
            calls.append(self.time)
            assert self.checkpoint is not None
            self.checkpoint.save(self)
            raise Killed
        return advance(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Driver, "_advance", killed)
        with pytest.raises(Killed):
            da.simulate(turning_line(), 3.0, checkpoint=file, **options)
    assert 1.0 < calls[0] < 2.0
    resumed = da.simulate(turning_line(), 3.0, checkpoint=file, **options)
    np.testing.assert_array_equal(resumed.values("q"), whole.values("q"))


# Rows that all but vanish


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "generalized"])
@pytest.mark.parametrize("formulation", ["recursive", pytest.param("newton-euler", marks=pytest.mark.slow)])
def test_edge_mill_runs(formulation: str, coordinates: str):
    if coordinates not in FORMULATIONS[formulation].supports().coordinates:
        pytest.skip("not in these coordinates")
    run = da.simulate(
        edge_mill(), 0.5, formulation=formulation, coordinates=coordinates, initial_rates={"shaft": 2.0}, **TIGHT
    )
    assert run.certificate.trusted, str(run.certificate)
    np.testing.assert_allclose(run.joint("shaft").q.values.ravel(), 2 * run.values("time"), atol=CLOSE)


# Ranks


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_an_event_keeps_the_rank_of_an_over_constrained_mechanism(coordinates: str):
    model = da.library.bennett()
    model.parameters(idle=1.0)
    undisturbed = da.simulate(model, 1.0, coordinates=coordinates)
    model.event("tick", "t - 0.4", set={"idle": 2})
    run = da.simulate(model, 1.0, coordinates=coordinates)
    assert len(run.events) == 1
    assert run.certificate.trusted, str(run.certificate)
    np.testing.assert_allclose(run.values("position"), undisturbed.values("position"), atol=1e-6)


def test_a_brake_that_falls_in_keeps_the_rank():
    model = da.library.bennett()
    joint = next(iter(model.joints)).name
    model.constraint("brake", f"u({joint})", level="velocity", active=False)
    model.event("stop", "t - 0.4", switch={"brake": True})
    run = da.simulate(model, 1.0)
    assert run.certificate.trusted, str(run.certificate)
    np.testing.assert_allclose(run.values("u")[-1], 0, atol=1e-9)


def test_redundant_rows_that_stages_see_as_independent_are_no_singular_position():
    """Momenta of a mechanism with one equation too many: off its constraints by rounding that equation looks
    independent. Its rank is known, so neither the steps nor the verdict suffer."""
    options: Any = {"coordinates": "absolute", "initial_rates": {"shaft": 2.0}, "output_step": 0.4, **TIGHT}
    runs = [
        da.simulate(edge_mill(), 0.4, formulation=name, **options) for name in ("canonical", "lagrange-multipliers")
    ]
    assert all(run.certificate.trusted for run in runs), str(runs[0].certificate)
    assert runs[0].certificate.counts["steps"] < 2 * runs[1].certificate.counts["steps"]
    ends = [run.body("disc").position.values[-1] for run in runs]
    assert np.allclose(*ends, rtol=0, atol=1e-9)
