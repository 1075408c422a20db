"""From a model to equations of motion: over SymPy, to read, or over CasADi, as a graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.codegen.tape import trace
from dalembert.coordinates import Coordinates
from dalembert.derivation.abbreviations import Abbreviations
from dalembert.derivation.expression_graph import Definitions, define
from dalembert.derivation.letters import coordinate_names, parameter_letter
from dalembert.derivation.names import NameBook, is_letter
from dalembert.derivation.roots import readable
from dalembert.derivation.simplify import each_entry
from dalembert.derivation.units import parameter_units
from dalembert.equations.quasi_velocities import mechanics_of, plan_of
from dalembert.equations.sampled import symbolic
from dalembert.formulations import Formulation
from dalembert.formulations.shared.analytical import AnalyticalFormulation

__all__ = ["GRAVITY", "Graph", "Mathematics", "Setup", "build_symbolic"]

GRAVITY = "g"  # what gravity given in numbers is called


@dataclass
class Mathematics:
    """Equations of motion as arrays of SymPy expressions (see ``formulations.shared.analytical.Derived``).

        q̇ = q̇(t, q, w, G),      K ẇ = k + Dᵀλ,      a q̇ + b = 0

    Attributes:
        w, dw: velocities and their rates.  G: constants, with ``constant_definitions``.
        by_rates: k with q̇ left standing, where the formalism knows such a form; a row that is shorter so is shown so.
        given: w as functions of (t, q, q̇).
        Q: forces without potential, where the formalism keeps them apart; else None.
        a, b: constraints  a q̇ + b = 0;  position: φ, where there is one, in the order of the rows.
        definitions: of z₁, z₂, … if the expressions came from a graph.
        assumptions: what was taken to be positive.
        abbreviations: letters for long expressions of parameters.
    """

    w: list[sp.Symbol]
    dw: list[sp.Symbol]
    qdot: np.ndarray
    K: np.ndarray
    k: np.ndarray
    D: np.ndarray
    given: np.ndarray
    G: list[sp.Symbol]
    constant_definitions: np.ndarray
    a: np.ndarray
    b: np.ndarray
    position: list[sp.Expr | None]
    by_rates: np.ndarray | None = None
    Q: np.ndarray | None = None
    functions: dict[str, Any] = field(default_factory=lambda: {})
    definitions: Definitions | None = None
    assumptions: list[sp.Expr] = field(default_factory=lambda: [])
    abbreviations: dict[sp.Symbol, sp.Expr] = field(default_factory=lambda: {})

    def arrays(self) -> dict[str, np.ndarray]:
        """All that can be simplified, by name."""
        names = ("qdot", "K", "by_rates", "k", "D", "given", "constant_definitions", "a", "b")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Setup:
    """A mechanism in its coordinates, with a symbol for everything that has a name.

    Args:
        own: LaTeX forms that the user wants, by name.
    """

    def __init__(self, coordinates: Coordinates, formulation: Formulation, own: dict[str, str]):
        self.coordinates, self.formulation = coordinates, formulation
        chooses = isinstance(formulation, AnalyticalFormulation)
        self.plan = formulation.choice(coordinates) if chooses else plan_of(coordinates)
        self.values = dict(coordinates.flat.parameters)
        names = coordinate_names(coordinates, set(self.values))
        book = self.book = NameBook({**own, **{name.name: own[name.given] for name in names if name.given in own}})
        units = {**parameter_units(coordinates.flat), GRAVITY: "m/s²"}
        self.parameters = {
            name: book.parameter(name, _words(name), letter=parameter_letter(units.get(name, "")))
            for name in self.values
        }
        self.labels = coordinates.labels()[0]
        triples = [book.coordinate(name.name, name.meaning) for name in names]
        self.q, self.qd, self.qdd = ([triple[k] for triple in triples] for k in range(3))
        n = coordinates.nv
        self.qd, self.qdd = self.qd[:n], self.qdd[:n]
        self.units = {symbol: units.get(name, "") for name, symbol in self.parameters.items()}
        self.units |= {q: name.unit for q, name in zip(self.q, names, strict=True)}
        self._momenta = {q: name.momentum for q, name in zip(self.q, names, strict=True)}
        self.fixed = frozenset(self.parameters.values())
        self._velocities: dict[str, tuple[sp.Symbol, sp.Symbol]] = {}
        self._others: dict[str, sp.Symbol] = {}
        self.multipliers = [
            book.other(f"lambda_{k + 1}", rf"\lambda_{{{k + 1}}}", "multiplier of a constraint")
            for k in range(len(self.plan.rows))
        ]

    @property
    def t(self) -> sp.Symbol:
        return self.book.time

    @property
    def reference(self) -> dict[sp.Symbol, float]:
        """Values of time, coordinates and parameters with all joints at neutral."""
        neutral = zip(self.q, self.coordinates.neutral(), strict=True)
        return {self.t: 0.0, **dict(neutral), **{self.parameters[name]: value for name, value in self.values.items()}}

    def moving(self, symbol: Any) -> bool:
        """True for all symbols but parameters."""
        return symbol not in self.fixed

    def symbol(self, kind: str, name: str) -> sp.Symbol:
        """For ``equations.sampled.symbolic``."""
        if kind == "time":
            return self.t
        if kind == "parameter":
            return self.parameters[name]
        index = self.labels.index(name)
        return self.q[index] if kind == "q" else self.qd[index]

    def velocity(self, name: str) -> tuple[sp.Symbol, sp.Symbol]:
        """The symbol of a velocity that a formalism made, and that of its rate."""
        if name not in self._velocities:
            self._velocities[name] = self._velocity(name)
        return self._velocities[name]

    def _velocity(self, name: str) -> tuple[sp.Symbol, sp.Symbol]:
        if name.startswith("d/dt ") and name[5:] in self.labels:
            index = self.labels.index(name[5:])
            return self.qd[index], self.qdd[index]
        for letter, words in (("p", "momentum of {}"), ("u", "quasi-velocity, rate of {}")):
            head, label = name[:2], name[2:]
            if head == f"{letter}_" and label in self.labels:
                q = self.q[self.labels.index(label)]
                found = self.book.momentum(q, words.format(self.book.meaning[q]), letter)
                rate = f"{self.units[q]}/s" if self.units[q] else ""
                self.units[found[0]] = self._momenta[q] if letter == "p" else rate
                return found
        match = re.fullmatch(r"([wv])([xyz])_(.*)", name)
        if match:
            letter = {"w": "omega", "v": "v"}[match[1]]
            words = {"w": "angular velocity of {} about its axis {}", "v": "velocity of {} along its axis {}"}[match[1]]
            pair = self.book.velocity(f"{letter}_{match[2]}_{match[3]}", words.format(match[3], match[2]))
            self.units[pair[0]] = {"w": "rad/s", "v": "m/s"}[match[1]]
            return pair
        return self.book.velocity(name, f"quasi-velocity {name}")

    def constant(self, label: str) -> sp.Symbol:
        """The symbol of a momentum that stays as it is."""
        key = f"G_{label}"
        if key not in self._others:
            q = self.q[self.labels.index(label)]
            subscript = self.book.momentum_subscript(q)
            self._others[key] = self.book.other(f"G_{q}", f"G_{{{subscript}}}", f"constant momentum of {q}")
            self.units[self._others[key]] = self._momenta[q]
        return self._others[key]

    def abbreviation(self, k: int) -> sp.Symbol:
        """c₁, c₂, …, which count as parameters."""
        symbol = self.book.other(f"c_{k}", f"c_{{{k}}}", "abbreviation")
        self.fixed |= {symbol}
        return symbol

    def other(self, name: str, velocity_names: Sequence[str]) -> sp.Symbol:
        """Symbols inside functions that are not variables of the equations: u̇ in S, forbidden velocities in T."""
        if name.startswith("d/dt ") and name[5:] in velocity_names:
            return self.velocity(name[5:])[1]
        if name not in self._others:
            number = re.fullmatch(r"forbidden (\d+)", name)
            form = rf"\bar{{u}}_{{{int(number[1]) + 1}}}" if number else rf"\mathrm{{{name}}}"
            words = "velocity that a constraint forbids" if number else name
            self._others[name] = self.book.other(re.sub(r"\W+", "_", name), form, words)
        return self._others[name]

    @cached_property
    def graph(self) -> Graph:
        return Graph(self)


def _words(name: str) -> str:
    """What a parameter stands for: its name in words; a letter says nothing of itself."""
    if name == GRAVITY:
        return "acceleration of free fall"
    return "" if is_letter(name) else re.sub(r"[_.]+", " ", name)


def _velocities(
    setup: Setup, derived: Any, is_rate: Callable[[int], int | None]
) -> tuple[list[sp.Symbol], list[sp.Symbol]]:
    """Symbols of w and ẇ; ``is_rate`` tells which entry of q̇ a velocity is."""
    w: list[sp.Symbol] = []
    dw: list[sp.Symbol] = []
    for i, name in enumerate(derived.names):
        at = is_rate(i)
        pair = (setup.qd[at], setup.qdd[at]) if at is not None else setup.velocity(name)
        w.append(pair[0])
        dw.append(pair[1])
    return w, dw


def _position(equations: Any, rows: Sequence[int]) -> list[Any]:
    """φ of the rows in use; None for nonholonomic ones."""
    residual, holonomic = iter(equations.position_residual()), []
    for row in equations.rows:
        holonomic.append(next(residual) if row.holonomic else None)
    return [holonomic[k] for k in rows]


def build_symbolic(
    setup: Setup,
    tidy: Callable[[np.ndarray], np.ndarray] | None,
    short: Abbreviations | None = None,
) -> Mathematics:
    """The equations over SymPy.

    Args:
        tidy: what is done to functions before they are differentiated.
        short: letters for positions and inertias, which are expressions of parameters.
    """
    equations, _ = symbolic(setup.coordinates, SYMPY, setup.symbol)
    if short is not None:
        for array in _geometry(equations.tree, setup.coordinates.cut):
            array[...] = short.array(array)
        for array in (array for link in equations.tree.links for array in (link.inertia.h, link.inertia.A)):
            array[...] = short.put_off(array)
    mechanics = mechanics_of(equations, setup.plan, tidy)
    derived = _derived(setup, mechanics)
    rates = {symbol: k for k, symbol in enumerate(setup.qd)}
    w, dw = _velocities(setup, derived, lambda i: rates.get(derived.w[i]))
    G = [setup.constant(label) for label in derived.constant_names]
    swap: dict[Any, Any] = dict(zip(derived.w, w, strict=True)) | dict(zip(derived.constants, G, strict=True))

    def known(symbol: Any) -> bool:
        return symbol in swap or symbol in setup.book.latex

    def translate(value: Any) -> Any:
        value = readable(value)
        for symbol in value.free_symbols:
            if not known(symbol):
                swap[symbol] = setup.other(symbol.name, derived.names)
        return value.xreplace(swap)

    def translated(values: Any) -> np.ndarray:
        values = np.asarray(values, dtype=object)
        return each_entry(translate, values if short is None else short.settled(values))

    functions = {name: translated(value) for name, value in derived.functions.items()}
    Q = functions.get("Q")
    return Mathematics(
        w, dw,
        qdot=translated(derived.qdot), K=translated(derived.matrix), k=translated(derived.forcing),
        by_rates=None if derived.forcing_by_rates is None else translated(derived.forcing_by_rates),
        D=translated(_forces_of_constraints(mechanics, derived)),
        given=translated(derived.definition), G=G, constant_definitions=translated(derived.constant_definitions),
        a=translated(mechanics.a), b=translated(mechanics.b),
        position=[None if phi is None else translated(phi).item() for phi in _position(equations, setup.plan.rows)],
        Q=Q if Q is not None and w == setup.qd and len(derived.forcing) == len(Q) and not _projected(derived) else None,
        functions=functions,
    )  # fmt: skip


def _geometry(tree: Any, cut: Sequence[str]) -> list[np.ndarray]:
    """All arrays that say where joints are on bodies."""
    poses = [pose for link in tree.links for pose in (link.X_PJ, link.X_LB)]
    poses += [pose for name in cut for joint in [tree.mechanism.joint(name)] for pose in (joint.X_1P, joint.X_2S)]
    return [array for pose in poses for array in (pose.R, pose.p)]


def _derived(setup: Setup, mechanics: Any) -> Any:
    """What the formulation makes of the mechanics; only those with equations of their own are asked."""
    formulation: Any = setup.formulation
    return formulation.derive(mechanics)


def _projected(derived: Any) -> bool:
    return "W" in derived.functions


def _forces_of_constraints(mechanics: Any, derived: Any) -> np.ndarray:
    """D: what multipliers do to each equation."""
    if not len(derived.gamma):
        return mechanics.al.zeros(0, len(derived.w))
    return derived.jacobian if derived.metric is None else mechanics.a


class Graph:
    """The equations over CasADi: symbols and expressions, for kernels and for definitions."""

    def __init__(self, setup: Setup):
        al = CASADI
        equations, parameters = symbolic(setup.coordinates, al)
        mechanics = mechanics_of(equations, setup.plan)
        derived = _derived(setup, mechanics)
        self.setup, self.derived = setup, derived
        self.t, self.q, self.qd = (al.to_sx(part) for part in (equations.t, equations.q, equations.u))
        self.w, self.G = al.to_sx(derived.w), al.to_sx(derived.constants)
        self.p = al.to_sx(al.vector(parameters.values()))
        places = {self.qd[k].element_hash(): k for k in range(self.qd.numel())}
        self._rate_of = [places.get(self.w[i].element_hash()) for i in range(self.w.numel())]
        self._mechanics, self._equations = mechanics, equations

    @cached_property
    def blocks(self) -> dict[str, np.ndarray]:
        """What equations of motion are made of."""
        d = self.derived
        return {
            "qdot": d.qdot, "K": d.matrix, "k": d.forcing, "A": d.jacobian, "gamma": d.gamma,
            "D": _forces_of_constraints(self._mechanics, d),
        }  # fmt: skip

    @property
    def read(self) -> dict[str, np.ndarray]:
        """The blocks that are read: constraints are shown as they are, not differentiated."""
        return {name: block for name, block in self.blocks.items() if name not in ("A", "gamma")}

    @cached_property
    def length(self) -> int:
        """Instructions of the equations that are read."""
        inputs = [self.t, self.q, *self._rates(), self.G, self.p]
        shorter = self.derived.forcing_by_rates
        blocks = self.read if shorter is None else {**self.read, "k": shorter}
        outputs = ca.vertcat(*(CASADI.to_sx(block) for block in blocks.values()))
        return int(ca.Function("length", inputs, [outputs]).n_instructions())

    def _rates(self) -> list[ca.SX]:
        """Symbols of w, and those of q̇ that are not among them."""
        others = [self.qd[k] for k in range(self.qd.numel()) if k not in self._rate_of]
        return [self.w, ca.vertcat(*others) if others else ca.SX(0, 1)]

    def mathematics(self) -> Mathematics:
        """As definitions z₁, z₂, … and short expressions of them."""
        setup, d, m = self.setup, self.derived, self._mechanics
        w, dw = _velocities(setup, d, lambda i: self._rate_of[i])
        G = [setup.constant(label) for label in d.constant_names]
        position = _position(self._equations, setup.plan.rows)
        held = [value for value in position if value is not None]
        scalars = {name: np.asarray([value]) for name, value in d.functions.items() if np.ndim(value) == 0}
        parts: dict[str, np.ndarray] = {
            **self.read, "given": d.definition, "constant_definitions": d.constant_definitions,
            "a": m.a, "b": m.b, "position": np.array(held, dtype=object),
            **{f"function {name}": value for name, value in scalars.items()},
        }  # fmt: skip
        outputs = ca.vertcat(*(CASADI.to_sx(part) for part in parts.values()))
        own, others = self._rates()
        inputs = ca.vertcat(self.t, self.q, own, others, self.G, self.p)
        rest = [setup.qd[k] for k in range(len(setup.qd)) if k not in self._rate_of]
        symbols = [setup.t, *setup.q, *w, *rest, *G, *setup.parameters.values()]
        known = {inputs[k].element_hash() for k in range(inputs.numel())}
        strangers = [s for s in ca.symvar(outputs) if s.element_hash() not in known]
        symbols += [setup.other(s.name(), d.names) for s in strangers]
        found = define(trace("equations", {"x": ca.vertcat(inputs, *strangers)}, {"y": outputs}), symbols)
        results = iter(found.results)
        read: dict[str, Any] = {}
        for name, part in parts.items():
            shape = np.shape(part)
            array = np.empty(int(np.prod(shape)), dtype=object)
            for k in range(len(array)):
                array[k] = next(results)
            read[name] = array.reshape(shape)
        values = iter(read.pop("position"))
        functions = {name: read.pop(f"function {name}") for name in scalars}
        return Mathematics(
            w, dw, G=G, position=[None if value is None else next(values) for value in position],
            functions={name: value.reshape(()) for name, value in functions.items()}, definitions=found, **read,
        )  # fmt: skip
