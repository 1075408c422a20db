"""A model with its sub-models written out: one flat list of each kind, full names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.constraints import DryFriction, OneSided
from dalembert.elements import Placement
from dalembert.elements.base import formulas_in, replace_names
from dalembert.errors import ModelError, Problem
from dalembert.expressions import STATE, Reference, parameter, references, replaced, switches_in, tables_in
from dalembert.expressions.symbols import (
    BEND_QUANTITY,
    DEFLECTION_QUANTITY,
    FEEDBACK_QUANTITIES,
    LINE_QUANTITIES,
    TURN_QUANTITIES,
    as_reference,
    parameters_of,
    reference,
)
from dalembert.forces import JointForce
from dalembert.joints import JOINTS, Free, JointData
from dalembert.model.data import Body, ContactEvent, Event, FrictionEvent, Output, Point, Shape
from dalembert.model.fmu_data import FMUElement
from dalembert.model.model import MAX_ELEMENTS, SECTIONS, Model, check_nesting
from dalembert.model.signals_data import InputSignal, StateVariable, Table

__all__ = ["Flat", "Module", "Scope", "flatten", "floating"]

MOST_BRANCHES = 100  # that a run can choose; a model with more is evaluated as it is written


@dataclass(frozen=True)
class Scope:
    """The world in which an element was drawn: that of the model or of a sub-model.

    Attributes:
        prefix: of names, e.g. ``left.``.
        pose: of this world in that of ``parent`` (None for the outermost).
    """

    prefix: str
    parent: Scope | None
    pose: Placement | None


@dataclass(frozen=True)
class Module:
    """The model or one of its sub-models: what was drawn in it, by full names.

    Attributes:
        name: full name, empty for the model itself.
        parent: where the module that holds it is among all modules, −1 for the model itself.
    """

    name: str
    parent: int
    bodies: list[str] = field(default_factory=lambda: [])
    joints: list[str] = field(default_factory=lambda: [])
    constraints: list[str] = field(default_factory=lambda: [])
    forces: list[str] = field(default_factory=lambda: [])


@dataclass
class Flat:
    """All elements with full names and, for each, the scope it was drawn in.

    ``ground_shapes`` also tell the body that is the ground of their scope; ``nominal`` keeps the model in floats.
    In formulas states are references, tables their curves, and inputs parameters, or formulas of time if they are.
    ``switches`` names the parameter, 1 or 0, that multiplies the equations of each constraint that can be off.
    ``modules`` keeps the tree of sub-models, the model itself first and every module before those inside it.
    """

    name: str
    gravity: tuple[sp.Expr, ...]
    parameters: dict[str, float] = field(default_factory=lambda: {})
    bodies: dict[str, tuple[Body, Scope]] = field(default_factory=lambda: {})
    points: dict[str, tuple[Point, Scope]] = field(default_factory=lambda: {})
    joints: dict[str, tuple[JointData, Scope]] = field(default_factory=lambda: {})
    constraints: dict[str, tuple[Any, Scope]] = field(default_factory=lambda: {})
    forces: dict[str, tuple[Any, Scope]] = field(default_factory=lambda: {})
    outputs: dict[str, tuple[Output, Scope]] = field(default_factory=lambda: {})
    events: dict[str, tuple[Event, Scope]] = field(default_factory=lambda: {})
    states: dict[str, tuple[StateVariable, Scope]] = field(default_factory=lambda: {})
    inputs: dict[str, tuple[InputSignal, Scope]] = field(default_factory=lambda: {})
    fmus: dict[str, tuple[FMUElement, Scope]] = field(default_factory=lambda: {})
    tables: dict[str, tuple[Table, Scope]] = field(default_factory=lambda: {})
    ground_shapes: list[tuple[Shape, Scope, str]] = field(default_factory=lambda: [])
    initial_values: dict[str, tuple[sp.Expr, ...]] = field(default_factory=lambda: {})
    initial_rates: dict[str, tuple[sp.Expr, ...]] = field(default_factory=lambda: {})
    quasi_velocities: dict[str, sp.Expr] = field(default_factory=lambda: {})
    switches: dict[str, str] = field(default_factory=lambda: {})
    modules: list[Module] = field(default_factory=lambda: [])
    nominal: Any = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "nominal": None}

    @cached_property
    def branches(self) -> dict[str, sp.Expr]:
        """Functions whose signs choose branches in formulas of forces, states and constraints, by names for what
        chooses them."""
        found: dict[sp.Expr, str] = {}
        for name, (element, _) in [*self.forces.items(), *self.states.items(), *self.constraints.items()]:
            for *_, formula in formulas_in(element):
                for switch in switches_in(formula):
                    found.setdefault(switch, f"{name}.branch {len(found) + 1}")
        for what, elements in ((BEND_QUANTITY, self.constraints), ("switch", self.forces)):
            for name, (element, _) in elements.items():
                for i in range(element.n_switches):
                    found.setdefault(reference(what, name, i), f"{name}.branch {len(found) + 1}")
        return {name: switch for switch, name in found.items()} if len(found) <= MOST_BRANCHES else {}

    @cached_property
    def forked(self) -> list[str]:
        """Elements whose formulas have branches, whether a run chooses them or not."""
        found = [
            name for name, (constraint, _) in self.constraints.items() if _forks(constraint) or constraint.n_switches
        ]
        return found + [name for name, (one, _) in [*self.forces.items(), *self.states.items()] if _forks(one)]

    @cached_property
    def branching(self) -> dict[str, set[str]]:
        """Constraints whose formulas have branches that a run chooses, with the names of what chooses them."""
        names = {switch: name for name, switch in self.branches.items()}
        found: dict[str, set[str]] = {}
        for name, (constraint, _) in self.constraints.items():
            own = {switch for *_, formula in formulas_in(constraint) for switch in switches_in(formula)}
            own |= {reference(BEND_QUANTITY, name, i) for i in range(constraint.n_switches)}
            chosen = {names[switch] for switch in own if switch in names}
            found |= {name: chosen} if chosen else {}
        return found

    @cached_property
    def contacts(self) -> list[str]:
        """One-sided constraints, which a run closes and opens."""
        return [name for name, (constraint, _) in self.constraints.items() if isinstance(constraint, OneSided)]

    def bearing(self, joint: str) -> Any:
        """How a joint rubs, None if it does not."""
        return JOINTS[self.joints[joint][0].kind].bearing

    @cached_property
    def frictions(self) -> list[str]:
        """Constraints that stick and slip."""
        return [name for name, (constraint, _) in self.constraints.items() if isinstance(constraint, DryFriction)]

    @cached_property
    def gap_names(self) -> list[tuple[str, int]]:
        """Constraint and side of each gap of one-sided constraints."""
        return [(name, side) for name in self.contacts for side in range(self.constraints[name][0].sides)]

    @cached_property
    def slip_parts(self) -> list[slice]:
        """Where the directions of each friction are among those of all."""
        ends = accumulate((self.constraints[name][0].directions for name in self.frictions), initial=0)
        return [slice(first, last) for first, last in pairwise(ends)]

    @cached_property
    def feedback(self) -> dict[str, Reference]:
        """Accelerations and reactions that forces and rates of states depend on, by the parameters that hold them."""
        return _feedback_in(*self.forces.values(), *self.states.values())

    @cached_property
    def watched(self) -> dict[str, Reference]:
        """Accelerations and reactions that only outputs and events name."""
        found = _feedback_in(*self.outputs.values(), *self.events.values())
        return {name: ref for name, ref in found.items() if name not in self.feedback}

    def refuse_feedback(self, what: str, outputs: bool = True) -> None:
        """Raise if formulas name accelerations or reactions, which an analysis does not know.

        Args:
            outputs: False if those of outputs and events do not matter.
        """
        named = [*self.feedback, *(self.watched if outputs else ())]
        if named:
            raise ModelError(
                f"{what}: formulas name {', '.join(named[:4])}, which follow from forward dynamics.  Fix: da.simulate; "
                f"or leave these forces and outputs out"
            )

    @cached_property
    def _meanings(self) -> dict[Any, Any]:
        """References, curves and formulas that stand for states, tables and inputs, by their symbols."""
        found: dict[Any, Any] = {parameter(name): reference(STATE, name) for name in self.states}
        found |= {parameter(name): table.curve(name) for name, (table, _) in self.tables.items()}
        laws = {parameter(name): given.default for name, (given, _) in self.inputs.items()}
        laws = {symbol: law for symbol, law in laws.items() if not law.is_number}
        for _ in laws:  # inputs may name inputs, in a chain of at most this length
            laws = {symbol: _swapped(law, {**found, **laws}) for symbol, law in laws.items()}
        return found | {symbol: _swapped(law, found) for symbol, law in laws.items()}

    def settled(self, formula: sp.Expr) -> sp.Expr:
        """A formula with full names in which states are references, tables curves, and inputs what they are."""
        return _swapped(formula, self._meanings)

    @cached_property
    def measures(self) -> bool:
        """True if some force looks at named points, or at the length of a force."""
        formulas = [formula for force, _ in self.forces.values() for *_, formula in formulas_in(force)]
        found = (ref for formula in formulas for ref in references(formula))
        measured = (*LINE_QUANTITIES, *TURN_QUANTITIES, DEFLECTION_QUANTITY)
        return bool(self.feedback) or any(ref.quantity in measured or ref.element in self.points for ref in found)

    def refuse_fmus(self) -> None:
        """Raise if FMUs run beside the mechanism, without which its equations are not whole."""
        if self.fmus:
            listed = ", ".join(map(repr, self.fmus))
            raise ModelError(
                Problem(f"model {self.name!r}: its FMUs ({listed}) run in da.simulate only", "fmus",
                        "da.simulate(…, trust_fmus=True), or model.remove(name) to leave one out")
            )  # fmt: skip

    @property
    def event_owners(self) -> list[str]:
        """The event behind each of the values that rise through zero where one happens."""
        return [name for name, (event, _) in self.events.items() for _ in event.signs]

    def off(self, parameters: dict[str, float] | None = None) -> set[str]:
        """Constraints that do not act, at the parameters' values or at some others."""
        values = {**self.parameters, **(parameters or {})}
        return {name for name, switch in self.switches.items() if values[switch] == 0}


