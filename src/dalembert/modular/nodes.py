"""The tree of a system: every subsystem at its place, with its symbols as the root sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import sympy as sp

from dalembert.algebra import NUMPY, Algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.expressions import TIME, evaluate, replaced, symbols_of
from dalembert.modular.description import Description, Part
from dalembert.modular.labels import Label, split_rate
from dalembert.modular.own_rows import OwnRows, PlacedProgram, program
from dalembert.modular.variables import local

__all__ = ["Node"]


class Node:
    """A subsystem at its place in the tree.

    Attributes:
        path: names of the parts from the root.
        parent: the owner, where it gives something; None where nothing is given from above.
        children: by name.
        given: names, as they are called here, in the place of which owners give expressions.
    """

    def __init__(
        self,
        description: Description,
        path: tuple[str, ...] = (),
        parent: Node | None = None,
        given: frozenset[str] = frozenset(),
    ):
        self.description, self.path, self.parent, self.given = description, path, parent, given
        self.children = {part.name: self._child(part) for part in description.parts}
        self._programs: dict[int, tuple[PlacedProgram, list[sp.Expr], set[str]]] = {}

    def _child(self, part: Part) -> Node:
        """The node of a part; that of before, if its owners give it nothing, since then only its path matters."""
        head, path = f"{part.name}.", (*self.path, part.name)
        given = {symbol.name for symbol, _ in part.given}
        given |= {name.removeprefix(head) for name in self.given if name.startswith(head)}
        if given:
            return Node(part.description, path, self, frozenset(given))
        memo, key = part.description.memo, ("node", path)
        if key not in memo:
            memo[key] = Node(part.description, path)
        return memo[key]

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
        if name in self.given or split_rate(name)[0] in self.given:
            return self._expression_at_root(name)
        return local(".".join((*self.path, name)))

    def _expression_at_root(self, name: str) -> sp.Expr:
        expression: sp.Expr = local(name)
        node = self
        while node.parent is not None:
            part: Part = node.parent.description.part[node.path[-1]]
            expression = node.parent.description.seen(part, expression)
            node = node.parent
        if not node.path:
            return expression
        return replaced(expression, {symbol: node.at_root(symbol.name) for symbol in symbols_of(expression)})

    @cached_property
    def given_at_root(self) -> tuple[sp.Expr, ...]:
        """What owners give, as the root sees it, by the names in ``given``."""
        return tuple(self.at_root(name) for name in sorted(self.given))

    @cached_property
    def others(self) -> tuple[str, ...]:
        """Names, at the root, of its parameters and inputs, and of all in what owners give."""
        d = self.description
        mine = {".".join((*self.path, name)) for name in (*d.parameters, *d.inputs) if name not in self.given}
        return tuple(sorted(mine.union(*({s.name for s in symbols_of(one)} for one in self.given_at_root))))

    def layout(self, order: int) -> tuple[tuple[Label, ...], ...]:
        """Its own variables at the orders 0 … σ, seen from the root."""
        d, key = self.description, ("layout", self.path, order)
        if key not in d.memo:
            found: list[list[Label]] = [[] for _ in range(order + 1)]
            for family in d.families:
                start = d.definitions.get(family.name)
                end = order if start is None else min(order, family.order + start[0] - 1)
                for k in range(family.order, end + 1):
                    found[k].append(Label(self.path, family.name, k, family.order))
            d.memo[key] = tuple(map(tuple, found))
        return d.memo[key]

    def rows(self, al: Algebra, order: int, known: Mapping[str, Any]) -> OwnRows:
        """What this subsystem adds, in scalars and labels of the root."""
        placed, symbols, _ = self._placed(order)
        return placed(al, _scalars(al, symbols, known))

    def row_numbers(self, order: int, known: Mapping[str, float]) -> OwnRows:
        """The invariants at order σ at numbers, without forces: what choices are made by."""
        placed, symbols, _ = self._placed(order)
        return placed.numbers([float(value) for value in _scalars(NUMPY, symbols, known)])

    def _placed(
        self, order: int, symbols: Mapping[str, Any] | None = None
    ) -> tuple[PlacedProgram, list[sp.Expr], set[str]]:
        """Its rows at this place, what stands for its symbols at the root, and the names in that."""
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
            expressions = [self.at_root(name) for name in made.rows.names]
            self._programs[order] = memo[key], expressions, {s.name for one in expressions for s in symbols_of(one)}
        return self._programs[order]

    def names(self, order: int) -> set[str]:
        """Names, at the root, of all symbols in its rows."""
        return self._placed(order)[2]

    def traced_rows(self, order: int, symbols: Mapping[str, Any], chosen: Mapping[Any, Any]) -> OwnRows:
        """The same over CasADi; the same object for the same symbols.

        Args:
            chosen: modes of branches in what owners give, see ``evaluate``.
        """
        placed, expressions, names = self._placed(order, symbols)
        key = ("traced", self.path, order, frozenset(chosen) if self.given else None)
        before = self.description.memo.get(key)
        if before is not None and before[0] == expressions and all(symbols[n] is before[1].get(n) for n in names):
            return before[2]
        used = {name: symbols[name] for name in names}
        made = placed(CASADI, _scalars(CASADI, expressions, used, chosen))
        self.description.memo[key] = expressions, used, made
        return made

    def place(self, label: Label) -> Label:
        """A label of this subsystem, seen from the root."""
        return Label(self.path + label.path, label.name, label.order, label.base)

    def unplace(self, label: Label) -> Label:
        """A label of the root, seen from this subsystem."""
        return Label(label.path[len(self.path) :], label.name, label.order, label.base)


def _scalars(
    al: Algebra, expressions: list[Any], known: Mapping[str, Any], chosen: Mapping[Any, Any] | None = None
) -> list[Any]:
    def lookup(symbol: Any) -> Any:
        return known[symbol.name]

    return [known[e.name] if e.is_Symbol else evaluate(al, e, lookup, chosen) for e in expressions]
