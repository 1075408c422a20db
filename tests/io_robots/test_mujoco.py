"""MJCF models: the same poses, mass matrix, bias and accelerations as MuJoCo."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from io_robots.mjcf_models import MODELS, MUJOCO_CONSTRAINED
from io_robots.peers import equations

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.io.robot_files import loads_robot
from dalembert.model import Model
from dalembert.spatial import quaternion

mujoco: Any = pytest.importorskip("mujoco", reason="the peer MuJoCo is not installed")

SAME = 1e-10
SINGLE = 1e-6  # MuJoCo keeps the vertices of meshes in single precision


def read(text: str, **options: Any) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ReadWarning)
        return loads_robot(text, "test.xml", **options)


class Peer:
    """A model in MuJoCo, and states in both conventions."""

    def __init__(self, model: Any):
        self.model, self.data = model, mujoco.MjData(model)
        off = mujoco.mjtDisableBit
        model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
        model.opt.density = model.opt.viscosity = 0.0
        model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.names = [self._name(i) for i in range(model.njnt)]

    def _name(self, i: int) -> str:
        """Joints without a name are called as our reader calls them."""
        name = mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_JOINT, i)
        body = self.model.jnt_bodyid[i]
        siblings = [j for j in range(self.model.njnt) if self.model.jnt_bodyid[j] == body]
        owner = self.body_name(body)
        return name or (owner if len(siblings) == 1 else f"{owner} joint {siblings.index(i) + 1}")

    def body_name(self, i: int) -> str:
        return mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_BODY, i) or f"body {i}"

    def set_random(self, seed: int) -> tuple[dict, dict]:
        """A random state near qpos0; ours by joint name."""
        rng, m, d = np.random.default_rng(seed), self.model, self.data
        mujoco.mj_resetData(m, d)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_integratePos(m, d.qpos, 0.7 * rng.uniform(-1, 1, m.nv), 1.0)
        mujoco.mj_forward(m, d)
        return self.ours()

    def ours(self) -> tuple[dict, dict]:
        q, u = {}, {}
        T = self.velocity_map()
        rates = T @ self.data.qvel
        for i, name in enumerate(self.names):
            at, rate, kind = self.model.jnt_qposadr[i], self.model.jnt_dofadr[i], self.model.jnt_type[i]
            n = {0: 7, 1: 4}.get(kind, 1)
            own = self.data.qpos[at : at + n]
            q[name] = np.concatenate([own[3:], own[:3]]) if kind == 0 else own.copy()
            u[name] = rates[rate : rate + {0: 6, 1: 3}.get(kind, 1)]
        return q, u

    def velocity_map(self) -> np.ndarray:
        """T with u = T qvel, in MuJoCo's order of joints: (v in world axes, ω) to (ω, v in body axes)."""
        T = np.eye(self.model.nv)
        for i in np.flatnonzero(self.model.jnt_type == 0):
            at = self.model.jnt_dofadr[i]
            q = self.data.qpos[self.model.jnt_qposadr[i] :][3:7]
            block = np.zeros((6, 6))
            block[:3, 3:] = np.eye(3)
            block[3:, :3] = quaternion.to_matrix(NUMPY, q).T
            T[at : at + 6, at : at + 6] = block
        return T

    def map_rate(self) -> np.ndarray:
        """Ṫ qvel:  d/dt (Rᵀ v) = −ω × Rᵀ v  for free joints."""
        rate = np.zeros(self.model.nv)
        u = self.velocity_map() @ self.data.qvel
        for i in np.flatnonzero(self.model.jnt_type == 0):
            at = self.model.jnt_dofadr[i]
            rate[at + 3 : at + 6] = -np.cross(u[at : at + 3], u[at + 3 : at + 6])
        return rate

    def order(self, coordinates: Any) -> np.ndarray:
        order = np.zeros(coordinates.nv, dtype=int)
        for slot in coordinates.slots:
            if slot.u.stop > slot.u.start:
                at = self.model.jnt_dofadr[self.names.index(slot.joint)]
                order[slot.u] = np.arange(at, at + slot.u.stop - slot.u.start)
        return order

    def mass_matrix(self) -> np.ndarray:
        M = np.zeros((self.model.nv, self.model.nv))
        for j in range(self.model.nv):
            column = np.zeros(self.model.nv)
            mujoco.mj_mulM(self.model, self.data, column, np.eye(self.model.nv)[j])
            M[:, j] = column
        return M


def close(ours: np.ndarray, theirs: np.ndarray, tolerance: float = SAME) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max(initial=1.0))


