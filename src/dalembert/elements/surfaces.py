"""Surfaces that touch: few kinds, in pairs whose distance is a formula, smooth and exact in every algebra.

The second surface is kept away from the first. Of each pair: the gap, a point of contact, and the gradient of the gap
there with respect to a motion of the second body; the unit normal, except on curves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

import numpy as np
import sympy as sp
from pydantic import Field

from dalembert.elements.allowed import PARAMETERS, Allowed
from dalembert.elements.base import Formula, Record, Vector
from dalembert.elements.motion import Motion
from dalembert.elements.site import Site
from dalembert.expressions import evaluate, parameter
from dalembert.expressions.symbols import Reference
from dalembert.spatial.so3 import cross

__all__ = ["Surface", "Touching", "check_pair", "curvature_radius", "slipping", "touching"]

ANGLE = parameter("angle")
POLAR = Allowed("`angle` (curves only)", "only parameters, and angle on a curve, may stand here", local=("angle",))
TINY = 1e-30  # under roots that vanish where a disc lies flat: finite derivatives there
SAMPLES = 720  # of a curve, looked at while it is checked
_NEEDS_AXIS = ("plane", "disc", "curve")


class Surface(Record):
    """A surface of a body that may touch another one."""

    kind: Literal["point", "sphere", "plane", "disc", "curve", "mesh"] = Field(
        description="'point', 'sphere', 'plane', 'disc' (a thin wheel: its rim), 'curve' (a cam, by its polar radius)"
    )
    at: Vector = Field((0, 0, 0), validate_default=True, description="center, or a point of the plane (m)")
    axis: Vector | None = Field(None, description="normal of the plane, out of the solid; axis of a disc or a curve")
    start: Vector | None = Field(None, description="direction of a curve's angle zero, normal to its axis")
    radius: Formula = Field(
        0, validate_default=True, description="(m); of a curve: a formula of angle, e.g. 0.03 + 0.01*cos(angle)"
    )
    inside: bool = Field(False, description="True: a hollow sphere; the other surface is inside it")

    def may_name(self, field: str) -> Allowed:
        return POLAR if field == "radius" and self.kind == "curve" else PARAMETERS


@dataclass(frozen=True)
class Touching:
    """A pair of surfaces at one instant, in world axes.

    Attributes:
        gap: positive where they are apart (m).
        point: of contact.
        gradient: the force λ·gradient acts at the point on the second body, its opposite on the first one.
    """

    gap: Any
    point: np.ndarray
    gradient: np.ndarray


@dataclass(frozen=True)
class _Placed:
    """A surface where it is now."""

    surface: Surface
    center: np.ndarray
    axis: np.ndarray | None
    start: np.ndarray | None
    radius: Any


def touching(motion: Motion, bodies: tuple[str, str], surfaces: tuple[Surface, Surface], frame: str) -> Touching:
    """Gap, point and gradient of a pair of surfaces."""
    first, second = (_placed(motion, body, given, frame) for body, given in zip(bodies, surfaces, strict=True))
    kinds = _kinds(surfaces)
    if kinds in PAIRS:
        return PAIRS[kinds](motion, first, second)
    found = PAIRS[kinds[1], kinds[0]](motion, second, first)
    return Touching(found.gap, found.point, -found.gradient)


def check_pair(site: Site, bodies: tuple[str, str], surfaces: tuple[Surface, Surface]) -> None:
    """Report what is wrong with a pair of surfaces."""
    if bodies[0] == bodies[1]:
        site.report("bodies", f"must act between two different bodies, got {bodies[0]!r} twice", "name another body")
    kinds = (surfaces[0].kind, surfaces[1].kind)
    if "mesh" in kinds:
        message = "a mesh touches nothing: contact is between surfaces with a formula"
        site.report("surfaces", message, "spheres or points where it touches, against a plane, a sphere or a curve")
    elif _kinds(surfaces) not in PAIRS and _kinds(surfaces)[::-1] not in PAIRS:
        known = ", ".join(sorted(f"{a} and {b}" for a, b in PAIRS))
        site.report("surfaces", f"{kinds[0]} against {kinds[1]} is no pair that is known", f"one of {known}")
    for i, surface in enumerate(surfaces):
        _check_surface(site, f"surfaces[{i}]", surface)
    hollow = [surface.inside for surface in surfaces]
    if all(hollow):
        site.report("surfaces", "both surfaces are hollow", "inside: true on one of them")
    if any(hollow) and kinds == ("sphere", "sphere"):
        big, small = (site.value(surfaces[hollow.index(side)].radius) for side in (True, False))
        if big is not None and small is not None and small >= big:
            site.report("surfaces", f"a sphere of radius {small:g} does not fit into one of {big:g}", "a smaller one")
    for one, other in (surfaces, surfaces[::-1]):
        if one.kind == "curve" and other.kind == "sphere" and site.value(other.radius) != 0:
            message = "a roller touches a curve beside its center"
            site.report("surfaces", message, "a point at its center, and the curve that this follows (pitch curve)")


def _check_surface(site: Site, path: str, surface: Surface) -> None:
    if surface.kind in _NEEDS_AXIS:
        axis = site.vector(surface.axis)
        if surface.axis is None or (axis is not None and not any(axis)):
            site.report(f"{path}.axis", f"a {surface.kind} needs an axis", "axis: z")
    if surface.kind == "curve":
        _check_curve(site, path, surface)
        return
    radius = site.value(surface.radius)
    if radius is not None and (radius < 0 or (radius == 0 and surface.kind == "disc")):
        site.report(f"{path}.radius", f"radius must be positive, got {radius:g}", "radius: 0.1")
    if surface.kind in ("point", "plane") and surface.radius != 0:
        site.report(f"{path}.radius", f"a {surface.kind} has no radius", "leave it out")
    if surface.inside and surface.kind != "sphere":
        site.report(f"{path}.inside", f"a {surface.kind} is not hollow", "inside: true is for spheres")


def _check_curve(site: Site, path: str, surface: Surface) -> None:
    """A polar radius that stays positive and closes does not cross itself."""
    axis, start = site.vector(surface.axis), site.vector(surface.start)
    if surface.start is None or (start is not None and not any(start)):
        site.report(f"{path}.start", "a curve needs the direction of its angle zero", "start: x")
    elif axis is not None and start is not None and abs(np.dot(axis, start)) > 1e-9 * np.linalg.norm(axis):
        site.report(f"{path}.start", "start must be normal to the axis", "start: x, axis: z")

    def radius(angle: float) -> float | None:
        return site.value(cast(sp.Expr, surface.radius.xreplace({ANGLE: sp.Float(angle)})))

    found = [radius(angle) for angle in np.linspace(0.0, 2 * np.pi, SAMPLES + 1)]
    if any(value is None for value in found):
        return  # reported as a formula without a value
    values = np.array(found, dtype=float)
    least = int(np.argmin(values))
    if values[least] <= 0:
        message = f"the curve crosses itself: its radius is {values[least]:.4g} at angle = {least * 2 / SAMPLES:.4g} π"
        site.report(f"{path}.radius", message, "a radius above zero all round")
    elif abs(values[-1] - values[0]) > 1e-9 * values.max():
        message = f"the curve does not close: radius {values[0]:.6g} at 0, {values[-1]:.6g} at 2 π"
        site.report(f"{path}.radius", message, "a formula of sin(angle), cos(angle), or sin(2*angle) …")


def curvature_radius(motion: Motion, surfaces: tuple[Surface, Surface]) -> Any:
    """R of Hertz's law: 1/R = 1/R₁ + 1/R₂, less for hollow ones; a plane has no curvature."""
    curvature: Any = 0
    for surface in surfaces:
        if surface.kind in ("sphere", "disc"):
            part = 1 / motion.evaluate(surface.radius)
            curvature = curvature - part if surface.inside else curvature + part
    return 1 / curvature