def _forks(element: Any) -> bool:
    """Whether a formula of an element has branches."""
    return any(True for *_, formula in formulas_in(element) for _ in switches_in(formula))


def _feedback_in(*elements: tuple[Any, Scope]) -> dict[str, Reference]:
    formulas = [formula for element, _ in elements for *_, formula in formulas_in(element)]
    found = {ref for formula in formulas for ref in references(formula) if ref.quantity in FEEDBACK_QUANTITIES}
    return {ref.text: ref for ref in sorted(found, key=lambda ref: ref.text)}


def _swapped(formula: sp.Expr, meanings: dict[Any, Any]) -> sp.Expr:
    """A formula with what some symbols of parameters and tables mean."""
    used = parameters_of(formula) | {call.args[0] for call in tables_in(formula)}
    swap = {symbol: meanings[symbol] for symbol in used if symbol in meanings}
    return replaced(formula, swap) if swap else formula


def flatten(model: Model) -> Flat:
    """Write out the sub-models and give every body without a joint to the world its free joint.

    Bodies that no chain of joints connects to the ground float: one of each group, a base body, gets a free joint that
    is named after it. Joints that are marked ``cut`` connect nothing here.
    """
    check_nesting(model)
    flat = Flat(model.name, model.gravity)
    _collect(flat, model, Scope("", None, None), "ground", {})
    _spread_forces(flat)
    _settle_signals(flat)
    _let_float(flat)
    _hang_springs(flat)
    _add_contact_events(flat)
    _make_bristles(flat)
    _add_friction_events(flat)
    _add_switches(flat)
    # Where nothing is known of them yet, 1 has a root, a logarithm and a reciprocal.
    flat.parameters |= dict.fromkeys((*flat.feedback, *flat.watched), 1.0)
    _list_modules(flat)
    return flat


