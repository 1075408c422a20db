"""Loops of rolled recursions: the tables that native code closes them by.

Cut joints are traced once for each kind. A multiplier of a cut joint acts along the two ways from its bodies to the
ground; two cut joints are coupled if their ways share a joint that moves. What couples them is known in advance, so the
matrix of the multipliers is analyzed once (see ``numerics.sparse``) and costs only what the loops have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.algebra import Jets
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.coordinates import TreeKinematics
from dalembert.joints import JOINTS
from dalembert.model.mechanism import PlacedJoint
from dalembert.native import Int, IntegerMatrix, Integers, Kernels, Record, Ref, Vector
from dalembert.numerics.sparse import Pattern, pattern_of
from dalembert.spatial import Pose
from dalembert.tree.outward import pose_jets

__all__ = ["LoopMemory", "LoopTable", "Loops"]

# What is known of a cut joint with m equations, after its kernel ran: φ, φ̇, γ, and ∂φ̇ by the twists of both links.
PER_ROW = 3 + 12


class LoopTable(Record):
    """What native code reads.

    Attributes:
        n: cut joints.
        kernel, equations: of each cut joint; which kernel gives its values.
        first_number, numbers: its part of ``data``, and how many.
        first_row, first_step, steps: its rows; its way to the ground, and how many steps.
        first_value: where its values are.
        link, end: of both bodies of each cut joint, the link (−1: ground) and its step on the way (−1 likewise).
        step_link, step_parent, step_moved, step_nv: of each step toward the ground, tips first: link, step of its
            parent on the same way (−1: ground), place of what the multipliers move, velocities.
        pair_rows, pair_columns: equations of two coupled cut joints.
        first_meeting, pair_meetings, first_slot: of each pair, the links that both move; where its block of K goes.
        meeting_first, meeting_second, meeting_nv: places of what both move at the same link, velocities.
        slots: where entries of K go, block by block; −1 if the mirror image is kept.
        data: numbers of all cut joints.
        mobility: inverse inertia, 6 × 6, of both links of all cut joints; 0 for the ground.
        pattern: of K, whose rows are all equations.
        n_values, n_moved, longest: numbers that kernels leave, and that multipliers move; steps of the longest way.
    """

    n, n_kernels, n_steps, n_pairs, n_meetings, n_slots, n_data, n_values, n_moved, longest = 10 * Int()
    pattern = Ref(Pattern)
    kernels = Kernels("n_kernels")
    kernel, equations, first_number, numbers, first_row, first_step, steps, first_value = 8 * Integers("n")
    link, end = 2 * IntegerMatrix("n", 2)
    step_link, step_parent, step_moved, step_nv = 4 * Integers("n_steps")
    pair_rows, pair_columns, first_meeting, pair_meetings, first_slot = 5 * Integers("n_pairs")
    meeting_first, meeting_second, meeting_nv = 3 * Integers("n_meetings")
    slots = Integers("n_slots")
    data = Vector("n_data")
    mobility = Vector("72 * n")


class LoopMemory(Record):
    """Numbers of one evaluation, of one user of the loops.

    Attributes:
        measured: of cut joints (see ``PER_ROW``).  pushed, yielded: z and D⁻¹z.
        K, scale, lower, pivots: the scaled matrix of the multipliers and its factor, in the order of elimination.
        rhs: what the multipliers shall do, then the multipliers, in the order of the rows.
        goal … work, fill: scratch space of the solution.
        inputs, wrenches: of one cut joint.
    """

    table = Ref(LoopTable)
    measured = Vector("table.n_values")
    pushed, yielded = 2 * Vector("table.n_moved")
    K = Vector("table.pattern.entries")
    scale = Vector("table.pattern.n")
    lower = Vector("table.pattern.fill")
    pivots, rhs, goal, rest, step, solution, work = 7 * Vector("table.pattern.n")
    inputs = Vector(96)
    wrenches = Vector("36 * table.longest")
    fill = Integers("table.pattern.n")


class Loops:
    """All cut joints of a tree.

    Attributes:
        links: whose motion the cut joints ask about.
        rows: number of constraint equations.
        table: what native code reads.
    """

    def __init__(self, tree: TreeKinematics):
        self.tree, names = tree, tree.coordinates.cut
        placed = [tree.mechanism.joint(name) for name in names]
        kinds = [_trace(joint.joint.kind) for joint in placed]
        used = list(dict.fromkeys(kinds))
        self.links = {tree.index[body] for joint in placed for body in (joint.first, joint.second)} - {-1}
        cuts: list[tuple[int, ...]] = []
        links: list[list[int]] = []
        places: list[list[int]] = []
        ways: list[tuple[int, ...]] = []
        data: list[Any] = []
        row = values = moved = 0
        touched: list[dict[int, tuple[int, int]]] = []
        for joint, kind in zip(placed, kinds, strict=True):
            numbers = _numbers(tree, joint)
            ends = [tree.index[joint.first], tree.index[joint.second]]
            way = sorted(_toward_ground(tree, ends[0]) | _toward_ground(tree, ends[1]), reverse=True)
            at = {link: k for k, link in enumerate(way)} | {-1: -1}
            cuts.append((used.index(kind), kind.rows, len(data), len(numbers), row, len(ways), len(way), values))
            links.append(ends)
            places.append([at[end] for end in ends])
            touched.append({})
            for link in way:
                nv = tree.links[link].u.stop - tree.links[link].u.start
                ways.append((link, at[tree.links[link].parent], moved, nv))
                if nv:
                    touched[-1][link] = (moved, nv)
                moved += nv * kind.rows
            data += list(numbers)
            row, values = row + kind.rows, values + PER_ROW * kind.rows
        self.rows = row
        pattern, pairs, meetings, slots = _couplings([kind.rows for kind in kinds], touched)
        of_cuts = _columns(cuts, "kernel equations first_number numbers first_row first_step steps first_value")
        self.table = LoopTable(
            n=len(cuts), n_kernels=len(used), n_steps=len(ways), n_pairs=len(pairs), n_meetings=len(meetings),
            n_slots=len(slots), n_data=len(data), n_values=values, n_moved=moved,
            longest=max(of_cuts["steps"]), pattern=pattern, kernels=[kind.kernel for kind in used],
            link=np.array(links, dtype=np.int64), end=np.array(places, dtype=np.int64), **of_cuts,
            **_columns(ways, "step_link step_parent step_moved step_nv"),
            **_columns(pairs, "pair_rows pair_columns first_meeting pair_meetings first_slot"),
            **_columns(meetings, "meeting_first meeting_second meeting_nv"),
            slots=np.array(slots, dtype=np.int64), data=np.array(data, dtype=float),
            mobility=np.concatenate([_mobility(tree, body) for cut in placed for body in (cut.first, cut.second)]),
        )  # fmt: skip

    def measured(self, name: str, pose: np.ndarray, twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of a cut joint at many states, from poses and world twists of all bodies."""
        placed = self.tree.mechanism.joint(name)
        moving: list[np.ndarray] = []
        for body in (placed.first, placed.second):
            i = self.tree.index[body]
            if i < 0:
                moving.append(np.broadcast_to([*np.eye(3).reshape(-1), *np.zeros(9)], (len(pose), 18)))
            else:
                moving.append(np.concatenate([pose[:, i], twist[:, i]], axis=1))
        numbers = np.broadcast_to(_numbers(self.tree, placed, on_links=False), (len(pose), 24 + _own(placed.joint)))
        seen = _trace_measure(placed.joint.kind)(np.concatenate([numbers, *moving], axis=1))
        return np.asarray(seen.q), np.asarray(seen.u)


