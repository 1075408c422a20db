"""Friction in joints, by the joint's own reaction: exact, or by bristles that bend."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import numpy as np
import sympy as sp
from pydantic import Field, PrivateAttr

from dalembert.constraints.dry_friction import DryFriction, Reactions, known_sizes
from dalembert.elements import Formula, JointName, Load, Motion, Site
from dalembert.elements.allowed import SIGNALS
from dalembert.elements.bearing import Bearing, Sizes
from dalembert.expressions import parameter, reference
from dalembert.expressions.symbols import COMPONENTS, REACTION, STATE

__all__ = ["Friction"]

ROUND = sp.Rational(1, 100)  # of the force of slipping: within this share of it bristles begin to give way
NOTHING = sp.Float(1e-12)  # a force (N, N m) that is none
_SIZES = ("radius", "length")


class Friction(DryFriction):
    """Coulomb friction in a joint, by the joint's own reaction N.

    Prismatic: N is the force across the axis, and 2 M/``length`` of the moment across it, if a length of the guide is
    given. Revolute: a torque by ``radius`` of the pin and the force across the axis. Screw: by the flank of a thread of
    mean ``radius``. Spherical: a torque by ``radius`` of the ball, against the angular velocity. Planar: a force
    against the velocity, and with ``radius`` of the pad a torque against turning. ``constant`` is there without any
    load, as that of a seal.
    """

    kind: Literal["friction"] = "friction"
    joint: JointName = Field(description="a revolute, prismatic, screw, spherical or planar joint")
    radius: Formula | None = Field(None, description="of the pin, thread, ball or pad (m)")
    length: Formula | None = Field(None, description="of the guide of a prismatic joint (m); default: forces alone")
    constant: Annotated[Formula, SIGNALS] = Field(
        0, validate_default=True, description="friction without load (N, or N m), also a formula, as of a clutch"
    )
    law: Literal["exact", "bristle"] = Field(
        "exact", description="'exact': sticks and slips by events; 'bristle': elastic where it sticks, without events"
    )
    stiffness: Formula | None = Field(None, description="of bristles (N/m, or N m/rad)")
    damping: Formula | None = Field(
        None, description="of bristles, above zero (N s/m, or N m s/rad); default: √stiffness"
    )
    _bearing: Bearing | None = PrivateAttr(None)

    def check(self, site: Site) -> None:
        super().check(site)
        for key in ("radius", "length", "constant", "stiffness", "damping"):
            value = site.value(getattr(self, key))
            if value is not None and (value < 0 or (value == 0 and key in ("length", "stiffness"))):
                site.report(key, f"{key} must be positive, got {value:g}", f"{key}: 0.1")
        if self.law == "bristle" and self.stiffness is None:
            site.report("stiffness", "bristles need a stiffness", "stiffness: 1e6")
        if self.law == "bristle" and self.damping is not None and site.value(self.damping) == 0:
            message = f"bristles in joint {self.joint!r} need a damping above zero, or they cannot yield"
            site.report("damping", message, "leave damping out for √stiffness")
        if self.law == "bristle" and self.static is not None and self.stribeck is None:
            message = "bristles go from static to coefficient over a velocity, which is not given"
            site.report("stribeck", message, "stribeck: 0.01")
        if self.law == "exact" and not (self.stiffness is None and self.damping is None):
            site.report("law", "stiffness and damping are those of bristles", "law: bristle")
        bearing = site.bearing(self.joint)
        if bearing is None:
            return
        if bearing == "":
            message = f"joint {self.joint!r} is of a kind without friction"
            site.report("joint", message, "a revolute, prismatic, screw, spherical or planar joint")
            return
        loaded = self.coefficient != 0 or self.static is not None
        for key in bearing.needs:
            if getattr(self, key) is None and loaded:
                site.report(key, f"friction in a {bearing.name} joint needs its {key}", f"{key}: 0.01")
        for key in _SIZES:
            if getattr(self, key) is not None and key not in (*bearing.needs, *bearing.takes):
                site.report(key, f"friction in a {bearing.name} joint has no {key}", f"leave {key} out")
        if self.law == "bristle" and self._load(bearing) is None:
            site.report("law", f"bristles are for revolute and prismatic joints, not {bearing.name} ones", "law: exact")

    def among(self, flat: Any) -> Friction:
        made = self.model_copy()
        made._bearing = flat.bearing(self.joint)
        return made

    @property
    def bearing(self) -> Bearing:
        assert self._bearing is not None, "flatten gives it its bearing"
        return self._bearing

    @property
    def directions(self) -> int:
        return self.bearing.ways + (self.radius is not None and "radius" in self.bearing.takes)

    def _sizes(self, motion: Motion) -> Sizes:
        known = known_sizes(motion, {"radius": self.radius, "length": self.length})
        return Sizes(**known, lead=motion.lead(self.joint))

    def slip(self, motion: Motion) -> np.ndarray:
        return self.bearing.slip(motion.al, motion.joint(self.joint)[1], self._sizes(motion))

    def push(self, motion: Motion, load: Load, force: np.ndarray) -> None:
        load.joint_forces.append((self.joint, self.bearing.push(motion.al, force, self._sizes(motion)), False))

    def unloaded(self, motion: Motion) -> Any:
        return motion.evaluate(self.constant)

    def normal(self, motion: Motion, reactions: Reactions) -> Any:
        if self.coefficient == 0 and self.static is None:
            return motion.al.constant(0)
        friction = reactions.multiplier(self.name) + motion.evaluate(parameter(f"{self.name}.force"))
        return self.bearing.load(motion.al, reactions.wrench(self.joint), self._sizes(motion), friction)

    def bristles(self) -> tuple[sp.Expr, sp.Expr]:
        """The rate of the bristles' deflection z, and the joint force.

        A spring and a damper side by side, behind a slide that holds up to the force of slipping g:  the force is −F,
        F = σ₀ z + σ₁ ż = g S(y), with y = (σ₀ z + σ₁ v)/g and S(y) = y up to |y| = 0.99, then ±1, rounded in between.
        Since S(y) has the sign of y and is not larger, F (v − ż) ≥ 0: what is not stored is lost, for all positive σ₀
        and σ₁, however g changes. Its derivative by N is between 0, while it sticks, and ±μ, that of the exact law:
        0 ≤ S − y S' ≤ 1 for y > 0. Viscous friction −c v comes on top.

        Reference: X. Xiong, R. Kikuuwe, M. Yamamoto, "A differential algebraic method to approximate nonsmooth
        mechanical systems by ordinary differential equations", Journal of Applied Mathematics (2013), 320276.
        """
        z, v = reference(STATE, f"{self.name}.bristle"), reference("u", self.joint)
        assert self.stiffness is not None
        stiffness: Any = self.stiffness
        damping: Any = sp.sqrt(stiffness) if self.damping is None else self.damping
        slips: Any = self.coefficient
        if self.static is not None and self.stribeck is not None:
            slips = slips + (self.static - slips) * sp.exp(-((v / self.stribeck) ** 2))
        most = slips * self._load(self.bearing) + self.constant + NOTHING
        bent = stiffness * z
        held = bent + damping * v
        # What has come to rest has y = 1: without rounding, on the edge between two branches.
        ahead, back = held > (1 - ROUND) * most, held < -(1 - ROUND) * most
        gives = [most * (1 - ROUND + ROUND * sp.tanh((side * held / most - 1) / ROUND + 1)) for side in (1, -1)]
        branch = cast(Any, sp).Piecewise
        force = branch((gives[0], ahead), (-gives[1], back), (held, True))
        rate = branch(((gives[0] - bent) / damping, ahead), ((-gives[1] - bent) / damping, back), (v, True))
        return rate, -force - self.viscous * v

    def _load(self, bearing: Bearing) -> Any:
        """N, as formulas name it; None if they cannot."""
        if self.coefficient == 0 and self.static is None:
            return sp.Integer(0) if bearing.ways == 1 else None

        def load(component: str) -> sp.Expr:
            return reference(REACTION, self.joint, COMPONENTS.index(component))

        radius, length = (1 if size is None else size for size in (self.radius, self.length))
        return bearing.formula(load, radius, None if self.length is None else length)
