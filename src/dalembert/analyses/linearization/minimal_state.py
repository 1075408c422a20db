"""Small motions on the constraint manifold: independent coordinates, and all else as linear functions of them.

A motion next to a reference is δq = W ξ, δu, δu̇, δλ with

    A_h ξ = −φ_w w                                       holonomic rows
    A δu = −v_q W ξ − v_w w                              all rows
    A δu̇ = −g_q W ξ − g_u δu − g_w w
    M δu̇ − Aᵀδλ = −r_q W ξ − r_u δu − r_w w

for inputs w. Entries ξ_I and δu_I that are left free by pivoting are the state (x, y); the others follow by solving
these equations with the columns that carry them. Since the state consists of coordinates and velocities themselves, no
basis moves along a motion:  ẋ = (K ξ + δu)_I  and  ẏ = δu̇_I, where K turns the tangent space along with the
reference (zero for plain coordinates).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analyses.linearization.dual_matrix import join, solve
from dalembert.errors import DalembertError

__all__ = ["Disturbance", "Moves", "Partition", "divide", "moves", "reference_motion", "response"]

RANK_TOLERANCE = 1e-6  # of pivots, rows being of length one (see ``rank``)
PREFERRED = 1e-3  # how much less a coordinate that should stay independent counts as a pivot


@dataclass(frozen=True)
class Partition:
    """Which rows are independent, and which columns they determine; holonomic ones first.

    Attributes:
        rows, dependent: as many as the rank of A.
        holonomic: how many of them belong to the holonomic rows.
        n: number of velocities.
    """

    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    holonomic: int
    n: int

    @property
    def positions(self) -> list[int]:
        """Independent coordinates."""
        held = set(self.dependent[: self.holonomic])
        return [i for i in range(self.n) if i not in held]

    @property
    def velocities(self) -> list[int]:
        """Independent velocities, all of which belong to independent coordinates."""
        held = set(self.dependent)
        return [i for i in range(self.n) if i not in held]

    def completed(self, A: Any, c: Any, count: int | None = None) -> Any:
        """δ with A δ + c = 0 on the independent rows (the first ``count``), zero in the independent entries."""
        rows, columns = list(self.rows[:count]), list(self.dependent[:count])
        spread = np.eye(self.n)[:, columns]
        return -(spread @ solve(A[np.ix_(rows, columns)], c[rows])) if rows else spread @ c[rows]

    def basis(self, A: Any, count: int | None = None) -> Any:
        """All δ with A δ = 0, one column for each independent entry."""
        free = self.positions if count == self.holonomic and count is not None else self.velocities
        units = np.eye(self.n)[:, free]
        return units + self.completed(A, A @ units, count)


def divide(
    A: np.ndarray, holonomic: Sequence[int], others: Sequence[int], wanted: tuple[Sequence[int], Sequence[int]]
) -> Partition:
    """Choose dependent columns by elimination with complete pivoting, holonomic rows first.

    Args:
        holonomic, others: numbers of the rows that act.
        wanted: coordinates, and velocities, that should stay independent.
    """
    n = A.shape[1]
    norms = np.linalg.norm(A, axis=1)
    T = A / np.where(norms > RANK_TOLERANCE * max(1.0, norms.max(initial=0.0)), norms, np.inf)[:, None]
    rows: list[int] = []
    columns: list[int] = []
    left = np.ones(n, dtype=bool)
    counts: list[int] = []
    for part, preferred in zip((holonomic, others), wanted, strict=True):
        remaining, weights = list(part), np.ones(n)
        weights[list(preferred)] = PREFERRED
        while remaining and left.any():
            size = np.abs(T[remaining]) * left
            if size.max() <= RANK_TOLERANCE:
                break
            i, j = np.unravel_index(np.argmax(np.where(size > RANK_TOLERANCE, size * weights, 0.0)), size.shape)
            row, column = remaining.pop(int(i)), int(j)
            factor = T[:, column] / T[row, column]
            factor[[*rows, row]] = 0.0
            T = T - np.outer(factor, T[row])
            rows.append(row)
            columns.append(column)
            left[column] = False
        counts.append(len(rows))
    return Partition(tuple(rows), tuple(columns), counts[0], n)


@dataclass(frozen=True)
class Disturbance:
    """What inputs add to the residuals r, g, v and φ, and to the rates of states of first order, one column each."""

    r: Any
    g: Any
    v: Any
    phi: Any
    states: Any


@dataclass(frozen=True)
class Moves:
    """Small motions, one column for each independent coordinate and velocity, each state of first order, each input.

    Attributes:
        xi: change of position along the tangent.  q: of all entries of q.  u, du: of velocities and accelerations.
        multipliers: of λ, zero for redundant rows.  rates: of the state.
        feedback: of accelerations and reactions that formulas name (see ``feedback_moves``).
    """

    xi: Any
    q: Any
    u: Any
    du: Any
    multipliers: Any
    rates: Any
    feedback: Any = None


def reference_motion(T: dict[str, np.ndarray], partition: Partition) -> tuple[np.ndarray, np.ndarray]:
    """u̇ and λ from residuals at u̇ = 0, λ = 0; redundant rows get λ = 0."""
    A, M, N = T["A"], T["M"], partition.basis(T["A"])
    start = partition.completed(A, T["g"][:, None])
    du = start - N @ _solved(N.T @ M @ N, N.T @ (T["r"][:, None] + M @ start))
    multipliers = _multipliers(partition, A, T["r"][:, None] + M @ du)
    return du[:, 0], multipliers[:, 0]


def response(T: dict[str, np.ndarray], partition: Partition, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How u̇ and λ change where columns r are added to the residual of the forces."""
    A, M, N = T["A"], T["M"], partition.basis(T["A"])
    du = -(N @ _solved(N.T @ M @ N, N.T @ r))
    return du, _multipliers(partition, A, r + M @ du)


