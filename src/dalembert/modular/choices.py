# pyright: basic
"""Which variables are independent in every subsystem, decided at consistent states, leaves first."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.modular.complement import Choice, LeastSquares, Pivoted, choose
from dalembert.modular.compose import Composed, compose
from dalembert.modular.labelled import Labelled
from dalembert.modular.labels import Label
from dalembert.modular.modular_system import ModularSystem
from dalembert.modular.nodes import Node
from dalembert.modular.own_rows import OwnRows

__all__ = ["decide_all", "moved"]


class _Decided:
    """A choice made for a subsystem at its place, and what it rests on: values of parameters, choices for its parts."""

    def __init__(self, values: Any, parts: tuple[_Decided, ...], choice: Choice):
        self.values, self.parts, self.choice = values, parts, choice

    def rests_on(self, values: Any, parts: tuple[_Decided, ...]) -> bool:
        same = len(parts) == len(self.parts) and all(a is b for a, b in zip(parts, self.parts, strict=True))
        return same and values == self.values


class _Sample:
    """A subsystem in numbers at one consistent state; composed when a parent looks into it."""

    def __init__(self, system: ModularSystem, node: Node, state: int, choice: Choice, parts: dict[str, _Sample]):
        self.system, self.node, self.state, self.choice, self.parts = system, node, state, choice, parts

    @property
    def columns(self) -> tuple[Label, ...]:
        return self.choice.independent

    @cached_property
    def own(self) -> OwnRows:
        return self.node.rows(NUMPY, self.system.order, self.system.witnesses[self.state])

    @cached_property
    def composed(self) -> Composed:
        return compose(self.own, self.parts, lambda _: self.choice, depth=len(self.node.path))

    @property
    def f_bar(self) -> Labelled:
        return self.composed.f_bar

    def S_rows(self, labels: Iterable[Label]) -> Labelled:
        return self.composed.S_rows(labels)


def decide_all(system: ModularSystem) -> dict[tuple[str, ...], Choice]:
    """For every subsystem, seen from it: independent variables, pivots, redundant rows.

    What was decided before for the same subsystem at the same place, of the same parts and with the same parameters, is
    kept; an equal subsystem elsewhere lends its choice if that serves.
    """
    found: dict[tuple[str, ...], Choice] = {}
    decided: dict[tuple[str, ...], _Decided] = {}
    samples: dict[tuple[str, ...], list[_Sample]] = {}
    for node in system.nodes:
        memo, place = node.description.memo, ("decided", node.path, system.order, system.strategy)
        parts = tuple(decided[child.path] for child in node.children.values())
        values = _values(system, node)
        before = memo.get(place)
        if before is None or not before.rests_on(values, parts):
            before = memo[place] = _Decided(values, parts, _new_choice(system, node, samples))
        decided[node.path] = before
        found[node.path] = before.choice
        samples[node.path] = _samples(system, node, moved(before.choice, node.place), samples)
    return found


def _values(system: ModularSystem, node: Node) -> Any:
    """Values of the parameters of a subsystem; of all, where its owners give them."""
    if node.is_given:
        return system.parameters
    return [system.parameters.get(".".join((*node.path, name))) for name in node.description.parameters]


def _samples(
    system: ModularSystem, node: Node, choice: Choice, samples: dict[tuple[str, ...], list[_Sample]]
) -> list[_Sample]:
    """Two at most: there are no more consistent states to look at."""
    return [
        _Sample(system, node, k, choice, {name: samples[child.path][k] for name, child in node.children.items()})
        for k in range(2)
    ]


def _new_choice(system: ModularSystem, node: Node, samples: dict[tuple[str, ...], list[_Sample]]) -> Choice:
    key = ("choice", system.order, system.strategy)
    known = node.description.memo.get(key)
    if known is None or not _serves(system, node, moved(known, node.place), samples):
        known = node.description.memo[key] = moved(_choose(system, node, samples), node.unplace)
    return known


def _serves(system: ModularSystem, node: Node, choice: Choice, samples: dict[tuple[str, ...], list[_Sample]]) -> bool:
    """True if the choice made for an equal subsystem serves at these states, too."""
    for sample in _samples(system, node, choice, samples)[: len(system.witnesses)]:
        try:
            one = sample.composed
        except (np.linalg.LinAlgError, KeyError):
            return False
        if {*one.free} != {*choice.independent, *(column for _, column in choice.pivots)}:
            return False
        left = (one.B @ one.C).to_array().astype(float)
        if not choice.residual and np.abs(left).max(initial=0.0) > 1e-7:
            return False
    return True


def _choose(system: ModularSystem, node: Node, samples: dict[tuple[str, ...], list[_Sample]]) -> Choice:
    d, Bs = node.description, []
    for k in range(len(system.witnesses) if d.invariants else 1):
        children = {name: samples[child.path][k] for name, child in node.children.items()}
        if d.invariants:
            own = node.rows(NUMPY, system.order, system.witnesses[k])
            bare = Composed(own, children, len(node.path))
            touched = dict.fromkeys(column for values in own.A.entries.values() for column in values)
            Bs.append(Labelled(NUMPY, own.rows, bare.free, (own.A @ bare.R_rows(touched)).entries))
        else:
            free = [node.place(label) for label in d.own_labels(system.order)]
            free += [column for child in children.values() for column in child.columns]
            Bs.append(Labelled(NUMPY, (), free, {}))
    asked = [".".join((*node.path, variable)) for variable in d.independent]
    strategy = d.strategy or system.strategy
    if isinstance(strategy, LeastSquares) and not strategy.independent and not asked:
        strategy = Pivoted()
    first, last = Bs[0], Bs[-1]

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
