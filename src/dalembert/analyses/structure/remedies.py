"""Changes of joints that leave no redundant equation.

A joint that gives way along a new motion d can carry no wrench F with dᵀF ≠ 0. If the self-stresses do independent
work on all new motions, each of them takes one redundant equation away and adds no freedom to the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.structure.stresses import Carriers, axis_words
from dalembert.equations import Equations
from dalembert.joints import JOINTS, Joint
from dalembert.joints.base import axis_frame

__all__ = ["Remedy", "find_remedies"]

INDEPENDENT = 1e-6
CONTACT = 3  # a joint with more freedoms than this touches in a line or a point


@dataclass(frozen=True)
class Change:
    """One joint that becomes another kind at the same point; a constraint of kind ``None`` is left out.

    Attributes:
        axis, axis_2: of the new joint, world axes, where it has such.
    """

    name: str
    kind: str | None
    axis: tuple[float, ...] | None = None
    axis_2: tuple[float, ...] | None = None

    def __str__(self) -> str:
        if self.kind is None:
            return f"{self.name} is left out"
        text = f"{self.name} becomes {self.kind}"
        if self.axis is None:
            return text
        if self.axis_2 is not None:
            return f"{text} with axes {axis_words(self.axis)} and {axis_words(self.axis_2)}"
        return f"{text} {JOINTS[self.kind].axis_is} {axis_words(self.axis)}"


@dataclass(frozen=True)
class Remedy:
    """Changes that, taken together, leave no redundant equation and the same freedom."""

    changes: tuple[Change, ...]

    def __str__(self) -> str:
        return " and ".join(str(change) for change in self.changes)


def find_remedies(carriers: Carriers, vectors: np.ndarray, equations: Equations) -> tuple[Remedy, ...]:
    """Up to two remedies; none if nothing is redundant or no change of joints helps."""
    if not len(vectors):
        return ()
    cut = [name for name in equations.tree.coordinates.cut if name in carriers.joints]
    order = [*dict.fromkeys(carriers.equations), *cut, *(name for name in carriers.joints if name not in cut)]
    found: list[Remedy] = []
    ways = _ways()
    for kinds in ways:
        if found and kinds is ways[-1]:
            break
        changes: list[Change] = []
        work = np.zeros((0, len(vectors)))
        for name in order:
            for change, rows in _changes(carriers, vectors, equations, name, kinds):
                if len(work) + len(rows) <= len(vectors) and _independent(np.concatenate([work, rows])):
                    work = np.concatenate([work, rows])
                    changes.append(change)
                    break
            if len(work) == len(vectors):
                break
        remedy = Remedy(tuple(changes))
        if len(work) == len(vectors) and remedy not in found:
            found.append(remedy)
    return tuple(sorted(found, key=lambda remedy: len(remedy.changes)))


def _ways() -> list[list[type[Joint]]]:
    """Joints in the order in which a designer would take them; two ways to choose, a last one if they do not help."""
    ranked = sorted((joint for joint in JOINTS.values() if joint.remedy), key=lambda joint: joint.remedy)
    firm = [joint for joint in ranked if joint.sample().nv <= CONTACT]
    touching = [joint for joint in ranked if joint not in firm]
    return [[*touching[:1], *firm, *touching[1:]], [*firm, *touching], [*reversed(touching), *firm]]


def _independent(work: np.ndarray) -> bool:
    sizes = np.linalg.norm(work, axis=1)
    if np.any(sizes < INDEPENDENT):
        return False
    return bool(np.linalg.svd(work / sizes[:, None], compute_uv=False)[-1] > INDEPENDENT)


def _changes(
    carriers: Carriers, vectors: np.ndarray, equations: Equations, name: str, kinds: list[type[Joint]]
) -> Iterator[tuple[Change, np.ndarray]]:
    """What an owner may become, and the work of the self-stresses on each new motion."""
    if name not in carriers.joints:
        yield Change(name, None), vectors[:, carriers.columns(name)].T
        return
    placed = equations.tree.mechanism.joint(name)
    if placed.joint.nonholonomic:
        return
    R = (equations.motion.body(placed.first)[0] @ placed.X_1P).R
    R_S = (equations.motion.body(placed.second)[0] @ placed.X_2S).R
    own = _turned(R_S, placed.joint.subspace(NUMPY, equations.joint_coordinates(name)[0]))
    F = carriers.wrench(vectors, name)
    for joint in kinds:
        for axes, S in _freedoms(joint, R, F):
            new = _beyond(S, own)
            if new is not None and new.shape[1]:
                yield Change(name, joint.kind, *(tuple(axis.tolist()) for axis in axes)), (F @ new).T


def _freedoms(kind: type[Joint], R: np.ndarray, F: np.ndarray) -> Iterator[tuple[tuple[np.ndarray, ...], np.ndarray]]:
    """Axes and motions of a joint of this kind in place of one whose axis is z of R, in world axes."""
    if "axis_2" in kind.geometry:
        axis = R[:, 2]
        for torque in F[:, :3]:
            across = torque - (torque @ axis) * axis
            if np.linalg.norm(across) > INDEPENDENT:
                across = across / np.linalg.norm(across)
                S = np.zeros((6, 2))
                S[:3, 0], S[:3, 1] = axis, across
                yield (axis, across), S
        return
    joint = kind.sample()
    S = joint.subspace(NUMPY, joint.neutral())
    if "axis" not in kind.geometry:
        yield (), _turned(R, S)
        return
    for axis in _axes(joint, R, F):
        yield (axis,), _turned(axis_frame(NUMPY, axis, axis), S)


def _axes(joint: Joint, R: np.ndarray, F: np.ndarray) -> Iterator[np.ndarray]:
    """The joint's own axis; for a plane also one that gives way to a force across it."""
    yield R[:, 2]
    if joint.nv == 5:
        for force in F[:, 3:]:
            across = np.cross(R[:, 2], force)
            if np.linalg.norm(across) > INDEPENDENT:
                yield across / np.linalg.norm(across)


def _turned(R: np.ndarray, S: np.ndarray) -> np.ndarray:
    return np.concatenate([R @ S[:3], R @ S[3:]])


def _beyond(S: np.ndarray, own: np.ndarray) -> np.ndarray | None:
    """Motions of S that the joint does not have yet; None if S lacks some of its own."""
    if not own.shape[1]:
        return S
    basis = np.linalg.svd(S, full_matrices=False)[0]
    if np.abs(own - basis @ (basis.T @ own)).max() > INDEPENDENT:
        return None
    kept = np.linalg.svd(own, full_matrices=False)[0]
    U, s, _ = np.linalg.svd(basis - kept @ (kept.T @ basis), full_matrices=False)
    return U[:, s > 0.5]
