"""A joint as drawn: the fields that every joint has. Quantities of its own are fields of a class derived from this."""

from __future__ import annotations

import sympy as sp
from pydantic import Field

from dalembert.elements import BodyName, Element, Formula, FrameName, Placement, Vector
from dalembert.expressions import reference

__all__ = ["GEOMETRY", "JointData"]

GEOMETRY = ("point", "axis", "axis_2", "point_2")


class JointData(Element):
    """A joint between two bodies, as drawn in the reference configuration."""

    kind: str = Field(description="one of the catalog")
    bodies: tuple[BodyName, BodyName] = Field(description="first and second body; 'ground' is the world")
    point: Vector | None = Field(
        None, description="a point of the joint (m); the center, for rolling", examples=[[0, 0, 0]]
    )
    axis: Vector | None = Field(None, description="its axis; the normal, for planes", examples=[[0, 0, 1]])
    axis_2: Vector | None = Field(
        None, description="second axis of a universal joint, axis of a rolling disc", examples=[[0, 1, 0]]
    )
    point_2: Vector | None = Field(
        None, description="point on the second body, for a distance (m)", examples=[[0, 0, 1]]
    )
    frame: FrameName = Field("world", description="'world' or the body in whose frame points and axes are given")
    frame_1: Placement | None = Field(None, description="joint frame on the first body, in its frame; with frame_2")
    frame_2: Placement | None = Field(None, description="joint frame on the second body, in its frame")
    reference: tuple[Formula, ...] | None = Field(None, description="coordinates in the reference configuration")
    armature: Formula | None = Field(
        None, description="rotor inertia on each velocity of the joint (kg m², or kg): kinetic energy ½ a u²"
    )
    cut: bool = Field(False, description="True: close a loop here, keep it out of the spanning tree")

    @property
    def q(self) -> sp.Expr:
        """The first coordinate, for use in formulas."""
        return reference("q", self.name)

    @property
    def u(self) -> sp.Expr:
        """The first velocity, for use in formulas."""
        return reference("u", self.name)

    def coordinate(self, index: int) -> sp.Expr:
        """A coordinate, for use in formulas."""
        return reference("q", self.name, index)

    def velocity(self, index: int) -> sp.Expr:
        """A velocity, for use in formulas."""
        return reference("u", self.name, index)
