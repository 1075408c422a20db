"""Curves given by x(s) and y(s), or through points: cams, slots and flanks, and what touches them.

Free space is on the right of the way along s, on the left with ``inside``; a closed curve runs counterclockwise about
its axis. An open one is the front of a solid that is cut off square at its ends: beyond them distances are those from
its edge. In the letters below P is a point of a curve, T = P′ its tangent, N = (y′, −x′) its normal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra import Algebra
from dalembert.elements.motion import Motion
from dalembert.elements.site import Site
from dalembert.elements.surface_data import ALONG, SAMPLES, TINY, At, Placed, Surface, Touching, settled
from dalembert.errors import ExpressionError
from dalembert.expressions import evaluate, number
from dalembert.expressions.curves import Outline, call
from dalembert.expressions.symbols import Reference
from dalembert.spatial.so3 import cross

__all__ = ["check_beside", "check_hollow", "check_path", "closes", "path_on_path", "path_on_plane", "roller_on_path"]

GUESSES = 32  # points of a curve from the nearest of which Newton's method begins
PAIR_GUESSES = 10  # of each of two curves
CLOSED = 1e-9  # relative distance of the ends of a closed curve


@dataclass(frozen=True)
class _Path:
    """A curve where it is now: formulas of s with derivatives, and the axes of its plane."""

    motion: Motion
    placed: Placed
    formulas: tuple[sp.Expr, ...]
    span: tuple[sp.Expr, sp.Expr]
    closed: bool
    guesses: int

    @property
    def side(self) -> int:
        return -1 if self.placed.surface.inside else 1

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        x = cast(np.ndarray, self.placed.start)
        return x, cross(cast(np.ndarray, self.placed.axis), x)

    def on(self, here: At, s: Any) -> list[Any]:
        """x, y, x′, y′, x″, y″."""

        def lookup(atom: sp.Symbol | Reference) -> Any:
            return s if atom == ALONG else here.value(self.motion.evaluate(cast(sp.Expr, atom)))

        return [evaluate(here.al, formula, lookup) for formula in self.formulas]

    def ends(self, here: At) -> list[Any]:
        return [here.value(self.motion.evaluate(end)) for end in self.span]

    def spread(self, here: At, count: int) -> list[Any]:
        """Values of s all along."""
        first, last = self.ends(here)
        steps = count if self.closed else count - 1
        return [first + (last - first) * (k / steps) for k in range(count)]

    def held(self, here: At, s: Any) -> Any:
        """s within its span: the end of an open curve, round again on a closed one."""
        al, (first, last) = here.al, self.ends(here)
        if not self.closed:
            return al.minimum(al.maximum(s, first), last)
        length = last - first
        return al.where(al.less(s, first), s + length, al.where(al.less(last, s), s - length, s))

    def foot(self, al: Algebra, c: Sequence[Any]) -> Any:
        """s of the point nearest to c:  (P − c)·T = 0."""

        def far(here: At, s: Any) -> Any:
            x, y = self.on(here, s)[:2]
            return (x - here.given[0]) * (x - here.given[0]) + (y - here.given[1]) * (y - here.given[1])

        def guess(here: At) -> list[Any]:
            return _least(here, [[s] for s in self.spread(here, self.guesses)], lambda at: far(here, at[0]))

        def nearer(here: At, s: list[Any]) -> list[Any]:
            x, y, tx, ty, bx, by = self.on(here, s[0])
            dx, dy, speed = x - here.given[0], y - here.given[1], tx * tx + ty * ty
            steep = here.al.maximum(speed + dx * bx + dy * by, speed / 10)
            return [self.held(here, s[0] - (dx * tx + dy * ty) / steep)]

        return settled(al, c, guess, nearer)[0]

    def distance(self, al: Algebra, c: Sequence[Any], s: Any) -> tuple[Any, Any, Any]:
        """Signed distance of c, whose foot is at s, and its direction in the plane."""
        here = At(al, (), lambda value: value)
        x, y, tx, ty = self.on(here, s)[:4]
        speed = al.sqrt(tx * tx + ty * ty)
        tx, ty = tx / speed, ty / speed
        nx, ny = self.side * ty, -self.side * tx
        dx, dy = c[0] - x, c[1] - y
        front = dx * nx + dy * ny
        if self.closed:
            return front, nx, ny
        # Beyond an end (by `beyond`) of an open curve: from its edge, or behind it from the flat cut.
        first, last = self.ends(here)
        late = al.less((first + last) / 2, s)
        at_end = self.on(here, al.where(late, last, first))
        way = al.where(late, al.constant(1), al.constant(-1)) / al.sqrt(at_end[2] * at_end[2] + at_end[3] * at_end[3])
        ex, ey = way * at_end[2], way * at_end[3]
        beyond = (c[0] - at_end[0]) * ex + (c[1] - at_end[1]) * ey
        free = al.less(0.0, beyond)
        out = al.sqrt(dx * dx + dy * dy + TINY)
        edge = [al.where(free, a, b) for a, b in zip((out, dx / out, dy / out), (front, nx, ny), strict=True)]
        deep = [al.where(al.less(front, beyond), a, b) for a, b in zip((beyond, ex, ey), (front, nx, ny), strict=True)]
        chosen = [al.where(al.less(front, 0.0), a, b) for a, b in zip(deep, edge, strict=True)]
        return chosen[0], chosen[1], chosen[2]


def _least(here: At, many: list[list[Any]], far: Callable[[list[Any]], Any]) -> list[Any]:
    """Of several values of the unknowns those whose ``far`` is least."""
    best, least = many[0], far(many[0])
    for at in many[1:]:
        found = far(at)
        nearer = here.al.less(found, least)
        least = here.al.where(nearer, found, least)
        best = [here.al.where(nearer, new, old) for new, old in zip(at, best, strict=True)]
    return best


def _path(motion: Motion, placed: Placed) -> _Path:
    x, y, span = formulas_of(placed.surface)
    guesses = min(max(GUESSES, len(placed.surface.points)), 3 * GUESSES)
    return _Path(motion, placed, _derivatives(x, y), span, closes(placed.surface), guesses)


def formulas_of(surface: Surface) -> tuple[sp.Expr, sp.Expr, tuple[sp.Expr, sp.Expr]]:
    """x and y over s, and the ends of s."""
    if surface.points:
        return _spline(surface.points)
    return cast(Any, (surface.x, surface.y, surface.span))


@lru_cache(maxsize=100)
def _spline(points: tuple[tuple[float, float], ...]) -> tuple[sp.Expr, sp.Expr, tuple[sp.Expr, sp.Expr]]:
    """A cubic spline through points over the length of the polygon through them."""
    given = np.array(points)
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(given, axis=0).T))])
    kind = "periodic" if points[0] == points[-1] else "cubic"
    x, y = (call(Outline.of(name, s.tolist(), given[:, i].tolist(), kind, "extrapolate"), ALONG) for i, name in _XY)
    return x, y, (sp.Integer(0), sp.Float(s[-1]))


_XY = ((0, "x"), (1, "y"))


@lru_cache(maxsize=1000)
def _derivatives(x: sp.Expr, y: sp.Expr) -> tuple[sp.Expr, ...]:
    return tuple(cast(sp.Expr, formula.diff(ALONG, order)) for order in range(3) for formula in (x, y))


def closes(surface: Surface) -> bool:
    """True if the curve ends where it begins, whatever its parameters are."""
    if surface.points:
        return surface.points[0] == surface.points[-1]
    if surface.x is None or surface.y is None or surface.span is None:
        return False
    return _closes(surface.x, surface.y, *surface.span)


@lru_cache(maxsize=1000)
def _closes(x: sp.Expr, y: sp.Expr, first: sp.Expr, last: sp.Expr) -> bool:
    symbols: list[Any] = [symbol for part in (x, y, first, last) for symbol in part.free_symbols if symbol != ALONG]
    values = {name: 0.7 + 0.31 * k for k, name in enumerate(sorted({symbol.name for symbol in symbols}))}
    try:
        ends = [[number(part, {**values, "s": number(end, values)}) for part in (x, y)] for end in (first, last)]
    except ExpressionError:
        return False
    apart = np.array(ends[1]) - np.array(ends[0])
    return bool(np.hypot(*apart) <= CLOSED * np.abs(ends).max(initial=TINY))


def roller_on_path(motion: Motion, path: Placed, roller: Placed) -> Touching:
    """The distance of the roller's center from the curve, less its radius."""
    al, curve = motion.al, _path(motion, path)
    x, y = curve.axes
    d = roller.center - path.center
    c = [d @ x, d @ y]
    distance, nx, ny = curve.distance(al, c, curve.foot(al, c))
    n = nx * x + ny * y
    return Touching(distance - roller.radius, roller.center - roller.radius * n, n)


