"""The same mechanism for dalembert, Pinocchio, MuJoCo, Exudyn and SymPy, and honest timing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.bench.peer_pendulum import STEPS, against_exudyn, against_sympy
from dalembert.dynamics import Dynamics
from dalembert.joints import Revolute
from dalembert.model import Model

__all__ = [
    "Ratio", "Timing", "peers", "random_tree", "time_call", "to_mujoco", "to_pinocchio",
]  # fmt: skip


def random_tree(n: int, seed: int = 0) -> Model:
    """A tree of n one-dof joints, hinges and slides in any direction, branching now and then."""
    rng = np.random.default_rng(seed)
    model = Model(f"tree of {n}")
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
    pin = import_module("pinocchio")

    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    model = pin.Model()
    model.gravity = pin.Motion(np.array(tree.mechanism.gravity), np.zeros(3))
    joints = {-1: 0}
    waiting = [i for i, link in enumerate(tree.links) if link.parent < 0]
    while waiting:
        i = waiting.pop()
        waiting += [j for j, other in enumerate(tree.links) if other.parent == i]
        link, name = tree.links[i], dynamics.coordinates.slots[i].joint
        kind = pin.JointModelRZ() if isinstance(link.joint, Revolute) else pin.JointModelPZ()
        joints[i] = model.addJoint(joints[link.parent], kind, pin.SE3(link.X_PJ.R, link.X_PJ.p), name)
        m, c = link.inertia.mass, link.inertia.h / link.inertia.mass
        central = link.inertia.A - m * (c @ c * np.eye(3) - np.outer(c, c))
        model.appendBodyToJoint(joints[i], pin.Inertia(m, c, central), pin.SE3.Identity())
    return model


def to_mujoco(dynamics: Dynamics):
    """Our tree of hinges and slides as a MuJoCo model, no contacts and no limits."""
    mujoco = import_module("mujoco")
    from scipy.spatial.transform import Rotation

    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    children: dict[int, list[int]] = {}
    for i, link in enumerate(tree.links):
        children.setdefault(link.parent, []).append(i)

    def text(values: Any) -> str:
        return " ".join(repr(float(v)) for v in np.ravel(values))

    def body(i: int) -> str:
        link = tree.links[i]
        m, c = link.inertia.mass, link.inertia.h / link.inertia.mass
        I = link.inertia.A - m * (c @ c * np.eye(3) - np.outer(c, c))
        full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        turn = Rotation.from_matrix(link.X_PJ.R).as_quat(scalar_first=True)
        kind = "hinge" if isinstance(link.joint, Revolute) else "slide"
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


@dataclass(frozen=True)
class Ratio:
    """Time of a peer over ours for the same numbers: median and quartiles over rounds; above one we are faster.

    Attributes:
        note: what was compared; empty numbers where the peer is not installed.
    """

    peer: str
    task: str
    median: float
    low: float
    high: float
    note: str = ""


ROUNDS, LINKS = 15, 8
SYMBOLIC_LINKS = 5  # derived by SymPy within two seconds; every further link doubles that
SAME = 1e-9  # largest relative difference of accelerations


def _ratio(peer: str, task: str, theirs: Callable[[], object], ours: Callable[[], object]) -> Ratio:
    """Both in turn, round by round."""
    ratios = [time_call(theirs, 0.02).best / time_call(ours, 0.02).best for _ in range(ROUNDS)]
    low, median, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return Ratio(peer, task, float(median), float(low), float(high))


def _agree(ours: np.ndarray, theirs: np.ndarray, peer: str) -> None:
    off = np.abs(ours - theirs).max() / np.abs(ours).max()
    if not off <= SAME:
        raise AssertionError(f"{peer} and dalembert differ by {off:.2g}: not the same mechanism")


def peers(bodies: int = 20) -> list[Ratio]:
    """Accelerations of a random tree of hinges and slides, one state at a time, and a run of a pendulum, against peers
    that are installed."""
    dynamics = Dynamics(random_tree(bodies), "recursive", "relative")
    rng = np.random.default_rng(1)
    q, u, tau = (rng.normal(size=bodies) for _ in range(3))

    def ours() -> np.ndarray:
        return dynamics.acceleration(q, u, tau)

    mine = ours()
    task = f"accelerations of a tree of {bodies} bodies"
    found: list[Ratio] = []
    try:
        pin = import_module("pinocchio")

        model = to_pinocchio(dynamics)
        data = model.createData()
        order = [model.getJointId(slot.joint) - 1 for slot in dynamics.coordinates.slots]
        theirs = [np.empty(bodies) for _ in range(3)]
        for given, values in zip(theirs, (q, u, tau), strict=True):
            given[order] = values
        _agree(mine, np.array(pin.aba(model, data, *theirs))[order], "Pinocchio")
        found.append(
            _ratio("Pinocchio", task, lambda: pin.aba(model, data, *theirs), lambda: dynamics.acceleration(q, u, tau))
        )
    except ImportError:
        found.append(Ratio("Pinocchio", task, np.nan, np.nan, np.nan, "not installed"))
    try:
        mujoco = import_module("mujoco")

        other = to_mujoco(dynamics)
        state = mujoco.MjData(other)
        names = [int(mujoco.mj_name2id(other, mujoco.mjtObj.mjOBJ_BODY, f"b{i}")) for i in range(bodies)]
        at = [int(other.body_dofadr[body]) for body in names]
        state.qpos[at], state.qvel[at], state.qfrc_applied[at] = q, u, tau
        mujoco.mj_forward(other, state)
        _agree(mine, np.array(state.qacc)[at], "MuJoCo")
        found.append(
            _ratio("MuJoCo", task, lambda: mujoco.mj_forward(other, state), lambda: dynamics.acceleration(q, u, tau))
        )
    except ImportError:
        found.append(Ratio("MuJoCo", task, np.nan, np.nan, np.nan, "not installed"))
    what = f"{STEPS} steps of RK4 and their start, pendulum of {LINKS} links"
    try:
        pair = against_exudyn(LINKS)
        _agree(pair[1](), pair[0](), "Exudyn")
        found.append(_ratio("Exudyn", what, *pair))
    except ImportError:
        found.append(Ratio("Exudyn", what, np.nan, np.nan, np.nan, "not installed"))
    pair = against_sympy(SYMBOLIC_LINKS)
    _agree(pair[1](), pair[0](), "SymPy")
    return [*found, _ratio("SymPy", f"accelerations of a pendulum of {SYMBOLIC_LINKS} links", *pair)]
