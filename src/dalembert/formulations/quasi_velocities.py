"""Which constraint rows, quasi-velocities and ignorable coordinates a formalism works with.

Constraints and candidates are looked at in numbers, at several positions: rows that depend on others at the position as
drawn are left out, and of the quasi-velocities on offer those are taken that stay independent of the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from dalembert.algebra import Algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.coordinates import Coordinates
from dalembert.errors import ModelError
from dalembert.formulations.equations import Equations
from dalembert.formulations.mechanics import Mechanics

__all__ = [
    "Ignorable", "Plan", "ignorable_of", "independent_rates", "massless", "mechanics_of", "named_ignorable", "offered",
    "plan_of", "reduced_choice", "symbolic",
]  # fmt: skip

SAMPLES = 48
SPREAD = 0.3  # of sampled positions about the drawn one, where position constraints keep the mechanism close to it
FEW = 0.15  # fraction of positions at which a choice may be bad: every choice is, somewhere
GOOD = 0.3  # the first candidate is taken that is so good, compared with the best
BAD = 0.1  # what is left of a candidate, of length 1, that depends on others
DEPENDENT = 1e-7
ZERO = 1e-9
ROUNDING = 1e-12


@dataclass(frozen=True)
class Plan:
    """What a formalism works with.

    Attributes:
        rows: independent constraint rows.
        velocities: which of the quasi-velocities on offer.
    """

    rows: tuple[int, ...]
    velocities: tuple[int, ...]


def symbolic(coordinates: Coordinates, al: Algebra, symbol: Any = None) -> tuple[Equations, dict[str, Any]]:
    """The equations at symbols t, q, q̇ and parameters, in an algebra with symbols; and the parameters by name.

    Args:
        symbol: makes a symbol from its kind (``time``, ``q``, ``rate``, ``parameter``) and its name.
    """
    make = symbol or (lambda kind, name: al.symbol(f"d/dt {name}" if kind == "rate" else name))
    names, rates = coordinates.labels()
    parameters = {name: make("parameter", name) for name in coordinates.flat.parameters}
    t, q = make("time", "t"), al.vector(make("q", name) for name in names)
    qd = al.vector(make("rate", name) for name in rates)
    return Equations(coordinates.place(al, parameters), t, q, qd), parameters


def offered(equations: Equations) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Quasi-velocities on offer: names, Y, Z. Those that the user gave; else the natural ones, then plain rates; twists
    of bodies in their own axes are good where constraints turn with a body.
    """
    coordinates: Any = equations.tree.coordinates
    tree: Any = equations.tree
    names, Y, Z = tree.quasi_velocities(equations.t, equations.q)
    if coordinates.velocities:
        return names, Y, Z
    al, parts = equations.al, [(names, Y, Z)]
    rates = [f"d/dt {name}" for name in coordinates.labels()[1]]
    new = [i for i, rate in enumerate(rates) if rate not in names]
    parts.append(([rates[i] for i in new], al.eye(equations.nv)[new], al.zeros(len(new))))
    if not equations.rows:
        return _joined(al, parts)
    for link, state in zip(equations.tree.links, equations.states, strict=True):
        twist = state.V
        partial = al.jacobian(twist, equations.u)
        rest = al.substitute(twist, equations.u, al.zeros(equations.nv))
        parts.append(([f"{c}_{link.body}" for c in ("wx", "wy", "wz", "vx", "vy", "vz")], partial, rest))
    return _joined(al, parts)


def _joined(al: Algebra, parts: list[tuple[list[str], np.ndarray, np.ndarray]]) -> tuple[list[str], Any, Any]:
    names = [name for some, _, _ in parts for name in some]
    return names, np.concatenate([part[1] for part in parts]), al.concatenate([part[2] for part in parts])


def mechanics_of(equations: Equations, plan: Plan, tidy: Any = None) -> Mechanics:
    """A mechanism with its chosen rows and quasi-velocities."""
    names, Y, Z = offered(equations)
    chosen = list(plan.velocities)
    return Mechanics(equations, plan.rows, ([names[i] for i in chosen], Y[chosen], Z[chosen]), tidy)


