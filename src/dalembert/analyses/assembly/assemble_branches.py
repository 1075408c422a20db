"""All ways in which the loops of a mechanism close, with names.

A four-bar is *open* or *crossed*; a chain of two bars between known ends has its elbow *up* or *down*; of several
elbows the signs are given, as in the working modes of parallel robots. What has no such name is named by the coordinate
that tells the branches apart best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble import Assembler
from dalembert.analyses.assembly.assemble_given import Desired
from dalembert.analyses.assembly.assemble_search import Closures, Search
from dalembert.arguments import entry_of, public_methods
from dalembert.coordinates import Coordinates
from dalembert.errors import DalembertError, MissingError
from dalembert.model import Mechanism
from dalembert.passed_on import PassedOn
from dalembert.state import State
from dalembert.topology import Graph

__all__ = ["Branches", "find_branches"]

CLEAR = 1e-6  # an elbow that is straighter than this has no side
SAME_POSE = 1e-6
SIGNS = "+: the joint lies to the left of the line from its neighbor nearer to the ground to the other, along its axis"
LEVEL = 0.2  # of the rise of an elbow against its distance from the chord, from which on up and down are clear


@public_methods
@dataclass(frozen=True)
class Branches(Sequence[State]):
    """All closed positions that were found, the nearest to the beginning first.

    Attributes:
        names: of the branches.
        states: one for each.
        legend: what the names mean.
        closures: how they were found: starts, hits of each, whether one is singular.

    Example:
        branches = da.assemble(da.library.four_bar(), {"A": 1.0}, branches="all")
        run = da.simulate(da.library.four_bar(), 1.0, initial=branches["crossed"])
    """

    names: tuple[str, ...]
    states: tuple[State, ...]
    legend: str
    closures: Closures

    def __len__(self) -> int:
        return len(self.states)

    @overload
    def __getitem__(self, at: int | str) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[State, ...]: ...
    def __getitem__(self, at: int | slice | str) -> State | tuple[State, ...]:
        """A state by its name or number."""
        if not isinstance(at, str):
            return entry_of("branches", self.states, at)
        if at not in self.names:
            raise MissingError(f"unknown branch {at!r}; there are {', '.join(self.names)}")
        return self.states[self.names.index(at)]

    def __iter__(self) -> Iterator[State]:
        return iter(self.states)

    starts = PassedOn[int]("closures.starts", "How many random positions the search began at.")
    unexplored = PassedOn[float](
        "closures.unexplored", "Expected probability that one more start finds another branch."
    )

    def distinct(self, *bodies: str) -> Branches:
        """The branches in which some bodies stand differently; others are left out.

        The legs of a platform on universal joints may turn over one by one: where the platform is, they do not matter.
        """
        known = self.states[0].coordinates.bodies
        unknown = [name for name in bodies if name not in known]
        if unknown or not bodies:
            raise DalembertError(f"distinct: expected bodies of {', '.join(known)}, got {', '.join(unknown) or 'none'}")
        poses = [np.concatenate([np.ravel([*X.R, X.p]) for X in (s.body(b)[0] for b in bodies)]) for s in self.states]
        kept: list[int] = []
        for i, pose in enumerate(poses):
            if all(np.abs(pose - poses[k]).max() > SAME_POSE for k in kept):
                kept.append(i)
        return self.picked(kept)

    def picked(self, kept: Sequence[int], more: str = "") -> Branches:
        """Some of the branches; ``more`` joins the legend."""
        c, at = self.closures, list(kept)
        fewer = Closures(c.q[at], c.hits[at], c.singular[at], c.starts, c.closed)
        names, states = tuple(self.names[i] for i in at), tuple(self.states[i] for i in at)
        return Branches(names, states, self.legend + more, fewer)

    def __repr__(self) -> str:
        flat = self.states[0].coordinates.flat
        return f"<{len(self)} branches of {flat.name!r}: {', '.join(self.names)}>"

    def __str__(self) -> str:
        """One line for each branch with the coordinates of all joints, and how sure it is that none is missing."""
        coordinates = self.states[0].coordinates
        shown = [name for name in coordinates.flat.joints if coordinates.nominal_joint(name).joint.nq == 1]
        width = max(len(name) for name in self.names)
        lines: list[str] = []
        for name, state, singular in zip(self.names, self.states, self.closures.singular, strict=True):
            values = "  ".join(f"{joint} {round(float(state.joint(joint)[0][0]), 12) + 0.0:+.6g}" for joint in shown)
            lines.append(f"{name:<{width}}  {values}{'  (singular)' if singular else ''}")
        found = self.closures
        lines.append(self.legend)
        lines.append(
            f"{len(self)} branches from {found.starts} random starts, of which {found.closed} closed; another one is "
            f"expected with one start in {1 / max(self.unexplored, 1e-300):.0f}: complete by statistics, not by proof"
        )
        return "\n".join(lines)

    def draw(self, path: str | Path | None = None) -> Any:
        """One panel for each branch; a matplotlib figure, written to ``path`` if given.

        Args:
            path: a PNG, SVG or PDF file.
        """
        from dalembert.view import with_file
        from dalembert.view.sticks import branch_figure

        return with_file(branch_figure(self), path)


def find_branches(assembler: Assembler) -> Branches:
    """Every closure with what is given; the model's own start counts where freedoms are left."""
    if assembler.dynamics.is_large:
        raise DalembertError("branches='all' is for small models")
    near = assembler.beginning()
    search = _determined(assembler, near)
    found = search.all(near)
    if not len(found.q):
        from dalembert.analyses.assembly.assemble_gap import explain

        raise explain(search, near, search.nearest(search.placed(near))[1])
    states = tuple(
        State(assembler.time, q, assembler.velocities(q), assembler.coordinates, assembler.parameters) for q in found.q
    )
    names, legend = _names(states, search)
    return Branches(names, states, legend, found)


