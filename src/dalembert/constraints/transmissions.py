"""Cables over pulleys, and belts around wheels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
import sympy as sp
from pydantic import Field, field_validator

from dalembert.constraints.base import Constraint
from dalembert.elements import BodyName, Formula, FrameName, JointName, Motion, Site, Vector
from dalembert.elements.allowed import TIMES
from dalembert.spatial.so3 import cross

__all__ = ["Belt", "Cable"]

IN_PLANE = 1e-9  # of the size of a cable: how far from one plane the centers of its wheels may be drawn


class Cable(Constraint):
    """A cable of constant length from point to point, through eyelets and over wheels without friction.

    Between wheels of signed radii ρᵢ, ρⱼ at distance d it is straight, of length ℓ = √(d² − (ρⱼ − ρᵢ)²); on a wheel it
    lies along an arc |ρ ψ|. Its length is the one drawn, and what is fed since. The reaction is the tension: a negative
    one pushes, which no cable can.
    """

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
        elif radii and self.frame == "world":
            self._check_drawing(site, radii)

    def path(self) -> list[tuple[str, Any, str]]:
        return [(body, at, self.frame) for body, at in zip(self.bodies, self.at, strict=True)]

    def wraps(self) -> tuple[Sequence[sp.Expr], Sequence[sp.Expr]] | None:
        return (self.radii, self.axis) if any(radius != 0 for radius in self.radii) else None

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
            if distance <= abs(radii[i + 1] - radii[i]):
                message = f"{distance:g} m from the one before: no straight cable reaches from wheel to wheel"
                site.report(f"at[{i + 1}]", message, "move them apart, or take smaller radii")
            elif (radii[i] or radii[i + 1]) and abs(step @ n) > IN_PLANE * np.linalg.norm(n) * apart.max():
                site.report(f"at[{i + 1}]", "wheels and the points next to them must lie in one plane across the axis")

    def position(self, motion: Motion) -> list[Any]:
        al = motion.al
        local = [motion.local_point(body, at, self.frame) for body, at in zip(self.bodies, self.at, strict=True)]
        drawn = [motion.reference(body).apply(point) for body, point in zip(self.bodies, local, strict=True)]
        moved = [motion.body(body)[0].apply(point) for body, point in zip(self.bodies, local, strict=True)]
        radii = [motion.evaluate(radius) for radius in self.radii] or [al.constant(0)] * len(moved)
        # The axis turns with the body that carries the first wheel, and with the world that it was drawn in.
        wheel = next((i for i, radius in enumerate(self.radii) if radius != 0), 0)
        axis = al.array([motion.evaluate(component) for component in self.axis])
        axis = motion.local_axes(self.bodies[wheel], None, self.frame) @ (axis / al.sqrt(axis @ axis))
        axes = (motion.reference(self.bodies[wheel]).R @ axis, motion.body(self.bodies[wheel])[0].R @ axis)
        before, after = (_straights(al, points, radii, n) for points, n in zip((drawn, moved), axes, strict=True))
        shorter = motion.evaluate(self.feed)
        for (old, _), (new, _) in zip(before, after, strict=True):
            shorter = shorter + old - new
        for i, radius in enumerate(self.radii):
            if 0 < i < len(moved) - 1 and radius != 0:
                (c_0, s_0), (c, s) = (
                    _turn(n, parts[i - 1][1], parts[i][1]) for n, parts in zip(axes, (before, after), strict=True)
                )
                shorter = shorter + radii[i] * al.atan2(c * s_0 - s * c_0, c * c_0 + s * s_0)
        return [shorter]


def _straights(al: Any, points: Sequence[np.ndarray], radii: Sequence[Any], n: np.ndarray) -> list[tuple[Any, Any]]:
    """Length and direction e of each straight part:  d = ℓ e − δ e × n,  δ = ρⱼ − ρᵢ,  so  e = (ℓ d − δ n × d)/d²."""
    found: list[tuple[Any, Any]] = []
    for i, (one, other) in enumerate(pairwise(points)):
        d, delta = other - one, radii[i + 1] - radii[i]
        square = d @ d
        length = al.sqrt(square - delta * delta)
        found.append((length, (length * d - delta * cross(n, d)) / square))
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