def _spread_forces(flat: Flat) -> None:
    """Write out the forces that act on all bodies of their model, those of its sub-models among them."""
    spread: dict[str, tuple[Any, Scope]] = {}
    for force, scope in flat.forces.values():
        bodies = [name for name in flat.bodies if name.startswith(scope.prefix)]
        spread |= {part.name: (part, scope) for part in force.spread(bodies)}
    flat.forces = spread


def _list_modules(flat: Flat) -> None:
    """Put every element in the module that it was drawn in."""
    module = {module.name: module for module in flat.modules}
    for section in ("bodies", "joints", "constraints", "forces"):
        for name, (_, scope) in getattr(flat, section).items():
            getattr(module[scope.prefix.removesuffix(".")], section).append(name)


@dataclass(frozen=True)
class _Naming:
    """What the names in one model mean in the whole: those of a sub-model get its prefix, or are bound from outside.

    Attributes:
        base: the body that ``ground`` stands for.
        bound: formulas of the model around it, which take the place of parameters and inputs.
        own: names of its parameters, states and inputs.
        tables: names of its tables.
    """

    prefix: str
    base: str
    bound: dict[str, sp.Expr]
    own: set[str]
    tables: set[str]

    @property
    def is_outermost(self) -> bool:
        """True if every name stays as it is."""
        return not self.prefix and not self.bound

    def body(self, name: str) -> str:
        return self.base if name == "ground" else self.prefix + name

    def inner(self, name: str) -> str:
        return self.prefix + name

    def frame(self, name: str) -> str:
        return name if name in ("world", "body") else self.body(name)

    def parameter(self, name: str) -> str:
        if name not in self.own:
            return name
        full = self.bound.get(name, parameter(self.prefix + name))
        if not isinstance(full, sp.Symbol):
            raise ModelError(
                Problem(f"parameter {self.prefix + name!r} is bound to {full} and cannot be set", "events")
            )
        return full.name

    def formula(self, expression: sp.Expr) -> sp.Expr:
        if self.is_outermost:
            return expression
        swap: dict[Any, Any] = {
            symbol: self.bound.get(symbol.name, parameter(self.prefix + symbol.name))
            for symbol in parameters_of(expression)
            if symbol.name in self.own
        }
        for call in tables_in(expression):
            if call.table in self.tables:
                swap[call.args[0]] = parameter(self.prefix + call.table)
        for atom in expression.atoms(AppliedUndef):
            ref = as_reference(atom)
            swap[atom] = reference(ref.quantity, self.body(ref.element), ref.index)
        return replaced(expression, swap)

    def row(self, values: Iterable[sp.Expr]) -> tuple[sp.Expr, ...]:
        return tuple(self.formula(value) for value in values)

    def record(self, record: Any) -> Any:
        """An element, shape or placement with full names in it."""
        return record if self.is_outermost else replace_names(record, self.formula, self._by_kind)

    def element(self, element: Any) -> Any:
        """An element under its full name."""
        full = self.record(element)
        return full.model_copy(update={"name": self.prefix + element.name}) if self.prefix else full

    @cached_property
    def _by_kind(self) -> dict[str, Callable[[str], str]]:
        return {
            "body": self.body,
            "joint": self.inner,
            "rate": self.inner,
            "constraint": self.inner,
            "parameter": self.parameter,
            "frame": self.frame,
        }