def path_on_plane(motion: Motion, plane: Placed, path: Placed) -> Touching:
    """The lowest point of the curve above the plane:  n·T = 0. A flat-faced follower, a rack."""
    al, curve, normal = motion.al, _path(motion, path), cast(np.ndarray, plane.axis)
    x, y = curve.axes
    n = [normal @ x, normal @ y]

    def height(here: At, s: Any) -> Any:
        at = curve.on(here, s)
        return here.given[0] * at[0] + here.given[1] * at[1]

    def guess(here: At) -> list[Any]:
        return _least(here, [[s] for s in curve.spread(here, curve.guesses)], lambda at: height(here, at[0]))

    def lower(here: At, s: list[Any]) -> list[Any]:
        _, _, tx, ty, bx, by = curve.on(here, s[0])
        nx, ny = here.given
        first, last = curve.ends(here)
        # At most a step of the guesses: where the curve is straight there is no lowest point.
        most = (last - first) / curve.guesses
        steep = here.al.maximum(nx * bx + ny * by, TINY)
        step = here.al.minimum(here.al.maximum((nx * tx + ny * ty) / steep, -most), most)
        return [curve.held(here, s[0] - step)]

    (s,) = settled(al, n, guess, lower)
    at = curve.on(At(al, (), lambda value: value), s)
    point = path.center + at[0] * x + at[1] * y
    return Touching((point - plane.center) @ normal, point, normal)


