"""Which variables are independent in every subsystem, decided at consistent states, leaves first."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.modular.complement import Choice, LeastSquares, Pivoted, choose
from dalembert.modular.compose import Composed, compose
from dalembert.modular.labeled_matrix import LabeledMatrix
from dalembert.modular.labels import Label
from dalembert.modular.modular_system import ModularSystem
from dalembert.modular.nodes import Node
from dalembert.modular.own_rows import OwnRows

__all__ = ["decide_all", "moved"]


class _Decided:
    """A choice made for a subsystem at its place, and what it rests on: values of parameters, choices for its parts.

    Attributes:
        choice: seen from the subsystem;  placed: seen from the system.
    """

    def __init__(self, values: list[float | None], parts: tuple[_Decided, ...], choice: Choice, placed: Choice):
        self.values, self.parts, self.choice, self.placed = values, parts, choice, placed

    def rests_on(self, values: list[float | None], parts: tuple[_Decided, ...]) -> bool:
        same = len(parts) == len(self.parts) and all(a is b for a, b in zip(parts, self.parts, strict=True))
        return same and values == self.values


class _Sample:
    """A subsystem in numbers at one consistent state; composed when a parent looks into it."""

    def __init__(self, system: ModularSystem, node: Node, state: int, parts: dict[str, _Sample]):
        self.system, self.node, self.state, self.parts = system, node, state, parts
        self.choice: Choice | None = None
        self._composed: Composed | None = None
        self._B: LabeledMatrix | None = None

    @property
    def B(self) -> LabeledMatrix:
        """External invariants in variables that its parts, whose choices are made, leave free."""
        if self._B is None:
            self._B = Composed(self.own, self.parts, len(self.node.path)).external()
        return self._B

    def choose(self, choice: Choice) -> None:
        """Compose by this choice from now on."""
        if choice is not self.choice:
            self.choice, self._composed = choice, None

    @property
    def columns(self) -> tuple[Label, ...]:
        assert self.choice is not None
        return self.choice.independent

    @cached_property
    def own(self) -> OwnRows:
        return self.node.row_numbers(self.system.order, self.system.witnesses[self.state])

    @property
    def composed(self) -> Composed:
        choice = self.choice
        assert choice is not None
        if self._composed is None:
            depth = len(self.node.path)
            self._composed = compose(self.own, self.parts, lambda _: choice, depth=depth, forces=False, B=self.B)
        return self._composed

    @property
    def f_bar(self) -> LabeledMatrix:
        return self.composed.f_bar

    def S_rows(self, labels: Iterable[Label]) -> LabeledMatrix:
        return self.composed.S_rows(labels)


def decide_all(system: ModularSystem) -> tuple[dict[tuple[str, ...], Choice], dict[tuple[str, ...], Choice]]:
    """For every subsystem independent variables, pivots, redundant rows: seen from it, and seen from the system.

    What was decided before for the same subsystem at the same place, of the same parts and with the same parameters, is
    kept; an equal subsystem elsewhere lends its choice if that serves.
    """
    found: dict[tuple[str, ...], Choice] = {}
    placed: dict[tuple[str, ...], Choice] = {}
    decided: dict[tuple[str, ...], _Decided] = {}
    samples: dict[tuple[str, ...], list[_Sample]] = {}
    for node in system.nodes:
        memo, place = node.description.memo, ("decided", node.path, system.order, system.strategy)
        parts = tuple(decided[child.path] for child in node.children.values())
        values = [system.parameters.get(name) for name in node.others]
        # Two at most: there are no more consistent states to look at.
        samples[node.path] = mine = [
            _Sample(system, node, k, {name: samples[child.path][k] for name, child in node.children.items()})
            for k in range(2)
        ]
        before = memo.get(place)
        if before is None or not before.rests_on(values, parts):
            before = memo[place] = _Decided(values, parts, *_new_choice(system, node, mine))
        _take(mine, before.placed)
        decided[node.path] = before
        found[node.path], placed[node.path] = before.choice, before.placed
    return found, placed


def _take(samples: list[_Sample], choice: Choice) -> None:
    for sample in samples:
        sample.choose(choice)


def _new_choice(system: ModularSystem, node: Node, samples: list[_Sample]) -> tuple[Choice, Choice]:
    """A choice seen from the subsystem, and seen from the system."""
    memo, key = node.description.memo, ("choice", system.order, system.strategy)
    known = memo.get(key)
    if known is not None:
        placed = moved(known, node.place)
        _take(samples, placed)
        if _serves(system, samples):
            return known, placed
    made = _choose(system, node, samples)
    memo[key] = moved(made, node.unplace)
    return memo[key], made


def _serves(system: ModularSystem, samples: list[_Sample]) -> bool:
    """True if the choice made for an equal subsystem serves at these states, too."""
    for sample in samples[: len(system.witnesses)]:
        try:
            one, choice = sample.composed, sample.choice
        except (np.linalg.LinAlgError, KeyError):
            return False
        assert choice is not None
        if {*one.free} != {*choice.independent, *(column for _, column in choice.pivots)}:
            return False
        left = (value for line in (one.B @ one.C).entries.values() for value in line.values())
        if not choice.residual and any(not abs(value) <= 1e-7 for value in left):
            return False
    return True


def _choose(system: ModularSystem, node: Node, samples: list[_Sample]) -> Choice:
    d = node.description
    Bs: list[LabeledMatrix] = []
    for sample in samples[: len(system.witnesses)] if d.invariants else samples[:1]:
        if d.invariants:
            Bs.append(sample.B)
        else:
            free = [node.place(label) for label in d.own_labels(system.order)]
            free += [column for part in sample.parts.values() for column in part.columns]
            Bs.append(LabeledMatrix(NUMPY, (), free, {}))
    asked = [".".join((*node.path, variable)) for variable in d.independent]
    strategy = d.strategy or system.strategy
    if isinstance(strategy, LeastSquares) and not strategy.independent and not asked:
        strategy = Pivoted()
    first, last = Bs[0], Bs[-1]

    @functools.cache
    def pleasant(row: Label, column: Label) -> tuple[int, ...]:
        a, b = first.get(row, column), last.get(row, column)
        constant = abs(a - b) <= 1e-12 * abs(a)
        mine = len(column.path) == len(node.path) and bool(node.children)
        return (int(mine), 0 if constant and abs(abs(a) - 1) < 1e-12 else 2 - constant)

    return choose(node.name or system.name, Bs, strategy, asked, pleasant)


def moved(choice: Choice, move: Any) -> Choice:
    """A choice in other labels."""
    return Choice(
        choice.strategy, tuple(map(move, choice.independent)), tuple((move(r), move(c)) for r, c in choice.pivots),
        tuple(map(move, choice.redundant)), tuple(map(move, choice.degenerate)),
        {move(row): value for row, value in choice.residual.items()},
    )  # fmt: skip
