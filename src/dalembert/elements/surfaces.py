"""Surfaces that touch: few kinds, in pairs whose distance is a formula, smooth and exact in every algebra.

The second surface is kept away from the first. Of each pair: the gap, a point of contact, and the gradient of the gap
there with respect to a motion of the second body; the unit normal, except on polar curves and under points on terrain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.elements.motion import Motion
from dalembert.elements.path_pairs import (
    check_beside,
    check_hollow,
    check_path,
    closes,
    path_on_path,
    path_on_plane,
    roller_on_path,
)
from dalembert.elements.site import Site, check_two_bodies
from dalembert.elements.surface_data import ANGLE, ASIDE, SAMPLES, TINY, At, Placed, Surface, Touching, is_path, settled
from dalembert.elements.terrain_pairs import ball_on_terrain, point_on_terrain
from dalembert.expressions import evaluate
from dalembert.expressions.symbols import Reference
from dalembert.spatial.so3 import cross

__all__ = ["Surface", "Touching", "check_pair", "curvature_radius", "slipping", "touching"]

_NEEDS_AXIS = ("plane", "disc", "curve", "cylinder", "torus", "terrain")
_HOLLOW = ("sphere", "cylinder", "curve")


def touching(motion: Motion, bodies: tuple[str, str], surfaces: tuple[Surface, Surface], frame: str) -> Touching:
    """Gap, point and gradient of a pair of surfaces."""
    first, second = (_placed(motion, body, given, frame) for body, given in zip(bodies, surfaces, strict=True))
    one, other = _kinds(surfaces)
    if other in PAIRS.get(one, {}):
        return PAIRS[one][other](motion, first, second)
    found = PAIRS[other][one](motion, second, first)
    return Touching(found.gap, found.point, -found.gradient)


def check_pair(site: Site, bodies: tuple[str, str], surfaces: tuple[Surface, Surface]) -> None:
    """Report what is wrong with a pair of surfaces."""
    check_two_bodies(site, bodies)
    _check_kinds(site, surfaces)
    for i, surface in enumerate(surfaces):
        _check_surface(site, f"surfaces[{i}]", surface)
    if all(_is_hollow(surface) for surface in surfaces):
        site.report("surfaces", "both surfaces are hollow", "inside: true on one of them")
        return
    for one, other in (surfaces, surfaces[::-1]):
        if is_path(one):
            check_beside(site, one, other)
        elif other.kind == "sphere" and one.kind == "curve":
            _check_roller(site, one, other)
        elif other.kind == "sphere" and one.kind in ("sphere", "cylinder") and one.inside:
            _check_fit(site, one, other)


def _check_kinds(site: Site, surfaces: tuple[Surface, Surface]) -> None:
    """There is a formula for the contact of these two."""
    kinds = (surfaces[0].kind, surfaces[1].kind)
    if "mesh" in kinds:
        message = "a mesh touches nothing: contact is between surfaces with a formula"
        site.report("surfaces", message, "spheres or points where it touches, against a plane, a sphere or a curve")
    elif not any(b in PAIRS.get(a, {}) for a, b in (_kinds(surfaces), _kinds(surfaces)[::-1])):
        known = ", ".join(sorted(f"{a} and {b}" for a, others in PAIRS.items() for b in others))
        site.report("surfaces", f"{kinds[0]} against {kinds[1]} is not a pair that can touch", f"one of {known}")


def _is_hollow(surface: Surface) -> bool:
    """True if it is touched from within; an open curve has two sides and is not."""
    return surface.inside and not (is_path(surface) and not closes(surface))


def _check_fit(site: Site, around: Surface, ball: Surface) -> None:
    """A sphere within a sphere or a cylinder is the smaller one."""
    big, small = site.value(around.radius), site.value(ball.radius)
    if big is not None and small is not None and small >= big:
        what = "one" if around.kind == "sphere" else f"a {around.kind}"
        site.report("surfaces", f"a sphere of radius {small:g} does not fit into {what} of {big:g}", "a smaller one")


def _check_surface(site: Site, path: str, surface: Surface) -> None:
    if surface.kind in _NEEDS_AXIS:
        axis = site.vector(surface.axis)
        if surface.axis is None or (axis is not None and not any(axis)):
            site.report(f"{path}.axis", f"a {surface.kind} needs an axis", "axis: z")
    if is_path(surface):
        _check_start(site, path, surface, "direction of its x")
        check_path(site, path, surface)
        return
    if surface.kind == "curve":
        _check_curve(site, path, surface)
        return
    radius = site.value(surface.radius)
    if radius is not None and (radius < 0 or (radius == 0 and surface.kind in ("disc", "cylinder", "torus"))):
        site.report(f"{path}.radius", f"radius must be positive, got {radius:g}", "radius: 0.1")
    tube = site.value(surface.tube)
    if surface.kind == "torus" and tube is not None and radius is not None and not 0 < tube < radius:
        message = f"the tube must be thinner than the ring: tube {tube:g}, radius {radius:g}"
        site.report(f"{path}.tube", message, "tube: 0.01, radius: 0.1")
    if surface.kind == "terrain":
        _check_start(site, path, surface, "direction of its x")
    if surface.kind in ("point", "plane", "terrain") and surface.radius != 0:
        site.report(f"{path}.radius", f"a {surface.kind} has no radius", "leave it out")
    if surface.inside and surface.kind not in _HOLLOW:
        site.report(f"{path}.inside", f"a {surface.kind} is not hollow", f"inside: true is for {', '.join(_HOLLOW)}")


def _check_curve(site: Site, path: str, surface: Surface) -> None:
    """A polar radius that stays positive and closes does not cross itself."""
    _check_start(site, path, surface, "direction of its angle zero")
    values = _sampled(site, surface.radius)
    if values is None:
        return  # reported as a formula without a value
    least = int(np.argmin(values))
    if values[least] <= 0:
        message = f"the curve crosses itself: its radius is {values[least]:.4g} at angle = {least * 2 / SAMPLES:.4g} π"
        site.report(f"{path}.radius", message, "a radius above zero all round")
    elif abs(values[-1] - values[0]) > 1e-9 * values.max():
        message = f"the curve does not close: radius {values[0]:.6g} at 0, {values[-1]:.6g} at 2 π"
        site.report(f"{path}.radius", message, "a formula of sin(angle), cos(angle), or sin(2*angle) …")


def _check_start(site: Site, path: str, surface: Surface, what: str) -> None:
    axis, start = site.vector(surface.axis), site.vector(surface.start)
    if surface.start is None or (start is not None and not any(start)):
        site.report(f"{path}.start", f"a {surface.kind} needs the {what}", "start: x")
    elif axis is not None and start is not None and abs(np.dot(axis, start)) > 1e-9 * np.linalg.norm(axis):
        site.report(f"{path}.start", "start must be normal to the axis", "start: x, axis: z")


def _sampled(site: Site, formula: sp.Expr) -> np.ndarray | None:
    """A formula of the angle, all round; None where it has no value."""
    found = site.along(formula, "angle", np.linspace(0.0, 2 * np.pi, SAMPLES + 1).tolist())
    return None if found is None else np.array(found)


def _check_roller(site: Site, curve: Surface, roller: Surface) -> None:
    """A roller must fit into every hollow of a curve: its radius is less than that of the curvature there.

    The curvature of a polar curve, positive where it bulges:  (r² + 2 r′² − r r″)/(r² + r′²)^{3/2}.
    """
    size, values = site.value(roller.radius), _sampled(site, curve.radius)
    if size is None or size == 0 or values is None:
        return
    r, step = values[:-1], 2 * np.pi / SAMPLES
    slope = (np.roll(r, -1) - np.roll(r, 1)) / (2 * step)
    bend = (np.roll(r, -1) - 2 * r + np.roll(r, 1)) / step**2
    curvature = (r * r + 2 * slope * slope - r * bend) / (r * r + slope * slope) ** 1.5
    hollow = curvature if curve.inside else -curvature
    check_hollow(site, size, hollow, [f"angle = {k * 2 / SAMPLES:.4g} π" for k in range(SAMPLES)])


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
    """A point is a sphere without radius, but on a polar curve and on a terrain."""
    kinds = ["path" if is_path(surface) else surface.kind for surface in surfaces]
    if "terrain" in kinds or "curve" in kinds:
        kinds = [
            "point" if s.kind == "sphere" and s.radius.is_zero else k for s, k in zip(surfaces, kinds, strict=True)
        ]
    else:
        kinds = ["sphere" if kind == "point" else kind for kind in kinds]
    return kinds[0], kinds[1]


def _placed(motion: Motion, body: str, surface: Surface, frame: str) -> Placed:
    X, _ = motion.body(body)
    axes = motion.local_axes(body, frame)

    def direction(given: Any) -> np.ndarray | None:
        if given is None:
            return None
        d = axes @ motion.al.array([motion.evaluate(component) for component in given])
        return X.R @ (d / motion.al.sqrt(d @ d))

    center = X.apply(motion.local_point(body, surface.at, frame))
    radius = surface.radius if surface.kind == "curve" else motion.evaluate(surface.radius)
    return Placed(surface, center, direction(surface.axis), direction(surface.start), radius)


def _on_plane(motion: Motion, plane: Placed, ball: Placed) -> Touching:
    n = cast(np.ndarray, plane.axis)
    gap = (ball.center - plane.center) @ n - ball.radius
    return Touching(gap, ball.center - ball.radius * n, n)


def _two_spheres(motion: Motion, one: Placed, other: Placed) -> Touching:
    d = other.center - one.center
    distance = motion.al.sqrt(d @ d + TINY)
    n = d / distance
    if one.surface.inside:
        return Touching(one.radius - distance - other.radius, other.center + other.radius * n, -n)
    if other.surface.inside:
        return Touching(other.radius - distance - one.radius, one.center - one.radius * n, -n)
    return Touching(distance - one.radius - other.radius, one.center + one.radius * n, n)


def _disc_on_plane(motion: Motion, plane: Placed, disc: Placed) -> Touching:
    """The lowest point of the rim."""
    n, a = cast(np.ndarray, plane.axis), cast(np.ndarray, disc.axis)
    along = n - (n @ a) * a
    length = motion.al.sqrt(along @ along + TINY)
    gap = (disc.center - plane.center) @ n - disc.radius * length
    return Touching(gap, disc.center - disc.radius / length * along, n)


def _point_on_curve(motion: Motion, curve: Placed, point: Placed) -> Touching:
    """|p| − r(angle) in the plane of the curve; its gradient is e_r − r′/|p| e_φ."""
    al = motion.al
    a, x = cast(np.ndarray, curve.axis), cast(np.ndarray, curve.start)
    y, d = cross(a, x), point.center - curve.center
    along, across = d @ x + ASIDE, d @ y
    distance, angle = al.sqrt(along * along + across * across), al.atan2(across, along)

    def lookup(atom: sp.Symbol | Reference) -> Any:
        return angle if atom == ANGLE else motion.evaluate(cast(sp.Expr, atom))

    radius, slope = (evaluate(al, formula, lookup) for formula in (curve.radius, _slope(curve.radius)))
    out = (along * x + across * y) / distance
    round_ = (along * y - across * x) / distance
    side = -1 if curve.surface.inside else 1
    return Touching(side * (distance - radius), point.center, side * (out - slope / distance * round_))


def _roller_on_curve(motion: Motion, curve: Placed, roller: Placed) -> Touching:
    """The distance of the center c from the curve, less the radius of the roller.

    The foot P(φ) of the normal has (P − c)·P′ = 0. Newton's method from the angle of c finds it.
    """
    al = motion.al
    a, x = cast(np.ndarray, curve.axis), cast(np.ndarray, curve.start)
    y, d = cross(a, x), roller.center - curve.center

    def on(here: At, phi: Any) -> tuple[Any, ...]:
        """r, r′, r″, and c along the radius and across it."""
        al, c = here.al, here.given

        def lookup(atom: sp.Symbol | Reference) -> Any:
            return phi if atom == ANGLE else here.value(motion.evaluate(cast(sp.Expr, atom)))

        cos, sin = al.cos(phi), al.sin(phi)
        formulas = (curve.radius, _slope(curve.radius), _bend(curve.radius))
        values = [evaluate(al, formula, lookup) for formula in formulas]
        return (*values, c[0] * cos + c[1] * sin, c[1] * cos - c[0] * sin)

    def nearer(here: At, phi: list[Any]) -> list[Any]:
        """One of Newton's steps."""
        r, slope, bend, along, across = on(here, phi[0])
        # P′ = r′ e + r n,  P″ = (r″ − r) e + 2 r′ n,  c = along e + across n
        miss, speed = (r - along) * slope - across * r, slope * slope + r * r
        steep = speed + (r - along) * (bend - r) - across * 2 * slope
        return [phi[0] - miss / here.al.maximum(steep, speed / 10)]

    c = [d @ x + ASIDE, d @ y]
    (phi,) = settled(al, c, lambda here: [here.al.atan2(here.given[1], here.given[0])], nearer)
    r, slope, _, along, across = on(At(al, c, lambda value: value), phi)
    length, (cos, sin) = al.sqrt(r * r + slope * slope), (al.cos(phi), al.sin(phi))
    out = (r * (cos * x + sin * y) - slope * (cos * y - sin * x)) / length
    distance = ((along - r) * r - across * slope) / length
    if curve.surface.inside:
        return Touching(-distance - roller.radius, roller.center + roller.radius * out, -out)
    return Touching(distance - roller.radius, roller.center - roller.radius * out, out)


