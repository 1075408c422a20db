"""Massless points that carry springs only: against closed forms, and a solution that finds the balance by itself."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import root

import dalembert as da
from dalembert.formulations import FORMULATIONS
from dalembert.fuzz.ways import PAIRS
from dalembert.io import dumps, loads

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13}
NEED_MASS = {"recursive", "hamilton"}  # in every direction
K, C, M = (40.0, 60.0), 3.0, 2.0


def in_series(damping: float = 0.0) -> da.Model:
    """Ground, a spring, a massless point, a spring or damper, a mass: all on the x axis."""
    model = da.Model("series", gravity=(0, 0, 0))
    model.massless_point("knot", (1, 0, 0), axis="x")
    model.body("mass", mass=M, com=(2, 0, 0))
    model.prismatic("slide", model.ground, "mass", point=(2, 0, 0), axis="x")
    model.spring("first", model.ground, "knot", stiffness=K[0], length=1, at=((0, 0, 0), (1, 0, 0)))
    second = {"damping": damping} if damping else {"stiffness": K[1], "length": 1}
    model.spring("second", "knot", "mass", at=((1, 0, 0), (2, 0, 0)), **second)
    return model


ANCHORS, HUNG = np.array([(1.0, 0, 0), (-0.6, 0.8, 0), (-0.5, -0.9, 0.1)]), (30.0, 40.0, 50.0, 45.0)


def in_space() -> da.Model:
    """Three springs from the ceiling to a massless point, and a fourth down to a particle."""
    model = da.Model("chandelier")
    model.massless_point("knot", (0, 0, -1))
    model.particle("lamp", M, (0, 0, -2))
    for i, (anchor, k) in enumerate(zip(ANCHORS, HUNG, strict=False)):
        model.spring(f"rope {i}", model.ground, "knot", at=(tuple(anchor), (0, 0, -1)), stiffness=k, length=1.0)
    model.spring("rope", "knot", "lamp", at=((0, 0, -1), (0, 0, -2)), stiffness=HUNG[3], length=0.8)
    model.initial("lamp", (0.1, 0, 0), rate=(0, 0.7, 0))
    return model


def hanging(duration: float) -> np.ndarray:
    """Where the lamp is at the end: the knot is found anew at each instant."""

    def pull(a: np.ndarray, b: np.ndarray, k: float, length: float) -> np.ndarray:
        d = b - a
        return k * (np.linalg.norm(d) - length) * d / np.linalg.norm(d)

    knot = np.array([0.0, 0.0, -1.0])

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        nonlocal knot

        def balance(x: np.ndarray) -> np.ndarray:
            held = sum(pull(x, anchor, k, 1.0) for anchor, k in zip(ANCHORS, HUNG, strict=False))
            return held + pull(x, y[:3], HUNG[3], 0.8)

        knot = np.asarray(cast(Any, root(balance, knot, tol=1e-14)).x, dtype=float)
        return np.concatenate([y[3:], pull(y[:3], knot, HUNG[3], 0.8) / M + (0, 0, -9.81)])

    start = [0.1, 0, -2, 0, 0.7, 0]
    return solve_ivp(rate, (0, duration), start, rtol=1e-11, atol=1e-12, method="DOP853").y[:3, -1]


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "natural"])
def test_springs_in_series(coordinates: str):
    """x = x₀ cos(ω t), ω² = k₁ k₂/((k₁ + k₂) m)."""
    model = in_series()
    model.initial("slide", 0.3)
    run = da.simulate(model, 2.0, coordinates=coordinates, **TIGHT)
    assert run.certificate.trusted, str(run.certificate)
    t, omega = run.values("time"), np.sqrt(K[0] * K[1] / (sum(K) * M))
    np.testing.assert_allclose(run.body("mass").position.values[:, 0] - 2, 0.3 * np.cos(omega * t), atol=1e-9)
    share = K[1] / sum(K)
    np.testing.assert_allclose(run.body("knot").position.values[:, 0] - 1, 0.3 * share * np.cos(omega * t), atol=1e-9)


def test_spring_and_damper_in_series():
    """Maxwell's element:  ẋ = v,  m v̇ = −F,  Ḟ/k + F/c = v."""
    model = in_series(damping=C)
    run = da.simulate(model, 1.5, initial_rates={"slide": 1.0}, **TIGHT)
    assert run.certificate.trusted, str(run.certificate)
    A = np.array([[0, 1, 0], [0, 0, -1 / M], [0, K[0], -K[0] / C]])
    expected = [(expm(A * t) @ (0, 1, 0))[0] for t in run.values("time")]
    np.testing.assert_allclose(run.joint("slide").q.values, expected, atol=1e-9)


def test_point_in_space():
    run = da.simulate(in_space(), 0.5, **TIGHT)
    assert run.certificate.trusted, str(run.certificate)
    np.testing.assert_allclose(run.body("lamp").position.values[-1], hanging(0.5), atol=1e-9)


@pytest.mark.slow
def test_massless_points_in_every_formulation():
    expected = hanging(0.5)
    for name, coordinates in PAIRS:
        if not FORMULATIONS[name].supports().exact:
            continue
        if name in NEED_MASS:
            with pytest.raises(da.ModelError, match="mass"):
                da.compile(in_space(), formulation=name, coordinates=coordinates)
            continue
        run = da.simulate(in_space(), 0.5, formulation=name, coordinates=coordinates, **TIGHT)
        found = run.body("lamp").position.values[-1]
        np.testing.assert_allclose(found, expected, atol=1e-8, err_msg=f"{name} ({coordinates})")


def test_the_mass_stays_where_it_was_drawn():
    """Assembly moves the massless point, not what hangs on it."""
    model = in_space()
    model.initial_values.clear()
    state = da.assemble(model)
    np.testing.assert_allclose(state.joint("lamp")[0], 0, atol=1e-6)
    assert abs(state.joint("knot")[0][2]) > 0.01


def test_files_keep_massless_points():
    model = in_series(damping=C)
    assert loads(dumps(model)) == model


def test_what_springs_cannot_balance_is_refused():
    model = in_series()
    model.force("push", "knot", (1, 0, 0))
    with pytest.raises(da.ModelError, match="force 'push' acts on massless body 'knot'"):
        da.compile(model)
    model = da.Model("alone")
    model.massless_point("knot", (1, 0, 0))
    with pytest.raises(da.ModelError, match="no spring holds massless body 'knot'"):
        da.compile(model)
    model = da.Model("heavy")
    model.particle("p", 1, (1, 0, 0))
    model.balance("b", "p")
    with pytest.raises(da.ModelError, match="has mass or inertia"):
        da.compile(model)
