"""Whipple's bicycle against the published benchmark: nonlinear accelerations, linear equations, eigenvalues.

The linearization is that of ``examples/11_whipple.py``.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

import dalembert as da
from dalembert.bench import reference_data
from dalembert.formulations import FORMULATIONS

HERE = Path(__file__).parent
DATA = reference_data("whipple_bicycle")
# The state of the nonlinear check is printed with 13 decimals, which its accelerations amplify twentyfold.
NONLINEAR = 2e-12
ANALYTICAL = [name for name, kind in FORMULATIONS.items() if hasattr(kind, "derive")]
# Others than these take their blocks from the same functions.
OWN_EQUATIONS = [
    ("lagrange-multipliers", "relative"), ("lie-group", "relative"), ("velocity-transformation", "relative"),
    *((name, "generalized") for name in ANALYTICAL),
]  # fmt: skip
EVERY_DAY = ("lagrange-multipliers", "lagrange", "kane", "maggi")


def pairs(pairs: list[tuple[str, str]]) -> list[Any]:
    return [pytest.param(*p, id=" ".join(p), marks=() if p[0] in EVERY_DAY else pytest.mark.slow) for p in pairs]


@cache
def whipple() -> Any:
    """The example as a module."""
    path = HERE.parents[1] / "examples" / "11_whipple.py"
    spec = importlib.util.spec_from_file_location("whipple", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def matrices(formulation: str, coordinates: str) -> dict[str, np.ndarray]:
    return whipple().Bicycle(formulation, coordinates).matrices()


def test_parameters_are_those_of_the_benchmark():
    mine = da.library.bicycle().parameter_values
    assert {name: mine[name] for name in DATA["parameters"]} == DATA["parameters"]
    assert set(mine) - set(DATA["parameters"]) == {"speed", "lean"}


# Nonlinear


def published_state() -> tuple[np.ndarray, np.ndarray]:
    """q and u of the check: contact, heading, lean, spin; rear hub; steering; front hub."""
    given, r = DATA["nonlinear"]["input"], DATA["parameters"]["rR"]
    pitch, heading, lean = given["phi"] - np.pi, given["theta"], np.pi / 2 - given["psi"]
    q = np.array([0, 0, heading, lean, given["betar"] + pitch, -given["betar"], -given["psif"], given["betaf"]])
    turn, fall, spin = given["thetad"], -given["psid"], given["betard"] + given["phid"]
    u = np.array([0, 0, turn, fall, spin, -given["betard"], -given["psifd"], given["betafd"]])
    # The center is at r (sin ψ sin φ, −cos ψ sin φ, cos φ) from the contact; heading ψ = 0 here.
    assert heading == 0
    u[:2] = -given["xd"] - r * turn * np.sin(lean), -given["yd"] + r * fall * np.cos(lean)
    return q, u


def published_accelerations(q: np.ndarray, u: np.ndarray, du: np.ndarray) -> dict[str, float]:
    """u̇ in the variables of the publication."""
    r, s, c = DATA["parameters"]["rR"], np.sin(q[3]), np.cos(q[3])
    (turn, fall), (dturn, dfall) = u[2:4], du[2:4]
    ahead = r * (dturn * s + 2 * turn * fall * c)
    left = r * ((turn**2 + fall**2) * s - dfall * c)
    return {
        "xdd": -(du[0] + ahead), "ydd": -(du[1] + left), "zdd": -r * (c * fall**2 + s * dfall), "thetadd": dturn,
        "psidd": -dfall, "phidd": du[4] + du[5], "psifdd": -du[6], "betardd": -du[5], "betafdd": du[7],
    }  # fmt: skip


@pytest.mark.parametrize(("formulation", "coordinates"), pairs(OWN_EQUATIONS))
def test_nonlinear_accelerations(formulation, coordinates):
    dynamics = da.compile(da.library.bicycle(), formulation=formulation, coordinates=coordinates)
    q, u = published_state()
    residuals = dynamics.residuals(0.0, q, u)
    assert np.abs(residuals.position).max() < 1e-12
    assert np.abs(residuals.velocity).max() < 1e-12
    found = published_accelerations(q, u, dynamics.acceleration(q, u))
    for name, value in DATA["nonlinear"]["output"].items():
        assert found[name] == pytest.approx(value, rel=0, abs=NONLINEAR), name


# Linear


@pytest.mark.parametrize(("formulation", "coordinates"), pairs(OWN_EQUATIONS))
def test_matrices_to_all_printed_digits(formulation, coordinates):
    """And to the 25 digits of an independent computation."""
    example, found = whipple(), matrices(formulation, coordinates)
    for name, rows in example.PUBLISHED.items():
        for (i, j), value in np.ndenumerate(found[name]):
            assert example.agrees(value, rows[i][j]), f"{name}[{i},{j}] = {value}"
            assert float(rows[i][j]) == DATA["matrices"]["published"][name][i][j]
            assert abs(value - example.mpf(DATA["matrices"]["recomputed"][name][i][j])) < 1e-23


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["kane", "boltzmann-hamel"])
def test_matrices_in_quasi_velocities_of_the_users_own(formulation):
    """Combinations that nobody would choose."""
    model = da.library.bicycle()
    heading = model.q("rear contact", 2)
    u = [model.u("rear contact", i) for i in range(4)]
    velocities = {
        "ahead": u[0] * sp.cos(heading) + u[1] * sp.sin(heading),
        "roll": model.u("steering") + u[3] * sp.cos(heading) + u[2] * sp.sin(model.q("rear contact", 3)),
        "steer": model.u("steering"),
    }
    found = whipple().Bicycle(formulation, da.Generalized(velocities=velocities)).matrices()
    for name, rows in whipple().PUBLISHED.items():
        for (i, j), value in np.ndenumerate(found[name]):
            assert whipple().agrees(value, rows[i][j]), f"{name}[{i},{j}] = {value}"


@pytest.mark.parametrize("given", DATA["eigenvalues"], ids=lambda given: f"{given['v']} m/s")
def test_eigenvalues(given):
    example = whipple()
    found = example.eigenvalues(matrices("lagrange-multipliers", "relative"), given["v"])
    expected = [example.mp.mpmathify(text.strip("()").replace(" ", "")) for text in given["recomputed"]]
    for value in found:
        assert min(abs(value - other) for other in expected) < 1e-18
    if "published" in given:  # found with 16 digits, ill-conditioned at high speeds
        table = given["published"]
        for value in (table["capsize"], table["caster"], complex(table["weave_re"], table["weave_im"])):
            assert min(abs(complex(other) - value) for other in found) < 1e-12


def test_critical_speeds():
    weave, capsize = whipple().critical_speeds(matrices("lagrange-multipliers", "relative"))
    speeds = DATA["special_speeds"]
    assert abs(weave - whipple().mpf(speeds["recomputed"]["v_weave"])) < 1e-18
    assert abs(capsize - whipple().mpf(speeds["recomputed"]["v_capsize"])) < 1e-18
    assert float(weave) == pytest.approx(speeds["published"]["v_weave"], rel=0, abs=2e-14)
    assert float(capsize) == pytest.approx(speeds["published"]["v_capsize"], rel=0, abs=2e-14)


@pytest.mark.parametrize("lean", [1e-2, 1e-3])
def test_small_motions_follow_the_linear_equations(lean):
    """What is left over is of the third order: the bicycle has a left and a right."""
    run = da.simulate(da.library.bicycle(speed=4.6, lean=lean), 2.0, rtol=1e-12, atol=1e-14, output_step=0.1)
    A = whipple().first_order(matrices("lagrange-multipliers", "relative"), whipple().mpf("4.6")).astype(float)
    linear = np.array([expm(A * t) @ [lean, 0, 0, 0] for t in run.time.values])
    found = np.stack([run.output("lean").values, run.output("steer").values], axis=1)
    assert np.abs(found - linear[:, :2]).max() < 30 * lean**3
