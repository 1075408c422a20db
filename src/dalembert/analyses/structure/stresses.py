"""States of self-stress: reactions that hold each other in balance, listed joint by joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.topology import Graph, Loop

__all__ = ["Carriers", "SelfStress", "localize", "subtract"]

NOTHING = 1e-6  # of a component, the vector being of length one
MOST_LOOPS = 30  # that are tried in pairs


@dataclass(frozen=True)
class SelfStress:
    """Reactions that hold each other in balance: any amount of them may be there.

    Attributes:
        words: what is carried around, e.g. ``force along z``.
        owners: the joints and constraints that take part.
        wrenches: by joint (torque, force; world axes, about the joint's point), or multipliers of a constraint.
    """

    words: str
    owners: tuple[str, ...]
    wrenches: dict[str, np.ndarray]


class Carriers:
    """Where the reactions of all joints and the multipliers of all constraints stand in one vector."""

    def __init__(self, dynamics: Dynamics):
        flat = dynamics.flat
        self.joints = list(flat.joints)
        self._rows = dynamics.rows.of(flat.constraints)
        self.equations = [dynamics.rows[i].owner for i in self._rows]
        self.size = 6 * len(self.joints) + len(self.equations)
        self._joint_at = {name: slice(6 * i, 6 * i + 6) for i, name in enumerate(self.joints)}
        start = 6 * len(self.joints)
        self._equation_at = {
            name: [start + i for i, owner in enumerate(self.equations) if owner == name] for name in self.equations
        }

    @property
    def owners(self) -> list[str]:
        return [*self._joint_at, *self._equation_at]

    def columns(self, owner: str) -> list[int]:
        """Where one owner stands."""
        at = self._joint_at.get(owner)
        return self._equation_at[owner] if at is None else list(range(at.start, at.stop))

    def vector(self, reactions: dict[str, np.ndarray], multipliers: np.ndarray) -> np.ndarray:
        return np.concatenate([*(reactions[name] for name in self.joints), multipliers[self._rows]])

    def wrench(self, vector: np.ndarray, joint: str) -> np.ndarray:
        return vector[..., self._joint_at[joint]]

    def multipliers(self, vector: np.ndarray, constraint: str) -> np.ndarray:
        return vector[..., self._equation_at[constraint]]


def subtract(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The part of one space of self-stresses that another, nearly inside it, leaves."""
    count = len(vectors) - len(others)
    if count <= 0:
        return np.zeros((0, vectors.shape[1]))
    inside = others @ vectors.T
    return np.linalg.svd(inside)[2][len(others) :] @ vectors


def localize(carriers: Carriers, vectors: np.ndarray, graph: Graph) -> tuple[SelfStress, ...]:
    """A basis of the space whose members stay among as few joints as possible: loop by loop, then pairs, then all."""
    found: list[np.ndarray] = []
    stresses: list[SelfStress] = []
    for owners, lead, single in _places(carriers, graph):
        if len(found) == len(vectors):
            break
        for row in _reduced(_within(carriers, vectors, owners), [i for name in lead for i in _order(carriers, name)]):
            rest = row - sum((np.dot(row, f) * f for f in found), np.zeros(carriers.size))
            length = np.linalg.norm(rest)
            if length > NOTHING * np.linalg.norm(row):
                found.append(rest / length)
                stresses.append(_told(carriers, row, lead, single))
    return tuple(stresses)


def _places(carriers: Carriers, graph: Graph) -> list[tuple[set[str], list[str], bool]]:
    """Where a self-stress may be at home, the smallest first; the owners in the order in which it is listed; and
    whether it is one loop, around which the same wrench goes."""
    loops = sorted(graph.loops(graph.spanning_tree()), key=lambda loop: len(loop.joints))
    constraints = list(dict.fromkeys(carriers.equations))
    places = [_place(loop) for loop in loops]
    if constraints:
        places.insert(0, (set(constraints), constraints, False))
        places += [(owners | set(constraints), [*lead, *constraints], False) for owners, lead, _ in places[1:]]
    if len(loops) <= MOST_LOOPS:
        for first, second in combinations(loops, 2):
            one, two = _place(first), _place(second)
            places.append((one[0] | two[0], [*one[1], *two[1]], False))
    everything = [*(loop.cut for loop in loops), *carriers.owners]
    return [*places, (set(carriers.owners), everything, False)]


def _place(loop: Loop) -> tuple[set[str], list[str], bool]:
    return {loop.cut, *loop.joints}, [loop.cut, *loop.joints], True


def _within(carriers: Carriers, vectors: np.ndarray, owners: set[str]) -> np.ndarray:
    """Self-stresses that are zero outside."""
    outside = [i for name in carriers.owners if name not in owners for i in carriers.columns(name)]
    if not outside:
        return vectors
    U, s, _ = np.linalg.svd(vectors[:, outside])
    rank = int(np.sum(s > NOTHING))
    return U[:, rank:].T @ vectors


def _order(carriers: Carriers, owner: str) -> list[int]:
    """Forces first: what is then left without force is a pure torque."""
    at = carriers.columns(owner)
    return [*at[3:], *at[:3]] if owner in carriers.joints else at


def _reduced(rows: np.ndarray, columns: list[int]) -> np.ndarray:
    """The reduced echelon form, pivots taken in this order of columns."""
    rows, done = rows.copy(), 0
    for column in dict.fromkeys(columns):
        if done == len(rows):
            break
        best = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[best, column]) <= NOTHING:
            continue
        rows[[done, best]] = rows[[best, done]]
        rows[done] /= rows[done, column]
        for i in range(len(rows)):
            if i != done:
                rows[i] -= rows[i, column] * rows[done]
        done += 1
    return rows


def _told(carriers: Carriers, row: np.ndarray, lead: list[str], single: bool) -> SelfStress:
    """One self-stress in words, as the first of its owners sees it."""
    size = np.abs(row).max()
    owners = [name for name in carriers.owners if np.abs(row[carriers.columns(name)]).max(initial=0.0) > NOTHING * size]
    wrenches = {name: row[carriers.columns(name)] for name in owners}
    first = next(name for name in lead if name in owners)
    if first not in carriers.joints:
        words = f"the equations of {', '.join(name for name in owners if name not in carriers.joints)}"
    else:
        torque, force = wrenches[first][:3], wrenches[first][3:]
        has_force = np.abs(force).max() > NOTHING * size
        words = f"force along {axis_words(force)}" if has_force else f"torque about {axis_words(torque)}"
        words += "" if single else f" in {first}"
    return SelfStress(words, tuple(owners), wrenches)


def axis_words(vector: Sequence[float] | np.ndarray) -> str:
    """A direction: the name of a world axis, or three numbers."""
    unit = np.asarray(vector) / np.linalg.norm(vector)
    unit = unit * np.sign(unit[np.argmax(np.abs(unit))])
    for name, axis in zip("xyz", np.eye(3), strict=True):
        if np.abs(unit - axis).max() < 1e-6:
            return name
    return f"({', '.join(f'{x:.3g}' for x in np.where(np.abs(unit) < 1e-9, 0.0, unit))})"
