"""Pinocchio and MuJoCo as peers: the same robot, and states carried from one convention to the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert.algebra import NUMPY
from dalembert.coordinates import Relative
from dalembert.equations import Equations
from dalembert.model import Model, flatten
from dalembert.spatial import Pose

__all__ = ["PinocchioPeer", "equations", "robot_path", "robot_paths"]


def robot_paths() -> Path:
    """The folder of example-robot-data; skips the test if it is not installed."""
    pinocchio = pytest.importorskip("pinocchio", reason="the peer Pinocchio is not installed")
    for parent in Path(pinocchio.__file__).parents:
        folder = parent / "share" / "example-robot-data" / "robots"
        if folder.is_dir():
            return folder
    pytest.skip("example-robot-data is not installed")


def robot_path(name: str) -> Path:
    return robot_paths() / name


def equations(model: Model, q: dict[str, np.ndarray], u: dict[str, np.ndarray]) -> Equations:
    """The model's tree at joint coordinates and velocities given by name; forces left out if the model has none."""
    coordinates = Relative(flatten(model))
    at, rate = coordinates.neutral(), np.zeros(coordinates.nv)
    for slot in coordinates.slots:
        at[slot.q], rate[slot.u] = q[slot.joint], u[slot.joint]
    return Equations(coordinates.place(NUMPY, dict(model.parameter_values)), 0.0, at, rate)


class PinocchioPeer:
    """A URDF in Pinocchio, with our velocities as a permutation of its own.

    Pinocchio: q of a free flyer is (position, quaternion x y z w), velocities (v, ω) in body axes; a continuous joint
    keeps (cos, sin).
    """

    def __init__(self, path: Path, free: bool):
        self.pin: Any = pytest.importorskip("pinocchio", reason="the peer Pinocchio is not installed")
        arguments = [str(path), self.pin.JointModelFreeFlyer()] if free else [str(path)]
        self.model = self.pin.buildModelFromUrdf(*arguments)
        self.data = self.model.createData()

    def random_state(self, seed: int) -> tuple[np.ndarray, np.ndarray, dict, dict]:
        """A state in Pinocchio's order, and ours by joint name."""
        rng = np.random.default_rng(seed)
        q = self.pin.integrate(self.model, self.pin.neutral(self.model), 0.8 * rng.uniform(-1, 1, self.model.nv))
        v = rng.normal(size=self.model.nv)
        ours_q, ours_u = {}, {}
        for name, joint in zip(list(self.model.names)[1:], list(self.model.joints)[1:], strict=True):
            at, rate = q[joint.idx_q : joint.idx_q + joint.nq], v[joint.idx_v : joint.idx_v + joint.nv]
            if joint.nv == 6:
                ours_q[name] = np.concatenate([[at[6]], at[3:6], at[:3]])
                ours_u[name] = np.concatenate([rate[3:], rate[:3]])
            else:
                ours_q[name] = np.array([np.arctan2(at[1], at[0])]) if joint.nq == 2 else at
                ours_u[name] = rate
        return q, v, ours_q, ours_u

    def order(self, coordinates: Any) -> np.ndarray:
        """For each of our velocities, the index of Pinocchio's."""
        order = np.zeros(coordinates.nv, dtype=int)
        for slot in coordinates.slots:
            if slot.u.stop == slot.u.start:
                continue
            joint = self.model.joints[self.model.getJointId(slot.joint)]
            own = np.arange(joint.idx_v, joint.idx_v + joint.nv)
            order[slot.u] = np.concatenate([own[3:], own[:3]]) if joint.nv == 6 else own
        return order

    def link_poses(self, q: np.ndarray) -> dict[str, Pose]:
        """World pose of every link."""
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return {
            frame.name: Pose(self.data.oMf[i].rotation, self.data.oMf[i].translation)
            for i, frame in enumerate(self.model.frames)
            if frame.type == self.pin.FrameType.BODY
        }
