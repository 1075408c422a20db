"""The tree of a system: every subsystem at its place, with its symbols as the root sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sympy as sp

from dalembert.algebra import Algebra
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
    """

    def __init__(self, description: Description, path: tuple[str, ...] = (), parent: Node | None = None):
        self.description, self.path, self.parent = description, path, parent
        self._given = parent is not None and (parent._given or bool(parent.description.part[path[-1]].given))
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
        if not self._given:
            return local(".".join((*self.path, name)))
        expression: sp.Expr = local(name)
        node = self
        while node.parent is not None:
            part: Part = node.parent.description.part[node.path[-1]]
            expression = node.parent.description.seen(part, expression)
            node = node.parent
        return expression

    def rows(self, al: Algebra, order: int, known: Mapping[str, Any]) -> OwnRows:
        """What this subsystem adds, in scalars and labels of the root."""
        if order not in self._programs:
            made = program(self.description, order)
            self._programs[order] = made.placed(self.path), [self.at_root(name) for name in made.rows.names]
        placed, symbols = self._programs[order]

        def lookup(symbol: Any) -> Any:
            return known[symbol.name]

        return placed(al, [known[e.name] if e.is_Symbol else evaluate(al, e, lookup) for e in symbols])  # type: ignore[attr-defined]

    def place(self, label: Label) -> Label:
        """A label of this subsystem, seen from the root."""
        return Label(self.path + label.path, label.name, label.order, label.base)

    def unplace(self, label: Label) -> Label:
        """A label of the root, seen from this subsystem."""
        return Label(label.path[len(self.path) :], label.name, label.order, label.base)


def tree_of(description: Description) -> Node:
    """The tree of a description."""
    return Node(description)


def variables_of(root: Node, keep: Callable[[Label], bool] = lambda _: True) -> list[Label]:
    """Labels of all variables of a tree at the order of their declaration."""
    return [
        label
        for node in root.post_order()
        for family in node.description.families
        if keep(label := Label(node.path, family.name, family.order, family.order))
    ]
