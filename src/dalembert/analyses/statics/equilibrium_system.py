"""Where a subsystem rests: no variable of its state changes, all invariants are met, and all forces balance.

    ẋ = 0,      q̄ = 0 at every order below σ,      f + Aᵀλ = 0      at q⟨σ⟩ = 0

Currents and other variables of parts that are not mechanical may have any value, as long as it stays.

In a steady motion variables of order 1 and above stay, and those of order 0 move along; it is one if the accelerations
of its linear model stay zero along it. Velocities must be such that they can be constant: a vehicle in a turn has
constant speeds along its own axes, not along those of the world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.analyses.linearization.linear_model import LinearModel
from dalembert.analyses.linearization.linear_subsystem import SubsystemStart
from dalembert.analyses.statics.equilibrium_balance import BALANCED, LARGEST_MOVE, named, newton
from dalembert.analyses.statics.equilibrium_result import Equilibria, SystemEquilibrium
from dalembert.errors import DalembertError, ModelError
from dalembert.modular import Subsystem
from dalembert.modular.linear_rows import Evaluated, numbers_of, reference

__all__ = ["system_equilibrium"]

SAME = 1e-5  # of rows and their derivatives: one equilibrium and not two
TRIES = 20  # of random positions until the invariants are met


@dataclass(frozen=True)
class _Place:
    """Values of what may change, and multipliers of the rows of order σ."""

    x: np.ndarray
    multipliers: np.ndarray


def system_equilibrium(
    subsystem: Subsystem,
    guess: Mapping[str, Any],
    starts: int,
    given: tuple[Sequence[str], Sequence[str], Mapping[str, float]],
    seed: int,
    steady: Mapping[str, float | None] | None = None,
) -> Equilibria[SystemEquilibrium]:
    """Equilibria or steady motions of a subsystem, from a guess and random starts.

    Args:
        guess: variables and inputs by name; invariants are met by the others.
        given: variables that keep their values, inputs that are to be found, and parameters.
        steady: of steady motions: velocities with their values, None for one that is to be found.
    """
    search = _Search(subsystem, dict(guess), *given, steady)
    rng = np.random.default_rng(seed)
    found: list[tuple[_Place, Evaluated]] = []
    best: tuple[float, _Place] | None = None
    for number in range(starts):
        at = search.start(rng if number else None)
        if at is None:
            continue
        at = newton(at, search.system, search.moved)
        left = float(np.abs(search.system(at)[0]).max(initial=0.0))
        if best is None or left < best[0]:
            best = left, at
        if left <= BALANCED and not any(_same(search.at(at), other) for _, other in found):
            found.append((at, search.at(at)))
    if not found:
        assert best is not None
        raise DalembertError(search.unbalanced(best[1], starts))
    results = [search.result(at) for at, _ in found]
    if steady is not None:
        kept = [one for one in results if one.linear is None or not one.linear.kind.startswith("no ")]
        if not kept:
            assert results[0].linear is not None
            raise DalembertError(
                f"equilibrium: no steady motion of subsystem {subsystem.name!r} found from {starts} start(s): "
                f"{results[0].linear.kind}.\n  Fix: variables whose velocities can be constant, another guess, or more "
                "starts="
            )
        results = kept
    return Equilibria(subsystem.name, results, starts)


def _same(one: Evaluated, other: Evaluated) -> bool:
    """Equal rows with equal derivatives: angles that differ by whole turns do not count."""
    pairs = ((getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)
    return all(np.abs((a - b) / (1 + np.abs(a))).max(initial=0.0) < SAME for a, b in pairs)


class _Search:
    def __init__(
        self,
        subsystem: Subsystem,
        guess: dict[str, Any],
        hold: Sequence[str],
        unknowns: Sequence[str],
        parameters: Mapping[str, float],
        steady: Mapping[str, float | None] | None,
    ):
        self.subsystem, self.parameters, self.moving = subsystem, dict(parameters), steady is not None
        self.equations = equations = subsystem.equations()
        self.numbers = numbers = numbers_of(equations)
        unknown = [name for name in parameters if name not in equations.parameters]
        if unknown:
            raise DalembertError(
                f"parameters: no {unknown[0]!r}; subsystem {subsystem.name!r} has {', '.join(equations.parameters)}"
            )
        stray = [name for name in unknowns if name not in equations.inputs]
        if stray:
            raise DalembertError(
                f"unknowns: {stray[0]!r} is not an input; subsystem {subsystem.name!r} has "
                f"{', '.join(equations.inputs) or 'none'}"
            )
        known = {k: v for k, v in equations.parameters.items() if v is not None} | self.parameters
        self.request = request = SubsystemStart(subsystem, guess, (), None, False, "refuse", {})
        self.guess = {request.name(equations, key): request.number(value, known) for key, value in guess.items()}
        self.held = [request.name(equations, key) for key in hold]
        self._set_speeds(steady or {}, known)
        fixed = {name: v for name, v in self.guess.items() if name in self.held or name in equations.inputs}
        self.values, _ = reference(equations, fixed, self.parameters, lenient=False, start=self.guess)
        self.names = [name for name in map(str, equations.state) if name not in self.held] + list(unknowns)
        self.columns = [numbers.moving.index(name) for name in self.names]
        self.tops = {label: i for i, label in enumerate(equations.top)}
        self.rows = {label: i for i, label in enumerate(numbers.top)}
        first = self.at(_Place(np.array([self.values[name] for name in self.names]), np.zeros(len(self.rows))))
        largest = max(np.abs(first.forces_by).max(initial=0.0), np.abs(first.forces).max(initial=0.0))
        self.force = float(largest) or 1.0

    def _set_speeds(self, steady: Mapping[str, float | None], parameters: dict[str, float]) -> None:
        """Velocities of a steady motion that are given keep their values."""
        speeds = {str(label) for label in self.equations.state if label.order > 0}
        for key, value in steady.items():
            name = self.request.name(self.equations, key)
            if name not in speeds:
                raise DalembertError(
                    f"steady: {name!r} is not a velocity; there are {', '.join(sorted(speeds)) or 'none'}"
                )
            if value is not None:
                self.guess[name] = self.request.number(value, parameters)
                self.held.append(name)

    # Starts

    def start(self, rng: np.random.Generator | None) -> _Place | None:
        """The guess, or a random position that meets the invariants; None if none was found."""
        values: dict[str, float] | None = self.values
        if rng is not None:
            values = self._random(rng)
        if values is None:
            return None
        at = _Place(np.array([values[name] for name in self.names]), np.zeros(len(self.rows)))
        seen = self.at(at)
        multipliers: Any = np.linalg.lstsq(self._jacobian(seen).T, -self._forces(seen), rcond=1e-10)[0]
        return _Place(at.x, multipliers)

    def _random(self, rng: np.random.Generator) -> dict[str, float] | None:
        free = [str(v) for v in self.equations.state if v.order == 0 and str(v) not in self.held]
        kept = {name: self.values[name] for name in self.held}
        kept |= {name: self.values[name] for name in self.equations.inputs}
        for _ in range(TRIES):
            tried = {name: float(rng.uniform(-np.pi, np.pi)) for name in free}
            try:
                values, _ = reference(self.equations, kept, self.parameters, lenient=False, start=tried)
            except ModelError:
                continue  # this guess does not close; another may
            return values
        return None

    # The system

    def at(self, place: _Place) -> Evaluated:
        values = self.values | dict(zip(self.names, map(float, place.x), strict=True))
        return self.numbers(values | {str(label): 0.0 for label in self.equations.top})

    def _jacobian(self, seen: Evaluated) -> np.ndarray:
        A = np.zeros((len(self.rows), len(self.tops)))
        for (row, column), value in zip(self.numbers.entries, seen.entries, strict=True):
            A[self.rows[row], self.tops[column]] = value
        return A

    def _forces(self, seen: Evaluated) -> np.ndarray:
        f = np.zeros(len(self.tops))
        for (_, label), value in zip(self.numbers.forces, seen.forces, strict=True):
            f[self.tops[label]] += value
        return f

    def system(self, place: _Place) -> tuple[np.ndarray, np.ndarray]:
        """Scaled residuals, and their derivatives by what may change and by scaled multipliers."""
        seen, n = self.at(place), len(self.rows)
        A = self._jacobian(seen)
        f_x = np.zeros((len(self.tops), len(self.columns)))
        for (_, label), line in zip(self.numbers.forces, seen.forces_by, strict=True):
            f_x[self.tops[label]] += line[self.columns]
        for (row, column), line in zip(self.numbers.entries, seen.entries_by, strict=True):
            f_x[self.tops[column]] += line[self.columns] * place.multipliers[self.rows[row]]
        residual = (self._forces(seen) + A.T @ place.multipliers) / self.force
        parts = [
            (seen.rates[self._still], seen.rates_by[self._still]),
            (seen.lower, seen.lower_by),
            (seen.top, seen.top_by),
        ]
        blocks = [np.hstack([by[:, self.columns], np.zeros((len(by), n))]) for _, by in parts]
        F = np.concatenate([residual, *(value for value, _ in parts)])
        return F, np.vstack([np.hstack([f_x / self.force, A.T]), *blocks])

    def moved(self, place: _Place, step: np.ndarray) -> _Place:
        """After a step of the scaled unknowns, not too long a one."""
        n = len(self.names)
        coordinates = [i for i, name in enumerate(self.names) if name in self._coordinates]
        longest = float(np.abs(step[coordinates]).max(initial=0.0))
        step = step * min(1.0, LARGEST_MOVE / longest) if longest > 0 else step
        return _Place(place.x + step[:n], place.multipliers + self.force * step[n:])

    @cached_property
    def _still(self) -> list[int]:
        """Variables of the state that do not change; in a steady motion those of order 0 may."""
        return [i for i, label in enumerate(self.equations.state) if label.order > 0 or not self.moving]

    @property
    def _coordinates(self) -> set[str]:
        return {str(label) for label in self.equations.state if label.order == 0}

    # Results

    def result(self, place: _Place) -> SystemEquilibrium:
        values = self.values | dict(zip(self.names, map(float, place.x), strict=True))
        shown = [*map(str, self.equations.state), *self.equations.inputs]
        state = {name: values[name] for name in shown}
        linear, trouble = self._linear(state)
        multipliers = {row.text: float(place.multipliers[i]) for row, i in self.rows.items()}
        neutral = self._neutral(place)
        return SystemEquilibrium(state, self.parameters, linear, trouble, neutral, multipliers, self.moving)

    def _linear(self, state: dict[str, float]) -> tuple[LinearModel | None, str]:
        start = SubsystemStart(self.subsystem, dict(state), (), None, False, "refuse", {})
        try:
            return start.linear(self.parameters), ""
        except DalembertError as error:
            return None, str(error)

    def _neutral(self, place: _Place) -> tuple[tuple[str, ...], ...]:
        """Directions in which the balance stays."""
        _, J = self.system(place)
        _, s, Vt = np.linalg.svd(J)
        free = Vt[int(np.sum(s > 1e-7 * s.max(initial=1.0))) :, : len(self.names)]
        return tuple(named(free, self.names))

    def unbalanced(self, place: _Place, starts: int) -> str:
        """Why there is no equilibrium: what is left at the best place that was found."""
        F, _ = self.system(place)
        labels = [
            *(f"force on {label.text}" for label in self.tops),
            *(f"rate of {self.equations.state[i]}" for i in self._still),
            *(f"invariant {label}" for label in (*self.numbers.lower, *self.numbers.top)),
        ]
        F[: len(self.tops)] *= self.force
        worst = [i for i in np.argsort(-np.abs(F))[:3] if abs(F[i]) > BALANCED]
        left = ", ".join(f"{labels[i]} {F[i]:.6g}" for i in worst)
        what = "steady motion" if self.moving else "equilibrium"
        return (
            f"equilibrium: no {what} of subsystem {self.subsystem.name!r} found from {starts} "
            f"start{'s' * (starts != 1)}.\n  At the best place that was found this is left: {left}.\n"
            "  Fix: another guess, more starts=, values of inputs in the guess, or a force that holds it"
        )
