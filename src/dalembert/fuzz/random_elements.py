"""Random elements of a drawn model: what transmits, touches, stops and rubs, and signals of its own.

Each is placed so that the drawing fits it: cables have the length drawn, surfaces touch where they are, and what may
not be entered is apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.fuzz.random_models import Size, draw_body, slides, unit
from dalembert.model import Mechanism, Model, flatten

__all__ = ["Drawn", "add_elements"]

LIKELY = 0.22  # that a model has one of a kind


class Drawn:
    """A drawn model, and what is still free in it.

    Args:
        joints: those with one coordinate that nothing else holds.
        at: their coordinates as drawn.
        freedom: about how many velocities are left.
    """

    def __init__(
        self, model: Model, rng: np.random.Generator, size: Size, joints: list[str], at: dict[str, float], freedom: int
    ):
        self.model, self.rng, self.size, self.joints, self.at, self.freedom = model, rng, size, joints, at, freedom
        kinds = {str(joint.name): str(joint.kind) for joint in model.joints}
        self.kind = {name: kinds[name] for name in joints}
        mechanism = Mechanism.nominal(flatten(model))
        self.places = {str(body.name): np.array(mechanism.body_pose(str(body.name)).p) for body in model.bodies}

    def body(self) -> str:
        return str(self.rng.choice(list(self.places)))

    def others(self, n: int) -> list[str]:
        """Different bodies, the ground among them."""
        names = ["ground", *self.places]
        return [names[int(i)] for i in self.rng.permutation(len(names))[:n]]

    def near(self, body: str) -> np.ndarray:
        """A point near a body."""
        return self.places.get(body, np.zeros(3)) + 0.5 * self.size.length * self.rng.normal(size=3)

    def long(self, joint: str) -> float:
        """The unit of a joint's coordinate."""
        return self.size.length if slides(self.kind[joint]) else 1.0

    def stiff(self, joint: str) -> float:
        """The unit of force over coordinate of a joint."""
        return self.size.stiffness * (1.0 if slides(self.kind[joint]) else self.size.length**2)

    def take(self, n: int = 1) -> list[str]:
        """Joints that one more equation may hold; none if there are not enough."""
        if len(self.joints) < n or self.freedom <= n:
            return []
        taken = [self.joints.pop() for _ in range(n)]
        self.freedom -= n - 1 if n > 1 else 1
        return taken


def add_elements(drawn: Drawn, *, inside: bool = False) -> None:
    """Some of each kind, at random; inside another model none that speaks of the ground of all."""
    for add in (
        _signals,
        _strut,
        _torsion,
        _frame,
        _stop,
        _contact,
        _cable,
        _pulley,
        _egg,
        _limit,
        _touch,
        _rub,
        _point,
    ):
        if drawn.rng.random() < LIKELY and not (inside and add is _frame):
            add(drawn)


def _signals(d: Drawn) -> None:
    """A table, an input and a state that a force follows."""
    L, F, T, rng = d.size.length, d.size.force, d.size.time, d.rng
    kind = str(rng.choice(["cubic", "linear", "periodic"]))
    y = [float(v) for v in rng.normal(size=6)]
    y[-1] = y[0] if kind == "periodic" else y[-1]
    outside = str(rng.choice(["hold", "extrapolate"]))
    d.model.table(
        "law", x=[float(v) for v in np.cumsum(rng.uniform(0.2, 0.6, 6)) - 1.0], y=y, kind=kind, outside=outside
    )
    d.model.input("command", float(rng.normal()) if rng.random() < 0.5 else f"0.7*sin({d.size.after(3)}) + 0.2")
    last = d.body()
    d.model.state("memory", f"(command - memory)/{0.2 * T!r} + 0.3*vx({last})/{L!r}", initial=float(rng.normal()))
    value = (f"{F!r}*law(z({last})/{L!r})", f"{F!r}*memory", f"{F!r}*(command + law({d.size.after(2)}))")
    d.model.force("signal", last, value, at=tuple(d.near(last)))


def _strut(d: Drawn) -> None:
    a, b = d.others(2)
    k, c, L = d.size.stiffness, d.size.damping, d.size.length
    push = f"{8 * k!r}*({L!r} - length)*(1 + (length/{L!r})**2/4) - {0.7 * c!r}*rate"
    push += f" + {0.5 * k * L!r}*cos({d.size.after(1)})"
    d.model.strut("strut", a, b, (tuple(d.near(a)), tuple(d.near(b))), push)


def _torsion(d: Drawn) -> None:
    a, b = d.others(2)
    k, c = d.size.energy, d.size.energy * d.size.time
    d.model.torsion("torsion", a, b, axis=tuple(unit(d.rng)), torque=f"{-3 * k!r}*sin(angle) - {0.2 * c!r}*rate")


