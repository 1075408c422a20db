"""Convex bodies on a plane: ellipsoids, tires, eggs, given by their support function."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
import sympy as sp
from pydantic import Field

from dalembert.constraints.base import Constraint
from dalembert.elements import Allowed, BodyName, Formula, Motion, Site, Vector, check_two_bodies
from dalembert.expressions import evaluate, parameter, switches_in
from dalembert.expressions.symbols import BEND_QUANTITY, reference
from dalembert.spatial.so3 import cross

__all__ = ["RollingSurface"]

DIRECTION = tuple(parameter(name) for name in "xyz")
SURFACE = Allowed(
    "the direction `x`, `y`, `z`", "a support function may name x, y, z and parameters only", local=("x", "y", "z")
)
ROUNDED = 1e-9  # what a support function may miss, relative to its size
TRIED = 13  # directions in which it is looked at


@lru_cache(maxsize=1000)
def _slopes(surface: sp.Expr) -> tuple[sp.Expr, ...]:
    """The gradient; constraints are asked for in many algebras and at many states."""
    return tuple(cast(sp.Expr, surface.diff(direction)) for direction in DIRECTION)


@lru_cache(maxsize=1000)
def _bends(surface: sp.Expr) -> tuple[sp.Expr, ...]:
    """What chooses branches of the gradient: where curvatures may jump."""
    turning = set(DIRECTION)
    found = (switch for slope in _slopes(surface) for switch in switches_in(slope, lambda s: bool(s.atoms() & turning)))
    return tuple(dict.fromkeys(found))


class RollingSurface(Constraint):
    """A strictly convex surface that rolls on a plane, or slides on it without friction.

    Its support function h tells how far the surface reaches in a direction:  h(n) = max p·n.  It grows with the length
    of n as n does. The point that lies farthest down is p = ∇h(−n), n the normal of the plane in axes of the surface:
    the height of the center above the plane is h(−n), and there the velocities of both bodies are equal.
    """

    kind: Literal["rolling-surface"] = "rolling-surface"
    positional: ClassVar[tuple[str, ...]] = ("name", "bodies", "center", "surface")
    bodies: tuple[BodyName, BodyName] = Field(description="the body with the plane, and the one with the surface")
    center: Vector = Field(description="where h is measured from, in the reference configuration (m)")
    surface: Annotated[Formula, SURFACE] = Field(
        description="h(x, y, z) (m) in axes of the world as drawn; e.g. sqrt(a**2*x**2 + b**2*y**2 + c**2*z**2)"
    )
    axis: Vector = Field("z", validate_default=True, description="normal of the plane, in numbers, toward the surface")
    slips: bool = Field(False, description="it slides without friction instead of rolling")

    def check(self, site: Site) -> None:
        check_two_bodies(site, self.bodies, "stand between")
        if any(not component.is_number for component in self.axis) or not any(self.axis):
            site.report("axis", "axis must be three numbers, not all zero", "axis: z")
            return
        rng = np.random.default_rng(0)
        for n in rng.normal(size=(TRIED, 3)):
            height, double = (site.value(_at(self.surface, k * n)) for k in (1, 2))
            if height is None or double is None:
                message = f"surface has no finite value in the direction ({n[0]:.3g}, {n[1]:.3g}, {n[2]:.3g})"
                site.report("surface", message, "e.g. sqrt(a**2*x**2 + b**2*y**2 + c**2*z**2)")
                return
            if abs(double - 2 * height) > ROUNDED * abs(height):
                message = "surface is not a support function: h(2 n) must be 2 h(n)"
                site.report("surface", message, "a sphere is r*sqrt(x**2 + y**2 + z**2)")
                return
            bends = site.vector(_at(slope.diff(d), n) for slope in _slopes(self.surface) for d in DIRECTION)
            if bends and np.linalg.eigvalsh(np.reshape(bends, (3, 3))).min() < -ROUNDED * max(map(abs, bends)):
                message = f"surface is not convex in the direction ({n[0]:.3g}, {n[1]:.3g}, {n[2]:.3g})"
                site.report("surface", message, "take the support function of a convex body")
                return

    @property
    def n_switches(self) -> int:
        return len(_bends(self.surface))

    def switches(self, motion: Motion) -> list[Any]:
        """Where, on the surface, one formula for it goes over to another."""
        _, turned, plane = self._standing(motion)
        return self._along(motion, _bends(self.surface), -(turned.T @ plane[2]))

    def _along(
        self, motion: Motion, formulas: tuple[sp.Expr, ...], down: np.ndarray, chosen: dict[Any, Any] | None = None
    ) -> list[Any]:
        """Formulas of a direction."""
        own = dict(zip(DIRECTION, down, strict=True))

        def lookup(atom: Any) -> Any:
            return own[atom] if atom in own else motion.evaluate(atom)

        return [evaluate(motion.al, formula, lookup, chosen) for formula in formulas]

    def _chosen(self, motion: Motion) -> dict[Any, Any]:
        """What chooses branches of the surface, if a run does."""
        asked = {bend: reference(BEND_QUANTITY, self.name, i) for i, bend in enumerate(_bends(self.surface))}
        return {bend: motion.chosen[ref] for bend, ref in asked.items() if ref in motion.chosen}

    def _standing(self, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The plane as drawn, axes of the surface, and the plane as it is: two tangents and the normal as rows."""
        al, (first, second) = motion.al, self.bodies
        drawn = al.array([[al.constant(float(entry)) for entry in row] for row in _frame(self.axis)])
        plane = drawn @ (motion.body(first)[0].R @ motion.local_axes(first)).T
        return drawn, motion.body(second)[0].R @ motion.local_axes(second), plane

    def _contact(self, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Normal of the plane and its tangents as rows, the center, the contact point (world), and the gap."""
        (first, second), slopes = self.bodies, _slopes(self.surface)
        (X_1, _), (X_2, _) = (motion.body(name) for name in self.bodies)
        drawn, turned, plane = self._standing(motion)
        center = X_2.apply(motion.local_point(second, self.center))
        below, start = -(turned.T @ plane[2]), -drawn[2]
        point = motion.al.array(self._along(motion, slopes, below, self._chosen(motion)))
        first_point = motion.al.array(self._along(motion, slopes, start))
        height = plane[2] @ (center - X_1.apply(motion.local_point(first, self.center)))
        return plane, center, center + turned @ point, height + start @ first_point - below @ point

    def position(self, motion: Motion) -> list[Any]:
        return [self._contact(motion)[3]]

    def velocity(self, motion: Motion) -> list[Any]:
        if self.slips:
            return []
        plane, _, contact, _ = self._contact(motion)
        slip: list[np.ndarray] = []
        for name in self.bodies:
            X, V = motion.body(name)
            slip.append(X.R @ V[3:] + cross(X.R @ V[:3], contact - X.p))
        return [tangent @ (slip[1] - slip[0]) for tangent in plane[:2]]


def _at(formula: Any, n: np.ndarray) -> sp.Expr:
    values = {direction: sp.Float(float(value)) for direction, value in zip(DIRECTION, n, strict=True)}
    return cast(sp.Expr, formula.xreplace(values))


def _frame(axis: tuple[sp.Expr, ...]) -> np.ndarray:
    """Two tangents of the plane and its normal, as rows."""
    n = np.array([float(component) for component in axis])
    n /= np.linalg.norm(n)
    x = np.cross(np.eye(3)[np.argmin(np.abs(n))], n)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(n, x), n])
