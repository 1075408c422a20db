"""Cables over wheels and belts, against geometry worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

R = 0.15


def atwood(ratio: float = 1.0) -> da.Model:
    """Two masses on a rope over a wheel."""
    model = da.Model("atwood")
    left = model.sphere("left", (-R, 0, -1), 0.03, mass=1.0)
    right = model.sphere("right", (R, 0, -1), 0.03, mass=2.0)
    model.prismatic("A", model.ground, left, axis="z", point=(-R, 0, -1))
    model.prismatic("B", model.ground, right, axis="z", point=(R, 0, -1))
    points = [(-R, 0, -1), (0, 0, 0), (R, 0, -1)]
    model.cable("rope", [left, model.ground, right], at=points, radii=[0, ratio * R, 0], axis="y")
    return model


def test_two_masses_on_a_rope():
    """Acceleration g (m₂ − m₁)/(m₁ + m₂), tension 2 m₁ m₂ g/(m₁ + m₂)."""
    run = da.simulate(atwood(), 0.5)
    assert run.certificate.trusted
    assert np.allclose(run.reaction("rope"), 2 * 1 * 2 / 3 * 9.81, rtol=1e-12)
    assert np.isclose(run.joint("B").q[-1], -9.81 / 3 * 0.5**2 / 2, rtol=1e-12)


def test_the_length_over_a_wheel_that_moves():
    """A load that swings under a trolley, on a rope over its wheel that is drawn in: tangents and arcs by angles."""
    model = da.Model("crane")
    trolley = model.box("trolley", (0, 0, 0), (0.2, 0.1, 0.1), mass=20.0)
    load = model.sphere("load", (R, 0, -1), 0.05, mass=2.0)
    model.prismatic("X", model.ground, trolley, axis="x", point=(0, 0, 0))
    model.point_on_plane("plane", model.ground, load, point=(R, 0, -1), axis="y")
    start = np.array([-3.0, 0.0, R])
    points = [start, (0, 0, 0), (R, 0, -1)]
    model.cable("rope", [model.ground, trolley, load], at=points, radii=[0, R, 0], axis="y", feed="-0.1*t")
    run = da.simulate(model, 1.0, initial={"X": 0.4})
    assert run.certificate.trusted
    wheel, end = run.body("trolley").position.values, run.body("load").position.values

    def length(center: np.ndarray, end: np.ndarray) -> float:
        one, other = start - center, end - center
        d, e = np.linalg.norm(one), np.linalg.norm(other)
        between = np.arctan2(one[2] * other[0] - one[0] * other[2], one @ other) % (2 * np.pi)  # about y: from z to x
        wrap = between - np.arccos(R / d) - np.arccos(R / e)
        assert wrap > 0
        return np.sqrt(d**2 - R**2) + np.sqrt(e**2 - R**2) + R * wrap

    drawn = length(np.zeros(3), np.array([R, 0.0, -1.0]))
    found = [length(c, p) + 0.1 * t for c, p, t in zip(wheel, end, run.time.values, strict=True)]
    assert np.ptp(run.joint("X").q.values) > 0.1
    assert np.allclose(found, drawn, atol=1e-11)


def test_an_eyelet_is_a_point_in_space():
    """Through points a cable runs freely in space: a load hangs at the corner of two equal legs."""
    model = da.Model("hanger")
    ring = model.sphere("ring", (0.1, 0.2, -1), 0.02, mass=1.0)
    ends = [(-1, 0, 0), (0.1, 0.2, -1), (1, 0, 0)]
    model.cable("rope", [model.ground, ring, model.ground], at=ends)
    run = da.simulate(model, 1.0)
    p = run.body("ring").position.values
    legs = sum(np.linalg.norm(p - np.array(end), axis=1) for end in (ends[0], ends[2]))
    assert run.certificate.trusted and np.allclose(legs, legs[0], atol=1e-12)


def test_a_belt_around_three_wheels():
    """All rims run at one speed; the third wheel lies outside of the belt. The torques balance as the radii demand."""
    model = da.Model("belt drive", gravity=(0, 0, 0))
    radii = (0.1, 0.2, -0.05)
    for i, radius in enumerate(radii):
        wheel = model.disc(f"wheel {i}", (0.5 * i, 0, 0), abs(radius), mass=1.0 + i)
        model.revolute(f"W{i}", model.ground, wheel, point=(0.5 * i, 0, 0), axis="z")
    model.belt("belt", ["W0", "W1", "W2"], radii=radii)
    model.joint_force("motor", "W0", value=0.3)
    run = da.simulate(model, 2.0)
    reduced = sum((1.0 + i) * radius**2 / 2 * (radii[0] / radius) ** 2 for i, radius in enumerate(radii))
    for i, radius in enumerate(radii):
        assert np.isclose(run.joint(f"W{i}").q[-1], 0.3 / reduced * radii[0] / radius * 2.0, rtol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radii": [0.1, R, 0]}, "first and the last radius must be 0"),
        ({"radii": [0, R]}, "as many points"),
        ({"radii": [0, 2.0, 0]}, "no straight cable"),
        ({"axis": (1, 0, 0)}, "one plane"),
        ({"axis": (0, 0, 0)}, "axis must not be zero"),
        ({"feed": "q(A)"}, "may name t"),
        ({"at": [(-R, 0, -1), (0, 0, 0), (0, 0, 0)], "radii": []}, "same point as the one before"),
        ({"at": [(0, 0, 0), (-R, 0, -1), (0, 0, 0)], "radii": [], "frame": "body"}, "'rope': at.1. is the same point"),
    ],
)
def test_cables_that_cannot_be(change, message):
    model = atwood()
    rope = model.constraints[0].model_dump()
    fields = {key: rope[key] for key in ("at", "radii", "axis", "feed")} | change
    model = da.Model("bad")
    for name, x in (("left", -R), ("right", R)):
        body = model.sphere(name, (x, 0, -1), 0.03, mass=1.0)
        model.prismatic(name[0].upper(), model.ground, body, axis="z", point=(x, 0, -1))
    model.cable("rope", ["left", "ground", "right"], **fields)
    with pytest.raises(da.ModelError, match=message):
        da.compile(model)


def test_belts_that_cannot_be():
    model = atwood()
    with pytest.raises(da.ModelError, match="two or more different joints"):
        model.belt("belt", ["A", "A"], radii=[1, 1])
    model.belt("belt", ["A", "B"], radii=[1, 0])
    with pytest.raises(da.ModelError, match="radius must not be zero"):
        da.compile(model)


def crane(aside: float) -> da.Model:
    """A load on a rope over a wheel, that nothing keeps in the plane of the wheel."""
    model = da.Model("crane that swings aside")
    trolley = model.box("trolley", (0, 0, 0), (0.2, 0.1, 0.1), mass=20.0)
    load = model.sphere("load", (R, 0, -1), 0.05, mass=2.0)
    model.prismatic("X", model.ground, trolley, axis="x", point=(0, 0, 0))
    model.free("F", model.ground, load)
    model.initial("F", rate=(0, 0, 0, 0, aside, 0))
    points = [(-3, 0, R), (0, 0, 0), (R, 0, -1)]
    model.cable("rope", [model.ground, trolley, load], at=points, radii=[0, R, 0], axis="y")
    return model


def test_out_of_the_plane_of_its_wheels_a_cable_is_not_trusted():
    """The angle out of the plane, by hand: that of the load's place."""
    assert da.simulate(crane(0.0), 0.2).certificate.trusted
    run = da.simulate(crane(0.3), 0.2)
    found = {check.name: check for check in run.certificate.checks}
    x, y, z = (run.body("load").position.values - run.body("trolley").position.values).T
    assert not run.certificate.trusted and [name for name, check in found.items() if not check.passed] == [
        "fleet angle"
    ]
    assert np.isclose(found["fleet angle"].value, np.arctan2(np.abs(y), np.hypot(x, z)).max(), rtol=1e-12)
    assert "cable 'rope'" in found["fleet angle"].about and "one plane" in found["fleet angle"].fix


