# pyright: basic
"""Which variables are independent in every subsystem, decided at consistent states, leaves first."""

from __future__ import annotations

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

Samples = list[dict[tuple[str, ...], Composed]]


def decide_all(system: ModularSystem) -> dict[tuple[str, ...], Choice]:
    """For every subsystem, seen from it: independent variables, pivots, redundant rows."""
    found: dict[tuple[str, ...], Choice] = {}
    samples: Samples = [{} for _ in system.witnesses]
    for node in system.nodes:
        rows = [node.rows(NUMPY, system.order, values) for values in system.witnesses]
        key = ("choice", system.order, system.strategy)
        known = node.description.memo.get(key)
        if known is None or not _serves(node, moved(known, node.place), rows, samples):
            made = _choose(system, node, rows, samples)
            _compose_all(node, made, rows, samples)
            known = node.description.memo[key] = moved(made, node.unplace)
        found[node.path] = known
    return found


def _compose_all(node: Node, choice: Choice, rows: list[OwnRows], samples: Samples) -> list[Composed]:
    made: list[Composed] = []
    for own, sample in zip(rows, samples, strict=True):
        children = {name: sample[child.path] for name, child in node.children.items()}
        made.append(compose(own, children, lambda _: choice, depth=len(node.path)))
        sample[node.path] = made[-1]
    return made


def _serves(node: Node, choice: Choice, rows: list[OwnRows], samples: Samples) -> bool:
    """True if the choice made for an equal subsystem serves at these states, too."""
    try:
        made = _compose_all(node, choice, rows, samples)
    except (np.linalg.LinAlgError, KeyError):
        return False
    for one in made:
        if {*one.free} != {*choice.independent, *(column for _, column in choice.pivots)}:
            return False
        left = (one.B @ one.C).to_array().astype(float)
        if not choice.residual and np.abs(left).max(initial=0.0) > 1e-7:
            return False
    return True


def _choose(system: ModularSystem, node: Node, rows: list[OwnRows], samples: Samples) -> Choice:
    d, Bs = node.description, []
    for own, sample in zip(rows, samples, strict=True):
        children = {name: sample[child.path] for name, child in node.children.items()}
        bare = Composed(own, children, len(node.path))
        touched = dict.fromkeys(column for values in own.A.entries.values() for column in values)
        Bs.append(Labelled(NUMPY, own.rows, bare.free, (own.A @ bare.R_rows(touched)).entries))
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