def _collect(flat: Flat, model: Model, scope: Scope, base: str, bound: dict[str, sp.Expr], outer: int = -1) -> None:
    """Write out one model, then those within it."""
    prefix, module = scope.prefix, len(flat.modules)
    flat.modules.append(Module(prefix.removesuffix("."), outer))
    own = {*model.parameter_values, *(e.name for e in (*model.states, *model.inputs))}
    naming = _Naming(prefix, base, bound, own, {table.name for table in model.tables})
    flat.parameters |= {prefix + name: value for name, value in model.parameter_values.items() if name not in bound}
    for section in SECTIONS[:-1]:
        for element in getattr(model, section):
            if not (section == "inputs" and element.name in bound):
                _add(getattr(flat, section), section, naming.element(element), scope)
    flat.ground_shapes += [(naming.record(shape), scope, base) for shape in model.ground_shapes]
    flat.initial_values |= {prefix + name: naming.row(values) for name, values in model.initial_values.items()}
    flat.initial_rates |= {prefix + name: naming.row(values) for name, values in model.initial_rates.items()}
    flat.quasi_velocities |= {prefix + name: naming.formula(w) for name, w in model.quasi_velocities.items()}
    for sub in model.submodels:
        inner = Scope(f"{prefix}{sub.name}.", scope, naming.record(sub.pose))
        values = {name: naming.formula(value) for name, value in (*sub.parameters.items(), *sub.inputs.items())}
        _collect(flat, sub.model, inner, naming.body(sub.base), values, module)


def _add(target: dict[str, tuple[Any, Scope]], section: str, element: Any, scope: Scope) -> None:
    full = element.in_full() if section == "forces" else element
    if full.name in target:
        raise ModelError(Problem(f"name {full.name!r} is used twice", section, "choose another name"))
    target[full.name] = (full, scope)
    if len(target) > MAX_ELEMENTS:
        raise ModelError(Problem(f"more than {MAX_ELEMENTS} elements", section))


def _hang_springs(flat: Flat) -> None:
    """Tell massless points which springs hang on them."""
    for name, (balance, scope) in list(flat.constraints.items()):
        if balance.places is None:
            continue
        body = flat.bodies[balance.places][0] if balance.places in flat.bodies else None
        if body is None or body.mass != 0 or any(body.inertia):
            problem = f"constraint {name!r}: body {balance.places!r} has mass or inertia, which springs do not balance"
            raise ModelError(Problem(problem, "constraints", "mass: 0, or leave the constraint out"))
        flat.constraints[name] = (balance.among(flat.forces), scope)


def _add_contact_events(flat: Flat) -> None:
    """Give every one-sided constraint the events that close and open it."""
    for name in flat.contacts:
        contact, scope = flat.constraints[name]
        hits = [f"{name} hit", f"{name} hit above"][: contact.sides]
        if contact.sides == 1 and getattr(contact, "upper", None) is not None:
            hits = [f"{name} hit above"]
        for label, side in [*zip(hits, range(2), strict=False), (f"{name} open", -1), (f"{name} rest", -2)]:
            given = {"when": 0, "direction": "falling", "switch": {name: side >= 0} if side > -2 else {}}
            event = ContactEvent.model_validate({"name": label, "contact": name, "side": side, **given})
            _add_event(flat, name, event, scope)


