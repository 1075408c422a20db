"""One-sided springs: end stops that give, and contact of surfaces that give.

With the depth x by which something is pressed in, and its rate:  F = k xⁿ (1 + d ẋ)  where that is positive, after
K. H. Hunt and F. R. E. Crossley (1975). There is no jump where surfaces touch, and they never stick. For a slow impact
at speed v the restitution is e ≈ 1 − ⅔ d v (n = 3/2).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal

import sympy as sp
from pydantic import Field

from dalembert.elements import BodyName, Formula, FrameName, Load, Motion, Site
from dalembert.elements.allowed import POTENTIAL
from dalembert.elements.surfaces import Surface, check_pair, curvature_radius, slipping, touching
from dalembert.elements.travel import Travel, check_travel, slope, travel_sides
from dalembert.expressions import reference, references
from dalembert.forces.base import Force

__all__ = ["Contact", "OneSidedSpring", "Stop"]

DEPTH_TINY = 1e-30  # (m²) in the tangential velocity, whose direction is undefined at rest


class OneSidedSpring(Force):
    """Something that pushes while it is pressed in."""

    exponent: Formula = Field(1, validate_default=True, description="n: 1 is a linear spring, 3/2 Hertz's law")
    dissipation: Formula = Field(0, validate_default=True, description="d (s/m, or s/rad) of F = k xⁿ (1 + d ẋ)")

    @abstractmethod
    def depths(self, motion: Motion) -> list[tuple[Any, Any]]:
        """By how much it is pressed in on each side, and at which rate; negative where it is apart."""

    @abstractmethod
    def coefficient(self, motion: Motion) -> Any:
        """k."""

    def switches(self, motion: Motion) -> list[Any]:
        """What passes through zero where a force begins, ends or would pull: steps end there."""
        d = motion.evaluate(self.dissipation)
        damped = self.dissipation != 0
        return [part for x, rate in self.depths(motion) for part in ((x, 1 + d * rate) if damped else (x,))]

    @property
    def n_switches(self) -> int:
        return self.sides * (1 + (self.dissipation != 0))

    @property
    def sides(self) -> int:
        return 1

    def pushes(self, motion: Motion) -> list[tuple[Any, Any]]:
        """The elastic force of each side, and what dissipation adds to it."""
        al = motion.al
        k, n, d = self.coefficient(motion), self.exponent, motion.evaluate(self.dissipation)
        found: list[tuple[Any, Any]] = []
        for x, rate in self.depths(motion):
            depth = al.maximum(x, al.constant(0))
            elastic = k * (depth if n == 1 else al.power(depth, _exponent(motion, n)))
            found.append((elastic, elastic * al.maximum(d * rate, al.constant(-1))))
        return found

    def energy(self, motion: Motion) -> Any:
        al, n = motion.al, motion.evaluate(self.exponent)
        energy = al.constant(0)
        for x, _ in self.depths(motion):
            depth = al.maximum(x, al.constant(0))
            power = depth * depth if self.exponent == 1 else al.power(depth, _exponent(motion, self.exponent + 1))
            energy = energy + self.coefficient(motion) * power / (n + 1)
        return energy

    def check(self, site: Site) -> None:
        for key, least in (("exponent", 1.0), ("dissipation", 0.0)):
            value = site.value(getattr(self, key))
            if value is not None and value < least:
                site.report(key, f"{key} must not be below {least:g}, got {value:g}", f"{key}: {least:g}")


def _exponent(motion: Motion, n: sp.Expr) -> Any:
    """A number stays one, so that its powers have simple derivatives."""
    return float(n) if n.is_number else motion.evaluate(n)


def check_stiffness(site: Site, stiffness: Any) -> None:
    value = site.value(stiffness)
    if value is not None and value <= 0:
        site.report("stiffness", f"stiffness must be positive, got {value:g}", "stiffness: 1e5")


class Stop(Travel, OneSidedSpring):
    """End stops of a coordinate, or of any formula of the position, that give: a one-sided spring on either side.

    With both bounds on a difference of coordinates it is a backlash with stiffness.
    """

    positional: ClassVar[tuple[str, ...]] = ("name", "of")
    kind: Literal["stop"] = "stop"
    of: Annotated[Formula, POTENTIAL] = Field(description="what is limited, e.g. q(knee); in Python also the joint")
    stiffness: Formula = Field(description="k (N/m, or N m/rad)")
    lower: Formula | None = Field(None, description="where the lower stop begins (rad or m)")
    upper: Formula | None = Field(None, description="where the upper stop begins")

    def check(self, site: Site) -> None:
        super().check(site)
        check_stiffness(site, self.stiffness)
        check_travel(site, self.of, self.lower, self.upper)

    def coefficient(self, motion: Motion) -> Any:
        return motion.evaluate(self.stiffness)

    def _slopes(self, motion: Motion) -> list[tuple[str, str, int, Any]]:
        """∂/∂ of all that ``of`` names."""
        return [
            (ref.quantity, ref.element, ref.index, motion.evaluate(slope(self.of, ref)))
            for ref in sorted(references(self.of), key=repr)
        ]

    def _rate(self, motion: Motion) -> Any:
        rate = motion.al.constant(0)
        for quantity, element, index, part in self._slopes(motion):
            name = "u" if quantity == "q" else f"v{quantity}"
            rate = rate + part * motion.evaluate(reference(name, element, index))
        return rate

    def depths(self, motion: Motion) -> list[tuple[Any, Any]]:
        gaps, rate = travel_sides(motion, self.of, self.lower, self.upper), self._rate(motion)
        signs = [1] * (self.lower is not None) + [-1] * (self.upper is not None)
        return [(-gap, -sign * rate) for gap, sign in zip(gaps, signs, strict=True)]

    def loads(self, motion: Motion, load: Load) -> None:
        al = motion.al
        signs = [1] * (self.lower is not None) + [-1] * (self.upper is not None)
        pushes = self.pushes(motion)
        for part, conservative in ((0, True), (1, False)):
            push = al.constant(0)
            for sign, both in zip(signs, pushes, strict=True):
                push = push + sign * both[part]
            for quantity, element, index, along in self._slopes(motion):
                if quantity == "q":
                    force = al.zeros(len(motion.joint(element)[1]))
                    force[index] = push * along
                    load.joint_forces.append((element, force, conservative))
                else:
                    force = al.zeros(3)
                    force["xyz".index(quantity)] = push * along
                    load.force_at(element, motion.body(element)[0], al.zeros(3), force, conservative)


class Contact(OneSidedSpring):
    """Two surfaces that press into each other a little.

    Stiffness is given, or follows from the materials of spheres by Hertz:  k = 4/3 E √R,  1/E = (1−ν₁²)/E₁ +
    (1−ν₂²)/E₂,  1/R = 1/R₁ + 1/R₂.  Friction is Coulomb's law, smooth below the velocity ``slip``: what rests creeps.
    """

    balanced: ClassVar[bool] = True
    kind: Literal["contact"] = "contact"
    bodies: tuple[BodyName, BodyName] = Field(description="the two bodies")
    surfaces: tuple[Surface, Surface] = Field(description="a surface on each, see ``Surface``")
    stiffness: Formula | None = Field(None, description="k (N/mⁿ)")
    young: tuple[Formula, Formula] | None = Field(None, description="Young's moduli E₁, E₂ (Pa), instead of stiffness")
    poisson: tuple[Formula, Formula] = Field((0.3, 0.3), validate_default=True, description="Poisson's ratios ν₁, ν₂")
    exponent: Formula = Field(1.5, validate_default=True, description="n: 3/2 is Hertz's law, 1 a linear spring")
    friction: Formula = Field(0, validate_default=True, description="coefficient of friction μ")
    slip: Formula = Field(0.001, validate_default=True, description="velocity (m/s) from which friction is full")
    frame: FrameName = Field("world", description="'world', 'body' (each surface in its own body), or a body's name")

    def check(self, site: Site) -> None:
        super().check(site)
        check_pair(site, self.bodies, self.surfaces)
        if (self.stiffness is None) == (self.young is None):
            site.report("stiffness", "give either stiffness or young", "young: [2.1e11, 2.1e11]")
        if self.stiffness is not None:
            check_stiffness(site, self.stiffness)
        if self.young is not None:
            round_ = [surface for surface in self.surfaces if surface.kind == "sphere" and surface.radius != 0]
            if not round_ or any(surface.kind not in ("sphere", "plane") for surface in self.surfaces):
                site.report("young", "Hertz's law is for spheres, and for a sphere on a plane", "stiffness: 1e8")
        for key, least in (("friction", 0.0), ("slip", 1e-12)):
            value = site.value(getattr(self, key))
            if value is not None and value < least:
                site.report(
                    key, f"{key} must not be negative, got {value:g}", f"{key}: {'0.3' if least == 0 else 1e-3}"
                )

    def coefficient(self, motion: Motion) -> Any:
        if self.stiffness is not None:
            return motion.evaluate(self.stiffness)
        assert self.young is not None
        E, nu = ([motion.evaluate(value) for value in pair] for pair in (self.young, self.poisson))
        soft = sum((1 - nu[i] * nu[i]) / E[i] for i in range(2))
        return 4 / 3 / soft * motion.al.sqrt(curvature_radius(motion, self.surfaces))

    def depths(self, motion: Motion) -> list[tuple[Any, Any]]:
        touch = touching(motion, self.bodies, self.surfaces, self.frame)
        return [(-touch.gap, -(touch.gradient @ slipping(motion, self.bodies, touch.point)))]

    def loads(self, motion: Motion, load: Load) -> None:
        al = motion.al
        touch = touching(motion, self.bodies, self.surfaces, self.frame)
        ((elastic, damper),) = self.pushes(motion)
        forces = [(elastic * touch.gradient, True), (damper * touch.gradient, False)]
        if self.friction != 0:
            n2, v = touch.gradient @ touch.gradient, slipping(motion, self.bodies, touch.point)
            sliding = v - (v @ touch.gradient) / n2 * touch.gradient
            slip = motion.evaluate(self.slip)
            normal = (elastic + damper) * al.sqrt(n2)
            speed = al.sqrt(sliding @ sliding + slip * slip * 1e-6 + DEPTH_TINY)
            forces.append((-motion.evaluate(self.friction) * normal * al.tanh(speed / slip) / speed * sliding, False))
        for force, conservative in forces:
            for body, sign in zip(self.bodies, (-1, 1), strict=True):
                X, _ = motion.body(body)
                load.force_at(body, X, X.R.T @ (touch.point - X.p), sign * force, conservative)
