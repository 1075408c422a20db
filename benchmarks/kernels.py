"""Forward and inverse dynamics of trees: dalembert against Pinocchio and MuJoCo, in one run, as ratios.

    pip install ".[bench]" && python benchmarks/kernels.py [--quick] [--scaling docs/images/scaling.png]

One thread for everybody. Times are the best of many repetitions; the spread (third quartile over best) tells how
noisy the machine was. A ratio above 1 means that dalembert is faster.
"""

from __future__ import annotations

import argparse
import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import importlib.metadata
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.bench.peers import Timing, random_tree, time_call, to_mujoco, to_pinocchio
from dalembert.dynamics.rolled import forward as rolled_forward
from dalembert.dynamics.rolled import inverse as rolled_inverse
from dalembert.native import native

BATCH = 2048
AGREEMENT = 1e-10  # relative to the largest entry

console = Console(width=160)

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
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if str(f).endswith(file)), None)


def states(dynamics, n: int, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    neutral = dynamics.coordinates.neutral()
    q = np.array([tree.integrate(neutral, 0.5 * rng.normal(size=dynamics.nv)) for _ in range(n)])
    return q, rng.normal(size=(n, dynamics.nv)), rng.normal(size=(n, dynamics.nv))


def compare(name: str, dynamics, pin_model, mj_model, to_peer, table: Table) -> None:
    """One row: agreement, then ratios."""
    import pinocchio as pin

    rng = np.random.default_rng(0)
    q, u, tau = states(dynamics, BATCH, rng)
    pq, pu, ptau = (np.asfortranarray(part.T) for part in to_peer(q, u, tau))
    data, pool = pin_model.createData(), pin.ModelPool(pin_model, 1)
    began = time.perf_counter()
    du = dynamics.acceleration(q, u, tau)
    compiled = time.perf_counter() - began
    expected = np.array(
        [pin.aba(pin_model, data, pq[:, i].copy(), pu[:, i].copy(), ptau[:, i].copy()) for i in range(50)]
    )
    scale = np.abs(expected).max()
    ours = to_peer(q[:50], u[:50], du[:50])[2]
    error = max(np.abs(ours - expected).max() / scale, derivative_error(dynamics, pin_model, q, u, tau, to_peer))
    out, back = np.empty_like(du), np.empty_like(du)
    forward = time_call(lambda: dynamics.acceleration(q, u, tau, out=out))
    inverse = time_call(lambda: dynamics.inverse(q, u, tau, out=back))
    pin_forward = time_call(lambda: pin.abaInParallel(1, pool, pq, pu, ptau))
    pin_inverse = time_call(lambda: pin.rneaInParallel(1, pool, pq, pu, ptau))
    one = (q[0].copy(), u[0].copy(), tau[0].copy())
    peer_one = (pq[:, 0].copy(), pu[:, 0].copy(), ptau[:, 0].copy())
    single = time_call(lambda: dynamics.acceleration(*one), 0.2)
    pin_single = time_call(lambda: pin.aba(pin_model, data, *peer_one), 0.2)
    cells = [
        name, str(dynamics.nv), f"{error:.0e}", micro(forward), ratio(pin_forward, forward),
        ratio(pin_inverse, inverse), derivative_ratio(dynamics, pin_model, q, u, tau, peer_one),
        ratio(pin_single, single), mujoco_ratio(mj_model, forward), f"{compiled:.2f}",
        f"{max(forward.spread, pin_forward.spread):.2f}",
    ]  # fmt: skip
    table.add_row(*cells, style="" if error <= AGREEMENT else "bold red")


def derivative_ratio(dynamics, pin_model, q, u, tau, peer) -> str:
    """Derivatives of forward dynamics, batched, against a loop of calls of Pinocchio less their Python part."""
    import pinocchio as pin

    kernel, count = dynamics.kernels.derivative_kernel("forward"), 512
    p = dynamics.parameters()
    out = kernel(0.0, q[:count], u[:count], p, tau[:count])
    ours = time_call(lambda: kernel(0.0, q[:count], u[:count], p, tau[:count], out=out))
    data = pin_model.createData()
    theirs = time_call(lambda: pin.computeABADerivatives(pin_model, data, *peer), 0.2)
    return f"{(theirs.best - call_overhead()) / (ours.best / count):.1f}"


def derivative_error(dynamics, pin_model, q, u, tau, to_peer) -> float:
    """Largest relative difference of the derivatives at one state; of joints with one velocity."""
    import pinocchio as pin

    data = pin_model.createData()
    pin.computeABADerivatives(pin_model, data, *(part[0] for part in to_peer(q[:1], u[:1], tau[:1])))
    found = dynamics.acceleration_derivatives(q[0], u[0], tau[0])
    place = {slot.joint: slot.u.start for slot in dynamics.coordinates.slots}
    pairs = [
        (joint.idx_v, place[name])
        for joint, name in zip(list(pin_model.joints)[1:], list(pin_model.names)[1:], strict=True)
        if joint.nv == 1
    ]
    theirs, ours = (np.array(column) for column in zip(*pairs, strict=True))
    inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    return max(
        np.abs(a[np.ix_(theirs, theirs)] - np.asarray(b)[np.ix_(ours, ours)]).max() / np.abs(a).max()
        for a, b in ((data.ddq_dq, found.ddu_dq), (data.ddq_dv, found.ddu_du), (inverse, found.ddu_dtau))
    )


def call_overhead() -> float:
    """Seconds that Python takes to call Pinocchio's derivatives: those of one joint."""
    import pinocchio as pin

    dynamics = da.compile(random_tree(1))
    model = to_pinocchio(dynamics)
    data, one = model.createData(), np.zeros(1)
    return time_call(lambda: pin.computeABADerivatives(model, data, one, one, one), 0.1).best


def micro(timing: Timing) -> str:
    return f"{timing.best / BATCH * 1e6:.3f}"


def ratio(peer: Timing, ours: Timing) -> str:
    return f"{peer.best / ours.best:.1f}"


def mujoco_ratio(model, forward: Timing) -> str:
    if model is None:
        return "–"
    import mujoco

    data = mujoco.MjData(model)
    data.qvel[:] = 0.1

    def hundred() -> None:
        for _ in range(100):
            mujoco.mj_forward(model, data)

    return f"{time_call(hundred).best / 100 / (forward.best / BATCH):.1f}"


def trees(table: Table) -> None:
    for n in (7, 12, 30, 60):
        dynamics = da.compile(random_tree(n))
        peer = to_pinocchio(dynamics)
        compare(f"random tree {n}", dynamics, peer, to_mujoco(dynamics), by_name(dynamics, peer), table)


def robots(table: Table) -> None:
    import pinocchio as pin

    for name, file, floats in ROBOTS:
        path = robot_path(file)
        if path is None:
            console.print(f"{name}: example-robot-data is not installed")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = da.read(path, base="free" if floats else "fixed")
        # Pinocchio leaves damping and mimicking joints out of its dynamics; so do we here.
        model.forces.clear()
        model.constraints.clear()
        dynamics = da.compile(model)
        peer = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floats else []))
        compare(name, dynamics, peer, None, by_name(dynamics, peer), table)