def _determined(assembler: Assembler, near: np.ndarray) -> Search:
    """A search with what is given, and with as much of the model's own start as leaves no freedom."""
    desired = assembler.desired

    def search(now: Desired) -> Search:
        return Search(assembler.dynamics, now, assembler.parameters, assembler.time, assembler.start.weights)

    made = search(desired)
    closed, _, _ = made.nearest(made.placed(near))
    for name, value in assembler.own_start.items():
        if closed is None or not made.freedoms(closed)[0]:
            break
        if name in desired.joints or name not in made.freedoms(closed)[1]:
            continue
        desired = Desired({**desired.joints, name: value}, desired.quantities, desired.values)
        made = search(desired)
        closed, _, _ = made.nearest(made.placed(near))
    return made


# Names


@dataclass(frozen=True)
class Elbow:
    """A joint between two others of a loop.

    Attributes:
        joint: its name.
        side: in each state, how far it lies to the left of the line between its neighbors, seen against its axis (m).
        rise: how far it lies above that line (m).
        dyad: both its links have no other joints.
    """

    joint: str
    side: np.ndarray
    rise: np.ndarray
    dyad: bool

    @property
    def mirrored(self) -> float:
        """How much the states look like mirror images; 0 if they do."""
        size = np.abs(self.side)
        return float(np.ptp(size) / max(size.max(), 1e-300))

    @property
    def clear(self) -> bool:
        """True if the elbow bends in every state, and not to the same side in all."""
        size = np.abs(self.side)
        return bool(size.min() > CLEAR * max(size.max(), 1e-300) and np.ptp(np.sign(self.side)) > 0)