def _point(d: Drawn) -> None:
    """A point without mass between two springs, on a line."""
    if len(d.places) < 2:
        return
    first, second = (str(name) for name in d.rng.permutation(list(d.places))[:2])
    at, k = d.near(first), d.size.stiffness
    d.model.massless_point("tip", tuple(at), axis=tuple(unit(d.rng)))
    for name, other in (("hook", first), ("tie", second)):
        there = d.near(other)
        rest = 0.3 * float(np.linalg.norm(there - at))
        d.model.spring(name, "tip", other, at=(tuple(at), tuple(there)), stiffness=20 * k, length=rest)


def _frame(d: Drawn) -> None:
    A, T, rng = d.size.acceleration, d.size.time, d.rng
    turn, wave = float(rng.normal()) / T, float(rng.normal()) / T
    rotation = (turn, f"{wave!r}*sin({d.size.after(2)})", f"{0.3 / T**2!r}*t")
    acceleration = (f"{A * float(rng.normal())!r}*cos({d.size.after(1)})", 0, A * float(rng.normal()))
    body = d.body() if rng.random() < 0.5 else None
    d.model.moving_frame("turning ground", rotation=rotation, acceleration=acceleration, body=body)


def _stop(d: Drawn) -> None:
    rng, L = d.rng, d.size.length
    exponent, damped = float(rng.choice([1, 1.5, 2])), float(rng.choice([0.0, 0.3]))
    if d.joints and rng.random() < 0.6:
        joint = str(rng.choice(d.joints))
        of, at, long, k = f"q({joint})", d.at[joint], d.long(joint), d.stiff(joint)
    else:
        body = d.body()
        at = float(d.places[body] @ np.array([1.0, 0.5, 0]))
        of, long, k = f"x({body}) + 0.5*y({body})", L, d.size.stiffness
    bounds: dict[str, Any] = {"lower": at + float(rng.uniform(-0.4, 0.4)) * long}
    if rng.random() < 0.5:
        bounds["upper"] = bounds["lower"] + float(rng.uniform(0.2, 1.0)) * long
    k = 40 * k * long ** (1 - exponent)
    d.model.stop("stop gives", of, stiffness=k, exponent=exponent, dissipation=damped * d.size.time / long, **bounds)


def _surfaces(d: Drawn, gap: float) -> tuple[str, str, list[dict[str, Any]]]:
    """Two bodies and surfaces on them that are this far apart."""
    rng, L = d.rng, d.size.length
    body, n, r = d.body(), unit(rng), float(rng.uniform(0.1, 0.3)) * L
    p = d.near(body)
    pair = str(rng.choice(["plane", "sphere", "hollow", "disc", "curve"]))
    other = str(rng.choice([name for name in ["ground", *d.places] if name != body]))
    ball: dict[str, Any] = {"kind": "sphere", "at": tuple(p), "radius": r}
    if pair == "plane":
        first: dict[str, Any] = {"kind": "plane", "at": tuple(p - (r + gap) * n), "axis": tuple(n)}
    elif pair == "sphere":
        first = {"kind": "sphere", "at": tuple(p - (2.5 * r + gap) * n), "radius": 1.5 * r}
    elif pair == "hollow":
        first = {"kind": "sphere", "at": tuple(p - (2 * r - gap) * n), "radius": 3 * r, "inside": True}
    elif pair == "disc":
        across = np.cross(n, unit(rng))
        axis = across / np.linalg.norm(across) + 0.4 * n
        axis /= np.linalg.norm(axis)
        ball |= {"kind": "disc", "axis": tuple(axis)}
        reach = r * float(np.sqrt(1 - (axis @ n) ** 2))
        first = {"kind": "plane", "at": tuple(p - (reach + gap) * n), "axis": tuple(n)}
    else:
        across = np.cross(n, unit(rng))
        across /= np.linalg.norm(across)
        ball = {"kind": "point", "at": tuple(p)}
        radius = f"{r!r}*(1 + 0.2*cos(angle) + 0.1*sin(2*angle))"
        center = p - (1.2 * r + gap) * across + 0.1 * r * n
        first = {"kind": "curve", "at": tuple(center), "axis": tuple(n), "start": tuple(across), "radius": radius}
    return other, body, [first, ball]


def _contact(d: Drawn) -> None:
    rng, L, k = d.rng, d.size.length, d.size.stiffness
    first, second, surfaces = _surfaces(d, float(rng.uniform(-0.1, 0.05)) * L)
    exponent = float(rng.choice([1, 1.5]))
    more: dict[str, Any] = {"friction": 0.3, "slip": 0.2 * L / d.size.time} if rng.random() < 0.5 else {}
    stiffness = 50 * k * L ** (1 - exponent)
    d.model.contact("soft", first, second, surfaces, stiffness=stiffness, exponent=exponent,
                    dissipation=0.3 * d.size.time / L, **more)  # fmt: skip


