"""Does the mechanism move in one plane? Then the camera should look straight at it."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from dalembert.joints import JOINTS
from dalembert.joints.glyph import HINGE
from dalembert.view.scene import Scene

__all__ = ["motion_plane", "up_vector"]

# Motion out of the plane, relative to the motion in it, that still counts as planar.
_FLATNESS = 1e-3


def up_vector(scene: Scene) -> NDArray[np.float64]:
    """Unit vector of ``scene.up`` in the world."""
    if isinstance(scene.up, str):
        return np.eye(3)["xyz".index(scene.up)]
    up = np.asarray(scene.up, dtype=float)
    return up / np.linalg.norm(up)


def motion_plane(scene: Scene) -> NDArray[np.float64] | None:
    """Unit normal n of the plane in which every body moves, or None.

    Planar motion: every finite rotation from the first sample is about n, and every displacement is
    perpendicular to n. A motion along one straight line takes the vertical plane that contains it. Where nothing
    moves, hinges that all have one direction tell how it would.
    """
    if not scene.bodies:
        return None
    shifts = np.vstack([np.asarray(b.position) - np.asarray(b.position)[0] for b in scene.bodies])
    turns = np.vstack([_turns(np.asarray(b.quaternion, dtype=float)) for b in scene.bodies])
    travel = np.max(np.linalg.norm(shifts, axis=1))
    if np.max(np.linalg.norm(turns, axis=1)) > _FLATNESS:
        normal = _principal(turns)[:, 2]
        off_axis = turns - np.outer(turns @ normal, normal)
        flat = np.max(np.linalg.norm(off_axis, axis=1)) < _FLATNESS * np.max(np.linalg.norm(turns, axis=1))
    elif travel > 0:
        axes = _principal(shifts)
        spread = np.max(np.abs(shifts @ axes), axis=0)
        along_line = spread[1] < _FLATNESS * spread[2]
        normal = _beside(axes[:, 2], up_vector(scene)) if along_line else axes[:, 0]
        flat = True
    else:
        return _hinge_direction(scene)
    flat = flat and np.max(np.abs(shifts @ normal)) <= _FLATNESS * travel
    return normal if flat else None


def _hinge_direction(scene: Scene) -> NDArray[np.float64] | None:
    """The direction of all hinges, if they have one in common."""
    start = {body.name: np.asarray(body.quaternion, dtype=float)[0] for body in scene.bodies}
    axes: list[NDArray[np.float64]] = []
    for joint in scene.joints:
        if joint.kind in JOINTS and JOINTS[joint.kind].glyph is HINGE:
            w, *v = start.get(joint.body, np.array([1.0, 0.0, 0.0, 0.0]))
            axis = np.asarray(joint.axis, dtype=float)
            turned = axis + 2 * np.cross(v, np.cross(v, axis) + w * axis)
            axes.append(turned / np.linalg.norm(turned))
    if not axes or max(np.linalg.norm(np.cross(axes[0], axis)) for axis in axes) > _FLATNESS:
        return None
    return axes[0]


def _turns(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vector part of q(t) q(0)^-1, sin(angle/2) times the axis, with the sign of the shorter way."""
    q = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    w, v = q[:, :1], q[:, 1:]
    w0, v0 = w[0], v[0]
    scalar = w * w0 + v @ v0[:, None]
    vector = w0 * v - w * v0 - np.cross(v, v0)
    return cast(np.ndarray, np.where(scalar < 0, -vector, vector))


def _principal(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Principal directions as columns, weakest first."""
    return np.linalg.eigh(vectors.T @ vectors)[1]


def _beside(direction: NDArray[np.float64], up: NDArray[np.float64]) -> NDArray[np.float64]:
    """A horizontal direction perpendicular to ``direction``."""
    if np.linalg.norm(np.cross(up, direction)) < _FLATNESS:
        direction = np.eye(3)[int(np.argmin(np.abs(up)))]
    normal = np.cross(up, direction)
    return normal / np.linalg.norm(normal)
