"""Still pictures of a mechanism in several states, side by side: outlines of its bodies, seen along one direction.

States are read as runs of one instant, so that this room imports nothing of the analyses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.spatial import quaternion
from dalembert.view.belts import belt_line
from dalembert.view.figures import INK, MUTED, new_figure, title_of
from dalembert.view.plane import motion_plane, up_vector
from dalembert.view.run_scene import moving_scene
from dalembert.view.scene import PALETTE, Scene, SceneBody, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dalembert.trajectory import Trajectory

__all__ = ["still_pictures"]

MOST_PANELS, COLUMNS = 12, 4
COLORS = {"stable": "#00795a", "unstable": "#b94700"}
GROUND = "#9aa0a8"
COILS = 7


def still_pictures(name: str, runs: Sequence[Trajectory], titles: Sequence[tuple[str, str]]) -> Figure:
    """One panel for each state.

    Args:
        runs: of one instant each.
        titles: with a word that has a color.
    """
    shown = list(runs)[:MOST_PANELS]
    scenes = [moving_scene(run, [], {}) for run in shown]
    view = _view(scenes)
    columns = min(COLUMNS, len(scenes))
    rows = math.ceil(len(scenes) / columns)
    figure = new_figure(3.2 * columns, 3.2 * rows + 0.4)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for panel, scene, (title, word) in zip(panels, scenes, titles, strict=False):
        _draw(panel, scene, view)
        color = COLORS.get(word, MUTED)
        panel.set_title(title, loc="left", color=color, fontsize=10.5, fontweight="bold", parse_math=False)
    for panel in panels:
        panel.set_axis_off()
        panel.set_aspect("equal", adjustable="box")
    more = len(runs) - len(shown)
    title_of(figure, name + (f" (and {more} more)" if more > 0 else ""))
    return figure


def _view(scenes: Sequence[Scene]) -> np.ndarray:
    """Two rows: directions to the right and up on the paper; the third is the depth, toward the eye."""
    first = scenes[0]
    joined = replace(first, bodies=[_joined([scene.bodies[i] for scene in scenes]) for i in range(len(first.bodies))])
    normal, up = motion_plane(joined), up_vector(first)
    if normal is None:
        normal = _common_axis(first)
    if normal is None:
        side = np.eye(3)[int(np.argmin(np.abs(up)))]
        side = side - (side @ up) * up
        normal = 0.8 * side / np.linalg.norm(side) + 0.5 * np.cross(up, side) + 0.45 * up
    normal = normal / np.linalg.norm(normal)
    if normal @ np.array([0.3, -0.5, 0.8]) < 0:
        normal = -normal
    high = up - (up @ normal) * normal
    if np.linalg.norm(high) < 1e-6:
        high = np.array([0.0, 1.0, 0.0]) - normal[1] * normal
    high = high / np.linalg.norm(high)
    return np.array([np.cross(high, normal), high, normal])


def _joined(bodies: Sequence[SceneBody]) -> SceneBody:
    places, turns = (np.vstack([getattr(body, key) for body in bodies]) for key in ("position", "quaternion"))
    return replace(bodies[0], position=places, quaternion=turns)


def _common_axis(scene: Scene) -> np.ndarray | None:
    """The direction of most joints, if all others are across it."""
    poses = {body.name: body.quaternion[0] for body in scene.bodies}
    axes = [
        (_rotation(poses[j.body]) if j.body in poses else np.eye(3)) @ np.asarray(j.axis, dtype=float)
        for j in scene.joints
    ]
    axes = [axis / np.linalg.norm(axis) for axis in axes]
    if not axes:
        return None
    cosines = np.abs(np.array(axes) @ np.array(axes).T)
    best = int(np.argmax(np.sum(cosines > 1 - 1e-9, axis=1)))
    flat = np.all((cosines[best] > 1 - 1e-9) | (cosines[best] < 1e-6))
    return axes[best] if flat else None


def _rotation(turn: Any) -> np.ndarray:
    return np.asarray(quaternion.to_matrix(NUMPY, np.asarray(turn, dtype=float)), dtype=float)


def _draw(panel: Axes, scene: Scene, view: np.ndarray) -> None:
    poses: dict[str, tuple[np.ndarray, np.ndarray]] = {"ground": (np.eye(3), np.zeros(3))}
    for shape in scene.ground_shapes:
        _outline(panel, shape, poses["ground"], view, GROUND)
    for k, body in enumerate(scene.bodies):
        poses[body.name] = _rotation(body.quaternion[0]), np.asarray(body.position[0], dtype=float)
        for shape in body.shapes or [Shape("sphere", radius=0.02)]:
            _outline(panel, shape, poses[body.name], view, PALETTE[k % len(PALETTE)])
    for spring in scene.springs:
        ends = [
            view @ (poses[body][1] + poses[body][0] @ np.asarray(point, dtype=float))
            for body, point in ((spring.body_1, spring.point_1), (spring.body_2, spring.point_2))
        ]
        if spring.look != "coil":
            panel.plot(*np.array(ends).T[:2], color=MUTED, linewidth=2.0, zorder=4)
            if spring.look == "cylinder":
                tube = np.array([ends[0], ends[0] + 0.6 * (ends[1] - ends[0])])
                panel.plot(*tube.T[:2], color=INK, linewidth=4.0, solid_capstyle="butt", zorder=4)
        else:
            _coil(panel, *ends)
    for belt in scene.belts:
        centers = np.array([poses[body][1] + poses[body][0] @ np.asarray(at, float) for body, at, _ in belt.wheels])
        radii, axis = np.array([radius for *_, radius in belt.wheels]), poses[belt.body][0] @ np.asarray(belt.axis)
        seen = belt_line(centers, radii, axis, belt.closed) @ view.T
        panel.plot(seen[:, 0], seen[:, 1], color=INK, linewidth=1.6, zorder=4)


def _outline(panel: Axes, shape: Shape, pose: tuple[np.ndarray, np.ndarray], view: np.ndarray, color: str) -> None:
    from matplotlib.patches import Polygon

    points = _points(shape)
    if points is None:
        return
    own = _rotation(shape.quaternion)
    world = pose[1] + (np.asarray(shape.position, dtype=float) + points @ own.T) @ pose[0].T
    seen = world @ view.T
    face, depth = shape.color or color, 2.0 + 0.001 * float(seen[:, 2].mean())
    if shape.kind == "line":
        panel.plot(seen[:, 0], seen[:, 1], color=face, linewidth=3.0, solid_capstyle="round", zorder=depth)
        return
    hull = _hull(seen[:, :2])
    if len(hull) > 2:
        alpha = 0.25 + 0.6 * shape.opacity
        panel.add_patch(Polygon(hull, facecolor=face, edgecolor=INK, linewidth=0.6, alpha=alpha, zorder=depth))
    panel.update_datalim(hull)
    panel.autoscale_view()


def _points(shape: Shape) -> np.ndarray | None:
    """Points of a solid whose convex hull is its outline."""
    r, l = float(shape.radius or 0.0), float(shape.length or 0.0)
    angle = np.linspace(0, 2 * np.pi, 25)[:-1]
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    ball = np.concatenate([ring, ring[:, [0, 2, 1]], ring[:, [2, 0, 1]]])
    along = np.array([0.0, 0.0, l / 2])
    match shape.kind:
        case "box" | "plane":
            size = np.append(np.asarray(shape.size, dtype=float), 0.0)[:3]
            corners = np.array([(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
            return corners * size
        case "cylinder":
            return np.concatenate([r * ring + along, r * ring - along])
        case "capsule":
            return np.concatenate([r * ball + along, r * ball - along])
        case "cone":
            return np.concatenate([r * ring - along, along[None]])
        case "sphere":
            return r * ball
        case "torus":
            return np.concatenate([(r + float(shape.tube or 0.0)) * ring, r * ring])
        case "line":
            return np.asarray(shape.points, dtype=float)
        case "mesh":
            return np.asarray(shape.vertices, dtype=float)
        case _:
            return None


def _hull(points: np.ndarray) -> np.ndarray:
    """The convex hull of points in a plane, counterclockwise (Andrew's monotone chain)."""
    order = np.unique(np.round(points, 12), axis=0)

    def half(rows: np.ndarray) -> list[np.ndarray]:
        chain: list[np.ndarray] = []
        for point in rows:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-1] - chain[-2], point - chain[-2]
                if ax * by - ay * bx > 0:
                    break
                chain.pop()
            chain.append(point)
        return chain

    return np.array([*half(order)[:-1], *half(order[::-1])[:-1]]) if len(order) > 2 else order


def _coil(panel: Axes, start: np.ndarray, end: np.ndarray) -> None:
    """A spring as a zigzag."""
    d = (end - start)[:2]
    length = float(np.linalg.norm(d))
    if length == 0:
        return
    side = np.array([-d[1], d[0]]) / length * 0.09 * length
    s = np.concatenate([[0.0, 0.12], np.linspace(0.12, 0.88, 2 * COILS + 1)[1:-1], [0.88, 1.0]])
    swing = np.concatenate([[0.0, 0.0], np.where(np.arange(2 * COILS - 1) % 2, -1.0, 1.0), [0.0, 0.0]])
    path = start[:2] + np.outer(s, d) + np.outer(swing, side)
    panel.plot(path[:, 0], path[:, 1], color=INK, linewidth=1.0, zorder=4)
