"""Loops of rolled recursions: the tables that native code closes them by.

Cut joints are traced once for each kind. A multiplier of a cut joint is felt along the two ways from its bodies to the
ground; two cut joints are coupled if their ways share a joint that moves. What couples them is known in advance, so the
matrix of the multipliers is analysed once (see ``numerics.sparse``) and costs only what the loops have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import Jets
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.coordinates import PlacedTree
from dalembert.coordinates.kinematics import pose_jets
from dalembert.joints import JOINTS
from dalembert.model.mechanism import PlacedJoint
from dalembert.numerics.sparse import Pattern, pattern_of
from dalembert.spatial import Pose

__all__ = ["Loops", "Table"]

# What is known of a cut joint with m equations, after its kernel ran: φ, φ̇, γ, and ∂φ̇ by the twists of both links.
PER_ROW = 3 + 12


class Table(NamedTuple):
    """What native code reads.

    Attributes:
        cuts: kernel, equations, place of its numbers and how many, links (−1: ground), first row, first step of its
            way and how many, places of both links on the way, place of its values.
        ways: steps towards the ground, tips first: link, place of its parent on the same way, place of what the
            multipliers move, velocities.
        pairs: first row and equations of two coupled cut joints, first meeting and how many, first slot.
        meetings: places of what both move at the same link, velocities.
        slots: where entries of K go, block by block; −1 if the mirror image is kept.
        data: numbers of all cut joints.
        mobility: inverse inertia, 6 × 6, of both links of all cut joints; 0 for the ground.
    """

    cuts: np.ndarray
    ways: np.ndarray
    pairs: np.ndarray
    meetings: np.ndarray
    slots: np.ndarray
    data: np.ndarray
    mobility: np.ndarray


class Loops:
    """All cut joints of a tree.

    Attributes:
        links: whose motion the cut joints ask about.
        rows: number of constraint equations.
        n_values, n_moved: doubles for what kernels leave, and for what multipliers move.
        n_work: doubles of work memory that the kernels need.
    """

    def __init__(self, tree: PlacedTree):
        self.tree, names = tree, tree.coordinates.cut
        placed = [tree.mechanism.joint(name) for name in names]
        kinds = [_trace(joint.joint.kind) for joint in placed]
        self.links = {tree.index[body] for joint in placed for body in (joint.first, joint.second)} - {-1}
        cuts, ways, data, row, values, moved = [], [], [], 0, 0, 0
        felt: list[dict[int, tuple[int, int]]] = []
        for joint, kind in zip(placed, kinds, strict=True):
            numbers = _numbers(tree, joint)
            ends = [tree.index[joint.first], tree.index[joint.second]]
            way = sorted(_towards_ground(tree, ends[0]) | _towards_ground(tree, ends[1]), reverse=True)
            at = {link: k for k, link in enumerate(way)} | {-1: -1}
            cuts.append((kind.kernel.address, kind.rows, len(data), len(numbers), *ends, row, len(ways), len(way),
                         at[ends[0]], at[ends[1]], values))  # fmt: skip
            felt.append({})
            for link in way:
                nv = tree.links[link].u.stop - tree.links[link].u.start
                ways.append((link, at[tree.links[link].parent], moved, nv))
                if nv:
                    felt[-1][link] = (moved, nv)
                moved += nv * kind.rows
            data += list(numbers)
            row, values = row + kind.rows, values + PER_ROW * kind.rows
        self.rows, self.n_values, self.n_moved = row, values, moved
        self.pattern, pairs, meetings, slots = _couplings([kind.rows for kind in kinds], felt)
        self.table = Table(
            np.array(cuts, dtype=np.int64).reshape(-1, 12),
            np.array(ways, dtype=np.int64).reshape(-1, 4),
            np.array(pairs, dtype=np.int64).reshape(-1, 7),
            np.array(meetings, dtype=np.int64).reshape(-1, 3),
            np.array(slots, dtype=np.int64),
            np.array(data, dtype=float),
            np.concatenate([_mobility(tree, body) for joint in placed for body in (joint.first, joint.second)]),
        )
        self.addresses = np.array([(part.ctypes.data, len(part)) for part in (*self.table, *self.pattern)], np.int64)
        self.n_work = max(kind.kernel.n_work for kind in kinds)
        self._kinds = kinds

    def measured(self, name: str, pose: np.ndarray, twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of a cut joint at many states, from poses and world twists of all bodies."""
        placed = self.tree.mechanism.joint(name)
        moving = []
        for body in (placed.first, placed.second):
            i = self.tree.index[body]
            if i < 0:
                moving.append(np.broadcast_to([*np.eye(3).reshape(-1), *np.zeros(9)], (len(pose), 18)))
            else:
                moving.append(np.concatenate([pose[:, i], twist[:, i]], axis=1))
        numbers = np.broadcast_to(_numbers(self.tree, placed, on_links=False), (len(pose), 24 + _own(placed.joint)))
        seen = _trace_measure(placed.joint.kind)(np.concatenate([numbers, *moving], axis=1))
        return np.asarray(seen.q), np.asarray(seen.u)


def _mobility(tree: PlacedTree, body: str) -> np.ndarray:
    """Inverse inertia of a link if it were free, without directions that have none."""
    i = tree.index[body]
    if i < 0:
        return np.zeros(36)
    I = np.array([tree.links[i].inertia.apply(column) for column in np.eye(6)], dtype=float)
    return np.linalg.pinv(I, rcond=1e-9, hermitian=True).reshape(-1)


