"""The 3-RRR parallel mechanism of section 5.3.2 of the thesis by R. M. M. Orsino, data from its listing.

A platform is carried by three legs, each a crank on the base and a coupler; the three cranks are driven, and the
platform moves in all three ways of the plane.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.planar import Planar

__all__ = ["three_rrr"]

LEGS = ("1", "2", "3")


def three_rrr(*, base: float = 3.0, platform: float = 1.0) -> Planar:
    """A 3-RRR mechanism that lies flat; torques u1, u2, u3 act on the cranks.

    Args:
        base: radius of the circle through the pivots on the base (m).
        platform: radius of the circle through the pins of the platform (m).
    """
    w = Planar("three-rrr", description="3-RRR parallel mechanism, driven at its three cranks")
    turn: list[Any] = [2 * sp.pi * k / 3 for k in range(3)]
    pins = {f"P{leg}": (platform * sp.cos(a), platform * sp.sin(a)) for leg, a in zip(LEGS, turn, strict=True)}
    top = w.body("platform", nodes={"center": (0, 0), **pins}, com="center", mass=1, inertia=0.25)
    for leg, a in zip(LEGS, turn, strict=True):
        c, s = sp.cos(a), sp.sin(a)
        knee = (2 * c - sp.sqrt(3) * s, 2 * s + sp.sqrt(3) * c)
        pivot = (base * c, base * s)
        w.base(**{f"O{leg}": pivot})
        coupler = w.body(f"coupler{leg}", top=pins[f"P{leg}"], knee=knee, mass=0.5, inertia=sp.Rational(1, 6))
        crank = w.body(f"crank{leg}", pivot=pivot, knee=knee, com="pivot", mass=0.5, inertia=sp.Rational(2, 3))
        w.revolute(f"A{leg}", f"base.O{leg}", crank.pivot, torque=f"u{leg}")
        w.revolute(f"K{leg}", crank.knee, coupler.knee)
        w.revolute(f"B{leg}", getattr(top, f"P{leg}"), coupler.top)
    w.output("x", top.center.x, unit="m")
    w.output("y", top.center.y, unit="m")
    w.output("angle", top.angle, unit="rad")
    return w
