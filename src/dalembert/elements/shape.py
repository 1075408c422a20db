"""What is drawn on a body."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dalembert.elements.base import Formula, FrameName, Record, Vector
from dalembert.elements.placement import Placement

__all__ = ["Shape"]


class Shape(Record):
    """Something to draw on a body. Sizes are numbers or formulas of parameters."""

    kind: Literal["box", "cylinder", "sphere", "capsule", "cone", "torus", "line", "mesh", "frame"] = Field(
        description="which solid; a mesh comes from a file, a frame is three arrows"
    )
    name: str | None = Field(None, max_length=200, description="what it shows, e.g. the link of a robot file")
    size: Vector | None = Field(None, description="edges of a box (m)")
    radius: Formula | None = Field(None, description="radius (m)")
    length: Formula | None = Field(
        None, description="length along z of a cylinder, capsule or cone; of a frame's arrows (m)"
    )
    tube: Formula | None = Field(None, description="radius of the tube of a torus (m)")
    points: tuple[Vector, ...] | None = Field(None, description="corners of a line (m)")
    file: str | None = Field(None, max_length=4000, description="STL or OBJ file of a mesh")
    scale: Vector | None = Field(None, description="factors on a mesh along its axes; default: 1, 1, 1")
    pose: Placement = Field(
        default_factory=lambda: Placement.model_validate({}),
        description="pose, in world axes of the reference configuration",
    )
    axis: Vector | None = Field(None, description="direction of the shape's z-axis, instead of a rotation")
    frame: FrameName = Field("world", description="'world', 'body', or a body's name")
    color: str | None = Field(None, pattern=r"^#[0-9a-fA-F]{6}$", description="as #rrggbb")
    opacity: float = Field(1.0, ge=0, le=1, description="0 … 1")
