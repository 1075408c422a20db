"""Equations of motion of a subsystem: what ``Subsystem.equations()`` gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.arguments import Number, public_methods
from dalembert.errors import ModelError, Problem
from dalembert.expressions import replaced
from dalembert.modular.accelerations import acceleration
from dalembert.modular.choices import decide_all
from dalembert.modular.complement import Choice, LeastSquares, Pivoted, Strategy, choose
from dalembert.modular.compose import Composed, compose
from dalembert.modular.deriving import deriving
from dalembert.modular.invariants import Classified, classify
from dalembert.modular.labeled_matrix import ONE, LabeledMatrix, assemble
from dalembert.modular.labels import Label, split_rate
from dalembert.modular.modular_system import ModularSystem
from dalembert.modular.nodes import Node
from dalembert.modular.own_rows import own_rows
from dalembert.modular.readable import Explicit
from dalembert.modular.symbolic import composed_symbolic
from dalembert.modular.variables import local
from dalembert.passed_on import PassedOn

if TYPE_CHECKING:
    from dalembert.modular.subsystem import Subsystem

__all__ = ["ModularEquations", "equations_of"]


def equations_of(
    subsystem: Subsystem,
    order: int | None = None,
    *,
    incompatible: str = "refuse",
    weights: Mapping[str, float] | None = None,
) -> ModularEquations:
    """The equations of a subsystem; the same object while nothing changes."""
    if incompatible not in ("refuse", "least-squares"):
        raise ModelError(Problem(f"incompatible must be 'refuse' or 'least-squares', got {incompatible!r}"))
    description = subsystem.description()
    strategy = LeastSquares(weights) if incompatible == "least-squares" else Pivoted()
    values, guesses = subsystem.parameter_values(), subsystem.guesses()
    key = ("equations", subsystem.name, order, strategy, tuple(values.items()), tuple(guesses.items()))
    if key not in description.memo:
        with deriving(subsystem.name, "variables and invariants"):
            description.memo[key] = ModularEquations(subsystem.name, description, values, guesses, order, strategy)
    return description.memo[key]


@public_methods
class ModularEquations(ModularSystem):
    """Equations of motion of a system of subsystems.

        q̇⟨β⟩ = q̇⟨β⟩(t, q⟪β+1⟫),      A q⟨σ⟩ + b = 0,      f̄ = Cᵀ f = 0

    Matrices by label are over SymPy, seen from the system. ``casadi`` gives the same over CasADi, ``at`` numbers.
    """

    @cached_property
    def _decided(self) -> tuple[dict[tuple[str, ...], Choice], dict[tuple[str, ...], Choice]]:
        with deriving(self.name, f"independent variables of {len(self.nodes)} subsystems"):
            return decide_all(self)

    @property
    def _choices(self) -> dict[tuple[str, ...], Choice]:
        """What was decided for every subsystem, seen from it."""
        return self._decided[0]

    def choice(self, node: Node) -> Choice:
        """What was decided for a subsystem, in labels of the system."""
        return self._decided[1][node.path]

    # Symbolic matrices

    @cached_property
    def composed(self) -> Composed:
        choices = self._choices
        with deriving(self.name, "matrices over SymPy"):
            return composed_symbolic(self.description, self.order, choices)

    B = PassedOn[LabeledMatrix](
        "composed.B", "External invariants of the system in variables that its parts leave free."
    )

    C = PassedOn[LabeledMatrix]("composed.C", "The orthogonal complement of B.")

    @cached_property
    def R(self) -> LabeledMatrix:
        return LabeledMatrix(SYMPY, self.top, self.composed.free, self.composed.R_rows(self.top).entries)

    @cached_property
    def S(self) -> LabeledMatrix:
        """All variations by independent ones: δq⟨σ⟩ = S δq⟨σ⟩#."""
        return self.composed.S_rows(self.top)

    f = PassedOn[LabeledMatrix]("composed.f", "Effective forces on the variables that the parts leave free.")
    f_bar = PassedOn[LabeledMatrix](
        "composed.f_bar", "Dynamic equations: effective forces on the independent variables, zero along every motion."
    )

    @cached_property
    def _own(self) -> list[tuple[Node, Any]]:
        return [(node, own_rows(SYMPY, node.description, self.order)) for node in self.nodes]

    def _placed(self, node: Node, matrix: LabeledMatrix) -> LabeledMatrix:
        moved = matrix.renamed(lambda label: label if label.name == "1" else node.place(label))
        if not node.path:
            return moved
        swap: dict[Any, Any] = {}

        def place(value: Any) -> Any:
            for symbol in value.free_symbols:
                if symbol not in swap:
                    swap[symbol] = node.at_root(symbol.name)
            return value.xreplace(swap)

        return moved.map(place)

    @cached_property
    def A(self) -> LabeledMatrix:
        """All invariants at order σ, A q⟨σ⟩ + b = 0."""
        found = assemble(*(self._placed(node, own.A) for node, own in self._own), al=SYMPY)
        return LabeledMatrix(SYMPY, found.rows, self.top, found.entries)

    @cached_property
    def b(self) -> LabeledMatrix:
        found = assemble(*(self._placed(node, own.b) for node, own in self._own), al=SYMPY)
        return LabeledMatrix(SYMPY, found.rows, (ONE,), found.entries)

    @property
    def variables(self) -> tuple[Label, ...]:
        """All variables, of the state and of order σ."""
        return self.state + self.top

    @property
    def independent(self) -> tuple[Label, ...]:
        """Variables of order σ by which all others vary."""
        return self._choices[()].independent

    @property
    def degrees_of_freedom(self) -> int:
        """ν#: how many variations are independent, at a consistent state."""
        return len(self.independent)

    @cached_property
    def invariants(self) -> tuple[Classified, ...]:
        """All invariants, and what each is."""
        found: list[Classified] = []
        for node in self.nodes:
            choice = self._choices[node.path]
            for invariant in node.description.invariants:
                label = Label((), invariant.name, self.order)
                state = "redundant" if label in choice.redundant else "used"
                state = "degenerate" if label in choice.degenerate else state
                if abs(choice.residual.get(label, 0.0)) > 1e-9:
                    state = "least-squares"
                found.append(classify(node.description, invariant, node.place(label), state))
        return tuple(found)

    @property
    def redundant(self) -> tuple[Label, ...]:
        """Invariants that follow from others, or are identities once differentiated."""
        return tuple(one.label for one in self.invariants if one.state in ("redundant", "degenerate"))

    @property
    def residual(self) -> dict[Label, float]:
        """What contradicting invariants leave of B C, by row; empty where none contradict."""
        return {
            node.place(row): value for node in self.nodes for row, value in self._choices[node.path].residual.items()
        }

    @cached_property
    def definitions(self) -> dict[sp.Symbol, sp.Expr]:
        """Names of long expressions, in the order in which they can be evaluated."""
        found: dict[sp.Symbol, sp.Expr] = {}
        for node, one in _together(self.root, self.composed):
            for symbol, value in one.definitions.items():
                swap = {s: node.at_root(s.name) for s in value.free_symbols}
                found[local(".".join((*node.path, symbol.name)))] = value.xreplace(swap)
        return found

    def inverse(self, *inputs: Any) -> dict[str, sp.Expr]:
        """Inputs as formulas of the motion: the open-loop law of theorem 4.3 (see ``inverse_law``)."""
        from dalembert.modular.inverse_law import inverse_law

        return inverse_law(self, inputs or None)

    def explicit(self) -> Explicit:
        """Kinematics, invariants of order σ and dynamic equations as SymPy equations.

        Raises:
            ModelError: if a dynamic equation is empty: a variable without force, kinematics or invariant.
        """
        empty = [str(row) for row in self.f_bar.rows if self.f_bar.get(row, ONE) == 0]
        if empty:
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: no equation determines {', '.join(empty)}",
                    fix="give it a force, define its rate by kinematics, or bind it by an invariant",
                )
            )
        names = {label: label.symbol for label in self.top}
        zero = sp.S.Zero
        rates = [(label.symbol, value) for label, value in self.rates.items()]
        kinematics = [_equation(next_symbol(s), value) for s, value in rates if next_symbol(s) != value]
        rows = [
            _equation(
                sp.Add(*(v * names[c] for c, v in self.A.entries.get(row, {}).items()), self.b.get(row, ONE)), zero
            )
            for row in self.A.rows
            if row not in set(self.redundant)
        ]
        dynamics = [_equation(self.f_bar.get(row, ONE), zero) for row in self.f_bar.rows]
        definitions = [_equation(symbol, value) for symbol, value in self.definitions.items()]
        return Explicit(self.name, tuple(kinematics), tuple(rows), tuple(dynamics), tuple(definitions))

    def latex(self) -> str:
        """The equations of motion in LaTeX."""
        return self.explicit().latex()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def expanded(self, expression: sp.Expr) -> sp.Expr:
        """An expression with all names of long expressions written out."""
        if not isinstance(expression, sp.Expr):
            raise ModelError(Problem(f"expanded: expected an expression, got {type(expression).__name__}"))
        known: dict[Any, Any] = {}
        for symbol, value in self.definitions.items():
            known[symbol] = value.xreplace(known)
        return replaced(expression, known)

    @property
    def children(self) -> dict[str, Composed]:
        """Matrices of the parts, as each is seen from itself."""
        return {name: child.inner for name, child in self.composed.children.items()}  # type: ignore[attr-defined]

    def singularities(self) -> list[sp.Expr]:
        """Expressions whose zeros are singular for the chosen independent variables: denominators of C."""
        found: dict[sp.Expr, None] = {}
        for node, one in _together(self.root, self.composed):
            values = [v for entries in one.C.entries.values() for v in entries.values()] + list(
                one.definitions.values()
            )
            for value in values:
                below: Any = sp.fraction(sp.together(value) if _short(value) else value)[1]
                if any(self._moves(node, s) for s in below.free_symbols):
                    swap = {s: node.at_root(s.name) for s in below.free_symbols}
                    found[sp.factor_terms(below.xreplace(swap))] = None
        return list(found)

    def _moves(self, node: Node, symbol: Any) -> bool:
        place = node.description.locate(symbol.name)
        return place is None or place.kind != "parameter"

    # Numbers

    def at(self, values: Mapping[Any, Number] | None = None, strategy: Strategy | None = None) -> Composed:
        """The matrices of the system as numbers at a state; its parts are in ``children``.

        Args:
            values: by symbol or name, e.g. ``{"L.theta": 0.3, "L.theta.d": 1}``; parameters have their own values.
            strategy: how complements are chosen at this very state; the choices of the equations without.
        """
        return self._composed_at(self.values(values), strategy)[()]

    def choices_at(self, values: Mapping[Any, Number]) -> dict[tuple[str, ...], Choice]:
        """Independent variables and pivots of every subsystem that are best at a state, by path."""
        found = self._composed_at(self.values(values, guess=True), Pivoted())
        return {path: one.choice for path, one in found.items() if one.choice is not None}

    def _composed_at(self, known: Mapping[str, float], strategy: Strategy | None) -> dict[tuple[str, ...], Composed]:
        """The matrices of every subsystem as numbers, by path."""
        found: dict[tuple[str, ...], Composed] = {}
        for node in self.nodes:
            own = node.rows(NUMPY, self.order, known)
            children = {name: found[child.path] for name, child in node.children.items()}
            placed = self.choice(node) if strategy is None else None

            def decide(B: LabeledMatrix, node: Node = node, placed: Choice | None = placed) -> Choice:
                return placed or choose(node.name or self.name, [B], strategy)  # type: ignore[arg-type]

            try:
                found[node.path] = compose(own, children, decide, depth=len(node.path))
            except np.linalg.LinAlgError:
                chosen = ", ".join(map(str, self.choice(node).independent))
                raise ModelError(
                    Problem(
                        f"subsystem {(node.name or self.name)!r}: this state is singular for the independent variables "
                        f"{chosen}",
                        fix="at({…}, da.modular.Pivoted()), which chooses others",
                    )
                ) from None
        return found

    def acceleration(self, values: Mapping[Any, Number] | None = None) -> dict[Label, float]:
        """All variables of order σ at a state: the solution of  f̄ = 0,  A q⟨σ⟩ + b = 0  (see ``accelerations``).

        Velocities and inputs that are not given are zero, as in ``da.simulate``; give all positions that matter.
        """
        return acceleration(self, values)

    def rank(self, values: Mapping[Any, Number] | None = None) -> int:
        """The rank of A at a state."""
        known = self.values(values)
        A = assemble(*(node.rows(NUMPY, self.order, known).A for node in self.nodes), al=NUMPY)
        dense = A.to_array().astype(float)
        return (
            int(np.linalg.matrix_rank(dense, tol=1e-9 * max(1.0, np.abs(dense).max(initial=0.0)))) if dense.size else 0
        )


def next_symbol(symbol: sp.Symbol) -> sp.Symbol:
    """The symbol of the rate of a symbol."""
    head, level = split_rate(symbol.name)
    return local(head, level + 1)


def _equation(left: Any, right: Any) -> Any:
    return cast(Any, sp).Eq(left, right, evaluate=False)


def _together(node: Node, one: Composed) -> Iterator[tuple[Node, Composed]]:
    """A subsystem and all its parts with their matrices, parts first."""
    for name, child in node.children.items():
        yield from _together(child, one.children[name].inner)  # type: ignore[attr-defined]
    yield node, one


def _short(value: Any) -> bool:
    return cast(Any, sp).count_ops(value) < 80