class _Sampled:
    """Functions of a mechanism as numbers at sampled positions."""

    def __init__(self, coordinates: Coordinates, seed: int = 0):
        self.equations, self.parameters = symbolic(coordinates, CASADI)
        self.coordinates = coordinates
        self.rng = np.random.default_rng(seed)

    def positions(self, close: bool) -> list[np.ndarray]:
        """The neutral position, then others around it; close to it, or anywhere."""
        q0 = self.coordinates.neutral()
        others = (
            self.rng.normal(0, SPREAD, (SAMPLES, len(q0))) if close else self.rng.uniform(-3, 3, (SAMPLES, len(q0)))
        )
        return [q0, *(q0 + other for other in others)]

    def at_rest(self) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """States (t, q, q̇) without motion: close to the drawn position if constraints hold the mechanism there."""
        e = self.equations
        holonomic = any(row.holonomic and not row.rigid for row in e.rows)
        return [(0.0, q, np.zeros(e.nv)) for q in self.positions(holonomic)]

    def values(self, function: np.ndarray, states: Sequence[tuple[float, np.ndarray, np.ndarray]], vary: bool) -> Any:
        """A vector of functions at (t, q, q̇), nominal parameters or, if they ``vary``, others."""
        al, e = CASADI, self.equations
        inputs = [al.to_sx(part) for part in (e.t, e.q, e.u, al.vector(self.parameters.values()))]
        f = ca.Function("f", inputs, [al.to_sx(function)])
        given = np.array(list(self.coordinates.flat.parameters.values()), dtype=float)
        out = []
        for t, q, u in states:
            p = given * self.rng.uniform(0.7, 1.4, len(given)) + 0.1 * (given == 0) if vary else given
            out.append(np.asarray(f(t, q, u, p)).reshape(np.shape(function)))
        return np.array(out)


@lru_cache(maxsize=64)
def plan_of(coordinates: Coordinates) -> Plan:
    """Independent rows and quasi-velocities of a mechanism.

    Raises:
        ModelError: if the quasi-velocities that the user gave are too few, or depend on each other or on constraints.
    """
    sampled = _Sampled(coordinates)
    e = sampled.equations
    names, Y, _ = offered(e)
    if not e.rows and not coordinates.velocities:
        return Plan((), tuple(range(e.nv)))
    still = sampled.at_rest()
    A = sampled.values(e.jacobian, still, vary=False)
    rows = _independent_rows(A[0])
    p = e.nv - len(rows)
    candidates = sampled.values(Y, still, vary=False)
    if coordinates.velocities:
        if len(names) != p:
            raise ModelError(
                f"{len(names)} quasi-velocities ({', '.join(names)}) for {p} degrees of freedom. Fix: give {p}"
            )
        labels = [*names, *(f"constraint {e.rows[i]}" for i in rows)]
        _check_regular(np.concatenate([candidates, A[:, rows]], axis=1), labels, "quasi-velocities", "[Y; a]")
        return Plan(tuple(rows), tuple(range(p)))
    return Plan(tuple(rows), tuple(_greedy(A[:, rows], candidates, p)))


@lru_cache(maxsize=64)
def independent_rates(coordinates: Coordinates) -> list[int]:
    """Entries of q̇ that determine the others by the constraints."""
    plan, sampled = plan_of(coordinates), _Sampled(coordinates)
    e, still = sampled.equations, sampled.at_rest()
    A = sampled.values(e.jacobian[list(plan.rows)], still, vary=False)
    return _greedy(A, np.array([np.eye(e.nv)] * len(still)), e.nv - len(plan.rows))


def _independent_rows(A: np.ndarray) -> list[int]:
    """Rows of A that do not depend on those before them."""
    kept: list[int] = []
    basis = np.zeros((0, A.shape[1]))
    for i, row in enumerate(A):
        size = np.linalg.norm(row)
        rest = _rest(basis, row / size) if size > 0 else row
        if np.linalg.norm(rest) > DEPENDENT:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(i)
    return kept


def _rest(basis: np.ndarray, row: np.ndarray) -> np.ndarray:
    """What of a row is orthogonal to all of a basis; twice is enough."""
    for _ in range(2):
        row = row - basis.T @ (basis @ row)
    return row


def _first_good(score: np.ndarray, left: np.ndarray) -> int:
    """The first good candidate that is never bad; if there is none, one that is not bad as drawn."""
    good = score >= GOOD * score.max()
    for never_bad in (left.min(axis=0) > BAD, left[0] > BAD):
        for fine in (good & never_bad, never_bad):
            if fine.any():
                return int(np.argmax(fine))
    return int(np.argmax(good))


