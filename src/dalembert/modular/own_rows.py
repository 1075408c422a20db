# pyright: basic
"""What one subsystem adds to its parts, in any algebra with symbols: invariants at all orders, A, b, and forces.

    q̄⟨σ⟩ = d^{σ−ρ}/dt^{σ−ρ} h̄⟨ρ⟩ = A q⟨σ⟩ + b(t, q⟪σ−1⟫)                                                  (2.10), (2.11)

Expressions are differentiated where they stand: over SymPy to read, over CasADi to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.algebra import Algebra, get_algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME
from dalembert.modular.description import Description, Invariant
from dalembert.modular.invariants import constraint_order_of
from dalembert.modular.labelled import Labelled
from dalembert.modular.labels import Label
from dalembert.modular.scope import Scope

__all__ = ["COUNTS", "OwnRows", "Program", "own_rows", "program"]

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
    A: Labelled
    b: Labelled
    lower: tuple[tuple[Label, Any], ...]
    forces: Labelled
    names: tuple[str, ...]


def own_rows(al: Algebra, description: Description, order: int) -> OwnRows:
    """What a description adds at order σ; derived once."""
    key = ("own", al.name, order)
    if key not in description.memo:
        COUNTS["rows"] += 1
        description.memo[key] = _derive(al, description, order)
    return description.memo[key]


def _derive(al: Algebra, d: Description, order: int) -> OwnRows:
    scope = Scope(al, d)
    if al is CASADI:
        d.memo[("scope", order)] = scope
    rows: list[Label] = []
    lower: list[tuple[Label, Any]] = []
    entries: dict[Label, dict[Label, Any]] = {}
    b: dict[Label, Any] = {}
    for invariant in d.invariants:
        label = Label((), invariant.name, order)
        levels, names, gradient = _levels(scope, invariant, order)
        lower += [(label.at(k), value) for k, value in levels[:-1]]
        rows.append(label)
        entries[label] = gradient
        b[label] = _without_top(scope, levels[-1][1], names, order)
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
    A = Labelled(al, rows, columns, {row: _non_zero(al, values) for row, values in entries.items()})
    vector = Labelled.vector(al, b)
    return OwnRows(
        al, order, labels, tuple(rows), A, vector, tuple(lower), Labelled.vector(al, forces), tuple(scope.scalars)
    )


def _non_zero(al: Algebra, values: dict[Label, Any]) -> dict[Label, Any]:
    return {label: value for label, value in values.items() if not _is_zero(al, value)}


def _is_zero(al: Algebra, value: Any) -> bool:
    return bool(value == 0) if al.name == "sympy" else al.value(value) == 0


def _levels(scope: Scope, invariant: Invariant, order: int) -> tuple[list[tuple[int, Any]], set[str], dict[Label, Any]]:
    """An invariant at its own order and all above up to σ; symbols of the last; the row of A."""
    d = scope.description
    expression = d.lively(invariant.value)
    start = max(d.order_of(expression), 0)
    affine = constraint_order_of(d, invariant)
    if affine > order:
        raise ModelError(
            Problem(
                f"invariant {invariant.name!r} is affine from order {affine} on, the equations have order {order}",
                fix=f"equations(order={affine})",
            )
        )
    value, names = scope.value(expression), {symbol.name for symbol in expression.free_symbols}  # type: ignore[attr-defined]
    levels: list[tuple[int, Any]] = []
    gradient: dict[Label, Any] = {}
    for k in range(start, order + 1):
        if k > start:
            value, names = scope.rate(value, names)
        if k == affine:
            gradient = _gradient(scope, value, names, k, order)
        levels.append((k, value))
    return levels, names, gradient


def _gradient(scope: Scope, value: Any, names: set[str], k: int, order: int) -> dict[Label, Any]:
    """∂q̄⟨k⟩/∂q⟨k⟩, which is A for every σ ≥ k."""
    tops = _of_order(scope.description, names, k)
    if not tops:
        return {}
    symbols = scope.al.vector([scope[name] for name, _ in tops])
    row = scope.al.gradient(value, symbols)
    return {label.at(order): entry for (_, label), entry in zip(tops, row, strict=True)}


def _without_top(scope: Scope, value: Any, names: set[str], order: int) -> Any:
    """b: the invariant at order σ where the variables of that order are zero."""
    tops = _of_order(scope.description, names, order)
    if not tops or _is_zero(scope.al, value):
        return value
    symbols = scope.al.vector([scope[name] for name, _ in tops])
    return scope.al.substitute(scope.al.vector([value]), symbols, scope.al.zeros(len(tops)))[0]


def _of_order(d: Description, names: set[str], order: int) -> list[tuple[str, Label]]:
    """Variables of an order among names, sorted, with their labels."""
    found: list[tuple[str, Label]] = []
    for name in sorted(names):
        place = None if name == TIME.name else d.locate(name)
        if place is not None and place.kind == "variable":
            label = place.label()
            if label.order == order:
                found.append((name, label))
    return found


@dataclass(frozen=True)
class Program:
    """The rows of a subsystem as a function of the values of its symbols: for numbers, and for CasADi's scalars."""

    rows: OwnRows
    function: ca.Function
    pattern: tuple[tuple[str, Label, Label], ...]

    def __call__(self, al: Algebra, values: list[Any], path: tuple[str, ...]) -> OwnRows:
        """The rows with values in the place of symbols, seen from the root of the tree."""
        if al is CASADI:
            flat = list(CASADI.from_sx(self.function(CASADI.to_sx(np.array(values, dtype=object))), len(self.pattern)))
        else:
            flat = [float(x) for x in np.asarray(self.function(np.array(values, dtype=float))).reshape(-1)]
        parts: dict[str, dict[Label, dict[Label, Any]]] = {"A": {}, "b": {}, "f": {}, "lower": {}}
        for (kind, row, column), value in zip(self.pattern, flat, strict=True):
            if kind == "lower" or not (type(value) is float and value == 0.0):
                parts[kind].setdefault(row, {})[column] = value
        own = self.rows

        def place(label: Label) -> Label:
            return Label(path + label.path, label.name, label.order, label.base)

        def matrix(kind: str, like: Labelled) -> Labelled:
            found = Labelled(al, like.rows, like.columns, parts[kind])
            return found.renamed(lambda label: label if label.name == "1" else place(label))

        lower = tuple((place(label), parts["lower"][label][label]) for label, _ in own.lower)
        return OwnRows(
            al, own.order, tuple(map(place, own.labels)), tuple(map(place, own.rows)), matrix("A", own.A),
            matrix("b", own.b), lower, matrix("f", own.forces), own.names,
        )  # fmt: skip


def program(description: Description, order: int) -> Program:
    """The rows of a description as a CasADi function; built once."""
    key = ("program", order)
    if key not in description.memo:
        description.memo[key] = _program(own_rows(get_algebra("casadi"), description, order), description)
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
    scope = description.memo[("scope", own.order)]
    inputs = CASADI.to_sx(np.array([scope[name] for name in own.names], dtype=object))
    function = ca.Function("rows", [inputs], [CASADI.to_sx(np.array(values, dtype=object))])
    return Program(own, function, tuple(pattern))