def agree(model: Model, peer: Peer, seed: int = 0, tolerance: float = SAME) -> None:
    """Poses, mass matrix, bias and acceleration of the tree."""
    q, u = peer.set_random(seed)
    fixed = {joint.name: np.zeros(0) for joint in model.joints if joint.kind == "fixed"}
    here = equations(model, {**q, **fixed}, {**u, **fixed})
    bodies = {body.name for body in model.bodies}
    for i in range(1, peer.model.nbody):
        if peer.body_name(i) in bodies:
            X = here.motion.body(peer.body_name(i))[0]
            close(X.p, peer.data.xpos[i])
            close(X.R, peer.data.xmat[i].reshape(3, 3))
    T, order = peer.velocity_map(), peer.order(here.tree.coordinates)
    # u = T v, so that T⁻ᵀ M T⁻¹ and T⁻ᵀ f are MuJoCo's in our velocities.
    back = np.linalg.inv(T)
    M = back.T @ peer.mass_matrix() @ back
    close(here.mass_matrix, M[np.ix_(order, order)], tolerance)
    d = peer.data
    smooth = d.qfrc_passive + d.qfrc_actuator - d.qfrc_bias
    forcing = back.T @ smooth + M @ peer.map_rate()
    close(here.forcing, forcing[order], tolerance)
    acceleration = T @ d.qacc_smooth + peer.map_rate()
    close(here.free_acceleration(), acceleration[order], 10 * tolerance)


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "all bodies"])
@pytest.mark.parametrize("name", MODELS)
def test_the_tree_moves_as_mujoco_says(name, merge):
    model = read(MODELS[name], merge_fixed=merge)
    peer = Peer(mujoco.MjModel.from_xml_string(MODELS[name]))
    agree(model, peer, seed=len(name), tolerance=SINGLE if "mesh" in name else SAME)


@pytest.mark.parametrize("name", MUJOCO_CONSTRAINED)
def test_constraints_are_mujocos_made_rigid(name):
    """From rest, with the Jacobian J of MuJoCo's constraints:  v̇ = a − M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ J a,  a unconstrained."""
    text = MUJOCO_CONSTRAINED[name]
    model, peer = read(text), Peer(mujoco.MjModel.from_xml_string(text))
    mujoco.mj_forward(peer.model, peer.data)
    J, M, a = peer.data.efc_J.reshape(-1, peer.model.nv), peer.mass_matrix(), peer.data.qacc_smooth
    W = np.linalg.solve(M, J.T)
    rigid = a - W @ (np.linalg.pinv(J @ W, rcond=1e-10) @ (J @ a))
    assert len(J) > 0
    assert np.abs(rigid).max() > 0.1
    dynamics = da.compile(model)
    q, u = peer.ours()
    at, rate = dynamics.coordinates.neutral(), np.zeros(dynamics.nv)
    for slot in dynamics.coordinates.slots:
        at[slot.q], rate[slot.u] = q[slot.joint], u[slot.joint]
    order = peer.order(dynamics.coordinates)
    close(dynamics.acceleration(at, rate), (peer.velocity_map() @ rigid)[order], 1e-9)


def test_the_model_that_mujoco_ships():
    path = Path(mujoco.__file__).parent / "testdata" / "model.xml"
    if not path.is_file():
        pytest.skip("this MuJoCo ships no test data")
    with pytest.warns(da.ReadWarning, match="tendon"):
        model = da.read(path)
    peer = Peer(mujoco.MjModel.from_xml_path(str(path)))
    # Tendons and most of its actuators are not read: the tree alone is compared, without them and without fluid.
    peer.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    peer.model.tendon_stiffness[:] = peer.model.tendon_damping[:] = 0
    model.forces = [force for force in model.forces if force.kind != "joint-force" or "damping" in force.name]
    agree(model, peer, tolerance=SINGLE)


def test_the_initial_state_is_the_keyframes():
    key = '<key name="a" qpos="1 2 3 .5 .5 .5 .5 1 0 0 0 .3" qvel="1 2 3 4 5 6 .1 .2 .3 .7"/>'
    text = MODELS["free and ball"].replace("</mujoco>", f"<keyframe>{key}</keyframe></mujoco>")
    model, peer = read(text), Peer(mujoco.MjModel.from_xml_string(text))
    mujoco.mj_resetDataKeyframe(peer.model, peer.data, 0)
    q, u = peer.ours()
    for name in peer.names:
        np.testing.assert_allclose([float(x) for x in model.initial_values[name]], q[name], atol=1e-15)
        np.testing.assert_allclose([float(x) for x in model.initial_rates[name]], u[name], atol=1e-12)
    state = da.assemble(model)
    np.testing.assert_allclose(state.joint(peer.names[0])[1], u[peer.names[0]], atol=1e-12)
