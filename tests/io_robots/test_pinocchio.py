"""Robots of example-robot-data: the same kinematics and dynamics as Pinocchio."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from io_robots.peers import PinocchioPeer, equations, robot_path

import dalembert as da
from dalembert.algebra import NUMPY

# Two implementations of one recursion: round-off, relative to the largest entry.
SAME = 1e-10

ROBOTS = [
    ("panda_description/urdf/panda.urdf", False),
    ("ur_description/urdf/ur5_robot.urdf", False),
    ("kinova_description/robots/kinova.urdf", False),
    ("tiago_description/robots/tiago_no_hand.urdf", False),
    ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", False),
    ("baxter_description/urdf/baxter.urdf", False),
    ("solo_description/robots/solo12.urdf", True),
    ("anymal_b_simple_description/robots/anymal.urdf", True),
    ("go2_description/urdf/go2.urdf", True),
    ("simple_humanoid_description/urdf/simple_humanoid.urdf", True),
    ("talos_data/robots/talos_full_v2.urdf", True),
    ("iris_description/robots/iris_simple.urdf", True),
    ("laikago_description/urdf/laikago.urdf", False),
]
IDS = [path.rsplit("/", 1)[1] + (" free" if free else " fixed") for path, free in ROBOTS]


def read(path: str, free: bool, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ReadWarning)
        model = da.read(robot_path(path), base="free" if free else "fixed", **options)
    # Pinocchio's algorithms know no damping and its default model no mimic joints.
    model.forces.clear()
    model.constraints.clear()
    return model


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=SAME * np.abs(theirs).max(initial=1.0))


@pytest.mark.parametrize(("path", "free"), ROBOTS, ids=IDS)
def test_every_link_is_where_pinocchio_has_it(path, free):
    peer, model = PinocchioPeer(robot_path(path), free), read(path, free)
    q, _, ours_q, ours_u = peer.random_state(1)
    here = equations(model, ours_q, ours_u)
    poses = {body.name: (body.name, None) for body in model.bodies}
    for body in model.bodies:
        poses |= {shape.name: (body.name, shape.pose) for shape in body.shapes if shape.kind == "frame"}
    poses |= {shape.name: ("ground", shape.pose) for shape in model.ground_shapes if shape.kind == "frame"}
    links = peer.link_poses(q)
    assert set(links) == set(poses)
    for name, X in links.items():
        body, inside = poses[name]
        ours = here.motion.body(body)[0]
        ours = ours if inside is None else ours @ inside.pose(NUMPY, float)
        close(ours.R, X.R)
        close(ours.p, X.p)


# Without merging some robots have links that no rigid body could be; the files of these are sound.
CASES = [(path, free, True) for path, free in ROBOTS] + [(*ROBOTS[i], False) for i in (0, 1, 6, 9)]


@pytest.mark.parametrize(
    ("path", "free", "merge"), CASES, ids=[f"{path.rsplit('/', 1)[1]}-{free}-{merge}" for path, free, merge in CASES]
)
def test_dynamics_agree(path, free, merge):
    """M, nonlinear effects and accelerations."""
    peer, model = PinocchioPeer(robot_path(path), free), read(path, free, merge_fixed=merge)
    pin = peer.pin
    q, v, ours_q, ours_u = peer.random_state(2)
    fixed = {joint.name: np.zeros(0) for joint in model.joints if joint.kind == "fixed"}
    here = equations(model, {**ours_q, **fixed}, {**ours_u, **fixed})
    order = peer.order(here.tree.coordinates)
    M = pin.crba(peer.model, peer.data, q)
    M = np.triu(M) + np.triu(M, 1).T
    close(here.mass_matrix, M[np.ix_(order, order)])
    close(-here.forcing, pin.nonLinearEffects(peer.model, peer.data, q, v)[order])
    zero = np.zeros(peer.model.nv)
    close(here.free_acceleration(), pin.aba(peer.model, peer.data, q, v, zero)[order])


@pytest.mark.parametrize(("path", "free"), ROBOTS[:1] + ROBOTS[6:7], ids=IDS[:1] + IDS[6:7])
def test_armature_is_pinocchios(path, free):
    peer, model = PinocchioPeer(robot_path(path), free), read(path, free)
    rng = np.random.default_rng(0)
    armature = np.zeros(peer.model.nv)
    for i, joint in enumerate(model.joints):
        if joint.kind != "free":
            value = float(rng.uniform(0.1, 1))
            model.joints[i] = type(joint).model_validate({**dict(joint), "armature": value})
            armature[peer.model.joints[peer.model.getJointId(joint.name)].idx_v] = value
    peer.model.armature = armature
    q, v, ours_q, ours_u = peer.random_state(3)
    here = equations(model, ours_q, ours_u)
    order = peer.order(here.tree.coordinates)
    close(here.free_acceleration(), peer.pin.aba(peer.model, peer.data, q, v, np.zeros(peer.model.nv))[order])
    M = peer.pin.crba(peer.model, peer.data, q)
    M = np.triu(M) + np.triu(M, 1).T
    close(here.mass_matrix, M[np.ix_(order, order)])


def test_the_compiled_kernels_agree_too():
    path, free = ROBOTS[0]
    peer, model = PinocchioPeer(robot_path(path), free), read(path, free)
    dynamics = da.compile(model)
    q, v, ours_q, ours_u = peer.random_state(4)
    here = equations(model, ours_q, ours_u)
    order = peer.order(dynamics.coordinates)
    theirs = peer.pin.aba(peer.model, peer.data, q, v, np.zeros(peer.model.nv))
    close(dynamics.acceleration(here.q, here.u), theirs[order])
