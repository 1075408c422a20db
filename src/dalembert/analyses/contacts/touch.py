"""Contacts in a run: what is closed at the start, impacts where gaps close, rest where impacts accumulate, release.

With the gaps g that are closed, J = ∂ġ/∂u and W = J M⁻¹ Jᵀ over all velocities that the other constraints allow:

    impact     v⁺ = v⁻ + W Λ,    0 ≤ v⁺ + e v⁻  ⊥  Λ ≥ 0       (Newton's restitution, Moreau's form)
    rest       g̈ = a + W λ,      0 ≤ g̈  ⊥  λ ≥ 0
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.contacts.complementarity import solve_complementarity
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.numerics.context import OK
from dalembert.numerics.linear import solve_constrained

__all__ = ["Hit", "begin_contacts", "hit", "settle"]

# A gap as small as this (m or rad) is closed, if its rate (m/s or rad/s, against the fastest velocity) is none either.
CLOSED, STILL = 1e-9, 1e-9
LEAST_PUSH = 1e-12  # of what is closed, against forces of inertia
# What bounces comes to rest when all its flights to come take less than this (s, and relative to t); a single flight
# must be longer than the time that events look ahead.
REST, SHORTEST = 2e-7, 4e-8
NO_SOLUTION = "what touches neither moves apart nor pushes: the contacts contradict the other constraints"


@dataclass(frozen=True)
class Hit:
    """What an impact did.

    Attributes:
        parameters: afterwards.
        lost: kinetic energy that it took (J).
        rest: of contacts that came to rest, how long (s) their bounces would have gone on.
        trouble: why there is no solution, if so.
    """

    parameters: dict[str, float]
    lost: float = 0.0
    rest: tuple[tuple[str, float], ...] = ()
    trouble: str | None = None


class _Contacts:
    """All gaps at one instant, with every contact open."""

    def __init__(self, d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]):
        self.d, self.t, self.q, self.u = d, t, x[: d.nq], x[d.nq : d.nq + d.nv]
        self.size = 1.0  # of forces
        self.parameters = {**parameters, **{d.flat.switches[name]: 0.0 for name in d.flat.contacts}}
        values = {**d.flat.parameters, **self.parameters}
        self.equations = Equations(d.coordinates.place(NUMPY, values), t, self.q, self.u)
        still = self.equations.gaps(np.zeros(d.nv))
        self.names = [(name, side) for name, side, _ in still]
        self.gap = np.array([value.x for *_, value in still], dtype=float)
        self.rate = np.array([value.v for *_, value in still], dtype=float)
        self.bias = np.array([value.a for *_, value in still], dtype=float)
        speed = np.abs(self.u).max(initial=0.0)
        self.near = np.abs(self.gap) <= CLOSED
        self.still = np.abs(self.rate) <= STILL * (1.0 + speed)

    def jacobian(self, at: np.ndarray) -> np.ndarray:
        """J of some of the gaps."""
        unit, rows = np.eye(self.d.nv), np.empty((len(at), self.d.nv))
        for i in range(self.d.nv):
            moved = self.equations.gaps(unit[i])
            accelerations = np.array([value.a for *_, value in moved], dtype=float)
            rows[:, i] = (accelerations - self.bias)[at]
        return rows

    def responses(self, J: np.ndarray) -> np.ndarray:
        """M⁻¹ Jᵀ along what the other constraints allow, one row for each row of J."""
        d = self.d
        M = d.mass_matrix(self.q, parameters=self.parameters)
        A = np.asarray(d.residuals(self.t, self.q, self.u, self.parameters).jacobian) if d.rows else np.zeros((0, d.nv))
        found = np.zeros((len(J), d.nv))
        for row, out in zip(J, found, strict=True):
            status, *_ = solve_constrained(M, row, A, np.zeros(len(A)), out, np.zeros(len(A)))
            if status != OK:
                out[:] = 0.0
        return found

    def restitution(self, at: np.ndarray) -> np.ndarray:
        contacts, values = self.d.flat.constraints, self.equations.tree.mechanism
        return np.array([float(values.evaluate(contacts[self.names[k][0]][0].restitution)) for k in at])

    def on(self, closed: Collection[int]) -> dict[str, float]:
        """Parameters with some of the gaps closed."""
        switches = self.d.flat.switches
        return {**self.parameters, **{switches[self.names[k][0]]: self.names[k][1] + 1.0 for k in closed}}

    def energy(self) -> float:
        kinetic, _ = self.d.energy(self.q, self.u, t=self.t, parameters=self.parameters)
        return float(np.sum(kinetic))

    def pressed(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """λ and g̈ of those gaps that are closed; None if there is no solution. The other gaps stay open."""
        free, _ = self.d.solve(self.q, self.u, t=self.t, parameters=self.parameters)
        M = self.d.mass_matrix(self.q, parameters=self.parameters)
        self.size = 1e-300 + float(np.abs(M @ free).max(initial=0.0))
        J = self.jacobian(np.arange(len(self.gap)))
        a = J @ free + self.bias
        if not len(at):
            return np.zeros(0), a
        moved = self.responses(J[at])
        push = solve_complementarity(moved @ J[at].T, a[at])
        return None if push is None else (push, a + J @ (moved.T @ push))


def settle(
    d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float], without: str | None = None
) -> dict[str, float]:
    """Parameters with every contact closed that stays so: at rest, and pushed together.

    Args:
        without: a contact that just opened.
    """
    c = _Contacts(d, t, x, parameters)
    at = np.flatnonzero(c.near & c.still & np.array([name != without for name, _ in c.names]))
    found = c.pressed(at) if len(at) else None
    if found is None:
        return c.on(())
    least = LEAST_PUSH * c.size
    return c.on([int(k) for k, push in zip(at, found[0], strict=True) if push > least])


def hit(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> Hit:
    """The impact of all gaps that close, on the velocities in x; then what comes to rest."""
    c = _Contacts(d, t, x, parameters)
    at = np.flatnonzero(c.near & ((c.rate < 0) | c.still))
    coming = c.rate[at] * np.where(c.still[at], 0.0, 1.0)
    before, start = c.energy(), c.u.copy()
    J = c.jacobian(at)
    moved, e = c.responses(J), c.restitution(at)
    W, rest, bounces = moved @ J.T, np.zeros(len(at), dtype=bool), np.zeros(len(at))
    for _ in range(len(at) + 1):
        impulse = solve_complementarity(W, np.where(rest, c.rate[at], c.rate[at] + e * coming))
        if impulse is None:
            return Hit(parameters, trouble=NO_SOLUTION)
        c.u[:] = start + moved.T @ impulse
        again = _Contacts(d, t, x, parameters)
        held = np.flatnonzero(again.near & again.still)
        found = again.pressed(held)
        if found is None:
            return Hit(parameters, trouble=NO_SOLUTION)
        single, left = _flights(again.rate[at], found[1][at], e)
        short = (left < REST * (1.0 + abs(t))) | (single < SHORTEST * (1.0 + abs(t)))
        new = short & ~rest & ~again.still[at]
        if not new.any():
            break
        rest |= new
        bounces[new] = left[new]
    after = settle(d, t, x, parameters)
    stopped = tuple(
        (c.names[k][0], float(bounces[i]))
        for i, k in enumerate(at)
        if after[d.flat.switches[c.names[k][0]]] and coming[i] < 0
    )
    return Hit(after, before - _Contacts(d, t, x, parameters).energy(), stopped)


def _flights(rate: np.ndarray, acceleration: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How long the next flight takes, and all flights to come together; infinite where nothing pulls back."""
    back = (acceleration < 0) & (rate > 0)
    first = np.where(back, 2.0 * rate / np.where(back, -acceleration, 1.0), np.inf)
    return first, np.where(e < 1, first / np.where(e < 1, 1.0 - e, 1.0), np.inf)


def begin_contacts(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> Hit:
    """What is closed at the start; gaps that close there are hit at once."""
    c = _Contacts(d, t, x, parameters)
    worst = int(np.argmin(c.gap))
    if c.gap[worst] < -CLOSED:
        return Hit(
            parameters,
            trouble=f"{c.names[worst][0]!r} is {-c.gap[worst]:.3g} beyond its limit at the start.  Fix: another "
            f"initial position, e.g. model.initial(joint, value)",
        )
    if np.any(c.near & (c.rate < 0) & ~c.still):
        return hit(d, t, x, parameters)
    return Hit(settle(d, t, x, parameters))
