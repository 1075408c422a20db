"""Terrain: a surface given by its height over x and y, and what touches it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.elements.motion import Motion
from dalembert.elements.surface_data import ACROSS, WAY, At, Placed, Touching, settled
from dalembert.expressions import evaluate
from dalembert.expressions.symbols import Reference
from dalembert.spatial.so3 import cross

__all__ = ["ball_on_terrain", "point_on_terrain"]


def point_on_terrain(motion: Motion, terrain: Placed, point: Placed) -> Touching:
    """How far a point is above the ground under it; the gradient is a − h_x x − h_y y."""
    a, x, y = _axes(terrain)
    d = point.center - terrain.center
    here = At(motion.al, (), lambda value: value)
    height, along, across = _heights(motion, terrain, here, [d @ x, d @ y])[:3]
    return Touching(d @ a - height, point.center, a - along * x - across * y)


def ball_on_terrain(motion: Motion, terrain: Placed, ball: Placed) -> Touching:
    """The distance of the center c from the ground, less the radius of the ball.

    The foot (x, y, h) of the normal has  x − c_x + (h − c_z) h_x = 0  and the same in y. Newton's method from the place
    under the center finds it.
    """
    al = motion.al
    a, x, y = _axes(terrain)
    d = ball.center - terrain.center
    c = [d @ x, d @ y, d @ a]

    def nearer(here: At, at: list[Any]) -> list[Any]:
        h, hx, hy, hxx, hxy, hyy = _heights(motion, terrain, here, at)
        below = h - here.given[2]
        miss_x, miss_y = at[0] - here.given[0] + below * hx, at[1] - here.given[1] + below * hy
        xx, xy, yy = 1 + hx * hx + below * hxx, hx * hy + below * hxy, 1 + hy * hy + below * hyy
        # Where the ground bends more than the ball a step would lead away: as on a plane then.
        determinant = here.al.maximum(xx * yy - xy * xy, 0.1)
        return [at[0] - (yy * miss_x - xy * miss_y) / determinant, at[1] - (xx * miss_y - xy * miss_x) / determinant]

    foot = settled(al, c, lambda here: list(here.given[:2]), nearer)
    h, hx, hy = _heights(motion, terrain, At(al, (), lambda value: value), foot)[:3]
    n = (a - hx * x - hy * y) / al.sqrt(1 + hx * hx + hy * hy)
    distance = (d - foot[0] * x - foot[1] * y - h * a) @ n
    return Touching(distance - ball.radius, ball.center - ball.radius * n, n)


def _axes(terrain: Placed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up, along its x, and across it."""
    a, x = cast(np.ndarray, terrain.axis), cast(np.ndarray, terrain.start)
    return a, x, cross(a, x)


def _heights(motion: Motion, terrain: Placed, here: At, at: list[Any]) -> list[Any]:
    """h, h_x, h_y, h_xx, h_xy, h_yy."""
    place: dict[Any, Any] = {WAY: at[0], ACROSS: at[1]}

    def lookup(atom: sp.Symbol | Reference) -> Any:
        return place[atom] if atom in place else here.value(motion.evaluate(cast(sp.Expr, atom)))

    return [evaluate(here.al, formula, lookup) for formula in _derivatives(terrain.surface.height)]


@lru_cache(maxsize=1000)
def _derivatives(height: sp.Expr) -> tuple[sp.Expr, ...]:
    orders: tuple[tuple[sp.Symbol, ...], ...] = ((), (WAY,), (ACROSS,), (WAY, WAY), (WAY, ACROSS), (ACROSS, ACROSS))
    return tuple(cast(sp.Expr, height.diff(*order)) if order else height for order in orders)
