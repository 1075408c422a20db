"""Random scenes: small chains that hit, stick, slip, switch and are pushed for a blink of time.

They hold what a run may pass over: stops, contacts, friction, tables, signs, saturated controllers, events that set
values or velocities, pulses, prescribed motion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.fuzz.random_models import UNIT, Size
from dalembert.model import Model

__all__ = ["random_scene"]

MOST_BODIES, MOST_THINGS = 3, 3
AWAY = 5.0  # where balls lie, in units of length


class _Scene:
    """A chain in a plane, in the making.

    Attributes:
        rates: of joints at the start.
        free: joints that no drive and no friction has yet.
    """

    def __init__(self, seed: int, size: Size):
        rng = self.rng = np.random.default_rng([seed, 6])
        self.size, self.rates, self.kinds = size, dict[str, Any](), dict[str, str]()
        L, g = size.length, 9.81 * size.acceleration
        self.model = Model(f"scene {seed}", gravity=(0, -g if rng.random() < 0.8 else 0, 0))
        at, before = np.zeros(3), "ground"
        for i in range(int(rng.integers(1, MOST_BODIES + 1))):
            way = rng.uniform(0, 2 * np.pi)
            end = at + rng.uniform(0.3, 1.0) * L * np.array([np.cos(way), np.sin(way), 0])
            inertia = size.mass * L**2 * np.array([0.05, 0.06, rng.uniform(0.02, 0.11)])
            middle = tuple((at + end) / 2)
            self.model.body(f"b{i}", mass=size.mass * rng.uniform(0.5, 3), com=middle, inertia=tuple(inertia))
            name, kind = f"j{i}", "prismatic" if rng.random() < 0.45 else "revolute"
            if kind == "revolute":
                self.model.revolute(name, before, f"b{i}", point=tuple(at), axis="z")
            else:
                along = rng.uniform(0, 2 * np.pi)
                self.model.prismatic(name, before, f"b{i}", point=tuple(at), axis=(np.cos(along), np.sin(along), 0))
            self.kinds[name] = kind
            self.rates[name] = float(rng.normal() * rng.choice([0, 1, 4])) * self.long(name) / size.time
            if rng.random() < 0.6:
                k, c = 10 ** rng.uniform(0, 2.5) * self.stiff(name), rng.choice([0, 0.1, 1]) * self.stiff(name)
                angle = 0.3 * rng.normal() * self.long(name)
                self.model.torsional_spring(
                    f"spring {name}", name, stiffness=k, damping=c * size.time, angle=float(angle)
                )
            at, before = end, f"b{i}"
        self.free = list(self.kinds)

    def long(self, joint: str) -> float:
        """The unit of a joint's coordinate."""
        return self.size.length if self.kinds[joint] == "prismatic" else 1.0

    def stiff(self, joint: str) -> float:
        """The unit of force over coordinate of a joint."""
        return self.size.energy / self.long(joint) ** 2

    def strong(self, joint: str) -> float:
        """The unit of a joint's force."""
        return self.size.energy / self.long(joint)

    def joint(self) -> str:
        return str(self.rng.choice(list(self.kinds)))

    def between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def near(self, joint: str) -> float:
        """A value that the coordinate of a joint may soon pass."""
        return 0.3 * float(self.rng.normal()) * self.long(joint)


def random_scene(seed: int, size: Size = UNIT) -> tuple[Model, dict[str, Any]]:
    """A model, and the initial rates of a run of it."""
    s = _Scene(seed, size)
    for i in s.rng.permutation(len(THINGS))[: s.rng.integers(1, MOST_THINGS + 1)]:
        THINGS[int(i)](s, s.joint())
    return s.model, s.rates


def _limit(s: _Scene, j: str) -> None:
    lower, upper = -s.between(0.02, 0.8) * s.long(j), s.between(0.02, 0.8) * s.long(j)
    e, impact = float(s.rng.choice([0, 0.3, 0.8, 1])), str(s.rng.choice(["newton", "poisson"]))
    s.model.limit("limit", f"q({j})", lower=lower, upper=upper, restitution=e, impact=impact)


