"""The model: what a mechanism is, described once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import sympy as sp
from pydantic import ValidationError

from dalembert.constraints import Coupler, Drive, Equation, Explicit, Gear, Rack
from dalembert.elements import Element, Placement
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME, parameter, reference
from dalembert.forces import Bushing, JointForce, PointForce, Potential, Spring, Torque, TorsionalSpring
from dalembert.joints import JOINTS
from dalembert.model.data import Body, Event, JointData, Output, Shape, SubModel

__all__ = ["Model"]

_PACKAGE = str(Path(__file__).parents[1])
SECTIONS = ("bodies", "joints", "constraints", "forces", "outputs", "events", "submodels")


class Model:
    """A mechanism: bodies, joints, constraints, forces, drives, events, parameters, sub-models.

    Geometry and inertia are given in world axes at the reference configuration, as CAD gives them. Numbers may be
    formulas of parameters, which stay symbolic. The model knows nothing of coordinates or formulations.

    Args:
        name: of the mechanism.
        gravity: acceleration of free fall in world axes (m/s²).
        description: one line for lists.

    Attributes:
        notes: what the reader of a file in another format had to leave out; not part of the model's data.
    """

    t = TIME

    def __init__(self, name: str, gravity: Any = (0, 0, -9.81), description: str = ""):
        self.name = name
        self.description = description
        self.gravity = _checked(Placement, "gravity", position=gravity).position
        self.parameter_values: dict[str, float] = {}
        self.bodies: list[Body] = []
        self.joints: list[JointData] = []
        self.constraints: list[Any] = []
        self.forces: list[Any] = []
        self.outputs: list[Output] = []
        self.events: list[Event] = []
        self.ground_shapes: list[Shape] = []
        self.submodels: list[SubModel] = []
        self.initial_values: dict[str, tuple[sp.Expr, ...]] = {}
        self.initial_rates: dict[str, tuple[sp.Expr, ...]] = {}
        self.quasi_velocities: dict[str, sp.Expr] = {}
        self.sources: dict[str, str] = {}
        self.notes: list[str] = []

    # Parameters and formulas

    def parameters(self, **values: float) -> Any:
        """Define parameters; returns their symbols (one symbol if one is given)."""
        symbols = []
        for name, value in values.items():
            if name in self.parameter_values:
                raise ModelError(Problem(f"parameter {name!r} is defined twice", "parameters", "choose another name"))
            if name == "t" or name == "pi":
                raise ModelError(Problem(f"parameter {name!r}: the name is taken", "parameters", "choose another name"))
            self.set_parameter(name, value)
            symbols.append(parameter(name))
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    def set_parameter(self, name: str, value: float) -> None:
        """Give a parameter its value."""
        import math

        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ModelError(
                Problem(
                    f"parameter {name!r} must be a finite number, got {value!r}", f"parameters.{name}", f"{name}=1.0"
                )
            )
        self.parameter_values[name] = number

    def q(self, joint: Any, index: int = 0) -> sp.Expr:
        """A coordinate of a joint, for use in formulas."""
        return reference("q", getattr(joint, "name", joint), index)

    def u(self, joint: Any, index: int = 0) -> sp.Expr:
        """A velocity of a joint, for use in formulas."""
        return reference("u", getattr(joint, "name", joint), index)

    # Bodies

    @property
    def ground(self) -> str:
        """The world."""
        return "ground"

    def body(self, name: str, **fields: Any) -> Body:
        """Add a rigid body; see :class:`Body` for the fields."""
        return self.append("bodies", _checked(Body, f"body {name!r}", name=name, **fields))

    def shape(self, body: Any, kind: str, **fields: Any) -> Shape:
        """Draw something on a body; see :class:`Shape` for the fields."""
        name = getattr(body, "name", body)
        shape = _checked(Shape, f"shape on {name!r}", kind=kind, **fields)
        if name == self.ground:
            self.ground_shapes.append(shape)
            return shape
        for i, element in enumerate(self.bodies):
            if element.name == name:
                self.bodies[i] = element.model_copy(update={"shapes": (*element.shapes, shape)})
                return shape
        raise ModelError(Problem(f"shape: unknown body {name!r}", "bodies", f"one of {[b.name for b in self.bodies]}"))

    # Joints

    def joint(self, kind: str, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """Add a joint of the catalogue between two bodies; see :class:`JointData` for the fields."""
        reference = fields.get("reference")
        if reference is not None and not isinstance(reference, (list, tuple)):
            fields["reference"] = (reference,)
        data = _checked(JointData, f"joint {name!r}", kind=kind, name=name, bodies=(first, second), **fields)
        return self.append("joints", data)

    def revolute(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A hinge: ``point``, ``axis``."""
        return self.joint("revolute", name, first, second, **fields)

    def prismatic(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A slide: ``point``, ``axis``."""
        return self.joint("prismatic", name, first, second, **fields)

    def cylindrical(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A shaft in a sleeve: ``point``, ``axis``."""
        return self.joint("cylindrical", name, first, second, **fields)

    def screw(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A thread: ``point``, ``axis``, ``pitch`` (m per revolution)."""
        return self.joint("screw", name, first, second, **fields)

    def universal(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A Cardan cross: ``point``, ``axis`` on the first body, ``axis_2`` on the second."""
        return self.joint("universal", name, first, second, **fields)

    def spherical(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A ball and socket: ``point``."""
        return self.joint("spherical", name, first, second, **fields)

    def planar(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """Sliding on a plane: ``point``, ``axis`` (the normal)."""
        return self.joint("planar", name, first, second, **fields)

    def translational(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """Any translation, no rotation."""
        return self.joint("translational", name, first, second, **fields)

    def fixed(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A weld."""
        return self.joint("fixed", name, first, second, **fields)

    def free(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """No constraint at all: six degrees of freedom."""
        return self.joint("free", name, first, second, **fields)

    def point_on_line(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """``point`` of the second body stays on the line through it along ``axis`` of the first."""
        return self.joint("point-on-line", name, first, second, **fields)

    def point_on_plane(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """``point`` of the second body stays on the plane through it with normal ``axis`` of the first."""
        return self.joint("point-on-plane", name, first, second, **fields)

    def distance(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """``point`` of the first body and ``point_2`` of the second keep their distance (or ``length``)."""
        return self.joint("distance", name, first, second, **fields)

    def rolling_disc(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A disc rolls on a plane: centre ``point``, normal ``axis``, disc axis ``axis_2``, ``radius``."""
        return self.joint("rolling-disc", name, first, second, **fields)

    def rolling_sphere(self, name: str, first: Any, second: Any, **fields: Any) -> JointData:
        """A sphere rolls on a plane: centre ``point``, normal ``axis``, ``radius``."""
        return self.joint("rolling-sphere", name, first, second, **fields)

    def custom(self, name: str, first: Any, second: Any, *, point: Any, axis: Any = "z", **motion: Any) -> JointData:
        """Your own joint; see :class:`CustomMotion` for the fields."""
        return self.joint("custom", name, first, second, point=point, axis=axis, custom=motion)

    # Constraints and drives

    def gear(self, name: str, first: Any, second: Any, ratio: Any, **fields: Any) -> Gear:
        """Couple the angles of two joints:  q₁ = −ratio · q₂."""
        return self._constraint(Gear, name, joints=(first, second), ratio=ratio, **fields)

    def rack(self, name: str, pinion: Any, rack: Any, radius: Any, **fields: Any) -> Rack:
        """Couple an angle and a displacement."""
        return self._constraint(Rack, name, pinion=pinion, rack=rack, radius=radius, **fields)

    def coupler(self, name: str, terms: dict[Any, Any], **fields: Any) -> Coupler:
        """A linear relation between joint coordinates."""
        return self._constraint(Coupler, name, terms=terms, **fields)

    def constraint(self, name: str, formula: Any, level: str = "position", *, active: bool = True) -> Equation:
        """A formula that must vanish, at ``position`` or at ``velocity`` level."""
        return self._constraint(Equation, name, formula=formula, level=level, active=active)

    def explicit(self, name: str, joint: Any, formulas: Any, *, active: bool = True) -> Explicit:
        """The coordinates of a joint as formulas of those of others, e.g. ``model.explicit("c", "B", "-q(A)")``."""
        formulas = formulas if isinstance(formulas, (list, tuple)) else (formulas,)
        return self._constraint(Explicit, name, joint=joint, formulas=formulas, active=active)

    def drive(self, joint: Any, motion: Any, *, index: int = 0, name: str | None = None, active: bool = True) -> Drive:
        """Prescribe the motion of a joint coordinate, e.g. ``model.drive("A", "2*pi*t")``."""
        joint = getattr(joint, "name", joint)
        name = name or (f"{joint} drive" if index == 0 else f"{joint} drive {index}")
        return self._constraint(Drive, name, joint=joint, motion=motion, index=index, active=active)

    def _constraint(self, kind: Any, name: str, **fields: Any) -> Any:
        return self.append("constraints", _checked(kind, f"constraint {name!r}", name=name, **fields))

    # Forces

    def spring(self, name: str, first: Any, second: Any, **fields: Any) -> Spring:
        """A spring and damper between two points ``at=(p, q)``."""
        return self._force(Spring, name, bodies=(first, second), **fields)

    def torsional_spring(self, name: str, joint: Any, **fields: Any) -> TorsionalSpring:
        """A spring and damper on a joint coordinate."""
        return self._force(TorsionalSpring, name, joint=joint, **fields)

    def bushing(self, name: str, first: Any, second: Any, **fields: Any) -> Bushing:
        """An elastic bearing in all six directions."""
        return self._force(Bushing, name, bodies=(first, second), **fields)

    def force(self, name: str, body: Any, value: Any, **fields: Any) -> PointForce:
        """A force on a point of a body."""
        return self._force(PointForce, name, body=body, value=value, **fields)

    def torque(self, name: str, body: Any, value: Any, **fields: Any) -> Torque:
        """A torque on a body."""
        return self._force(Torque, name, body=body, value=value, **fields)

    def joint_force(self, name: str, joint: Any, value: Any, **fields: Any) -> JointForce:
        """A motor torque or a push on a joint coordinate."""
        return self._force(JointForce, name, joint=joint, value=value, **fields)

    def potential(self, name: str, formula: Any) -> Potential:
        """A potential energy (J), a formula of joint coordinates and body positions; its forces follow."""
        return self._force(Potential, name, formula=formula)

    def _force(self, kind: Any, name: str, **fields: Any) -> Any:
        return self.append("forces", _checked(kind, f"force {name!r}", name=name, **fields))

    # Outputs, events, initial state, sub-models

    def output(self, name: str, formula: Any, unit: str = "") -> Output:
        """Record a quantity along every trajectory."""
        return self.append("outputs", _checked(Output, f"output {name!r}", name=name, formula=formula, unit=unit))

    def event(
        self,
        name: str,
        when: Any,
        *,
        direction: str = "any",
        stop: bool = False,
        set: dict[Any, Any] | None = None,
        rates: dict[Any, Any] | None = None,
        switch: dict[Any, bool] | None = None,
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
        return self.append("events", _checked(Event, f"event {name!r}", name=name, when=when, **given))

    def initial(self, joint: Any, value: Any = None, rate: Any = None) -> None:
        """Start a joint at a coordinate and a velocity; the rest follows by assembly."""
        name = getattr(joint, "name", joint)
        for target, given in ((self.initial_values, value), (self.initial_rates, rate)):
            if given is not None:
                given = given if isinstance(given, (list, tuple)) else (given,)
                drawn = _checked(
                    JointData, f"initial of {name!r}", name=name, kind="", bodies=("a", "b"), reference=given
                )
                target[name] = drawn.reference or ()

    def velocities(self, **formulas: Any) -> None:
        """Quasi-velocities for analytical formalisms, linear in rates, e.g. ``model.velocities(w="u(A) - u(B)")``."""
        for name, value in formulas.items():
            given = _checked(Equation, f"velocity {name!r}", name=name, formula=value, level="velocity")
            self.quasi_velocities[name] = given.formula

    def add(
        self, model: Model, name: str, *, pose: Any = None, base: Any = "ground", parameters: Any = None
    ) -> SubModel:
        """Put a model inside this one; its elements are called ``name.element``."""
        fields = {"pose": pose} if pose is not None else {}
        sub = _checked(
            SubModel, f"sub-model {name!r}", name=name, model=model, base=base, parameters=parameters or {}, **fields
        )
        return self.append("submodels", sub)

    # Bookkeeping

    def append(self, section: str, element: Any, source: str | None = None) -> Any:
        """Add an element made elsewhere, as the file readers do."""
        self.sources[f"{section}[{len(getattr(self, section))}]"] = source if source is not None else _caller()
        getattr(self, section).append(element)
        return element

    def validate(self) -> None:
        """Raise one ModelError that lists everything that is wrong."""
        from dalembert.model.validate import problems

        found = problems(self)
        if found:
            raise ModelError(found)

    def to_data(self) -> dict[str, Any]:
        """The model as plain dictionaries, lists, numbers and texts."""
        from dalembert.model.document import to_document

        return to_document(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.to_data() == other.to_data()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(getattr(self, key))} {key}" for key in SECTIONS if getattr(self, key))
        return f"<Model {self.name!r}: {counts or 'empty'}>"


assert all(hasattr(Model, kind.replace("-", "_")) for kind in JOINTS), "every joint kind has a method on Model"


def _checked(kind: Any, what: str, /, **fields: Any) -> Any:
    """Make an element; what pydantic refuses becomes a ModelError at the caller's line."""
    try:
        return kind(**fields)
    except ValidationError as error:
        raise ModelError([_problem(what, kind, part, _caller()) for part in error.errors()]) from None


def _problem(what: str, kind: type[Element], part: Any, where: str) -> Problem:
    field = ".".join(str(step) for step in part["loc"])
    message = part["msg"].removeprefix("Value error, ")
    fix = ""
    if part["type"] == "extra_forbidden":
        message = "unknown field"
        fix = f"one of {', '.join(kind.model_fields)}"
    elif part["type"] == "missing":
        message = "is missing"
    return Problem(f"{what}: {field}: {message}" if field else f"{what}: {message}", "", fix, where)


def _caller() -> str:
    """File and line of the first frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
