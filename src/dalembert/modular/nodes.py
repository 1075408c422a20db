"""The tree of a system: every subsystem at its place, with its symbols as the root sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy as sp

from dalembert.algebra import NUMPY, Algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.expressions import TIME, evaluate
from dalembert.modular.description import Description, Part
from dalembert.modular.labels import Label
from dalembert.modular.own_rows import OwnRows, PlacedProgram, program
from dalembert.modular.variables import local

__all__ = ["Node", "tree_of"]


class Node:
    """A subsystem at its place in the tree.

    Attributes:
        path: names of the parts from the root.
        children: by name.
        is_given: whether owners give expressions in the place of its symbols, or of those of a subsystem that holds it.
    """

    def __init__(self, description: Description, path: tuple[str, ...] = (), parent: Node | None = None):
        self.description, self.path, self.parent = description, path, parent
        self.is_given = parent is not None and (parent.is_given or bool(parent.description.part[path[-1]].given))
        self.children = {part.name: Node(part.description, (*path, part.name), self) for part in description.parts}
        self._programs: dict[int, tuple[PlacedProgram, list[sp.Expr]]] = {}

    def __repr__(self) -> str:
        return f"<node {'.'.join(self.path) or '(root)'}>"

    @property
    def name(self) -> str:
        """The path as text; empty for the root."""
        return ".".join(self.path)

    def post_order(self) -> Iterator[Node]:
        """Leaves first, the root last."""
        for child in self.children.values():
            yield from child.post_order()
        yield self

    def at_root(self, name: str) -> sp.Expr:
        """A symbol of this subsystem as the root sees it: a symbol, or what its owners give in its place."""
        if name == TIME.name:
            return TIME
        if not self.is_given:
            return local(".".join((*self.path, name)))
        text, node = name, self
        while node.parent is not None:
            part: Part = node.parent.description.part[node.path[-1]]
            if part.given and node.parent.description.is_given(part, text):
                return self._expression_at_root(name)
            text, node = f"{part.name}.{text}", node.parent
        return local(text)

    def _expression_at_root(self, name: str) -> sp.Expr:
        expression: sp.Expr = local(name)
        node = self
        while node.parent is not None:
            part: Part = node.parent.description.part[node.path[-1]]
            expression = node.parent.description.seen(part, expression)
            node = node.parent
        return expression

    def rows(self, al: Algebra, order: int, known: Mapping[str, Any]) -> OwnRows:
        """What this subsystem adds, in scalars and labels of the root."""
        placed, symbols = self._placed(order)
        return placed(al, _scalars(al, symbols, known))

    def row_numbers(self, order: int, known: Mapping[str, float]) -> OwnRows:
        """The invariants at order σ at numbers, without forces: what choices are made by."""
        placed, symbols = self._placed(order)
        return placed.numbers([float(value) for value in _scalars(NUMPY, symbols, known)])

    def _placed(self, order: int, symbols: Mapping[str, Any] | None = None) -> tuple[PlacedProgram, list[sp.Expr]]:
        if order not in self._programs:
            memo, key = self.description.memo, ("placed", self.path, order)

            def symbol(name: str) -> Any:
                own = name if name == TIME.name else ".".join((*self.path, name))
                if symbols is None or self.at_root(name) is not local(own):  # two may not become one
                    return CASADI.symbol(name)
                return symbols[own]

            made = program(self.description, order, symbol)
            if key not in memo:
                memo[key] = made.placed(self.path)
            self._programs[order] = memo[key], [self.at_root(name) for name in made.rows.names]
        return self._programs[order]

    def traced_rows(self, order: int, symbols: Mapping[str, Any]) -> OwnRows:
        """The same over CasADi; the same object for the same symbols."""
        placed, expressions = self._placed(order, symbols)
        key = ("traced", self.path, order)
        before = self.description.memo.get(key)
        found: Any = (symbol for expression in expressions for symbol in expression.free_symbols)
        names: set[str] = {symbol.name for symbol in found}
        if before is not None and before[0] == expressions and all(symbols[n] is before[1].get(n) for n in names):
            return before[2]
        used = {name: symbols[name] for name in names}
        made = placed(CASADI, _scalars(CASADI, expressions, used))
        self.description.memo[key] = expressions, used, made
        return made

    def place(self, label: Label) -> Label:
        """A label of this subsystem, seen from the root."""
        return Label(self.path + label.path, label.name, label.order, label.base)

    def unplace(self, label: Label) -> Label:
        """A label of the root, seen from this subsystem."""
        return Label(label.path[len(self.path) :], label.name, label.order, label.base)


def _scalars(al: Algebra, expressions: list[Any], known: Mapping[str, Any]) -> list[Any]:
    def lookup(symbol: Any) -> Any:
        return known[symbol.name]

    return [known[e.name] if e.is_Symbol else evaluate(al, e, lookup) for e in expressions]


def tree_of(description: Description) -> Node:
    """The tree of a description."""
    return Node(description)