def _stop(s: _Scene, j: str) -> None:
    long, n = s.long(j), float(s.rng.choice([1, 1.5, 2]))
    k = 10 ** s.between(2, 4.5) * s.stiff(j) * long ** (1 - n)
    damped = float(s.rng.choice([0, 0.3])) * s.size.time / long
    s.model.stop("gives", f"q({j})", lower=-s.between(0.02, 0.8) * long, upper=s.between(0.02, 0.8) * long,
                 stiffness=k, exponent=n, dissipation=damped)  # fmt: skip


def _ball(s: _Scene, name: str) -> tuple[list[dict[str, Any]], tuple[float, float, float]]:
    """A ball in the plane, on an inclined floor or above it: surfaces, and the direction along the floor."""
    L, T, lean = s.size.length, s.size.time, float(s.rng.choice([0.0, s.between(-0.5, 0.5)]))
    n, r = np.array([np.sin(lean), np.cos(lean), 0]), s.between(0.1, 0.3) * L
    foot = np.array([AWAY * L, 0, 0])
    p = tuple(foot + (r + float(s.rng.choice([0.0, 0.1, 0.5])) * L) * n)
    s.model.body(name, mass=s.size.mass, com=p, inertia=(0.02 * s.size.mass * L**2,) * 3)
    s.model.planar(f"fly {name}", "ground", name, point=p, axis="z")
    moves = s.rng.normal(size=3) * s.rng.choice([0, 1, 5]) * np.array([L, L, 1]) / T
    s.rates[f"fly {name}"] = [float(v) for v in moves]
    surfaces = [
        {"kind": "plane", "at": tuple(foot), "axis": tuple(n)}, {"kind": "sphere", "at": p, "radius": r}
    ]  # fmt: skip
    return surfaces, (float(n[1]), -float(n[0]), 0.0)


def _rigid(s: _Scene, j: str) -> None:
    surfaces, along = _ball(s, "ball")
    e = float(s.rng.choice([0, 0.5, 0.9]))
    s.model.rigid_contact("touch", "ground", "ball", surfaces, restitution=e)
    if s.rng.random() < 0.8:
        s.model.contact_friction("rub", "touch", coefficient=s.between(0.1, 0.7), along=along)


def _soft(s: _Scene, j: str) -> None:
    surfaces, _ = _ball(s, "cushion")
    n, L = float(s.rng.choice([1, 1.5])), s.size.length
    k = 10 ** s.between(3, 4.5) * s.size.stiffness * L ** (1 - n)
    damped, slip = float(s.rng.choice([0, 0.3])) * s.size.time / L, 0.05 * L / s.size.time
    s.model.contact(
        "press", "ground", "cushion", surfaces,
        stiffness=k, exponent=n, dissipation=damped, friction=0.3, slip=slip,
    )  # fmt: skip


def _friction(s: _Scene, j: str) -> None:
    if j not in s.free:
        return
    s.free.remove(j)
    mu, L = s.between(0.1, 0.3), s.size.length
    more: dict[str, Any] = {"radius": 0.05 * L} if s.kinds[j] == "revolute" else {}
    if s.kinds[j] == "prismatic" and s.rng.random() < 0.4:
        more["length"] = 0.5 * L
    if s.rng.random() < 0.5:
        more["static"] = 1.3 * mu
        more |= {"stribeck": 0.1 * s.long(j) / s.size.time} if s.rng.random() < 0.5 else {}
    if s.rng.random() < 0.5:
        more["constant"] = s.between(0.1, 5) * s.strong(j)
    s.model.friction("rubs", j, coefficient=mu, **more)


