"""Linear models of subsystems, and what kind of reference a linear model has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.linearization.linear_model import LinearModel
from dalembert.errors import DalembertError, index_of, unknown
from dalembert.expressions import TIME, evaluate, symbols_of, values_by_name
from dalembert.modular import LeastSquares, Subsystem
from dalembert.modular.labels import Label
from dalembert.modular.linear_rows import KnownRows, linearizable, numbers_of, reference, reference_slope, with_known
from dalembert.modular.linear_tree import LinearSystem
from dalembert.modular.modular_equations import ModularEquations
from dalembert.trajectory.system_trajectory import SystemTrajectory
from dalembert.values import NUMBER

__all__ = ["AT_REST", "SubsystemStart", "kind_of"]

AT_REST = 1e-8  # velocities and accelerations this small are none
SMALL = 1e-30  # a change whose square is nothing beside rounding


def kind_of(A: np.ndarray, rates: np.ndarray, states: Sequence[str], count: int, motion: np.ndarray) -> str:
    """Whether a reference is an equilibrium, a steady motion or neither.

    Args:
        rates: of the states along the reference.
        count: how many states come before those of the highest order.
        motion: velocities of the reference.
    """
    if _changes(rates[count:], rates):
        return "no equilibrium: the reference accelerates, " + _listed(states[count:], rates[count:])
    if not _changes(motion, motion) and not _changes(rates, rates):
        return "equilibrium"
    jerk = A[count:, :count] @ rates[:count]
    if _changes(jerk, np.abs(A[count:, :count]) @ np.abs(rates[:count])):
        return "no equilibrium: the accelerations of the reference change, " + _listed(states[count:], jerk)
    return "steady motion"


def _changes(values: np.ndarray, scale: np.ndarray) -> bool:
    return bool(np.abs(values).max(initial=0.0) > AT_REST * (1 + np.abs(scale).max(initial=0.0)))


def _listed(names: Sequence[str], values: np.ndarray) -> str:
    shown = [f"{name} by {value:.6g}" for name, value in zip(names, values, strict=True) if abs(value) > AT_REST]
    return ", ".join(shown[:4]) + (", …" if len(shown) > 4 else "")


@dataclass(frozen=True)
class SubsystemStart:
    """A linearization of a subsystem, as the caller asked for it."""

    subsystem: Subsystem
    at: dict[Any, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] | None
    full: bool
    incompatible: str
    weights: dict[str, float]
    known: dict[str, LinearModel] = field(default_factory=lambda: {})
    time: float = 0.0

    def linear(self, parameters: dict[str, float]) -> LinearModel:
        """At the values of the parameters."""
        equations = self.subsystem.equations(incompatible=self.incompatible, weights=self.weights or None)
        unknown = [name for name in parameters if name not in equations.parameters]
        if unknown:
            known = ", ".join(equations.parameters) or "none"
            raise DalembertError(f"unknown parameters {unknown}; subsystem {self.subsystem.name!r} has {known}")
        squares = LeastSquares(self.weights) if self.incompatible == "least-squares" else None
        values = {**{k: v for k, v in equations.parameters.items() if v is not None}, **parameters}
        given = {self.name(equations, key): self.number(value, values) for key, value in self.at.items()}
        if self.known:
            known = [self._known_rows(path, model) for path, model in self.known.items()]
            equations = with_known(equations, known)
            rows = numbers_of(equations, known)
        else:
            equations = linearizable(equations)
            rows = numbers_of(equations)
        now = {TIME.name: self.time}
        numbers, open_rows = reference(equations, given, parameters, squares is not None, now, rows)
        system = LinearSystem(equations, numbers, squares, numbers=rows)
        return _Source(self, equations, system, values, open_rows).model()

    def along(self, run: SystemTrajectory, parameters: dict[str, float]) -> list[LinearModel]:
        """At all outputs of a run of this subsystem."""
        equations = self.subsystem.equations(incompatible=self.incompatible, weights=self.weights or None)
        names = [*map(str, equations.state), *equations.inputs]
        missing = [name for name in names if name not in run.names]
        if missing:
            raise DalembertError(
                f"at: the run of {run.attrs['model']!r} has no {_some(missing)}.  Fix: a run of this one"
            )
        values = {name: run.values(name) for name in names}
        return [
            replace(self, at={name: float(one[k]) for name, one in values.items()}, time=float(t)).linear(parameters)
            for k, t in enumerate(run.values("time"))
        ]

    def _known_rows(self, path: str, model: LinearModel) -> KnownRows:
        """The linear rows of a part, from a former linearization of it."""
        source = getattr(model, "source", None)
        if not isinstance(source, _Source):
            said = f"a {type(model).__name__}" if source is None else "the linear model of a model, not of a subsystem"
            raise DalembertError(f"known: {path!r} must be what da.linearize(subsystem) gave, got {said}")
        if source.system.least_squares is not None or source.system.numbers.known:
            raise DalembertError(f"known: {path!r} was linearized by least squares, or from known parts itself")
        steps = tuple(str(path).split("."))
        part = self.subsystem
        for step in steps:
            if step not in part.parts:
                raise DalembertError(
                    f"known: subsystem {part.name!r} has no part {step!r}; it has {_some(list(part.parts)) or 'none'}"
                )
            part = part._parts[step].part  # pyright: ignore[reportPrivateUsage]
        return KnownRows.of(source.equations, source.system.values, steps)

    def slopes(self, equations: ModularEquations, values: dict[str, float], parameter: str) -> dict[str, float]:
        """Variables that were given, and how each follows a parameter."""
        found: dict[str, float] = {}
        for key, value in self.at.items():
            name = self.name(equations, key)
            found[name] = 0.0
            if not np.isscalar(value) or isinstance(value, str):
                slope = cast(Any, sp).diff(self.formula(value), sp.Symbol(parameter, real=True))
                found[name] = float(evaluate(NUMPY, slope, values_by_name(values)))
        return found

    def name(self, equations: ModularEquations, key: Any) -> str:
        """The full name of a variable or input, also from a short one."""
        text = getattr(key, "name", None) or str(key)
        if hasattr(key, "owner"):
            text = self.subsystem._plain(key).name  # pyright: ignore[reportPrivateUsage]
        known = [*map(str, equations.state), *equations.inputs]
        found = [text] if text in known else [name for name in known if name.endswith(f".{text}")]
        if len(found) != 1:
            said = f"may be any of {', '.join(found)}" if found else f"is not a variable; there are {_some(known)}"
            raise DalembertError(f"at: {text!r} {said}")
        return found[0]

    def formula(self, text: Any) -> sp.Expr:
        return self.subsystem._formula(text)  # pyright: ignore[reportPrivateUsage]

    def number(self, value: Any, parameters: dict[str, float]) -> float:
        """A number, or a formula of parameters."""
        if isinstance(value, NUMBER):
            return float(value)
        formula = self.formula(value)
        unknown = [s.name for s in symbols_of(formula) if s.name not in parameters]
        if unknown:
            raise DalembertError(f"at: {value} names {unknown[0]!r}, which is not a parameter with a value")
        return float(evaluate(NUMPY, formula, values_by_name(parameters)))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "")


class _Source:
    """A linear model of a subsystem, and what else it can say."""

    def __init__(
        self,
        start: SubsystemStart,
        equations: ModularEquations,
        system: LinearSystem,
        parameters: dict[str, float],
        open_rows: dict[str, float],
    ):
        self.start, self.equations, self.system, self.parameters = start, equations, system, parameters
        self.open_rows = open_rows

    def model(self) -> LinearModel:
        """The matrices with names."""
        found = self.system.model(self.start.full)
        labels: list[Label] = found["states"]
        states = tuple(map(str, labels))
        self._moving = found["moving"]
        all_inputs = self.equations.inputs
        chosen = [self._input(name) for name in self.start.inputs] or list(range(len(all_inputs)))
        nw = len(all_inputs)
        outputs, values = self._outputs(labels)
        y = values @ self._moving
        count = sum(label.order < min(self.equations.order, 2) - 1 for label in labels)
        A = found["matrix"][:, nw:]
        motion = np.array([self.system.values[str(v)] for v in self.equations.state if v.order > 0], dtype=float)
        return LinearModel(
            self.start.subsystem.name, states, tuple(all_inputs[i] for i in chosen), outputs,
            A, found["matrix"][:, chosen], y[:, nw:], y[:, chosen], found["rates"],
            kind_of(A, found["rates"], states, count, motion), found["mass"],
            {str(label): float(np.real(self.system.values[str(label)])) for label in self.equations.state},
            {**self.system.residual, **self.open_rows}, source=self,
        )  # fmt: skip

    def _input(self, name: str) -> int:
        return index_of("inputs: unknown", name, self.equations.inputs, f"subsystem {self.equations.name!r} has")

    def _outputs(self, states: list[Label]) -> tuple[tuple[str, ...], np.ndarray]:
        """Names of outputs, and their derivatives by all that moves; default: independent coordinates."""
        moving = self.system.numbers.moving
        if self.start.outputs is None:
            names = [str(label) for label in states if label.order == 0]
            return tuple(names), np.eye(len(moving))[[moving.index(name) for name in names]]
        traced, d = self.equations.casadi, self.equations.description
        formulas: list[sp.Expr] = [d.lively(self.start.formula(text)) for text in self.start.outputs]

        def lookup(atom: Any) -> Any:
            return traced.symbols[atom.name]

        scalars = [evaluate(CASADI, formula, lookup) for formula in formulas]
        y, others = CASADI.to_sx(np.array(scalars, dtype=object)), self.system.numbers.others
        symbols, values = traced.column(moving), self.system.values
        function = ca.Function("y", [symbols, traced.column(others)], [ca.jacobian(y, symbols)])
        found = function(np.array([values[n] for n in moving]), np.array([values[n] for n in others]))
        return tuple(self.start.outputs), np.asarray(found.full())

    def again(self, parameters: dict[str, float]) -> LinearModel:
        """With other values of parameters."""
        return self.start.linear(parameters)

    def slope(self, parameter: str) -> np.ndarray:
        """∂A/∂p, exact: variables of the reference that were given stay or follow their formulas, others follow the
        invariants."""
        system, eq = self.system, self.equations
        if parameter not in eq.parameters:
            raise unknown("unknown parameter", parameter, eq.parameters, f"subsystem {eq.name!r} has")
        for one in system.numbers.known:
            if parameter in one.values:
                raise DalembertError(f"sensitivity: {parameter!r} belongs to {'.'.join(one.path)!r}, which is known")
        values = {name: float(np.real(value)) for name, value in system.values.items()}
        given = self.start.slopes(eq, self.parameters, parameter)
        slope = reference_slope(eq, system.numbers, values, given, parameter)
        moved = {name: complex(value, SMALL * slope[name]) for name, value in values.items()}
        changed = LinearSystem(eq, moved, system.least_squares, like=system, numbers=system.numbers)
        return changed.model(self.start.full)["matrix"].imag[:, len(eq.inputs) :] / SMALL

    def shape(self, vector: np.ndarray) -> dict[str, complex]:
        """All variables of the state, for a vector of independent ones."""
        nw, n = len(self.equations.inputs), len(self.equations.state)
        values = self._moving[:n, nw:] @ vector
        return dict(zip(map(str, self.equations.state), map(complex, values), strict=True))

    def bodies(self, vector: np.ndarray) -> dict[str, float]:
        """Subsystems have no bodies."""
        return {}
