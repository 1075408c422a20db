"""Equations of motion of a subsystem: what ``Subsystem.equations()`` gives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME
from dalembert.modular.complement import Choice, LeastSquares, Pivoted, Strategy, choose
from dalembert.modular.compose import Composed, compose
from dalembert.modular.description import Description
from dalembert.modular.invariants import Classified, classify, constraint_order, force_order, working_order
from dalembert.modular.labelled import ONE, Labelled, assemble
from dalembert.modular.labels import Label, match, split_rate
from dalembert.modular.nodes import Node, tree_of
from dalembert.modular.own_rows import OwnRows, own_rows
from dalembert.modular.symbolic import composed_symbolic
from dalembert.modular.traced import TracedSystem
from dalembert.modular.variables import local
from dalembert.modular.witness import consistent, worst

if TYPE_CHECKING:
    from dalembert.modular.subsystem import Subsystem

__all__ = ["ModularEquations", "equations_of"]

CONSISTENT = 1e-8  # residual of a state that is taken to be consistent


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
        description.memo[key] = ModularEquations(subsystem.name, description, values, guesses, order, strategy)
    return description.memo[key]


class ModularEquations:
    """Equations of motion of a system of subsystems.

        q̇⟨β⟩ = q̇⟨β⟩(t, q⟪β+1⟫),      A q⟨σ⟩ + b = 0,      f̄ = Cᵀ f = 0

    Matrices by label are over SymPy, seen from the system. ``casadi`` gives the same over CasADi, ``at`` numbers.

    Attributes:
        order: σ.
        state: labels of q⟨0⟩ … q⟨σ−1⟩;  top: labels of q⟨σ⟩.
        parameters: values by name;  inputs: names;  guesses: where to look for consistent states, by name.
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
        self.name, self.description, self._strategy = name, description, strategy
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
        return {label: self.description.next(label.symbol) for label in self.state}

    # Choices

    @cached_property
    def casadi(self) -> TracedSystem:
        """The same system over CasADi."""
        return TracedSystem(self)

    def values(
        self, given: Mapping[Any, float] | None = None, *, salt: str = "", guess: bool = False
    ) -> dict[str, float]:
        """A number for every symbol: what is given, parameters, guesses; what is left is nothing special.

        Raises:
            ModelError: for names that do not exist.
        """
        from dalembert.modular.subsystem import generic_value

        names = [TIME.name, *map(str, self.state), *map(str, self.top), *self.parameters, *self.inputs]
        names += list(self.casadi.input_rates)
        found = {name: generic_value(salt + name) for name in names}
        found |= {name: value for name, value in self.parameters.items() if value is not None}
        found[TIME.name] = 0.0
        if guess:
            found |= {name: value for name, value in self.guesses.items() if name in found}
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
        x, left = consistent(traced.lower_function, np.array([found[name] for name in names]), others, free)
        if np.abs(left).max(initial=0.0) > CONSISTENT:
            rows = worst(left, [f"{label.text} at order {label.order}" for label, _ in traced.lower])
            shown = ", ".join(f"{name} ({value:.3g})" for name, value in rows.items())
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
        first, found = None, []
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

    @cached_property
    def _choices(self) -> dict[tuple[str, ...], Choice]:
        """For every subsystem, seen from it: independent variables, pivots, redundant rows."""
        found: dict[tuple[str, ...], Choice] = {}
        samples: list[dict[tuple[str, ...], Composed]] = [{} for _ in self.witnesses]
        for node in self.nodes:
            made = self._reused(node, found, samples)
            if made is None:
                rows = [node.rows(NUMPY, self.order, values) for values in self.witnesses]
                made = self._choose(node, rows, samples)
                for own, sample in zip(rows, samples, strict=True):
                    children = {name: sample[child.path] for name, child in node.children.items()}
                    sample[node.path] = compose(own, children, lambda _, c=made: c, depth=len(node.path))
                found[node.path] = _moved(made, node.unplace)
                node.description.memo[("choice", self.order, self._strategy)] = found[node.path]
        return found

    def _reused(self, node: Node, found: dict[Any, Any], samples: list[dict[Any, Composed]]) -> Choice | None:
        """The choice made for an equal subsystem, if it serves at these states, too."""
        known = node.description.memo.get(("choice", self.order, self._strategy))
        if known is None:
            return None
        placed = _moved(known, node.place)
        made = []
        for values, sample in zip(self.witnesses, samples, strict=True):
            own = node.rows(NUMPY, self.order, values)
            children = {name: sample[child.path] for name, child in node.children.items()}
            try:
                one = compose(own, children, lambda _: placed, depth=len(node.path))
            except (np.linalg.LinAlgError, KeyError):
                return None
            left = (one.B @ one.C).to_array().astype(float)
            if {*one.free} != {*placed.independent, *(c for _, c in placed.pivots)} or (
                not placed.residual and np.abs(left).max(initial=0.0) > 1e-7
            ):
                return None
            made.append(one)
        for one, sample in zip(made, samples, strict=True):
            sample[node.path] = one
        found[node.path] = known
        return known

    def _choose(self, node: Node, rows: list[Any], samples: list[dict[Any, Composed]]) -> Choice:
        d, Bs = node.description, []
        for own, sample in zip(rows, samples, strict=True):
            children = {name: sample[child.path] for name, child in node.children.items()}
            bare = Composed(own, children, len(node.path))
            touched = dict.fromkeys(column for values in own.A.entries.values() for column in values)
            Bs.append(Labelled(NUMPY, own.rows, bare.free, (own.A @ bare.R_rows(touched)).entries))
        asked = [".".join((*node.path, variable)) for variable in d.independent]
        strategy = d.strategy or self._strategy
        if isinstance(strategy, LeastSquares) and not strategy.independent and not asked:
            strategy = Pivoted()
        first, last = Bs[0], Bs[-1]

        def pleasant(row: Label, column: Label) -> tuple[int, ...]:
            a, b = first.get(row, column), last.get(row, column)
            constant = abs(a - b) <= 1e-12 * abs(a)
            mine = len(column.path) == len(node.path) and bool(node.children)
            return (int(mine), 0 if constant and abs(abs(a) - 1) < 1e-12 else 2 - constant)

        return choose(node.name or self.name, Bs, strategy, asked, pleasant)

    def choice(self, node: Node) -> Choice:
        """What was decided for a subsystem, in labels of the system."""
        return _moved(self._choices[node.path], node.place)

    # Symbolic matrices

    @cached_property
    def composed(self) -> Composed:
        return composed_symbolic(self.description, self.order, self._choices)

    @property
    def B(self) -> Labelled:
        """External invariants of the system in variables that its parts leave free."""
        return self.composed.B

    @property
    def C(self) -> Labelled:
        """The orthogonal complement of B."""
        return self.composed.C

    @cached_property
    def R(self) -> Labelled:
        return Labelled(SYMPY, self.top, self.composed.free, self.composed.R_rows(self.top).entries)

    @cached_property
    def S(self) -> Labelled:
        """All variations by independent ones: δq⟨σ⟩ = S δq⟨σ⟩#."""
        return self.composed.S_rows(self.top)

    @property
    def f(self) -> Labelled:
        """Effective forces on the variables that the parts leave free."""
        return self.composed.f

    @property
    def f_bar(self) -> Labelled:
        """Dynamic equations: effective forces on the independent variables, zero along every motion."""
        return self.composed.f_bar

    @cached_property
    def _own(self) -> list[tuple[Node, Any]]:
        return [(node, own_rows(SYMPY, node.description, self.order)) for node in self.nodes]

    def _placed(self, node: Node, matrix: Labelled) -> Labelled:
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
    def A(self) -> Labelled:
        """All invariants at order σ, A q⟨σ⟩ + b = 0."""
        found = assemble(*(self._placed(node, own.A) for node, own in self._own), al=SYMPY)
        return Labelled(SYMPY, found.rows, self.top, found.entries)

    @cached_property
    def b(self) -> Labelled:
        found = assemble(*(self._placed(node, own.b) for node, own in self._own), al=SYMPY)
        return Labelled(SYMPY, found.rows, (ONE,), found.entries)

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
        found = []
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

        def visit(node: Node, one: Composed) -> None:
            for name, child in node.children.items():
                visit(child, one.children[name].inner)  # type: ignore[attr-defined]
            for symbol, value in one.definitions.items():
                swap = {s: node.at_root(s.name) for s in value.free_symbols}
                found[local(".".join((*node.path, symbol.name)))] = value.xreplace(swap)

        visit(self.root, self.composed)
        return found

    # Numbers

    def at(self, values: Mapping[Any, float] | None = None, strategy: Strategy | None = None) -> Composed:
        """The matrices of the system as numbers at a state; its parts are in ``children``.

        Args:
            values: by symbol or name, e.g. ``{"L.theta": 0.3, "L.theta.d": 1}``; parameters have their own values.
            strategy: how complements are chosen at this very state; the choices of the equations without.
        """
        return self._composed_at(self.values(values), strategy)[()]

    def choices_at(self, values: Mapping[Any, float]) -> dict[tuple[str, ...], Choice]:
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

            def decide(B: Labelled, node: Node = node, placed: Choice | None = placed) -> Choice:
                return placed or choose(node.name or self.name, [B], strategy)  # type: ignore[arg-type]

            found[node.path] = compose(own, children, decide, depth=len(node.path))
        return found

    def acceleration(self, values: Mapping[Any, float] | None = None) -> dict[Label, float]:
        """All variables of order σ at a state: the solution of  f̄ = 0,  A q⟨σ⟩ + b = 0.

        The complements are chosen at this very state.

        Raises:
            ModelError: where the equations do not determine all variables, naming those that are not.
        """
        known, traced = self.values(values), self.casadi
        state = np.array([known[str(label)] for label in self.state])
        others = np.array([known[name] for name in traced.others])
        function, pattern = traced.rows_function
        numbers = np.asarray(function(state, others)).reshape(-1)
        parts: list[dict[str, dict[Label, dict[Label, Any]]]] = [
            {"A": {}, "b": {}, "M": {}, "k": {}} for _ in self.nodes
        ]
        for (index, letter, row, column), value in zip(pattern, numbers, strict=True):
            if value != 0.0:
                parts[index][letter].setdefault(row, {})[column] = float(value)
        found: dict[tuple[str, ...], Composed] = {}
        As, bs = [], []
        for node, made, part in zip(self.nodes, traced.nodes, parts, strict=True):
            A = Labelled(NUMPY, made.A.rows, made.A.columns, part["A"])
            b = Labelled(NUMPY, made.b.rows, made.b.columns, part["b"])
            M = Labelled(NUMPY, made.M.rows, made.M.columns, part["M"])
            forces = assemble(M, Labelled(NUMPY, made.k.rows, (ONE,), part["k"]), al=NUMPY)
            own = OwnRows(NUMPY, self.order, made.variables, made.rows, A, b, (), forces, ())
            children = {name: found[child.path] for name, child in node.children.items()}
            found[node.path] = compose(own, children, lambda B, n=node: self._decide(n, B), depth=len(node.path))
            As.append(A)
            bs.append(b)
        f_bar, A, b = found[()].f_bar, assemble(*As, al=NUMPY), assemble(*bs, al=NUMPY)
        if self.order > max(self.force_order, 0):
            choices = {path: one.choice for path, one in found.items() if one.choice is not None}
            K, k = (np.asarray(part) for part in traced.prolonged_function(choices)(state, others))
        else:
            K, k = f_bar.part(None, self.top).to_array(), f_bar.part(None, (ONE,)).to_array()
        return self._solved(np.asarray(K, dtype=float), np.asarray(k, dtype=float).reshape(-1), A, b)

    def _decide(self, node: Node, B: Labelled) -> Choice:
        """The choice at a state: as asked, else by pivoting."""
        fixed = self.choice(node)
        if fixed.residual or isinstance(fixed.strategy, LeastSquares) or not fixed.pivots:
            return fixed
        return choose(node.name or self.name, [B], Pivoted())

    def _solved(self, K: np.ndarray, k: np.ndarray, A: Labelled, b: Labelled) -> dict[Label, float]:
        left = np.concatenate(
            [K.reshape(-1, len(self.top)), A.part(None, self.top).to_array().reshape(-1, len(self.top))]
        )
        right = -np.concatenate([k, Labelled(NUMPY, A.rows, (ONE,), b.entries).to_array().reshape(-1)])
        size = np.abs(left).max(axis=1, keepdims=True, initial=0.0)
        scale = np.where(size > 0, size, 1.0)
        x, _, rank, _ = np.linalg.lstsq(left / scale, right / scale[:, 0], rcond=1e-12)
        if rank < len(self.top):
            free = np.linalg.svd(left / scale)[2][rank:]
            names = [str(label) for label, column in zip(self.top, free.T, strict=True) if np.abs(column).max() > 1e-6]
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: nothing determines {', '.join(names)} at this state",
                    fix="a variable without kinematics or force, or a singular position?",
                )
            )
        return dict(zip(self.top, map(float, x), strict=True))

    def rank(self, values: Mapping[Any, float] | None = None) -> int:
        """The rank of A at a state."""
        known = self.values(values)
        A = assemble(*(node.rows(NUMPY, self.order, known).A for node in self.nodes), al=NUMPY)
        dense = A.to_array().astype(float)
        return (
            int(np.linalg.matrix_rank(dense, tol=1e-9 * max(1.0, np.abs(dense).max(initial=0.0)))) if dense.size else 0
        )

    def label(self, key: Any) -> Label:
        """The variable of order σ that a name or symbol means."""
        return match(self.top, key, "variable")

    def symbol(self, name: str) -> sp.Symbol:
        """A symbol of the system by its name."""
        place = self.description.locate(name)
        if place is None:
            raise ModelError(Problem(f"subsystem {self.name!r} has no {split_rate(name)[0]!r}"))
        return local(name)


def _moved(choice: Choice, move: Any) -> Choice:
    return Choice(
        choice.strategy, tuple(map(move, choice.independent)), tuple((move(r), move(c)) for r, c in choice.pivots),
        tuple(map(move, choice.redundant)), tuple(map(move, choice.degenerate)),
        {move(row): value for row, value in choice.residual.items()},
    )  # fmt: skip