def _cable(d: Drawn) -> None:
    if d.freedom < 3 or len(d.places) < 2:
        return
    d.freedom -= 1
    bodies = d.others(int(d.rng.integers(2, 4)))
    at = [tuple(d.near(body)) for body in bodies]
    feed = f"{0.05 * d.size.length!r}*sin({d.size.after(2)})" if d.rng.random() < 0.5 else 0
    d.model.cable("cable", bodies, at, feed=feed)  # no wheels: bodies leave the plane that those need


def _pulley(d: Drawn) -> None:
    """A load on a cable over a wheel, and over a second one at times, in a plane that a body carries along."""
    rng, L, base = d.rng, d.size.length, d.others(1)[0]
    n, center = unit(rng), d.near(base)
    x = np.cross(n, unit(rng))
    x /= np.linalg.norm(x)
    y = np.cross(n, x)
    r, side = float(rng.uniform(0.1, 0.2)) * L, float(rng.choice([-1.0, 1.0]))
    load = center + float(rng.uniform(0.4, 1.0)) * L * x - float(rng.uniform(0.6, 1.2)) * side * L * y
    draw_body(d.model, rng, "hung", load, d.size)
    d.model.planar("hanging", base, "hung", point=tuple(load), axis=tuple(n))
    wheel = base
    if rng.random() < 0.6:  # the wheel moves in its plane
        draw_body(d.model, rng, wheel := "sheave", center, d.size)
        if rng.random() < 0.5:
            d.model.prismatic("guide", base, wheel, axis=tuple(y), point=tuple(center))
        else:
            d.model.revolute("swing", base, wheel, axis=tuple(n), point=tuple(center + 0.5 * L * y))
    bodies, at, radii = [base, wheel, "hung"], [center - L * x - side * L * y, center, load], [0.0, -side * r, 0.0]
    if rng.random() < 0.3:  # one more, on the other side of the cable
        bodies.insert(1, base)
        at.insert(1, center - 0.8 * L * x + side * 0.2 * L * y)
        radii.insert(1, side * 0.5 * r)
    feed = f"{0.05 * L!r}*sin({d.size.after(2)})" if rng.random() < 0.3 else 0
    d.model.cable("rope", bodies, [tuple(point) for point in at], radii=radii, axis=tuple(n), feed=feed)


def _egg(d: Drawn) -> None:
    """A body of its own that rolls or slides on the ground, or on another one."""
    rng, L = d.rng, d.size.length
    at = 2 * L * rng.normal(size=3)
    under = d.others(1)[0]
    draw_body(d.model, rng, "egg", at, d.size)
    a, b, c = (float(v) * L for v in rng.uniform(0.3, 0.6, 3))
    surface = f"sqrt({a**2!r}*x**2 + {b**2!r}*y**2 + {c**2!r}*z**2)"
    d.model.rolling_surface(
        "rolling", under, "egg", tuple(at), surface, axis=tuple(unit(rng)), slips=bool(rng.random() < 0.3)
    )


def _limit(d: Drawn) -> None:
    for joint in d.take():
        long, at = d.long(joint), d.at[joint]
        lower, upper = (at + float(side) * long for side in d.rng.uniform((-0.5, 0.05), (-0.05, 0.5)))
        e = float(d.rng.choice([0.0, 0.4, 1.0]))
        d.model.limit("limit", f"q({joint})", lower=lower, upper=upper, restitution=e)


def _touch(d: Drawn) -> None:
    if d.freedom < 2:
        return
    d.freedom -= 1
    rng, L = d.rng, d.size.length
    first, second, surfaces = _surfaces(d, float(rng.uniform(0.02, 0.3)) * L)
    d.model.rigid_contact("touch", first, second, surfaces, restitution=float(rng.choice([0.0, 0.5])))
    if surfaces[0]["kind"] == "plane" and rng.random() < 0.7:
        n = np.array(surfaces[0]["axis"])
        d.model.contact_friction("rub", "touch", coefficient=0.3, along=tuple(np.cross(n, unit(rng))))


def _rub(d: Drawn) -> None:
    kinds: dict[str, Callable[[], dict[str, Any]]] = {
        "revolute": lambda: {"radius": 0.02 * d.size.length},
        "prismatic": lambda: {"length": 0.5 * d.size.length} if d.rng.random() < 0.5 else {},
    }
    fitting = [joint for joint in d.joints if d.kind[joint] in kinds]
    if fitting:
        joint = fitting[0]
        d.joints.remove(joint)
        d.model.friction("friction", joint, coefficient=0.2, static=0.3, **kinds[d.kind[joint]]())
