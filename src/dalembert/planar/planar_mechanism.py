"""Planar mechanisms by nodes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.arguments import Number, public_class
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.expressions import parameter
from dalembert.model.described import Described
from dalembert.model.fields import checked, name_of, nearest
from dalembert.planar.planar_data import (
    BASE,
    ContactOnDisc,
    ContactOnLine,
    Node,
    NodeForce,
    NodeSpring,
    PinInSlot,
    PlanarBody,
    PlanarConstraint,
    PlanarCoordinate,
    PlanarJoint,
    PlanarOutput,
    PlanarVelocity,
    PrismaticJoint,
    RevoluteJoint,
)
from dalembert.planar.planar_names import bare_name
from dalembert.values import BOOLEAN, SEQUENCE, finite_number, is_finite

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.modular import LabeledMatrix, ModularEquations, Subsystem

__all__ = ["BaseNodes", "Planar"]

SECTIONS = (
    "bodies", "joints", "contacts", "springs", "forces", "coordinates", "quasi_velocities", "constraints", "outputs",
)  # fmt: skip


class BaseNodes:
    """The base; its nodes are attributes, and a call adds more: ``w.base(O=(0, 0))``, ``w.base.O``."""

    name = BASE

    def __init__(self, planar: Planar):
        self._planar = planar

    def __call__(self, **nodes: Any) -> BaseNodes:
        drawn = checked(PlanarBody, "base", name=BASE, nodes=nodes).nodes
        for name, place in drawn.items():
            if name in self._planar.base_nodes:
                raise ModelError(Problem(f"base: node {name!r} is defined twice", "base", "choose another name"))
            self._planar.base_nodes[name] = place
        return self

    def __getattr__(self, key: str) -> Node:
        if key.startswith("_"):
            raise AttributeError(key)
        if key in self._planar.base_nodes:
            return Node(f"{BASE}.{key}")
        raise AttributeError(f"the base has no node {key!r}; it has {', '.join(self._planar.base_nodes)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._planar.base_nodes]


@public_class
class Planar(Described):
    """A planar mechanism: bodies by named nodes, joints between nodes, and whatever formulas add.

    Drawn in the xy-plane, z toward the reader; angles are zero in the reference configuration. It is independent of
    coordinates: ``to_model``
    makes a :class:`~dalembert.Model` with joint coordinates, ``to_subsystem`` the node model of the thesis.

    Args:
        name: of the mechanism.
        gravity: acceleration of free fall (m/s²); without it the mechanism lies flat.
        description: one line for lists.

    Example:
        w = da.Planar("pendulum", gravity=(0, -9.81))
        w.base(O=(0, 0))
        bar = w.body("bar", O=(0, 0), tip=(0.5, 0), mass=1.0, inertia=0.02)
        w.revolute("pivot", "base.O", bar.O)
        run = da.simulate(w, 1.0)
    """

    _sections = SECTIONS

    def __init__(self, name: str, gravity: Any = (0, 0), description: str = ""):
        self.name, self.description = name, description
        self.gravity = checked(NodeForce, "gravity", name="gravity", node="base.O", value=gravity).value
        self.parameter_values: dict[str, float] = {}
        self.input_laws: dict[str, sp.Expr] = {}
        self.base_nodes: dict[str, tuple[sp.Expr, sp.Expr]] = {}
        self.base = BaseNodes(self)
        self.bodies: list[PlanarBody] = []
        self.joints: list[PlanarJoint] = []
        self.contacts: list[Any] = []
        self.springs: list[NodeSpring] = []
        self.forces: list[NodeForce] = []
        self.coordinates: list[PlanarCoordinate] = []
        self.quasi_velocities: list[PlanarVelocity] = []
        self.constraints: list[PlanarConstraint] = []
        self.outputs: list[PlanarOutput] = []
        self.initial_values: dict[str, tuple[float, ...]] = {}
        self.initial_rates: dict[str, tuple[float, ...]] = {}
        self.sources: dict[str, str] = {}
        self._made: tuple[Any, dict[Any, Model]] = (None, {})

    # Numbers and inputs

    def parameters(self, **values: Number) -> Any:
        """Define parameters; returns their symbols (one symbol if one is given)."""
        for name, value in values.items():
            if isinstance(value, BOOLEAN) or not is_finite(value):
                message = f"parameter {name!r} must be a finite number, got {value!r}"
                raise ModelError(Problem(message, f"parameters.{name}", f"{name}=1.0"))
            self.parameter_values[name] = float(value)
        symbols = [parameter(name) for name in values]
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    def input(self, name: str, law: Any = 0) -> sp.Symbol:
        """A force chosen from outside; ``law`` is its value in a forward simulation, a formula of t and the motion."""
        self.input_laws[name] = checked(PlanarOutput, f"input {name!r}", name=name, formula=law).formula
        return parameter(name)

    # Elements

    def body(
        self,
        name: str,
        *,
        mass: Any = 0,
        inertia: Any = 0,
        com: Any = None,
        force: Any = None,
        torque: Any = None,
        color: str | None = None,
        nodes: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> PlanarBody:
        """A rigid body by its nodes, e.g. ``w.body("crank", A=(0, 0), B=(1, 0), mass=2, inertia=0.1)``.

        Args:
            mass: (kg).
            inertia: about the center of mass (kg m²).
            com: a node, or (γ, ρ) of the first two nodes; halfway between these by default.
            force, torque: at the center of mass, world axes (N, N m).
            color: as #rrggbb.
            nodes: those whose names are Python's or this call's own.
            more: the nodes.
        """
        fields = {"mass": mass, "inertia": inertia, "com": com, "force": force, "torque": torque, "color": color}
        body = checked(PlanarBody, f"body {name!r}", name=name, nodes={**(nodes or {}), **more}, **fields)
        for value in (*(body.force or ()), body.torque):
            self._notice_input(value)
        return self.append("bodies", body)

    def revolute(self, name: str, first: Any, second: Any, *, torque: Any = None) -> RevoluteJoint:
        """A pin through a node of each of two bodies; ``torque`` of the first on the second makes it active."""
        fields = {"nodes": (first, second), "torque": torque}
        return self._joint(checked(RevoluteJoint, f"joint {name!r}", name=name, **fields))

    def prismatic(
        self, name: str, first: Any, second: Any, *, axis: Any, point: Any = None, force: Any = None
    ) -> PrismaticJoint:
        """The second body, or the given node of it, slides along a line of the first and does not turn against it."""
        fields = {"bodies": (first, second), "axis": axis, "point": point, "force": force}
        return self._joint(checked(PrismaticJoint, f"joint {name!r}", name=name, **fields))

    def pin_in_slot(
        self, name: str, slot: Any, pin: Any, *, axis: Any = None, force: Any = None, torque: Any = None
    ) -> PinInSlot:
        """A node of one body slides along a slot of another and turns freely in it."""
        fields = {"slot": slot, "pin": pin, "axis": axis, "force": force, "torque": torque}
        return self._joint(checked(PinInSlot, f"joint {name!r}", name=name, **fields))

    def rolling_on_line(
        self, name: str, center: Any, radius: Any, *, line: Any = BASE, axis: Any = "x"
    ) -> ContactOnLine:
        """A disc rolls without slip along a line of a body, on the left side of its direction."""
        fields = {"center": center, "radius": radius, "line": line, "axis": axis}
        return self.append("contacts", checked(ContactOnLine, f"contact {name!r}", name=name, **fields))

    def rolling_on_disc(self, name: str, first: Any, second: Any, radii: Any, *, inside: bool = False) -> ContactOnDisc:
        """Two discs, by their centers, roll on each other without slip."""
        fields = {"centers": (first, second), "radii": radii, "inside": inside}
        return self.append("contacts", checked(ContactOnDisc, f"contact {name!r}", name=name, **fields))

    def spring(
        self, name: str, first: Any, second: Any, *, stiffness: Any = 0, damping: Any = 0, length: Any = None
    ) -> NodeSpring:
        """A spring and damper between two nodes."""
        fields = {"nodes": (first, second), "stiffness": stiffness, "damping": damping, "length": length}
        return self.append("springs", checked(NodeSpring, f"spring {name!r}", name=name, **fields))

    def force(self, name: str, node: Any, value: Any) -> NodeForce:
        """A force (fx, fy) on a node, world axes."""
        force = checked(NodeForce, f"force {name!r}", name=name, node=node, value=value)
        for component in force.value:
            self._notice_input(component)
        return self.append("forces", force)

    def coordinate(self, name: str, rate: Any, *, start: float = 0.0) -> sp.Symbol:
        """A coordinate of one's own by its rate, e.g. ``w.coordinate("phi", "crank.omega - rocker.omega")``."""
        fields = {"rate": rate, "start": start}
        self.append("coordinates", checked(PlanarCoordinate, f"coordinate {name!r}", name=name, **fields))
        return parameter(name)

    def quasi_velocity(self, name: str, formula: Any, *, force: Any = None, inertia: Any = 0) -> sp.Symbol:
        """A quasi-velocity p = formula; ``force`` does the power force · p, ``inertia`` has the energy ½ J p²."""
        fields = {"formula": formula, "force": force, "inertia": inertia}
        velocity = checked(PlanarVelocity, f"quasi-velocity {name!r}", name=name, **fields)
        self._notice_input(velocity.force)
        self.append("quasi_velocities", velocity)
        return parameter(name)

    def constraint(self, name: str, formula: Any, level: str = "position") -> PlanarConstraint:
        """A formula that must vanish, of positions or of velocities, in which it must be linear."""
        fields = {"formula": formula, "level": level}
        return self.append("constraints", checked(PlanarConstraint, f"constraint {name!r}", name=name, **fields))

    def output(self, name: str, formula: Any, unit: str = "") -> PlanarOutput:
        """Record a quantity along every run."""
        fields = {"formula": formula, "unit": unit}
        return self.append("outputs", checked(PlanarOutput, f"output {name!r}", name=name, **fields))

    def initial(self, joint: Any, value: Any = None, rate: Any = None) -> None:
        """Start a joint at an angle or displacement and a rate; a pin in a slot has (displacement, angle)."""
        name = name_of("initial", joint)
        for target, given in ((self.initial_values, value), (self.initial_rates, rate)):
            if given is not None:
                values = given if isinstance(given, SEQUENCE) else (given,)
                numbers = tuple(number for number in map(finite_number, values) if number is not None)
                if len(numbers) < len(values):
                    raise ModelError(Problem(f"initial of {name!r}: expected numbers, got {given!r}", "initial"))
                target[name] = numbers

    def _joint(self, joint: Any) -> Any:
        for key in ("torque", "force"):
            self._notice_input(getattr(joint, key, None))
        return self.append("joints", joint)

    def _notice_input(self, value: Any) -> None:
        """A force that is nothing but a new name is an input."""
        name = bare_name(value)
        if name is not None and name not in self.parameter_values:
            self.input_laws.setdefault(name, sp.Integer(0))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.input_laws)

    # What it becomes

    def _problems(self) -> list[Problem]:
        from dalembert.planar.planar_check import problems

        return problems(self)

    def to_data(self) -> dict[str, Any]:
        """The mechanism as plain dictionaries, lists, numbers and texts."""
        from dalembert.planar.planar_document import to_planar_document

        return to_planar_document(self)

    def to_model(self, inputs: Mapping[str, Any] | None = None) -> Model:
        """The same mechanism with joint coordinates; loops are closed in the plane only. Kept until it changes.

        Args:
            inputs: laws of inputs, formulas of t and the motion, instead of their own.
        """
        if not inputs:
            return self._model((), ())
        other = copy.copy(self)
        other.input_laws, other._made = dict(self.input_laws), (None, {})
        for name, law in inputs.items():
            if name not in other.input_laws:
                message = f"mechanism {self.name!r} has no input {name!r}"
                raise ModelError(Problem(message, "inputs", nearest(name, other.input_laws)))
            other.input(name, law)
        return other.to_model()

    def _model(self, unknowns: tuple[str, ...], quantities: tuple[str, ...]) -> Model:
        from dalembert.planar.planar_model import build_model

        now = self._contents()
        if self._made[0] != now:
            self.validate()
            self._made = (now, {})
        made = self._made[1]
        if (unknowns, quantities) not in made:
            made[unknowns, quantities] = build_model(self, unknowns, quantities)
        return made[unknowns, quantities]

    def to_subsystem(
        self,
        *,
        independent: Iterable[Any] | None = None,
        groups: Mapping[str, Iterable[Any]] | None = None,
        quantities: Iterable[str] | Mapping[str, Any] = (),
    ) -> Subsystem:
        """The node model as a subsystem.

        Args:
            independent: variables by which all others vary, e.g. ``["A.omega"]``; chosen if left out.
            groups: bodies by group, e.g. ``{"leg": ["crank", "coupler"], …}``: each becomes a part, derived by itself;
                pins between groups become external invariants.
            quantities: that shall be variables too, e.g. ``["crank.angle"]``, to prescribe them.
        """
        from dalembert.planar.node_subsystem import build_subsystem

        return build_subsystem(self, independent, groups, tuple(quantities))

    def node_values(
        self, at: Any = None, time: float | None = None, *, groups: Mapping[str, Iterable[Any]] | None = None
    ) -> dict[str, float]:
        """Variables of the node model, to start it from: ``da.simulate(w.to_subsystem(), 1.0, initial=…)``.

        Args:
            at: a state of ``da.assemble``, or a run; as drawn, at rest, without.
            time: of a run (s); its last by default.
            groups: those that ``to_subsystem`` was given.
        """
        from dalembert.planar.node_values import node_values
        from dalembert.planar.planar_poses import motion_of

        return node_values(self, None if at is None else motion_of(at), time, groups)

    def equations(self, *, independent: Iterable[Any] | None = None) -> ModularEquations:
        """Dynamic equations of the node model: labeled A, b, C, f, f̄ over SymPy; ``at`` gives numbers."""
        return self.to_subsystem(independent=independent).equations()

    def constraint_matrix(
        self, at: Mapping[Any, Any] | None = None, *, independent: Iterable[Any] | None = None
    ) -> LabeledMatrix:
        """C, the orthogonal complement of the constraint matrix: over SymPy, or in numbers.

        Args:
            at: values by variable, e.g. ``{"crank.pin.x": 0.1}``, else as drawn; without it the matrix is symbolic.
            independent: see ``to_subsystem``.
        """
        found = self.equations(independent=independent)
        if at is None:
            return found.S
        return found.at(found.values(at, guess=True)).S_rows(found.top)

    def inertia_matrix(self) -> LabeledMatrix:
        """The generalized inertia matrix of the node model, eq. 5.26 of the thesis."""
        from dalembert.planar.node_model import NodeModel
        from dalembert.planar.node_subsystem import inertia_matrix

        return inertia_matrix(NodeModel(self))

    def active_forces(self) -> dict[str, sp.Expr]:
        """Generalized active forces on the variables of the node model, eq. 5.25 of the thesis."""
        from dalembert.planar.node_model import NodeModel

        return dict(NodeModel(self).active)

    def inertia_forces(self) -> dict[str, sp.Expr]:
        """Generalized inertia forces on the variables of the node model, eq. 5.26 of the thesis."""
        from dalembert.planar.node_model import NodeModel

        return dict(NodeModel(self).inertia)

    def prescribed_model(self, motion: Mapping[Any, Any], unknowns: Iterable[str] | None = None) -> Model:
        """The model for inverse dynamics: unknown inputs as parameters, prescribed quantities as outputs.

        ``da.inverse_dynamics`` makes it by itself.
        """
        from dalembert.planar.planar_names import near_quantities, quantities

        known = quantities(self)
        asked = tuple(str(name) for name in motion if str(name) in known)
        others = [*known, *(joint.name for joint in self.joints), *(output.name for output in self.outputs)]
        for name in motion:
            if isinstance(name, str) and name not in others and "(" not in name and "[" not in name:
                raise DalembertError(f"motion: unknown quantity {name!r}.  Fix: {near_quantities(name, others)}")
        return self._model(tuple(self.input_laws if unknowns is None else unknowns), asked)

    def values(self, run: Any, name: str) -> Any:
        """Any quantity that formulas may name, over a run or along a motion, e.g. ``w.values(run, "crank.pin.x")``."""
        from dalembert.planar.planar_poses import motion_of, values_along

        return values_along(self, motion_of(run), name)

    def draw(self, path: str | Path | None = None, *, at: Any = None, time: float | None = None, **options: Any) -> Any:
        """A picture of the mechanism, in the reference configuration or at another time; a matplotlib figure, written
        to ``path`` if given.

        Args:
            path: a PNG, SVG or PDF file.
            at: a state of ``da.assemble``, a run, or a result of inverse dynamics.
            time: of a run (s); its last by default.
            options: ``paths`` (nodes whose way through the run is drawn), ``ghosts`` (number of other positions that
                are hinted at), ``labels``, ``title``, ``size`` (of the longer side, inches).
        """
        from dalembert.planar.planar_drawing import draw

        return draw(self, path, at, time, **options)

    def _contents(self) -> Any:
        """All data as one value; what it is made of is frozen, so that copies of the containers are enough."""
        tables = ("parameter_values", "input_laws", "base_nodes", "initial_values", "initial_rates")
        copies = [dict(getattr(self, key)) for key in tables]
        return (self.name, self.gravity, copies, [list(getattr(self, key)) for key in SECTIONS])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": (None, {})}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Planar) and self.to_data() == other.to_data()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(getattr(self, key))} {key}" for key in SECTIONS if getattr(self, key))
        return f"<Planar {self.name!r}: {counts or 'empty'}>"
