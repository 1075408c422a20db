"""Closed positions from any start: one, the nearest of some, or all of them.

All closures are looked for from random starts. With w different ones found by n starts that closed, the next start
finds a new one with the expected probability

    w (w + 1) / (n (n − 1))                                                                                        (1)

if nothing is known about how large their regions of attraction are. The search ends when this is small.

Reference: C. G. E. Boender, A. H. G. Rinnooy Kan, "Bayesian stopping rules for multistart global optimization methods",
Mathematical Programming 37 (1987).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble_given import Desired, joint_quantity, joint_rows
from dalembert.analyses.assembly.long_ways import LARGEST_MOVE, MOST_STAGES, refuse_turns, seen_by_constraints
from dalembert.dynamics import Dynamics
from dalembert.dynamics.assembly import CLOSED, Closing, Quantity, lead_all, settle, settle_all
from dalembert.equations import Equations
from dalembert.errors import ModelError, Problem
from dalembert.model import Mechanism

__all__ = ["Closures", "Search", "points_and_balances", "strides"]

UNEXPLORED = 1e-3  # expected share of starts that would find something new, at which the search ends
FIRST_STARTS, MOST_STARTS = 64, 20_000
NEAR_STARTS = 40  # of each of the ways to look near a bad start
SPREADS = (0.3, 1.0)  # of these starts (rad, or parts of the size of the mechanism)
SAME = 1e-6  # two positions that are one
SAME_SINGULAR = 1e-3  # at singular positions, which are known to half the digits only
RANK = 1e-7
TURN = 2 * np.pi
MASSLESS = 1e-8  # what it costs to move a massless point, where others cost 1
WEAK = 0.3  # entries of a null vector that name their joint


@dataclass(frozen=True)
class Closures:
    """Closed positions, and how they were found.

    Attributes:
        q: one row for each.
        hits: how many starts led to each.
        singular: True where a small motion remains possible though all freedoms are given.
        starts, closed: how many starts there were, and how many led to a closed position.
    """

    q: np.ndarray
    hits: np.ndarray
    singular: np.ndarray
    starts: int
    closed: int

    @property
    def unexplored(self) -> float:
        """Expected probability that one more start finds another position, by (1)."""
        n, w = self.closed, len(self.q)
        return 1.0 if n < 2 else min(1.0, w * (w + 1) / (n * (n - 1)))


class Search:
    """One mechanism at one time with given values.

    Attributes:
        held: velocities that stay zero, because their coordinates are given.
        values: of the quantities, one after the other.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        desired: Desired,
        parameters: dict[str, float],
        time: float,
        weights: Mapping[str, float] | None = None,
    ):
        self.dynamics, self.time, self.parameters, self.desired = dynamics, time, parameters, desired
        self.coordinates = dynamics.coordinates
        self.tree = self.coordinates.place(NUMPY, {**dynamics.flat.parameters, **parameters})
        self.mechanism: Mechanism = self.tree.mechanism
        self.even, self.held = dynamics.even, np.zeros(dynamics.nv, dtype=bool)
        self.quantities, self.values = self._sort(desired)
        self.record = self._record(strides(dynamics, weights or {}))

    def _sort(self, desired: Desired) -> tuple[tuple[Quantity, ...], np.ndarray]:
        """Joints of the tree are held; the others, and all else, become residuals."""
        quantities: list[Quantity] = []
        values: list[np.ndarray] = []
        for name, value in desired.joints.items():
            joint = self.coordinates.nominal_joint(name).joint
            slot, rows = self.coordinates.slot_of_joint.get(name), joint_rows(joint, value)
            if slot is not None:
                self.held[slot.u] = rows
            elif rows.any():
                quantities.append(joint_quantity(joint, name, np.flatnonzero(rows).tolist()))
                values.append(value if joint.nq != joint.nv else value[rows])
        for one in desired.quantities:
            quantities.append(one)
            values.append(desired.values[one.name])
        return tuple(quantities), np.concatenate(values) if values else np.zeros(0)

    def _record(self, stride: np.ndarray) -> Closing:
        d, p = self.dynamics, self.dynamics.parameters(self.parameters)
        rows = self._row_units()
        made = Closing(
            nq=d.nq, nv=d.nv, rows=len(rows), n_windings=len(self.coordinates.windings), n_parameters=len(p),
            n_given=len(self.values), parameters=p.copy(), given=self.values.copy(),
            stride=np.where(self.held, 0.0, stride), error=np.inf, scaled=int(not self.even.everyday),
            place_unit=self.even.coordinates.copy(), unit=self.even.velocities.copy(), row_unit=rows,
        )  # fmt: skip
        made.set(kernel=d.kernels.closing_kernel(self.quantities), move=d.kernels.move_kernel)
        return made

    def _row_units(self) -> np.ndarray:
        """Of constraints, then of quantities."""
        d, count = self.dynamics, sum(one.rows for one in self.quantities)
        if self.even.everyday:
            return np.ones(d.holonomic + count)
        drawn = np.concatenate([self.coordinates.drawn(), np.zeros(d.nv)])
        J = np.asarray(self._seen(drawn).jacobian).reshape(-1, d.nv)[d.holonomic :]
        return np.concatenate([self.even.rows[: d.holonomic], self.even.row_units(J)])

    def _value_units(self) -> np.ndarray:
        """What given values of quantities are multiplied by; those of poses count as numbers."""
        units, at = list[np.ndarray](), self.dynamics.holonomic
        for one in self.quantities:
            own = self.record.row_unit[at : at + one.rows]
            units.append(own if one.rows == one.given else np.full(one.given, min(1.0, own.min())))
            at += one.rows
        return np.concatenate([np.zeros(0), *units])

    # One start

    def placed(self, q: np.ndarray) -> np.ndarray:
        """q with the given coordinates."""
        q = q.copy()
        for name, value in self.desired.joints.items():
            slot = self.coordinates.slot_of_joint.get(name)
            if slot is not None:
                q[slot.q] = np.where(np.isfinite(value), value, q[slot.q])
        return q

    def settled(self, q: np.ndarray) -> tuple[np.ndarray, float]:
        """The position to which a start leads, and the largest residual left."""
        y = np.concatenate([self.placed(q), np.zeros(self.dynamics.nv)])
        self.record.given[:] = self.values
        settle(self.record, self.time, y)
        return y[: self.dynamics.nq], self.record.error

    def is_closed(self, q: np.ndarray, error: float) -> bool:
        """True if all rows vanish and no joint is upside down, which its equations do not see."""
        return bool(error <= CLOSED * self.even.size(q)) and not self.flipped(q)

    def flipped(self, q: np.ndarray) -> list[str]:
        """Cut joints whose equations hold though the joint does not lead to this pose, such as one with its axis turned
        over."""
        found: list[str] = []
        motion = Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv)).motion
        for name in self.coordinates.cut:
            placed = self.mechanism.joint(name)
            if placed.joint.measurable:
                X, _ = motion.relative(placed)
                off = placed.joint.transform(NUMPY, placed.joint.coordinates(NUMPY, X)).inverse() @ X
                if np.abs(off.R - np.eye(3)).max() > 0.5:
                    found.append(name)
        return found

    def nearest(self, q: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, float]:
        """A closed position near a start, that with the shortest way; else the best fit that was met, and its
        residual."""
        at, error = self.settled(q)
        if self.is_closed(at, error):
            return at, at, error
        best, least = at, error if not self.flipped(at) else np.inf
        rng = np.random.default_rng(0)
        for spread in (*SPREADS, None):
            starts = self.starts(NEAR_STARTS, rng, q, spread)
            errors = np.empty(len(starts))
            settle_all(self.record, self.time, starts, errors)
            rows = starts[:, : self.dynamics.nq]
            closed = [(self.distance(q, row), i) for i, row in enumerate(rows) if self.is_closed(row, errors[i])]
            if closed:
                found = rows[min(closed)[1]]
                return self.unwound(found, q), found, 0.0
            for row, left in zip(rows, errors, strict=True):
                if left < least and not self.flipped(row):
                    best, least = row, float(left)
        return None, best, least

    # Many starts

    def size(self, q: np.ndarray) -> float:
        """How far joints lie apart (m), to scale displacements."""
        motion = Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv)).motion
        places = [np.zeros(3)]
        for name in self.dynamics.flat.joints:
            placed = self.mechanism.joint(name)
            places.append(np.asarray(motion.body(placed.first)[0].apply(placed.X_1P.p), dtype=float))
        places += [np.asarray(motion.body(body)[0].p, dtype=float) for body in self.coordinates.bodies]
        return float(np.ptp(np.array(places), axis=0).max()) or 1.0

    def starts(self, count: int, rng: np.random.Generator, near: np.ndarray, spread: float | None) -> np.ndarray:
        """Rows (q, u = 0): about a position, or anywhere if ``spread`` is None."""
        d, size = self.dynamics, self.size(near)
        rows = np.tile(np.concatenate([self.placed(near), np.zeros(d.nv)]), (count, 1))
        for slot in self.coordinates.slots:
            joint = self.coordinates.joint_at(slot)
            at = list(range(slot.q.start, slot.q.stop))
            balls = {first + k for first in joint.quaternions for k in range(4)}
            for k, i in enumerate(at):
                if k in balls:
                    rows[:, i] = rng.normal(size=count) + (0.0 if spread is None else near[i] / spread)
                elif spread is not None:
                    rows[:, i] = near[i] + spread * (1.0 if k in joint.angles else size) * rng.normal(size=count)
                elif k in joint.angles:
                    rows[:, i] = rng.uniform(-np.pi, np.pi, count)
                else:
                    rows[:, i] = near[i] + 1.5 * size * rng.uniform(-1.0, 1.0, count)
            for first in joint.quaternions:
                ball = at[first : first + 4]
                rows[:, ball] /= np.linalg.norm(rows[:, ball], axis=1, keepdims=True)
        for i in range(count):
            rows[i, : d.nq] = self.placed(rows[i, : d.nq])
        return rows

    def signature(self, q: np.ndarray) -> np.ndarray:
        """Numbers that are equal for equal positions: whole turns and signs of quaternions do not count."""
        parts: list[np.ndarray] = []
        q = np.atleast_2d(q) / self.even.coordinates
        for slot in self.coordinates.slots:
            joint, own = self.coordinates.joint_at(slot), q[:, slot.q]
            balls = {first + k for first in joint.quaternions for k in range(4)}
            for first in joint.quaternions:
                ball = own[:, first : first + 4]
                parts.append((ball[:, :, None] * ball[:, None, :]).reshape(len(q), -1))
            for k in set(range(joint.nq)) - balls:
                turning = k in joint.angles and not joint.measured
                parts += [np.cos(own[:, [k]]), np.sin(own[:, [k]])] if turning else [own[:, [k]]]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(q), 0))

    def distance(self, q0: np.ndarray, q1: np.ndarray) -> float:
        """How different two positions are."""
        return float(np.linalg.norm(self.signature(q0) - self.signature(q1)))

    def unwound(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """q with angles as near as whole turns allow: one by one, and two at once where an equation counts turns."""
        free = [
            slot.q.start + k
            for slot in self.coordinates.slots
            for k in (() if self.coordinates.joint_at(slot).measured else self.coordinates.joint_at(slot).angles)
            if not self.held[slot.u.start + k]
        ]
        turns = np.zeros(len(q))
        turns[free] = -np.round((q[free] - near[free]) / TURN)
        if self._is_solved(q + TURN * turns):
            return q + TURN * turns
        wound = [i for i in free if turns[i]]
        for i in wound:
            alone = np.zeros(len(q))
            alone[i] = turns[i]
            if self._is_solved(q + TURN * alone):
                q = q + TURN * alone
                continue
            for j in free:
                for sign in (-1.0, 1.0) if j != i else ():
                    both = alone.copy()
                    both[j] = sign * turns[i]
                    new = q + TURN * both
                    closer = np.abs(new - near)[[i, j]].sum() < np.abs(q - near)[[i, j]].sum() - 1e-9
                    if closer and self._is_solved(new):
                        q = new
        return q

    def _is_solved(self, q: np.ndarray) -> bool:
        left = np.asarray(self._seen(np.concatenate([q, np.zeros(self.dynamics.nv)])).residual) * self.record.row_unit
        return bool(np.abs(left).max(initial=0.0) <= CLOSED * self.even.size(q))

    def _seen(self, y: np.ndarray) -> Any:
        nq, p = self.dynamics.nq, self.dynamics.parameters(self.parameters)
        return self.dynamics.kernels.closing_kernel(self.quantities)(self.time, y[:nq], y[nq:], p, self.values)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """All rows for the velocities that are not held, in even units."""
        seen = self._seen(np.concatenate([q, np.zeros(self.dynamics.nv)]))
        return self._even(np.asarray(seen.jacobian).reshape(-1, self.dynamics.nv))

    def jacobians(self, q: np.ndarray) -> np.ndarray:
        """The same at many positions."""
        d, p = self.dynamics, self.dynamics.parameters(self.parameters)
        kernel = d.kernels.closing_kernel(self.quantities)
        seen = kernel(self.time, q, np.zeros((len(q), d.nv)), p, self.values)
        return self._even(np.asarray(seen.jacobian).reshape(len(q), -1, d.nv))

    def _even(self, J: np.ndarray) -> np.ndarray:
        return (self.record.row_unit[:, None] * J * self.even.velocities)[..., ~self.held]

    def freedoms(self, q: np.ndarray) -> tuple[int, list[str]]:
        """How many freedoms remain at a closed position, and who can still move."""
        free = [name for name, held in zip(self.dynamics.u_names, self.held, strict=True) if not held]
        J = self.jacobian(q)
        if not free:
            return 0, []
        if not len(J):
            return len(free), free
        _, sizes, right = np.linalg.svd(J)
        rank = int(np.sum(sizes > RANK * max(sizes.max(initial=0.0), 1e-300)))
        moving = np.abs(right[rank:]).max(axis=0) if rank < len(free) else np.zeros(len(free))
        largest = moving.max(initial=0.0)
        names = [name for name, size in zip(free, moving, strict=True) if size > WEAK * largest > 0]
        return len(free) - rank, list(dict.fromkeys(names))

    def all(self, near: np.ndarray) -> Closures:
        """All closed positions, as far as starts show; the nearest first."""
        rng = np.random.default_rng(0)
        found: list[np.ndarray] = []
        marks: list[np.ndarray] = []
        hits: list[int] = []
        singular: list[bool] = []
        starts, closed = 0, 0
        count = FIRST_STARTS
        self.record.given[:] = self.values
        while True:
            rows = self.starts(count, rng, near, None)
            if not starts:
                rows[0, : self.dynamics.nq] = self.placed(near)
            errors = np.empty(len(rows))
            settle_all(self.record, self.time, rows, errors)
            starts += len(rows)
            signatures = self.signature(rows[:, : self.dynamics.nq])
            for q, mark, error in zip(rows[:, : self.dynamics.nq], signatures, errors, strict=True):
                if error > CLOSED * self.even.size(q):
                    continue
                known = self._known(mark, marks, singular)
                if known is None:
                    if self.flipped(q):
                        continue
                    freedoms, names = self.freedoms(q)
                    found, marks = [*found, self.unwound(q, near)], [*marks, mark]
                    hits, singular, known = [*hits, 0], [*singular, freedoms > 0], len(hits)
                    self._check_freedoms(singular, freedoms, names)
                hits[known] += 1
                closed += 1
            done = Closures(np.array(found), np.array(hits), np.array(singular), starts, closed)
            if done.unexplored < UNEXPLORED or starts >= MOST_STARTS:
                break
            count = min(2 * count, MOST_STARTS - starts)
        order = np.argsort([self.distance(near, q) for q in found], kind="stable")
        if not len(found):
            return Closures(np.zeros((0, self.dynamics.nq)), done.hits, done.singular, starts, closed)
        return Closures(done.q[order], done.hits[order], done.singular[order], starts, closed)

    def _known(self, mark: np.ndarray, marks: list[np.ndarray], singular: list[bool]) -> int | None:
        if not marks:
            return None
        off = np.abs(np.array(marks) - mark).max(axis=1, initial=0.0)
        same = np.flatnonzero(off <= np.where(singular, SAME_SINGULAR, SAME))
        return int(same[0]) if len(same) else None

    def _check_freedoms(self, singular: list[bool], freedoms: int, names: list[str]) -> None:
        """Branches are counted where all freedoms are given."""
        if freedoms and sum(singular) > 2 and all(singular):
            some = names[0] if names else "joint"
            plural = "s of freedom are" if freedoms > 1 else " of freedom is"
            raise ModelError(
                Problem(
                    f"branches of {self.dynamics.flat.name!r}: {freedoms} degree{plural} left open, so positions are "
                    f"not separate; {', '.join(names)} can still move",
                    "branches",
                    f"give as many coordinates, e.g. initial={{{some!r}: 0.5}}, or locked=[{some!r}]",
                )
            )

    # Many results along paths

    def lead(self, base: np.ndarray, wanted: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions led from a closed one to given coordinates and values, one row for each; and what is left.

        Args:
            base: closed with the values of this search.
            wanted: rows of coordinates; those that are held count.
            values: rows of values of the quantities.
        """
        d, n = self.dynamics, len(wanted)
        ways = np.zeros((n, d.nv))
        for slot in self.coordinates.slots:
            joint = self.coordinates.joint_at(slot)
            if self.held[slot.u].any():
                for i in range(n):
                    ways[i, slot.u] = joint.difference(NUMPY, base[slot.q], wanted[i, slot.q])
        ways[:, ~self.held] = 0.0
        put = self._without_way(base, ways)
        ways /= self.even.velocities
        both = np.vstack([self.values[None], values]) if len(self.values) else np.zeros((n + 1, 0))
        moves = np.abs(both[1:] - both[0]) * self._value_units()
        longest = np.maximum(np.abs(ways).max(axis=1, initial=0.0), moves.max(axis=1, initial=0.0))
        stages = np.clip(np.ceil(longest / LARGEST_MOVE), 1.0, MOST_STAGES)
        out, errors = np.empty((n, d.nq + d.nv)), np.empty(n)
        start = np.concatenate([base, np.zeros(d.nv)])
        lead_all(self.record, self.time, start, ways, np.ascontiguousarray(both), stages, out, errors)
        q = out[:, : d.nq]
        for at in put:
            q[:, at] = wanted[:, at]
        for slot in self.coordinates.slots:
            if self.held[slot.u].any() and slot.q.stop - slot.q.start == slot.u.stop - slot.u.start:
                exact = self.held[slot.u] & (np.abs(q - wanted)[:, slot.q] < 1e-9 * self.even.coordinates[slot.q])
                q[:, slot.q] = np.where(exact, wanted[:, slot.q], q[:, slot.q])
        return q, errors

    def _without_way(self, base: np.ndarray, ways: np.ndarray) -> list[slice]:
        """Coordinates that are put as they are wanted, as their way is long and nothing sees them; it becomes zero."""
        most = MOST_STAGES * LARGEST_MOVE
        if not (np.abs(ways / self.even.velocities) > most).any():
            return []
        seen = np.ones(self.dynamics.nv, dtype=bool)
        if not self.quantities:
            seen = seen_by_constraints(self.dynamics, self.tree, self.time, base, self.parameters)
        put: list[slice] = []
        for slot in self.coordinates.slots:
            if self.held[slot.u].all() and not seen[slot.u].any():
                ways[:, slot.u] = 0.0
                put.append(slot.q)
            joint, longest = self.coordinates.joint_at(slot), np.abs(ways[:, slot.u]).max(axis=0, initial=0.0)
            refuse_turns(self.dynamics, {slot.joint or "": (joint, longest)})
        return put


def strides(dynamics: Dynamics, weights: Mapping[str, float]) -> np.ndarray:
    """1/√weight of each velocity; massless points go where springs hold them, before anything else moves."""
    stride = np.ones(dynamics.nv)
    for name, weight in {**massless_points(dynamics), **weights}.items():
        slot = dynamics.coordinates.slot_of_joint.get(name)
        if slot is not None:
            stride[slot.u] = 1.0 / np.sqrt(weight)
    return stride


def massless_points(dynamics: Dynamics) -> dict[str, float]:
    """Weights of the joints that carry massless points."""
    points = {constraint.places for constraint, _ in dynamics.flat.constraints.values()}
    return {name: MASSLESS for name, (joint, _) in dynamics.flat.joints.items() if joint.bodies[1] in points}


def points_and_balances(dynamics: Dynamics) -> tuple[np.ndarray, np.ndarray]:
    """Which velocities are those of massless points, and which holonomic rows balance their forces."""
    moved, coordinates = np.zeros(dynamics.nv, dtype=bool), dynamics.coordinates
    for name in massless_points(dynamics):
        if name in coordinates.slot_of_joint:
            moved[coordinates.slot_of_joint[name].u] = True
    own = {name for name, (constraint, _) in dynamics.flat.constraints.items() if constraint.places}
    return moved, np.array([row.owner in own for row in dynamics.rows[: dynamics.holonomic]], dtype=bool)