def path_on_path(motion: Motion, one: Placed, other: Placed) -> Touching:
    """Two curves along their common normal, or where an edge of an open one touches the other curve."""
    al, pair = motion.al, _Pair(_path(motion, one), _path(motion, other))
    x, y = pair.first.axes
    # The second curve in the plane of the first.
    given = [part @ axis for part in (other.center - one.center, *pair.second.axes) for axis in (x, y)]
    here = At(al, given, lambda value: value)
    at = settled(al, given, pair.guess, pair.step)
    c = pair.points(here, at)[1][:2]
    gap, nx, ny = pair.first.distance(al, c, at[0])
    found = Touching(gap, one.center + c[0] * x + c[1] * y, nx * x + ny * y)
    edges = [edge for edge in (_edge(here, pair.second, pair.first), _edge(here, pair.first, pair.second, -1)) if edge]
    return _with_edges(here, pair, at, found, edges) if edges else found


@dataclass(frozen=True)
class _Pair:
    """Two curves in the plane of the first and their common normal:  (P₂ − P₁)·T₁ = 0,  T₂·N₁ = 0."""

    first: _Path
    second: _Path

    def points(self, here: At, at: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Of both curves x, y, x′, y′, x″, y″, each at its own s."""
        a, b = self.first.on(here, at[0]), self.second.on(here, at[1])
        cx, cy, ux, uy, vx, vy = here.given
        P, T, B = ((ux * b[i] + vx * b[i + 1], uy * b[i] + vy * b[i + 1]) for i in (0, 2, 4))
        return a, [cx + P[0], cy + P[1], *T, *B]

    def far(self, here: At, at: Sequence[Any]) -> Any:
        a, b = self.points(here, at)
        return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])

    def guess(self, here: At) -> list[Any]:
        first, second = (curve.spread(here, PAIR_GUESSES) for curve in (self.first, self.second))
        return _least(here, [[s, r] for s in first for r in second], lambda at: self.far(here, at))

    def step(self, here: At, at: list[Any]) -> list[Any]:
        """A step of Newton's method."""
        a, b = self.points(here, at)
        dx, dy, tx, ty = b[0] - a[0], b[1] - a[1], a[2], a[3]
        long_1, long_2 = tx * tx + ty * ty, b[2] * b[2] + b[3] * b[3]
        # The angle δ by which the tangents are not opposite (equal, if one curve is hollow), as sin δ.
        facing = self.first.side * self.second.side
        turn = facing * (b[2] * ty - b[3] * tx) / here.al.sqrt(long_1 * long_2)
        miss = dx * tx + dy * ty
        # Derivatives by s and r.
        ss, sr = dx * a[4] + dy * a[5] - long_1, b[2] * tx + b[3] * ty
        rs, rr = -(tx * a[5] - ty * a[4]) / long_1, (b[2] * b[5] - b[3] * b[4]) / long_2
        determinant = ss * rr - sr * rs
        moved = [(rr * miss - sr * turn) / determinant, (ss * turn - rs * miss) / determinant]
        return [
            curve.held(here, was - _limited(here, curve, by))
            for curve, was, by in zip((self.first, self.second), at, moved, strict=True)
        ]


def _with_edges(here: At, pair: _Pair, at: Sequence[Any], found: Touching, edges: Sequence[Touching]) -> Touching:
    """Where the common normal has left a curve, an edge is nearest: that of one curve on the other."""
    al, edge = here.al, edges[0]
    for other in edges[1:]:
        edge = _either(al, al.less(other.gap, edge.gap), other, edge)
    # A common normal away from contact need not be the shortest way.
    nearest = _either(al, al.less(edge.gap, found.gap), edge, found)
    found = _either(al, al.less(0.0, edge.gap), nearest, found)
    for curve, s in zip((pair.first, pair.second), at, strict=True):
        if not curve.closed:
            low, high = curve.ends(here)
            for within in (al.less(low, s), al.less(s, high)):
                found = _either(al, within, found, edge)
    return found


def _either(al: Algebra, condition: Any, one: Touching, other: Touching) -> Touching:
    """The one where the condition holds, the other elsewhere."""
    point, gradient = (
        al.array([al.where(condition, p, q) for p, q in zip(a, b, strict=True)])
        for a, b in ((one.point, other.point), (one.gradient, other.gradient))
    )
    return Touching(al.where(condition, one.gap, other.gap), point, gradient)


def _edge(here: At, curve: _Path, beside: _Path, sign: int = 1) -> Touching | None:
    """The end of an open curve that is nearer to another one, with the normal there; nothing for a closed curve."""
    if curve.closed:
        return None
    al, (x, y), (u, v) = here.al, curve.axes, beside.axes
    spread = [beside.on(here, s)[:2] for s in beside.spread(here, PAIR_GUESSES)]
    ends: list[tuple[list[Any], Any]] = []
    for s in curve.ends(here):
        at = curve.on(here, s)
        d = curve.placed.center + at[0] * x + at[1] * y - beside.placed.center
        c = [d @ u, d @ v]
        far = [(c[0] - p) * (c[0] - p) + (c[1] - q) * (c[1] - q) for p, q in spread]
        ends.append((c, reduce(al.minimum, far)))
    (one, near), (other, far) = ends
    c = [al.where(al.less(near, far), p, q) for p, q in zip(one, other, strict=True)]
    gap, nx, ny = beside.distance(al, c, beside.foot(al, c))
    return Touching(gap, beside.placed.center + c[0] * u + c[1] * v, sign * (nx * u + ny * v))


def _limited(here: At, curve: _Path, step: Any) -> Any:
    """A step of Newton's method within reach of the guesses."""
    first, last = curve.ends(here)
    most = (last - first) / PAIR_GUESSES * 2
    return here.al.minimum(here.al.maximum(step, -most), most)


def check_path(site: Site, path: str, surface: Surface) -> None:
    """Report a curve that is not given fully, stands still, crosses itself, or runs the wrong way round."""
    if surface.radius != 0:
        site.report(f"{path}.radius", "a curve has a radius, or x and y, or points", "leave out all but one of them")
    lacking = _lacking(surface)
    if lacking is not None:
        site.report(f"{path}.{lacking[0]}", lacking[1], lacking[2])
        return
    sampled = _sampled(site, surface)
    if sampled is None:
        return  # reported as formulas without a value
    s, P, T = sampled[0], sampled[1:3].T, sampled[3:5].T
    if s[0] >= s[-1]:
        site.report(f"{path}.span", f"s must rise from end to end, got {s[0]:g} and {s[-1]:g}", "span: [0, 2*pi]")
        return
    speed = np.hypot(*T.T)
    if speed.min() <= 1e-6 * speed.max():
        message = f"the curve has zero speed at s = {s[np.argmin(speed)]:.4g}: it has no direction there"
        site.report(f"{path}.{_where(surface)}", message, "a span without that point, or another parameter s")
        return
    closed = np.hypot(*(P[0] - P[-1])) <= CLOSED * np.abs(P).max()
    if closed and abs(T[0] @ [T[-1][1], -T[-1][0]]) > 1e-6 * speed[0] * speed[-1]:
        message = f"the curve has a corner where it closes, at s = {s[0]:.4g}"
        site.report(f"{path}.{_where(surface)}", message, "round it, or leave a gap there")
    crossing = _crossing(P, bool(closed))
    if crossing is not None:
        message = f"the curve crosses itself: near s = {s[crossing[0]]:.4g} and s = {s[crossing[1]]:.4g}"
        site.report(f"{path}.{_where(surface)}", message, "a curve that comes to no point twice")
    elif closed and np.sum(P[:-1, 0] * P[1:, 1] - P[1:, 0] * P[:-1, 1]) < 0:
        message = "the curve runs clockwise about its axis, so that its outside is inside"
        site.report(f"{path}.{_where(surface)}", message, "reverse s, or the axis")


def _where(surface: Surface) -> str:
    return "points" if surface.points else "x"


def _lacking(surface: Surface) -> tuple[str, str, str] | None:
    """Field, message and fix of what a curve lacks."""
    if surface.points and (surface.x is not None or surface.y is not None or surface.span is not None):
        return "points", "a curve has x, y and span, or points", "leave out one of them"
    if not surface.points:
        example = "x: 0.05*cos(s), y: 0.03*sin(s), span: [0, 2*pi]"
        given = surface.x is not None and surface.y is not None and surface.span is not None
        return None if given else ("span", "a curve over s needs x, y and span", example)
    least = 4 if surface.points[0] == surface.points[-1] else 3
    if len(surface.points) < least:
        return "points", f"expected at least {least} points, got {len(surface.points)}", "more of them"
    if not np.isfinite(surface.points).all():
        return "points", "expected finite numbers", ""
    for i, (one, other) in enumerate(pairwise(surface.points)):
        if one == other:
            return "points", f"points {i} and {i + 1} are the same: {list(one)}", "leave one of them out"
    return None


def _sampled(site: Site, surface: Surface) -> np.ndarray | None:
    """Rows s, x, y, x′, y′, x″, y″ all along; None where a formula has no value."""
    x, y, span = formulas_of(surface)
    ends = site.vector(span)
    if ends is None:
        return None
    s: np.ndarray = np.linspace(ends[0], ends[1], SAMPLES + 1)
    rows = [site.along(formula, "s", s.tolist()) for formula in _derivatives(x, y)]
    return None if any(row is None for row in rows) else np.array([s, *cast(Any, rows)])


def _crossing(P: np.ndarray, closed: bool) -> tuple[int, int] | None:
    """The first two pieces of a polygon that cross: each has the ends of the other on both sides."""
    one, two = P[:-1], P[1:]
    n = len(one)

    def beside(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Twice the areas of triangles: of every piece a-b and every point c."""
        ab = (b - a)[:, None]
        ac = c[None] - a[:, None]
        return ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0]

    apart = beside(one, two, one) * beside(one, two, two) < 0
    near = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    cross_ = apart & apart.T & (near > 1) & ((near < n - 1) | (not closed))
    found = np.argwhere(cross_)
    return (int(found[0][0]), int(found[0][1])) if len(found) else None


def check_beside(site: Site, curve: Surface, other: Surface) -> None:
    """A roller must fit into every hollow of a curve:  ρ κ < 1  with the curvature κ = (x′y″ − y′x″)/|T|³."""
    size = site.value(other.radius) if other.kind == "sphere" else None
    sampled = _sampled(site, curve) if size and not _lacking(curve) else None
    if size is None or sampled is None:
        return
    s, _, _, tx, ty, bx, by = sampled
    with np.errstate(divide="ignore", invalid="ignore"):
        bulge = (tx * by - ty * bx) / np.hypot(tx, ty) ** 3
    hollow = np.nan_to_num(bulge if curve.inside else -bulge)
    check_hollow(site, size, hollow, [f"s = {place:.4g}" for place in s])


def check_hollow(site: Site, size: float, hollow: np.ndarray, places: list[str]) -> None:
    """A roller must fit where a curve is most hollow; ``hollow``: its curvature at these places."""
    worst = int(np.argmax(hollow))
    if hollow[worst] * size >= 1:
        message = f"a roller of radius {size:g} does not fit into the curve at {places[worst]}, whose radius of "
        message += f"curvature there is {1 / hollow[worst]:.4g}"
        site.report("surfaces", message, "a smaller roller, or a smoother curve")
