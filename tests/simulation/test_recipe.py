"""What equations are made from, in files and in pickles: everything comes back as it was."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import xarray as xr
from support.pairs import PAIRS

import dalembert as da
from dalembert.dynamics import Recipe
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian
from dalembert.formulations.independent import Independent
from dalembert.formulations.penalty import Penalty
from dalembert.formulations.routh import Routh
from dalembert.formulations.volterra_reduced import VolterraReduced
from dalembert.netcdf import write_sealed

RECIPES = [
    Recipe("relative", Penalty(alpha=1e6 / 3, omega=0.1, mu=0.7)),
    Recipe("absolute", AugmentedLagrangian(iterations=7, tolerance=1e-9)),
    Recipe("natural", Independent(basis="boolean", state="mixed")),
    Recipe(da.Generalized(rotations="quaternions"), FORMULATIONS["lagrange"]()),
    Recipe(da.Generalized(sequence="zxz", velocities={"w": "u(A) - 2*u(B)/3"}), Routh(("A", "B"))),
    Recipe("generalized", VolterraReduced(ignorable=(), velocities=("v",)), "some reason"),
]


def again(value):
    return pickle.loads(pickle.dumps(value))


# Data


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.formulation.name)
def test_recipes_are_data_and_back(recipe):
    plain = json.loads(recipe.to_json())
    assert plain == recipe.to_data()
    for other in (Recipe.from_data(plain), Recipe.from_json(recipe.to_json()), again(recipe)):
        assert other == recipe and other.reason == recipe.reason


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_has_a_recipe(name):
    recipe = Recipe("relative", FORMULATIONS[name]())
    assert Recipe.from_json(recipe.to_json()) == recipe


def test_options_left_out_have_their_defaults():
    assert Recipe.from_data({"coordinates": {"name": "relative"}, "formulation": {"name": "penalty"}}) == Recipe(
        "relative", Penalty()
    )
    assert Recipe("generalized", Penalty()).coordinates == da.Generalized()


def test_a_formulation_outside_the_registry_is_not_taken_for_another():
    class Own(Penalty):
        pass

    with pytest.raises(da.DalembertError, match=r"unknown formulation .*Own"):
        Recipe.from_data(Recipe("relative", Own()).to_data())


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("coordinates", {"name": "polar"}, "unknown coordinates 'polar'; expected one of absolute"),
        ("coordinates", {"name": "relative", "options": {"sequence": "zyx"}}, "unknown field 'sequence'"),
        ("coordinates", {"name": "generalized", "options": {"sequence": "zzz"}}, "unknown sequence of axes 'zzz'"),
        ("coordinates", {"name": "generalized", "options": {"velocities": [["w", "f(1)"]]}}, "unknown function 'f'"),
        ("coordinates", {"name": "generalized", "options": {"velocities": [["w", {}]]}}, "a number or a formula"),
        ("formulation", {"name": ["penalty"]}, r"unknown formulation \['penalty'\]"),
        ("formulation", {"name": "penalty", "options": {"beta": 1.0}}, "unknown field 'beta'; expected: alpha, mu"),
        ("formulation", {"name": "penalty", "options": {"alpha": "1e6"}}, "alpha: .*number, got '1e6'"),
        ("formulation", {"name": "penalty", "options": {"alpha": True}}, "alpha: .*number, got True"),
        ("formulation", {"name": "penalty", "options": {"alpha": float("nan")}}, "alpha must be a positive number"),
        ("formulation", {"name": "routh", "options": {"ignorable": "A"}}, "ignorable: .*array, got 'A'"),
        ("formulation", {"name": "independent", "options": [1]}, "expected a dictionary"),
        ("formulation", {"options": {}}, "'name' is missing"),
        ("formulation", "penalty", "expected a dictionary with the fields name, options, got 'penalty'"),
        ("integrator", {"name": "radau"}, "unknown field 'integrator'"),
        ("reason", 3, "reason must be a text"),
    ],
)
def test_other_data_are_refused_in_words(field, value, words):
    data = RECIPES[0].to_data() | {field: value}
    with pytest.raises(da.DalembertError, match=words):
        Recipe.from_data(data)
    with pytest.raises(da.DalembertError, match="not JSON"):
        Recipe.from_json("{")


# Files


def _loaded(run, path):
    again = da.load(run.save(path))
    assert again.data.identical(run.data)
    assert again.certificate == run.certificate
    assert again.dynamics.model == run.dynamics.model
    assert again.dynamics.recipe == run.dynamics.recipe and again.dynamics.reason == run.dynamics.reason
    np.testing.assert_array_equal(again.accelerations, run.accelerations)
    np.testing.assert_array_equal(again.multipliers, run.multipliers)
    return again


@pytest.mark.parametrize("formulation", ["auto", Penalty(alpha=1e6), AugmentedLagrangian(iterations=2)], ids=str)
def test_files_keep_the_options_of_a_formulation(formulation, tmp_path):
    run = da.simulate(da.library.four_bar(), 0.2, formulation=formulation)
    _loaded(run, tmp_path / "run.nc")


def test_files_keep_the_options_of_coordinates(tmp_path):
    options = da.Generalized(sequence="zxz")
    run = da.simulate(da.library.spinning_top(), 0.2, coordinates=options, formulation="lagrange")
    again = _loaded(run, tmp_path / "run.nc")
    assert again.dynamics.coordinates.options == options


def test_files_keep_the_rank_that_was_held(tmp_path):
    """Bennett's linkage moves only because its equations are dependent: the reactions follow from the rank."""
    run = da.simulate(da.library.bennett(), 0.2)
    again = _loaded(run, tmp_path / "run.nc")
    assert again.dynamics.held_ranks == run.dynamics.held_ranks != {}


