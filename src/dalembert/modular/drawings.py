"""What a subsystem looks like: bodies that stand where formulas say, and lines between points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.elements.shape import Shape
from dalembert.errors import ModelError, Problem
from dalembert.expressions import evaluate

__all__ = ["Drawing", "drawing_of", "poses_along"]

Vector = tuple[sp.Expr, sp.Expr, sp.Expr]
ONES = tuple(sp.S.One if i in (0, 4, 8) else sp.S.Zero for i in range(9))


@dataclass(frozen=True)
class Drawing:
    """A body, or a line through points.

    Attributes:
        name: with the path of its owner.
        points: where the body is, or the points of the line: three formulas each (m).
        rotation: body axes to world axes, nine formulas by rows.
        shapes: what is drawn on the body, in its axes; a small ball without.
        source: a model and the name of the body there, whose geometry is drawn.
        up: the direction that points up, if the owner knows.
    """

    name: str
    points: tuple[Vector, ...]
    rotation: tuple[sp.Expr, ...] = ONES
    shapes: tuple[Any, ...] = ()
    source: tuple[Any, str] | None = None
    up: tuple[float, float, float] | None = None

    @property
    def formulas(self) -> list[sp.Expr]:
        """All formulas, points first."""
        return [*(x for point in self.points for x in point), *self.rotation]

    def seen(self, name: str, change: Callable[[sp.Expr], sp.Expr]) -> Drawing:
        """The same under another name, with changed formulas."""
        points: Any = tuple(tuple(change(x) for x in point) for point in self.points)
        return replace(self, name=name, points=points, rotation=tuple(change(x) for x in self.rotation))


def drawing_of(
    owner: str, name: str, formula: Callable[[Any], sp.Expr], points: Any, rotation: Any, shapes: Any
) -> Drawing:
    """A drawing from what a user gives.

    Raises:
        ModelError: for points that have not two or three coordinates, and rotations that are no 3×3 matrices.
    """
    found: list[Any] = []
    for point in _listed(owner, name, points):
        values = [formula(value) for value in _listed(owner, name, point)]
        if len(values) not in (2, 3):
            message = f"subsystem {owner!r}, drawing {name!r}: a point has three coordinates, got {len(values)}"
            raise ModelError(Problem(message, fix="at=(x, y, z); in the plane at=(x, y)"))
        found.append(tuple((*values, sp.S.Zero)[:3]))
    turn = ONES if rotation is None else tuple(formula(value) for value in np.array(rotation, dtype=object).reshape(-1))
    if len(turn) != 9:
        message = f"subsystem {owner!r}, drawing {name!r}: a rotation has 3×3 entries, got {len(turn)}"
        raise ModelError(Problem(message, fix="rotation=da.leaves.rotation(body)"))
    return Drawing(name, tuple(found), turn, tuple(_shape(owner, name, one) for one in shapes))


def _listed(owner: str, name: str, given: Any) -> list[Any]:
    """Points of a line, or coordinates of a point."""
    try:
        return list(given)
    except TypeError:
        message = f"subsystem {owner!r}, drawing {name!r}: expected a point or a line, got {given!r}"
        raise ModelError(Problem(message, fix="at=(x, y, z), or line=[(0, 0, 0), (x, y, z)]")) from None


def _shape(owner: str, name: str, given: Any) -> Shape:
    """A shape with numbers for its sizes."""
    try:
        shape = given if isinstance(given, Shape) else Shape.model_validate({"frame": "body", **given})
    except (TypeError, ValueError) as error:
        raise ModelError(
            Problem(f"subsystem {owner!r}, drawing {name!r}: {error}", fix='shape={"kind": "sphere", "radius": 0.1}')
        ) from None
    return shape


def poses_along(drawings: Sequence[Drawing], known: Mapping[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points (times, points, 3) and rotation matrices (times, 3, 3) of every drawing.

    Args:
        known: values over time of every symbol, by name.
    """
    names = sorted({str(s) for drawing in drawings for formula in drawing.formulas for s in formula.free_symbols})
    scalars = {name: CASADI.symbol(name) for name in names}
    values = [evaluate(CASADI, f, lambda s: scalars[str(s)]) for drawing in drawings for f in drawing.formulas]
    inputs = CASADI.to_sx(np.array(list(scalars.values()), dtype=object))
    function = ca.Function("poses", [inputs], [CASADI.to_sx(np.array(values, dtype=object))])
    count = len(next(iter(known.values())))
    table = np.array([known[name] for name in names]).reshape(len(names), count)
    flat = np.asarray(function(table).full()) if names else np.repeat(np.asarray(function([]).full()), count, axis=1)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    at = 0
    for drawing in drawings:
        n = 3 * len(drawing.points)
        points, turn = flat[at : at + n].T.reshape(count, -1, 3), flat[at + n : at + n + 9].T.reshape(count, 3, 3)
        found.append((points, turn))
        at += n + 9
    return found
