"""Case studies of M. H. Yoosefian Nooshabadi, H. Nejat Pishkenari, "Development of an efficient formulation for
Volterra's equations of motion for multibody dynamical systems": tables 1, 3, 6, 9 as
examples/13_ignorable_coordinates makes them.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations.ignorable_coordinates import ignorable_of
from dalembert.formulations.volterra_reduced import VolterraReduced

FOLDER = Path(__file__).parents[2] / "examples" / "13_ignorable_coordinates"


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


CASES: dict[str, Any] = _module("cases").CASES
TABLES = _module("tables")
TITLES = list(CASES)


@cache
def norms(title: str) -> dict[str, dict[str, float]]:
    """Norms of the errors of the four methods."""
    case, found = CASES[title], {}
    for name, method in case.methods.items():
        dynamics = da.compile(case.model, formulation=method, coordinates=case.coordinates)
        errors = TABLES.errors(dynamics, case, TABLES.integrator(case))
        found[name] = {what: float(np.linalg.norm(errors[what])) for what in ("energy", "constraint", "momentum")}
    return found


@pytest.mark.parametrize("title", TITLES)
def test_counts_as_published(title):
    case = CASES[title]
    work = 1 if "boom" in title else 0  # table 9 counts the work among the states
    for name, method in case.methods.items():
        equations, _, states = TABLES.counts(case, method)
        assert (states + work, equations) == case.published[name][:2]


@pytest.mark.slow
def test_table_1():
    found = {method: cells[0] for method, cells in TABLES.table_1().items()}
    assert found == {
        "lagrange": "m", "maggi": "m", "udwadia-kalaba": "m", "boltzmann-hamel": "p", "volterra": "p", "kane": "p",
        "gibbs-appell": "p", "hamilton": "m", "routh": "m - s", "volterra-reduced": "p - s",
    }  # fmt: skip


@pytest.mark.parametrize("title", TITLES)
def test_reduced_equations_keep_momentum_and_constraints_to_round_off(title):
    reduced = norms(title)["volterra-reduced"]
    assert reduced["momentum"] < 1e-13
    assert reduced["constraint"] < 1e-14


@pytest.mark.parametrize("title", TITLES)
def test_reduced_equations_have_the_smallest_energy_error(title):
    found = {name: each["energy"] for name, each in norms(title).items()}
    assert found["volterra-reduced"] == min(found.values())


def test_order_of_table_6():
    found = [each["energy"] for each in norms(TITLES[1]).values()]
    assert found[0] == pytest.approx(found[1], rel=1e-3)
    assert found[1] > 30 * found[2] > 60 * found[3]
    assert found[0] == pytest.approx(2.96e-7, rel=0.7)


def test_table_9_is_round_off():
    """Of the published size: 6e-14 … 8e-15."""
    for name, known in CASES[TITLES[2]].published.items():
        assert norms(TITLES[2])[name]["energy"] < 2 * known[2]


@pytest.mark.parametrize(
    ("title", "names"),
    list(zip(TITLES, [["x"], *[["pose.x", "pose.y", "pose.z"]] * 2], strict=True)),
    ids=TITLES,
)
def test_ignorable_coordinates_are_found(title, names):
    case = CASES[title]
    coordinates = da.compile(case.model, formulation="lagrange", coordinates=case.coordinates).coordinates
    assert [coordinates.labels()[0][i] for i in ignorable_of(coordinates).indices] == names


def test_momentum_as_a_quasi_velocity_is_refused():
    """It is held already; then [Y; M'; a] has no inverse (remark before table 1)."""
    velocities = {"P": "m1*vx(cart) + m2*vx(AB) + m2*vx(BC)", "w": "u(theta1)"}
    with pytest.raises(da.ModelError, match=r"P, the momentum of x depend on each other.*no inverse"):
        da.compile(
            CASES[TITLES[0]].model,
            formulation=VolterraReduced(velocities=("P",)),
            coordinates=da.Generalized(velocities=velocities),
        )


@pytest.mark.parametrize(
    ("velocities", "words"),
    [
        ({"a": "u(theta1)"}, "1 quasi-velocities .a. for 2 degrees of freedom"),
        ({"a": "u(theta1)", "b": "u(x)", "c": "u(theta2)"}, "3 quasi-velocities"),
        ({"a": "u(theta1)", "b": "2*u(theta1)"}, "a, b depend on each other"),
        ({"a": "cos(q(theta1) - q(theta2))*u(theta1) + u(theta2)", "b": "u(x)"}, "a, constraint .*wheel"),
    ],
)
def test_bad_quasi_velocities_are_told(velocities, words):
    with pytest.raises(da.ModelError, match=words):
        da.compile(CASES[TITLES[0]].model, formulation="kane", coordinates=da.Generalized(velocities=velocities))


def test_hamilton_refuses_quaternions():
    """The length of a quaternion has no momentum."""
    with pytest.raises(da.ModelError, match=r"moves no mass.*angles instead of quaternions"):
        da.compile(
            da.library.spinning_top(), formulation="hamilton", coordinates=da.Generalized(rotations="quaternions")
        )


def test_reduced_equations_take_quaternions():
    options = {"formulation": "volterra-reduced", "coordinates": da.Generalized(rotations="quaternions")}
    assert da.simulate(da.library.spinning_top(), 0.2, **options).certificate.trusted


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("mass", [1e-6, 1e6])
@pytest.mark.parametrize("formulation", ["routh", "volterra-reduced"])
def test_what_is_ignorable_does_not_depend_on_units(length, mass, formulation):
    """Weights of small mechanisms were taken for rounding, and their coordinates for ignorable: a pendulum of a
    milligram and a tenth of a millimeter stood still."""
    model = da.Model("pendulum on a slider", gravity=(0, 0, -9.81))
    slider = model.body("slider", mass=mass, com=(0, 0, 0), inertia=(mass * length**2,) * 3)
    rod = model.body("rod", mass=mass, com=(0, 0, -length), inertia=(mass * length**2,) * 3)
    model.prismatic("slide", "ground", slider, point=(0, 0, 0), axis="x")
    model.revolute("pin", slider, rod, point=(0, 0, 0), axis="y")
    reduced = da.compile(model, formulation=formulation, coordinates="generalized")
    plain = da.compile(model, formulation="lagrange-multipliers", coordinates="generalized")
    q, u = np.array([0.3 * length, 0.7]), np.array([0.2 * length, -0.4])
    expected = plain.acceleration(q, u)
    assert np.abs((reduced.acceleration(q, u) - expected) / [length, 1.0]).max() <= 1e-9 * np.abs(expected[1])