def _columns(rows: list[tuple[int, ...]], names: str) -> dict[str, np.ndarray]:
    """Columns of a table by name."""
    found = names.split()
    return dict(zip(found, np.array(rows, dtype=np.int64).reshape(-1, len(found)).T.copy(), strict=True))


def _mobility(tree: TreeKinematics, body: str) -> np.ndarray:
    """Inverse inertia of a link if it were free, without directions that have none."""
    i = tree.index[body]
    if i < 0:
        return np.zeros(36)
    I = np.array([tree.links[i].inertia.apply(column) for column in np.eye(6)], dtype=float)
    return np.linalg.pinv(I, rcond=1e-9, hermitian=True).reshape(-1)


def _toward_ground(tree: TreeKinematics, link: int) -> set[int]:
    way: set[int] = set()
    while link >= 0:
        way.add(link)
        link = tree.links[link].parent
    return way


Columns = list[tuple[int, ...]]


def _couplings(
    sizes: list[int], touched: list[dict[int, tuple[int, int]]]
) -> tuple[Pattern, Columns, Columns, list[int]]:
    """The pattern of K, and how its blocks follow from what the multipliers move."""
    at_link: dict[int, list[int]] = {}
    for cut, places in enumerate(touched):
        for link in places:
            at_link.setdefault(link, []).append(cut)
    shared: dict[tuple[int, int], list[int]] = {(cut, cut): [] for cut in range(len(sizes))}
    for link, cuts in at_link.items():
        for i, a in enumerate(cuts):
            for b in cuts[i:]:
                shared.setdefault((a, b), []).append(link)
    pattern = pattern_of(sizes, list(shared))
    first, kept = np.concatenate([[0], np.cumsum(sizes)]), pattern.slots
    pairs: Columns = []
    meetings: Columns = []
    slots: list[int] = []
    for (a, b), links in shared.items():
        pairs.append((sizes[a], sizes[b], len(meetings), len(links), len(slots)))
        meetings += [(touched[a][link][0], touched[b][link][0], touched[a][link][1]) for link in links]
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


def _numbers(tree: TreeKinematics, placed: PlacedJoint, on_links: bool = True) -> np.ndarray:
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
    twists: list[np.ndarray] = []
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
