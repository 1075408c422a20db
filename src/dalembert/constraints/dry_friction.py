"""Coulomb friction, exactly: what sticks is held by an equation, what slips feels a force that follows from reactions.

A run tells which: parameters ``NAME.on`` (1: it sticks), ``NAME.slip`` (the sign of the velocity while it slips),
``NAME.force`` (the force of friction along that velocity, which the equations of motion solve for), and, where it can
slip in several directions, ``NAME.way 0`` … (the direction in which it breaks loose).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from pydantic import Field

from dalembert.constraints.base import Constraint
from dalembert.elements import Formula, Load, Motion, Site
from dalembert.expressions import parameter

__all__ = ["STOPPED", "DryFriction", "Reactions"]

# Slip in several directions (m/s, rad/s): slower than this it has come to a halt, since its direction turns ever faster
# there; and what breaks loose feels friction against the way it will go while it is slower than the second one.
STOPPED = 1e-10
STARTING = 1e-12


class Reactions(Protocol):
    """What friction may ask about the forces of joints and constraints."""

    def wrench(self, joint: str) -> np.ndarray:
        """What a joint does to its second body, (n, f) about the joint's point in the axes of its first frame."""
        ...

    def multiplier(self, constraint: str) -> Any:
        """λ of the first equation of a constraint."""
        ...


class DryFriction(Constraint):
    """Friction against a velocity v, a number or a vector:  sticks with v = 0 while the force that this takes is at
    most ``static`` N, and slips against −``coefficient`` N v/|v| otherwise."""

    positional: ClassVar[tuple[str, ...]] = ("name", "joint")
    active: bool = Field(False, description="no use here: the run finds out what sticks at its start")
    coefficient: Formula = Field(0, validate_default=True, description="coefficient of friction μ while it slips")
    static: Formula | None = Field(None, description="coefficient μ₀ that ends sticking; default: the same")
    stribeck: Formula | None = Field(
        None, description="velocity vₛ over which μ₀ falls to μ:  μ + (μ₀ − μ) exp(−(v/vₛ)²); default: at once"
    )
    viscous: Formula = Field(0, validate_default=True, description="force per velocity while it slips (N s/m, N m s)")

    @abstractmethod
    def slip(self, motion: Motion) -> np.ndarray:
        """The velocity v, one or several components."""

    @abstractmethod
    def push(self, motion: Motion, load: Load, force: np.ndarray) -> None:
        """Add forces along the components of v."""

    @abstractmethod
    def normal(self, motion: Motion, reactions: Reactions) -> Any:
        """What the coefficients of friction multiply."""

    @property
    @abstractmethod
    def directions(self) -> int:
        """How many components v has."""

    def unloaded(self, motion: Motion) -> Any:
        """Friction that is there without any load."""
        return motion.al.constant(0)

    @property
    def touches(self) -> str | None:
        """A one-sided constraint that must be closed for it, if any."""
        return None

    def among(self, flat: Any) -> DryFriction:
        """With what it must know of other elements of the model."""
        return self

    def velocity(self, motion: Motion) -> list[Any]:
        return list(self.slip(motion))

    def pace(self, motion: Motion) -> Any:
        """The velocity along which its force acts: v, or |v| where it can slip in several directions."""
        v = self.slip(motion)
        return v[0] if self.directions == 1 else motion.al.length(v)

    def passing(self, motion: Motion) -> Any:
        """What falls through zero where it comes to a halt, times the sign of its slip."""
        return self.pace(motion) - (0.0 if self.directions == 1 else STOPPED)

    def load(self, motion: Motion, load: Load, force: Any) -> None:
        """Add the force of friction along v: against it if it is negative."""
        al, v = motion.al, self.slip(motion)
        if self.directions == 1:
            self.push(motion, load, al.array([force]))
            return
        way = [motion.evaluate(parameter(name)) for name in self.parameters()[2:]]
        v = v + STARTING * al.array(way)
        self.push(motion, load, force / al.length(v) * v)

    def parameters(self) -> list[str]:
        """What a run sets, besides the switch."""
        ways = range(self.directions if self.directions > 1 else 0)
        return [f"{self.name}.slip", f"{self.name}.force", *(f"{self.name}.way {i}" for i in ways)]

    def started(self, force: np.ndarray) -> dict[str, float]:
        """Those parameters where it breaks loose against the force that held it."""
        if self.directions == 1:
            return {f"{self.name}.slip": -float(np.sign(force[0])) or 1.0}
        way = -force / max(float(np.linalg.norm(force)), 1e-300)
        ways = {f"{self.name}.way {i}": float(x) for i, x in enumerate(way)}
        return {f"{self.name}.slip": 1.0, **ways}

    def sliding(self, velocity: np.ndarray) -> dict[str, float]:
        """Those parameters where it slides."""
        if len(velocity) == 1:
            return {f"{self.name}.slip": float(np.sign(velocity[0]))}
        return {f"{self.name}.slip": 1.0, **{f"{self.name}.way {i}": 0.0 for i in range(len(velocity))}}

    def sizes(self, motion: Motion, reactions: Reactions) -> list[Any]:
        """How large it is while it slips, and may be while it sticks."""
        normal, rest = self.normal(motion, reactions), self.unloaded(motion)
        slips = motion.evaluate(self.coefficient)
        sticks = slips if self.static is None else motion.evaluate(self.static)
        if self.stribeck is None and self.viscous == 0:
            return [slips * normal + rest, sticks * normal + rest]
        speed = motion.al.length(self.slip(motion))
        if self.stribeck is not None:
            share = speed / motion.evaluate(self.stribeck)
            slips = slips + (sticks - slips) * motion.al.exp(-share * share)
        return [slips * normal + rest + motion.evaluate(self.viscous) * speed, sticks * normal + rest]

    def check(self, site: Site) -> None:
        values = [site.value(formula) for formula in (self.coefficient, self.static)]
        for key, value in zip(("coefficient", "static"), values, strict=True):
            if value is not None and value < 0:
                site.report(key, f"friction must not be negative, got {value:g}", f"{key}: 0.3")
        if values[0] is not None and values[1] is not None and values[1] < values[0]:
            message = f"what sticks must hold more than what slips: static {values[1]:g}, coefficient {values[0]:g}"
            site.report("static", message, "swap them")
        for key, least in (("stribeck", 1e-300), ("viscous", 0.0)):
            value = site.value(getattr(self, key))
            if value is not None and value < least:
                site.report(key, f"{key} must be positive, got {value:g}", f"{key}: 0.01")


def known_sizes(motion: Motion, formulas: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the sizes that are given."""
    return {key: motion.evaluate(formula) for key, formula in formulas.items() if formula is not None}
