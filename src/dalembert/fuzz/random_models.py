"""Random mechanisms: trees with branches, loops, every joint, force and constraint of the catalog.

Bodies are drawn in the world frame, so a joint drawn anywhere between two of them fits the reference configuration:
trees and closed loops are consistent as drawn, whatever the random numbers are. ``Size`` draws the same mechanism with
other lengths, masses and times: angles over that time stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.fuzz.oracle import MOTIONS
from dalembert.joints import JOINTS
from dalembert.model import Model

__all__ = [
    "HOLONOMIC", "NONHOLONOMIC", "UNIT", "Size", "add_forces", "add_joint", "draw_body", "grow", "loop_model",
    "scalar_joints", "tree_model", "unit",
]  # fmt: skip


NONHOLONOMIC = tuple(kind for kind, cls in JOINTS.items() if cls.nonholonomic)
HOLONOMIC = tuple(kind for kind in JOINTS if kind not in NONHOLONOMIC)


@dataclass(frozen=True)
class Size:
    """Units that a mechanism is drawn in: of length (m), of mass (kg) and of time (s)."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    @property
    def stiffness(self) -> float:
        return self.mass / self.time**2

    @property
    def damping(self) -> float:
        return self.mass / self.time

    @property
    def acceleration(self) -> float:
        return self.length / self.time**2

    @property
    def force(self) -> float:
        return self.stiffness * self.length

    @property
    def energy(self) -> float:
        return self.stiffness * self.length**2

    def after(self, factor: float) -> str:
        """So many times the time, in units of it, as a formula."""
        return f"{factor / self.time!r}*t"


UNIT = Size()


def parabola(length: float) -> dict[str, Any]:
    """A custom joint that can be cut: a slide along a parabola, turning about z as it goes."""
    two = repr(2 * length)
    return {
        "coordinates": 1,
        "position": ("q0", f"q0**2/{two}", 0),
        "rpy": (0, 0, f"q0/{two}"),
        "equations": (f"y - x**2/{two}", "z", "Rxz", "Ryz", f"Ryx*cos(x/{two}) - Rxx*sin(x/{two})"),
        "measure": ("x",),
    }


def unit(rng: np.random.Generator) -> np.ndarray:
    """A random direction."""
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def draw_body(model: Model, rng: np.random.Generator, name: str, at: np.ndarray, size: Size = UNIT) -> Any:
    """A body of random size and shape near a point; its inertia is that of a cloud of six masses, so it is possible."""
    cloud = 0.3 * size.length * rng.normal(size=(6, 3))
    mass = size.mass * rng.uniform(0.5, 3.0)
    cloud -= cloud.mean(axis=0)
    J = mass / 6 * sum((p @ p * np.eye(3) - np.outer(p, p) for p in cloud), np.zeros((3, 3)))
    com = at + 0.2 * size.length * rng.normal(size=3)
    style = rng.integers(3)
    fields: dict[str, Any] = {"mass": mass, "com": tuple(com), "inertia": J}
    if style == 1:
        Q = rng.normal(size=4)
        fields["pose"] = {"position": tuple(at + 0.2 * size.length * rng.normal(size=3)), "quaternion": tuple(Q)}
    if style == 2:
        # A parameter in the geometry and in the mass, with the value that was drawn.
        p = model.parameters(**{f"{name}_x": com[0], f"{name}_m": mass})
        fields["com"], fields["mass"] = (p[0], *com[1:]), p[1]
    return model.body(name, **fields)


def add_joint(
    model: Model,
    rng: np.random.Generator,
    kind: str,
    name: str,
    first: str,
    second: str,
    at: np.ndarray,
    size: Size = UNIT,
) -> Any:
    """A joint of this kind, anywhere near a point, in a random direction."""
    cls = JOINTS[kind]
    axis = unit(rng)
    across = np.cross(axis, unit(rng))
    geometry = {
        "point": tuple(at + 0.1 * size.length * rng.normal(size=3)),
        "axis": tuple(axis),
        "axis_2": tuple(across / np.linalg.norm(across)),
        "point_2": tuple(at + 0.8 * size.length * unit(rng)),
    }
    if kind == "rolling-disc":
        geometry["axis_2"] = tuple(across / np.linalg.norm(across) + 0.3 * axis)
    pitch, radius = rng.choice([-1, 1]) * rng.uniform(0.2, 0.8), rng.uniform(0.2, 0.6)
    quantities = {"pitch": size.length * pitch, "radius": size.length * radius}
    fields: dict[str, Any] = {key.strip("[]"): geometry[key.strip("[]")] for key in cls.geometry}
    fields |= {key: value for key, value in quantities.items() if key in cls.parameters}
    for key in set(fields) & {"pitch", "radius"}:
        fields[key] = model.parameters(**{f"{name}_{key}": fields[key]})
    if kind == "custom":
        law = parabola(size.length)
        return model.custom(name, first, second, point=fields["point"], axis=fields["axis"], **law)
    joint = cls(**{key.strip("[]"): 1.0 for key in cls.parameters})
    if kind not in ("distance", *NONHOLONOMIC) and joint.nq and rng.random() < 0.5:
        fields["reference"] = tuple(coordinate_units(kind, size.length) * joint.random(rng))
    return model.joint(kind, name, first, second, **fields)


def tree_model(seed: int, kinds: tuple[str, ...], *, forces: bool = True, size: Size = UNIT) -> Model:
    """A tree with one joint of each kind in turn, branches, and joints drawn in both directions."""
    rng = np.random.default_rng(seed)
    model = Model(f"tree {seed}", gravity=tuple(5 * size.acceleration * rng.normal(size=3)))
    grow(model, rng, kinds, size)
    if forces:
        add_forces(model, rng, size)
    return model


