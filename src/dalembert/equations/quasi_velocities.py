"""Which constraint rows and quasi-velocities a formalism works with.

Constraints and candidates are looked at in numbers, at several positions: rows that depend on others at the position as
drawn are left out, and of the quasi-velocities on offer those are taken that stay independent of the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from dalembert.algebra import Algebra
from dalembert.coordinates import Coordinates
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.mechanism_equations import Equations
from dalembert.equations.sampled import Sampled
from dalembert.errors import ModelError

__all__ = [
    "Plan", "better_there", "check_regular", "choice_among", "greedy", "independent_rates", "mechanics_of",
    "named_plan", "offered", "plan_at", "plan_of",
]  # fmt: skip

FEW = 0.15  # fraction of positions at which a choice may be bad: every choice is, somewhere
GOOD = 0.3  # the first candidate is taken that is so good, compared with the best
SHARE = 0.5  # the same, at the worst position
BAD = 0.1  # what is left of a candidate, of length 1, that depends on others
DEPENDENT = 1e-7

Choice = TypeVar("Choice")


@dataclass(frozen=True)
class Plan:
    """What a formalism works with.

    Attributes:
        rows: independent constraint rows.
        velocities: which of the quasi-velocities on offer.
    """

    rows: tuple[int, ...]
    velocities: tuple[int, ...]


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
    if not coordinates.has_constraints:
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


@lru_cache(maxsize=64)
def plan_of(coordinates: Coordinates) -> Plan:
    """Independent rows and quasi-velocities of a mechanism.

    Raises:
        ModelError: if the quasi-velocities that the user gave are too few, or depend on each other or on constraints.
    """
    if not coordinates.has_constraints and not coordinates.velocities:
        return Plan((), tuple(range(coordinates.nv)))
    sampled = Sampled(coordinates)
    e = sampled.equations
    names, Y, _ = offered(e)
    A, candidates = sampled.defined(e.jacobian, Y)
    # As many rows are independent as where the mechanism is closed: off the constraints more may seem to be, and fewer
    # where gradients vanish, such as with all coordinates zero.
    closed = sampled.closed()
    held = sampled.values(e.jacobian, closed, vary=False)
    rank = max(map(_rank, held))
    plan = _planned(A, candidates, rank)
    if len(plan.rows) < len(e.rows):
        there = held, sampled.values(Y, closed, vary=False)
        plan = better_there(plan, _planned(*there, rank), lambda one: _stacked(*there, one))
    rows, p = plan.rows, e.nv - len(plan.rows)
    if coordinates.velocities:
        if len(names) != p:
            raise ModelError(
                f"{len(names)} quasi-velocities ({', '.join(names)}) for {p} degrees of freedom. Fix: give {p}"
            )
        labels = [*names, *(f"constraint {e.rows[i]}" for i in rows)]
        check_regular(np.concatenate([candidates, A[:, rows]], axis=1), labels, "quasi-velocities", "[Y; a]")
        return Plan(rows, tuple(range(p)))
    return plan


def _planned(A: np.ndarray, candidates: np.ndarray, rank: int) -> Plan:
    """Rows and quasi-velocities that are independent at some positions."""
    rows = greedy(A[:, :0], A, rank)
    return Plan(tuple(rows), tuple(greedy(A[:, rows], candidates, A.shape[2] - len(rows))))


def _stacked(A: np.ndarray, candidates: np.ndarray, plan: Plan) -> np.ndarray:
    """[Y; a] of a plan at some positions."""
    return np.concatenate([candidates[:, plan.velocities], A[:, plan.rows]], axis=1)


def better_there(choice: Choice, other: Choice, stacked: Callable[[Choice], np.ndarray]) -> Choice:
    """A choice, or another one that was made where the mechanism is closed, if it is much better there. Of redundant
    rows some may depend on each other wherever the mechanism is closed, and nowhere else.

    Args:
        stacked: the rows that a choice leads to, at positions where the mechanism is closed.
    """
    ours, theirs = (max(map(_independence, stacked(one))) for one in (choice, other))
    return choice if ours >= BAD * theirs else other


@lru_cache(maxsize=64)
def named_plan(coordinates: Coordinates, velocities: tuple[str, ...] | None, rows: tuple[int, ...] | None) -> Plan:
    """As ``plan_of``, with quasi-velocities on offer by name, and constraint rows by number, where they are given.

    Raises:
        ModelError: for unknown names, and for velocities that do not determine the motion; not looked at where rows are
            given too: both were chosen at one position then.
    """
    plan = plan_of(coordinates)
    if velocities is None and rows is None:
        return plan
    sampled = Sampled(coordinates)
    e = sampled.equations
    names, Y, _ = offered(e)
    chosen = plan.velocities if velocities is None else _numbers(names, velocities, len(plan.velocities))
    kept = plan.rows if rows is None else rows
    if len(kept) != len(plan.rows) or not set(kept) <= set(range(len(e.rows))):
        raise ModelError(f"expected {len(plan.rows)} independent constraint rows of {len(e.rows)}, got {list(kept)}")
    if rows is None:
        labels = [*(names[i] for i in chosen), *(f"constraint {e.rows[i]}" for i in kept)]
        (stacks,) = sampled.defined(np.concatenate([Y[list(chosen)], e.jacobian[list(kept)]]))
        check_regular(stacks, labels, "quasi-velocities", "[Y; a]")
    return Plan(tuple(kept), tuple(chosen))


def _numbers(names: list[str], asked: tuple[str, ...], count: int) -> tuple[int, ...]:
    """Where names are among those on offer."""
    unknown = [name for name in asked if name not in names]
    if unknown or len(asked) != count or len(set(asked)) != count:
        raise ModelError(
            f"expected {count} quasi-velocities, one for each degree of freedom, got {', '.join(asked) or 'none'}; "
            f"there are {', '.join(names)}"
        )
    return tuple(names.index(name) for name in asked)


def plan_at(
    coordinates: Coordinates, t: float, q: np.ndarray, parameters: Mapping[str, float], known: Any = None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of quasi-velocities, and constraint rows, that are good at one position.

    Args:
        known: of the equations, rows that count as constraints besides, such as those of constant momenta.
    """
    sampled = Sampled(coordinates, parameters=parameters)
    e = sampled.equations
    names, Y, _ = offered(e)
    here = [(t, q, np.zeros(e.nv))]
    more = np.zeros((1, 0, e.nv)) if known is None else sampled.values(known(e), here, vary=False)
    A = sampled.values(e.jacobian, here, vary=False)
    rows = greedy(A[:, :0], A, len(plan_of(coordinates).rows))
    held = np.concatenate([more, A[:, rows]], axis=1)
    velocities = greedy(held, sampled.values(Y, here, vary=False), e.nv - held.shape[1])
    return tuple(names[i] for i in velocities), tuple(rows)


