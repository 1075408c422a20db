"""Problems of random runs: mechanisms with values to draw, of fourteen kinds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dalembert as da
from dalembert.fuzz.random_mechanisms import planar_row
from dalembert.fuzz.random_models import UNIT, Size

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.magnet import magnet

__all__ = ["KINDS", "PROBLEMS", "Problem"]

KINDS = ("smooth", "kinks", "events", "stiff", "chaotic", "narrow",
         "contacts", "rubbing", "rolling", "loops", "drives", "control", "planar", "sizes")  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A mechanism with values to draw.

    Attributes:
        build: the model.
        duration: s.
        values, start, rates: ranges of parameters, of initial coordinates and of velocities by name.
        reference: longest step (s) of the run that is taken for the truth.
        stiff: the truth is found by an implicit method.
        ways: all formulations and coordinates are tried.
        size: units of length and mass that it is made in.
    """

    kind: str
    build: Callable[[], da.Model]
    duration: float
    values: dict[str, tuple[float, float]] = field(default_factory=dict)
    start: dict[str, tuple[float, float]] = field(default_factory=dict)
    rates: dict[str, tuple[float, float]] = field(default_factory=dict)
    reference: float = 0.01
    stiff: bool = False
    ways: bool = False
    size: Size = UNIT


def slider(force: str, **parameters: float) -> Callable[[], da.Model]:
    """A mass of 1 kg on a line with a force, a formula of q(P), u(P), t and parameters."""

    def build() -> da.Model:
        model = da.Model("slider", gravity=(0, 0, 0))
        for name, value in parameters.items():
            model.parameters(**{name: value})
        body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
        model.prismatic("P", "ground", body, point=(0, 0, 0), axis="x")
        model.joint_force("F", "P", force)
        return model

    return build


def bouncing() -> da.Model:
    """A mass that falls and bounces."""
    model = slider("-g", g=9.81, e=0.8)()
    model.event("bounce", "-q(P)", rates={"P": "-e*u(P)"})
    return model


def switched() -> da.Model:
    """An oscillator whose spring is stiffer on one side, by events."""
    model = slider("-k*q(P)", k=4.0, hard=30.0, soft=4.0)()
    model.event("into", "q(P)", set={"k": "hard"})
    model.event("out", "-q(P)", set={"k": "soft"})
    return model


def library(name: str) -> Callable[[], da.Model]:
    return lambda: da.library.build(name)


def falling(**limits: Any) -> Callable[[], da.Model]:
    """A mass on a line that is pushed about and bounces at limits."""

    def build() -> da.Model:
        model = slider("a*sin(3*t) - g", a=4.0, g=2.0, e=0.8)()
        model.limit("wall", "q(P)", restitution="e", **limits)
        return model

    return build


def resting() -> da.Model:
    """A mass on a stiff stop."""
    model = slider("-g", g=9.81, k=1e4)()
    model.stop("floor", "q(P)", lower=0, stiffness="k", exponent=1.5)
    return model


def spinning() -> da.Model:
    """A ball that bounces on a floor that rubs."""
    model = da.Model("ball with spin")
    model.parameters(e=0.8, mu=0.3)
    model.body("ball", mass=1.0, com=(0, 0, 0.1), inertia=(0.004, 0.004, 0.004))
    model.planar("plane", model.ground, "ball", point=(0, 0, 0.1), axis="y")
    skin = {"kind": "sphere", "at": (0, 0, 0.1), "radius": 0.1}
    model.rigid_contact("floor", model.ground, "ball", ({"kind": "plane", "axis": "z"}, skin), restitution="e")
    model.contact_friction("rub", "floor", coefficient="mu", along="x")
    model.initial("plane", (0.5, 0, 0), rate=(0, 1.0, 3.0))
    return model


def elbow() -> da.Model:
    """A double pendulum whose elbow has stops."""
    model = da.library.double_pendulum()
    model.parameters(e=0.5)
    model.limit("stops", f"q({model.joints[1].name})", lower=-0.3, upper=0.7, restitution="e")
    return model


def block(**law: Any) -> Callable[[], da.Model]:
    """A block on a floor that rubs, pushed to and fro."""

    def build() -> da.Model:
        model = da.Model("block")
        model.parameters(a=12.0, w=3.0, mu=0.3)
        model.body("b", mass=2.0, inertia=(1, 1, 1))
        model.prismatic("P", model.ground, "b", point=(0, 0, 0), axis="x")
        model.friction("rub", "P", coefficient="mu", **law)
        model.joint_force("push", "P", "a*sin(w*t) - 20*q(P)")
        return model

    return build


