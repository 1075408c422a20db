"""The rank of the constraints at a position and next to it: what is redundant everywhere, and what is singular here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import ModelError
from dalembert.state import State

__all__ = [
    "Positions", "Ranks", "dependent_rows", "hold_rank", "null_rows", "rank_to_hold", "ranks",
    "settled_rank",
]  # fmt: skip

# Of singular values, rows being of length one. A position that an over-constrained mechanism has to ε leaves a residual
# of ε² only: at 1e-14 it is known to 1e-7, and dependent rows look independent to that order.
RANK_TOLERANCE = 1e-6
# A row this small, against 1 or the largest, is rounding and no equation.
NO_ROW = 1e-9
STEP = 0.02  # to positions nearby (in even units: rad or m)
NEARBY_TOLERANCE = 1e-5  # of singular values there: what vanishes at the start is of the order of the step
PROBES = 6
OFF = 1e-3  # from closed positions (the same)
MOVED = 0.2  # of the step: what moves less is held after all
CLOSED = 1e-11
EXACT = 1e-15
NEWTON_STEPS = 60
LARGEST_MOVE = 0.3


@dataclass(frozen=True)
class Ranks:
    """Rank of the constraint rows that act, at a position and at a general one nearby.

    Attributes:
        q: the position, settled as well as numbers allow.
        jacobian: A there.
        rank, nearby_rank: of A.
        nearby: a general position, reached by a finite motion; None if there is none: the mechanism is stuck.
    """

    q: np.ndarray
    jacobian: np.ndarray
    rank: int
    nearby: np.ndarray | None
    nearby_rank: int


class Positions:
    """Positions of a mechanism in relative coordinates at one time.

    Attributes:
        acting: numbers of the constraint rows that are not switched off.
    """

    def __init__(self, dynamics: Dynamics, state: State):
        self.dynamics, self.time, self.parameters = dynamics, state.time, state.parameters
        self.tree = dynamics.coordinates.place(NUMPY, {**dynamics.flat.parameters, **state.parameters})
        self.even = dynamics.even
        off = dynamics.flat.off(state.parameters)
        self.acting = [i for i, row in enumerate(dynamics.rows) if row.owner not in off]
        self.holonomic = [i for i in self.acting if dynamics.rows[i].holonomic]

    def residual(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ of the rows that act, and all rows of A; in even units."""
        values = self.dynamics.residuals(self.time, q, np.zeros(self.dynamics.nv), self.parameters)
        rows, position, A = self.even.rows, np.asarray(values.position), np.asarray(values.jacobian)
        return (rows[: len(position)] * position)[self.holonomic], rows[:, None] * A * self.even.velocities

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """A of the rows that act, in even units."""
        return self.residual(q)[1][self.acting]

    def moved(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        """q along a tangent; windings follow the angles that the poses show."""
        new = self.tree.normalize(self.tree.integrate(q, du))
        windings = self.dynamics.coordinates.windings
        if windings:
            equations = Equations(self.tree, self.time, new, np.zeros(self.dynamics.nv))
            for winding in windings:
                angle = equations.joint_coordinates(winding.joint)[0][winding.index]
                new[winding.q] = angle + 2 * np.pi * np.round((q[winding.q] - angle) / (2 * np.pi))
        return new

    def distance(self, q0: np.ndarray, q1: np.ndarray) -> float:
        """Largest move of a joint from one position to the other, in even units."""
        units = self.even.velocities
        moves = [link.joint.difference(NUMPY, q0[link.q], q1[link.q]) / units[link.u] for link in self.tree.links]
        return float(np.abs(np.concatenate(moves)).max(initial=0.0))

    def settle(self, q: np.ndarray, rank: int | None = None) -> np.ndarray | None:
        """A position near q where all loops are closed, by Newton's method; None if it finds none.

        With a ``rank``, only so many independent equations are used; the others must then hold by themselves. That
        converges fast where constraints are redundant, and not at all where they only seem so.
        """
        for _ in range(NEWTON_STEPS):
            phi, A = self.residual(q)
            error = np.abs(phi).max(initial=0.0)
            if error <= EXACT:
                return q
            U, s, Vt, scale = factors(A[self.holonomic])
            r = int(np.sum(s > 1e-10 * s[0])) if rank is None else rank
            du = -Vt[:r].T @ ((U[:, :r].T @ (phi / scale)) / s[:r])
            longest = np.abs(du).max(initial=0.0)
            if longest <= EXACT * self.even.size(q):
                break
            q = self.moved(q, self.even.velocities * du * min(1.0, LARGEST_MOVE / longest))
        phi, _ = self.residual(q)
        return q if np.abs(phi).max(initial=0.0) <= CLOSED * self.even.size(q) else None


def factors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """U, σ, Vᵀ of A with rows of length one, and the lengths; rows that are rounding count as zero."""
    norms = np.linalg.norm(A, axis=1)
    none = norms <= NO_ROW * max(1.0, norms.max(initial=0.0))
    scale = np.where(none, 1.0, norms)
    U, s, Vt = np.linalg.svd(np.where(none[:, None], 0.0, A / scale[:, None]))
    return U, s, Vt, scale


def rank_of(s: np.ndarray, tolerance: float) -> int:
    return int(np.sum(s > tolerance * s[0])) if len(s) and s[0] > 0 else 0


def null_rows(A: np.ndarray, rank: int) -> np.ndarray:
    """Basis of {n: Aᵀ n = 0} as rows, for a known rank."""
    U, _, _, scale = factors(A)
    return U[:, rank:].T / scale


def dependent_rows(A: np.ndarray, rank: int) -> list[int]:
    """Rows that depend on the ones before them."""
    if not len(A):
        return []
    _, _, _, scale = factors(A)
    kept: list[np.ndarray] = []
    dependent: list[int] = []
    for i, row in enumerate(A / scale[:, None]):
        rest = row.copy()
        for _ in range(2):
            for direction in kept:
                rest = rest - (direction @ rest) * direction
        length = float(np.linalg.norm(rest))
        if length <= RANK_TOLERANCE or len(kept) == rank:
            dependent.append(i)
        else:
            kept.append(rest / length)
    return dependent


def _holonomic_rank(positions: Positions, q: np.ndarray, tolerance: float) -> int:
    return rank_of(factors(positions.residual(q)[1][positions.holonomic])[1], tolerance)


def settled_rank(positions: Positions, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """q settled as well as numbers allow, A of the rows that act, and its rank."""
    if not positions.acting:
        return q, np.zeros((0, positions.dynamics.nv)), 0
    settled = positions.settle(q, _holonomic_rank(positions, q, RANK_TOLERANCE))
    q = q if settled is None else settled
    A = positions.jacobian(q)
    return q, A, rank_of(factors(A)[1], RANK_TOLERANCE)


def ranks(positions: Positions, q: np.ndarray) -> Ranks:
    """Rank of the constraints at q and nearby.

    From q a small step is taken along velocities that the constraints allow, and the loops are closed again. Where
    that leads to a new position, the motion is finite; the largest rank met there is that of a general position.
    """
    q, A, rank = settled_rank(positions, q)
    if not rank and not positions.acting:
        return Ranks(q, A, 0, q, 0)
    holonomic = _holonomic_rank(positions, q, RANK_TOLERANCE)
    free = factors(A)[2][rank:]
    if not len(free):
        return Ranks(q, A, rank, q, rank)
    found: list[tuple[int, np.ndarray]] = []
    rng = np.random.default_rng(0)
    for _ in range(PROBES):
        direction = rng.normal(size=len(free)) @ free
        start = positions.moved(q, positions.even.velocities * STEP * direction / np.abs(direction).max())
        end = positions.settle(start, holonomic)
        if end is None:
            end = _other_rank(positions, start)
        if end is not None and positions.distance(q, end) > MOVED * STEP:
            found.append((rank_of(factors(positions.jacobian(end))[1], NEARBY_TOLERANCE), end))
    if not found:
        return Ranks(q, A, rank, None, positions.dynamics.nv)
    nearby_rank, nearby = max(found, key=lambda entry: entry[0])
    return Ranks(q, A, rank, nearby, nearby_rank)


def _other_rank(positions: Positions, start: np.ndarray) -> np.ndarray | None:
    """A closed position near the start, whatever the rank there; settled once more with that rank."""
    end = positions.settle(start)
    if end is None:
        return None
    return positions.settle(end, _holonomic_rank(positions, end, NEARBY_TOLERANCE))


# Where each of the equations was asked for its rank, and what was found: runs begin at the same place again, with
# nothing closed and then with what is closed there.
_FOUND: WeakKeyDictionary[Dynamics, dict[tuple[Any, ...], tuple[int, int] | None]] = WeakKeyDictionary()
MOST_FOUND = 8


def hold_rank(dynamics: Dynamics, state: State) -> None:
    """Report to the native code the rank of the constraints, where it cannot see it by itself.

    Redundant equations of an over-constrained mechanism, such as Bennett's, depend on the others at closed positions
    only; the stages of an integrator are never quite closed. Nothing is said where the rank is the same off them, as
    in planar mechanisms.
    """
    key = dynamics.parameters(state.parameters).tobytes()
    asked = (key, state.time, state.coordinates.name, state.q.tobytes())
    known = _FOUND.setdefault(dynamics, {})
    if asked not in known:
        if len(known) == MOST_FOUND:
            known.clear()
        known[asked] = rank_to_hold(dynamics, state)
    found = known[asked]
    # A former run with the same parameters may have begun in a position where the rank had to be held.
    if found is None:
        dynamics.rows.held.pop(key, None)
    else:
        dynamics.rows.held[key] = found


def rank_to_hold(dynamics: Dynamics, state: State) -> tuple[int, int] | None:
    """Rank of A and of its holonomic rows, where native code would see another one off the constraints."""
    relative = dynamics.relative
    if not relative.rows or relative.is_large:
        return None
    if state.coordinates.name != "relative":
        state = State(state.time, *state.to(relative.coordinates), relative.coordinates, state.parameters)
    positions = Positions(relative, state)
    q, A, rank = settled_rank(positions, state.q)
    if rank == len(A):
        return None
    if not dynamics.formulation.supports().redundant_constraints:
        raise ModelError(
            f"formulation {dynamics.formulation.name!r} cannot take redundant constraints, and {len(A) - rank} of "
            f"{len(A)} constraint equations depend on the others.  Fix: formulation='lagrange-multipliers'"
        )
    more = dynamics.nv - relative.nv
    loose = max(
        _loose_rank(positions, q), _loose_rank(Positions(dynamics, state), state.to(dynamics.coordinates)[0]) - more
    )
    if loose == rank:
        return None
    found = ranks(positions, q)
    if found.nearby is None or found.nearby_rank >= loose:
        return None
    holonomic = _holonomic_rank(positions, found.nearby, NEARBY_TOLERANCE)
    return found.nearby_rank + more, holonomic + more


def _loose_rank(positions: Positions, q: np.ndarray) -> int:
    """Rank of A a little off the constraints, in the coordinates of these positions."""
    shake = np.random.default_rng(0).uniform(-1.0, 1.0, positions.dynamics.nv)
    aside = positions.moved(q, positions.even.velocities * OFF * shake)
    return rank_of(factors(positions.jacobian(aside))[1], RANK_TOLERANCE)
