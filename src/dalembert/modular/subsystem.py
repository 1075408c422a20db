"""``da.Subsystem``: a system described by variables, invariants, forces and parts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.algebra import NUMPY
from dalembert.errors import ExpressionError, ModelError, Problem
from dalembert.expressions import TIME, evaluate, parse
from dalembert.modular.complement import STRATEGIES, Strategy
from dalembert.modular.description import Description, Invariant, Part, interned
from dalembert.modular.inertia_forces import appell_forces, energy_forces, nielsen_forces
from dalembert.modular.labels import split_rate, with_rate
from dalembert.modular.quasi import solve_kinematics
from dalembert.modular.variables import Family, Group, Quantity, check_name, local

__all__ = ["PartView", "Subsystem"]


class Subsystem:
    """A system of any variables, composed of others.

        S = da.Subsystem("S")
        S.include(da.leaves.rigid_body("B"))
        phi, theta = S.coordinates("phi theta")
        S.invariants(S.B.p.x - a*sin(theta)*cos(phi), …)
        S.equations().S

    Names of variables, parameters, inputs and parts are attributes. A part keeps its identity: what is changed in it
    later changes here, too.
    """

    def __init__(self, name: str):
        self._name = check_name("Subsystem", name)
        self._orders: dict[str, int] = {}
        self._values: dict[str, float | None] = {}
        self._inputs: list[str] = []
        self._relations: list[tuple[str, sp.Expr]] = []
        self._explicit: list[tuple[sp.Symbol, sp.Expr]] = []
        self._invariants: dict[str, sp.Expr] = {}
        self._forces: dict[str, sp.Expr] = {}
        self._independent: list[str] = []
        self._identities: dict[sp.Symbol, sp.Expr] = {}
        self._strategy: Strategy | None = None
        self._parts: dict[str, _Included] = {}
        self._relaxed: dict[tuple[str, ...], dict[str, str]] = {}
        self._guess: dict[str, float] = {}
        self._described: tuple[Any, Description] | None = None
        self._version = 0
        self._sequence: str | None = None  # of the angles of a rigid body

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        parts = f", {len(self._parts)} parts" if self._parts else ""
        return f"<Subsystem {self.name!r}: {len(self._orders)} variables, {len(self._invariants)} invariants{parts}>"

    # Declaring

    def _declare(self, name: str) -> str:
        check_name(self.name, name)
        taken = {*self._orders, *self._values, *self._inputs, *self._parts}
        clash = [
            other for other in taken if other == name or other.startswith(f"{name}.") or name.startswith(f"{other}.")
        ]
        if clash or hasattr(type(self), name.split(".")[0]):
            raise ModelError(Problem(f"subsystem {self.name!r}: the name {name!r} is taken", fix="choose another name"))
        self._version += 1
        return name

    def parameters(self, **values: float | None) -> Any:
        """Declare parameters with their values (None: given later); returns their symbols."""
        symbols = []
        for name, value in values.items():
            self._declare(name)
            self._values[name] = None if value is None else self._number(name, value)
            symbols.append(Quantity(self, name, base=-1))
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    def set_parameter(self, name: str, value: float) -> None:
        """Give a parameter another value; nothing is derived again."""
        if name not in self._values:
            raise ModelError(
                Problem(f"subsystem {self.name!r} has no parameter {name!r}; it has {', '.join(self._values)}")
            )
        self._values[name] = self._number(name, value)

    def _number(self, name: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ModelError(
                Problem(f"subsystem {self.name!r}: {name!r} must be a finite number, got {value!r}", fix=f"{name}=1.0")
            )
        return number

    def variable(self, names: str, order: int = 0) -> Any:
        """Declare variables of an order; returns their symbols (one symbol for one name).

        ``"p.x p.y"`` makes a group: ``S.p`` can be unpacked, ``S.p.x`` is one of it.
        """
        if isinstance(order, bool) or not isinstance(order, int) or order < 0:
            raise ModelError(Problem(f"subsystem {self.name!r}: the order must be a whole number ≥ 0, got {order!r}"))
        symbols = []
        for name in names.replace(",", " ").split():
            self._declare(name)
            self._orders[name] = order
            symbols.append(Quantity(self, name, base=order))
        if not symbols:
            raise ModelError(Problem(f"subsystem {self.name!r}: no names given", fix='coordinates("x y z")'))
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    def coordinates(self, names: str) -> Any:
        """Declare coordinates (order 0); ``x.d`` and ``x.dd`` are their rates."""
        return self.variable(names, 0)

    def quasi_velocity(self, names: str) -> Any:
        """Declare variables of order 1 that are not rates of coordinates."""
        return self.variable(names, 1)

    def input(self, names: str) -> Any:
        """Declare inputs: known functions of time, or unknown forces."""
        symbols = []
        for name in names.replace(",", " ").split():
            self._declare(name)
            self._inputs.append(name)
            symbols.append(Quantity(self, name))
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    # Relations

    def kinematics(self, *relations: Any) -> None:
        """Relations of rates and quasi-velocities: ``{x.d: expression}``, equations, or expressions that are zero."""
        for relation in relations:
            if isinstance(relation, Mapping):
                for rate, value in relation.items():
                    self._define(rate, value)
            else:
                self._relations.append((f"k{len(self._relations) + 1}", self._formula(relation)))
        self._version += 1

    def _define(self, rate: Any, value: Any) -> None:
        symbol = self._formula(rate)
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

    def kinetic_energy(
        self, energy: Any, definitions: Mapping[Any, Any] | None = None, nielsen: int | None = None
    ) -> None:
        """Inertia forces from the kinetic energy, a formula of coordinates, rates and quasi-velocities of this subsystem.

        Args:
            definitions: quasi-velocities as formulas of coordinates and rates, where kinematics do not tell.
            nielsen: None for Lagrange's form (A.2); 0 for (A.7), ρ = 1, 2, … for Nielsen's form and those above it (A.11).
        """
        given = {self._formula(key): self._formula(value) for key, value in (definitions or {}).items()}
        d, T = self.description(), self._formula(energy)
        if nielsen is None:
            forces = energy_forces(self.name, d, T, given)
        else:
            forces = nielsen_forces(self.name, d, T, given, nielsen)
        self.effective_forces({local(name): value for name, value in forces.items()})

    def gibbs_appell(self, function: Any) -> None:
        """Inertia forces from the Gibbs-Appell function, a formula of accelerations of this subsystem (A.1)."""
        forces = appell_forces(self.description(), self._formula(function))
        self.effective_forces({local(name): value for name, value in forces.items()})

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
        """How symbols read in symbolic results, e.g. ``{bar.p1.x: a*cos(theta)}``; must follow from the invariants."""
        for symbol, value in identities.items():
            self._identities[self._formula(symbol)] = self._formula(value)  # type: ignore[index]
        self._version += 1

    def guess(self, values: Mapping[Any, float]) -> None:
        """A position near which to look for consistent states, e.g. the branch of a closed loop."""
        for symbol, value in values.items():
            plain = self._formula(symbol)
            if not isinstance(plain, sp.Symbol):
                raise ModelError(Problem(f"subsystem {self.name!r}: a guess is given for a variable, got {symbol}"))
            self._guess[plain.name] = self._number(plain.name, value)

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
        if not isinstance(part, Subsystem):
            raise ModelError(Problem(f"subsystem {self.name!r}: expected a Subsystem, got {type(part).__name__}"))
        if part is self or part._contains(self):
            raise ModelError(Problem(f"subsystem {self.name!r} cannot be a part of itself"))
        name = self._declare(name or part.name)
        if "." in name:
            raise ModelError(Problem(f"subsystem {self.name!r}: the name of a part has no dot, got {name!r}"))
        included = self._parts[name] = _Included(part)
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

    # Reading formulas

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _member(self, self, "", name)

    def _variable(self, given: Any) -> str:
        """The name of a variable here or in a part, without derivatives."""
        symbol = self._formula(given)
        if not isinstance(symbol, sp.Symbol) or self._kind(symbol.name) != "variable":
            raise ModelError(Problem(f"subsystem {self.name!r}: expected a variable, got {given}"))
        return split_rate(symbol.name)[0]

    def _kind(self, name: str) -> str | None:
        """What a name is, here or in a part: variable, parameter or input; None if it is unknown."""
        head = split_rate(name)[0]
        if head in self._orders:
            return "variable"
        if head in self._inputs or any(head in rows.values() for path, rows in self._relaxed.items() if not path):
            return "input"
        if name in self._values:
            return "parameter"
        first, _, rest = name.partition(".")
        return self._parts[first].part._kind(rest) if rest and first in self._parts else None

    def _formula(self, given: Any) -> sp.Expr:
        """A formula in plain symbols of this subsystem.

        Raises:
            ModelError: for symbols of subsystems that are no parts, or names that do not exist.
        """
        if isinstance(given, str):
            try:
                given = parse(given)
            except ExpressionError as error:
                raise ModelError(Problem(f"subsystem {self.name!r}: {error}")) from None
        if isinstance(given, sp.Equality):
            given = given.lhs - given.rhs  # type: ignore[operator]
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            given = (
                sp.Float(given)
                if isinstance(given, float) and not float(given).is_integer()
                else sp.Integer(int(given))
            )
        if not isinstance(given, sp.Expr):
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: expected a formula, got {type(given).__name__}", fix="e.g. x**2 - r**2"
                )
            )
        if given.atoms(AppliedUndef):
            raise ModelError(Problem(f"subsystem {self.name!r}: {given} names joints or bodies; name variables"))
        swap = {symbol: self._plain(symbol) for symbol in given.free_symbols}
        return given.xreplace(swap)  # type: ignore[return-value]

    def _plain(self, symbol: Any) -> sp.Symbol:
        if isinstance(symbol, Quantity):
            name = with_rate(symbol.path, symbol.level)
            if symbol.owner is not self:
                paths = self._paths(symbol.owner)
                if len(paths) != 1:
                    said = f"is a part more than once ({', '.join(paths)})" if paths else "is no part of it"
                    raise ModelError(
                        Problem(
                            f"subsystem {self.name!r}: {name!r} belongs to {symbol.owner.name!r}, which {said}",
                            fix=f"write {self.name}.{paths[0] if paths else symbol.owner.name}.{name}"
                            + ("" if paths else f" after {self.name}.include({symbol.owner.name})"),
                        )
                    )
                name = f"{paths[0]}.{name}"
            return local(name)
        plain = local(symbol.name)
        if plain != TIME and self._kind(plain.name) is None:
            known = [*self._orders, *self._values, *self._inputs, *(f"{part}.…" for part in self._parts)]
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: unknown name {symbol.name!r}; it has {', '.join(known) or 'none yet'}",
                    fix="declare it, or correct the name",
                )
            )
        return plain

    def _paths(self, owner: Subsystem) -> list[str]:
        """Under which names another subsystem is inside this one."""
        found = []
        for name, included in self._parts.items():
            if included.part is owner:
                found.append(name)
            found += [f"{name}.{inner}" for inner in included.part._paths(owner)]
        return found

    # Results

    def parameter_values(self) -> dict[str, float | None]:
        """Values of all parameters, those of parts by their paths, without those that the owner gives."""
        values = dict(self._values)
        for name, included in self._parts.items():
            inner = included.part.parameter_values() | included.values
            values |= {f"{name}.{key}": value for key, value in inner.items() if local(key) not in included.given}
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
            self._described = (stamp, self._describe(self._relaxed))
        return self._described[1]

    def _describe(self, relaxed: dict[tuple[str, ...], dict[str, str]]) -> Description:
        parts = []
        for name, included in self._parts.items():
            inner = {path[1:]: rows for path, rows in relaxed.items() if path and path[0] == name}
            part = included.part
            both = {path: {**part._relaxed.get(path, {}), **inner.get(path, {})} for path in {*part._relaxed, *inner}}
            described = part._describe(both) if inner else part.description()
            parts.append(Part(name, described, tuple(included.given.items())))
        rows = relaxed.get((), {})
        fictitious = {f"w_{force}": (name, force) for name, force in rows.items()}
        values = {name: v - local(next((w for w, (n, _) in fictitious.items() if n == name))) if name in rows else v
                  for name, v in self._invariants.items()}  # fmt: skip
        kept = [Invariant(name, value) for name, value in values.items()]
        definitions, left = self._solved()
        kept += [Invariant(name, value, "kinematics") for name, value in left]
        bare = interned(
            Description(
                families=tuple(Family(name, order) for name, order in self._orders.items()),
                defined=tuple(definitions),
                parameters=tuple(self._values),
                inputs=tuple(self._inputs),
                parts=tuple(parts),
            )
        )
        orders = {w: max(bare.order_of(bare.lively(self._invariants[name])), 0) for w, (name, _) in fictitious.items()}
        return interned(
            Description(
                families=bare.families + tuple(Family(w, order) for w, order in orders.items()),
                defined=bare.defined,
                invariants=tuple(kept),
                forces=(*self._forces.items(), *((w, local(force)) for w, (_, force) in fictitious.items())),
                independent=tuple(self._independent) + (tuple(fictitious) if self._independent else ()),
                parameters=bare.parameters,
                inputs=bare.inputs + tuple(force for _, force in fictitious.values()),
                parts=bare.parts,
                identities=tuple(self._identities.items()),
                strategy=self._strategy,
                relaxed=tuple((w, force) for w, (_, force) in fictitious.items()),
            )
        )

    def _solved(self) -> tuple[list[Any], list[tuple[str, sp.Expr]]]:
        """Kinematics as definitions of rates, and relations left over."""
        given = dict(self._explicit)
        for _ in range(len(given) + 1):  # rates may be given by one another
            if not any(value.free_symbols & given.keys() for value in given.values()):
                break
            given = {rate: value.xreplace(given) for rate, value in given.items()}
        else:
            raise ModelError(
                Problem(f"subsystem {self.name!r}: the kinematics define rates by one another in a circle")
            )
        definitions: list[Any] = [(*split_rate(rate.name), value) for rate, value in given.items()]
        if not self._relations:
            return definitions, []
        relations = [(name, value.xreplace(given)) for name, value in self._relations]  # type: ignore[misc]
        more, left = solve_kinematics(self.name, relations, self._orders, _generic)  # type: ignore[arg-type]
        return definitions + more, left

    def equations(self, *, order: int | None = None, **options: Any) -> Any:
        """The equations of motion: matrices A, b, B, C, R, S and forces f, f̄ by label (see ``ModularEquations``).

        Args:
            order: σ ≥ the constraint order; the smallest that serves without.
        """
        from dalembert.modular.modular_equations import equations_of

        return equations_of(self, order, **options)


class _Included:
    """A part with what its owner gives it."""

    def __init__(self, part: Subsystem):
        self.part = part
        self.values: dict[str, float] = {}
        self.given: dict[sp.Symbol, sp.Expr] = {}


class PartView:
    """A part seen from a system: its names are attributes, and mean this part even where others are equal to it."""

    def __init__(self, root: Subsystem, path: str, part: Subsystem):
        self._root, self._path, self._part = root, path, part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _member(self._root, self._part, self._path, name)

    def __repr__(self) -> str:
        return f"<part {self._path!r} of {self._root.name!r}: {self._part!r}>"


def _member(root: Subsystem, part: Subsystem, path: str, name: str) -> Any:
    """A variable, parameter, input, group or part by name."""
    before = f"{path}." if path else ""
    if name in part._orders:
        return Quantity(root, before + name, base=part._orders[name])
    if name in part._values:
        return Quantity(root, before + name, base=-1)
    if name in part._inputs:
        return Quantity(root, before + name)
    if name in part._parts:
        return PartView(root, before + name, part._parts[name].part)
    members = {}
    for known in (*part._orders, *part._values, *part._inputs):
        if known.startswith(f"{name}."):
            base = part._orders.get(known, -1 if known in part._values else 0)
            members[known.removeprefix(f"{name}.")] = Quantity(root, before + known, base=base)
    if members:
        return Group(name, members)
    known = [*part._orders, *part._values, *part._inputs, *part._parts]
    raise AttributeError(f"subsystem {part.name!r} has no {name!r}; it has {', '.join(known) or 'no names yet'}")


def _generic(expression: sp.Expr) -> float:
    """The value of an expression where every symbol has a value that is nothing special."""

    def lookup(symbol: Any) -> float:
        return generic_value(symbol.name)

    return float(evaluate(NUMPY, expression, lookup))


def generic_value(name: str) -> float:
    """A number between 0.4 and 1.3 that follows from a name, the same in every process."""
    digest = hashlib.sha256(name.encode()).digest()
    return 0.4 + 0.9 * int.from_bytes(digest[:6], "big") / 2**48


def names_of(quantities: Iterable[Any]) -> list[str]:
    """Names of several quantities."""
    return [str(one) for one in quantities]