def _as_before(run, path):
    """A file of the format without a recipe."""
    data = xr.load_dataset(run.save(path), engine="h5netcdf")
    data.attrs["dalembert_format"] = 1
    del data.attrs["recipe"]
    data.to_netcdf(path, engine="h5netcdf")
    return path


def test_files_of_the_version_before_are_read(tmp_path):
    run = da.simulate(da.library.four_bar(), 0.2)
    again = da.load(_as_before(run, tmp_path / "run.nc"))
    assert again.dynamics.recipe == run.dynamics.recipe
    np.testing.assert_array_equal(again.multipliers, run.multipliers)
    run = da.simulate(da.library.four_bar(), 0.2, formulation="penalty")
    with pytest.warns(UserWarning, match="did not keep the options of formulation 'penalty'"):
        da.load(_as_before(run, tmp_path / "run.nc"))


def test_files_of_the_version_before_with_other_coordinates_are_refused(tmp_path):
    options = da.Generalized(rotations="quaternions")
    run = da.simulate(da.library.spinning_top(), 0.1, coordinates=options, formulation="lagrange-multipliers")
    with pytest.raises(da.DalembertError, match="did not keep the options of its generalized coordinates"):
        da.load(_as_before(run, tmp_path / "run.nc"))


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("recipe", "{}", "run.nc: recipe: 'coordinates' is missing"),
        ("recipe", "", "run.nc: recipe: not JSON"),
        ("dalembert_format", 99, "not written by this version"),
    ],
)
def test_files_that_cannot_be_understood_are_refused(attribute, value, words, tmp_path):
    path = da.simulate(da.library.pendulum(), 0.1).save(tmp_path / "run.nc")
    data = xr.load_dataset(path, engine="h5netcdf")
    data.attrs[attribute] = value
    write_sealed(path, data)
    with pytest.raises(da.DalembertError, match=words):
        da.load(path)


# Pickles


def _arm():
    """Two bodies with inertia about all axes, as every formulation takes them."""
    model = da.Model("arm")
    for name, before, x in (("A", model.ground, 0.0), ("B", "a", 1.0)):
        model.body(name.lower(), mass=1.0 + x, com=(x + 0.4, 0.1, 0.2), inertia=(0.1, 0.2, 0.25))
        model.revolute(name, before, name.lower(), point=(x, 0, 0), axis="y" if x else "x")
    return model


