"""The model: what a mechanism is, described once."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any, Self

import sympy as sp

from dalembert.arguments import Number, public_class
from dalembert.constraints import Equation
from dalembert.elements import Gravity
from dalembert.elements.base import Record
from dalembert.errors import ModelError, Problem
from dalembert.expressions import parameter, reference
from dalembert.joints import JOINTS, Joint, JointData, data_of
from dalembert.model.data import Body, Event, Output, Point, Shape, SubModel
from dalembert.model.described import Described
from dalembert.model.fields import checked, name_of, nearest
from dalembert.model.fmu_data import FMUElement
from dalembert.model.methods import ElementMethods
from dalembert.model.signals_data import InputSignal, StateVariable, Table
from dalembert.notebook import shown
from dalembert.values import DICT, SEQUENCE, finite_number

__all__ = [
    "MAX_ELEMENTS",
    "MAX_SUBMODEL_DEPTH",
    "Model",
    "check_nesting",
    "contents",
    "has_fmus",
    "model_of",
    "nesting",
]

SECTIONS = (
    "bodies", "points", "joints", "constraints", "forces", "states", "inputs", "tables", "outputs", "events",
    "fmus", "submodels",
)  # fmt: skip

MAX_SUBMODEL_DEPTH = 20
MAX_ELEMENTS = 1_000_000


class _Gravity(Record):
    gravity: Gravity


@public_class
class Model(Described, ElementMethods):
    """A mechanism: bodies, joints, constraints, forces, drives, events, parameters, sub-models.

    Geometry and inertia are given in world axes at the reference configuration, as CAD gives them. Numbers may be
    formulas of parameters, which stay symbolic. The model is independent of coordinates and formulations.

    Args:
        name: of the mechanism.
        gravity: acceleration of free fall in world axes (m/s²).
        description: one line for lists.

    Attributes:
        notes: what the reader of a file in another format had to leave out; not part of the model's data.
        derived: what others have made of the model and may use again while it stays as it is; copies have none.

    Example:
        model = da.Model("pendulum", gravity=(0, 0, -9.81))
        length = model.parameters(length=0.5)
        rod = model.rod("rod", (0, 0, 0), (length, 0, 0), mass=1.0)
        model.revolute("pivot", model.ground, rod, point=(0, 0, 0), axis="y")
        run = da.simulate(model, 2.0)
    """

    _sections = SECTIONS

    def __init__(self, name: str, gravity: Any = (0, 0, -9.81), description: str = ""):
        self.name = name
        self.description = description
        self.gravity = gravity
        self.parameter_values: dict[str, float] = {}
        self.bodies: list[Body] = []
        self.points: list[Point] = []
        self.joints: list[JointData] = []
        self.constraints: list[Any] = []
        self.forces: list[Any] = []
        self.states: list[StateVariable] = []
        self.inputs: list[InputSignal] = []
        self.tables: list[Table] = []
        self.outputs: list[Output] = []
        self.events: list[Event] = []
        self.fmus: list[FMUElement] = []
        self.ground_shapes: list[Shape] = []
        self.submodels: list[SubModel] = []
        self.initial_values: dict[str, tuple[sp.Expr, ...]] = {}
        self.initial_rates: dict[str, tuple[sp.Expr, ...]] = {}
        self.quasi_velocities: dict[str, sp.Expr] = {}
        self.sources: dict[str, str] = {}
        self.notes: list[str] = []
        self.derived: list[Any] = []

    @property
    def gravity(self) -> tuple[sp.Expr, ...]:
        """Acceleration of free fall in world axes (m/s²)."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity = checked(_Gravity, "model", gravity=value).gravity

    # Parameters and formulas

    def parameters(self, **values: Number) -> Any:
        """Define parameters; returns their symbols (one symbol if one is given)."""
        symbols: list[sp.Symbol] = []
        for name, value in values.items():
            if name in self.parameter_values:
                raise ModelError(Problem(f"parameter {name!r} is defined twice", "parameters", "choose another name"))
            if name == "t" or name == "pi":
                raise ModelError(Problem(f"parameter {name!r}: the name is taken", "parameters", "choose another name"))
            self.define_parameter(name, value)
            symbols.append(parameter(name))
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    def set_parameter(self, name: str, value: Number) -> None:
        """Give a parameter of the model another value."""
        if name not in list(self.parameter_values):
            fix = nearest(name, self.parameter_values) if self.parameter_values else "model.parameters(…) defines some"
            raise ModelError(Problem(f"unknown parameter {name!r}", "parameters", fix))
        self.define_parameter(name, value)

    def define_parameter(self, name: str, value: Number) -> None:
        """Give a parameter its value, also a new one."""
        number = finite_number(value)
        if number is None:
            raise ModelError(
                Problem(
                    f"parameter {name!r} must be a finite number, got {value!r}", f"parameters.{name}", f"{name}=1.0"
                )
            )
        self.parameter_values[name] = number

    def q(self, joint: Any, index: int = 0) -> sp.Expr:
        """A coordinate of a joint, for use in formulas."""
        return reference("q", name_of("q", joint), index)

    def u(self, joint: Any, index: int = 0) -> sp.Expr:
        """A velocity of a joint, for use in formulas."""
        return reference("u", name_of("u", joint), index)

    # Bodies

    @property
    def ground(self) -> str:
        """The world."""
        return "ground"

    def body(self, name: str, **fields: Any) -> Body:
        """Add a rigid body; see :class:`Body` for the fields."""
        return self.append("bodies", checked(Body, f"body {name!r}", name=name, **fields))

    def particle(self, name: str, mass: Any, position: Any, **fields: Any) -> Body:
        """Add a point mass (kg) at a position (m): three coordinates x, y, z of a translational joint of its name, no
        orientation. Tie it by ``distance``, ``spherical`` (at its place), ``point_on_line`` or ``point_on_plane``.
        """
        body = self.body(name, mass=mass, com=position, **fields)
        self.joint("translational", name, self.ground, name, point=position)
        return body

    def massless_point(self, name: str, position: Any, *, axis: Any = None, **fields: Any) -> Body:
        """Add a point without mass that carries springs only: it stays where their forces balance.

        Args:
            position: where it is drawn (m), and looked for first.
            axis: the direction along which it can move; default: in space.
        """
        body = self.body(name, com=position, **fields)
        if axis is None:
            self.joint("translational", name, self.ground, name, point=position)
        else:
            self.joint("prismatic", name, self.ground, name, point=position, axis=axis)
        self.balance(f"{name} balance", name, axis=axis)
        return body

    def point(self, name: str, body: Any, at: Any, *, frame: Any = "world") -> Point:
        """Name a point of a body for formulas: ``model.point("tip", rod, (1, 0, 0))``, then ``x(tip)``, ``vz(tip)``."""
        return self.append("points", checked(Point, f"point {name!r}", name=name, body=body, at=at, frame=frame))

    def shape(self, body: Any, kind: str, **fields: Any) -> Shape:
        """Draw something on a body; see :class:`Shape` for the fields."""
        name = getattr(body, "name", body)
        shape = checked(Shape, f"shape on {name!r}", kind=kind, **fields)
        if name == self.ground:
            self.ground_shapes.append(shape)
            return shape
        for i, element in enumerate(self.bodies):
            if element.name == name:
                self.bodies[i] = element.model_copy(update={"shapes": (*element.shapes, shape)})
                return shape
        raise ModelError(Problem(f"shape: unknown body {name!r}", "bodies", f"one of {[b.name for b in self.bodies]}"))

    # Joints; each kind of the catalog, and each constraint and force, also has a method of its own

    def joint(self, kind: str, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """Add a joint of the catalog between two bodies; see :class:`JointData` for the fields."""
        fields = JOINTS.get(kind, Joint).from_call(fields)
        data = checked(data_of(kind), f"joint {name!r}", kind=kind, name=name, bodies=(first, second), **fields)
        return self.append("joints", data)

    # States, inputs and tables, which formulas name

    def state(self, name: str, rate: Any, *, initial: Any = 0, unit: str = "") -> sp.Symbol:
        """Add a state of your own, such as a current: ``model.state("i", rate="(v - R*i - k*u(rotor))/L")``.

        Args:
            rate: its time derivative, a formula of t, states, inputs, tables, the motion and parameters.
            initial: its value at the start.

        Returns:
            its symbol, for use in formulas; texts name it as it is called.
        """
        given = checked(StateVariable, f"state {name!r}", name=name, rate=rate, initial=initial, unit=unit)
        return parameter(self.append("states", given).name)

    def input(self, name: str, default: Any = 0, *, unit: str = "") -> sp.Symbol:
        """Add a signal from outside, which a run gives: ``da.simulate(model, 1, inputs={"v": "12*sin(t)"})``.

        Args:
            default: what it is unless a run says otherwise: a number, or a formula of t and parameters.

        Returns:
            its symbol, for use in formulas; texts name it as it is called.
        """
        given = checked(InputSignal, f"input {name!r}", name=name, default=default, unit=unit)
        return parameter(self.append("inputs", given).name)

    def table(self, name: str, x: Any, y: Any, z: Any = (), *, kind: str = "cubic", outside: str = "hold") -> Table:
        """Add a function given by points: ``model.table("road", x=[…], y=[…])``; formulas call it, ``road(x(wheel))``.

        Args:
            x, y: the points, x rising; ``da.read_table`` gets them from a file.
            z: of a function of two variables: its values, a row for each x with a number for each y;
                ``da.read_grid`` gets all three from a file.
            kind: ``cubic``, a spline with continuous second derivative; ``linear``; or ``periodic``, a cubic spline
                that repeats.
            outside: beyond the ends ``hold`` the last value, ``extrapolate`` along a straight line, or ``error``.

        Returns:
            the table, which is a function for use in formulas.
        """
        given = checked(Table, f"table {name!r}", name=name, x=x, y=y, z=z, kind=kind, outside=outside)
        return self.append("tables", given)

    # Outputs, events, initial state, sub-models

    def output(self, name: str, formula: Any, unit: str = "") -> Output:
        """Record a quantity along every trajectory."""
        return self.append("outputs", checked(Output, f"output {name!r}", name=name, formula=formula, unit=unit))

    def event(
        self,
        name: str,
        when: Any,
        *,
        direction: str = "any",
        stop: bool = False,
        set: Mapping[Any, Any] | None = None,
        rates: Mapping[Any, Any] | None = None,
        switch: Mapping[Any, Any] | None = None,
    ) -> Event:
        """Do something when a formula passes through zero, e.g. ``model.event("hit", "q(A)", rates={"A": "-u(A)"})``.

        Args:
            direction: ``rising``, ``falling`` or ``any``: which way the formula passes.
            stop: end the run.
            set: new value of parameters.
            rates: new velocity of joints; the others follow from masses and constraints.
            switch: constraints and drives to switch on (True) or off (False).
        """
        given = {"direction": direction, "stop": stop, "set": set or {}, "rates": rates or {}, "switch": switch or {}}
        return self.append("events", checked(Event, f"event {name!r}", name=name, when=when, **given))

    def fmu(
        self,
        name: str,
        file: str | Path,
        *,
        step: float,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, str] | None = None,
        start: Mapping[str, float] | None = None,
        hold: bool = False,
    ) -> FMUElement:
        """Let an FMU run beside the mechanism, e.g. a controller:
        ``model.fmu("servo", "servo.fmu", step=0.01, inputs={"angle": "q(A)"}, outputs={"torque": "y"})``.

        It is machine code: ``da.simulate(model, …, trust_fmus=True)`` runs it, and nothing else does.

        Args:
            file: path of the FMU, for Co-Simulation, FMI 2 or 3.
            step: time between two exchanges of values (s); of several FMUs, the shortest counts.
            inputs: its inputs, as formulas of ours.
            outputs: our inputs (``model.input``), each with the output of the FMU that it follows.
            start: values of its parameters, and of other variables at the start.
            hold: outputs hold from one exchange to the next, as those of a sampled controller do; by default they are
                led on between.
        """
        given = {"inputs": inputs or {}, "outputs": outputs or {}, "start": start or {}, "hold": hold}
        made = checked(FMUElement, f"fmu {name!r}", name=name, file=str(file), step=step, **given)
        return self.append("fmus", made)

    def initial(self, joint: Any, value: Any = None, rate: Any = None) -> None:
        """Start a joint at a coordinate and a velocity; the rest follows by assembly."""
        name = getattr(joint, "name", joint)
        for target, given in ((self.initial_values, value), (self.initial_rates, rate)):
            if given is not None:
                given = given if isinstance(given, SEQUENCE) else (given,)
                drawn = checked(
                    JointData, f"initial of {name!r}", name=name, kind="", bodies=("a", "b"), reference=given
                )
                target[name] = drawn.reference or ()

    def velocities(self, **formulas: Any) -> None:
        """Quasi-velocities for analytical formalisms, linear in rates, e.g. ``model.velocities(w="u(A) - u(B)")``."""
        for name, value in formulas.items():
            given = checked(Equation, f"velocity {name!r}", name=name, formula=value, level="velocity")
            self.quasi_velocities[name] = given.formula

    def add(
        self,
        model: Model,
        name: str,
        *,
        pose: Any = None,
        base: Any = "ground",
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> SubModel:
        """Put a model inside this one; its elements are called ``name.element``.

        Args:
            pose: of its world.  base: the body of this model that is its ground.
            parameters, inputs: of it, as formulas of ours.
        """
        fields: dict[str, Any] = {"pose": pose} if pose is not None else {}
        model = model_of(model)
        fields |= {"base": base, "parameters": parameters or {}, "inputs": inputs or {}}
        sub = checked(SubModel, f"sub-model {name!r}", name=name, model=model, **fields)
        return self.append("submodels", sub)

    # Bookkeeping

    def remove(self, name: str) -> None:
        """Take an element out again: a body, joint, constraint, force, output, event or sub-model. Remove
        everything that refers to it too; ``validate`` finds what is left.
        """
        name = getattr(name, "name", name)
        found = [(s, i) for s in SECTIONS for i, e in enumerate(getattr(self, s)) if getattr(e, "name", None) == name]
        if not found:
            known = [e.name for s in SECTIONS for e in getattr(self, s) if getattr(e, "name", None)]
            raise ModelError(Problem(f"remove: nothing is called {name!r}", "", nearest(name, known)))
        for section, index in reversed(found):
            del getattr(self, section)[index]
            places = [self.sources.pop(f"{section}[{i}]", "") for i in range(index, len(getattr(self, section)) + 1)]
            self.sources.update({f"{section}[{index + k}]": place for k, place in enumerate(places[1:])})
        for values in (self.initial_values, self.initial_rates):
            values.pop(name, None)

    def _problems(self) -> list[Problem]:
        from dalembert.model.validate import problems

        return problems(self)

    def to_data(self) -> dict[str, Any]:
        """The model as plain dictionaries, lists, numbers and texts."""
        from dalembert.model.document import to_document

        return to_document(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.to_data() == other.to_data()

    __hash__ = object.__hash__

    def snapshot(self) -> Self:
        """A copy that later changes of this model do not reach; elements are shared, since they never change."""
        check_nesting(self)
        made = copy(self)
        for key, value in vars(made).items():
            if isinstance(value, (list, dict)):
                setattr(made, key, value.copy())
        made.submodels = [
            sub.model_copy(update={"model": sub.model.snapshot()}) if isinstance(sub.model, Model) else sub
            for sub in self.submodels
        ]
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "derived": []}

    def _repr_html_(self) -> str:
        return shown("model", self)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(getattr(self, key))} {key}" for key in SECTIONS if getattr(self, key))
        return f"<Model {self.name!r}: {counts or 'empty'}>"