def by_name(dynamics, peer):
    """Our coordinates in Pinocchio's order: joints by name; a free joint has (position, quaternion xyzw), (v, ω)."""
    place = {}
    for slot in dynamics.coordinates.slots:
        place[slot.joint] = slot

    def convert(q, u, tau):
        pq, pu, pt = np.zeros((len(q), peer.nq)), np.zeros((len(q), peer.nv)), np.zeros((len(q), peer.nv))
        for joint, name in zip(list(peer.joints)[1:], list(peer.names)[1:], strict=True):
            if joint.nv == 6:
                slot = next(s for s in dynamics.coordinates.slots if s.u.stop - s.u.start == 6)
                a = q[:, slot.q]
                pq[:, joint.idx_q : joint.idx_q + 7] = np.column_stack([a[:, 4:], a[:, 1:4], a[:, :1]])
                for target, source in ((pu, u), (pt, tau)):
                    b = source[:, slot.u]
                    target[:, joint.idx_v : joint.idx_v + 6] = np.column_stack([b[:, 3:], b[:, :3]])
                continue
            slot = place[name]
            angle = q[:, slot.q.start]
            if joint.nq == 2:  # a continuous joint is (cos, sin) there
                pq[:, joint.idx_q], pq[:, joint.idx_q + 1] = np.cos(angle), np.sin(angle)
            else:
                pq[:, joint.idx_q] = angle
            pu[:, joint.idx_v], pt[:, joint.idx_v] = u[:, slot.u.start], tau[:, slot.u.start]
        return pq, pu, pt

    return convert