def slipping(motion: Motion, bodies: tuple[str, str], point: np.ndarray) -> np.ndarray:
    """Velocity of the second body against the first at a point of the world."""
    parts: list[np.ndarray] = []
    for name in bodies:
        X, V = motion.body(name)
        parts.append(X.R @ (V[3:] + cross(V[:3], X.R.T @ (point - X.p))))
    return parts[1] - parts[0]


def _kinds(surfaces: tuple[Surface, Surface]) -> tuple[str, str]:
    """A point is a sphere without radius, but on a curve."""
    kinds = [surface.kind for surface in surfaces]
    if "curve" not in kinds:
        kinds = ["sphere" if kind == "point" else kind for kind in kinds]
    else:
        kinds = ["point" if kind == "sphere" else kind for kind in kinds]
    return kinds[0], kinds[1]


def _placed(motion: Motion, body: str, surface: Surface, frame: str) -> _Placed:
    X, _ = motion.body(body)
    axes = motion.local_axes(body, None, frame)

    def direction(given: Any) -> np.ndarray | None:
        if given is None:
            return None
        d = axes @ motion.al.array([motion.evaluate(component) for component in given])
        return X.R @ (d / motion.al.sqrt(d @ d))

    center = X.apply(motion.local_point(body, surface.at, frame))
    radius = surface.radius if surface.kind == "curve" else motion.evaluate(surface.radius)
    return _Placed(surface, center, direction(surface.axis), direction(surface.start), radius)