def model_of(given: Any) -> Model:
    """A model as it is; of a planar mechanism, or whatever else has ``to_model``, the model that it makes."""
    if isinstance(given, Model):
        return given
    if not hasattr(given, "to_model"):
        fix = "e.g. da.library.four_bar()"
        if hasattr(given, "include"):
            fix = "simulate, linearize, inverse_dynamics, derive and compare take subsystems, and it has equations()"
        raise ModelError(Problem(f"expected a model, got {type(given).__name__}", fix=fix))
    return given.to_model()


def nesting(model: Model) -> tuple[int, bool]:
    """How many elements a model and its sub-models have in all, and whether they are nested too deeply, as those are
    that contain themselves.

    Level by level and every model of a level once: a model that is inside another in two places is walked through once.
    """
    level, elements = {id(model): (model, 1)}, 0
    for _ in range(MAX_SUBMODEL_DEPTH + 1):
        inner: dict[int, tuple[Model, int]] = {}
        for outer, times in level.values():
            elements += times * (1 + len(outer.bodies) + len(outer.joints))
            for sub in outer.submodels:
                one: Any = sub.model
                if isinstance(one, Model):
                    inner[id(one)] = (one, times + inner.get(id(one), (one, 0))[1])
        if not inner:
            return elements, False
        level = inner
    return elements, True


def check_nesting(model: Model) -> None:
    """Raise, in the words of ``validate``, if a model contains itself or too much, before anything walks through it."""
    elements, deep = nesting(model)
    if deep or elements > MAX_ELEMENTS:
        model.validate()


def has_fmus(model: Model) -> bool:
    """True if FMUs run beside a model or one of its sub-models."""
    check_nesting(model)
    return bool(model.fmus) or any(has_fmus(sub.model) for sub in model.submodels if isinstance(sub.model, Model))


_MORE = ("name", "gravity", "parameter_values", "ground_shapes", "initial_values", "initial_rates", "quasi_velocities")


def contents(model: Model) -> tuple[Any, ...]:
    """All data of a model and of its sub-models in tuples: two are equal exactly if nothing was changed in between."""
    check_nesting(model)
    return tuple(_frozen(getattr(model, key)) for key in (*_MORE, *SECTIONS))


def _frozen(value: Any) -> Any:
    if isinstance(value, Record):
        return type(value), *map(_frozen, value.__dict__.values())
    if isinstance(value, DICT):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, SEQUENCE):
        return tuple(map(_frozen, value))
    return contents(value) if isinstance(value, Model) else value
