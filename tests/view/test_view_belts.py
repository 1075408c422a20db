"""Belts and cables over their wheels, and the marks of limits: their geometry against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.view.belts import belt_line
from dalembert.view.payload import payload
from dalembert.view.run_scene import scene

Z = np.array([0.0, 0.0, 1.0])


def _length(line):
    return np.linalg.norm(np.diff(line, axis=0), axis=1).sum()


@pytest.mark.parametrize("crossed", [False, True])
def test_a_belt_around_two_wheels_has_the_length_of_the_textbook(crossed):
    """2 √(c² − (R ∓ r)²) + π (R + r) + 2 (R ∓ r) asin((R ∓ r)/c); arcs are polygons of 23 pieces."""
    r, R, c = 0.1, 0.25, 0.8
    apart = R + r if crossed else R - r
    wanted = 2 * np.sqrt(c**2 - apart**2) + np.pi * (R + r) + 2 * apart * np.arcsin(apart / c)
    line = belt_line(np.array([[0, 0, 0], [c, 0, 0]]), np.array([r, -R if crossed else R]), Z, closed=True)
    assert _length(line) == pytest.approx(wanted, rel=2e-3) and np.allclose(line[0], line[-1])
    # Nothing of it is inside a wheel: its vertices are on the rims or between them.
    for center, radius in (((0, 0, 0), r), ((c, 0, 0), R)):
        assert np.linalg.norm(line - np.array(center), axis=1).min() == pytest.approx(radius)


def test_a_cable_over_a_wheel_runs_from_tangent_to_tangent():
    centers = np.array([[-0.1, -1, 0], [0, 0, 0], [0.1, -2, 0]])
    line = belt_line(centers, np.array([0, -0.1, 0]), Z, closed=False)
    assert np.allclose(line[0], centers[0]) and np.allclose(line[-1], centers[2])
    assert np.allclose(line[1], [-0.1, 0, 0]) and np.allclose(line[-2], [0.1, 0, 0])
    assert line[:, 1].max() == pytest.approx(0.1, abs=1e-3)  # over the top


def test_belts_of_a_run_are_in_its_scene():
    run = da.simulate(da.library.belt_drive(), 0.05, certify=False)
    (belt,) = scene(run).belts
    assert belt.closed and [radius for *_, radius in belt.wheels] == pytest.approx([0.05, -0.03, 0.15])
    assert payload(scene(run))["belts"][0]["wheels"][1]["point"] == pytest.approx([0.2, -0.08, 0])


def test_a_cable_over_a_wheel_is_in_the_scene():
    model = da.Model("rope")
    for name, x in (("A", -0.1), ("B", 0.1)):
        model.prismatic(
            name, model.ground, model.sphere(f"ball {name}", (x, 0, -1), 0.03, mass=1.0 + x), axis="z", point=(x, 0, -1)
        )
    at = [(-0.1, 0, -1), (0, 0, 0), (0.1, 0, -1)]
    model.cable("rope", ["ball A", model.ground, "ball B"], at=at, radii=[0, 0.1, 0], axis="y")
    drawn = scene(da.simulate(model, 0.05, certify=False))
    (rope,) = drawn.belts
    assert (
        not rope.closed and not drawn.springs and [body for body, *_ in rope.wheels] == ["ball A", "ground", "ball B"]
    )
    assert np.allclose(rope.axis, [0, 1, 0])


def test_limits_are_drawn_on_the_body_that_carries_the_joint():
    model = da.Model("arm")
    arm = model.rod("arm", (0, 0, 0), (0, 0, -1), mass=1.0)
    box = model.box("box", (1, 0, 0), (0.1, 0.1, 0.1), mass=1.0)
    model.revolute("hinge", model.ground, arm, point=(0, 0, 0), axis="y")
    model.prismatic("way", model.ground, box, point=(1, 0, 0), axis="z")
    model.limit("turns", "q(hinge)", lower=-0.5, upper=1.0)
    model.limit("ends", "q(way)", lower=-0.3)
    lines = [s for s in scene(da.simulate(model, 0.05, certify=False)).ground_shapes if s.kind == "line"]
    low, high, arc, plate = (np.asarray(s.points, dtype=float) for s in lines)
    for line, angle in ((low, -0.5), (high, 1.0)):  # where the arm points at its bounds
        assert np.cross(line[1], [-np.sin(angle), 0, -np.cos(angle)]) == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(arc, axis=1) == pytest.approx(np.linalg.norm(arc[0])) and len(arc) > 10
    assert plate.mean(axis=0) == pytest.approx([1, 0, -0.3])


def test_bounds_of_other_formulas_are_not_drawn():
    model = da.library.double_pendulum()
    first, second = (joint.name for joint in model.joints[:2])
    model.limit("both", f"q({first}) + q({second})", lower=-9)
    usual = scene(da.simulate(da.library.double_pendulum(), 0.05, certify=False))
    assert len(scene(da.simulate(model, 0.05, certify=False)).ground_shapes) == len(usual.ground_shapes)