# Every formulation every day, in the first coordinates that it takes.
FIRST = dict(reversed(PAIRS)).items()


@pytest.mark.parametrize(
    ("formulation", "coordinates"),
    [pair if pair in FIRST else pytest.param(*pair, marks=pytest.mark.slow) for pair in PAIRS],
)
def test_equations_are_pickled(formulation, coordinates, monkeypatch):
    monkeypatch.setenv("DALEMBERT_OPTIMIZE", "0")  # many kernels, each used twice
    dynamics = da.compile(_arm(), formulation=formulation, coordinates=coordinates)
    state = da.assemble(dynamics.model, {"B": 0.4}, {"A": 0.3, "B": -1.0})
    q, u = again(state).to(dynamics.coordinates)
    other = again(dynamics)
    assert other is not dynamics and other.recipe == dynamics.recipe
    np.testing.assert_array_equal(other.acceleration(q, u), dynamics.acceleration(q, u))
    np.testing.assert_array_equal(q, state.to(other.coordinates)[0])


def test_equations_with_options_are_pickled():
    dynamics = da.compile(da.library.spinning_top(), formulation="lagrange", coordinates=da.Generalized(sequence="zxz"))
    q, u = da.assemble(dynamics.model).to(dynamics.coordinates)
    for other in (again(dynamics), copy.copy(dynamics), again(again(dynamics))):
        assert other.coordinates.options.sequence == "zxz"
        np.testing.assert_array_equal(other.acceleration(q, u), dynamics.acceleration(q, u))


def test_large_models_are_pickled():
    dynamics = da.compile(da.library.n_pendulum(n=120))
    assert dynamics.is_large
    q, u = np.linspace(0, 1, dynamics.nq), np.linspace(-1, 1, dynamics.nv)
    np.testing.assert_array_equal(again(dynamics).acceleration(q, u), dynamics.acceleration(q, u))


def test_trajectories_and_certificates_are_pickled():
    run = da.simulate(da.library.bennett(), 0.2)
    before, other = again(run), run.joint("A")  # plain arrays; then labeled ones
    for some in (before, again(run)):
        assert some.data.identical(run.data) and some.certificate == run.certificate == again(run.certificate)
        np.testing.assert_array_equal(some.joint("A").q, other.q)
        np.testing.assert_array_equal(some.multipliers, run.multipliers)
        np.testing.assert_array_equal(some.resample([0.05]).q, run.resample([0.05]).q)


@pytest.mark.parametrize("integrator", ["rk4", "dopri8"])
def test_batches_are_pickled(integrator):
    options = {"step": 1e-3} if integrator == "rk4" else {}
    model = da.library.double_pendulum()
    batch = da.simulate_many(model, 0.2, initial={"elbow": [0.1, 0.2, 0.3]}, integrator=integrator, **options)
    other = again(batch)
    assert other.data.identical(batch.data) and other.failed == batch.failed
    assert other.energy.identical(batch.energy)
    one, same = batch.trajectory(1), other.trajectory(1)
    assert same.data.identical(one.data) and same.certificate == one.certificate


def _elsewhere(run, q, u):
    """In another process."""
    return run.dynamics.acceleration(q, u), da.simulate(run.dynamics, 0.2)


def test_processes_share_runs_and_equations():
    run = da.simulate(da.library.four_bar(), 0.2, formulation=Penalty(alpha=1e6), coordinates="natural")
    q, u = run.values("q")[-1], run.values("u")[-1]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        acceleration, other = pool.submit(_elsewhere, run, q, u).result()
    np.testing.assert_array_equal(acceleration, run.dynamics.acceleration(q, u))
    assert other.dynamics.recipe == run.dynamics.recipe and other.certificate == run.certificate
    np.testing.assert_array_equal(other.values("q"), run.values("q"))
