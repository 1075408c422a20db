"""Ignorable coordinates: found or named, and what remains when their momenta are taken as known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.coordinates import Coordinates
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.quasi_velocities import (
    better_there,
    check_regular,
    greedy,
    mechanics_of,
    named_plan,
    offered,
    plan_of,
)
from dalembert.equations.sampled import Sampled
from dalembert.errors import ModelError

__all__ = ["Ignorable", "check_momenta", "ignorable_of", "massless", "named_ignorable", "reduced_choice"]

ZERO = 1e-9
ROUNDING = 1e-12


@dataclass(frozen=True)
class Ignorable:
    """Which coordinates are ignorable, and why the others are not.

    A coordinate is ignorable if it does not appear in the Lagrangian, no constraint restricts its rate, and no force
    without potential acts on it; its momentum ∂T/∂q̇ is then constant (Definition 1 of Yoosefian Nooshabadi and Nejat
    Pishkenari).
    """

    indices: tuple[int, ...]
    reasons: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The ignorable coordinates."""
        return [name for name, why in self.reasons.items() if not why]

    def __str__(self) -> str:
        lines = [f"{name}: {w or 'ignorable, its momentum is constant'}" for name, w in self.reasons.items()]
        return "\n".join(lines)


@lru_cache(maxsize=64)
def ignorable_of(coordinates: Coordinates) -> Ignorable:
    """Coordinates that Definition 1 finds, for all values of the parameters."""
    plan = plan_of(coordinates)
    sampled = Sampled(coordinates, seed=1)
    e = sampled.equations
    mechanics = mechanics_of(e, plan)
    free, forceless, unbound = _vanishing(sampled, mechanics)
    reasons: dict[str, str] = {}
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


def _vanishing(sampled: Sampled, mechanics: Mechanics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of which the Lagrangian knows nothing, on which no other force acts, and which no row binds.

    In a unit of length of the mechanism, forces on coordinates are energies: what is rounding of the largest one is
    none, in a watch as in a bridge.
    """
    al, m, center = CASADI, sampled.equations.nv, sampled.center
    units = sampled.coordinates.velocity_units(sampled.coordinates.usual_arm or 1.0)
    spread = np.concatenate([units, np.ones(len(center) - m)])
    states = [
        (float(sampled.rng.uniform(0, 1)), center + spread * (q - center), units * sampled.rng.normal(size=m))
        for q in sampled.positions(False)[1:]
    ]
    parts = [mechanics.by_q(mechanics.L), mechanics.Q, al.concatenate(list(mechanics.a)), al.vector([mechanics.T])]
    seen = sampled.values(al.concatenate(parts), states, vary=True)
    seen = np.abs(seen[np.isfinite(seen).all(axis=1)])
    sizes: np.ndarray = units * seen[:, :-1].max(axis=0, initial=0.0).reshape(-1, m)
    largest = sizes.max(axis=1, keepdims=True, initial=0.0)
    largest[:2] = max(float(seen[:, -1].max(initial=0.0)), float(largest[:2].max(initial=0.0)))
    zero = (sizes <= ZERO * largest) & bool(len(seen))
    return zero[0], zero[1], zero[2:].all(axis=0)


@lru_cache(maxsize=64)
def massless(coordinates: Coordinates, indices: tuple[int, ...] | None = None) -> list[str]:
    """Names of coordinates of which some combination moves no mass, while all others stand still, at all positions."""
    sampled = Sampled(coordinates)
    e = sampled.equations
    which = list(range(e.nv) if indices is None else indices)
    if not which:
        return []
    still = [(0.0, q, np.zeros(e.nv)) for q in sampled.positions(True)]
    found: list[tuple[float, np.ndarray]] = []
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


def check_momenta(coordinates: Coordinates, ignorable: Sequence[int]) -> None:
    """Raise ModelError if rates do not follow from the momenta of ignorable coordinates."""
    without = massless(coordinates, tuple(ignorable))
    if without:
        raise ModelError(
            f"no rate follows from the momentum of {', '.join(without)}, which moves no mass. Fix: name the others, "
            f"ignorable=..., or formulation='lagrange'"
        )


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
def reduced_choice(
    coordinates: Coordinates,
    ignorable: tuple[int, ...],
    asked: tuple[str, ...] | None,
    rows: tuple[int, ...] | None = None,
) -> list[int]:
    """The p − s quasi-velocities that stay, as indices of those on offer: together with momenta and constraints they
    must give q̇.

    Args:
        asked: by name; otherwise they are chosen.
        rows: the constraint rows, chosen with ``asked`` at one position; otherwise they are chosen.

    Raises:
        ModelError: with the combination that vanishes, if they do not.
    """
    plan = named_plan(coordinates, None, rows)
    sampled = Sampled(coordinates, seed=2)
    e = sampled.equations
    mechanics = mechanics_of(e, plan)
    names, Y, _ = offered(e)
    al, count = CASADI, mechanics.p - len(ignorable)
    momenta = al.gradient(mechanics.T, mechanics.qd)[list(ignorable)]
    known = np.concatenate([al.jacobian(momenta, mechanics.qd), mechanics.a])
    seen, candidates = sampled.defined(known, Y)
    if asked is None:
        pool = list(plan.velocities) if coordinates.velocities else _pool(coordinates, names, ignorable)
        chosen = [pool[i] for i in greedy(seen, candidates[:, pool], count)]
        if len(plan.rows) < len(e.rows):
            closed = sampled.closed()
            held, there = (sampled.values(part, closed, vary=False) for part in (known, Y))
            other = [pool[i] for i in greedy(held, there[:, pool], count)]
            chosen = better_there(chosen, other, lambda one: np.concatenate([there[:, one], held], axis=1))
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
    if rows is None:
        check_regular(stacks, labels, "non-ignorable quasi-velocities", "[Y; M'; a]")
    return chosen


def _pool(coordinates: Any, names: list[str], ignorable: tuple[int, ...]) -> list[int]:
    """Quasi-velocities on offer, the best first: rates of the coordinates that stay are independent of the momenta
    wherever the mechanism has mass. Rates of a quaternion are not, because of its length; ω stands for them.
    """
    lengths = {
        i for turn in coordinates.turns if turn.described.by_quaternion for i in range(turn.at.start, turn.at.stop)
    }
    labels = coordinates.labels()[1]
    first = [names.index(f"d/dt {name}") for i, name in enumerate(labels) if i not in lengths and i not in ignorable]
    return first + [i for i in range(len(names)) if i not in first]