def _names(states: tuple[State, ...], search: Search) -> tuple[tuple[str, ...], str]:
    """A name for each state, and what the names mean."""
    if len(states) == 1:
        return ("only",), "only: no other was found"
    four = _four_bar(states, search)
    if four is not None:
        return four
    chosen = _telling(sorted(_elbows(states, search), key=lambda e: (not e.dyad, round(e.mirrored, 3))), len(states))
    if chosen is not None and len(chosen) == 1:
        return _one_elbow(chosen[0])
    if chosen is not None:
        names = tuple(
            " ".join(f"{e.joint}{'+' if e.side[i] > 0 else '−'}" for e in sorted(chosen, key=lambda e: e.joint))
            for i in range(len(states))
        )
        return names, SIGNS
    return _by_value(states, search.coordinates)


def _one_elbow(elbow: Elbow) -> tuple[tuple[str, ...], str]:
    steep = np.abs(elbow.rise) < LEVEL * np.abs(elbow.side)
    if not steep.any() and np.ptp(np.sign(elbow.rise)) > 0:
        words, legend = (
            np.where(elbow.rise > 0, "up", "down"),
            "the joint lies above or below the line through its neighbors",
        )
    else:
        words, legend = (
            np.where(elbow.side > 0, "left", "right"),
            "the side of the line through its neighbors on which it lies",
        )
    return tuple(f"{elbow.joint} {word}" for word in words), f"elbow {elbow.joint}: {legend}"


def _telling(elbows: list[Elbow], count: int) -> list[Elbow] | None:
    """The first elbows whose signs together tell all states apart."""
    chosen: list[Elbow] = []
    kinds = 1
    for elbow in elbows:
        signs = {tuple(np.sign(e.side[i]) for e in [*chosen, elbow]) for i in range(count)}
        if elbow.clear and len(signs) > kinds:
            chosen, kinds = [*chosen, elbow], len(signs)
        if kinds == count:
            return chosen
    return None


def loops_of(coordinates: Coordinates) -> list[tuple[str, ...]]:
    """Joints of every fundamental loop, one after the other around it."""
    graph = Graph(coordinates.flat)
    return [(loop.cut, *loop.joints) for loop in graph.loops(graph.spanning_tree())]


def places(state: State, mechanism: Mechanism, joint: str) -> tuple[np.ndarray, np.ndarray]:
    """Where a joint is, and its axis, in the world."""
    placed = mechanism.joint(joint)
    X = state.body(placed.first)[0] if placed.first != "ground" else None
    P = placed.X_1P if X is None else X @ placed.X_1P
    return np.asarray(P.p, dtype=float), np.asarray(P.R, dtype=float)[:, 2]


def is_pin(coordinates: Coordinates, joint: str) -> bool:
    """True if a joint turns and keeps its point on its own axis, as a hinge, a ball, or a pin of a planar mechanism."""
    own = coordinates.nominal_joint(joint).joint
    X = own.transform(NUMPY, own.random(np.random.default_rng(0)))
    turned = np.abs(np.asarray(X.R, dtype=float) - np.eye(3)).max()
    return bool(turned > CLEAR and np.abs(np.asarray(X.p, dtype=float)[:2]).max() < CLEAR)


def _elbows(states: tuple[State, ...], search: Search) -> list[Elbow]:
    coordinates, mechanism = search.coordinates, search.mechanism
    flat = coordinates.flat
    around: dict[str, int] = {}
    for data, _ in flat.joints.values():
        for body in data.bodies:
            around[body] = around.get(body, 0) + 1
    gravity = np.asarray(mechanism.gravity, dtype=float)
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 1.0, 0.0])
    far = _from_ground(coordinates)
    found: dict[str, Elbow] = {}
    for loop in loops_of(coordinates):
        for k, joint in enumerate(loop):
            inner, outer = sorted((loop[k - 1], loop[(k + 1) % len(loop)]), key=lambda name: far[name])
            neighbors = (inner, joint, outer)
            if joint in found or len(loop) < 3 or not all(is_pin(coordinates, name) for name in neighbors):
                continue
            side, rise = np.empty(len(states)), np.empty(len(states))
            for i, state in enumerate(states):
                (a, _), (b, axis), (c, _) = (places(state, mechanism, name) for name in neighbors)
                chord = c - a
                length = max(float(np.linalg.norm(chord)), 1e-300)
                side[i] = np.cross(chord, b - a) @ axis / length
                rise[i] = (b - a - chord * (chord @ (b - a)) / length**2) @ up
            dyad = all(body != "ground" and around[body] == 2 for body in flat.joints[joint][0].bodies)
            found[joint] = Elbow(joint, side, rise, dyad)
    return list(found.values())


