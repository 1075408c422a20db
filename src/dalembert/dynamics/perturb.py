"""First and second derivatives of all that the equations of one model say, at one state.

They are evaluated by CasADi's own interpreter: an analysis asks for a few states, and machine code would take longer to
compile than it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI, sx_symbol
from dalembert.codegen import compile_function
from dalembert.codegen.lookup import calls_tables
from dalembert.dynamics.traces import friction_forces, tangent_outputs
from dalembert.elements import Load
from dalembert.equations.feedback import feedback_values
from dalembert.values import TUPLE

if TYPE_CHECKING:
    from dalembert.dynamics.mechanism_kernels import MechanismKernels
    from dalembert.equations import Equations
    from dalembert.model.flatten import Flat

__all__ = ["Perturbations", "Point", "feedback_names"]

# What ``traces.tangent_outputs`` gives and a linearization has no use for.
_UNUSED = ("power_q", "power_u")
_VECTORS = ("r", "v", "g", "phi", "qdot", "y", "Q", "T", "h")


def feedback_names(flat: Flat) -> list[str]:
    """The parameters that hold what follows from the motion: forces of friction, accelerations and reactions of forces
    and states, then of outputs and events."""
    return [*(f"{name}.force" for name in flat.frictions), *flat.feedback, *flat.watched]


class Point:
    """Where derivatives are taken, or a direction: t, q, u, p, u̇ and λ."""

    def __init__(self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, du: np.ndarray, multipliers: np.ndarray):
        self.arrays = [np.array([t]), q, u, p, np.zeros(len(u)), du, multipliers]


class Perturbations:
    """Derivatives of one model's equations, traced when first asked for.

    Attributes:
        kernels: the model's symbols and its trace.
    """

    def __init__(self, kernels: MechanismKernels):
        self.kernels = kernels
        self._du = CASADI.symbols("du", kernels.nv)
        self._multipliers = CASADI.symbols("multipliers", len(kernels.rows))
        self._functions: dict[Any, _Function] = {}

    def tangent(self, at: Point, along: Point | None = None) -> dict[str, Any]:
        """Residuals and their derivatives by q and u (see ``traces.tangent_outputs``).

        ``spin`` is qdot_q W − Ẇ: how the tangent space turns along the motion. With a direction, pairs of values and
        of their derivatives along it.
        """
        return self._function("tangent", self._tangent)(at, along)

    def by_parameters(self, names: Sequence[str], at: Point, along: Point | None = None) -> dict[str, Any]:
        """Derivatives r_p, g_p, v_p and phi_p by some parameters; qdot_p holds those of the rates of states."""
        return self._function(("parameters", *names), lambda: self._by_parameters(names))(at, along)

    def feedback(self, names: Sequence[str], at: Point, along: Point | None = None) -> dict[str, Any]:
        """Forces of friction, then accelerations and reactions that formulas name, h, and their derivatives by q, u, u̇
        (h_a), λ (h_m), what is assumed of themselves (h_x), and some parameters (h_p)."""
        return self._function(("feedback", *names), lambda: self._feedback(names))(at, along)

    def feedback_by_force(self, joint: str | None, force: str | None, component: int, at: Point) -> np.ndarray:
        """How they depend on one unit more of a joint's force, or of a component of a named force's ``value``."""
        key = ("feedback by", joint, force, component)
        return self._function(key, lambda: self._feedback_by_force(joint, force, component))(at)["h"]

    def formulas(
        self, formulas: Mapping[str, sp.Expr], names: Sequence[str], at: Point, along: Point | None = None
    ) -> dict[str, Any]:
        """Values of formulas of t, q, u and parameters, and their derivatives by q, u and some parameters."""
        key = ("formulas", *formulas.items(), *names)
        return self._function(key, lambda: self._formulas(formulas, names))(at, along)

    def unit_force(self, name: str, component: int, at: Point) -> np.ndarray:
        """Generalized forces of one unit more of a component of a named force's ``value``."""
        found = self._function(("force", name, component), lambda: self._unit_force(name, component))(at)
        return found["Q"]

    def energies(self, at: Point, velocities: np.ndarray) -> np.ndarray:
        """Kinetic energy of every body at other velocities, in the order of ``coordinates.bodies``."""
        return self._function("energies", self._energies)([*at.arrays[:2], velocities, *at.arrays[3:]])["T"]

    # Tracing

    def _function(self, key: Any, make: Any) -> _Function:
        if key not in self._functions:
            symbols = self.kernels.symbols
            inputs = [*(symbols[name][0] for name in "tqup"), self.kernels.tau[0], self._du[0], self._multipliers[0]]
            self._functions[key] = _Function(inputs, make())
        return self._functions[key]

    def _tangent(self) -> dict[str, ca.SX]:
        outputs = tangent_outputs(self.kernels, self._du, self._multipliers)
        for name in _UNUSED:
            del outputs[name]
        t, q = self.kernels.symbols["t"][0], self.kernels.symbols["q"][0]
        W, qdot = outputs["W"], outputs["qdot"]
        rate = ca.jtimes(ca.vec(W), q, qdot) + ca.jacobian(ca.vec(W), t)
        outputs["spin"] = outputs["qdot_q"] @ W - ca.reshape(rate, *W.shape)
        return outputs

    def _residuals(self) -> dict[str, ca.SX]:
        return {name: self._function("tangent", self._tangent).outputs[name] for name in ("r", "g", "v", "phi", "qdot")}

    def _symbols_of(self, names: Sequence[str]) -> ca.SX:
        p, known = self.kernels.symbols["p"][0], self.kernels.parameter_names
        casadi: Any = ca
        chosen = casadi.vertcat(*[p[known.index(name)] for name in names])
        return chosen if names else ca.SX(0, 1)

    def _by_parameters(self, names: Sequence[str]) -> dict[str, ca.SX]:
        return {f"{name}_p": ca.jacobian(value, self._symbols_of(names)) for name, value in self._residuals().items()}

    def _formulas(self, formulas: Mapping[str, sp.Expr], names: Sequence[str]) -> dict[str, ca.SX]:
        motion, symbols = self.kernels.traced.motion, self.kernels.symbols
        y = CASADI.to_sx([motion.evaluate(formula) for formula in formulas.values()])
        by = {"q": symbols["q"][0], "u": symbols["u"][0], "p": self._symbols_of(names)}
        return {"y": y, **{f"y_{key}": ca.jacobian(y, symbol) for key, symbol in by.items()}}

    def _feedback(self, names: Sequence[str]) -> dict[str, ca.SX]:
        h, symbols = self._feedback_in(self.kernels.traced), self.kernels.symbols
        own = feedback_names(self.kernels.flat)
        by = {"q": symbols["q"][0], "u": symbols["u"][0], "a": self._du[0], "m": self._multipliers[0]}
        by |= {"x": self._symbols_of(own), "p": self._symbols_of(names)}
        return {"h": h, **{f"h_{key}": ca.jacobian(h, symbol) for key, symbol in by.items()}}

    def _feedback_in(self, equations: Equations) -> ca.SX:
        flat, after = self.kernels.flat, (self._du[1], self._multipliers[1])
        found = CASADI.to_sx(feedback_values(equations, {**flat.feedback, **flat.watched}, *after))
        return ca.vertcat(friction_forces(self.kernels, equations, *after), found)

    def _feedback_by_force(self, joint: str | None, force: str | None, component: int) -> dict[str, ca.SX]:
        more, equations = CASADI.symbols("more", 1), self.kernels.equations()
        if force is not None:
            unit = self._unit_load(equations, force, component)
        else:
            assert joint is not None
            unit, n = Load(), self.kernels.coordinates.nominal_joint(joint).joint.nv
            unit.joint_forces.append((joint, CASADI.eye(n)[component], False))
        size, load = more[1][0], equations.load
        load.wrenches.extend((body, size * wrench, flag) for body, wrench, flag in unit.wrenches)
        load.joint_forces.extend((name, size * tau, flag) for name, tau, flag in unit.joint_forces)
        slope = ca.jacobian(self._feedback_in(equations), more[0])
        return {"h": ca.substitute(slope, more[0], 0)}

    def _unit_force(self, name: str, component: int) -> dict[str, ca.SX]:
        equations = self.kernels.equations()
        return {"Q": CASADI.to_sx(equations.forces_of(self._unit_load(equations, name, component)))}

    def _unit_load(self, equations: Equations, name: str, component: int) -> Load:
        force, scope = self.kernels.flat.forces[name]
        unit: Any = sp.Integer(1)
        if isinstance(force.value, TUPLE):
            unit = tuple(sp.Integer(i == component) for i in range(len(force.value)))
        load = Load()
        force.model_copy(update={"value": unit}).loads(equations.motion.within(scope), load)
        return load

    def _energies(self) -> dict[str, ca.SX]:
        tree, states = self.kernels.tree, self.kernels.traced.states
        energies = [link.inertia.energy(state.V_L) for link, state in zip(tree.links, states, strict=True)]
        return {"T": CASADI.to_sx(energies)}


