"""The same mechanism for dalembert, Pinocchio and MuJoCo, and honest timing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.dynamics import Dynamics

__all__ = ["ROBOTS", "Timing", "random_tree", "robot_path", "time_call", "to_mujoco", "to_pinocchio"]

# Robots of the wheel example-robot-data: (name, file, free base).
ROBOTS = (
    ("ur5", "ur_description/urdf/ur5_robot.urdf", False),
    ("panda", "panda_description/urdf/panda.urdf", False),
    ("solo12", "solo_description/robots/solo12.urdf", True),
    ("anymal", "anymal_b_simple_description/robots/anymal.urdf", True),
    ("baxter", "baxter_description/urdf/baxter.urdf", False),
    ("icub", "icub_description/robots/icub_reduced.urdf", True),
    ("talos", "talos_data/robots/talos_reduced.urdf", True),
    ("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
)


def robot_path(file: str) -> Path | None:
    """Where the wheel keeps a robot, or None if it is not installed."""
    import importlib.metadata

    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if str(f).endswith(file)), None)


def random_tree(n: int, seed: int = 0) -> da.Model:
    """A tree of n one-dof joints, hinges and slides in any direction, branching now and then."""
    rng = np.random.default_rng(seed)
    model = da.Model(f"tree of {n}")
    path = [("ground", np.zeros(3))]  # from the ground to the last body
    for i in range(n):
        if rng.random() >= 0.8:
            del path[int(rng.integers(len(path))) + 1 :]
        parent, start = path[-1]
        end = start + 0.3 * rng.normal(size=3)
        cloud = 0.1 * rng.normal(size=(6, 3))
        inertia = sum(p @ p * np.eye(3) - np.outer(p, p) for p in cloud)
        body = model.body(f"b{i}", mass=rng.uniform(0.5, 2.0), com=tuple((start + end) / 2), inertia=inertia)
        kind = "prismatic" if rng.random() < 0.15 else "revolute"
        model.joint(kind, f"j{i}", parent, body, point=tuple(start), axis=tuple(rng.normal(size=3)))
        path.append((body.name, end))
    return model


def to_pinocchio(dynamics: Dynamics):
    """Our tree of hinges and slides as a Pinocchio model: the link frames are the joint frames.

    Pinocchio's derivatives take for granted that each branch is complete before the next begins.
    """
    import pinocchio as pin

    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    model = pin.Model()
    model.gravity = pin.Motion(np.array(tree.mechanism.gravity), np.zeros(3))
    joints = {-1: 0}
    waiting = [i for i, link in enumerate(tree.links) if link.parent < 0]
    while waiting:
        i = waiting.pop()
        waiting += [j for j, other in enumerate(tree.links) if other.parent == i]
        link, name = tree.links[i], dynamics.coordinates.slots[i].joint
        kind = pin.JointModelRZ() if link.joint.kind == "revolute" else pin.JointModelPZ()
        joints[i] = model.addJoint(joints[link.parent], kind, pin.SE3(link.X_PJ.R, link.X_PJ.p), name)
        m, c = link.inertia.mass, link.inertia.h / link.inertia.mass
        central = link.inertia.A - m * (c @ c * np.eye(3) - np.outer(c, c))
        model.appendBodyToJoint(joints[i], pin.Inertia(m, c, central), pin.SE3.Identity())
    return model


def to_mujoco(dynamics: Dynamics):
    """Our tree of hinges and slides as a MuJoCo model, no contacts and no limits."""
    import mujoco
    from scipy.spatial.transform import Rotation

    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    children: dict[int, list[int]] = {}
    for i, link in enumerate(tree.links):
        children.setdefault(link.parent, []).append(i)

    def text(values) -> str:
        return " ".join(repr(float(v)) for v in np.ravel(values))

    def body(i: int) -> str:
        link = tree.links[i]
        m, c = link.inertia.mass, link.inertia.h / link.inertia.mass
        I = link.inertia.A - m * (c @ c * np.eye(3) - np.outer(c, c))
        full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        turn = Rotation.from_matrix(link.X_PJ.R).as_quat(scalar_first=True)
        kind = "hinge" if link.joint.kind == "revolute" else "slide"
        inner = "".join(body(j) for j in children.get(i, []))
        return (
            f'<body name="b{i}" pos="{text(link.X_PJ.p)}" quat="{text(turn)}"><joint type="{kind}" axis="0 0 1"/>'
            f'<inertial pos="{text(c)}" mass="{m!r}" fullinertia="{text(full)}"/>{inner}</body>'
        )

    bodies = "".join(body(i) for i in children[-1])
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="{text(tree.mechanism.gravity)}"><flag contact="disable"/></option>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the best and the spread (third quartile over best) of many repetitions."""

    best: float
    spread: float


def time_call(call: Callable[[], object], budget: float = 0.4) -> Timing:
    """Time a call again and again for about ``budget`` seconds."""
    call()
    samples: list[float] = []
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(samples) < 5:
        began = time.perf_counter()
        call()
        samples.append(time.perf_counter() - began)
    best = min(samples)
    return Timing(best, float(np.quantile(samples, 0.75)) / best)