def _on_plane(motion: Motion, plane: _Placed, ball: _Placed) -> Touching:
    n = cast(np.ndarray, plane.axis)
    gap = (ball.center - plane.center) @ n - ball.radius
    return Touching(gap, ball.center - ball.radius * n, n)


def _two_spheres(motion: Motion, one: _Placed, other: _Placed) -> Touching:
    d = other.center - one.center
    distance = motion.al.sqrt(d @ d)
    n = d / distance
    if one.surface.inside:
        return Touching(one.radius - distance - other.radius, other.center + other.radius * n, -n)
    if other.surface.inside:
        return Touching(other.radius - distance - one.radius, one.center - one.radius * n, -n)
    return Touching(distance - one.radius - other.radius, one.center + one.radius * n, n)


def _disc_on_plane(motion: Motion, plane: _Placed, disc: _Placed) -> Touching:
    """The lowest point of the rim."""
    n, a = cast(np.ndarray, plane.axis), cast(np.ndarray, disc.axis)
    along = n - (n @ a) * a
    length = motion.al.sqrt(along @ along + TINY)
    gap = (disc.center - plane.center) @ n - disc.radius * length
    return Touching(gap, disc.center - disc.radius / length * along, n)


def _point_on_curve(motion: Motion, curve: _Placed, point: _Placed) -> Touching:
    """|p| − r(angle) in the plane of the curve; its gradient is e_r − r′/|p| e_φ."""
    al = motion.al
    a, x = cast(np.ndarray, curve.axis), cast(np.ndarray, curve.start)
    y, d = cross(a, x), point.center - curve.center
    along, across = d @ x, d @ y
    distance, angle = al.sqrt(along * along + across * across), al.atan2(across, along)

    def lookup(atom: sp.Symbol | Reference) -> Any:
        return angle if atom == ANGLE else motion.evaluate(cast(sp.Expr, atom))

    radius, slope = (evaluate(al, formula, lookup) for formula in (curve.radius, _slope(curve.radius)))
    out = (along * x + across * y) / distance
    round_ = (along * y - across * x) / distance
    return Touching(distance - radius, point.center, out - slope / distance * round_)


@lru_cache(maxsize=1000)
def _slope(radius: sp.Expr) -> sp.Expr:
    return cast(sp.Expr, radius.diff(ANGLE))


PAIRS: dict[tuple[str, str], Callable[[Motion, _Placed, _Placed], Touching]] = {
    ("plane", "sphere"): _on_plane,
    ("sphere", "sphere"): _two_spheres,
    ("plane", "disc"): _disc_on_plane,
    ("curve", "point"): _point_on_curve,
}
