"""Pairs of surfaces: gaps against the shortest distance found by looking everywhere, gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipk

import dalembert as da
from dalembert.io import dumps, loads

BALL = 0.05
PROFILE = "0.2 + 0.03*cos(2*angle) - 0.02*sin(angle)"
ALL_ROUND = np.linspace(0, 2 * np.pi, 200_001)


def _curve_points():
    radius = 0.2 + 0.03 * np.cos(2 * ALL_ROUND) - 0.02 * np.sin(ALL_ROUND)
    return radius * np.cos(ALL_ROUND), radius * np.sin(ALL_ROUND)


def near_curve(p):
    x, y = _curve_points()
    return np.hypot(x - p[0], y - p[1]).min()


def near_ring(p):
    return np.sqrt((0.3 * np.cos(ALL_ROUND) - p[0]) ** 2 + (0.3 * np.sin(ALL_ROUND) - p[1]) ** 2 + p[2] ** 2).min()


# Surface of the ground, radius of the ball, the gap by brute force at its center, and centers that are apart from it.
PAIRS = {
    "curve": (
        {"kind": "curve", "axis": "z", "start": "x", "radius": PROFILE}, BALL,
        lambda p: near_curve(p) - BALL, lambda rng: rng.uniform(0.3, 0.5) * _around(rng),
    ),
    "hollow curve": (
        {"kind": "curve", "axis": "z", "start": "x", "radius": PROFILE, "inside": True}, BALL,
        lambda p: near_curve(p) - BALL, lambda rng: rng.uniform(0.02, 0.08) * _around(rng),
    ),
    "cylinder": (
        {"kind": "cylinder", "axis": "z", "radius": 0.2}, BALL,
        lambda p: np.hypot(p[0], p[1]) - 0.2 - BALL, lambda rng: 0.4 * _around(rng) + [0, 0, rng.normal()],
    ),
    "hollow cylinder": (
        {"kind": "cylinder", "axis": "z", "radius": 0.2, "inside": True}, BALL,
        lambda p: 0.2 - np.hypot(p[0], p[1]) - BALL, lambda rng: 0.1 * _around(rng) + [0, 0, rng.normal()],
    ),
    "torus": (
        {"kind": "torus", "axis": "z", "radius": 0.3, "tube": 0.04}, BALL,
        lambda p: near_ring(p) - 0.04 - BALL, lambda rng: rng.uniform(0.1, 0.6) * _around(rng) + [0, 0, 0.2],
    ),
    "terrain": (
        {"kind": "terrain", "axis": "z", "start": "x", "height": "0.1*x**2 + 0.2*sin(y)"}, 0,
        lambda p: p[2] - 0.1 * p[0] ** 2 - 0.2 * np.sin(p[1]), lambda rng: rng.normal(size=3),
    ),
}  # fmt: skip


def _around(rng):
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


@pytest.mark.parametrize("name", PAIRS)
def test_gaps_and_gradients(name):
    surface, radius, gap, center = PAIRS[name]
    model = da.Model(name)
    ball = model.body("ball", mass=1.0)
    model.joint("translational", "ball", model.ground, ball, point=(0, 0, 0))
    model.rigid_contact("c", model.ground, ball, surfaces=(surface, {"kind": "sphere", "radius": radius}))
    assert loads(dumps(model)) == model
    d, rng = da.compile(model), np.random.default_rng(0)
    kernel, p = d.kernels.touch_kernel, d.parameters()
    for _ in range(8):
        q, u = center(rng), rng.normal(size=3)
        seen = kernel(0.0, q, u, p, np.zeros(3))
        assert seen.gap[0] == pytest.approx(gap(q), abs=1e-8)
        h = 1e-6
        ahead, behind = (kernel(0.0, q + s * h * u, u, p, np.zeros(3)) for s in (1, -1))
        assert seen.gap_rate[0] == pytest.approx((ahead.gap[0] - behind.gap[0]) / (2 * h), abs=1e-8)
        assert seen.gap_jacobian[0] @ u == pytest.approx(seen.gap_rate[0], abs=1e-12)
        # g̈ along a straight line
        assert seen.gap_bias[0] == pytest.approx((ahead.gap_rate[0] - behind.gap_rate[0]) / (2 * h), abs=1e-6)


def follower(radius, table=None):
    """A roller of radius 0.01 above a cam, at 5 rad/s."""
    model = da.Model("cam")
    if table is not None:
        model.table("cam_radius", *table, kind="periodic")
    cam, rod = model.body("cam", mass=1.0, inertia=(1, 1, 1)), model.body("rod", mass=0.2, inertia=(1, 1, 1))
    shaft = model.revolute("shaft", model.ground, cam, point=(0, 0, 0), axis="y")
    model.prismatic("guide", model.ground, rod, point=(0, 0, 0), axis="z")
    model.drive(shaft, "5*t")
    curve = {"kind": "curve", "axis": "y", "start": "z", "radius": radius}
    model.rigid_contact("roller", cam, rod, surfaces=(curve, {"kind": "sphere", "radius": 0.01}))
    return model


@pytest.mark.parametrize("how", ["formula", pytest.param("table", marks=pytest.mark.slow)])
def test_a_roller_rides_on_an_eccentric(how):
    """A circle of radius R that turns about a point at e from its center; the roller's center stays at R + ρ."""
    R, e = 0.03, 0.01
    exact = f"{e}*cos(angle) + sqrt({R**2} - {e**2}*sin(angle)**2)"
    angles = np.linspace(0, 2 * np.pi, 25)
    table = angles, e * np.cos(angles) + np.sqrt(R**2 - e**2 * np.sin(angles) ** 2)
    model = follower(exact) if how == "formula" else follower("cam_radius(angle)", table)
    model.initial("guide", e + R + 0.01)
    run = da.simulate(model, 1.2, certify=how == "formula")
    angle = 5 * run.time.values
    wanted = e * np.cos(angle) + np.sqrt((R + 0.01) ** 2 - e**2 * np.sin(angle) ** 2)
    assert np.abs(run.joint("guide").q.values.ravel() - wanted).max() < (1e-9 if how == "formula" else 2e-6)
    assert how == "table" or run.certificate.trusted