def _greedy(known: np.ndarray, candidates: np.ndarray, count: int) -> list[int]:
    """Candidates (positions × rows × m) that are independent of the known rows and of each other, nearly everywhere."""
    bases = [np.linalg.qr(rows.T)[0].T if len(rows) else np.zeros((0, candidates.shape[2])) for rows in known]
    sizes = np.maximum(np.linalg.norm(candidates, axis=2, keepdims=True), 1e-300)
    candidates = candidates / sizes
    chosen: list[int] = []
    for _ in range(count):
        left = np.array(
            [[np.linalg.norm(_rest(basis, row)) for row in rows] for basis, rows in zip(bases, candidates, strict=True)]
        )
        score = np.quantile(left, FEW, axis=0)
        if score.max() < DEPENDENT:
            break
        best = _first_good(score, left)
        chosen.append(best)
        for k, basis in enumerate(bases):
            rest = _rest(basis, candidates[k, best])
            size = np.linalg.norm(rest)
            if size > DEPENDENT:
                bases[k] = np.vstack([basis, rest / size])
    return sorted(chosen)


# Ignorable coordinates


@dataclass(frozen=True)
class Ignorable:
    """Which coordinates are ignorable, and why the others are not.

    A coordinate is ignorable if it does not appear in the Lagrangian, no constraint restricts its rate, and no force
    without potential acts on it; its momentum ∂T/∂q̇ is then constant (Definition 1 of Yoosefian Nooshabadi and Nejat
    Pishkenari).
    """

    indices: tuple[int, ...]
    reasons: dict[str, str]


@lru_cache(maxsize=64)
def ignorable_of(coordinates: Coordinates) -> Ignorable:
    """Coordinates that Definition 1 finds, for all values of the parameters."""
    plan = plan_of(coordinates)
    sampled = _Sampled(coordinates, seed=1)
    e = sampled.equations
    mechanics = mechanics_of(e, plan)
    al, m = CASADI, e.nv
    gradient = mechanics.by_q(mechanics.L)
    states = [(float(sampled.rng.uniform(0, 1)), q, sampled.rng.normal(size=m)) for q in sampled.positions(False)[1:]]
    seen = sampled.values(al.concatenate([gradient, mechanics.Q, al.concatenate(list(mechanics.a))]), states, vary=True)
    seen = seen[np.isfinite(seen).all(axis=1)]
    scale = 1.0 + np.abs(seen).max(axis=0, initial=0.0)
    zero = np.abs(seen).max(axis=0, initial=0.0) <= ZERO * scale.max()
    if not len(seen):
        zero[:] = False
    free, forceless = zero[:m], zero[m : 2 * m]
    unbound = zero[2 * m :].reshape(-1, m).all(axis=0)
    reasons = {}
    for i, name in enumerate(mechanics.names):
        why = [
            text
            for holds, text in (
                (free[i], "it appears in the Lagrangian"),
                (unbound[i], "a constraint restricts its rate"),
                (forceless[i], "a force without potential acts on it"),
            )
            if not holds
        ]
        reasons[name] = " and ".join(why)
    return Ignorable(tuple(int(i) for i in np.flatnonzero(free & unbound & forceless)), reasons)


@lru_cache(maxsize=64)
def massless(coordinates: Coordinates, indices: tuple[int, ...] | None = None) -> list[str]:
    """Names of coordinates of which some combination moves no mass, while all others stand still, at all positions."""
    sampled = _Sampled(coordinates)
    e = sampled.equations
    which = list(range(e.nv) if indices is None else indices)
    if not which:
        return []
    still = [(0.0, q, np.zeros(e.nv)) for q in sampled.positions(True)]
    found = []
    for M in sampled.values(e.mass_matrix, still, vary=False)[:, which][:, :, which]:
        size = np.sqrt(np.maximum(np.diag(M), 0.0))
        if not size.all():
            found.append((0.0, size == 0))
            continue
        values, vectors = np.linalg.eigh(M / np.outer(size, size))
        found.append((values[0], np.abs(vectors[:, 0]) > 1e-3))
    if max(value for value, _ in found) > ROUNDING:
        return []
    moves = np.any([involved for _, involved in found], axis=0)
    return [coordinates.labels()[1][i] for i, some in zip(which, moves, strict=True) if some]


