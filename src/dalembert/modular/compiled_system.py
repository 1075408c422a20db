"""A system of subsystems as machine code: what integrators take."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.errors import ExpressionError, ModelError, Problem
from dalembert.expressions import TIME, derivative, evaluate, parse, values_by_name
from dalembert.integrators.base import Problem as TimeProblem
from dalembert.modular.labeled_matrix import ONE, LabeledMatrix, assemble
from dalembert.modular.labels import Label
from dalembert.modular.modular_equations import ModularEquations
from dalembert.modular.modular_system import CONSISTENT
from dalembert.modular.system_branches import branch_names, with_modes
from dalembert.modular.system_events import SystemEvent, check_event, new_values
from dalembert.modular.system_functions import (
    SystemContext,
    system_choose,
    system_events,
    system_imposed,
    system_jacobian,
    system_retract,
    system_rhs,
)
from dalembert.modular.traced import to_sx
from dalembert.modular.witness import consistent, spread, worst
from dalembert.numerics.context import Statistics
from dalembert.numerics.elimination_plan import Node, Plan, flat_plan, plan_of
from dalembert.values import NUMBER

__all__ = ["CompiledSystem"]

NEEDS = {"rhs", "retract", "jacobian"}
WIDE = 40  # variables of one order; more are led back onto the invariants by the tree
OFFSETS = (0.0, 0.1, 1.0)  # from where variables of order 0 are looked for that nobody gave

_KEPT: WeakKeyDictionary[ModularEquations, dict[str, CompiledSystem]] = WeakKeyDictionary()


class CompiledSystem:
    """The equations of a subsystem with its inputs given, ready to run.

    Args:
        equations: of the subsystem.
        inputs: formulas of time by name; an input that is left out is zero.
        near: values of variables by name; where forces are differentiated, independent variables are those that are
            best there.
        events: by name; what happens on the way.
        pull: Baumgarte's constants α, β and γ, which lead the state back onto the invariants; None: nothing does.
        chooses: whether branches of formulas are chosen by modes that a run changes, not by their values.

    Attributes:
        state, top: names of the variables below the order of the system, and at it.
    """

    def __init__(
        self,
        equations: ModularEquations,
        inputs: Mapping[str, Any] | None = None,
        near: Mapping[str, float] | None = None,
        events: Mapping[str, SystemEvent] | None = None,
        pull: tuple[float, float, float] | None = None,
        chooses: bool = False,
    ):
        self.equations, self.pull, self._derived = equations, pull, equations
        self.inputs = self._formulas(inputs or {})
        if chooses:
            self.equations = equations = with_modes(equations, self.inputs)
        self.state = [str(label) for label in equations.state]
        self.top = [str(label) for label in equations.top]
        self.is_large = False
        d = equations.description
        self.events = {
            name: replace(e, when=d.lively(e.when), set=tuple((key, d.lively(value)) for key, value in e.set))
            for name, e in (events or {}).items()
        }
        for event in self.events.values():
            check_event(equations.name, event, self.state, equations.parameters, equations.inputs)
        self.choices = equations.choices_at(near or {}) if self.is_prolonged else {}
        missing = [name for name, value in equations.parameters.items() if value is None]
        if missing:
            raise ModelError(
                Problem(
                    f"subsystem {equations.name!r}: parameters without a value: {', '.join(missing)}",
                    fix=f"parameters={{{missing[0]!r}: 1.0}}",
                )
            )

    def kept(self) -> CompiledSystem:
        """The first one of the same equations, inputs, events and independent variables, with what it has compiled."""
        chosen = [(path, choice.independent, choice.pivots) for path, choice in self.choices.items()]
        key = repr((sorted(self.inputs.items()), chosen, self.events, self.pull, self.equations.modes))
        return _KEPT.setdefault(self._derived, {}).setdefault(key, self)

    def _formulas(self, given: Mapping[str, Any]) -> dict[str, sp.Expr]:
        found: dict[str, sp.Expr] = {}
        eq = self.equations
        for key, value in given.items():
            name = str(getattr(key, "name", key))
            if name not in eq.inputs:
                known = ", ".join(eq.inputs) or "none"
                raise ModelError(Problem(f"subsystem {eq.name!r} has no input {name!r}; it has {known}"))
            try:
                formula = parse(value) if isinstance(value, str) else sp.Float(value) if _number(value) else value
            except ExpressionError as error:
                raise ModelError(Problem(f"input {name!r}: {error}")) from None
            if not isinstance(formula, sp.Expr) or formula.free_symbols - {TIME}:
                raise ModelError(
                    Problem(f"input {name!r} must be a number or a formula of t, got {value!r}", fix='"6*sin(t)"')
                )
            found[name] = formula
        return found

    # Graphs

    @cached_property
    def _known(self) -> dict[str, ca.SX]:
        """What stands in the place of inputs and their rates."""
        found: dict[str, ca.SX] = {}
        traced, _ = self.equations.casadi, self._blocks  # in which all rates of inputs occur
        for name in (*self.equations.inputs, *traced.input_rates):
            head, level = _input_rate(name, self.equations.inputs)
            rate = derivative(self.inputs.get(head, sp.S.Zero), TIME, level)
            value = evaluate(CASADI, rate, values_by_name(traced.symbols), traced.chosen)
            found[name] = CASADI.to_sx(np.array([value], dtype=object))
        return found

    def _given(self, *graphs: ca.SX) -> list[ca.SX]:
        """Graphs with the formulas of inputs in the place of their symbols."""
        names = list(self._known)
        if not names:
            return list(graphs)
        symbols = self.equations.casadi.column(names)
        return ca.substitute(list(graphs), [symbols], [ca.vertcat(*self._known.values())])

    @cached_property
    def _blocks(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """−M, k, A, b; where forces are differentiated to reach the order of the system, these are rows, too."""
        traced, top = self.equations.casadi, self.equations.top
        A, b = _by(traced.A, top), _by(traced.b, (ONE,))
        if self.is_prolonged:
            f, _ = self._prolonged
            values = CASADI.to_sx(np.array([f.get(row, ONE) for row in f.rows], dtype=object))
            x = traced.column(top)
            K, k = ca.jacobian(values, x), ca.substitute(values, x, ca.SX.zeros(len(top)))
            k, b = self._pulled(k, f.rows, self._prolonged[1]), self._pulled(b, traced.A.rows, traced.lower)
            return ca.SX.eye(len(top)), ca.SX.zeros(len(top)), ca.vertcat(K, A), ca.vertcat(k, b)
        M = assemble(*(node.M for node in traced.nodes), al=CASADI)
        k = assemble(*(node.k for node in traced.nodes), al=CASADI)
        return -_by(M, top, top), _by(k, (ONE,), top), A, self._pulled(b, traced.A.rows, traced.lower)

    def _pulled(self, rest: ca.SX, rows: Sequence[Label], lower: Sequence[tuple[Label, Any]]) -> ca.SX:
        """Rows of the highest order with what Baumgarte's method adds of the same rows at lower orders."""
        if self.pull is None:
            return rest
        below: dict[Label, list[tuple[int, Any]]] = {row.at(0): [] for row in rows}
        for label, value in lower:
            below[label.at(0)].append((label.order, value))
        added: list[Any] = []
        for row in rows:
            levels = [value for _, value in sorted(below[row.at(0)], key=lambda pair: pair[0])]
            factors = baumgarte_factors(len(levels), *self.pull)
            added.append(sum((c * value for c, value in zip(factors, levels, strict=True)), 0.0))
        return rest + CASADI.to_sx(np.array(added, dtype=object))

    @cached_property
    def _prolonged(self) -> tuple[LabeledMatrix, tuple[tuple[Label, Any], ...]]:
        """Forces on independent variables, differentiated to the order of the system, and at the orders below."""
        traced = self.equations.casadi
        return traced.prolong(traced.composed_by(self.choices)[()].f_bar)

    @property
    def is_prolonged(self) -> bool:
        """Whether forces are of a lower order than the system, so that they are differentiated."""
        return self.equations.order > max(self.equations.force_order, 0)

    @cached_property
    def _lower(self) -> list[tuple[Label, Any]]:
        """Invariants of all orders below the highest, lowest first; with them forces that were differentiated."""
        traced = self.equations.casadi
        more = self._prolonged[1] if self.is_prolonged else ()
        return sorted([*traced.lower, *more], key=lambda pair: pair[0].order)

    def _arguments(self, *names: str) -> dict[str, ca.SX]:
        traced, eq = self.equations.casadi, self.equations
        every = {
            "t": traced.column([TIME.name]), "y": traced.column(eq.state), "x": traced.column(eq.top),
            "multipliers": self._multipliers, "p": traced.column(list(eq.parameters)),
        }  # fmt: skip
        return {name: every[name] for name in names}

    @cached_property
    def _multipliers(self) -> ca.SX:
        return ca.SX.sym("lambda", self._blocks[2].shape[0])

    def _compiled(self, name: str, arguments: tuple[str, ...], outputs: dict[str, ca.SX]) -> Kernel:
        made = dict(zip(outputs, self._given(*outputs.values()), strict=True))
        return compile_function(f"system_{name}", self._arguments(*arguments), made, shapes={"t": ()})

    @cached_property
    def blocks_kernel(self) -> Kernel:
        minus_M, k, A, b = self._blocks
        return self._compiled("blocks", ("t", "y", "p"), {"M": minus_M.nz[:], "k": k, "A": A.nz[:], "b": b})

    @cached_property
    def rates_kernel(self) -> Kernel:
        return self._compiled("rates", ("t", "y", "x", "p"), {"rate": CASADI.to_sx(self.equations.casadi.rates)})

    @cached_property
    def invariants_kernel(self) -> Kernel:
        h, J = self._lower_graph
        return self._compiled("invariants", ("t", "y", "p"), {"h": h, "J": J.nz[:]})

    @cached_property
    def _lower_graph(self) -> tuple[ca.SX, ca.SX]:
        """Invariants of all orders below the highest, and their derivatives by the state."""
        h = CASADI.to_sx(np.array([value for _, value in self._lower], dtype=object))
        return h, ca.jacobian(h, self._arguments("y")["y"])

    @property
    def event_owners(self) -> list[str]:
        """The event behind each of the values that rise through zero where one happens; then modes of branches."""
        own = [name for name, event in self.events.items() for _ in event.signs]
        return [*own, *self.equations.branches]

    def branching(self, index: int) -> list[str]:
        """Formulas behind a branch, by the number of its event from 1 on."""
        return branch_names(self.equations, self.event_owners[index - 1])

    @cached_property
    def event_kernel(self) -> Kernel:
        traced = self.equations.casadi
        symbols, values = traced.symbols, list[Any]()
        for event in self.events.values():
            value = evaluate(CASADI, event.when, lambda s: symbols[str(s)])
            values += [sign * value for sign in event.signs]
        switches = self.equations.branches.values()
        values += [evaluate(CASADI, x, values_by_name(symbols), traced.chosen) for x in switches]
        return self._compiled("events", ("t", "y", "p"), {"g": CASADI.to_sx(np.array(values, dtype=object))})

    def input_values(self, t: float) -> list[float]:
        """All inputs at one time; those that are left out are zero, and no number where a formula has no value."""
        found: list[float] = []
        for key in self.equations.inputs:
            try:
                found.append(float(evaluate(NUMPY, self.inputs.get(key, sp.S.Zero), lambda _: float(t))))
            except (ArithmeticError, ValueError):
                found.append(np.nan)
        return found

    def carry_out(
        self, name: str, t: float, y: np.ndarray, parameters: Mapping[str, float]
    ) -> tuple[dict[str, float], str | None]:
        """Let an event act on the state, which is changed in place.

        Returns:
            the parameters afterwards, and in words why the event cannot act, if so.
        """
        event, eq = self.events[name], self.equations
        vector = self.parameters(parameters)
        known = {TIME.name: t, **dict(zip(self.state, y, strict=True)), **dict(zip(eq.parameters, vector, strict=True))}
        known |= dict(zip(eq.inputs, self.input_values(t), strict=True))
        found = new_values(event, known)
        after = {**parameters, **{key: value for key, value in found.items() if key in eq.parameters}}
        moved = {key: value for key, value in found.items() if key in self.state}
        for key, value in moved.items():
            y[self.state.index(key)] = value
        if not moved or not self._lower:
            return after, None
        first = min(label.order for label in eq.state if str(label) in moved)
        free = np.array([label.order >= first and str(label) not in moved for label in eq.state])
        y[:], left = consistent(self._residual_at(t, self.parameters(after)), y.copy(), np.empty(0), free)
        if np.abs(left).max(initial=0.0) > CONSISTENT * (1.0 + np.abs(y).max(initial=0.0)):
            shown = worst(left, [label for label, _ in self._lower])
            return after, f"event {name!r} sets values that no state with these invariants has; left over: {shown}"
        return after, None

    def _residual_at(self, t: float, parameters: np.ndarray) -> Callable[..., Any]:
        """Invariants of all orders below the highest and their derivatives, as a function of the state."""

        def lower(state: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = self.invariants_kernel(t, np.asarray(state, dtype=float).reshape(-1), parameters)
            return np.asarray(found.h), spread(rows, columns, np.asarray(found.J), shape)

        graph = self._lower_graph[1]
        (rows, columns), shape = _places(graph), graph.shape
        return lower

    @cached_property
    def tangent_kernel(self) -> Kernel:
        a = self._arguments("y", "x", "multipliers")
        minus_M, k, A, b = self._blocks
        balance = k - minus_M @ a["x"] + A.T @ a["multipliers"]
        rates = CASADI.to_sx(self.equations.casadi.rates)
        outputs = {
            "G": ca.jacobian(balance, a["y"]), "H": ca.jacobian(A @ a["x"] + b, a["y"]),
            "r_y": ca.jacobian(rates, a["y"]), "r_x": ca.jacobian(rates, a["x"]),
        }  # fmt: skip
        return self._compiled("tangent", ("t", "y", "x", "multipliers", "p"), outputs)

    # What integrators take

    @cached_property
    def plan(self) -> Plan:
        """The elimination from the leaves to the root.

        Raises:
            ModelError: naming variables that occur in no equation at their highest order.
        """
        minus_M, _, A, _ = self._blocks
        n, m = len(self.top), A.shape[0]
        if self.is_prolonged:
            return flat_plan(n, m)
        at = {label: j for j, label in enumerate(self.equations.top)}
        number = {node.path: k for k, node in enumerate(self.equations.nodes)}
        nodes = [
            Node(number[node.path[:-1]] if node.path else -1, [at[v] for v in traced.variables if v in at])
            for node, traced in zip(self.equations.nodes, self.equations.casadi.nodes, strict=True)
        ]
        rows = [[int(j) for j in line] for line in _pattern(A)]
        inertia = _pattern(minus_M)
        idle = set(range(n)).difference(*rows, *inertia)
        if idle:
            names = ", ".join(self.top[j] for j in sorted(idle))
            raise ModelError(
                Problem(
                    f"subsystem {self.equations.name!r}: no equation determines {names}",
                    fix="give it a force of inertia, define its rate by kinematics, or bind it by an invariant",
                )
            )
        couplings = [(i, int(j)) for i, line in enumerate(inertia) for j in line if i != j]
        return plan_of(nodes, rows, couplings)

    @cached_property
    def _ways_back(self) -> tuple[Plan, Plan] | None:
        """Plans of the ways back onto the invariants of order 0 and 1; None where there are few variables."""
        eq = self.equations
        labels = [[label for label in eq.state if label.order == order] for order in range(2)]
        if self.is_prolonged or max(map(len, labels)) <= WIDE:
            return None
        pattern = _pattern(self._lower_graph[1])
        number = {node.path: k for k, node in enumerate(eq.nodes)}
        plans: list[Plan] = []
        for order, mine in enumerate(labels):
            place = {eq.state.index(label): j for j, label in enumerate(mine)}
            columns: list[list[int]] = [[] for _ in eq.nodes]
            for j, label in enumerate(mine):
                columns[number[label.path]].append(j)
            parents = [number[node.path[:-1]] if node.path else -1 for node in eq.nodes]
            lines = [line for line, (label, _) in zip(pattern, self._lower, strict=True) if label.order == order]
            rows = [[place[j] for j in line if j in place] for line in lines]
            plans.append(plan_of([Node(parent, own) for parent, own in zip(parents, columns, strict=True)], rows))
        return plans[0], plans[1]

    def at_once(self) -> CompiledSystem:
        """The same, solved by the null space of all invariants at once."""
        made = copy.copy(self)
        made.__dict__["plan"] = flat_plan(len(self.top), self._blocks[2].shape[0])
        return made

    def parameters(self, values: Mapping[str, float] | None) -> np.ndarray:
        """The vector of parameters with these values instead of the subsystem's.

        Raises:
            ModelError: for unknown names.
        """
        known = self.equations.parameters
        own = [name for name in known if name not in self.equations.modes]
        for name in values or {}:
            if name not in own:
                raise ModelError(
                    Problem(f"subsystem {self.equations.name!r} has no parameter {name!r}; it has {', '.join(own)}")
                )
        return np.array([{**known, **(values or {})}[name] for name in known], dtype=float)

    def lower_residuals(self, t: np.ndarray, y: np.ndarray, parameters: np.ndarray) -> dict[int, np.ndarray]:
        """Invariants below the highest order at many states, by order."""
        if not self._lower:
            return {}
        h = np.asarray(self.invariants_kernel(t, y, parameters).h).reshape(len(y), -1)
        orders = np.array([label.order for label, _ in self._lower])
        return {int(order): h[:, orders == order] for order in np.unique(orders)}

    def start(self, t: float, given: Mapping[str, float], parameters: np.ndarray) -> np.ndarray:
        """A state that meets all invariants: what is given stays, the rest begins at guesses, else at zero or near it.

        Raises:
            ModelError: for unknown names, and if no such state is found, naming the invariants that are left.
        """
        eq = self.equations
        for name in given:
            if name not in self.state:
                raise ModelError(
                    Problem(f"subsystem {eq.name!r} has no state {name!r}; it has {', '.join(self.state)}")
                )
        begun = {**eq.guesses, **given}
        if not self._lower:
            return np.array([begun.get(name, 0.0) for name in self.state])

        lower = self._residual_at(t, parameters)
        free, y, left = np.array([name not in given for name in self.state]), np.empty(0), np.empty(0)
        for offset in OFFSETS:  # where all is zero, gradients may vanish
            first = [begun.get(str(label), offset if label.order == 0 else 0.0) for label in eq.state]
            y, left = consistent(lower, np.array(first), np.empty(0), free)
            if np.abs(left).max(initial=0.0) <= CONSISTENT * (1.0 + np.abs(y).max(initial=0.0)):
                break
        else:
            shown = worst(left, [label for label, _ in self._lower])
            raise ModelError(
                Problem(
                    f"subsystem {eq.name!r}: no initial state meets all invariants; left over: {shown}",
                    fix="give other or fewer initial values, or a position near the wanted one: guess({…})",
                )
            )
        return y

    def problem(
        self, parameters: Mapping[str, float] | None, needs: tuple[str, ...], start: Any = None, active: Any = None
    ) -> tuple[TimeProblem, SystemContext]:
        """What an integrator that needs these functions takes, and the context behind it."""
        if not set(needs) <= NEEDS:
            raise ModelError(
                Problem(
                    f"subsystem {self.equations.name!r}: this integrator moves bodies itself, and a subsystem has "
                    f"variables of any kind",
                    fix="integrator='dopri8', 'tsit5', 'rk4', 'radau' or 'bdf'",
                )
            )
        values = self.parameters(parameters)
        orders, places = self.equations.order, self._places()
        context = SystemContext(
            **places, n=len(self.top), rows=self._blocks[2].shape[0], size=len(self.state), lower=len(self._lower),
            orders=orders, n_events=len(self.event_owners), n_parameters=len(values), parameters=values,
            row_start=_starts([label.order for label, _ in self._lower], orders),
            column_start=_starts([label.order for label in self.equations.state], orders),
            statistics=Statistics(smallest_pivot=1.0, lowest_rank=np.inf), plan=self.plan, blocks=self.blocks_kernel,
            rates=self.rates_kernel,
        )  # fmt: skip
        if self._lower:
            context.invariants = self.invariants_kernel
            if self._ways_back is not None:
                context.by_tree = 1
                context.places, context.speeds = self._ways_back
                np.fill_diagonal(context.unit, 1.0)
        context.rhs, context.retract = system_rhs.bind(context), system_retract.bind(context)
        problem = TimeProblem(size=len(self.state), rhs=context.rhs, retract=context.retract, n_events=context.n_events)
        if self.event_owners:
            context.event = self.event_kernel
            problem.events = system_events.bind(context)
        self._let_choose(problem, context)
        if "jacobian" in needs:
            context.tangent = self.tangent_kernel
            problem.jacobian = system_jacobian.bind(context)
        return problem, context

    def _let_choose(self, problem: TimeProblem, context: SystemContext) -> None:
        """Give a problem what it needs to choose branches of formulas."""
        branches = self.equations.branches
        if not branches:
            return
        names = list(self.equations.parameters)
        context.n_branches, context.mode = len(branches), np.array([names.index(mode) for mode in branches])
        problem.n_branches, problem.choose = len(branches), system_choose.bind(context)
        if self._lower:
            problem.n_places = int(context.row_start[1])
            # What is not mechanical knows no impulse, so that nothing tells how velocities jump.
            problem.n_speeds = problem.n_given = len(self._lower) - problem.n_places
            problem.imposed = system_imposed.bind(context)

    def _places(self) -> dict[str, Any]:
        """Where entries of −M, A and ∂h/∂y belong, and how large a unit matrix is needed."""
        found: dict[str, Any] = {"wide": max(plan.n for plan in self._ways_back) if self._ways_back else 0}
        matrices = {"M": self._blocks[0], "A": self._blocks[2]} | ({"J": self._lower_graph[1]} if self._lower else {})
        for name, matrix in matrices.items():
            rows, columns = _places(matrix)
            found |= {f"n_{name}": len(rows), f"{name}_row": rows, f"{name}_column": columns}
        return found


def baumgarte_factors(levels: int, alpha: float, beta: float, gamma: float) -> list[float]:
    """Factors of h, ḣ, … below the highest order, so that an error of the invariant h decays.

    ḣ + γ h = 0,      ḧ + 2α ḣ + β² h = 0,      (d/dt + β)ⁿ⁻² (ḧ + 2α ḣ + β² h) = 0  with n > 2 levels
    """
    if levels < 2:
        return [gamma] * levels
    polynomial = np.array([1.0, 2.0 * alpha, beta**2])
    for _ in range(levels - 2):
        polynomial = np.convolve(polynomial, [1.0, beta])
    return [float(value) for value in polynomial[:0:-1]]


def _number(value: Any) -> bool:
    return isinstance(value, NUMBER) and not isinstance(value, bool)


def _input_rate(name: str, inputs: tuple[str, ...]) -> tuple[str, int]:
    """The input of which a name is a rate, and how often it is differentiated."""
    if name in inputs:
        return name, 0
    head, _, tail = name.rpartition(".")
    return head, len(tail)


def _starts(orders: list[int], count: int) -> np.ndarray:
    """Where each order begins in a list that is sorted by order."""
    return np.array([sum(order < k for order in orders) for k in range(count + 1)], dtype=np.int64)


def _by(matrix: LabeledMatrix, columns: tuple[Any, ...], rows: tuple[Any, ...] | None = None) -> ca.SX:
    return to_sx(LabeledMatrix(CASADI, matrix.rows if rows is None else rows, columns, matrix.entries))


def _places(matrix: ca.SX) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a matrix that are stored."""
    rows, columns = matrix.sparsity().get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _pattern(matrix: ca.SX) -> list[list[int]]:
    """Columns of the entries of each row."""
    found: list[list[int]] = [[] for _ in range(matrix.shape[0])]
    rows, columns = matrix.sparsity().get_triplet()
    for i, j in zip(rows, columns, strict=True):
        found[i].append(j)
    return found
