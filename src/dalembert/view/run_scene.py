"""A trajectory as a scene for the 3D animation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import NUMPY, Algebra
from dalembert.coordinates.moving import still
from dalembert.errors import ViewError
from dalembert.joints.base import axis_frame
from dalembert.model import Mechanism, Shape
from dalembert.model.flatten import Scope
from dalembert.spatial import Pose, quaternion
from dalembert.view.check import LARGEST
from dalembert.view.meshes import read_mesh
from dalembert.view.run_plots import panels
from dalembert.view.scene import Plot, Scene, SceneArrow, SceneBelt, SceneBody, SceneJoint, SceneSpring
from dalembert.view.scene import Shape as Drawn
from dalembert.view.sticks import CLOSE, named_point
from dalembert.view.stops import stops

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["Builder", "arrows", "drawn_shape", "facts_of", "moving_scene", "scene", "thinned"]

MOST_FRAMES = 3000  # of an animation; more are thinned
GROUND_COLOR = "#8a8f98"


def scene(run: Trajectory, forces: bool = False) -> Scene:
    """The moving mechanism, with plots and what the certificate says; with the forces of joints and contacts too."""
    drawn = moving_scene(run, panels(run), facts_of(run))
    return replace(drawn, arrows=arrows(run, frames(run))) if forces else drawn


def thinned(time: np.ndarray) -> np.ndarray:
    """The instants that are drawn."""
    return np.unique(np.linspace(0, len(time) - 1, min(len(time), MOST_FRAMES)).round().astype(int))


def frames(run: Trajectory) -> np.ndarray:
    """The instants of a run that are drawn: what ran away is left where it was last seen."""
    keep = thinned(run.values("time"))
    return keep[np.abs(run.values("position")[keep]).max(axis=(1, 2), initial=0.0) <= LARGEST]


def arrows(run: Trajectory, keep: np.ndarray) -> list[SceneArrow]:
    """Reactions of all joints on their second bodies, and what rigid contacts do to theirs."""
    flat, mechanism = run.dynamics.flat, Mechanism.nominal(run.dynamics.flat, run.segments[0][1])
    found: list[SceneArrow] = []
    for name in flat.joints:
        placed = mechanism.joint(name)
        force = run.reaction(name).sel(kind="force").values[keep]
        if placed.joint.nv < 6 and 0 < np.abs(force).max(initial=0.0) <= LARGEST:
            found.append(SceneArrow(name, placed.second, tuple(placed.X_2S.p), force))
    for name in flat.contacts:
        contact, scope = flat.constraints[name]
        for body, at, frame in contact.presses():
            X = mechanism.local(body, Pose.translation(mechanism.al, mechanism.vector(at)), frame, scope)
            found.append(SceneArrow(name, body, tuple(X.p), _pressed(run, name, keep)))
    return found


def _pressed(run: Trajectory, name: str, keep: np.ndarray) -> np.ndarray:
    """The force of a contact on its second body."""
    d, contact = run.dynamics, run.dynamics.flat.constraints[name]
    tree = d.coordinates.place(NUMPY, {**d.flat.parameters, **run.segments[0][1]})
    size, out = run.reaction(name).values.reshape(len(run.values("time")), -1)[keep, 0], np.zeros((len(keep), 3))
    q, u, t = (run.values(key)[keep] for key in ("q", "u", "time"))
    for k in np.flatnonzero(size):
        motion = still(tree, float(t[k]), q[k], u[k], tree.states(q[k], u[k]))
        out[k] = size[k] * np.asarray(contact[0].gradient(motion.within(contact[1])), dtype=float)
    return out


def moving_scene(run: Trajectory, plots: Sequence[Plot], facts: dict[str, str]) -> Scene:
    """The moving mechanism: of a run only the times and places of the bodies are read."""
    time, positions, turns = (run.values(name) for name in ("time", "position", "orientation"))
    keep = frames(run)
    builder = Builder(run)
    bodies: list[SceneBody] = []
    at = {str(body): i for i, body in enumerate(run.values("body"))}
    for name in builder.flat.bodies:  # in the model's order, by which still pictures color them too
        if name in at and name not in builder.hidden:
            bodies.append(SceneBody(name, builder.shapes(name), positions[keep, at[name]], turns[keep, at[name]]))
    kept = [Plot(plot.title, plot.ylabel, {key: values[keep] for key, values in plot.series.items()}) for plot in plots]
    return Scene(
        title=run.dynamics.model.name,
        time=time[keep],
        bodies=bodies,
        ground_shapes=builder.shapes("ground"),
        joints=builder.joints(),
        springs=builder.springs(),
        belts=builder.belts(),
        plots=kept,
        up=builder.up(),
        facts=facts,
    )


def facts_of(run: Trajectory) -> dict[str, str]:
    certificate = run.certificate
    facts = {
        "status": certificate.headline,
        "formulation": f"{run.attrs['formulation']}, {run.attrs['coordinate_kind']} coordinates",
        "integrator": run.attrs["integrator"],
    }
    facts.update({name: f"{value}  {verdict}" for name, value, verdict in certificate.rows()})
    if certificate.remarks:
        facts["remarks"] = "; ".join(certificate.remarks)
    return facts


def drawn_shape(shape: Shape, X: Pose, al: Algebra, number: Callable[[Any], Any], color: str | None) -> Drawn:
    """A shape at a pose in its body, with sizes in an algebra."""

    def vector(formulas: Any) -> np.ndarray:
        return al.array([number(formula) for formula in formulas])

    sizes: dict[str, Any] = {
        key: number(getattr(shape, key)) for key in ("radius", "length", "tube") if getattr(shape, key) is not None
    }
    if shape.size is not None:
        sizes["size"] = tuple(vector(shape.size))
    if shape.points is not None:
        sizes["points"] = np.array([vector(point) for point in shape.points])
    if shape.file is not None:
        vertices, sizes["faces"] = read_mesh(Path(shape.file))
        sizes["vertices"] = vertices * (1.0 if shape.scale is None else vector(shape.scale))
    turn = tuple(quaternion.from_matrix(al, X.R))
    return Drawn(
        shape.kind, **sizes, position=tuple(X.p), quaternion=turn, color=shape.color or color, opacity=shape.opacity
    )


class Builder:
    """Draws the reference geometry of the model in body frames.

    What is drawn is decided at the values of the run; its numbers are those of ``placed``.

    Args:
        placed: the model with its parameters in any algebra; by default those of the run.
    """

    def __init__(self, run: Trajectory, placed: Mechanism | None = None):
        self.flat = run.dynamics.flat
        self.mechanism = Mechanism.nominal(self.flat, run.segments[0][1])
        self.placed = self.mechanism if placed is None else placed
        self.given = {at[0] for c, _ in self.flat.constraints.values() if c.eliminates for at in c.gives()}
        self.hidden = self._signs()
        self.named: list[str] = []
        self.points = self._joint_points(self.mechanism)
        self._add_named()
        spots = [X.p for X in map(self.mechanism.body_pose, self.flat.bodies)]
        if self.given:
            # Positions that formulas give are not drawn in the reference configuration.
            spots += list(run.values("position")[[0, -1]].reshape(-1, 3))
        spots += [self.mechanism.body_pose(body).apply(p) for body, points in self.points.items() for p in points]
        extent = np.ptp(np.array([*spots, np.zeros(3)]), axis=0).max() if spots else 1.0
        self.thickness = 0.02 * (extent if extent > 0 else 1.0)

    def _signs(self) -> set[str]:
        """Massless bodies that only carry a coordinate, or a joint whose coordinates are given."""
        around: dict[str, list[str]] = {body: [] for body in ["ground", *self.flat.bodies]}
        for name, (data, _) in self.flat.joints.items():
            for body in data.bodies:
                around[body].append(name)
        return {
            body
            for body, (data, _) in self.flat.bodies.items()
            if data.mass == 0
            and not data.shapes
            and (len(around[body]) == 1 or any(name in self.given for name in around[body]))
        }

    def up(self) -> tuple[float, float, float] | str:
        g = self.mechanism.gravity
        if not g.any():
            return "z"
        x, y, z = -g / np.linalg.norm(g)
        return float(x), float(y), float(z)

    def _joint_points(self, mechanism: Mechanism) -> dict[str, list[np.ndarray]]:
        points: dict[str, list[np.ndarray]] = {}
        for name, (data, _) in self.flat.joints.items():
            placed = mechanism.joint(name)
            if placed.joint.nv == 6 or self.hidden.intersection(data.bodies):
                continue
            points.setdefault(placed.first, []).append(placed.X_1P.p)
            points.setdefault(placed.second, []).append(placed.X_2S.p)
        for name in self.named:
            points.setdefault(self.flat.points[name][0].body, []).append(named_point(mechanism, name))
        return points

    def _add_named(self) -> None:
        """Points of the model that are on no joint of their body: links lead there, too, such as to a foot."""
        for name, (point, _) in self.flat.points.items():
            p, there = named_point(self.mechanism, name), self.points.get(point.body, [])
            if point.body in self.hidden or any(np.linalg.norm(p - other) < CLOSE for other in there):
                continue
            self.named.append(name)
            self.points.setdefault(point.body, []).append(p)

    def shapes(self, body: str) -> list[Drawn]:
        """What a body looks like, and the marks of limits on it."""
        return self._solids(body) + stops(self.flat, self.mechanism, self.placed, body, self.thickness)

    def _solids(self, body: str) -> list[Drawn]:
        """The body's own shapes, else links from joint to joint (or to the center of mass)."""
        fixed = [(shape, scope, GROUND_COLOR) for shape, scope, base in self.flat.ground_shapes if base == body]
        if body == "ground":
            return self._visible(body, fixed)
        data, scope = self.flat.bodies[body]
        drawn = self._visible(body, [(shape, scope, data.color) for shape in data.shapes] + fixed)
        if drawn:
            return drawn
        spots, points = self._spots(self.mechanism, body), self._spots(self.placed, body)
        if len(spots) < 2:
            com = self.placed.inertia(body).com
            return [Drawn("sphere", radius=2.5 * self.thickness, position=tuple(com), color=data.color)]
        far = [np.linalg.norm(spot - _hub(spots)) > 1e-12 for spot in spots]
        lines = [np.array([_hub(points), point]) for point, drawn in zip(points, far, strict=True) if drawn]
        return [Drawn("line", points=line, radius=self.thickness, color=data.color) for line in lines]

    def _spots(self, mechanism: Mechanism, body: str) -> list[np.ndarray]:
        """Points of a body between which links are drawn: its joints, or its joint and its center of mass."""
        spots, com = self.points.get(body, []), self.mechanism.inertia(body).com
        points = spots if mechanism is self.mechanism else self._joint_points(mechanism).get(body, [])
        if len(spots) == 1 and np.linalg.norm(spots[0] - com) > 1e-9:
            return [points[0], mechanism.inertia(body).com]
        return points

    def _visible(self, body: str, shapes: Sequence[tuple[Shape, Scope, str | None]]) -> list[Drawn]:
        """Without what is transparent, and without meshes whose file is missing: a picture must not stop a run."""
        drawn: list[Drawn] = []
        for shape, scope, color in shapes:
            try:
                drawn += [self._drawn(shape, body, scope, color)] if shape.opacity > 0 else []
            except ViewError:
                continue
        return drawn

    def _drawn(self, shape: Shape, body: str, scope: Scope, color: str | None) -> Drawn:
        al = self.placed.al
        X = shape.pose.pose(al, self.placed.evaluate)
        if shape.axis is not None:
            axis = self.placed.vector(shape.axis)
            X = Pose(axis_frame(al, axis, self.mechanism.vector(shape.axis)), X.p)
        return drawn_shape(shape, self.placed.local(body, X, shape.frame, scope), al, self.placed.evaluate, color)

    def joints(self) -> list[SceneJoint]:
        marks: list[SceneJoint] = []
        for name, (data, _) in self.flat.joints.items():
            placed = self.placed.joint(name)
            glyph = placed.joint.glyph
            if not glyph.solids or not placed.joint.nv or name in self.given or self.hidden.intersection(data.bodies):
                continue
            on, X = (placed.first, placed.X_1P) if glyph.on_first else (placed.second, placed.X_2S)
            marks.append(SceneJoint(name, data.kind, on, tuple(X.p), tuple(X.R[:, glyph.axis])))
        return marks

    def springs(self) -> list[SceneSpring]:
        found: list[SceneSpring] = []
        al = self.placed.al
        for name, (force, scope) in self.flat.forces.items():
            ends: list[Any] = []
            for body, at, frame in force.ends() or ():
                X = Pose.translation(al, al.zeros(3) if at is None else self.placed.vector(at))
                ends += [body, tuple((X if at is None else self.placed.local(body, X, frame, scope)).p)]
            found += [SceneSpring(name, *ends, look="cylinder" if force.telescopes() else "coil")] if ends else []
        for name in self.flat.joints:
            placed = self.placed.joint(name)
            if placed.joint.rod:
                ends = [placed.first, tuple(placed.X_1P.p), placed.second, tuple(placed.X_2S.p)]
                found.append(SceneSpring(name, *ends, look="rod"))
        for name, (constraint, scope) in self.flat.constraints.items():
            path = self._path(constraint, scope) if constraint.wraps() is None else []
            found += [SceneSpring(name, *one, *other, look="rod") for one, other in pairwise(path)]
        return found

    def _path(self, constraint: Any, scope: Scope) -> list[tuple[str, tuple[Any, ...]]]:
        """Bodies, and points in their frames."""
        al = self.placed.al
        return [
            (body, tuple(self.placed.local(body, Pose.translation(al, self.placed.vector(at)), frame, scope).p))
            for body, at, frame in constraint.path()
        ]

    def belts(self) -> list[SceneBelt]:
        """Cables over wheels, and belts around those of joints whose first body is one, such as the ground."""
        found: list[SceneBelt] = []
        for name, (constraint, scope) in self.flat.constraints.items():
            wraps = constraint.wraps()
            if wraps is not None:
                radii = [self.placed.evaluate(radius) for radius in wraps[0]]
                path = self._path(constraint, scope)
                k = next(i for i, radius in enumerate(wraps[0]) if radius != 0)
                axis = self._axis_on(path[k][0], constraint.frame, scope, wraps[1])
                wheels = [(body, at, radius) for (body, at), radius in zip(path, radii, strict=True)]
                found.append(SceneBelt(name, wheels, path[k][0], axis))
            joints = [(self.placed.joint(joint), self.placed.evaluate(radius)) for joint, radius in constraint.loop()]
            if joints and len({placed.first for placed, _ in joints}) == 1:
                wheels = [(placed.first, tuple(placed.X_1P.p), radius) for placed, radius in joints]
                found.append(SceneBelt(name, wheels, joints[0][0].first, tuple(joints[0][0].X_1P.R[:, 2]), closed=True))
        return found

    def _axis_on(self, body: str, frame: str, scope: Scope, axis: Any) -> tuple[Any, ...]:
        """A direction of the drawing in the frame of a body."""
        al, vector = self.placed.al, self.placed.vector(axis)
        ends = [self.placed.local(body, Pose.translation(al, at), frame, scope).p for at in (0 * vector, vector)]
        return tuple(ends[1] - ends[0])


def _hub(points: list[np.ndarray]) -> np.ndarray:
    """Where the links of a body meet."""
    return sum(points[1:], points[0]) / len(points) if len(points) > 2 else points[0]