def named_ignorable(coordinates: Coordinates, named: Sequence[str] | None) -> tuple[int, ...]:
    """The ignorable coordinates: all that are found, or those of them that are named."""
    found = ignorable_of(coordinates)
    if named is None:
        return found.indices
    names = coordinates.labels()[1]
    for name in named:
        if name not in names:
            raise ModelError(f"no coordinate is called {name!r}; expected some of {', '.join(names)}")
        if names.index(name) not in found.indices:
            raise ModelError(f"coordinate {name!r} is not ignorable: {found.reasons[name]}")
    return tuple(sorted(names.index(name) for name in named))


@lru_cache(maxsize=64)
def reduced_choice(coordinates: Coordinates, ignorable: tuple[int, ...], asked: tuple[str, ...] | None) -> list[int]:
    """The p − s quasi-velocities that stay, as indices of those on offer: together with momenta and constraints they
    must give q̇.

    Args:
        asked: by name; otherwise they are chosen.

    Raises:
        ModelError: with the combination that vanishes, if they do not.
    """
    plan = plan_of(coordinates)
    sampled = _Sampled(coordinates, seed=2)
    e = sampled.equations
    mechanics = mechanics_of(e, plan)
    names, Y, _ = offered(e)
    al, count = CASADI, mechanics.p - len(ignorable)
    momenta = al.gradient(mechanics.T, mechanics.qd)[list(ignorable)]
    known = np.concatenate([al.jacobian(momenta, mechanics.qd), mechanics.a])
    still = sampled.at_rest()
    seen, candidates = sampled.values(known, still, vary=False), sampled.values(Y, still, vary=False)
    if asked is None:
        pool = list(plan.velocities) if coordinates.velocities else _pool(coordinates, names, ignorable)
        chosen = [pool[i] for i in _greedy(seen, candidates[:, pool], count)]
        if len(chosen) == count:
            return chosen
        asked = tuple(names[i] for i in pool[:count])
    unknown = [name for name in asked if name not in names]
    if unknown or len(asked) != count:
        raise ModelError(
            f"expected {count} non-ignorable quasi-velocities (freedoms less ignorable coordinates), got "
            f"{', '.join(asked) or 'none'}; there are {', '.join(names)}"
        )
    chosen = [names.index(name) for name in asked]
    labels = [*asked, *(f"the momentum of {mechanics.names[i]}" for i in ignorable)]
    labels += [f"constraint {e.rows[i]}" for i in plan.rows]
    stacks = np.concatenate([candidates[:, chosen], seen], axis=1)
    _check_regular(stacks, labels, "non-ignorable quasi-velocities", "[Y; M'; a]")
    return chosen


def _pool(coordinates: Any, names: list[str], ignorable: tuple[int, ...]) -> list[int]:
    """Quasi-velocities on offer, the best first: rates of the coordinates that stay are independent of the momenta
    wherever the mechanism has mass. Rates of a quaternion are not, because of its length; ω stands for them.
    """
    lengths = {
        i for turn in coordinates.turns if turn.described.axes is None for i in range(turn.at.start, turn.at.stop)
    }
    labels = coordinates.labels()[1]
    first = [names.index(f"d/dt {name}") for i, name in enumerate(labels) if i not in lengths and i not in ignorable]
    return first + [i for i in range(len(names)) if i not in first]


def _check_regular(stacks: np.ndarray, labels: list[str], what: str, matrix: str) -> None:
    """An explanation if rows depend on each other at (nearly) all positions."""
    stacks = stacks / np.maximum(np.linalg.norm(stacks, axis=2, keepdims=True), 1e-300)
    worst = [np.linalg.svd(stack) for stack in stacks]
    if np.quantile([s[1][-1] for s in worst], FEW) > DEPENDENT:
        return
    typical = np.argsort([s[1][-1] for s in worst])[len(worst) // 2]
    combination = worst[typical][0][:, -1]
    involved = [label for label, share in zip(labels, combination, strict=True) if abs(share) > 1e-3]
    held = "momenta and constraints" if "M" in matrix else "constraints"
    raise ModelError(
        f"the {what} do not determine the motion: {', '.join(involved)} depend on each other, so that {matrix} has no "
        f"inverse. Fix: choose quasi-velocities that {held} leave free"
    )