class _Function:
    """Named expressions of a fixed list of symbols, as dense arrays."""

    def __init__(self, inputs: list[ca.SX], outputs: dict[str, ca.SX]):
        self.inputs, self.outputs = inputs, outputs
        self._value: Callable[[list[np.ndarray]], list[np.ndarray]] | None = None
        self._slope: Callable[[list[np.ndarray]], list[np.ndarray]] | None = None

    def __call__(self, at: Point | list[np.ndarray], along: Point | None = None) -> dict[str, Any]:
        arrays = at.arrays if isinstance(at, Point) else at
        if self._value is None:
            self._value = _evaluator("value", self.inputs, list(self.outputs.values()))
        values = self._dense(self._value(arrays))
        if along is None:
            return values
        if self._slope is None:
            directions: list[ca.SX] = [sx_symbol("d", *symbol.shape) for symbol in self.inputs]
            both, direction = ca.vertcat(*self.inputs), ca.vertcat(*directions)
            slopes = [_along(value, both, direction) for value in self.outputs.values()]
            self._slope = _evaluator("slope", [*self.inputs, *directions], slopes)
        slopes = self._dense(self._slope([*arrays, *along.arrays]))
        return {name: (values[name], slopes[name]) for name in self.outputs}

    def _dense(self, found: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        arrays = zip(self.outputs, found, strict=True)
        return {name: array[:, 0] if name in _VECTORS else array for name, array in arrays}


def _evaluator(name: str, inputs: list[ca.SX], outputs: list[ca.SX]) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """Values of expressions: by CasADi's interpreter, or as machine code if they look up tables."""
    function = ca.Function(name, inputs, outputs)
    if not calls_tables(function):
        return lambda arrays: [found.full() for found in function.call(arrays)]
    columns = {f"o{i}": ca.densify(ca.vec(value.T)) for i, value in enumerate(outputs)}
    kernel = compile_function(name, {f"i{i}": symbol for i, symbol in enumerate(inputs)}, columns)
    shapes = [value.shape for value in outputs]

    def evaluate(arrays: list[np.ndarray]) -> list[np.ndarray]:
        found = kernel(*arrays)
        parts = [np.asarray(found)] if len(outputs) == 1 else [np.asarray(part) for part in found]
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    return evaluate


def _along(value: ca.SX, symbols: ca.SX, direction: ca.SX) -> ca.SX:
    """Directional derivative of a sparse matrix, with its own pattern."""
    dense = ca.densify(value)
    return ca.reshape(ca.jtimes(ca.vec(dense), symbols, direction), *dense.shape)
