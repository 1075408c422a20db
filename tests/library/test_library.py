"""Every bundled mechanism: valid, written and read back, assembled, the same motion in all coordinates."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from library_runs import run_of

import dalembert as da
from dalembert.io import dumps, loads

NAMES = da.library.names()


class Facts(NamedTuple):
    """What is known of a mechanism.

    Attributes:
        freedom: degrees of freedom with all drives at work.
        changes: parameters with another value; loops must close with it too.
        driven: by a motion, a force or a torque, or damped.
        mobility: degrees of freedom with the drives taken out, if there are any.
    """

    freedom: int
    changes: dict[str, float]
    driven: bool = False
    mobility: int | None = None


FACTS = {
    "pendulum": Facts(1, {"length": 1.3}),
    "double-pendulum": Facts(2, {"upper_length": 1.2, "lower_mass": 2.0}),
    "n-pendulum": Facts(5, {"length": 3.0}),
    "cart-pendulum": Facts(2, {"cart_mass": 1.0, "length": 0.7}),
    "four-bar": Facts(1, {"crank": 0.3, "rocker": 0.9}),
    "crank-rocker": Facts(0, {"coupler": 0.8, "speed": 5.0}, driven=True, mobility=1),
    "slider-crank": Facts(1, {"crank": 0.08, "rod": 0.35}),
    "slider-crank-3d": Facts(1, {"rod": 0.33, "height": 0.1}),
    "spinning-top": Facts(3, {"height": 0.12, "spin": 180.0, "tilt": 0.3}),
    "rolling-disc": Facts(3, {"radius": 0.25, "spin": 7.0}),
    "rolling-sphere": Facts(3, {"bead": 0.3, "spin": 5.0, "slope": 0.1}),
    "knife-edge": Facts(2, {"offset": 0.2, "slope": 0.2, "turn": 1.0}),
    "snakeboard": Facts(4, {"length": 0.7, "amplitude": 0.6}, driven=True),
    "bicycle": Facts(3, {"speed": 5.0, "rF": 0.33, "c": 0.07}),
    "stewart-platform": Facts(0, {"height": 1.1, "base_radius": 0.9}, driven=True, mobility=6),
    "delta-robot": Facts(0, {"travel": 0.07, "rate": 5.0}, driven=True, mobility=3),
    "satellite": Facts(4, {"length": 0.4, "boom": 0.2}),
    "andrews": Facts(1, {"torque": 0.05}, driven=True),
    "parallelogram": Facts(1, {"length": 1.3, "distance": 0.5}),
    "desk-lamp": Facts(2, {"lower": 0.35, "head_mass": 0.6}, driven=True),
    "bouncing-ball": Facts(3, {"height": 0.8, "restitution": 0.5}, driven=True),
    "cam-follower": Facts(1, {"speed": 15.0, "mass": 0.3}, driven=True, mobility=2),
    "stick-slip": Facts(1, {"speed": 0.2, "stiffness": 20.0}, driven=True, mobility=2),
    "rocking-block": Facts(3, {"tilt": 0.15, "friction": 0.9}, driven=True),
    "woodpecker": Facts(3, {"stiffness": 0.006, "swing": -6.0}, driven=True),
    "clutch": Facts(2, {"friction": 0.4, "torque": 60.0}, driven=True),
    "geneva-drive": Facts(0, {"speed": 5.0, "inertia": 2e-4}, driven=True),
    "belt-drive": Facts(1, {"load_radius": 0.2, "torque": 0.3}, driven=True),
    "hopping-leg": Facts(2, {"stiffness": 5000.0, "thrust": 0.02}, driven=True),
    "wheelset": Facts(2, {"speed": 15.0, "conicity": 0.15}, driven=True),
    "n-four-bar": Facts(1, {"length": 0.8, "mass": 2.0}),
    "sarrus": Facts(1, {"width": 0.5, "stiffness": 400.0}),
    "bennett": Facts(1, {"height": 0.4, "density": 3.0}),
    "bricard": Facts(1, {"length": 0.8}),
    "five-bar": Facts(2, {"swing": 0.3, "gain": 50.0}, driven=True),
    "quarter-car": Facts(2, {"body_mass": 250.0, "speed": 12.0}, driven=True),
}
CONSERVATIVE = [name for name in NAMES if not FACTS[name].driven]
SLOW = {"stewart-platform", "delta-robot"}  # many constraints in absolute coordinates take a minute to compile
AGREEMENT = 1e-7  # m: far above the tolerance of the runs, far below anything visible


def _slow_marked(names: list[str]) -> list:
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


# The registry


def test_facts_are_complete():
    assert set(FACTS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_name_function_and_description(name):
    function = getattr(da.library, name.replace("-", "_"))
    model = function()
    assert callable(da.library.LIBRARY[name])
    assert da.library.LIBRARY[name].description == model.description
    assert 10 < len(model.description) < 80
    assert "\n" not in model.description
    assert function.__doc__
    assert da.library.build(name) == model == da.library.build(name.replace("-", "_"))


def test_unknown_name_says_what_is_near():
    with pytest.raises(da.DalembertError, match="did you mean 'four-bar'"):
        da.library.build("fourbar")
    with pytest.raises(da.DalembertError, match="the library has pendulum, "):
        da.library.build("xyzzy")


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'six_bar'"):
        da.library.six_bar  # noqa: B018


def test_import_is_cheap():
    heavy = ("sympy", "casadi", "llvmlite", "dalembert.model")
    code = f"import sys, dalembert.library; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_wrong_number_of_links():
    with pytest.raises(da.DalembertError, match="n must be a whole number from 1 to 1000000, got 0"):
        da.library.n_pendulum(n=0)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_chain_has_as_many_links_as_asked_for(n):
    model = da.library.n_pendulum(n=n)
    assert len(model.bodies) == len(model.joints) == da.inspect(model).freedom == n


# Each model


@pytest.mark.parametrize("name", NAMES)
def test_valid_and_drawn(name):
    model = da.library.build(name)
    model.validate()
    assert all(body.shapes for body in model.bodies), "every body looks like something"
    assert model.ground_shapes
    assert model.outputs


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_through_yaml(name):
    model = da.library.build(name)
    again = loads(dumps(model))
    assert again == model
    assert dumps(again) == dumps(model)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_keeps_what_is_drawn_on_the_ground(name):
    model = da.library.build(name)
    assert loads(dumps(model)).ground_shapes == model.ground_shapes


@pytest.mark.parametrize("name", NAMES)
def test_freedom(name):
    model = da.library.build(name)
    assert da.inspect(model).freedom == FACTS[name].freedom
    if FACTS[name].mobility is not None:
        model.constraints.clear()
        assert da.inspect(model).freedom == FACTS[name].mobility


@pytest.mark.parametrize("name", NAMES)
def test_starts_as_it_says(name):
    """The assembled state has the coordinates and rates that the model asks for."""
    model = da.library.build(name)
    state = da.assemble(model)
    flat = state.coordinates.flat
    for given, index in ((flat.initial_values, 0), (flat.initial_rates, 1)):
        for joint, values in given.items():
            wanted = [float(value.subs({s: flat.parameters[s.name] for s in value.free_symbols})) for value in values]
            np.testing.assert_allclose(state.joint(joint)[index], wanted, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_trusted(name):
    certificate = run_of(name).certificate
    assert certificate.trusted, certificate
    assert certificate["energy balance"] < 1e-8


@pytest.mark.parametrize("coordinates", ["absolute", "natural"])
@pytest.mark.parametrize("name", _slow_marked(NAMES))
@pytest.mark.slow
def test_same_motion_in_other_coordinates(name, coordinates):
    relative, other = run_of(name), run_of(name, coordinates)
    assert other.certificate.trusted, other.certificate
    assert other.data.attrs["coordinate_kind"] == coordinates
    for field in ("position", "orientation"):
        a, b = (run.data[field].sel(body=relative.data.body).values for run in (relative, other))
        assert np.abs(a - b).max() < AGREEMENT, field


def _places(run):
    """Positions and orientations of the bodies: some mechanisms only turn."""
    return run.data.position.values, run.data.orientation.values


@pytest.mark.parametrize("name", NAMES)
def test_it_moves(name):
    """A mechanism that stands still would agree with everything."""
    assert max(np.ptp(places, axis=0).max() for places in _places(run_of(name))) > 0.01


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_energy_is_conserved(name):
    energy = run_of(name).energy
    total = (energy.kinetic + energy.potential).values
    assert np.abs(energy.work.values).max() == 0
    assert np.ptp(total) < 1e-9 * (1 + np.abs(energy.kinetic.values).max())


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_symbolic(name):
    """A changed parameter gives the same motion as a model that was built with it."""
    changes = FACTS[name].changes
    swept = da.simulate(da.library.build(name), 0.2, parameters=changes, output_step=0.02, rtol=1e-10, atol=1e-12)
    built = da.simulate(da.library.build(name, **changes), 0.2, output_step=0.02, rtol=1e-10, atol=1e-12)
    usual = _places(run_of(name))
    assert np.abs(swept.data.position.values - built.data.position.values).max() < 1e-9
    assert any(np.abs(a[0] - b[0]).max() > 1e-6 for a, b in zip(_places(swept), usual, strict=True)) or any(
        np.abs(a[-1] - b[40]).max() > 1e-4 for a, b in zip(_places(swept), usual, strict=True)
    )
