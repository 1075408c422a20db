"""Cables over pulleys, and belts around wheels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import sympy as sp
from pydantic import Field, field_validator

from dalembert.constraints.base import Constraint
from dalembert.elements import BodyName, Formula, FrameName, JointName, Motion, Site, Vector
from dalembert.elements.allowed import TIMES
from dalembert.errors import ModelError
from dalembert.spatial.so3 import cross
from dalembert.values import NUMBER

__all__ = ["Belt", "Cable", "Laid"]

COINCIDE = "is the same point as the one before: a part of a cable without length has no direction"
IN_PLANE = 1e-9  # of the size of a cable: how far from one plane the centers of its wheels may be drawn


class Laid(NamedTuple):
    """How a cable is laid: its points in the axes of their bodies and as drawn, radii, and the axis of the wheels in
    the axes of the bodies that carry them, by their place along the cable."""

    points: list[np.ndarray]
    drawn: list[np.ndarray]
    radii: list[Any]
    axes: dict[int, np.ndarray]


class Cable(Constraint):
    """A cable of constant length from point to point, through eyelets and over wheels without friction.

    Between wheels of signed radii ρᵢ, ρⱼ at distance d it is straight, of length ℓ = √(d² − (ρⱼ − ρᵢ)²); on a wheel it
    lies along an arc |ρ ψ|. Its length is the one drawn, and what is fed since. The reaction is the tension: a negative
    one pushes, which no cable can. All wheels and the points next to them stay in one plane: out of it a cable without
    friction has no place on its wheel where it is in balance.
    """

    pulls: ClassVar[bool] = True

    kind: Literal["cable"] = "cable"
    bodies: tuple[BodyName, ...] = Field(description="from end to end: the bodies that carry its ends, eyelets, wheels")
    at: tuple[Vector, ...] = Field(description="ends, eyelets and centers of wheels in the reference configuration (m)")
    radii: tuple[Formula, ...] = Field(
        (), description="of the wheels (m): positive where the cable runs counterclockwise about the axis, 0 for points"
    )
    axis: Vector = Field("z", validate_default=True, description="axis of all wheels, as drawn on their bodies")
    feed: Annotated[Formula, TIMES] = Field(
        0, validate_default=True, description="length that is paid out since the drawing, a formula of t (m)"
    )
    frame: FrameName = Field("world", description="'world', 'body' (each point in its own body), or a body's name")

    def check(self, site: Site) -> None:
        n = len(self.bodies)
        if n < 2 or len(self.at) != n or len(self.radii) not in (0, n):
            given = f"got {n} bodies, {len(self.at)} points and {len(self.radii)} radii"
            site.report("at", f"a cable needs as many points (and radii) as bodies, and at least two; {given}")
            return
        if len(set(self.bodies)) == 1:
            message = f"must run between different bodies, got only {self.bodies[0]!r}"
            site.report("bodies", message, "name another body, or ground")
        radii = site.vector(self.radii)
        if radii and (radii[0] or radii[-1]):
            site.report(
                "radii", "a cable ends at points: the first and the last radius must be 0", "radii: [0, 0.1, 0]"
            )
        elif self.frame == "world":
            self._check_drawing(site, radii or [0.0] * n)

    @property
    def wheels(self) -> list[int]:
        return [i for i, radius in enumerate(self.radii) if radius != 0]

    def path(self) -> list[tuple[str, Any, str]]:
        return [(body, at, self.frame) for body, at in zip(self.bodies, self.at, strict=True)]

    def wraps(self) -> tuple[Sequence[sp.Expr], Sequence[sp.Expr]] | None:
        return (self.radii, self.axis) if self.wheels else None

    def _check_drawing(self, site: Site, radii: list[float]) -> None:
        points = [site.vector(point) for point in self.at]
        axis = site.vector(self.axis)
        if axis is None or any(point is None for point in points):
            return
        n, drawn = np.array(axis), np.array(points)
        if not np.any(n):
            site.report("axis", "axis must not be zero", "axis: z")
            return
        steps = np.diff(drawn, axis=0)
        apart = np.linalg.norm(steps, axis=1)
        for i, (step, distance) in enumerate(zip(steps, apart, strict=True)):
            if distance == 0:
                site.report(f"at[{i + 1}]", COINCIDE, "move them apart, or leave one out")
            elif distance <= abs(radii[i + 1] - radii[i]):
                message = f"{distance:g} m from the one before: no straight cable reaches from wheel to wheel"
                site.report(f"at[{i + 1}]", message, "move them apart, or take smaller radii")
            elif (radii[i] or radii[i + 1]) and abs(step @ n) > IN_PLANE * np.linalg.norm(n) * apart.max():
                site.report(f"at[{i + 1}]", "wheels and the points next to them must lie in one plane across the axis")

    def laid(self, motion: Motion) -> Laid:
        """Where its points and wheels are on their bodies.

        Raises:
            ModelError: two neighboring points coincide as drawn.
        """
        al = motion.al
        points = [motion.local_point(body, at, self.frame) for body, at in zip(self.bodies, self.at, strict=True)]
        drawn = [motion.reference(body).apply(point) for body, point in zip(self.bodies, points, strict=True)]
        for i, (one, other) in enumerate(pairwise(drawn)):
            square = (other - one) @ (other - one)
            if isinstance(square, NUMBER) and square == 0:
                raise ModelError(
                    f"cable {self.name!r}: at[{i + 1}] {COINCIDE}.  Fix: move them apart, or leave one out"
                )
        radii = [motion.evaluate(radius) for radius in self.radii] or [al.constant(0)] * len(points)
        axis = al.array([motion.evaluate(component) for component in self.axis])
        axis = axis / al.sqrt(axis @ axis)
        axes = {i: motion.local_axes(self.bodies[i], self.frame) @ axis for i in self.wheels}
        return Laid(points, drawn, radii, axes)

    def position(self, motion: Motion) -> list[Any]:
        al, laid = motion.al, self.laid(motion)
        moved = [motion.body(body)[0].apply(point) for body, point in zip(self.bodies, laid.points, strict=True)]
        shorter = motion.evaluate(self.feed)
        for old, new in zip(_lengths(al, laid.drawn, laid.radii), _lengths(al, moved, laid.radii), strict=True):
            shorter = shorter + old - new
        if not self.wheels:
            return [shorter]
        # The axis turns with the body that carries the first wheel, and with the world that it was drawn in.
        first, axis = next(iter(laid.axes.items()))
        axes = (motion.reference(self.bodies[first]).R @ axis, motion.body(self.bodies[first])[0].R @ axis)
        before, after = (
            _directions(al, points, laid.radii, n) for points, n in zip((laid.drawn, moved), axes, strict=True)
        )
        for i in self.wheels:
            if 0 < i < len(moved) - 1:
                (c_0, s_0), (c, s) = (
                    _turn(n, parts[i - 1], parts[i]) for n, parts in zip(axes, (before, after), strict=True)
                )
                shorter = shorter + laid.radii[i] * al.atan2(c * s_0 - s * c_0, c * c_0 + s * s_0)
        return [shorter]


def _lengths(al: Any, points: Sequence[np.ndarray], radii: Sequence[Any]) -> list[Any]:
    """ℓ = √(d² − δ²) of each straight part, δ = ρⱼ − ρᵢ."""
    found: list[Any] = []
    for i, (one, other) in enumerate(pairwise(points)):
        d, delta = other - one, radii[i + 1] - radii[i]
        found.append(al.sqrt(d @ d - delta * delta))
    return found


def _directions(al: Any, points: Sequence[np.ndarray], radii: Sequence[Any], n: np.ndarray) -> list[Any]:
    """Direction e of each straight part:  d = ℓ e − δ e × n,  so  e = (ℓ d − δ n × d)/d²."""
    found: list[Any] = []
    for i, length in enumerate(_lengths(al, points, radii)):
        d, delta = points[i + 1] - points[i], radii[i + 1] - radii[i]
        found.append((length * d - delta * cross(n, d)) / (d @ d))
    return found


def _turn(n: np.ndarray, e: np.ndarray, after: np.ndarray) -> tuple[Any, Any]:
    """Cosine and sine of the angle about n from one direction to another."""
    return e @ after, n @ cross(e, after)


class Belt(Constraint):
    """A belt without slip around wheels whose centers keep their distance:  ρᵢ qᵢ = ρ₁ q₁ + const.

    Signs of the radii tell which way the belt runs around a wheel; those of a crossed belt differ.
    """

    kind: Literal["belt"] = "belt"
    joints: tuple[JointName, ...] = Field(description="the joints of the wheels, in the order in which it is drawn")
    radii: tuple[Formula, ...] = Field(description="their radii (m); negative where the belt runs the other way around")

    @field_validator("joints")
    @classmethod
    def _several(cls, joints: tuple[str, ...]) -> tuple[str, ...]:
        if len(joints) < 2 or len(set(joints)) < len(joints):
            raise ValueError("expected two or more different joints")
        return joints

    def check(self, site: Site) -> None:
        for i, joint in enumerate(self.joints):
            site.check_coordinate(f"joints[{i}]", joint)
        if len(self.radii) != len(self.joints):
            site.report("radii", f"expected {len(self.joints)} radii, one for each joint, got {len(self.radii)}")
        for i, radius in enumerate(self.radii):
            if site.value(radius) == 0:
                site.report(f"radii[{i}]", "radius must not be zero, got 0", "e.g. 0.1")

    def loop(self) -> list[tuple[str, sp.Expr]]:
        return list(zip(self.joints, self.radii, strict=True))

    def position(self, motion: Motion) -> list[Any]:
        run = [
            motion.evaluate(radius) * motion.joint(joint)[0][0]
            for joint, radius in zip(self.joints, self.radii, strict=True)
        ]
        return [other - run[0] for other in run[1:]]