def _in_cylinder(motion: Motion, cylinder: Placed, ball: Placed) -> Touching:
    """A ball on a cylinder, or in it."""
    a, d = cast(np.ndarray, cylinder.axis), ball.center - cylinder.center
    d = d - (d @ a) * a
    distance = motion.al.sqrt(d @ d + TINY)
    n = d / distance
    if cylinder.surface.inside:
        return Touching(cylinder.radius - distance - ball.radius, ball.center + ball.radius * n, -n)
    return Touching(distance - cylinder.radius - ball.radius, ball.center - ball.radius * n, n)


def _on_torus(motion: Motion, torus: Placed, ball: Placed) -> Touching:
    """A ball on the tube: from the nearest point of the circle in its middle."""
    al, a, d = motion.al, cast(np.ndarray, torus.axis), ball.center - torus.center
    flat = d - (d @ a) * a
    middle = torus.center + torus.radius / al.sqrt(flat @ flat + TINY) * flat
    d = ball.center - middle
    distance = al.sqrt(d @ d + TINY)
    n, tube = d / distance, motion.evaluate(torus.surface.tube)
    return Touching(distance - tube - ball.radius, ball.center - ball.radius * n, n)


@lru_cache(maxsize=1000)
def _slope(radius: sp.Expr) -> sp.Expr:
    return cast(sp.Expr, radius.diff(ANGLE))


@lru_cache(maxsize=1000)
def _bend(radius: sp.Expr) -> sp.Expr:
    return cast(sp.Expr, radius.diff(ANGLE, 2))


# What touches what, and how.
PAIRS: dict[str, dict[str, Callable[[Motion, Placed, Placed], Touching]]] = {
    "plane": {"sphere": _on_plane, "disc": _disc_on_plane, "path": path_on_plane},
    "sphere": {"sphere": _two_spheres},
    "curve": {"point": _point_on_curve, "sphere": _roller_on_curve},
    "cylinder": {"sphere": _in_cylinder},
    "torus": {"sphere": _on_torus},
    "terrain": {"point": point_on_terrain, "sphere": ball_on_terrain},
    "path": {"sphere": roller_on_path, "path": path_on_path},
}
