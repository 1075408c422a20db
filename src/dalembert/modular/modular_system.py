"""A tree of subsystems: which variables it has, at which orders, and states that meet its invariants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME
from dalembert.modular.complement import Choice, Strategy
from dalembert.modular.description import Description
from dalembert.modular.invariants import constraint_order, force_order, working_order
from dalembert.modular.labels import Label, match, split_rate
from dalembert.modular.nodes import Node, tree_of
from dalembert.modular.timing import timed
from dalembert.modular.traced import TracedSystem
from dalembert.modular.variables import generic_value, local
from dalembert.modular.witness import Residual, consistent, worst

__all__ = ["ModularSystem"]

CONSISTENT = 1e-8  # residual of a state that is taken to be consistent


class ModularSystem:
    """A tree of subsystems with its variables, parameters and inputs, and numbers for them.

    Attributes:
        order: σ.
        state: labels of q⟨0⟩ … q⟨σ−1⟩;  top: labels of q⟨σ⟩.
        parameters: values by name;  inputs: names.
        nodes: all subsystems, leaves first, the system itself last.
    """

    def __init__(
        self,
        name: str,
        description: Description,
        values: Mapping[str, float | None],
        guesses: Mapping[str, float],
        order: int | None,
        strategy: Strategy,
    ):
        self.name, self.description, self.strategy = name, description, strategy
        self._values, self.guesses = dict(values), dict(guesses)
        self.constraint_order, self.force_order = constraint_order(description), force_order(description)
        least = working_order(description)
        if order is not None and order < least:
            raise ModelError(
                Problem(f"subsystem {name!r} needs an order of at least {least}, got {order}", fix=f"order={least}")
            )
        self.order = least if order is None else order
        self.root: Node = tree_of(description)
        self.nodes: tuple[Node, ...] = tuple(self.root.post_order())
        self.state, self.top = self._layout()
        self.parameters = dict(values)
        self.inputs = tuple(
            ".".join((*node.path, key))
            for node in self.nodes
            for key in node.description.inputs
            if node.at_root(key) == local(".".join((*node.path, key)))
        )

    def __repr__(self) -> str:
        return (
            f"<equations of {self.name!r}: order {self.order}, {len(self.top)} variables, "
            f"{sum(len(node.description.invariants) for node in self.nodes)} invariants>"
        )

    def _layout(self) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
        by_order: dict[int, list[Label]] = {k: [] for k in range(self.order + 1)}
        for node in (self.nodes[-1], *self.nodes[:-1]):
            d = node.description
            for family in d.families:
                start = d.definitions.get(family.name)
                end = self.order if start is None else min(self.order, family.order + start[0] - 1)
                for order in range(family.order, end + 1):
                    by_order[order].append(Label(node.path, family.name, order, family.order))
        state = tuple(label for k in range(self.order) for label in by_order[k])
        return state, tuple(by_order[self.order])

    @cached_property
    def rates(self) -> dict[Label, sp.Expr]:
        """d/dt of every state, in states and variables of order σ."""
        nodes = {node.path: node.description for node in self.nodes}
        found: dict[Label, sp.Expr] = {}
        for label in self.state:
            trivial = label.name not in nodes[label.path].definitions
            found[label] = local(label.text, label.order + 1 - label.base) if trivial else self._rate(label)
        return found

    def _rate(self, label: Label) -> sp.Expr:
        return self.description.next(label.symbol)

    @cached_property
    def casadi(self) -> TracedSystem:
        """The same system over CasADi."""
        with timed(self.name, f"rows of {len(self.nodes)} subsystems as a graph"):
            return TracedSystem(self)

    def values(
        self, given: Mapping[Any, float] | None = None, *, salt: str = "", guess: bool = False
    ) -> dict[str, float]:
        """A number for every symbol: what is given, parameters, guesses; what is left is nothing special.

        Raises:
            ModelError: for names that do not exist.
        """
        names = [TIME.name, *map(str, self.state), *map(str, self.top), *self.parameters, *self.inputs]
        names += list(self.casadi.input_rates)
        known: dict[str, float] = {TIME.name: 0.0}
        known |= {name: value for name, value in self.parameters.items() if value is not None}
        if guess:
            known |= self.guesses
        found = {name: known[name] if name in known else generic_value(salt + name) for name in names}
        for key, value in (given or {}).items():
            name = getattr(key, "name", None) or str(key)
            if name not in found:
                shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
                raise ModelError(Problem(f"subsystem {self.name!r} has no {name!r}; it has {shown}"))
            found[name] = float(value)
        return found

    def consistent(self, given: Mapping[Any, float] | None = None, *, salt: str = "") -> dict[str, float]:
        """A state that meets all invariants of orders below σ, near a guess; what is given stays.

        Raises:
            ModelError: if none is found, naming the invariants that are left.
        """
        found = self.values(given, salt=salt, guess=True)
        traced = self.casadi
        if not traced.lower:
            return found
        names = [str(label) for label in self.state]
        fixed = {getattr(key, "name", None) or str(key) for key in (given or {})}
        free = np.array([name not in fixed for name in names])
        others = np.array([found[name] for name in traced.others])
        start = np.array([found[name] for name in names])
        x, left = consistent(Residual(traced.lower_function), start, others, free)
        if np.abs(left).max(initial=0.0) > CONSISTENT:
            shown = worst(left, [label for label, _ in traced.lower])
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: no state meets all invariants; left over: {shown}",
                    fix="invariants that contradict each other? else give a position near one: guess({…})",
                )
            )
        return found | dict(zip(names, map(float, x), strict=True))

    @cached_property
    def witnesses(self) -> list[dict[str, float]]:
        """Consistent states at which ranks are looked at; states that are not, if rank needs none."""
        if not self.casadi.lower:
            return [self.values(), self.values(salt="other ")]
        with timed(self.name, "two consistent states"):
            return self._consistent_states()

    def _consistent_states(self) -> list[dict[str, float]]:
        found: list[dict[str, float]] = []
        first = None
        for salt in ("", "other ", "third ", "fourth "):
            try:
                found.append(self.consistent(salt=salt))
            except ModelError as error:
                first = first or error
            if len(found) == 2:
                break
        if not found:
            assert first is not None
            raise first
        return found

    def choice(self, node: Node) -> Choice:
        """What was decided for a subsystem, in labels of the system."""
        raise NotImplementedError

    def label(self, key: Any) -> Label:
        """The variable of order σ that a name or symbol means."""
        return match(self.top, key, "variable")

    def symbol(self, name: str) -> sp.Symbol:
        """A symbol of the system by its name."""
        place = self.description.locate(name)
        if place is None:
            raise ModelError(Problem(f"subsystem {self.name!r} has no {split_rate(name)[0]!r}"))
        return local(name)