def hinge() -> da.Model:
    """A pendulum whose pin rubs the more, the more it bears."""
    model = da.library.pendulum(angle=1.2)
    model.parameters(mu=0.4)
    model.friction("rub", "pivot", coefficient="mu", radius=0.05)
    return model


def turntable() -> da.Model:
    """A ball that rolls on a table whose speed varies."""
    model = da.Model("turntable")
    model.parameters(w=3.0)
    model.body("table", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.body("ball", mass=1, com=(0.5, 0, 0.1), inertia=(0.004, 0.004, 0.004))
    model.revolute("axle", model.ground, "table", point=(0, 0, 0), axis="z")
    model.rolling_sphere("contact", "table", "ball", point=(0.5, 0, 0.1), axis="z", radius=0.1)
    model.drive("axle", "w*t + 0.3*sin(2*t)")
    return model


def skate() -> da.Model:
    """A blade on an inclined plane, beside the center of mass."""
    model = da.Model("skate", gravity=(2, 0, 0))
    model.body("skate", mass=1, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.planar("ice", model.ground, "skate", point=(0, 0, 0), axis="z")
    side = "-vx(skate)*sin(q(ice, 2)) + vy(skate)*cos(q(ice, 2)) - 0.2*u(ice, 2)"
    model.constraint("blade", side, level="velocity")
    model.initial("ice", rate=(1, 0, 1))
    return model


def driven(law: str) -> Callable[[], da.Model]:
    """A double pendulum whose shoulder is driven by a formula or a table."""

    def build() -> da.Model:
        model = da.library.double_pendulum()
        model.parameters(a=0.5, w=3.0)
        model.table("profile", x=[0, 1, 2, 2.5, 4, 6], y=[0, 0.3, 0.3, -0.2, 0.1, 0.1])
        model.drive(model.joints[0], law)
        return model

    return build


def reeled() -> da.Model:
    """A mass on a rope whose length varies."""
    model = da.Model("bob")
    model.parameters(a=0.2, w=4.0)
    model.particle("bob", 1.0, (0.6, 0, -0.8))
    model.constraint("rope", "x(bob)**2 + y(bob)**2 + z(bob)**2 - (1 + a*sin(w*t)**2)**2")
    return model


def by_table(kind: str) -> Callable[[], da.Model]:
    """A mass under a measured force."""

    def build() -> da.Model:
        model = slider("sin(4*t)")()
        x, y = [-2, -1.1, -0.3, 0.2, 0.8, 1.7], [8, 3, 1, -0.5, -6, -7]
        model.table("law", x=x, y=y, kind=kind, outside="extrapolate")
        model.joint_force("spring", "P", "3*law(q(P))")
        return model

    return build


def controlled() -> da.Model:
    """A position controller with an integral and a bound."""
    model = slider("min(max(kp*(1 - q(P)) + ki*integral - 4*u(P), -6), 6)", kp=40.0, ki=15.0)()
    model.state("integral", "1 - q(P)", initial=0.0)
    return model


def sampled() -> da.Model:
    """A controller that looks every 20 ms."""
    model = slider("force - 2")()
    da.parts.sampled(model, "control", 0.02, {"force": "14*(1 - q(P)) - 3*u(P)"})
    return model


def relay() -> da.Model:
    """A force that an event turns, and that remembers how often."""
    model = slider("push - 0.5*q(P)", push=3.0, band=0.1)()
    model.event("low", "q(P) + band", direction="falling", set={"push": "-1.1*push"})
    model.event("high", "q(P) - band", direction="rising", set={"push": "-1.1*push"})
    return model


def walker() -> da.Model:
    """A trunk with two legs that are sub-models."""
    leg = da.Model("leg")
    length = leg.parameters(length=0.5)
    rod = leg.body("rod", mass=1.0, com=(0, 0, -length / 2), inertia=(length**2 / 12, length**2 / 12, 0.001))
    leg.revolute("hip", leg.ground, rod, point=(0, 0, 0), axis="y")
    model = da.Model("walker")
    size = model.parameters(size=0.6)
    trunk = model.body("trunk", mass=3, com=(0, 0, 0), inertia=(0.4, 0.4, 0.4))
    model.prismatic("rail", model.ground, trunk, point=(0, 0, 0), axis="x")
    model.add(leg, "left", base=trunk, pose=(-0.3, 0, 0))
    model.add(leg, "right", base=trunk, pose=(0.3, 0, 0), parameters={"length": size})
    model.spring("tie", "left.rod", "right.rod", at=((-0.3, 0, -0.4), (0.3, 0, -0.4)), stiffness=100)
    model.initial("left.hip", 0.5)
    return model


def swing(size: Size) -> Callable[[], da.Model]:
    """A pendulum of any size on a spring."""

    def build() -> da.Model:
        L, M = size.length, size.mass
        model = da.Model("swing", gravity=(0, 0, -9.81 * L))
        model.body("b", mass=M, com=(0.9 * L, 0, -0.4 * L), inertia=(0.02 * M * L**2,) * 3)
        model.revolute("A", model.ground, "b", point=(0, 0, 0), axis="y")
        model.spring("s", model.ground, "b", at=((0, 0, L), (0.9 * L, 0, -0.4 * L)), stiffness=9 * M, length=L)
        return model

    return build


def hop(size: Size) -> Callable[[], da.Model]:
    """What falls, bounces, and slides while it rubs, of any size."""

    def build() -> da.Model:
        L, M = size.length, size.mass
        model = da.Model("hop", gravity=(0, 0, -9.81 * L))
        for name, axis in (("up", "z"), ("along", "x")):
            model.body(name, mass=M, com=(0, 0, 0), inertia=(M * L**2,) * 3)
            model.prismatic(f"{name} rail", model.ground, name, point=(0, 0, 0), axis=axis)
            model.initial(f"{name} rail", L, rate=L)
        model.limit("floor", "q('up rail')", lower=0, restitution=0.8)
        model.friction("rub", "along rail", coefficient=0.3)
        model.joint_force("pull", "along rail", f"{-20 * M!r}*q('along rail')")
        return model

    return build


SIZES = tuple(Size(10.0**length, 10.0**mass) for length, mass in ((-6, -6), (-3, 6), (3, -3), (6, 6), (6, -6)))
MADE = ((swing, True), (hop, False), (lambda size: lambda: planar_row(1, 5, size=size), True))

_Q, _U = {"P": (0.5, 2.0)}, {"P": (-1.0, 1.0)}
PROBLEMS = (
    Problem("smooth", library("four-bar"), 5.0),
    Problem("smooth", library("spinning-top"), 3.0),
    Problem("smooth", library("slider-crank"), 5.0),
    Problem("smooth", library("rolling-disc"), 5.0),
    Problem("smooth", library("cart-pendulum"), 5.0),
    Problem("smooth", library("bicycle"), 2.0),
    Problem("smooth", slider("-k*q(P) - c*u(P) + a*cos(2*t)", k=4.0, c=0.1, a=1.0), 20.0,
            {"k": (1, 50), "c": (0, 1), "a": (0, 3)}, _Q, _U, 0.02),
    Problem("smooth", slider("-k*sin(q(P))", k=9.81), 30.0, {"k": (1, 20)}, _Q, _U, 0.02),
    Problem("kinks", slider("-k*abs(q(P))*q(P) - k*(q(P)-0.2) - 0.05*u(P)", k=3.0), 10.0, {"k": (1, 20)}, _Q, _U, 2e-3),
    Problem("kinks", slider("-q(P) - (k*(q(P)-0.3) if q(P) > 0.3 else 0)", k=50.0), 10.0, {"k": (5, 300)}, _Q, _U,
            2e-3),
    Problem("kinks", slider("-4*q(P) - k*max(q(P)-0.5, 0) - k*min(q(P)+0.5, 0)", k=20.0), 10.0, {"k": (5, 100)}, _Q, _U,
            2e-3),
    Problem("kinks", slider("-4*q(P) - 0.5*tanh(u(P)/w) + sin(t)", w=0.05), 10.0, {"w": (0.02, 0.2)}, _Q, _U, 2e-3),
    Problem("events", bouncing, 3.0, {"e": (0.6, 0.95)}, {"P": (0.5, 2.0)}, {"P": (-1.0, 1.0)}),
    Problem("events", switched, 10.0, {"hard": (10, 100)}, {"P": (-1.0, -0.2)}, {"P": (0.0, 1.0)}),
    Problem("stiff", slider("-k*(q(P)-cos(t)) - c*u(P)", k=1e4, c=1e3), 5.0, {"k": (1e3, 1e5), "c": (100, 1000)},
            {"P": (0.9, 1.1)}, _U, 0.01, True),
    Problem("stiff", slider("m*(1-q(P)**2)*u(P) - q(P)", m=50.0), 50.0, {"m": (20, 100)}, {"P": (1.0, 2.0)}, {}, 0.05,
            True),
    Problem("chaotic", library("double-pendulum"), 15.0, {}, {}, {}, 5e-3),
    Problem("chaotic", slider("q(P) - q(P)**3 - 0.1*u(P) + a*cos(1.4*t)", a=0.35), 60.0, {"a": (0.3, 0.4)}, _Q, _U,
            0.02),
    Problem("narrow", magnet, 10.0, {"w": (0.0005, 0.01)}, {}, {}, 2e-3),
    Problem("narrow", slider("a*exp(-((t-5)/w)**2) - 0.5*q(P)", a=100.0, w=0.05), 10.0,
            {"a": (10, 300), "w": (0.02, 0.2)}, {"P": (0.0, 1.0)}, _U, 2e-3),
    Problem("narrow", slider("a*exp(-((q(P)-3)/w)**2)", a=3.0, w=0.1), 10.0, {"a": (1, 20), "w": (0.03, 0.3)},
            {"P": (0.0, 0.5)}, {"P": (0.8, 1.5)}, 2e-3),
    Problem("contacts", falling(lower=-0.5), 4.0, {"e": (0.3, 0.95), "a": (2, 8)}, {"P": (-0.4, 1)}, _U),
    Problem("contacts", falling(lower=-0.5, upper=0.5), 4.0, {"e": (0, 0.95), "a": (3, 9)}, {"P": (-0.4, 0.4)}, _U),
    Problem("contacts", resting, 2.0, {"k": (1e3, 1e6)}, {"P": (0.1, 1)}, {}, 2e-3),
    Problem("contacts", spinning, 1.5, {"e": (0.3, 0.9), "mu": (0.1, 0.6)}),
    Problem("contacts", elbow, 2.0, {"e": (0.2, 0.9)}),
    Problem("contacts", library("rocking-block"), 2.0),
    Problem("contacts", library("hopping-leg"), 1.5),
    Problem("rubbing", block(), 5.0, {"a": (2, 30), "w": (1, 5), "mu": (0.05, 0.5)}, _U, _U),
    Problem("rubbing", block(static="1.3*mu", stribeck=0.1), 5.0, {"a": (2, 30), "mu": (0.05, 0.5)}, _U, _U),
    Problem("rubbing", block(law="bristle", stiffness=1e4, damping=200), 3.0, {"a": (2, 30), "mu": (0.1, 0.5)}, _U, _U,
            0.01, True),
    Problem("rubbing", hinge, 4.0, {"mu": (0.1, 1)}),
    Problem("rubbing", library("stick-slip"), 4.0),
    Problem("rubbing", library("clutch"), 2.0),
    Problem("rolling", turntable, 3.0, {"w": (1, 6)}, ways=True),
    Problem("rolling", skate, 4.0, ways=True),
    Problem("rolling", library("snakeboard"), 4.0, ways=True),
    Problem("rolling", library("rolling-sphere"), 3.0, ways=True),
    Problem("rolling", library("wheelset"), 1.0),
    Problem("loops", library("four-bar"), 3.0, ways=True),
    Problem("loops", library("slider-crank-3d"), 2.0, ways=True),
    Problem("loops", library("bennett"), 2.0, ways=True),
    Problem("loops", library("satellite"), 2.0, ways=True),
    Problem("loops", library("andrews"), 0.03, reference=1e-4),
    Problem("drives", driven("a*sin(w*t)"), 3.0, {"a": (0.1, 1), "w": (1, 6)}, ways=True),
    Problem("drives", driven("profile(t)"), 3.0),
    Problem("drives", driven("a*max(t - 1.03, 0)**2"), 2.0, {"a": (0.1, 1)}),
    Problem("drives", reeled, 3.0, {"a": (0.05, 0.4), "w": (1, 8)}, ways=True),
    Problem("drives", by_table("linear"), 5.0, {}, _Q, _U),
    Problem("drives", by_table("cubic"), 5.0, {}, _Q, _U),
    Problem("control", controlled, 8.0, {"kp": (10, 100), "ki": (2, 60)}),
    Problem("control", sampled, 2.0, {}, _Q),
    Problem("control", relay, 4.0, {"band": (0.05, 0.3)}, _U, _U),
    Problem("planar", walker, 3.0, {"size": (0.3, 0.9)}, ways=True),
    Problem("planar", library("five-bar"), 3.0),
    Problem("planar", lambda: da.library.three_rrr().to_model(), 2.0),
    Problem("planar", lambda: da.library.planar_pendulum().to_model(), 3.0),
    *(Problem("sizes", make(size), 2.0, reference=0.01, ways=ways, size=size) for size in SIZES for make, ways in MADE),
)  # fmt: skip