def _add_event(flat: Flat, constraint: str, event: Event, scope: Scope) -> None:
    """Give a constraint an event."""
    if event.name in flat.events:
        raise ModelError(Problem(f"event {event.name!r}: constraint {constraint!r} has one of this name", "events"))
    flat.events[event.name] = (event, scope)


def _add_friction_events(flat: Flat) -> None:
    """Give all friction the events that stop it and let it go, and the parameters that a run sets."""
    for name in flat.frictions:
        friction, scope = flat.constraints[name]
        flat.constraints[name] = (friction.among(flat), scope)
        for label, sticks in ((f"{name} stops", True), (f"{name} slips", False)):
            given = {"when": 0, "direction": "falling", "switch": {name: sticks}}
            event = FrictionEvent.model_validate({"name": label, "friction": name, "sticks": sticks, **given})
            _add_event(flat, name, event, scope)
        flat.parameters |= dict.fromkeys(flat.constraints[name][0].parameters(), 0.0)


def _make_bristles(flat: Flat) -> None:
    """Friction by bristles is a state and a force instead of an equation."""
    for name, (friction, scope) in list(flat.constraints.items()):
        if getattr(friction, "law", "exact") != "bristle":
            continue
        rate, force = friction.among(flat).bristles()
        state = f"{name}.bristle"
        if name in flat.forces or state in flat.states:
            raise ModelError(
                Problem(f"constraint {name!r}: a force has this name", "constraints", "choose another name")
            )
        del flat.constraints[name]
        flat.states[state] = (StateVariable.model_validate({"name": state, "rate": rate}), scope)
        given = {"name": name, "joint": friction.joint, "value": force}
        flat.forces[name] = (JointForce.model_validate(given), scope)


def _settle_signals(flat: Flat) -> None:
    """Put references in the place of states, curves in that of tables, and what inputs are in theirs."""
    if not (flat.states or flat.inputs or flat.tables):
        return
    for name, (given, _) in flat.inputs.items():
        if given.default.is_number:
            flat.parameters[name] = float(given.default)
    settled = flat.settled
    for section in ("bodies", "joints", "constraints", "forces", "outputs", "events", "states"):
        elements = getattr(flat, section)
        for name, (element, scope) in elements.items():
            elements[name] = (replace_names(element, settled, {}), scope)
    for values in (flat.initial_values, flat.initial_rates):
        values |= {name: tuple(map(settled, given)) for name, given in values.items()}


def _add_switches(flat: Flat) -> None:
    """Give every constraint that is off at the start, or that an event switches, the parameter that turns it on."""
    switched = {name for event, _ in flat.events.values() for name in event.switch}
    for name, (constraint, _) in flat.constraints.items():
        if constraint.active and name not in switched:
            continue
        switch = f"{name}.on"
        if switch in flat.parameters:
            problem = f"constraint {name!r}: the name of its switch, {switch!r}, is taken by a parameter"
            raise ModelError(Problem(problem, "constraints", "choose another name"))
        flat.switches[name] = switch
        flat.parameters[switch] = float(constraint.active)


def _let_float(flat: Flat) -> None:
    """Give one body of each floating group its free joint."""
    for name in floating(flat.bodies, (joint.bodies for joint, _ in flat.joints.values() if not joint.cut)):
        joint = JointData.model_validate({"name": name, "kind": Free.kind, "bodies": ("ground", name)})
        flat.joints.setdefault(name, (joint, flat.bodies[name][1]))


def floating(bodies: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[str]:
    """One body, the first, of each group that is not connected to the ground.

    Args:
        bodies: names, the ground left out.
        edges: pairs of bodies that a joint connects; pairs with unknown names are passed over.
    """
    bodies = list(bodies)
    neighbors: dict[str, list[str]] = {name: [] for name in ["ground", *bodies]}
    for first, second in edges:
        if first in neighbors and second in neighbors:
            neighbors[first].append(second)
            neighbors[second].append(first)
    reached: set[str] = set()
    found: list[str] = []
    for start in ["ground", *bodies]:
        if start in reached:
            continue
        if start != "ground":
            found.append(start)
        todo = [start]
        while todo:
            body = todo.pop()
            if body not in reached:
                reached.add(body)
                todo.extend(neighbors[body])
    return found
