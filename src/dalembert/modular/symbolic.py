"""Composition over SymPy, one description at a time, seen from itself: what is used twice is derived once.

Long expressions get names z1, z2, … in the subsystem that makes them, and parents go on with the names: nothing is
expanded, and what a subsystem costs does not grow with what is below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp

from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.expressions import expanded
from dalembert.modular.complement import Choice
from dalembert.modular.compose import Composed, compose
from dalembert.modular.description import Description, Part
from dalembert.modular.labeled_matrix import LabeledMatrix
from dalembert.modular.labels import Label, split_rate
from dalembert.modular.own_rows import COUNTS, own_rows
from dalembert.modular.variables import local

__all__ = ["Names", "composed_symbolic"]

LONG = 150  # operations; longer expressions get a name
LONG_IN_LARGE = 25  # the same in large trees: what is passed up must stay short
LARGE = 30  # subsystems in a tree
SHORT = 60  # operations; shorter expressions are multiplied out, to see whether that makes them shorter


class Names:
    """Names for long expressions of one subsystem."""

    def __init__(self, description: Description, longest: int):
        self.description, self.longest = description, longest
        self.definitions: dict[sp.Symbol, sp.Expr] = {}
        self._known: dict[sp.Expr, sp.Symbol] = {}

    def __call__(self, value: Any) -> Any:
        if _size(value, self.longest) <= self.longest:
            return value
        if value not in self._known:
            k = len(self.definitions) + 1
            while self.description.locate(f"z{k}") is not None:
                k += 1
            symbol = local(f"z{k}")
            self.definitions[symbol] = value
            self._known[value] = symbol
        return self._known[value]


def _size(value: Any, most: int) -> int:
    """The number of operations of an expression; does not look further than needed."""
    stack, count = [value], 0
    while stack and count <= most:
        node = stack.pop()
        if node.args:
            count += max(len(node.args) - 1, 1)
            stack.extend(node.args)
    return count


class SeenComposed:
    """A part's matrices in labels and symbols of its owner."""

    def __init__(self, owner: Description, part: Part, inner: Composed):
        self.owner, self.part, self.inner = owner, part, inner
        self.columns = tuple(column.inside(part.name) for column in inner.columns)

    def _seen(self, matrix: LabeledMatrix) -> LabeledMatrix:
        name = self.part.name
        moved = matrix.renamed(lambda label: label if label.name == "1" else label.inside(name))
        return moved.map(lambda value: self.owner.seen(self.part, value))

    @property
    def f_bar(self) -> LabeledMatrix:
        return self._seen(self.inner.f_bar)

    def S_rows(self, labels: Iterable[Label]) -> LabeledMatrix:
        rows = [Label(label.path[1:], label.name, label.order, label.base) for label in labels]
        return self._seen(self.inner.S_rows(rows))


def composed_symbolic(
    d: Description, order: int, choices: dict[tuple[str, ...], Choice], path: tuple[str, ...] = ()
) -> Composed:
    """The matrices of a description over SymPy, for choices made for each place in the tree (seen from there)."""
    choice, longest = choices[path], LONG if len(choices) <= LARGE else LONG_IN_LARGE
    key = ("composed", order, longest, choice.independent, choice.pivots, choice.strategy)
    below = {part.name: composed_symbolic(part.description, order, choices, (*path, part.name)) for part in d.parts}
    if key in d.memo and all(d.memo[key][1][name] is inner for name, inner in below.items()):
        return d.memo[key][0]
    COUNTS["composed"] += 1
    children = {part.name: SeenComposed(d, part, below[part.name]) for part in d.parts}
    names, rules = Names(d, longest), _rules(d, order)
    short = names if order <= 2 else None  # prolongation differentiates what it finds
    found = compose(
        own_rows(SYMPY, d, order),
        children,
        lambda _: choice,
        short=short,
        tidy=lambda value: _tidy(value, rules),
        rules=(lambda value: value.xreplace(rules)) if rules else None,
    )
    found.definitions = names.definitions
    d.memo[key] = (found, below)
    return found


def _tidy(value: Any, rules: dict[Any, Any]) -> Any:
    """With identities; what is short is multiplied out where that makes it shorter."""
    if rules:
        value = value.xreplace(rules)
    if not value.args or _size(value, SHORT) > SHORT:
        return value
    opened = expanded(value)
    return opened if _size(opened, SHORT) < _size(value, SHORT) else value


def _rules(d: Description, order: int) -> dict[Any, Any]:
    """Identities of symbols and, for variables, of their rates."""
    rules: dict[Any, Any] = {}
    for symbol, value in d.identities:
        value = d.lively(value)
        place = d.locate(symbol.name)
        rules[symbol] = value
        if place is None or place.kind != "variable":
            continue
        head, level = split_rate(symbol.name)
        for k in range(level + 1, order - place.owner.orders[place.name] + 1):
            value = d.rate(value)
            rules.setdefault(local(head, k), value)
    return rules
