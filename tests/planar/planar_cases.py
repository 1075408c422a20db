"""Planar mechanisms for tests: every joint, in the tree and closing a loop, both ways round."""

from __future__ import annotations

import math

import dalembert as da


def four_bar(order: str = "ABCD") -> da.Planar:
    """A four-bar whose joints are listed in any order, so that any of them closes the loop."""
    w = da.Planar("four-bar", gravity=(0, -9.81))
    w.base(A=(0, 0), D=(1, 0))
    crank = w.body("crank", A=(0, 0), B=(0, 0.4), mass=0.8, inertia=0.01)
    coupler = w.body("coupler", B=(0, 0.4), C=(0.9, 0.7), mass=2, inertia=0.2, com=(0.4, 0.1))
    rocker = w.body("rocker", C=(0.9, 0.7), D=(1, 0), mass=1.5, inertia=0.06)
    joints = {
        "A": ("base.A", crank.A), "B": (crank.B, coupler.B), "C": (rocker.C, coupler.C), "D": (rocker.D, "base.D"),
    }  # fmt: skip
    for name in order:
        w.revolute(name, *joints[name])
    return w


def slider_crank(order: str = "guide B C A") -> da.Planar:
    w = da.Planar("slider-crank", gravity=(0, -9.81))
    w.base(A=(0, 0))
    crank = w.body("crank", A=(0, 0), B=(0.2, 0.3), mass=1, inertia=0.02)
    rod = w.body("rod", B=(0.2, 0.3), C=(1, 0.1), mass=0.5, inertia=0.05)
    block = w.body("block", C=(1, 0.1), corner=(1.1, 0.2), mass=2, com="C", inertia=0.1)
    for name in order.split():
        if name == "guide":
            w.prismatic("guide", "base", block.C, axis=(1, 0.2), force="-2*guide.speed")
        elif name == "A":
            w.revolute("A", "base.A", crank.A, torque="0.5 - 0.1*A.omega")
        elif name == "B":
            w.revolute("B", crank.B, rod.B)
        else:
            w.revolute("C", rod.C, block.C)
    return w


def inverted_slider_crank() -> da.Planar:
    """A cylinder that turns, its piston on a crank: a slide between two moving bodies."""
    w = da.Planar("inverted slider-crank", gravity=(0, -9.81))
    w.base(A=(0, 0), D=(1.2, 0))
    crank = w.body("crank", A=(0, 0), B=(0.1, 0.4), mass=1, inertia=0.02)
    cylinder = w.body("cylinder", D=(1.2, 0), top=(1.0, 0.3), mass=2, inertia=0.1)
    piston = w.body("piston", B=(0.1, 0.4), end=(0.6, 0.3), mass=1, inertia=0.03)
    w.revolute("A", "base.A", crank.A, torque="u1")
    w.revolute("B", crank.B, piston.B)
    w.revolute("D", "base.D", cylinder.D)
    w.prismatic("slide", cylinder, piston.B, axis=(-1.1, 0.4), force="-30*slide.slide - 2*slide.speed")
    w.input("u1", "0.4*cos(2*t)")
    return w


def scotch_yoke() -> da.Planar:
    """A pin of the crank in a slot across a yoke that slides: the slot is given by its axis."""
    w = da.Planar("scotch yoke")
    w.base(A=(0, 0))
    crank = w.body("crank", A=(0, 0), pin=(0.3, 0.2), mass=1, inertia=0.03)
    yoke = w.body("yoke", P=(0.3, 0), mass=2)
    w.revolute("A", "base.A", crank.A)
    w.prismatic("guide", "base", yoke, axis="x")
    w.pin_in_slot("slot", yoke, crank.pin, axis="y", force="-3*slot.speed", torque="-0.2*slot.omega")
    w.initial("A", rate=3.0)
    return w


