"""A tree of subsystems: which variables it has, at which orders, and states that meet its invariants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp

from dalembert.arguments import Number, public_methods
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME
from dalembert.modular.complement import Choice, Strategy
from dalembert.modular.deriving import deriving
from dalembert.modular.description import Description
from dalembert.modular.invariants import constraint_order, force_order, working_order
from dalembert.modular.labels import Label, match, split_rate
from dalembert.modular.nodes import Node
from dalembert.modular.traced import LowerRows, TracedSystem
from dalembert.modular.variables import local
from dalembert.modular.witness import Bound, Numbers, Residual, bound_together, consistent, worst
from dalembert.values import finite_number

__all__ = ["ModularSystem"]

CONSISTENT = 1e-8  # residual of a state that is taken to be consistent


@public_methods
class ModularSystem:
    """A tree of subsystems with its variables, parameters and inputs, and numbers for them.

    Attributes:
        order: σ.
        state: labels of q⟨0⟩ … q⟨σ−1⟩;  top: labels of q⟨σ⟩.
        parameters: values by name;  inputs: names.
        nodes: all subsystems, leaves first, the system itself last.
        modes: parameters, the last ones, that choose branches of formulas;  branches: the functions whose signs do
            otherwise, of those modes that a run can tell from the state (see ``system_branches``).
    """

    modes: tuple[str, ...] = ()
    branches: Mapping[str, sp.Expr] = MappingProxyType({})

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
        self.root = Node(description)
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
        by_order: list[list[Label]] = [[] for _ in range(self.order + 1)]
        for node in (self.nodes[-1], *self.nodes[:-1]):
            for labels, mine in zip(by_order, node.layout(self.order), strict=True):
                labels += mine
        return tuple(label for labels in by_order[:-1] for label in labels), tuple(by_order[-1])

    @cached_property
    def state_labels(self) -> dict[str, Label]:
        """Labels of the state by their names."""
        return {str(label): label for label in self.state}

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
        with deriving(self.name, f"rows of {len(self.nodes)} subsystems as a graph"):
            return TracedSystem(self)

    def values(self, given: Mapping[Any, Number] | None = None, *, guess: bool = False) -> dict[str, float]:
        """A number for every symbol: what is given, parameters, guesses; what is left is nothing special.

        Raises:
            ModelError: for names that do not exist.
        """
        names = [TIME.name, *map(str, self.state), *map(str, self.top), *self.parameters, *self.inputs]
        names += list(self.casadi.input_rates)
        known = Numbers(self._known(guess))
        found = {name: known[name] for name in names}
        for key, value in (given or {}).items():
            name = getattr(key, "name", None) or str(key)
            if name not in found:
                shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
                raise ModelError(Problem(f"subsystem {self.name!r} has no {name!r}; it has {shown}"))
            number = finite_number(value)
            if number is None:
                raise ModelError(Problem(f"subsystem {self.name!r}: {name!r} must be a finite number, got {value!r}"))
            found[name] = number
        return found

    def _known(self, guess: bool) -> dict[str, float]:
        """Time, parameters that have values, guesses if they are wanted."""
        known = {TIME.name: 0.0, **{name: value for name, value in self.parameters.items() if value is not None}}
        return known | self.guesses if guess else known

    def consistent(self, given: Mapping[Any, Number] | None = None) -> dict[str, float]:
        """A state that meets all invariants of orders below σ, near a guess; what is given stays.

        Raises:
            ModelError: if none is found, naming the invariants that are left.
        """
        found = self.values(given, guess=True)
        if not self.casadi.lower:
            return found
        fixed = {getattr(key, "name", None) or str(key) for key in (given or {})}
        return found | self._near(found, self.casadi.lower_rows(), fixed)

    def _near(
        self, known: Mapping[str, float], rows: LowerRows, fixed: Set[str] = frozenset(), groups: Any = None
    ) -> dict[str, float]:
        """Variables that meet some invariants, near a guess."""
        free = np.array([name not in fixed for name in rows.state])
        start, others = (np.array([known[name] for name in names]) for names in (rows.state, rows.others))
        x, left = consistent(Residual(rows.function), start, others, free, groups)
        if np.abs(left).max(initial=0.0) > CONSISTENT:
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: no state meets all invariants; left over: {worst(left, rows.labels)}",
                    fix="invariants that contradict each other? else give a position near one: guess({…})",
                )
            )
        return dict(zip(rows.state, map(float, x), strict=True))

    @cached_property
    def witnesses(self) -> list[Mapping[str, float]]:
        """Consistent states at which ranks are looked at; states that are not, if rank needs none."""
        if not self.casadi.lower:
            return [Numbers(self._known(False), salt) for salt in ("", "other ")]
        with deriving(self.name, "two consistent states"):
            return self._consistent_states()

    def _consistent_states(self) -> list[Mapping[str, float]]:
        known = self._known(True)
        groups = [Bound(nodes, self.order, known) for nodes in bound_together(self.nodes, self.description)]
        found: list[Mapping[str, float]] = []
        first = None
        for salt in ("", "other ", "third ", "fourth "):
            try:
                found.append(self._consistent_state(groups, known, salt))
            except ModelError as error:
                first = first or error
            if len(found) == 2:
                break
        if not found:
            assert first is not None
            raise first
        return found

    def _consistent_state(self, groups: Sequence[Bound], known: Mapping[str, float], salt: str) -> Mapping[str, float]:
        """A consistent state of what invariants bind; what was found before for the same subsystems is kept."""
        found, new = Numbers(known, salt), list[Bound]()
        for group in groups:
            before = group.before(salt)
            if before is None:
                new.append(group)
            else:
                found.update(before)
        if not new:
            return found
        some = [node for group in new for node in group.nodes] if len(new) < len(groups) else None
        rows = self.casadi.lower_rows(some)
        number = {node.path: k for k, group in enumerate(new) for node in group.nodes}
        # Forces may name variables that no invariant binds: they stay where they are.
        at = [number.get(self.state_labels[name].path) for name in rows.state]
        groups_of = np.array([k or 0 for k in at]) if len(new) > 1 else None
        state = self._near(found, rows, groups=groups_of)
        parts: list[dict[str, float]] = [{} for _ in new]
        for (name, value), k in zip(state.items(), at, strict=True):
            if k is not None:
                parts[k][name] = value
        for group, part in zip(new, parts, strict=True):
            group.keep(salt, part)
        found.update(state)
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