def test_a_ball_in_a_hollow_cylinder_swings_like_a_pendulum():
    model = da.Model("bowl")
    ball = model.body("ball", mass=1.0)
    model.joint("translational", "ball", model.ground, ball, point=(0, 0, 0))
    bowl = {"kind": "cylinder", "axis": "y", "at": (0, 0, 1.0), "radius": 1.0, "inside": True}
    model.rigid_contact("bowl", model.ground, ball, surfaces=(bowl, {"kind": "sphere", "radius": 0.1}))
    model.initial("ball", value=(0.9 * np.sin(0.8), 0, 1 - 0.9 * np.cos(0.8)))
    quarter = np.sqrt(0.9 / 9.81) * ellipk(np.sin(0.4) ** 2)
    run = da.simulate(model, quarter)
    end = run.joint("ball")
    assert run.certificate.trusted
    assert end.q[-1].values == pytest.approx([0, 0, 0.1], abs=1e-9)
    assert float(end.u[-1][0]) == pytest.approx(-np.sqrt(2 * 9.81 * 0.9 * (1 - np.cos(0.8))), rel=1e-9)


def test_a_point_slides_over_terrain():
    model = da.Model("sled")
    sled = model.body("sled", mass=2.0)
    model.joint("translational", "sled", model.ground, sled, point=(0, 0, 0))
    model.table("road", [0, 1, 2, 3, 4, 5], [0, -0.1, -0.15, -0.1, -0.15, -0.3])
    hill = {"kind": "terrain", "axis": "z", "start": "x", "height": "road(x) + 0.05*y**2"}
    model.rigid_contact("snow", model.ground, sled, surfaces=(hill, {"kind": "point"}))
    model.initial("sled", value=(0.5, 0.2, 0.0))
    model.initial("sled", value=(0.0, 0.0, 0.0), rate=(0.6, 0.3, 0.0))
    run = da.simulate(model, 1.0, rtol=1e-10)
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8


@pytest.mark.parametrize(
    ("surface", "words"),
    [
        ({"kind": "torus", "axis": "z", "radius": 0.1, "tube": 0.2}, "thinner than the ring"),
        ({"kind": "cylinder", "radius": 0.1}, "needs an axis"),
        ({"kind": "cylinder", "axis": "z", "radius": 0.04, "inside": True}, "does not fit into a cylinder"),
        ({"kind": "terrain", "axis": "z", "height": "x"}, "needs the direction of its x"),
        ({"kind": "terrain", "axis": "z", "start": "x", "height": "x"}, "beside its center"),
        ({"kind": "plane", "axis": "z", "inside": True}, "not hollow"),
        (
            {"kind": "curve", "axis": "z", "start": "x", "radius": "0.2 + 0.05*cos(4*angle)"},
            "does not fit into the curve",
        ),
    ],
)
def test_what_is_wrong_is_said(surface, words):
    model = da.Model("wrong")
    ball = model.body("ball", mass=1.0)
    model.joint("translational", "ball", model.ground, ball, point=(0, 0, 0))
    model.rigid_contact("c", model.ground, ball, surfaces=(surface, {"kind": "sphere", "radius": BALL}))
    with pytest.raises(da.ModelError, match=words):
        model.validate()