def puck() -> da.Planar:
    """A puck in the slot of an arm: a pin in a slot that closes no loop."""
    w = da.Planar("puck", gravity=(0, -9.81))
    w.base(O=(0, 0))
    arm = w.body("arm", O=(0, 0), end=(2, 0), mass=1, inertia=1 / 3)
    disc = w.body("disc", c=(1, 0), rim=(1, 0.2), com="c", mass=0.5, inertia=0.1)
    w.revolute("O", "base.O", arm.O)
    w.pin_in_slot("slot", arm, disc.c, force="-5*slot.slide", torque="-0.3*slot.omega")
    w.spring("k", "base.O", disc.rim, stiffness=4, damping=0.2, length=0.7)
    w.initial("slot", rate=(0.2, 1.0))
    return w


def ring_and_disc(angle: float = 0.6, gravity: tuple[float, float] = (0, -9.8)) -> da.Planar:
    """Example 5.1 of the thesis: a ring that rolls along x, a disc that rolls inside it."""
    w = da.Planar("ring and disc", gravity=gravity)
    ring = w.body("ring", c=(0, 1), mass=0.67, inertia=0.67)
    place = (0.7 * math.sin(angle), 1 - 0.7 * math.cos(angle))
    disc = w.body("disc", c=place, mass=0.08, inertia=0.08 * 0.3**2 / 2)
    w.rolling_on_line("floor", ring.c, 1.0, axis="x")
    w.rolling_on_disc("inner", ring.c, disc.c, (1.0, 0.3), inside=True)
    return w


def wheels() -> da.Planar:
    """A wheel that rolls on a swinging plank, and on it a smaller one: contacts between moving bodies."""
    w = da.Planar("wheels", gravity=(0, -9.81))
    w.base(O=(0, 0))
    plank = w.body("plank", O=(0, 0), end=(2, 0.1), com="O", mass=1, inertia=4)
    big = w.body("big", c=(0.3, 0.5), mass=1, inertia=0.1)
    small = w.body("small", c=(0.3, 0.5 + 0.7), mass=0.2, inertia=0.005)
    w.revolute("O", "base.O", plank.O)
    w.rolling_on_line("low", big.c, 0.5, line=plank, axis=(2, 0.1))
    w.rolling_on_disc("high", big.c, small.c, (0.5, 0.2))
    w.force("hold", plank.end, (0, 8))
    return w


def own_variables() -> da.Planar:
    """A double pendulum with a flywheel on a gear, a coordinate of its own and a constraint between its angles."""
    w = da.Planar("own variables", gravity=(0, -9.81))
    m = w.parameters(m=1.5)
    w.base(O=(0, 0))
    upper = w.body("upper", O=(0, 0), P=(1, 0), mass=m, inertia=m / 12)
    lower = w.body(
        "lower", P=(1, 0), end=(1.5, 0.5), mass=1, inertia=0.04, torque="-0.1*lower.omega", force=("0.2*t", 0)
    )
    w.revolute("O", "base.O", upper.O)
    w.revolute("P", upper.P, lower.P)
    w.coordinate("phi", "upper.omega - 2*lower.omega", start=0.1)
    w.quasi_velocity("p", "3*lower.omega - upper.omega", force="-0.3*p", inertia=0.05)
    w.constraint("geared", "lower.omega - 0.5*upper.omega - 0.1*phi", level="velocity")
    return w


def height_kept() -> da.Planar:
    """A bar whose end is led along a parabola by a holonomic constraint."""
    w = da.Planar("led bar", gravity=(0, -9.81))
    bar = w.body("bar", P=(0.2, 0.04), Q=(1, 0.5), mass=1, inertia=0.1)
    w.constraint("track", bar.P.y - bar.P.x**2)
    return w


CASES = {
    "four-bar": four_bar,
    "slider-crank": slider_crank,
    "inverted slider-crank": inverted_slider_crank,
    "scotch yoke": scotch_yoke,
    "puck": puck,
    "ring and disc": ring_and_disc,
    "wheels": wheels,
    "own variables": own_variables,
    "led bar": height_kept,
}