def chain(n: int, springs: bool = False) -> da.Model:
    """Bodies hinged to each other, as they are or with springs, dampers and armatures."""
    model = da.Model(f"chain of {n}")
    previous = model.ground
    rotor = {"armature": 0.05} if springs else {}
    for i in range(n):
        body = model.body(f"b{i}", mass=1.0, com=(i + 0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        model.revolute(f"j{i}", previous, body, point=(i, 0, 0), axis="z" if i % 2 else "y", **rotor)
        if springs:
            ends = ((i - 0.5, 0.2, 0.1), (i + 0.5, 0.2, 0.1))
            model.spring(f"s{i}", previous, body, at=ends, stiffness=100 + i, damping=0.5)
        previous = body.name
    return model


@native
def repeat_forward(count, r, q, u, tau, qdot, du):
    for _ in range(count):
        rolled_forward(r, 0.0, q, u, tau, qdot, du)


@native
def repeat_inverse(count, r, q, u, du, tau):
    for _ in range(count):
        rolled_inverse(r, 0.0, q, u, du, tau)


def scaling(sizes: tuple[int, ...], picture: str | None, springs: bool = False) -> None:
    """Time per body of rolled recursions on chains, to 100 000 bodies."""
    import resource

    from dalembert.coordinates import Relative
    from dalembert.dynamics.rolled import Rolled
    from dalembert.model import flatten

    what = "chains of n bodies" + " with springs, dampers and armatures" * springs
    table = Table(title=f"Rolled recursions: {what}, one thread", title_justify="left")
    for heading in ("bodies", "µs/body forward", "µs/body inverse", "ms forward", "set-up s", "memory MB"):
        table.add_column(heading, justify="right")
    rows = []
    for n in sizes:
        began = time.perf_counter()
        flat = flatten(chain(n, springs))
        rolled = Rolled(Relative(flat), flat.parameters)
        setup = time.perf_counter() - began
        rng = np.random.default_rng(0)
        q, u, tau = (0.01 * rng.normal(size=n) for _ in range(3))
        # As a native time loop calls it: several evaluations for one call from Python.
        count, qdot, out = max(1, 2000 // n), np.empty(n), np.empty(n)
        common = rolled.bind(None), q, u, tau
        forward = time_call(lambda: repeat_forward(count, *common, qdot, out))
        inverse = time_call(lambda: repeat_inverse(count, *common, out))
        forward, inverse = (Timing(t.best / count, t.spread) for t in (forward, inverse))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append((n, forward.best / n * 1e6, inverse.best / n * 1e6))
        table.add_row(
            str(n),
            f"{rows[-1][1]:.3f}",
            f"{rows[-1][2]:.3f}",
            f"{forward.best * 1e3:.3f}",
            f"{setup:.1f}",
            f"{memory:.0f}",
        )
    console.print(table)
    if picture:
        draw(np.array(rows), picture)


def draw(rows: np.ndarray, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.semilogx(rows[:, 0], rows[:, 1], "o-", label="forward dynamics")
    axes.semilogx(rows[:, 0], rows[:, 2], "s-", label="inverse dynamics")
    axes.set(xlabel="bodies", ylabel="µs per body", ylim=(0, None), title="Chains, rolled recursions, one thread")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    console.print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--scaling", metavar="PNG", help="picture of the time per body over n")
    arguments = parser.parse_args()
    table = Table(title=f"Batches of {BATCH} states, one thread; ratios peer/dalembert", title_justify="left")
    for heading in (
        "model", "dof", "difference", "µs/state", "Pinocchio aba", "Pinocchio rnea", "derivatives", "single call",
        "MuJoCo", "compile s", "spread",
    ):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "model" else "right")
    trees(table)
    if not arguments.quick:
        robots(table)
    console.print(table)
    scaling((10, 100, 1000) if arguments.quick else (10, 100, 1000, 10_000, 100_000), arguments.scaling)
    scaling((10, 100, 1000) if arguments.quick else (10, 100, 1000, 10_000), None, springs=True)


if __name__ == "__main__":
    main()
