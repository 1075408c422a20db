"""Where a frame is, as people write it down."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import sympy as sp
from pydantic import Field, ValidationError, model_validator

from dalembert.algebra import Algebra
from dalembert.elements.base import Formula, Record, Vector
from dalembert.errors import ModelError, Problem
from dalembert.spatial import Pose, quaternion, so3
from dalembert.values import DICT, SEQUENCE

__all__ = ["Placement"]


class Placement(Record):
    """Where a frame is: a position and, if turned, one description of the rotation.

    A plain position will do wherever a placement is asked for.

    Attributes:
        position: of the origin (m).
        rpy, quaternion, rotation: one of them, or none: roll, pitch and yaw (rad) about the fixed x, then y, then z
            axes; (w, x, y, z); a matrix, row by row.

    Example:
        model = da.Model("wedge")
        model.box("wedge", da.Placement(position=(0, 0, 1), rpy=(0, 0.5, 0)), (0.2, 0.1, 0.1), mass=1.0)
    """

    position: Vector = Field((0, 0, 0), validate_default=True, description="position of the origin (m)")
    rpy: Vector | None = Field(None, description="roll, pitch, yaw (rad): turns about the fixed x, then y, then z axes")
    quaternion: tuple[Formula, Formula, Formula, Formula] | None = Field(None, description="(w, x, y, z), normalized")
    rotation: tuple[Vector, Vector, Vector] | None = Field(None, description="rotation matrix, row by row")

    @model_validator(mode="before")
    @classmethod
    def _accept_position(cls, value: Any) -> Any:
        """A plain position, (position, quaternion) or (position, matrix) will do."""
        if isinstance(value, (*DICT, Placement)) or value is None:
            return value
        if isinstance(value, SEQUENCE) and len(value) == 2:
            position, turn = value
            if not hasattr(turn, "__len__"):
                raise ValueError(f"expected a position, or a position and a rotation, got {value!r}")
            key = "quaternion" if len(turn) == 4 else "rotation"
            return {"position": position, key: turn}
        return {"position": value}

    @model_validator(mode="after")
    def _one_rotation(self) -> Placement:
        if sum(part is not None for part in (self.rpy, self.quaternion, self.rotation)) > 1:
            raise ValueError("give one of rpy, quaternion, rotation, not several")
        return self

    def pose(self, al: Algebra, evaluate: Callable[[sp.Expr], Any]) -> Pose:
        """The pose in an algebra."""

        def vector(values: Any) -> Any:
            return al.array([evaluate(value) for value in values])

        if self.rpy is not None:
            roll, pitch, yaw = (evaluate(angle) for angle in self.rpy)
            R = so3.rotation_z(al, yaw) @ so3.rotation_y(al, pitch) @ so3.rotation_x(al, roll)
        elif self.quaternion is not None:
            R = quaternion.to_matrix(al, quaternion.normalize(al, vector(self.quaternion)))
        elif self.rotation is not None:
            R = al.array([vector(row) for row in self.rotation])
        else:
            R = al.eye(3)
        return Pose(R, vector(self.position))


def _in_words(make: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(make)
    def made(self: Placement, **fields: Any) -> None:
        try:
            make(self, **fields)
        except ValidationError as error:
            found = [(".".join(map(str, part["loc"])), part["msg"]) for part in error.errors()]
            raise ModelError(
                [Problem(f"placement: {field}: {said.removeprefix('Value error, ')}") for field, said in found]
            ) from None

    return made


# Set when the class is complete: pydantic does not call it for parts of elements, whose problems it collects.
setattr(Placement, "__init__", _in_words(Placement.__init__))  # noqa: B010
