"""The rows of a whole system over CasADi: what compiled dynamics, linearization and inverse dynamics are built on.

Everything is seen from the root: symbols by their dotted names, labels with full paths.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME, evaluate, values_by_name
from dalembert.modular.complement import Choice
from dalembert.modular.compose import Composed, compose
from dalembert.modular.deriving import deriving
from dalembert.modular.labeled_matrix import ONE, LabeledMatrix, assemble
from dalembert.modular.labels import Label
from dalembert.modular.nodes import Node
from dalembert.modular.own_rows import OwnRows

if TYPE_CHECKING:
    from dalembert.modular.modular_system import ModularSystem

__all__ = ["LowerRows", "TracedNode", "TracedSystem", "to_sx"]


class _Symbols(dict[str, Any]):
    """CasADi symbols by name, made when first asked for."""

    def __missing__(self, name: str) -> Any:
        self[name] = _symbol(name)
        return self[name]


@functools.lru_cache(maxsize=65536)
def _symbol(name: str) -> Any:
    """The same symbol for the same name, so that graphs of subsystems that did not change can be used again."""
    return CASADI.symbol(name)


@dataclass(frozen=True)
class TracedNode:
    """One subsystem of the tree over CasADi.

    Attributes:
        variables: its own variables at order σ.
        rows: labels of its own invariants at order σ.
        A, b: of  A q⟨σ⟩ + b = 0.
        M, k: its own effective forces,  f = M q⟨σ⟩ + k, rows by variable (its own or of parts).
        lower: (label, value): its invariants at all orders below σ.
    """

    node: Node
    variables: tuple[Label, ...]
    rows: tuple[Label, ...]
    A: LabeledMatrix
    b: LabeledMatrix
    M: LabeledMatrix
    k: LabeledMatrix
    lower: tuple[tuple[Label, Any], ...]
    own: OwnRows


@dataclass(frozen=True)
class LowerRows:
    """Invariants at orders below σ.

    Attributes:
        labels: of the rows.
        state, others: names of the variables and of the other symbols in them.
        function: (state, others) → values of the rows, and their Jacobian by the state.
    """

    labels: tuple[Label, ...]
    state: tuple[str, ...]
    others: tuple[str, ...]
    function: ca.Function


class TracedSystem:
    """A system over CasADi.

    Attributes:
        symbols: scalars by name: ``t``, variables as ``str(label)``, parameters and inputs by their paths.
        nodes: leaves first, the root last.
    """

    def __init__(self, equations: ModularSystem):
        self.equations = equations
        self.symbols = _Symbols()
        self.own: dict[tuple[str, ...], OwnRows] = {}
        self.order = equations.order
        self._functions: dict[Any, ca.Function] = {}
        self._lower_rows: dict[Any, LowerRows] = {}
        names = TIME.name, *map(str, equations.state), *map(str, equations.top)
        for name in (*names, *equations.parameters, *equations.inputs):
            self.symbols[name] = _symbol(name)  # in this order
        self._known = len(self.symbols)
        for node in equations.nodes:
            self.own[node.path] = node.traced_rows(self.order, self.symbols, self.chosen)

    def column(self, names: Any) -> ca.SX:
        """A CasADi column of symbols, by names or labels."""
        return CASADI.to_sx(np.array([self.symbols[str(name)] for name in names], dtype=object))

    @property
    def input_rates(self) -> tuple[str, ...]:
        """Rates of inputs that occur, e.g. ``u.d``: invariants with inputs in them are differentiated."""
        return tuple(self.symbols)[self._known :]

    @cached_property
    def nodes(self) -> tuple[TracedNode, ...]:
        return tuple(self._node(node) for node in self.equations.nodes)

    def _node(self, node: Node) -> TracedNode:
        own = self.own[node.path]
        rows = [row for row in own.forces.rows if row in own.forces.entries]
        f = CASADI.vector([own.forces.get(row, ONE) for row in rows])
        used = {name for value in f if type(value) is not float for name in names_in(value)}
        tops = [label for label in self._tops if label in used]
        top = CASADI.vector([self.symbols[label] for label in tops])
        M = CASADI.jacobian(f, top)
        if any(names_in(entry) & set(tops) for line in M for entry in line if type(entry) is not float):
            name = node.name or self.equations.name
            raise ModelError(
                Problem(
                    f"subsystem {name!r}: its effective forces are not affine in the derivatives of order {self.order}",
                    fix="forces may name accelerations only linearly",
                )
            )
        k = CASADI.substitute(f, top, CASADI.zeros(len(top))) if tops else f
        columns = [self._tops[label] for label in tops]
        return TracedNode(
            node, own.labels, own.rows, own.A, own.b, LabeledMatrix.from_array(CASADI, rows, columns, M),
            LabeledMatrix.vector(CASADI, dict(zip(rows, k, strict=True))), own.lower, own,
        )  # fmt: skip

    @cached_property
    def _tops(self) -> dict[str, Label]:
        return {str(label): label for label in self.equations.top}

    @cached_property
    def lower(self) -> tuple[tuple[Label, Any], ...]:
        """(label, value) of all invariants of the tree at all orders below σ."""
        return tuple(pair for node in self.equations.nodes for pair in self.own[node.path].lower)

    def lower_rows(self, nodes: Sequence[Node] | None = None) -> LowerRows:
        """The same as a function, of all subsystems or of some."""
        key = None if nodes is None else tuple(node.path for node in nodes)
        if key not in self._lower_rows:
            self._lower_rows[key] = self._lower_of(self.equations.nodes if nodes is None else nodes)
        return self._lower_rows[key]

    def _lower_of(self, nodes: Sequence[Node]) -> LowerRows:
        bound = [node for node in nodes if self.own[node.path].lower]
        found = [pair for node in bound for pair in self.own[node.path].lower]
        names = set[str]().union(*(node.names(self.order) for node in bound))
        moving = self.equations.state_labels
        state, others = sorted(names & moving.keys()), sorted(names - moving.keys() - self._tops.keys())
        x, values = self.column(state), CASADI.to_sx(np.array([value for _, value in found], dtype=object))
        function = ca.Function("lower", [x, self.column(others)], [values, ca.jacobian(values, x)])
        return LowerRows(tuple(label for label, _ in found), tuple(state), tuple(others), function)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of what is neither state nor of the highest order: time, parameters, inputs, rates of inputs."""
        return (TIME.name, *self.equations.parameters, *self.equations.inputs, *self.input_rates)

    @cached_property
    def rows_function(self) -> tuple[ca.Function, tuple[tuple[int, str, Label, Label], ...]]:
        """(state, others) → all non-zero A, b, M, k; and what each is: (index of the node, letter, row, column)."""
        pattern: list[tuple[int, str, Label, Label]] = []
        values: list[Any] = []
        for index, node in enumerate(self.nodes):
            for letter, matrix in (("A", node.A), ("b", node.b), ("M", node.M), ("k", node.k)):
                for row, entries in matrix.entries.items():
                    pattern += [(index, letter, row, column) for column in entries]
                    values += list(entries.values())
        inputs = [self.column(self.equations.state), self.column(self.others)]
        return ca.Function("rows", inputs, [CASADI.to_sx(np.array(values, dtype=object))]), tuple(pattern)

    @cached_property
    def rates(self) -> np.ndarray:
        """d/dt of the state, in state and variables of order σ."""
        expressions = self.equations.rates.values()
        return CASADI.vector([evaluate(CASADI, e, values_by_name(self.symbols), self.chosen) for e in expressions])

    @cached_property
    def chosen(self) -> dict[Any, Any]:
        """Modes that choose branches of formulas, by the functions whose signs do otherwise."""
        return {switch: self.symbols[mode] for mode, switch in self.equations.branches.items()}

    @cached_property
    def A(self) -> LabeledMatrix:
        """All invariants at order σ, by all variables of that order."""
        found = assemble(*(own.A for own in self.own.values()), al=CASADI)
        return LabeledMatrix(CASADI, found.rows, self.equations.top, found.entries)

    @cached_property
    def b(self) -> LabeledMatrix:
        return assemble(*(own.b for own in self.own.values()), al=CASADI)

    @cached_property
    def composed(self) -> dict[tuple[str, ...], Composed]:
        """Matrices B, C, S, f, f̄ of every subsystem, with the choices of the equations."""
        return self.composed_by({node.path: self.equations.choice(node) for node in self.equations.nodes})

    def composed_by(self, choices: Mapping[tuple[str, ...], Choice]) -> dict[tuple[str, ...], Composed]:
        """Matrices of every subsystem with given choices of independent variables and pivots."""
        found: dict[tuple[str, ...], Composed] = {}
        for node in self.equations.nodes:
            children = {name: found[child.path] for name, child in node.children.items()}
            found[node.path] = self._composed(node, children, choices[node.path])
        return found

    def _composed(self, node: Node, children: dict[str, Composed], choice: Choice) -> Composed:
        """The matrices of one subsystem; those of before if nothing in it changed."""
        own, memo = self.own[node.path], node.description.memo
        key = ("graph", node.path, self.order, choice.independent, choice.pivots, choice.strategy)
        before: Composed | None = memo.get(key)
        if before is not None and before.own is own and before.choice is not None:
            same = all(before.children[name] is child for name, child in children.items())
            if same and before.choice.residual == choice.residual:
                return before
        memo[key] = compose(own, children, lambda _: choice, depth=len(node.path))
        return memo[key]

    @cached_property
    def f_bar(self) -> LabeledMatrix:
        """The dynamic equations f̄ = Cᵀ f of the whole system, as they come: of the order of the forces."""
        return self.composed[()].f_bar

    @cached_property
    def prolonged(self) -> tuple[LabeledMatrix, tuple[tuple[Label, Any], ...]]:
        """f̄ differentiated until it is of order σ, and its lower orders, which a state must meet."""
        return self.prolong(self.f_bar)

    @cached_property
    def matrices(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """K, k, A, b of  K q⟨σ⟩ + k = f̄ = 0,  A q⟨σ⟩ + b = 0: the equations of motion, by all variables of order σ."""
        with deriving(self.equations.name, "equations of motion as a graph"):
            f = self.f_bar if self.order <= max(self.equations.force_order, 0) else self.prolonged[0]
            values = CASADI.to_sx(np.array([f.get(row, ONE) for row in f.rows], dtype=object))
            top = self.column(self.equations.top)
            A, b = self.A, self.b
            rest = CASADI.to_sx(np.array([b.get(row, ONE) for row in A.rows], dtype=object))
            return ca.jacobian(values, top), ca.substitute(values, top, ca.SX.zeros(top.shape[0])), to_sx(A), rest

    def prolong(self, f_bar: LabeledMatrix) -> tuple[LabeledMatrix, tuple[tuple[Label, Any], ...]]:
        """Dynamic equations differentiated until they are of order σ (T20), and their lower orders."""
        lower: list[tuple[Label, Any]] = []
        f = CASADI.vector([f_bar.get(row, ONE) for row in f_bar.rows])
        for order in range(max(self.equations.force_order, 0), self.order):
            lower += [(row.at(order), value) for row, value in zip(f_bar.rows, f, strict=True)]
            f = self._rate(f)
        return LabeledMatrix.vector(CASADI, dict(zip(f_bar.rows, f, strict=True))), tuple(lower)

    def prolonged_function(self, choices: Mapping[tuple[str, ...], Choice]) -> ca.Function:
        """(state, others) → K, k of the prolonged dynamic equations  K q⟨σ⟩ + k = 0  for given choices."""
        key = tuple((path, choice.independent, choice.pivots) for path, choice in choices.items())
        if key not in self._functions:
            f, _ = self.prolong(self.composed_by(choices)[()].f_bar)
            values = CASADI.to_sx(np.array([f.get(row, ONE) for row in f.rows], dtype=object))
            top = self.column(self.equations.top)
            rest = ca.substitute(values, top, ca.SX.zeros(top.shape[0]))
            inputs = [self.column(self.equations.state), self.column(self.others)]
            self._functions[key] = ca.Function("f", inputs, [ca.jacobian(values, top), rest])
        return self._functions[key]

    def _rate(self, values: np.ndarray) -> np.ndarray:
        """The total time derivative of functions of the state (t too; inputs by their rates)."""
        eq = self.equations
        moving = [TIME.name, *map(str, eq.state), *(n for n in (*eq.inputs, *self.input_rates))]
        used = {name for value in values if type(value) is not float for name in names_in(value)}
        directions = {TIME.name: 1.0, **dict(zip(map(str, eq.state), self.rates, strict=True))}
        for name in moving:
            if name not in directions:
                if name not in used:
                    directions[name] = 0.0
                    continue
                rate = f"{name}d" if name.endswith(".d") or ".d" in name[-3:] else f"{name}.d"
                directions[name] = self.symbols[rate]
        symbols = np.array([self.symbols[name] for name in moving], dtype=object)
        return CASADI.rate(values, symbols, CASADI.vector([directions[name] for name in moving]))


def to_sx(matrix: LabeledMatrix) -> ca.SX:
    """A labeled matrix over CasADi as a sparse matrix, in the order of its labels."""
    row_at = {row: i for i, row in enumerate(matrix.rows)}
    column_at = {column: j for j, column in enumerate(matrix.columns)}
    found = [(row_at[r], column_at[c], value) for r, line in matrix.entries.items() for c, value in line.items()]
    rows, columns = [i for i, _, _ in found], [j for _, j, _ in found]
    values = CASADI.to_sx(np.array([value for _, _, value in found], dtype=object))
    return ca.SX.triplet(rows, columns, values, *matrix.shape)


def names_in(scalar: Any) -> set[str]:
    """Names of the symbols in a scalar of CasADi."""
    return {symbol.name() for symbol in cast(Any, ca).symvar(scalar.sx)}