def _table(s: _Scene, j: str) -> None:
    x, y = np.cumsum(s.rng.uniform(0.05, 0.6, 6)) - 1.0, 8 * s.rng.normal(size=6)
    kind, outside = str(s.rng.choice(["linear", "cubic"])), str(s.rng.choice(["hold", "extrapolate"]))
    s.model.table("law", x=[float(v) for v in x], y=[float(v) for v in y], kind=kind, outside=outside)
    of = s.size.after(1) if s.rng.random() < 0.5 else f"q({j})/{s.long(j)!r}"
    s.model.joint_force("by table", j, f"{s.strong(j)!r}*law({of})")


def _kink(s: _Scene, j: str) -> None:
    F, long, T = s.strong(j), s.long(j), s.size.time
    q, u = f"(q({j})/{long!r})", f"(u({j})*{T / long!r})"
    laws = (
        f"-20*abs({q})*{q}", f"30 if {q} < 0.1 else -5", f"40*max(-{q} - 0.1, 0) - 40*max({q} - 0.2, 0)",
        f"-3*tanh({u}/0.01)", f"5*min({u}**2, 1) if {q} > 0 else -5*min({u}**2, 1)",
        f"{s.between(1, 20)!r}*sign(sin({s.size.after(s.between(3, 20))}))",
        f"20 if sin({s.size.after(s.between(2, 9))}) > {s.between(0.9, 0.9999)!r} else 0",
    )  # fmt: skip
    s.model.joint_force("kink", j, f"{F!r}*({s.rng.choice(laws)})")


def _control(s: _Scene, j: str) -> None:
    F, long, T = s.strong(j), s.long(j), s.size.time
    error = f"(0.3 - q({j})/{long!r})"
    s.model.state("integral", f"{error}/{T!r}", initial=0.0)
    s.model.joint_force("control", j, f"{F!r}*min(max(40*{error} + 15*integral - {4 * T / long!r}*u({j}), -6), 6)")


def _toggle(s: _Scene, j: str) -> None:
    s.model.parameters(gain=2.0)
    direction = str(s.rng.choice(["any", "rising", "falling"]))
    s.model.event("toggle", f"q({j}) - {s.near(j)!r}", set={"gain": "-gain"}, direction=direction)
    s.model.joint_force("toggled", j, f"gain*{s.between(0.5, 5) * s.strong(j)!r}")


def _kick(s: _Scene, j: str) -> None:
    s.model.event("kick", f"q({j}) - {s.near(j)!r}", rates={j: f"-0.5*u({j})"}, direction="rising")


def _pulse(s: _Scene, j: str) -> None:
    """Wider than an output step, if not by much; as it is, or behind a threshold."""
    w, at = 10 ** s.between(-2.3, -1), s.between(0.1, 0.9)
    bell = f"exp(-(({s.size.after(1)} - {at!r})/{w!r})**2)"
    laws = (bell, f"max({bell} - 0.5, 0)", f"(1 if {bell} > 0.5 else 0)")
    s.model.joint_force("pulse", j, f"{s.between(0.5, 5) / w * s.strong(j)!r}*{s.rng.choice(laws)}")


def _window(s: _Scene, j: str) -> None:
    """An event that happens for a short time only, and pushes from then on."""
    w, at = 10 ** s.between(-2.3, -1), s.between(0.1, 0.9)
    s.model.parameters(push=0.0)
    s.model.event("window", f"exp(-(({s.size.after(1)} - {at!r})/{w!r})**2) - 0.5", set={"push": "push + 5"})
    s.model.joint_force("pushed", j, f"push*{s.strong(j)!r}")


def _drive(s: _Scene, j: str) -> None:
    if j not in s.free or len(s.kinds) < 2:
        return
    s.free.remove(j)
    s.rates.pop(j)
    s.model.drive(j, f"{s.between(0.1, 0.5) * s.long(j)!r}*sin({s.size.after(s.between(1, 6))})")


THINGS: tuple[Callable[[_Scene, str], None], ...] = (
    _limit, _stop, _rigid, _soft, _friction, _table, _kink, _control, _toggle, _kick, _pulse, _window, _drive,
)  # fmt: skip
