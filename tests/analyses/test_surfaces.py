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


ELLIPSE = {"kind": "curve", "axis": "z", "start": "x", "x": "0.3*cos(s)", "y": "0.2*sin(s)", "span": (0, "2*pi")}
WALL = {"kind": "curve", "axis": "z", "start": "x", "x": "s", "y": "-0.4*s**2", "span": (-0.5, 0.5), "inside": True}


def near_ellipse(p):
    return np.hypot(0.3 * np.cos(ALL_ROUND) - p[0], 0.2 * np.sin(ALL_ROUND) - p[1]).min()


def near_wall(p):
    """Of what is in front of a parabola that ends, beyond its ends too."""
    s = np.linspace(-0.5, 0.5, 200_001)
    return np.hypot(s - p[0], -0.4 * s**2 - p[1]).min()


def near_hill(p):
    """On a grid about the foot, made finer twice."""
    x, y, width = p[0], p[1], 0.5
    for _ in range(3):
        X, Y = np.meshgrid(x + width * np.linspace(-1, 1, 401), y + width * np.linspace(-1, 1, 401))
        far = np.sqrt((X - p[0]) ** 2 + (Y - p[1]) ** 2 + (0.1 * X**2 + 0.2 * np.sin(Y) - p[2]) ** 2)
        k = np.unravel_index(far.argmin(), far.shape)
        x, y, width = X[k], Y[k], width / 100
    return far.min()


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
    "hill": (
        {"kind": "terrain", "axis": "z", "start": "x", "height": "0.1*x**2 + 0.2*sin(y)"}, BALL,
        lambda p: near_hill(p) - BALL, lambda rng: [*rng.uniform(-1, 1, size=2), 0.7],
    ),
    "ellipse": (
        ELLIPSE, BALL, lambda p: near_ellipse(p) - BALL, lambda rng: rng.uniform(0.35, 0.6) * _around(rng),
    ),
    "hollow ellipse": (
        {**ELLIPSE, "inside": True}, BALL,
        lambda p: near_ellipse(p) - BALL, lambda rng: rng.uniform(0.02, 0.1) * _around(rng),
    ),
    "wall": (
        WALL, 0, near_wall, lambda rng: [rng.uniform(-0.8, 0.8), rng.uniform(0.02, 0.3), 0],
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


LIFTS = {
    "flat": (lambda a, b, angle: np.hypot(a * np.cos(angle), b * np.sin(angle)), {"kind": "plane", "axis": (0, 0, -1)}),
    "tip": (lambda a, b, angle: a * b / np.hypot(b * np.cos(angle), a * np.sin(angle)), {"kind": "point"}),
}


@pytest.mark.parametrize(
    ("end", "given"),
    [("flat", "formulas"), pytest.param("tip", "formulas", marks=pytest.mark.slow),
     pytest.param("flat", "points", marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_follower_on_an_ellipse(end, given):
    """The lift in closed form. Through 81 points the error is that of the spline, of fourth order in their distance."""
    a, b = 0.05, 0.03
    turn = np.linspace(0, 2 * np.pi, 81)
    points = np.stack([a * np.cos(turn), b * np.sin(turn)], axis=1)
    points[-1] = points[0]
    formulas = {"x": f"{a}*cos(s)", "y": f"{b}*sin(s)", "span": (0, "2*pi")}
    cam = {"kind": "curve", "axis": "y", "start": "z", **(formulas if given == "formulas" else {"points": points})}
    lift, other = LIFTS[end]
    model = _on_cam(cam, other, a)
    assert loads(dumps(model)) == model
    run = da.simulate(model, 1.2, certify=False)
    wrong = run.joint("guide").q.values.ravel() - lift(a, b, 5 * run.time.values)
    assert np.abs(wrong).max() < (1e-12 if given == "formulas" else 1e-7)


def _on_cam(curve, other, lift):
    model = da.Model("cam")
    cam, rod = model.body("cam", mass=1.0, inertia=(1, 1, 1)), model.body("rod", mass=0.2, inertia=(1, 1, 1))
    model.drive(model.revolute("shaft", model.ground, cam, point=(0, 0, 0), axis="y"), "5*t")
    model.prismatic("guide", model.ground, rod, point=(0, 0, 0), axis="z")
    model.rigid_contact("cam", cam, rod, surfaces=(curve, other))
    model.initial("guide", lift)
    return model


def involute_gears(teeth=1, z_1=17, z_2=34, module=0.004, pressure=np.pi / 9):
    """Some teeth of each of two wheels whose flanks are involutes; the first pair touches at the pitch point."""
    pitch = np.array([z_1, z_2]) * module / 2
    model = da.Model("gears", gravity=(0, 0, 0))
    wheels = (("A", pitch[0], 0.0, 0.0, 2 * np.pi / z_1), ("B", pitch[1], pitch.sum(), np.pi, -2 * np.pi / z_2))
    for name, _, x, _, _ in wheels:
        wheel = model.body(f"wheel {name}", mass=1.0, com=(x, 0, 0), inertia=(1e-3, 1e-3, 1e-3))
        model.revolute(name, model.ground, wheel, point=(x, 0, 0), axis="z")
    for k in range(teeth):
        flanks = []
        for _, radius, x, way, step in wheels:
            base = float(radius * np.cos(pressure))
            begin = way + k * step - (np.tan(pressure) - pressure)
            flanks.append(
                {
                    "kind": "curve", "axis": "z", "at": (x, 0, 0), "start": (np.cos(begin), np.sin(begin), 0),
                    "x": f"{base}*(cos(s) + s*sin(s))", "y": f"{base}*(sin(s) - s*cos(s))",
                    "span": (0.1, float(np.sqrt(((radius + module) / base) ** 2 - 1))),
                }
            )  # fmt: skip
        model.rigid_contact(f"tooth {k}", "wheel A", "wheel B", surfaces=flanks)
    return model


def driven_gears(teeth):
    """Turned by a motor against a load."""
    model = involute_gears(teeth)
    model.joint_force("motor", "A", -0.5)
    model.joint_force("load", "B", -0.2)
    model.initial("A", value=0.2, rate=-3.0)
    model.initial("B", value=-0.1, rate=1.5)
    return model


@pytest.mark.slow
def test_involutes_turn_each_other_at_a_constant_ratio():
    model = involute_gears()
    d = da.compile(model)
    for angle in np.linspace(-0.27, 0.26, 28):
        q = np.array([angle, -angle / 2])
        seen = d.kernels.touch_kernel(0.0, q, np.array([1.0, -0.5]), d.parameters(), np.zeros(2))
        base = 17 * 0.004 / 2 * np.cos(np.pi / 9)
        assert abs(seen.gap[0]) < 1e-15 and seen.gap_jacobian[0] == pytest.approx([base, 2 * base], rel=1e-12)
    for angle in (-0.4, 0.4):  # beyond the mesh, edges are apart
        seen = d.kernels.touch_kernel(0.0, np.array([angle, -angle / 2]), np.zeros(2), d.parameters(), np.zeros(2))
        assert 1e-4 < seen.gap[0] < 1e-3


@pytest.mark.slow
def test_a_wheel_drives_another_by_its_tooth():
    run = da.simulate(driven_gears(1), 0.03)
    ratio = run.joint("A").u.values / run.joint("B").u.values
    assert run.certificate.trusted and ratio == pytest.approx(-2.0, rel=1e-9)
    # J₁ + J₂/4 = 1.25e-3 kg m², M₁ + M₂/2 = −0.4 N m
    assert float(run.joint("A").u[-1]) == pytest.approx(-3.0 - (0.5 - 0.1) / 1.25e-3 * 0.03, rel=1e-9)


@pytest.mark.slow
def test_teeth_hand_over():
    """The next pair comes into mesh before the one before leaves it: which of both carries the load is not determined,
    the motion is. The newer one does, so that the older one may run off its end."""
    run = da.simulate(driven_gears(3), 0.07)
    assert run.certificate.trusted
    fast, slow = run.joint("A"), run.joint("B")
    assert float(fast.q[-1]) < 0.2 - 2.5 * 2 * np.pi / 17  # more than two teeth
    assert fast.u.values / slow.u.values == pytest.approx(-34 / 17, rel=1e-12)
    assert float(fast.u[-1]) == pytest.approx(-3.0 - (0.5 - 0.1) / 1.25e-3 * 0.07, rel=1e-12)
    assert np.ptp(run.energy.balance.values) < 1e-9
    force = sum(np.abs(run.reaction(f"tooth {k}").values) for k in range(3))
    # J₁ u̇₁ = M₁ + r_b N, and contacts push along a line at the distance r_b from the shaft.
    base = 17 * 0.004 / 2 * np.cos(np.pi / 9)
    assert force == pytest.approx((0.5 - 1e-3 * (0.5 - 0.1) / 1.25e-3) / base, rel=1e-9)


def outline(slots, distance, width, n=12, corner=0.003, hub=0.01):
    """A Geneva wheel between two of its slots: counterclockwise, symmetric about x, with round corners."""
    half = np.pi / slots
    along, across = np.array([np.cos(half), -np.sin(half)]), np.array([np.sin(half), np.cos(half)])

    def arc(middle, radius, first, last, count):
        turn = np.linspace(first, last, count)[:, None]
        return middle + radius * np.hstack([np.cos(turn), np.sin(turn)])

    middle = (width / 2 + hub) / np.sin(half)
    inner = arc([middle, 0], hub, -np.pi, -np.pi / 2 - half, n)
    inner[0, 1] = 0.0
    reach = np.linspace(middle * np.cos(half), 0.95 * distance * np.cos(half), 2 * n)[1:, None]
    wall = width / 2 * across + reach * along
    tip = arc(wall[-1] + corner * across, corner, -np.pi / 2 - half, 0, n + 1)[1:]
    side = np.column_stack([np.full(n // 2, tip[-1, 0]), np.linspace(tip[-1, 1], 0, n // 2 + 1)[1:]])
    lower = np.vstack([inner, wall, tip, side])
    return np.vstack([lower, (lower * [1, -1])[-2::-1]])


@pytest.mark.slow
def test_a_pin_moves_a_geneva_wheel_by_the_curves_of_its_slots():
    """β = atan2(sin θ, c/r − cos θ) but for the play of the pin; a brake holds the wheel before and after."""
    c, pin, play = 0.1, 0.004, 1e-4
    r = c * np.sin(np.pi / 4)
    model = da.Model("Geneva drive", gravity=(0, 0, 0))
    model.body("crank", mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
    model.body("wheel", mass=0.3, com=(c, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    model.revolute("shaft", "ground", "crank", point=(0, 0, 0), axis="z")
    model.revolute("turn", "ground", "wheel", point=(c, 0, 0), axis="z")
    model.drive("shaft", "2*pi*t - pi/2")
    model.friction("brake", "turn", constant=0.02)
    points = [tuple(map(float, point)) for point in outline(4, c, 2 * (pin + play))]
    for k in range(2):  # on either side of the slot that the pin enters
        way = np.pi + k * np.pi / 2
        side = {"kind": "curve", "axis": "z", "at": (c, 0, 0), "start": (np.cos(way), np.sin(way), 0), "points": points}
        surfaces = (side, {"kind": "sphere", "at": (r, 0, 0), "radius": pin})
        model.rigid_contact(f"side {k}", "wheel", "crank", surfaces=surfaces)
    run = da.simulate(model, 0.9, rtol=1e-8)
    assert run.certificate.trusted and run.events[-1].name == "brake stops"
    theta = 2 * np.pi * run.time.values - np.pi / 2
    beta = np.arctan2(np.sin(theta), c / r - np.cos(theta))
    beta = np.where(np.abs(theta) < np.pi / 4, beta, np.copysign(np.pi / 4, theta))
    wheel = run.joint("turn").q.values
    assert np.abs(wheel + beta + np.pi / 4).max() < 1.01 * play / (c - r)
    assert np.all(wheel[theta < -np.pi / 4] == 0.0)
    assert abs(wheel[-1] + np.pi / 2) < play / (c - r) and np.ptp(wheel[theta > 1.0]) < 1e-13


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
        ({"kind": "plane", "axis": "z", "inside": True}, "not hollow"),
        (
            {"kind": "curve", "axis": "z", "start": "x", "radius": "0.2 + 0.05*cos(4*angle)"},
            "does not fit into the curve",
        ),
        ({**ELLIPSE, "y": "0.3*sin(2*s)"}, r"crosses itself: near s = .* and s = "),
        ({**ELLIPSE, "x": "0.2*cos(s)", "y": "-0.3*sin(s)"}, "runs clockwise"),
        ({**ELLIPSE, "span": (1, 1)}, "must rise from end to end"),
        ({**ELLIPSE, "x": "s**3", "y": "s**2", "span": (-1, 1)}, "zero speed at s = 0"),
        ({**ELLIPSE, "x": "0.2*cos(s)", "y": "0.02*sin(s)", "inside": True}, "does not fit into the curve at s ="),
        ({"kind": "curve", "axis": "z", "start": "x", "x": "s"}, "needs x, y and span"),
        (
            {"kind": "curve", "axis": "z", "start": "x", "points": [(0, 0), (0, 0), (1, 1)]},
            "points 0 and 1 are the same",
        ),
        ({"kind": "curve", "axis": "z", "start": "x", "points": [(0, 0), (1, 1)]}, "at least 3 points"),
        ({**ELLIPSE, "points": [(0, 0), (1, 0), (1, 1)]}, "has x, y and span, or points"),
        ({**ELLIPSE, "radius": 0.1}, "a radius, or x and y, or points"),
    ],
)
def test_what_is_wrong_is_said(surface, words):
    model = da.Model("wrong")
    ball = model.body("ball", mass=1.0)
    model.joint("translational", "ball", model.ground, ball, point=(0, 0, 0))
    model.rigid_contact("c", model.ground, ball, surfaces=(surface, {"kind": "sphere", "radius": BALL}))
    with pytest.raises(da.ModelError, match=words):
        model.validate()


def test_two_hollow_surfaces_are_refused():
    model = da.Model("wrong")
    ball = model.body("ball", mass=1.0)
    model.joint("translational", "ball", model.ground, ball, point=(0, 0, 0))
    shells = tuple({"kind": "sphere", "radius": radius, "inside": True} for radius in (0.2, 0.1))
    model.rigid_contact("c", model.ground, ball, surfaces=shells)
    with pytest.raises(da.ModelError, match="both surfaces are hollow"):
        model.validate()
