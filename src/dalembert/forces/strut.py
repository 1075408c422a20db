"""A force between two points as a formula: gas springs, rubber bands, cylinders, tendons."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dalembert.elements import BodyName, Formula, FrameName, Load, Motion, Site, Vector, check_two_bodies
from dalembert.elements.allowed import LAW
from dalembert.expressions import parameter, reference
from dalembert.expressions.symbols import LINE_QUANTITIES
from dalembert.forces.base import End, Force
from dalembert.spatial.pose import Pose
from dalembert.spatial.so3 import cross

__all__ = ["Line", "Strut", "line_between"]

# The two ends (name, pose, point), the vector from first to second, its length and its rate.
Line = tuple[list[tuple[str, Pose, np.ndarray]], np.ndarray, Any, Any]


def line_between(motion: Motion, bodies: tuple[str, str], at: tuple[Any, Any], frame: str) -> Line:
    """The line between points of two bodies."""
    ends: list[tuple[str, Pose, np.ndarray]] = []
    velocity: list[np.ndarray] = []
    for name, point in zip(bodies, at, strict=True):
        X, V = motion.body(name)
        local = motion.local_point(name, point, frame)
        ends.append((name, X, local))
        velocity.append(X.R @ (V[3:] + cross(V[:3], local)))
    d = ends[1][1].apply(ends[1][2]) - ends[0][1].apply(ends[0][2])
    length = motion.al.sqrt(d @ d)
    return ends, d, length, (d @ (velocity[1] - velocity[0])) / length


class Strut(Force):
    """A force along the line between two points, pushing them apart where it is positive.

    Its formula may name ``length``, the distance of the points, and ``rate``, by which it grows, besides the motion,
    states, inputs and tables. Where the points meet its direction is undefined.
    """

    balanced: ClassVar[bool] = True
    kind: Literal["strut"] = "strut"
    bodies: tuple[BodyName, BodyName] = Field(description="the two bodies")
    at: tuple[Vector, Vector] = Field(description="attachment points in the reference configuration (m)")
    push: Annotated[Formula, LAW] = Field(
        description="force that pushes the points apart (N), a formula of length, rate, t, q(), u() … and parameters"
    )
    frame: FrameName = Field("world", description="'world', 'body' (each point in its own body), or a body's name")

    def check(self, site: Site) -> None:
        check_two_bodies(site, self.bodies)

    def in_full(self) -> Strut:
        swap: dict[Any, Any] = {parameter(name): reference(name, self.name) for name in LINE_QUANTITIES}
        return self.model_copy(update={"push": self.push.xreplace(swap)})

    def ends(self) -> tuple[End, End]:
        (first, second), (p, q) = self.bodies, self.at
        return (first, p, self.frame), (second, q, self.frame)

    def telescopes(self) -> bool:
        return True

    def loads(self, motion: Motion, load: Load) -> None:
        ends, d, length, _ = line_between(motion, self.bodies, self.at, self.frame)
        push = motion.evaluate(self.push) / length * d
        for (body, X, point), force in zip(ends, (-push, push), strict=True):
            load.force_at(body, X, point, force, False)
