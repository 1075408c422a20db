"""What one subsystem adds to its parts, in any algebra with symbols: invariants at all orders, A, b, and forces.

    q̄⟨σ⟩ = d^{σ−ρ}/dt^{σ−ρ} h̄⟨ρ⟩ = A q⟨σ⟩ + b(t, q⟪σ−1⟫)                                                  (2.10), (2.11)

Expressions are differentiated where they stand: over SymPy to read, over CasADi to run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import casadi as ca
import numpy as np

from dalembert.algebra import NUMPY, Algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.algebra.forward import Steps
from dalembert.errors import ModelError, Problem
from dalembert.modular.description import Description
from dalembert.modular.invariants import constraint_order_of
from dalembert.modular.labeled_matrix import ONE, LabeledMatrix
from dalembert.modular.labels import Label
from dalembert.modular.scope import Scope

__all__ = ["COUNTS", "OwnRows", "PlacedProgram", "Program", "own_rows", "program"]

# How often something was derived, by kind; for tests and for the curious.
COUNTS = {"rows": 0, "composed": 0}


@dataclass(frozen=True)
class OwnRows:
    """What a subsystem adds, seen from itself.

    Attributes:
        order: σ.
        labels: its own variables at order σ.
        rows: labels of its invariants, at order σ.
        A, b: of  A q⟨σ⟩ + b = 0, with columns of its own variables and of those of parts.
        lower: (label, value) of the invariants at all orders below σ.
        forces: effective forces by variable, its own or of parts.
        names: of all symbols that occur, as they are called here.
    """

    al: Algebra
    order: int
    labels: tuple[Label, ...]
    rows: tuple[Label, ...]
    A: LabeledMatrix
    b: LabeledMatrix
    lower: tuple[tuple[Label, Any], ...]
    forces: LabeledMatrix
    names: tuple[str, ...]


def own_rows(al: Algebra, description: Description, order: int, symbol: Callable[[str], Any] | None = None) -> OwnRows:
    """What a description adds at order σ; derived once.

    Args:
        symbol: gives symbols by name, if it is derived now: those of its first place in a tree need no replacing there.
    """
    key = ("own", al.name, order)
    if key not in description.memo:
        COUNTS["rows"] += 1
        description.memo[key] = _derive(al, description, order, symbol)
    return description.memo[key]


def _derive(al: Algebra, d: Description, order: int, symbol: Callable[[str], Any] | None) -> OwnRows:
    scope = Scope(al, d, symbol)
    if al is CASADI:
        d.memo[("scope", order)] = scope
    rows = tuple(Label((), invariant.name, order) for invariant in d.invariants)
    levels = _Levels(scope, order)
    levels.run()
    lower = [(label.at(k), value) for label, found in zip(rows, levels.lower, strict=True) for k, value in found]
    entries = dict(zip(rows, levels.gradients, strict=True))
    b = dict(zip(rows, levels.rest(), strict=True))
    forces: dict[Label, Any] = {}
    for variable, expression in d.forces:
        place = d.locate(variable)
        assert place is not None, variable
        if not d.is_live(place, order):
            raise ModelError(
                Problem(
                    f"a force is given for {variable!r}, whose rate is defined by kinematics",
                    fix="give the force to the quasi-velocities that its kinematics name",
                )
            )
        forces[place.label(order)] = scope.value(d.lively(expression))
    labels = tuple(d.own_labels(order))
    columns = dict.fromkeys(labels)
    columns.update(dict.fromkeys(column for values in entries.values() for column in values))
    A = LabeledMatrix(al, rows, columns, {row: _non_zero(al, values) for row, values in entries.items()})
    vector = LabeledMatrix.vector(al, b)
    return OwnRows(
        al, order, labels, rows, A, vector, tuple(lower), LabeledMatrix.vector(al, forces), tuple(scope.scalars)
    )


def _non_zero(al: Algebra, values: dict[Label, Any]) -> dict[Label, Any]:
    return {label: value for label, value in values.items() if not _is_zero(al, value)}


def _is_zero(al: Algebra, value: Any) -> bool:
    return bool(value == 0) if al.name == "sympy" else al.value(value) == 0


class _Levels:
    """The invariants of a description from their own orders up to σ, all at once.

    Attributes:
        lower: for each invariant, (order, value) at the orders below σ.
        gradients: rows of A.
    """

    def __init__(self, scope: Scope, order: int):
        d = scope.description
        self.scope, self.order, self.invariants = scope, order, d.invariants
        expressions = [d.lively(invariant.value) for invariant in d.invariants]
        self.starts = [max(d.order_of(expression), 0) for expression in expressions]
        self.affine = [constraint_order_of(d, invariant) for invariant in d.invariants]
        self.names: list[frozenset[str]] = [d.names(expression) for expression in expressions]
        self.values = [scope.value(expression) for expression in expressions]
        self.lower: list[list[tuple[int, Any]]] = [[] for _ in expressions]
        self.gradients: list[dict[Label, Any]] = [{} for _ in expressions]

    def run(self) -> None:
        for invariant, affine in zip(self.invariants, self.affine, strict=True):
            if affine > self.order:
                raise ModelError(
                    Problem(
                        f"invariant {invariant.name!r} is affine from order {affine} on, the equations have order "
                        f"{self.order}",
                        fix=f"equations(order={affine})",
                    )
                )
        every = range(len(self.values))
        for k in range(min(self.starts, default=0), self.order + 1):
            moved = [i for i in every if self.starts[i] < k]
            if k == self.order:
                moved = self._leave_at_rest(moved)
            if moved:
                found = self.scope.rates([self.values[i] for i in moved], [self.names[i] for i in moved])
                for i, (value, names) in zip(moved, found, strict=True):
                    self.values[i], self.names[i] = value, names
            self._differentiate([i for i in every if self.affine[i] == k], k)
            if k < self.order:
                for i in every:
                    if self.starts[i] <= k:
                        self.lower[i].append((k, self.values[i]))

    def _leave_at_rest(self, moved: list[int]) -> list[int]:
        """b of the invariants whose rows of A are known; the others, of which the whole rates are needed."""
        known = [i for i in moved if self.affine[i] < self.order]
        found = None
        if known:
            values, names = [self.values[i] for i in known], [self.names[i] for i in known]
            found = self.scope.rates_at_rest(values, names, self.order)
        if found is None:
            return moved
        for i, value in zip(known, found, strict=True):
            self.values[i], self.names[i] = value, frozenset()  # nothing of order σ is left in it
        return [i for i in moved if self.affine[i] == self.order]

    def _differentiate(self, chosen: list[int], k: int) -> None:
        """∂q̄⟨k⟩/∂q⟨k⟩, which is A for every σ ≥ k."""
        tops = [_of_order(self.scope.description, self.names[i], k) for i in chosen]
        rows = self.scope.gradients([self.values[i] for i in chosen], [[name for name, _ in one] for one in tops])
        for i, one, row in zip(chosen, tops, rows, strict=True):
            self.gradients[i] = {label.at(self.order): row[name] for name, label in one if name in row}

    def rest(self) -> list[Any]:
        """b: the invariants at order σ where the variables of that order are zero."""
        al = self.scope.al
        tops = [
            [name for name, _ in _of_order(self.scope.description, names, self.order)]
            if not _is_zero(al, value)
            else []
            for value, names in zip(self.values, self.names, strict=True)
        ]
        return self.scope.without(self.values, tops)


def _of_order(d: Description, names: frozenset[str], order: int) -> list[tuple[str, Label]]:
    """Variables of an order among names, sorted, with their labels."""
    labels = ((name, d.label(name)) for name in names)
    return sorted((name, label) for name, label in labels if label is not None and label.order == order)


@dataclass(frozen=True)
class Program:
    """The rows of a subsystem as a function of the values of its symbols: for numbers, and for CasADi's scalars.

    Attributes:
        steps: to all values, and to the entries of A; None where a graph is large or has operations of other kinds.
    """

    rows: OwnRows
    pattern: tuple[tuple[str, Label, Label], ...]
    symbols: tuple[Any, ...]
    values: tuple[Any, ...]
    steps: tuple[Steps, Steps] | None

    @cached_property
    def function(self) -> ca.Function:
        """(symbols) → values; needed at a second place, and for numbers, where there are no steps."""
        inputs, outputs = (CASADI.to_sx(np.array(one, dtype=object)) for one in (self.symbols, self.values))
        return ca.Function("rows", [inputs], [outputs])

    def numbers(self, values: list[float], *, invariants: bool = False) -> list[float]:
        """The values at numbers, or the first of them, which are the entries of A."""
        if self.steps is not None and (known := self.steps[invariants].numbers(values)) is not None:
            return known
        found, given = np.empty(len(self.values)), np.array(values)
        buffer: Any
        buffer, evaluate = self.function.buffer()  # called without copies of copies
        buffer.set_arg(0, memoryview(cast(Any, given)))
        buffer.set_res(0, memoryview(cast(Any, found)))
        evaluate()
        return found.tolist()

    @cached_property
    def constant(self) -> tuple[float, ...] | None:
        """The entries of A if all of them are numbers; they come first among the values."""
        A = tuple(value for (kind, _, _), value in zip(self.pattern, self.values, strict=True) if kind == "A")
        return A if all(type(value) is float for value in A) else None

    def placed(self, path: tuple[str, ...]) -> PlacedProgram:
        """The same, with labels as the root of the tree sees them."""
        known: dict[Label, Label] = {ONE: ONE}

        def place(label: Label) -> Label:
            found = known.get(label)
            if found is None:
                found = known[label] = Label(path + label.path, label.name, label.order, label.base)
            return found

        def shape(like: LabeledMatrix) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
            return tuple(map(place, like.rows)), tuple(map(place, like.columns))

        own = self.rows
        pattern = tuple((kind, place(row), place(column)) for kind, row, column in self.pattern)
        shapes = {"A": shape(own.A), "b": shape(own.b), "f": shape(own.forces)}
        return PlacedProgram(self, pattern, shapes, tuple(map(place, own.labels)), tuple(map(place, own.rows)))


@dataclass(frozen=True)
class PlacedProgram:
    """A program at its place in a tree."""

    program: Program
    pattern: tuple[tuple[str, Label, Label], ...]
    shapes: dict[str, tuple[tuple[Label, ...], tuple[Label, ...]]]
    labels: tuple[Label, ...]
    rows: tuple[Label, ...]

    def numbers(self, values: list[float]) -> OwnRows:
        """The rows A at numbers, and nothing else of them."""
        flat = self.program.constant
        if flat is None:
            flat = self.program.numbers(values, invariants=True)
        entries: dict[Label, dict[Label, Any]] = {}
        for (kind, row, column), value in zip(self.pattern, flat, strict=False):
            if kind != "A":  # they come first
                break
            if value != 0.0:
                entries.setdefault(row, {})[column] = value
        own, none = self.program.rows, LabeledMatrix.empty(NUMPY)
        A = LabeledMatrix.made(NUMPY, *self.shapes["A"], entries)
        return OwnRows(NUMPY, own.order, self.labels, self.rows, A, none, (), none, own.names)

    def __call__(self, al: Algebra, values: list[Any]) -> OwnRows:
        """The rows with values in the place of symbols."""
        flat: Any
        if al is CASADI and all(a is b for a, b in zip(values, self.program.symbols, strict=True)):
            flat = self.program.values
        elif al is CASADI and self.program.steps is not None:
            flat = self.program.steps[0].scalars(values)
        elif al is CASADI:
            found = self.program.function(CASADI.to_sx(np.array(values, dtype=object)))
            flat = CASADI.from_sx(found, len(self.pattern))
        else:
            flat = self.program.numbers([float(value) for value in values])
        parts: dict[str, dict[Label, dict[Label, Any]]] = {"A": {}, "b": {}, "f": {}}
        lower: list[tuple[Label, Any]] = []
        for (kind, row, column), value in zip(self.pattern, flat, strict=True):
            if kind == "lower":
                lower.append((row, value))
            elif not (type(value) is float and value == 0.0):
                parts[kind].setdefault(row, {})[column] = value
        A, b, f = (LabeledMatrix.made(al, *self.shapes[kind], parts[kind]) for kind in ("A", "b", "f"))
        own = self.program.rows
        return OwnRows(al, own.order, self.labels, self.rows, A, b, tuple(lower), f, own.names)


def program(description: Description, order: int, symbol: Callable[[str], Any] | None = None) -> Program:
    """The rows of a description as a function; built once. ``symbol``: as of ``own_rows``."""
    key = ("program", order)
    if key not in description.memo:
        description.memo[key] = _program(own_rows(CASADI, description, order, symbol), description)
    return description.memo[key]


def _program(own: OwnRows, description: Description) -> Program:
    pattern: list[tuple[str, Label, Label]] = []
    values: list[Any] = []
    for kind, matrix in (("A", own.A), ("b", own.b), ("f", own.forces)):
        for row, entries in matrix.entries.items():
            for column, value in entries.items():
                pattern.append((kind, row, column))
                values.append(value)
    for label, value in own.lower:
        pattern.append(("lower", label, label))
        values.append(value)
    scope: Scope = description.memo[("scope", own.order)]
    symbols = tuple(scope[name] for name in own.names)
    steps = None
    order = scope.order(values)
    if order is not None:  # nothing is built yet
        invariants = [value for (kind, _, _), value in zip(pattern, values, strict=True) if kind == "A"]
        steps = Steps(values, symbols, order), Steps(invariants, symbols, order)
    return Program(own, tuple(pattern), symbols, tuple(values), steps)
