"""Mechanisms as lines: bodies from joint to joint, in one position or several.

They read states through their methods, so that this room imports nothing of the analyses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.solids.rod import Rod
from dalembert.spatial import Pose
from dalembert.view.figures import INK, MUTED, new_figure, title_of
from dalembert.view.scene import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CLOSE", "Sticks", "branch_figure", "named_point"]

MOST_PANELS = 12
CLOSE = 1e-9  # m; a named point on a joint is no other place
COIL_TURNS, COIL_WIDTH = 5, 0.06  # of a spring's zigzag; its half width is a part of its length
FLAT = 1e-6  # axes this parallel make a planar mechanism
OBLIQUE = np.array([0.75, -0.55, 0.37])  # where one looks from at a mechanism in space


class Sticks:
    """One mechanism: its joints, the bodies between them, and the plane on which it is drawn.

    Args:
        coordinates: of the mechanism, for names and frames.
    """

    def __init__(self, coordinates: Any):
        self.coordinates, self.flat, self.mechanism = coordinates, coordinates.flat, coordinates.nominal
        self.around: dict[str, list[str]] = {}
        for name, (data, _) in self.flat.joints.items():
            for body in data.bodies:
                self.around.setdefault(body, []).append(name)
        self.points: dict[str, list[np.ndarray]] = {}
        for name, (point, _) in self.flat.points.items():
            self.points.setdefault(point.body, []).append(np.asarray(named_point(self.mechanism, name), dtype=float))
        al = self.mechanism.al
        for body, (data, scope) in self.flat.bodies.items():
            for end in (data.solid.start, data.solid.end) if isinstance(data.solid, Rod) else ():
                X = Pose.translation(al, self.mechanism.vector(end))
                place = self.mechanism.local(body, X, data.frame, scope).p
                self.points.setdefault(body, []).append(np.asarray(place, dtype=float))
        self.axes = self._plane()
        self.springs = self._springs()
        for body, local in [end for ends, _ in self.springs for end in ends]:
            self.points.setdefault(body, []).append(np.asarray(local, dtype=float))

    def _plane(self) -> np.ndarray:
        """Two rows: to the right and up, on the paper."""
        normals: list[np.ndarray] = []
        for name in self.flat.joints:
            placed = self.mechanism.joint(name)
            if "origin" in placed.joint.common and "z" in placed.joint.common:
                R = np.asarray((self.mechanism.body_pose(placed.first) @ placed.X_1P).R, dtype=float)
                normals.append(R[:, 2] * (np.sign(R[np.argmax(np.abs(R[:, 2])), 2]) or 1.0))
        flat = bool(normals) and all(np.linalg.norm(np.cross(normals[0], n)) < FLAT for n in normals)
        normal = normals[0] if flat else OBLIQUE / np.linalg.norm(OBLIQUE)
        gravity = np.asarray(self.mechanism.gravity, dtype=float)
        up = -gravity if gravity.any() else np.array([0.0, 1.0, 0.0] if flat else [0.0, 0.0, 1.0])
        up = up - (up @ normal) * normal
        if np.linalg.norm(up) < FLAT:
            up = np.eye(3)[int(np.argmin(np.abs(normal)))]
            up = up - (up @ normal) * normal
        up = up / np.linalg.norm(up)
        right = np.cross(up, normal)
        if flat and right[np.argmax(np.abs(right))] < 0:
            right = -right  # from the other side: a world axis points to the right, as on every drawing
        return np.array([right, up])

    def _springs(self) -> list[tuple[list[tuple[str, Any]], bool]]:
        """Of each spring and strut its two ends, each a body and a point in its frame, and whether it is a cylinder."""
        found: list[tuple[list[tuple[str, Any]], bool]] = []
        al = self.mechanism.al
        for force, scope in self.flat.forces.values():
            ends: list[tuple[str, Any]] = []
            for body, at, frame in force.ends() or ():
                X = Pose.translation(al, al.zeros(3) if at is None else self.mechanism.vector(at))
                ends.append((body, (X if at is None else self.mechanism.local(body, X, frame, scope)).p))
            found += [(ends, force.telescopes())] if ends else []
        return found

    def joint_place(self, state: Any, name: str, body: str) -> np.ndarray:
        """Where a joint is on a body, on the paper."""
        placed = self.mechanism.joint(name)
        X = placed.X_1P if placed.first == body else placed.X_2S
        return self.axes @ self._at(state, body, X.p)

    def _at(self, state: Any, body: str, local: Any) -> np.ndarray:
        if body == "ground":
            return np.asarray(local, dtype=float)
        return np.asarray(state.body(body)[0].apply(np.asarray(local, dtype=float)), dtype=float)

    def draw(self, panel: Axes, state: Any, color: str | None = None, labels: bool = True, joints: bool = True) -> None:
        """The mechanism in one position; in one color, if that is given; with marks of its joints, and their names."""
        for k, body in enumerate(self.flat.bodies):
            places = [self.joint_place(state, name, body) for name in self.around.get(body, [])]
            for local in self.points.get(body, []):
                place = self.axes @ self._at(state, body, local)
                if all(np.linalg.norm(place - other) > CLOSE for other in places):
                    places.append(place)
            if len(places) == 1:
                places.append(self.axes @ self._at(state, body, self.mechanism.inertia(body).com))
            shown = color or PALETTE[k % len(PALETTE)]
            if len(places) > 2:
                places = _around(places)
            outline = np.array([*places, places[0]] if len(places) > 2 else places)
            if len(places) > 2:
                panel.fill(outline[:, 0], outline[:, 1], color=shown, alpha=0.15, linewidth=0)
            if len(places) > 1:
                panel.plot(outline[:, 0], outline[:, 1], color=shown, linewidth=4.0, solid_capstyle="round", alpha=0.85)
        for ends, cylinder in self.springs:
            start, end = (self.axes @ self._at(state, body, local) for body, local in ends)
            for part, width in _cylinder(start, end) if cylinder else [(_coil(start, end), 1.2)]:
                panel.plot(part[:, 0], part[:, 1], color=color or MUTED, linewidth=width, solid_capstyle="butt",
                           alpha=0.85)  # fmt: skip
        for name, (data, _) in self.flat.joints.items() if joints else ():
            body = next((b for b in data.bodies if b == "ground"), data.bodies[0])
            x, y = self.joint_place(state, name, data.bodies[1] if body == "ground" else body)
            fixed = body == "ground"
            panel.plot([x], [y], marker="^" if fixed else "o", markersize=8 if fixed else 6, color=MUTED,
                       markerfacecolor="white" if not fixed else MUTED, markeredgewidth=1.4, zorder=5)  # fmt: skip
            if labels:
                panel.annotate(name, (x, y), textcoords="offset points", xytext=(6, 6), fontsize=8, color=INK,
                               parse_math=False, zorder=6)  # fmt: skip
        panel.set_aspect("equal", adjustable="box")
        panel.margins(0.12)
        panel.set_axis_off()


def _around(places: list[np.ndarray]) -> list[np.ndarray]:
    """Corners in their order around their middle, so that no outline crosses itself."""
    middle = sum(places[1:], places[0]) / len(places)
    return sorted(places, key=lambda place: float(np.arctan2(*(place - middle)[::-1])))


def _coil(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """A zigzag from one point to another."""
    along = end - start
    side = np.array([-along[1], along[0]]) * COIL_WIDTH
    parts = np.concatenate(
        [[0.0, 0.15], 0.15 + 0.7 * (np.arange(2 * COIL_TURNS) + 0.5) / (2 * COIL_TURNS), [0.85, 1.0]]
    )
    sides = np.concatenate([[0.0, 0.0], np.tile([1.0, -1.0], COIL_TURNS), [0.0, 0.0]])
    return start + np.outer(parts, along) + np.outer(sides, side)


def _cylinder(start: np.ndarray, end: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """A barrel and its rod, as lines with their widths."""
    middle = start + 0.55 * (end - start)
    return [(np.array([start, middle]), 5.0), (np.array([middle, end]), 2.0)]


def named_point(mechanism: Any, name: str) -> Any:
    """A point of the model in the frame of its body."""
    point, scope = mechanism.flat.points[name]
    return mechanism.local(point.body, Pose.translation(mechanism.al, mechanism.vector(point.at)), point.frame, scope).p


def branch_figure(branches: Any) -> Figure:
    """One panel for each branch; all of them on one scale.

    Args:
        branches: with ``states`` and ``names``.
    """
    states: Sequence[Any] = branches.states[:MOST_PANELS]
    columns = min(4, len(states))
    rows = -(-len(states) // columns)
    figure = new_figure(3.2 * columns, 3.0 * rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    sticks = Sticks(states[0].coordinates)
    for panel, state, name in zip(panels, states, branches.names, strict=False):
        sticks.draw(panel, state, labels=len(states) <= 2)
        panel.set_title(name, color=INK, fontsize=10, parse_math=False)
    for panel in panels[len(states) :]:
        panel.set_axis_off()
    rest = len(branches.states) - len(states)
    title_of(figure, states[0].coordinates.flat.name + (f" (and {rest} more branches)" if rest else ""))
    return figure
