"""A ground that turns and accelerates, against the same mechanism on a carrier that is driven."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.formulations import FORMULATIONS

PHI, SLIDE = "0.4*t + 0.3*sin(t)", "0.2*sin(2*t)"  # of the carrier about z, then along the x of the world
OMEGA = "0.4 + 0.3*cos(t)"
ACCELERATION = (f"-0.8*sin(2*t)*cos({PHI})", f"0.8*sin(2*t)*sin({PHI})", 0)  # of the origin, in axes that turn


def arm(model: da.Model, base) -> None:
    """Two slanted bodies on skew axes."""
    inertia = (0.1, 0.2, 0.15, 0.01, -0.02, 0.03)
    upper = model.body("upper", mass=1.3, com=(0.4, 0.1, 0.2), inertia=inertia)
    lower = model.body("lower", mass=0.7, com=(0.9, -0.1, 0.4), inertia=inertia)
    model.revolute("A", base, upper, point=(0.2, 0, 0), axis=(1, 2, 0.5))
    model.universal("B", upper, lower, point=(0.7, 0.1, 0.3), axis=(0, 0, 1), axis_2=(1, 0, 0))


@pytest.fixture(scope="module")
def carried():
    """On a body that drives move: its accelerations at an instant, and its motion."""
    model = da.Model("carried")
    sled = model.body("sled", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    table = model.body("table", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("S", model.ground, sled, point=(0, 0, 0), axis="x")
    model.revolute("T", sled, table, point=(0, 0, 0), axis="z")
    model.drive("S", SLIDE)
    model.drive("T", PHI)
    arm(model, table)
    return da.simulate(model, 1.0, initial={"A": 0.3})


def moving() -> da.Model:
    model = da.Model("moving")
    arm(model, model.ground)
    model.moving_frame("ground moves", rotation=(0, 0, OMEGA), acceleration=ACCELERATION)
    return model


@pytest.mark.parametrize(
    "formulation", ["lagrange-multipliers", "recursive", "lagrange", "kane", "hamilton", "modular"]
)
def test_as_on_a_driven_carrier(formulation, carried):
    assert formulation in FORMULATIONS
    run = da.simulate(moving(), 1.0, formulation=formulation, initial={"A": 0.3})
    assert run.certificate.trusted
    for joint in ("A", "B"):
        for quantity in ("q", "u"):
            ours, theirs = (getattr(r.joint(joint), quantity).values for r in (run, carried))
            assert np.allclose(ours, theirs, atol=1e-8), (joint, quantity)


def test_foucault():
    """The plane of a pendulum turns by −Ω sin φ."""
    omega, latitude, length = 0.02, 0.8, 10.0
    model = da.Model("foucault")
    bob = model.body("bob", mass=1.0, com=(0, 0, -length), inertia=(0, 0, 0))
    model.universal("hook", model.ground, bob, point=(0, 0, 0), axis="x", axis_2="y")
    model.moving_frame("earth", rotation=(omega * np.cos(latitude), 0, omega * np.sin(latitude)))
    period = 2 * np.pi * np.sqrt(length / 9.81)
    run = da.simulate(model, 10 * period, initial={"hook": (0.0, 0.01)})
    x, y = run.body("bob").position.values[:, :2].T
    last = run.time.values > 9 * period
    covariance = np.cov(x[last], y[last])
    direction = np.linalg.eigh(covariance)[1][:, 1]
    turned = np.arctan2(direction[1], direction[0])
    turned = (turned + np.pi / 2) % np.pi - np.pi / 2
    assert np.isclose(turned, -omega * np.sin(latitude) * 9.5 * period, rtol=0.02)