def grow(model: Model, rng: np.random.Generator, kinds: tuple[str, ...], size: Size = UNIT) -> None:
    """Bodies b0, b1, … on joints j0, j1, … of these kinds."""
    places = {"ground": np.zeros(3)}
    for i, kind in enumerate(kinds):
        # Rolling needs a plane that rests, for the oracle's sake.
        parent = "ground" if kind in NONHOLONOMIC or i == 0 else str(rng.choice(list(places)[-3:]))
        at = places[parent] + size.length * unit(rng)
        name = f"b{i}"
        draw_body(model, rng, name, at, size)
        first, second = (name, parent) if rng.random() < 0.4 and kind not in NONHOLONOMIC else (parent, name)
        add_joint(model, rng, kind, f"j{i}", first, second, (places[parent] + at) / 2, size)
        places[name] = at


def loop_model(
    seed: int, tree: tuple[str, ...], closing: tuple[str, ...], *, forces: bool = True, size: Size = UNIT
) -> Model:
    """A tree whose bodies are joined again by the closing joints: each closes one loop."""
    rng = np.random.default_rng(seed)
    model = Model(f"loops {seed}", gravity=tuple(5 * size.acceleration * rng.normal(size=3)))
    grow(model, rng, tree, size)
    names = ["ground", *(str(body.name) for body in model.bodies)]
    for i, kind in enumerate(closing):
        first, second = (int(i) for i in rng.choice(len(names), size=2, replace=False))
        joint = add_joint(
            model, rng, kind, f"c{i}", names[first], names[second], size.length * rng.normal(size=3), size
        )
        model.joints[-1] = joint.model_copy(update={"cut": True})
    if forces:
        add_forces(model, rng, size)
    return model


def scalar_joints(model: Model) -> list[Any]:
    """Joints whose first coordinate has its own velocity (no quaternion first)."""
    return [joint for joint in model.joints if joint.kind not in ("fixed", "free", "spherical")]


def add_forces(model: Model, rng: np.random.Generator, size: Size = UNIT) -> None:
    """One of each force of the catalog, with parameters and formulas of the motion."""
    bodies = ["ground", *(str(body.name) for body in model.bodies)]
    L, F, E, K, C = size.length, size.force, size.energy, size.stiffness, size.damping

    def two() -> tuple[str, str]:
        a, b = (int(i) for i in rng.choice(len(bodies), size=2, replace=False))
        return bodies[a], bodies[b]

    def vector(scale: float = 1.0) -> tuple[float, ...]:
        return tuple(scale * rng.normal(size=3))

    def times(factor: float, formula: str) -> str:
        return formula if factor == 1 else f"{factor!r}*({formula})"

    k, c = model.parameters(k=20.0 * K, c=1.5 * C)
    model.spring("spring", *two(), at=(vector(L), vector(L)), stiffness=k, damping=c, length=0.8 * L)
    model.bushing(
        "bushing", *two(), point=vector(L), stiffness=(k, 10 * K, 12 * K),
        damping=(c, C, 2 * C), angular_stiffness=(3 * E, 4 * E, times(L**2, "k/4")),
        angular_damping=(0.3 * E * size.time, 0.2 * E * size.time, times(L**2, "c/5")),
    )  # fmt: skip
    last = bodies[-1]
    push = (f"{3 * F!r}*sin({size.after(2)}) + {0.5 * K!r}*x({bodies[1]})", 1.5 * F, f"-c*vz({last})")
    model.force("push", last, push, at=vector(L))
    model.force("own push", bodies[1], vector(F), at=vector(0.5 * L), axes="body")
    a, b = two()
    if a == "ground":
        a, b = b, a
    model.torque(
        "twist", a, (times(E, f"1 + {size.time!r}*wx({bodies[1]})"), 0.5 * E, times(L**2, "k/20")), reaction_on=b
    )
    model.torque("own twist", last, vector(E), axes="body")
    well = f"k*(x({last})**2 + 0.3*y({last})*z({bodies[1]}))/5 + {E!r}*exp(-z({last})**2/{L**2!r})"
    model.potential("well", well)
    for i, joint in enumerate(scalar_joints(model)[:2]):
        long, per = (L, 1.0) if slides(joint.kind) else (1.0, L**2)
        angle = f"q({joint.name})" if long == 1 else f"q({joint.name})/{long!r}"
        model.potential(f"field {i}", times(L**2, f"k*cos({angle} - 0.4)/7"))
        stiffness, damping = times(per, "k/3"), times(per, "c/4")
        model.torsional_spring(f"torsion {i}", joint, stiffness=stiffness, damping=damping, angle=0.2 * long)
    for joint in scalar_joints(model)[-2:]:
        strong, slow = (F, C) if slides(joint.kind) else (E, E * size.time)
        law = sp.Float(0.7 * strong) * sp.cos(sp.Float(3 / size.time) * model.t) - sp.Float(0.2 * slow) * joint.u
        model.joint_force(f"motor {joint.name}", joint, law)


def coordinate_units(kind: str, length: float) -> np.ndarray:
    """Of the coordinates of a joint: a length where bodies shift, else 1."""
    each = {"T": [length], "C": [length], "B": [1.0] * 4, "F": [1.0] * 4 + [length] * 3, "O": []}
    return np.array([unit for motion in MOTIONS[kind].split() for unit in each.get(motion[0], [1.0])])


def slides(kind: str) -> bool:
    """Whether the first coordinate of a joint is a length."""
    return MOTIONS[kind][:1] in ("T", "C")