def test_a_run_does_not_begin_out_of_the_plane():
    with pytest.raises(da.ModelError, match=r"cable 'rope' is 0\.4\d+ rad out of the plane of its wheels"):
        da.simulate(crane(0.0), 0.1, initial={"F": (1, 0, 0, 0, R, 0.5, -1)})


def test_a_wheel_that_tilts_is_seen():
    """The second wheel turns about the line of the cable: its axis leaves the common one by that angle."""
    model = da.Model("tilting wheel", gravity=(0, 0, 0))
    arm = model.box("arm", (2, 0, 0), (0.1, 0.1, 0.1), mass=1.0)
    load = model.sphere("load", (3, 0, -1), 0.05, mass=1.0)
    model.revolute("tilt", model.ground, arm, point=(2, 0, 0), axis="x")
    model.prismatic("Z", model.ground, load, point=(3, 0, -1), axis="x")
    points = [(-1, 0, -1), (0, 0, 0), (2, 0, 0), (3, 0, -1)]
    model.cable("rope", [model.ground, model.ground, arm, load], points, radii=[0, R, R, 0], axis="y")
    run = da.simulate(model, 0.1, initial_rates={"tilt": 0.4})
    tilt = next(check for check in run.certificate.checks if check.name == "fleet angle")
    assert np.isclose(tilt.value, run.joint("tilt").q.values[-1], rtol=1e-9) and not tilt.passed