def moves(T: dict[str, Any], partition: Partition, added: Disturbance, tail: int) -> Moves:
    """All small motions next to a reference.

    Args:
        T: the tangent at the reference (``Perturbations.tangent``); matrices may carry slopes.
        tail: entries at the end of q that are no coordinates: states of first order, then windings.
    """
    nz, first_z = int(added.states.shape[0]), int(T["W"].shape[0]) - tail
    own = np.arange(first_z, first_z + nz)
    if nz:
        # States of first order act on all else as inputs do.
        parts = (T["r_q"][:, own], T["g_q"][:, own], T["v_q"][:, own], T["phi_q"][:, own])
        left = (added.r, added.g, added.v, added.phi)
        r, g, v, phi = (join(part, more) for part, more in zip(parts, left, strict=True))
        added = Disturbance(r, g, v, phi, added.states)
    A, M, W, p = T["A"], T["M"], T["W"], partition
    positions, velocities = p.positions, p.velocities
    n, nx, ny, nw = p.n, len(positions), len(velocities), added.r.shape[1]
    holonomic = added.phi.shape[0]

    def columns(matrix: Any) -> Any:
        """Of inputs only."""
        return join(np.zeros((matrix.shape[0], nx + ny)), matrix)

    first = A[:holonomic]
    xi = join(p.basis(first, p.holonomic), np.zeros((n, ny)), p.completed(first, added.phi, p.holonomic))
    dq = W @ xi
    N = p.basis(A)
    u = join(np.zeros((n, nx)), N, np.zeros((n, nw))) + p.completed(A, T["v_q"] @ dq + columns(added.v))
    start = p.completed(A, T["g_q"] @ dq + T["g_u"] @ u + columns(added.g))
    force = T["r_q"] @ dq + T["r_u"] @ u + columns(added.r)
    du = start - N @ _solved(N.T @ M @ N, N.T @ (force + M @ start))
    # W K = qdot_q W − Ẇ, in entries of q that are coordinates
    plain = W[:first_z]
    turned = solve(plain.T @ plain, plain.T @ T["spin"][:first_z]) @ xi + u
    rates = _stacked(turned[positions], du[velocities])
    if nz:
        units = np.zeros((W.shape[0], nx + ny + nw))
        units[own, nx + ny + np.arange(nz)] = 1.0
        dq = dq + units
        given = join(np.zeros((nz, nx + ny + nz)), added.states)
        rates = _stacked(rates, T["qdot_q"][own] @ dq + T["states_u"] @ u + given)
    return Moves(xi, dq, u, du, _multipliers(p, A, force + M @ du), rates)


def _stacked(above: Any, below: Any) -> Any:
    return join(above.T, below.T).T


def _multipliers(partition: Partition, A: Any, force: Any) -> Any:
    """λ with Aᵀλ = force on the dependent columns."""
    rows, columns = list(partition.rows), list(partition.dependent)
    spread = np.eye(A.shape[0])[:, rows]
    return spread @ (solve(A[np.ix_(rows, columns)].T, force[columns]) if rows else force[columns])


def _solved(A: Any, b: Any) -> Any:
    """X of A X = B; a mass matrix that is singular has no accelerations."""
    try:
        return solve(A, b)
    except np.linalg.LinAlgError:
        raise DalembertError(
            "the mass matrix of the independent velocities is singular: some motion moves no mass.  "
            "Fix: give mass to bodies without any, or an armature to their joints"
        ) from None