def _towards_ground(tree: PlacedTree, link: int) -> set[int]:
    way = set()
    while link >= 0:
        way.add(link)
        link = tree.links[link].parent
    return way


def _couplings(sizes: list[int], felt: list[dict[int, tuple[int, int]]]) -> tuple[Pattern, list, list, list]:
    """The pattern of K, and how its blocks follow from what the multipliers move."""
    at_link: dict[int, list[int]] = {}
    for cut, places in enumerate(felt):
        for link in places:
            at_link.setdefault(link, []).append(cut)
    shared: dict[tuple[int, int], list[int]] = {(cut, cut): [] for cut in range(len(sizes))}
    for link, cuts in at_link.items():
        for i, a in enumerate(cuts):
            for b in cuts[i:]:
                shared.setdefault((a, b), []).append(link)
    pattern = pattern_of(sizes, list(shared))
    first, kept = np.concatenate([[0], np.cumsum(sizes)]), pattern.slots
    pairs, meetings, slots = [], [], []
    for (a, b), links in shared.items():
        pairs.append((first[a], sizes[a], first[b], sizes[b], len(meetings), len(links), len(slots)))
        meetings += [(felt[a][link][0], felt[b][link][0], felt[a][link][1]) for link in links]
        for i in range(sizes[a]):
            for j in range(sizes[b]):
                row, column = int(pattern.place[first[a] + i]), int(pattern.place[first[b] + j])
                mirrored = a == b and i > j
                slots.append(-1 if mirrored else kept[min(row, column), max(row, column)])
    return pattern, pairs, meetings, slots


# One kind of cut joint


@dataclass(frozen=True, eq=False)
class _Kind:
    rows: int
    kernel: Kernel


def _own(joint: Any) -> int:
    return len(joint.parameters)


def _numbers(tree: PlacedTree, placed: PlacedJoint, on_links: bool = True) -> np.ndarray:
    """Joint frames in the frames of their links (the world's for the ground) or bodies, and the joint's quantities."""
    numbers: list[Any] = []
    for body, X in ((placed.first, placed.X_1P), (placed.second, placed.X_2S)):
        frame = tree.links[tree.index[body]].X_LB @ X if on_links and body != "ground" else X
        numbers += [*frame.R.reshape(-1), *frame.p]
    joint = placed.joint
    return np.array([*numbers, *(getattr(joint, name.strip("[]")) for name in joint.parameters)], dtype=float)


class _Inputs:
    """Symbols for the numbers of a cut joint, then pose and twist of both sides."""

    def __init__(self, kind: str):
        cls = JOINTS[kind]
        names = [name.strip("[]") for name in cls.parameters]
        self.symbol, x = CASADI.symbols("inputs", 24 + len(names) + 36)
        self.joint = cls(**dict(zip(names, x[24:], strict=False)))
        moving = x[24 + len(names) :]
        self.frames = [_pose(x[k:]) for k in (0, 12)]
        self.poses = [_pose(moving[k:]) for k in (0, 18)]
        self.twists = [moving[k + 12 : k + 18] for k in (0, 18)]


def _pose(x: np.ndarray) -> Pose:
    return Pose(x[:9].reshape(3, 3), x[9:12])


@lru_cache(maxsize=64)
def _trace_measure(kind: str) -> Kernel:
    """Coordinates and velocities of a cut joint, from poses and world twists of its bodies."""
    al, x = CASADI, _Inputs(kind)
    first, second = (X @ F for X, F in zip(x.poses, x.frames, strict=True))
    twists = []
    for X, V, F in zip(x.poses, x.twists, x.frames, strict=True):
        twists.append(F.motion_inverse(al.concatenate([X.R.T @ V[:3], X.R.T @ V[3:]])))
    X = first.inverse() @ second
    q = x.joint.coordinates(al, X)
    u = x.joint.rates(al, q, twists[1] - X.motion_inverse(twists[0]))
    outputs = {"q": al.to_sx(q), "u": al.to_sx(u)}
    return compile_function(f"{kind.replace('-', '_')}_measure", {"inputs": x.symbol}, outputs)


@lru_cache(maxsize=64)
def _trace(kind: str) -> _Kind:
    """φ, φ̇, γ and ∂φ̇ by the twists of both links."""
    al, jets, x = CASADI, Jets(CASADI), _Inputs(kind)

    def residuals(rates: np.ndarray) -> tuple[np.ndarray, ...]:
        first, second = (
            pose_jets(jets, X, V, A) @ F
            for X, V, A, F in zip(x.poses, x.twists, (rates[:6], rates[6:]), x.frames, strict=True)
        )
        return jets.parts(jets.array(x.joint.position(jets, first.inverse() @ second)))

    phi, rate, gamma = residuals(al.zeros(12))
    jacobian = al.columns(lambda A: residuals(A)[2] - gamma, 12)
    outputs = np.concatenate([phi, rate, gamma, jacobian.reshape(-1)])
    kernel = compile_function(
        f"{kind.replace('-', '_')}_cut", {"inputs": x.symbol}, {"values": al.to_sx(outputs)}, batch=False
    )
    return _Kind(len(phi), kernel)