def _from_ground(coordinates: Coordinates) -> dict[str, int]:
    """How many bodies lie between the ground and a joint, by the shortest way."""
    joints = {name: data.bodies for name, (data, _) in coordinates.flat.joints.items()}
    steps, level = {"ground": 0}, ["ground"]
    while level:
        reached = [b for first in level for pair in joints.values() if first in pair for b in pair if b not in steps]
        steps |= dict.fromkeys(reached, steps[level[0]] + 1)
        level = list(dict.fromkeys(reached))
    return {name: min(steps.get(body, len(steps)) for body in pair) for name, pair in joints.items()}


def _four_bar(states: tuple[State, ...], search: Search) -> tuple[tuple[str, ...], str] | None:
    """open and crossed, for the two branches of one loop of four pins."""
    coordinates = search.coordinates
    loops = loops_of(coordinates)
    if len(states) != 2 or len(loops) != 1 or len(loops[0]) != 4:
        return None
    if not all(is_pin(coordinates, name) for name in loops[0]):
        return None
    loop = loops[0]
    given = [k for k, name in enumerate(loop) if name in search.desired.joints]
    at = given[0] if given else _driven(search, loop)
    if at is None:
        return None
    ends = [loop[at - 1], loop[(at + 1) % 4]]
    names: list[str] = []
    for state in states:
        (a, axis), (b, _), (c, _), (d, _) = (
            places(state, search.mechanism, name) for name in (loop[at], ends[0], loop[(at + 2) % 4], ends[1])
        )
        sides = [np.cross(d - b, p - b) @ axis for p in (a, c)]
        names.append("open" if sides[0] * sides[1] < 0 else "crossed")
    if len(set(names)) < 2:
        return None
    return tuple(
        names
    ), f"open: {loop[at]} and {loop[(at + 2) % 4]} lie on different sides of the line {ends[0]}{ends[1]}"


def _driven(search: Search, loop: tuple[str, ...]) -> int | None:
    """The joint of a loop that a drive moves."""
    flat = search.dynamics.flat
    driven = {joint for c, _ in flat.constraints.values() for joint, _, _ in c.gives()}
    return next((k for k, name in enumerate(loop) if name in driven), None)


def _by_value(states: tuple[State, ...], coordinates: Coordinates) -> tuple[tuple[str, ...], str]:
    """The coordinate whose values lie furthest apart."""
    best: tuple[float, str, np.ndarray] = (0.0, "", np.zeros(0))
    for name in coordinates.flat.joints:
        joint = coordinates.nominal_joint(name).joint
        if joint.nq != 1 or not joint.measurable:
            continue
        values = np.array([float(state.joint(name)[0][0]) for state in states])
        ordered = np.sort(values)
        gap = float(np.diff(ordered).min() / max(np.ptp(values), 1e-300))
        if np.ptp(values) > CLEAR and gap > best[0]:
            best = (gap, name, values)
    if best[0] < 1e-4:
        return tuple(f"branch {i + 1}" for i in range(len(states))), "in the order of their distance from the beginning"
    unit = "rad" if coordinates.nominal_joint(best[1]).joint.angles else "m"
    return tuple(f"{best[1]} {value:.6g}" for value in best[2]), f"by the coordinate of {best[1]} ({unit})"
