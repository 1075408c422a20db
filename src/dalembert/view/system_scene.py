"""A run of a subsystem as a scene for the 3D animation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.errors import DalembertError
from dalembert.expressions import number
from dalembert.joints.base import axis_frame
from dalembert.modular.drawings import Drawing, poses_along
from dalembert.numerics.orientations import orientations_along
from dalembert.spatial import Pose
from dalembert.view.run_scene import Builder, drawn_shape, thinned
from dalembert.view.scene import PALETTE, Plot, Scene, SceneBody, SceneSpring
from dalembert.view.scene import Shape as Drawn

if TYPE_CHECKING:
    from dalembert.trajectory.system_trajectory import SystemTrajectory

__all__ = ["system_scene"]

MOST_PANELS = 6
BALL, ROD = 0.02, 0.008  # of the extent of what moves


class _Reference:
    """A model at its reference configuration, as far as a builder asks a run for it."""

    def __init__(self, flat: Any):
        self.flat, self.dynamics, self.segments = flat, self, [(0, dict[str, float]())]

    def values(self, _name: str) -> np.ndarray:
        return np.zeros((1, 1, 3))


def system_scene(run: SystemTrajectory) -> Scene:
    """Bodies and lines of a run, with its variables and what the certificate says.

    Raises:
        DalembertError: if nothing is drawn.
    """
    if not run.drawings:
        raise DalembertError(
            f'nothing of subsystem {run.attrs["model"]!r} is drawn.  Fix: S.draw("bob", at=(x, y, z)); rigid bodies, '
            "particles and models as leaves draw themselves.  A run from a file has no drawings: simulate it again"
        )
    time = run.values("time")
    keep = thinned(time)
    poses = poses_along(run.drawings, {name: values[keep] for name, values in run.known().items()})
    spots = np.concatenate([points.reshape(-1, 3) for points, _ in poses])
    extent = float(np.ptp(np.vstack([spots, np.zeros(3)]), axis=0).max()) or 1.0
    made = _Bodies(extent)
    for k, (drawing, (points, turn)) in enumerate(zip(run.drawings, poses, strict=True)):
        made.add(drawing, points, turn, PALETTE[k % len(PALETTE)])
    flat = bool(np.ptp(spots[:, 2]) == 0.0)
    up = next((drawing.up for drawing in run.drawings if drawing.up is not None), "y" if flat else "z")
    names = list(run.recorded.labels["state"])[:MOST_PANELS]
    facts = {"status": run.certificate.headline, "integrator": str(run.attrs["integrator"])}
    facts.update({name: f"{value}  {verdict}" for name, value, verdict in run.certificate.rows()})
    return Scene(
        title=str(run.attrs["model"]), time=time[keep], bodies=made.bodies, springs=made.rods, up=up, facts=facts,
        plots=[Plot(name, "", {name: run.values(name)[keep]}) for name in names],
    )  # fmt: skip


class _Bodies:
    """Bodies and rods of a scene."""

    def __init__(self, extent: float):
        self.extent, self.bodies, self.rods = extent, list[SceneBody](), list[SceneSpring]()
        self._builders: dict[int, Builder] = {}

    def add(self, drawing: Drawing, points: np.ndarray, turn: np.ndarray, color: str) -> None:
        """A body, or small balls with rods between them."""
        turns = np.empty((len(turn), 1, 4))
        orientations_along(np.ascontiguousarray(turn.reshape(len(turn), 1, 9)), turns)
        count = points.shape[1]
        if count == 1:
            self.bodies.append(SceneBody(drawing.name, self._shapes(drawing, color), points[:, 0], turns[:, 0]))
            return
        ball = [Drawn("sphere", radius=ROD * self.extent, color=color)]
        names = [f"{drawing.name}[{k + 1}]" for k in range(count)]
        self.bodies += [SceneBody(name, ball, points[:, k], turns[:, 0]) for k, name in enumerate(names)]
        for k in range(count - 1):
            here = (0.0, 0.0, 0.0)
            self.rods.append(SceneSpring(names[k], names[k], here, names[k + 1], here, look="rod"))

    def _shapes(self, drawing: Drawing, color: str) -> list[Drawn]:
        if drawing.source is not None:
            flat, body = drawing.source
            if id(flat) not in self._builders:
                reference: Any = _Reference(flat)
                self._builders[id(flat)] = Builder(reference)
            return self._builders[id(flat)].shapes(body)
        if not drawing.shapes:
            return [Drawn("sphere", radius=BALL * self.extent, color=color)]
        return [_drawn(shape, color) for shape in drawing.shapes]


def _drawn(shape: Any, color: str) -> Drawn:
    """A shape whose sizes are numbers, in body axes."""
    X = shape.pose.pose(NUMPY, number)
    if shape.axis is not None:
        axis = np.array([number(value) for value in shape.axis])
        X = Pose(axis_frame(NUMPY, axis, axis), X.p)
    return drawn_shape(shape, X, NUMPY, number, color)