def test_a_cable_that_leaves_its_wheel_or_pushes_is_reported():
    """The arc, by hand: between the block's level part and the line to the load, tangent to the wheel."""
    model = da.Model("flat arc", gravity=(0, 0, 0))
    block = model.sphere("block", (-1, 0, R), 0.05, mass=1.0)
    load = model.sphere("load", (1, 0, R - 0.05), 0.05, mass=1.0)
    model.prismatic("X", model.ground, block, axis="x", point=(-1, 0, R))
    model.prismatic("Z", model.ground, load, axis="z", point=(1, 0, R - 0.05))
    points = [(-1, 0, R), (0, 0, 0), (1, 0, R - 0.05)]
    model.cable("rope", [block, model.ground, load], points, radii=[0, R, 0], axis="y")
    assert da.simulate(model, 0.04, initial_rates={"Z": 1.0}).certificate.trusted
    run = da.simulate(model, 0.2, initial_rates={"Z": 1.0})
    lifted = next(check for check in run.certificate.checks if check.name == "cable off its wheel")
    z = run.body("load").position.values[-1, 2]
    arc = np.pi / 2 - np.arctan2(z, 1.0) - np.arccos(R / np.hypot(1.0, z))
    assert arc < -0.1 and np.isclose(lifted.value, -arc, rtol=1e-9) and not run.certificate.trusted
    pushed = float(run.reaction("rope").min())
    said = [remark for remark in run.certificate.remarks if "pushes" in remark]
    assert (pushed < 0) == bool(said)


def test_a_cable_that_pushes_is_said():
    """A mass that is braked by a cable over a point: the tension is −m a."""
    model = da.Model("braked", gravity=(0, 0, 0))
    load = model.sphere("load", (1, 0, 0), 0.05, mass=2.0)
    model.prismatic("X", model.ground, load, axis="x", point=(1, 0, 0))
    model.cable("rope", [model.ground, load], [(0, 0, 0), (1, 0, 0)], feed="t**2")
    run = da.simulate(model, 0.5)
    assert np.allclose(run.reaction("rope"), -4.0, rtol=1e-9)
    assert any("pushes with up to 4 N, first at t = 0 s" in remark for remark in run.certificate.remarks)


@pytest.mark.parametrize("formulation", ["kane", "gibbs-appell"])
def test_two_cables_whose_ends_meet_where_all_coordinates_are_zero(formulation):
    """A load on two ropes in a row; at zero coordinates a rope has no length, and no direction."""
    model = da.Model("chain of ropes")
    upper = model.sphere("upper", (0, 0, -1), 0.1, mass=1.0)
    lower = model.sphere("lower", (0.3, 0.2, -2), 0.1, mass=2.0)
    model.cable("first", [model.ground, upper], [(0, 0, 0), (0, 0, -1)])
    model.cable("second", [upper, lower], [(0, 0, -1), (0.3, 0.2, -2)])
    runs = [da.simulate(model, 0.2, formulation=name) for name in (formulation, "lagrange-multipliers")]
    ends = [run.body("lower").position.values[-1] for run in runs]
    assert all(run.certificate.trusted for run in runs) and np.allclose(*ends, atol=1e-9)
