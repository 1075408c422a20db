"""``da.Subsystem``: a system described by variables, invariants, forces and parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.arguments import Number, Order, public_class
from dalembert.errors import ModelError, Problem
from dalembert.expressions import evaluate, replaced
from dalembert.modular.complement import STRATEGIES, Strategy
from dalembert.modular.declarations import Declarations, Included, PartView
from dalembert.modular.description import Description, Invariant, Part, interned
from dalembert.modular.drawings import Drawing, drawing_of
from dalembert.modular.inertia_forces import appell_forces, energy_forces, nielsen_forces
from dalembert.modular.invariants import top_places
from dalembert.modular.labels import split_rate
from dalembert.modular.quasi import solve_kinematics
from dalembert.modular.system_events import SIGNS, SystemEvent
from dalembert.modular.variables import Family, check_name, generic_value, local
from dalembert.values import MAPPING, SEQUENCE

__all__ = ["PartView", "Subsystem"]

WORK = 30_000  # for simplifying the forces that follow from one function, in units of ``Budget``


@public_class
class Subsystem(Declarations):
    """A system of variables of any kind, such as motions and currents, composed of parts.

    Names of variables, parameters, inputs and parts are attributes. A part keeps its identity: what is changed in it
    later changes here, too.

    Example:
        S = da.Subsystem("pendulum")
        m, g, r = S.parameters(m=1.0, g=9.81, r=0.5)
        x, y = S.coordinates("x y")
        S.effective_forces({x: -m * x.dd, y: -m * g - m * y.dd})
        S.invariant(x**2 + y**2 - r**2)
        run = da.simulate(S, 1.0, initial={"x": 0.5, "y": 0.0})
    """

    def __init__(self, name: str):
        super().__init__(name)
        self._relations: list[tuple[str, sp.Expr]] = []
        self._explicit: list[tuple[sp.Symbol, sp.Expr]] = []
        self._invariants: dict[str, sp.Expr] = {}
        self._forces: dict[str, sp.Expr] = {}
        self._independent: list[str] = []
        self._identities: dict[sp.Symbol, sp.Expr] = {}
        self._strategy: Strategy | None = None
        self._guess: dict[str, float] = {}
        self._described: tuple[Any, Description] | None = None
        self._sequence: str | None = None  # of the angles of a rigid body
        self._events: dict[str, SystemEvent] = {}
        self._drawings: dict[str, Drawing] = {}
        self.up: tuple[float, float, float] | None = None  # against gravity, of leaves that know it

    def __repr__(self) -> str:
        parts = f", {len(self._parts)} parts" if self._parts else ""
        return f"<Subsystem {self.name!r}: {len(self._orders)} variables, {len(self._invariants)} invariants{parts}>"

    # Relations

    def kinematics(self, *relations: Any) -> None:
        """Relations of rates and quasi-velocities: ``{x.d: expression}``, equations, or expressions that are zero."""
        for relation in relations:
            if isinstance(relation, MAPPING):
                for rate, value in relation.items():
                    self._define(rate, value)
            else:
                self._relations.append((f"k{len(self._relations) + 1}", self._formula(relation)))
        self._version += 1

    def _define(self, rate: Any, value: Any) -> None:
        symbol: Any = self._formula(rate)
        head, level = split_rate(getattr(symbol, "name", ""))
        if not level or head not in self._orders:
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: kinematics are given for rates of its own variables, got {rate}",
                    fix="{x.d: expression}",
                )
            )
        if any(known == symbol for known, _ in self._explicit):
            raise ModelError(Problem(f"subsystem {self.name!r}: the kinematics of {head!r} are given twice"))
        self._explicit.append((symbol, self._formula(value)))

    def invariant(self, expression: Any, name: str | None = None) -> None:
        """An expression (or an equation) that holds zero along every motion; of any order."""
        if name is None:
            k = len(self._invariants) + 1
            while f"c{k}" in self._invariants:
                k += 1
            name = f"c{k}"
        check_name(self.name, name)
        if name in self._invariants:
            raise ModelError(Problem(f"subsystem {self.name!r}: two invariants are called {name!r}"))
        self._invariants[name] = self._formula(expression)
        self._version += 1

    def invariants(self, *expressions: Any) -> None:
        """Several invariants."""
        for expression in expressions:
            self.invariant(expression)

    def effective_forces(self, forces: Mapping[Any, Any]) -> None:
        """Forces, active and of inertia, by variable; the derivative by which a variable is named does not matter.

        Forces on one variable add up. The variable may be one of a part.
        """
        for variable, value in forces.items():
            name = self._variable(variable)
            self._forces[name] = self._forces.get(name, sp.S.Zero) + self._formula(value)
        self._version += 1

    def forces_along(self, forces: Mapping[Any, Any]) -> None:
        """Effective forces f′ on motions of any kind: f = Vᵀ f′ with V = ∂v/∂q⟨ρ⟩ (4.6).

        Args:
            forces: by motion, a formula: the coordinate of a point, an angle, a velocity, of any order.
        """
        d = self.description()
        total: dict[sp.Symbol, sp.Expr] = {}
        for motion, force in forces.items():
            v, value = d.lively(self._formula(motion)), self._formula(force)
            places = top_places(d, v)
            while any(place.name in place.owner.definitions for _, place in places):
                v = d.rate(v)
                places = top_places(d, v)
            if not places:
                raise ModelError(
                    Problem(f"subsystem {self.name!r}: {motion} does not move", fix="a formula of variables")
                )
            for symbol, place in places:
                key = local(".".join((*place.path, place.name)))
                total[key] = total.get(key, sp.S.Zero) + sp.diff(v, symbol) * value
        self.effective_forces(total)

    def rate(self, expression: Any, times: Order = 1) -> sp.Expr:
        """The time derivative of a formula along the kinematics."""
        d = self.description()
        value = d.lively(self._formula(expression))
        for _ in range(times):
            value = d.rate(value)
        return value

    def kinetic_energy(
        self, energy: Any, definitions: Mapping[Any, Any] | None = None, nielsen: Order | None = None
    ) -> None:
        """Inertia forces from the kinetic energy, a formula of coordinates, rates and quasi-velocities.

        Args:
            definitions: quasi-velocities as formulas of coordinates and rates, where kinematics do not tell.
            nielsen: None for Lagrange's form (A.2), 0 for (A.7), ρ = 1, 2, … for (A.11): Nielsen's form and on.
        """
        given = {self._formula(key): self._formula(value) for key, value in (definitions or {}).items()}
        d, T = self.description(), self._formula(energy)
        if nielsen is None:
            forces = energy_forces(self.name, d, T, given)
        else:
            forces = nielsen_forces(self.name, d, T, given, nielsen)
        self.effective_forces(self._simplified(forces))

    def gibbs_appell(self, function: Any) -> None:
        """Inertia forces from the Gibbs-Appell function, a formula of accelerations of this subsystem (A.1)."""
        self.effective_forces(self._simplified(appell_forces(self.description(), self._formula(function))))

    def _simplified(self, forces: Mapping[str, sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        """Forces in short forms, as far as they are found in a moment."""
        from dalembert.derivation.simplify import Budget, simplify_array

        values = np.empty(len(forces), dtype=object)
        values[:] = list(forces.values())
        short = simplify_array(values, lambda symbol: symbol.name not in self._values, Budget(WORK))
        return {local(name): value for name, value in zip(forces, short, strict=True)}

    def independent(self, *variables: Any) -> None:
        """Choose the variables by which variations are written (#); without it they are chosen."""
        self._independent = [self._variable(variable) for variable in variables]
        if len(set(self._independent)) < len(self._independent):
            raise ModelError(Problem(f"subsystem {self.name!r}: an independent variable is named twice"))
        self._version += 1

    def complement(self, strategy: Strategy | str | None, **options: Any) -> None:
        """Choose how the orthogonal complement of this subsystem is found.

        Args:
            strategy: ``pivoted``, ``svd``, ``symbolic``, ``least-squares``, or an object; None: the default.
            options: e.g. ``weights={"axis": 0.25}, independent=[x]`` of least squares.
        """
        if isinstance(strategy, str):
            if strategy not in STRATEGIES:
                known = ", ".join(STRATEGIES)
                raise ModelError(Problem(f"subsystem {self.name!r}: unknown complement {strategy!r}; expected {known}"))
            if "independent" in options:
                options["independent"] = [self._variable(one) for one in options["independent"]]
            strategy = STRATEGIES[strategy](**options)
        self._strategy = strategy
        self._version += 1

    def identities(self, identities: Mapping[Any, Any]) -> None:
        """How symbols read in symbolic results, e.g. ``{bar.p1.x: a*cos(theta)}``; they must hold along the motion."""
        for symbol, value in identities.items():
            named: Any = self._formula(symbol)
            self._identities[named] = self._formula(value)
        self._version += 1

    def guess(self, values: Mapping[Any, Number]) -> None:
        """A position near which to look for consistent states, e.g. the branch of a closed loop."""
        for symbol, value in values.items():
            plain = self._formula(symbol)
            if not isinstance(plain, sp.Symbol):
                raise ModelError(Problem(f"subsystem {self.name!r}: a guess is given for a variable, got {symbol}"))
            self._guess[plain.name] = self._number(plain.name, value)

    def event(
        self, name: str, when: Any, *, direction: str = "any", stop: bool = False, set: Mapping[Any, Any] | None = None
    ) -> None:
        """Do something when a formula passes through zero: ``S.event("floor", y, direction="falling", stop=True)``.

        Args:
            when: a formula of variables below the highest order, parameters, inputs and t.
            direction: ``rising``, ``falling`` or ``any``: which way the formula passes.
            stop: end the run.
            set: new values of variables and parameters. Variables of the same order and above that are not named change
                as little as the invariants allow.
        """
        check_name(self.name, name)
        if name in self._events:
            raise ModelError(Problem(f"subsystem {self.name!r}: two events are called {name!r}"))
        if direction not in SIGNS:
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}, event {name!r}: unknown direction {direction!r}",
                    fix=f"one of {', '.join(SIGNS)}",
                )
            )
        if not stop and not set:
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: event {name!r} does nothing", fix="stop=True, or set={variable: value}"
                )
            )
        given: dict[str, sp.Expr] = {}
        for key, value in (set or {}).items():
            symbol = self._formula(key)
            if not isinstance(symbol, sp.Symbol):
                raise ModelError(
                    Problem(f"subsystem {self.name!r}, event {name!r}: {key} is neither a variable nor a parameter")
                )
            given[symbol.name] = self._formula(value)
        self._events[name] = SystemEvent(name, self._formula(when), direction, stop, tuple(given.items()))

    def events(self) -> dict[str, SystemEvent]:
        """All events, those of parts by their paths, in symbols of this subsystem."""
        d, found = self.description(), dict(self._events)
        for name, included in self._parts.items():
            part = d.part[name]
            for key, event in included.part.events().items():
                values = tuple((f"{name}.{what}", d.seen(part, value)) for what, value in event.set)
                found[f"{name}.{key}"] = SystemEvent(
                    f"{name}.{key}", d.seen(part, event.when), event.direction, event.stop, values
                )
        return found

    def draw(self, name: str, at: Any = None, *, rotation: Any = None, shape: Any = None, line: Any = None) -> None:
        """Show a body where formulas say, or a line through points, in animations of runs.

            S.draw("bob", at=(x, y, z), shape={"kind": "sphere", "radius": 0.1})
            S.draw("rod", line=[(0, 0, 0), (x, y, z)])

        Args:
            at: three formulas (m); two in the plane.
            rotation: body axes to world axes, 3×3 formulas, e.g. ``da.leaves.rotation(body)``.
            shape: fields of a shape as bodies of models have them, or several, in body axes; a small ball without.
            line: points instead of a body.
        """
        check_name(self.name, name)
        if (at is None) == (line is None):
            raise ModelError(
                Problem(f"subsystem {self.name!r}, drawing {name!r}: either at or line", fix="at=(x, y, z)")
            )
        shapes = () if shape is None else shape if isinstance(shape, SEQUENCE) else (shape,)
        given = [at] if line is None else line
        self.add_drawing(drawing_of(self.name, name, self._formula, given, rotation, shapes))

    def add_drawing(self, drawing: Drawing) -> None:
        """Draw this, in place of what has the same name."""
        self._drawings[drawing.name] = drawing

    def drawings(self) -> list[Drawing]:
        """All that is drawn, of parts by their paths, in symbols of this subsystem."""
        d = self.description()
        found = [one if one.up is not None else replace(one, up=self.up) for one in self._drawings.values()]
        for name, included in self._parts.items():
            part = d.part[name]
            found += [one.seen(f"{name}.{one.name}", partial(d.seen, part)) for one in included.part.drawings()]
        return found

    # Parts

    def include(
        self,
        part: Subsystem,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> PartView:
        """Make another subsystem a part of this one.

        Args:
            name: under which it is known here; its own without.
            parameters: of the part: numbers, or expressions of parameters here.
            inputs: of the part: expressions of what is known here.
        """
        if part is self or part._contains(self):
            raise ModelError(Problem(f"subsystem {self.name!r} cannot be a part of itself"))
        name = self._declare(name or part.name)
        if "." in name:
            raise ModelError(Problem(f"subsystem {self.name!r}: the name of a part has no dot, got {name!r}"))
        included = self._parts[name] = Included(part)
        for kind, given in (("parameter", parameters), ("input", inputs)):
            for key, value in (given or {}).items():
                if part._kind(str(key)) != kind:
                    del self._parts[name]
                    raise ModelError(
                        Problem(f"subsystem {part.name!r} has no {kind} {str(key)!r}", fix="check its name")
                    )
                plain = self._formula(value)
                if kind == "parameter" and plain.is_number:
                    included.values[str(key)] = float(plain)
                else:
                    included.given[local(str(key))] = plain
        return PartView(self, name, part)

    def _contains(self, other: Subsystem) -> bool:
        return any(one.part is other or one.part._contains(other) for one in self._parts.values())

    @property
    def parts(self) -> dict[str, PartView]:
        """Parts by name."""
        return {name: PartView(self, name, included.part) for name, included in self._parts.items()}

    def relax(self, part: str | None = None, **invariants: str) -> None:
        """Let invariants be violated by fictitious variables whose forces are unknown inputs: constraint forces.

        The invariant h = 0 becomes h − w = 0 with a new variable w, on which the input acts; the motion of interest has
        w = 0. The power of the input is its product with the rate of w.

        Args:
            part: path of the part that holds the invariants; this subsystem without.
            invariants: name of the invariant = name of the force.
        """
        path = tuple(part.split(".")) if part else ()
        owner: Subsystem = self
        for step in path:
            if step not in owner._parts:
                raise ModelError(
                    Problem(f"subsystem {self.name!r} has no part {part!r}; it has {', '.join(owner._parts)}")
                )
            owner = owner._parts[step].part
        for invariant, force in invariants.items():
            if invariant not in owner._invariants:
                known = ", ".join(owner._invariants)
                raise ModelError(Problem(f"subsystem {owner.name!r} has no invariant {invariant!r}; it has {known}"))
            check_name(self.name, force)
            self._relaxed.setdefault(path, {})[invariant] = force
        self._version += 1

    # Results

    def parameter_values(self) -> dict[str, float | None]:
        """Values of all parameters, those of parts by their paths, without those that the owner gives."""
        values = dict(self._values)
        for name, included in self._parts.items():
            inner, given = included.part.parameter_values() | included.values, {s.name for s in included.given}
            values |= {f"{name}.{key}": value for key, value in inner.items() if key not in given}
        return values

    def guesses(self) -> dict[str, float]:
        """All guesses, those of parts by their paths."""
        found: dict[str, float] = {}
        for name, included in self._parts.items():
            found |= {f"{name}.{key}": value for key, value in included.part.guesses().items()}
        return found | self._guess

    def _stamp(self) -> Any:
        """What changes when this subsystem or a part does."""
        return (self._version, *((name, id(i.part), i.part._stamp()) for name, i in self._parts.items()))

    def description(self) -> Description:
        """The subsystem as frozen data; the same object for the same content."""
        stamp = self._stamp()
        if self._described is None or self._described[0] != stamp:
            self._described = (stamp, self._describe({}))
        return self._described[1]

    def _describe(self, relaxed: Mapping[tuple[str, ...], Mapping[str, str]]) -> Description:
        """The description, with invariants here and in parts relaxed by the owners of this subsystem."""
        parts: list[Part] = []
        for name, included in self._parts.items():
            inner: dict[tuple[str, ...], dict[str, str]] = {}
            for path, rows in (*relaxed.items(), *self._relaxed.items()):
                if path and path[0] == name:
                    inner.setdefault(path[1:], {}).update(rows)
            part = included.part
            described = part._describe(inner) if inner else part.description()
            parts.append(Part(name, described, tuple(included.given.items())))
        definitions, left = self._solved()
        bare = Description(
            families=tuple(Family(name, order) for name, order in self._orders.items()),
            defined=tuple(definitions),
            parameters=tuple(self._values),
            inputs=tuple(self._inputs),
            parts=tuple(parts),
        )
        # A relaxed invariant h = 0 reads h − w = 0, with w of the order of h.
        rows = {**relaxed.get((), {}), **self._relaxed.get((), {})}
        fictitious = {name: f"w_{force}" for name, force in rows.items()}
        orders = {w: max(bare.order_of(bare.lively(self._invariants[name])), 0) for name, w in fictitious.items()}
        values = {name: h - local(fictitious[name]) if name in rows else h for name, h in self._invariants.items()}
        acting = [(".".join((*path, f"w_{force}")), force) for path, r in self._relaxed.items() for force in r.values()]
        return interned(
            Description(
                families=bare.families + tuple(Family(w, order) for w, order in orders.items()),
                defined=bare.defined,
                invariants=(
                    *(Invariant(name, value) for name, value in values.items()),
                    *(Invariant(name, value, "kinematics") for name, value in left),
                ),
                forces=(*self._forces.items(), *((w, local(force)) for w, force in acting)),
                independent=tuple(self._independent) + (tuple(orders) if self._independent else ()),
                parameters=bare.parameters,
                inputs=bare.inputs + tuple(force for _, force in acting),
                parts=bare.parts,
                identities=tuple(self._identities.items()),
                strategy=self._strategy,
                relaxed=tuple(acting),
            )
        )

    def _solved(self) -> tuple[list[Any], list[tuple[str, sp.Expr]]]:
        """Kinematics as definitions of rates, and relations left over."""
        given: dict[sp.Symbol, sp.Expr] = dict(self._explicit)
        for _ in range(len(given) + 1):  # rates may be given by one another
            if not any(value.free_symbols & given.keys() for value in given.values()):
                break
            given = {rate: replaced(value, given) for rate, value in given.items()}
        else:
            raise ModelError(
                Problem(f"subsystem {self.name!r}: the kinematics define rates by one another in a circle")
            )
        definitions: list[Any] = [(*split_rate(rate.name), value) for rate, value in given.items()]
        if not self._relations:
            return definitions, []
        relations = [(name, replaced(value, given)) for name, value in self._relations]
        more, left = solve_kinematics(self.name, relations, self._orders, _generic)
        return definitions + more, left

    def equations(self, *, order: Order | None = None, **options: Any) -> Any:
        """The equations of motion: matrices A, b, B, C, R, S and forces f, f̄ by label (see ``ModularEquations``).

        Args:
            order: σ ≥ the constraint order; the smallest that serves without.
        """
        from dalembert.modular.modular_equations import equations_of

        return equations_of(self, order, **options)

    def equations_of_motion(self) -> Any:
        """The equations of a subsystem, as ``da.derive`` gives them; a notebook shows them typeset."""
        return self.equations()


def _generic(expression: sp.Expr) -> float:
    """The value of an expression where every symbol has a value that is nothing special."""

    def lookup(symbol: Any) -> float:
        return generic_value(symbol.name)

    return float(evaluate(NUMPY, expression, lookup))