@lru_cache(maxsize=64)
def independent_rates(coordinates: Coordinates) -> list[int]:
    """Entries of q̇ that determine the others by the constraints."""
    plan, sampled = plan_of(coordinates), Sampled(coordinates)
    e = sampled.equations
    (A,) = sampled.defined(e.jacobian[list(plan.rows)])
    return greedy(A, np.array([np.eye(e.nv)] * len(A)), e.nv - len(plan.rows))


def _rank(A: np.ndarray) -> int:
    """Of rows that have the same length, or none."""
    sizes = np.linalg.norm(A, axis=1, keepdims=True)
    return int(np.linalg.matrix_rank(A / np.where(sizes > 0, sizes, 1.0), DEPENDENT)) if A.size else 0


def _independence(rows: np.ndarray) -> float:
    """The smallest singular value of rows at length 1: 0 where they depend on each other."""
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.svd(rows / np.maximum(sizes, 1e-300), compute_uv=False)
    return float(values.min(initial=1.0))


def choice_among(A: np.ndarray, kept: tuple[int, ...]) -> tuple[int, float]:
    """How many rows are independent at a position, and how much those are that are kept."""
    return _rank(A), _independence(A[list(kept)])


def _rest(basis: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What of rows is orthogonal to all of a basis; twice is enough."""
    for _ in range(2):
        rows = rows - (rows @ basis.T) @ basis
    return rows


def _first_good(score: np.ndarray, left: np.ndarray) -> int:
    """The first candidate that is good at the worst of all positions; if none is, at most of them and as drawn."""
    worst = left.min(axis=0)
    if worst.max() > BAD:
        return int(np.argmax(worst >= SHARE * worst.max()))
    drawn = np.where(left[0] > BAD, score, 0.0)
    best = drawn if drawn.any() else score
    return int(np.argmax(best >= GOOD * best.max()))


def greedy(known: np.ndarray, candidates: np.ndarray, count: int) -> list[int]:
    """Candidates (positions × rows × m) that are independent of the known rows and of each other, nearly everywhere."""
    bases = [np.linalg.qr(rows.T)[0].T if len(rows) else np.zeros((0, candidates.shape[2])) for rows in known]
    sizes = np.maximum(np.linalg.norm(candidates, axis=2, keepdims=True), 1e-300)
    candidates = candidates / sizes
    chosen: list[int] = []
    for _ in range(count):
        left = np.array([np.linalg.norm(_rest(*both), axis=1) for both in zip(bases, candidates, strict=True)])
        score = np.quantile(left, FEW, axis=0)
        if score.max() < DEPENDENT:
            break
        best = _first_good(score, left)
        chosen.append(best)
        for k, basis in enumerate(bases):
            rest = _rest(basis, candidates[k, best : best + 1])[0]
            size = np.linalg.norm(rest)
            if size > DEPENDENT:
                bases[k] = np.vstack([basis, rest / size])
    return sorted(chosen)


def check_regular(stacks: np.ndarray, labels: list[str], what: str, matrix: str) -> None:
    """An explanation if rows depend on each other at (nearly) all positions."""
    stacks = stacks / np.maximum(np.linalg.norm(stacks, axis=2, keepdims=True), 1e-300)
    worst = [np.linalg.svd(stack) for stack in stacks]
    if np.quantile([s[1][-1] for s in worst], FEW) > DEPENDENT:
        return
    typical = int(np.argsort([s[1][-1] for s in worst])[len(worst) // 2])
    combination: np.ndarray = worst[typical][0][:, -1]
    involved = [label for label, share in zip(labels, combination, strict=True) if abs(share) > 1e-3]
    held = "momenta and constraints" if "M" in matrix else "constraints"
    raise ModelError(
        f"the {what} do not determine the motion: {', '.join(involved)} depend on each other, so that {matrix} has no "
        f"inverse. Fix: choose quasi-velocities that {held} leave free"
    )
