"""The data of a model: bodies, shapes, outputs, events, sub-models. Pure data; no numerics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import sympy as sp
from pydantic import Field, model_validator

from dalembert.elements import (
    MOTION,
    BodyName,
    ConstraintName,
    Element,
    Formula,
    FrameName,
    Inertia3,
    Name,
    ParameterName,
    Placement,
    RateName,
    Shape,
    Vector,
)
from dalembert.elements.allowed import PASSING
from dalembert.expressions import reference
from dalembert.solids import AnySolid

__all__ = ["Body", "ContactEvent", "Event", "FrictionEvent", "Output", "Point", "Shape", "SubModel"]


class Body(Element):
    """A rigid body.

    Its frame has the axes of the world in the reference configuration and its origin at the center of mass, unless
    ``pose`` says otherwise.
    """

    mass: Formula = Field(0, validate_default=True, description="mass (kg)")
    com: Vector = Field((0, 0, 0), validate_default=True, description="center of mass (m)")
    inertia: Inertia3 = Field(
        (0, 0, 0),
        validate_default=True,
        description="about the center of mass (kg m²): (Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or a 3×3 "
        "matrix, entries of the tensor",
    )
    inertia_about: Literal["com", "origin"] = Field(
        "com",
        description="where inertia is about: 'com', or the 'origin' of the axes of com, as CAD programs give it",
    )
    pose: Placement | None = Field(None, description="pose of the body frame in the reference configuration")
    frame: FrameName = Field("world", description="'world' or 'body': the frame of com and inertia")
    shapes: tuple[Shape, ...] = Field((), description="what to draw; links are drawn between joints if empty")
    color: str | None = Field(None, pattern=r"^#[0-9a-fA-F]{6}$", description="as #rrggbb")
    solid: AnySolid | None = Field(
        None, description="a rod, box, disc …: com, inertia and shapes follow from its sizes, if they are not given"
    )

    @model_validator(mode="after")
    def _complete(self) -> Body:
        """Fill in what follows from the solid."""
        if self.inertia_about == "origin" and "inertia" not in self.model_fields_set:
            raise ValueError("inertia_about is for an inertia that is given; leave it out, or give inertia")
        if self.solid is None:
            return self
        if "mass" in self.model_fields_set and self.solid.density is not None:
            raise ValueError("mass and density exclude each other; leave one of them out")
        given = self.model_fields_set
        for key, value in self.implied().items():
            if key not in given:
                object.__setattr__(self, key, value)  # frozen from here on
        return self

    def implied(self) -> dict[str, Any]:
        if self.solid is None:
            return {}
        own = "mass" in self.model_fields_set and self.solid.density is None
        mass = self.mass if own else self.solid.mass()
        shape = self.solid.shape().model_copy(update={"frame": self.frame})
        rest = {"com": self.solid.centroid(), "inertia": self.solid.inertia(mass), "shapes": (shape,)}
        return rest if own else {"mass": mass, **rest}

    @property
    def position(self) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
        """World position (x, y, z) of the body's origin, for use in formulas."""
        return self._quantities("x", "y", "z")

    @property
    def velocity(self) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
        """World velocity of the body's origin, for use in formulas."""
        return self._quantities("vx", "vy", "vz")

    @property
    def angular_velocity(self) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
        """Angular velocity in world axes, for use in formulas."""
        return self._quantities("wx", "wy", "wz")

    def _quantities(self, *names: str) -> Any:
        return tuple(reference(name, self.name) for name in names)


class Point(Element):
    """A point of a body, which formulas name as they name bodies: ``x(tip)``, ``vz(tip)``, ``distance(tip, hook)``."""

    body: BodyName = Field(description="the body that carries it")
    at: Vector = Field(description="where it is in the reference configuration (m)")
    frame: FrameName = Field("world", description="'world', 'body', or a body's name: the frame of ``at``")


class Output(Element):
    """A quantity to record along a trajectory."""

    formula: Annotated[Formula, MOTION] = Field(description="formula of t, q(), u(), x() … and parameters")
    unit: str = Field("", description="for labels")


class Event(Element):
    """Something that happens when a quantity passes through zero: an end stop, a clutch, a switch.

    All formulas are evaluated just before the event. New velocities are imposed by an impact: the others change as the
    masses and the constraints that are then on demand. An event without any action records its time.
    """

    when: Annotated[Formula, PASSING] = Field(
        description="formula of t, q(), u(), x() … and parameters that passes through zero"
    )
    direction: Literal["rising", "falling", "any"] = Field("any", description="which way it passes")
    stop: bool = Field(False, description="True: the run ends here")
    set: Annotated[dict[ParameterName, Formula], MOTION] = Field(
        default_factory=dict, description="new value of each parameter"
    )
    rates: Annotated[dict[RateName, Formula], MOTION] = Field(
        default_factory=dict, description="new velocity of each joint; joint[i] where a joint has more than one"
    )
    switch: dict[ConstraintName, bool] = Field(
        default_factory=dict, description="constraints and drives to switch on (true) or off (false)"
    )

    @property
    def signs(self) -> tuple[int, ...]:
        """The signs with which ``when`` rises where the event happens."""
        return {"rising": (1,), "falling": (-1,), "any": (1, -1)}[self.direction]

    @property
    def acts(self) -> bool:
        """Whether it changes parameters, velocities or what is switched on."""
        return bool(self.set or self.rates or self.switch)

    @property
    def rate_targets(self) -> list[tuple[str, int]]:
        """Joint and index of each of the ``rates``."""
        parts = [key.removesuffix("]").partition("[") for key in self.rates]
        return [(joint, int(index or 0)) for joint, _, index in parts]


class ContactEvent(Event):
    """What happens to a one-sided constraint in a run: a gap closes, or the force that holds it closed would pull.

    Attributes:
        side: the gap that closes; −1: it opens again; −2: it has come to rest, which a run only notes.
    """

    contact: str
    side: int


class FrictionEvent(Event):
    """What happens to friction in a run: what slips comes to a halt, or what sticks breaks loose.

    Attributes:
        sticks: True for the first of these.
    """

    friction: str
    sticks: bool


class SubModel(Element):
    """A model inside a model; its names get the prefix ``name.``, its ground becomes ``base``."""

    model: Any = Field(description="the model")
    pose: Placement = Field(
        default_factory=lambda: Placement.model_validate({}),
        description="pose of its world, in the reference configuration",
    )
    base: BodyName = Field("ground", description="body of this model that is the ground of the sub-model")
    parameters: dict[Name, Formula] = Field(default_factory=dict, description="its parameters, as formulas of ours")
    inputs: Annotated[dict[Name, Formula], MOTION] = Field(
        default_factory=dict, description="its inputs, as formulas of t and of our states, inputs and motion"
    )
