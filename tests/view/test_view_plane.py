"""The camera's question: does everything move in one plane, and in which?"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.view import Scene, SceneBody, SceneJoint
from dalembert.view.plane import motion_plane, up_vector

T = np.linspace(0.0, 1.0, 50)
STILL = np.tile([1.0, 0, 0, 0], (50, 1))


def turning(axis, angle):
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return np.column_stack([np.cos(angle / 2), np.outer(np.sin(angle / 2), axis)])


def scene(position, quaternion, up="z"):
    return Scene("s", T, [SceneBody("b", [], position, quaternion)], up=up)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, -0.5)])
def test_a_pendulum_moves_across_its_axis(axis):
    q = turning(axis, 5 * T)
    start = np.cross(axis, (0.3, -0.4, 0.8))
    w, v = q[:, :1], q[:, 1:]
    position = start + 2 * np.cross(v, np.cross(v, start) + w * start)
    normal = motion_plane(scene(position, q))
    assert normal is not None
    assert abs(normal @ axis) == pytest.approx(np.linalg.norm(axis), rel=1e-9)


def test_a_circular_translation_has_a_plane():
    position = np.column_stack([np.cos(6 * T), 0 * T + 3, np.sin(6 * T)])
    normal = motion_plane(scene(position, STILL))
    assert abs(normal[1]) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("direction", "up"), [((1, 0, 0), "z"), ((0, 0, 1), "z"), ((1, 1, 0), "y")])
def test_a_straight_line_is_seen_from_the_side(direction, up):
    motion = scene(np.outer(T, direction), STILL, up)
    normal = motion_plane(motion)
    assert abs(normal @ direction) < 1e-9
    assert abs(normal @ up_vector(motion)) < 1e-9


def test_spatial_motion_has_no_plane():
    helix = np.column_stack([np.cos(6 * T), np.sin(6 * T), T])
    assert motion_plane(scene(helix, STILL)) is None
    assert motion_plane(scene(helix, turning((0, 0, 1), 6 * T))) is None
    assert motion_plane(scene(helix * [1, 1, 0], turning((0, 1, 0), T))) is None


def test_nothing_moving_has_no_plane():
    assert motion_plane(scene(np.ones((50, 3)), STILL)) is None
    assert motion_plane(Scene("s", T)) is None


def test_what_stands_still_is_seen_along_its_hinges():
    half = np.tile([np.sqrt(0.5), np.sqrt(0.5), 0, 0], (50, 1))  # turned about x by 90°: z of the body is −y
    bodies = [SceneBody("a", [], np.ones((50, 3)), STILL), SceneBody("b", [], np.ones((50, 3)), half)]
    hinges = [SceneJoint("one", "revolute", "a", axis=(0, 3, 0)), SceneJoint("two", "revolute", "b")]
    normal = motion_plane(Scene("s", T, bodies, joints=[*hinges, SceneJoint("rail", "prismatic", "a", axis=(1, 0, 0))]))
    assert normal == pytest.approx([0, 1, 0])
    assert motion_plane(Scene("s", T, bodies, joints=[*hinges, SceneJoint("three", "revolute", "a")])) is None
