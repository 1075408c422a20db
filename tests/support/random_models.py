"""Random mechanisms: trees with branches, loops, every joint, force and constraint of the catalog.

Bodies are drawn in the world frame, so a joint drawn anywhere between two of them fits the reference configuration:
trees and closed loops are consistent as drawn, whatever the random numbers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.joints import JOINTS
from dalembert.model import Model

__all__ = ["HOLONOMIC", "NONHOLONOMIC", "add_joint", "draw_body", "loop_model", "tree_model"]

NONHOLONOMIC = tuple(kind for kind, cls in JOINTS.items() if cls.nonholonomic)
HOLONOMIC = tuple(kind for kind in JOINTS if kind not in NONHOLONOMIC)

# A custom joint that can be cut: a slide along a parabola, turning about z as it goes.
PARABOLA = {
    "coordinates": 1,
    "position": ("q0", "q0**2/2", 0),
    "rpy": (0, 0, "q0/2"),
    "equations": ("y - x**2/2", "z", "Rxz", "Ryz", "Ryx*cos(x/2) - Rxx*sin(x/2)"),
    "measure": ("x",),
}


def unit(rng: np.random.Generator) -> np.ndarray:
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def draw_body(model: Model, rng: np.random.Generator, name: str, at: np.ndarray) -> Any:
    """A body of random size and shape near a point; its inertia is that of a cloud of six masses, so it is possible."""
    cloud = 0.3 * rng.normal(size=(6, 3))
    mass = rng.uniform(0.5, 3.0)
    cloud -= cloud.mean(axis=0)
    J = mass / 6 * sum(p @ p * np.eye(3) - np.outer(p, p) for p in cloud)
    com = at + 0.2 * rng.normal(size=3)
    style = rng.integers(3)
    fields: dict[str, Any] = {"mass": mass, "com": tuple(com), "inertia": J}
    if style == 1:
        Q = rng.normal(size=4)
        fields["pose"] = {"position": tuple(at + 0.2 * rng.normal(size=3)), "quaternion": tuple(Q)}
    if style == 2:
        # A parameter in the geometry and in the mass, with the value that was drawn.
        p = model.parameters(**{f"{name}_x": com[0], f"{name}_m": mass})
        fields["com"], fields["mass"] = (p[0], *com[1:]), p[1]
    return model.body(name, **fields)


def add_joint(
    model: Model, rng: np.random.Generator, kind: str, name: str, first: str, second: str, at: np.ndarray
) -> Any:
    """A joint of this kind, anywhere near a point, in a random direction."""
    cls = JOINTS[kind]
    axis = unit(rng)
    across = np.cross(axis, unit(rng))
    geometry = {
        "point": tuple(at + 0.1 * rng.normal(size=3)),
        "axis": tuple(axis),
        "axis_2": tuple(across / np.linalg.norm(across)),
        "point_2": tuple(at + 0.8 * unit(rng)),
    }
    if kind == "rolling-disc":
        geometry["axis_2"] = tuple(across / np.linalg.norm(across) + 0.3 * axis)
    quantities = {"pitch": rng.choice([-1, 1]) * rng.uniform(0.2, 0.8), "radius": rng.uniform(0.2, 0.6)}
    fields = {key.strip("[]"): geometry[key.strip("[]")] for key in cls.geometry}
    fields |= {key: value for key, value in quantities.items() if key in cls.parameters}
    for key in set(fields) & {"pitch", "radius"}:
        fields[key] = model.parameters(**{f"{name}_{key}": fields[key]})
    if kind == "custom":
        return model.custom(name, first, second, point=fields["point"], axis=fields["axis"], **PARABOLA)
    joint = cls(**{key.strip("[]"): 1.0 for key in cls.parameters})
    if kind not in ("distance", *NONHOLONOMIC) and joint.nq and rng.random() < 0.5:
        fields["reference"] = tuple(joint.random(rng))
    return model.joint(kind, name, first, second, **fields)


def tree_model(seed: int, kinds: tuple[str, ...], *, forces: bool = True) -> Model:
    """A tree with one joint of each kind in turn, branches, and joints drawn in both directions."""
    rng = np.random.default_rng(seed)
    model = Model(f"tree {seed}", gravity=tuple(5 * rng.normal(size=3)))
    grow(model, rng, kinds)
    if forces:
        add_forces(model, rng)
    return model


def grow(model: Model, rng: np.random.Generator, kinds: tuple[str, ...]) -> None:
    places = {"ground": np.zeros(3)}
    for i, kind in enumerate(kinds):
        # Rolling needs a plane that rests, for the oracle's sake.
        parent = "ground" if kind in NONHOLONOMIC or i == 0 else str(rng.choice(list(places)[-3:]))
        at = places[parent] + unit(rng)
        name = f"b{i}"
        draw_body(model, rng, name, at)
        first, second = (name, parent) if rng.random() < 0.4 and kind not in NONHOLONOMIC else (parent, name)
        add_joint(model, rng, kind, f"j{i}", first, second, (places[parent] + at) / 2)
        places[name] = at


def loop_model(seed: int, tree: tuple[str, ...], closing: tuple[str, ...], *, forces: bool = True) -> Model:
    """A tree whose bodies are joined again by the closing joints: each closes one loop."""
    rng = np.random.default_rng(seed)
    model = Model(f"loops {seed}", gravity=tuple(5 * rng.normal(size=3)))
    grow(model, rng, tree)
    names = ["ground", *(body.name for body in model.bodies)]
    for i, kind in enumerate(closing):
        first, second = rng.choice(len(names), size=2, replace=False)
        joint = add_joint(model, rng, kind, f"c{i}", names[first], names[second], rng.normal(size=3))
        model.joints[-1] = joint.model_copy(update={"cut": True})
    if forces:
        add_forces(model, rng)
    return model


def scalar_joints(model: Model) -> list[Any]:
    """Joints whose first coordinate has its own velocity (no quaternion first)."""
    return [joint for joint in model.joints if joint.kind not in ("fixed", "free", "spherical")]


def add_forces(model: Model, rng: np.random.Generator) -> None:
    """One of each force of the catalog, with parameters and formulas of the motion."""
    bodies = ["ground", *(body.name for body in model.bodies)]

    def two() -> tuple[str, str]:
        a, b = rng.choice(len(bodies), size=2, replace=False)
        return bodies[a], bodies[b]

    def vector(scale: float = 1.0) -> tuple[float, ...]:
        return tuple(scale * rng.normal(size=3))

    k, c = model.parameters(k=20.0, c=1.5)
    model.spring("spring", *two(), at=(vector(), vector()), stiffness=k, damping=c, length=0.8)
    model.bushing(
        "bushing", *two(), point=vector(), stiffness=(k, 10, 12), damping=(c, 1, 2), angular_stiffness=(3, 4, "k/4"),
        angular_damping=(0.3, 0.2, "c/5"),
    )  # fmt: skip
    last = bodies[-1]
    model.force("push", last, ("3*sin(2*t) + 0.5*x(b0)", 1.5, f"-c*vz({last})"), at=vector())
    model.force("own push", bodies[1], vector(), at=vector(0.5), axes="body")
    a, b = two()
    if a == "ground":
        a, b = b, a
    model.torque("twist", a, ("1 + wx(b0)", 0.5, "k/20"), reaction_on=b)
    model.torque("own twist", last, vector(), axes="body")
    model.potential("well", f"k*(x({last})**2 + 0.3*y({last})*z(b0))/5 + exp(-z({last})**2)")
    for i, joint in enumerate(scalar_joints(model)[:2]):
        model.potential(f"field {i}", f"k*cos(q({joint.name}) - 0.4)/7")
        model.torsional_spring(f"torsion {i}", joint, stiffness="k/3", damping="c/4", angle=0.2)
    for joint in scalar_joints(model)[-2:]:
        model.joint_force(f"motor {joint.name}", joint, sp.Float(0.7) * sp.cos(3 * model.t) - sp.Float(0.2) * joint.u)
