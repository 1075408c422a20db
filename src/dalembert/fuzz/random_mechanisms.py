"""Random valid models, each from one seed.

Trees, one to four loops, in the plane and in space, all joints, constraints, forces, drives, branches of formulas,
events and sub-models; in any unit of length, mass and time.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.fuzz import random_models
from dalembert.fuzz.random_elements import Drawn, add_elements
from dalembert.joints import JOINTS
from dalembert.model import Mechanism, Model, flatten

__all__ = ["FREEDOM", "closings", "draw_size", "drawn_coordinate", "planar_row", "random_model"]

MOST_LOOPS, MOST_BODIES = 4, 6
# Powers of ten, either way, that units of length (m), mass (kg) and time (s) are drawn from.
SCALES = (6, 6, 3)
FREEDOM = {kind: JOINTS[kind](**{key.strip("[]"): 1.0 for key in JOINTS[kind].parameters}).nv
           for kind in random_models.HOLONOMIC if kind != "custom"} | {"custom": 1}  # fmt: skip
# What a tree needs to be closed by almost anything.
LOOSE = ("spherical", "universal", "free", "cylindrical", "spherical", "revolute")
# What gears and drives act on.
SIMPLE = ["revolute", "prismatic", "screw"]


def closings(loops: int, rest: list[str], tree: tuple[str, ...]) -> tuple[str, ...]:
    """The next kinds of joints that leave the tree some freedom; those that were taken go to the end of the queue."""
    left, taken = sum(FREEDOM[kind] for kind in tree) - 1, list[str]()
    for kind in list(rest):
        if len(taken) < loops and 6 - FREEDOM[kind] <= left - (loops - len(taken) - 1):
            left -= 6 - FREEDOM[kind]
            taken.append(kind)
            rest.remove(kind)
            rest.append(kind)
    return tuple(taken)


def planar_row(loops: int, seed: int, slider: bool = False, size: random_models.Size = random_models.UNIT) -> Model:
    """Four-bars in a row with spatial hinges: 3 redundant equations in each loop, one degree of freedom."""
    rng = np.random.default_rng(seed)
    model = Model(f"row of {loops}", gravity=(size.acceleration, -9.81 * size.acceleration, 0))
    inert = size.mass * size.length**2

    def corner(x: float, y: float) -> tuple[float, float, float]:
        return (size.length * (x + rng.uniform(-0.15, 0.15)), size.length * (y + rng.uniform(-0.15, 0.15)), 0.0)

    def bar(name: str, start: tuple[float, ...], end: tuple[float, ...]) -> None:
        middle = tuple((np.array(start) + end) / 2)
        mass, inertia = size.mass * rng.uniform(0.5, 2), (0.1 * inert, 0.12 * inert, inert * rng.uniform(0.05, 0.2))
        model.body(name, mass=mass, com=middle, inertia=inertia)

    feet, heads = [corner(i, 0) for i in range(loops + 1)], [corner(i + 0.2, 0.8) for i in range(loops + 1)]
    for i in range(loops + 1):
        bar(f"crank{i}", feet[i], heads[i])
        if slider and i == loops:
            model.prismatic(f"foot{i}", "ground", f"crank{i}", point=feet[i], axis=(1, 0.3, 0))
        else:
            model.revolute(f"foot{i}", "ground", f"crank{i}", point=feet[i], axis="z")
    for i in range(loops):
        bar(f"coupler{i}", heads[i], heads[i + 1])
        model.revolute(f"left{i}", f"crank{i}", f"coupler{i}", point=heads[i], axis="z")
        model.revolute(f"right{i}", f"coupler{i}", f"crank{i + 1}", point=heads[i + 1], axis="z")
    return model


def drawn_coordinate(model: Model, joint: str) -> float:
    """First coordinate of a joint as drawn."""
    mechanism = Mechanism.nominal(flatten(model))
    placed = mechanism.joint(joint)
    X = (mechanism.body_pose(placed.first) @ placed.X_1P).inverse() @ (mechanism.body_pose(placed.second) @ placed.X_2S)
    return float(placed.joint.coordinates(NUMPY, X)[0])


def draw_size(rng: np.random.Generator) -> random_models.Size:
    """Half of all mechanisms are of everyday size, the others of any: of length, of mass and of time."""
    if rng.random() < 0.5:
        return random_models.UNIT
    return random_models.Size(*(float(10 ** rng.uniform(-scale, scale)) for scale in SCALES))


def random_model(seed: int, size: random_models.Size = random_models.UNIT) -> Model:
    """A valid model; which sort it is, is drawn too."""
    rng = np.random.default_rng([seed, 1])
    sort = rng.choice(["tree", "loops", "rolling", "row"], p=[0.35, 0.4, 0.1, 0.15])
    inner = int(rng.integers(1 << 30))
    forces = bool(rng.random() < 0.6)
    kinds = list(random_models.HOLONOMIC)
    if sort == "tree":
        kinds = SIMPLE if rng.random() < 0.5 else kinds
        chosen = tuple(str(kind) for kind in rng.choice(kinds, size=rng.integers(1, MOST_BODIES)))
        chosen = ("revolute", *chosen[1:]) if all(FREEDOM[kind] == 0 for kind in chosen) else chosen
        model = random_models.tree_model(inner, chosen, forces=forces, size=size)
    elif sort == "loops":
        loops = int(rng.integers(1, MOST_LOOPS + 1))
        tree = tuple(str(kind) for kind in rng.permutation(LOOSE)[: 2 + loops])
        rest = [str(kind) for kind in rng.permutation(kinds) if kind != "free"]
        model = random_models.loop_model(inner, tree, closings(loops, rest, tree), forces=forces, size=size)
    elif sort == "row":
        model = planar_row(int(rng.integers(1, MOST_LOOPS)), inner, slider=bool(rng.random() < 0.4), size=size)
    else:
        start = str(rng.choice(random_models.NONHOLONOMIC))
        model = random_models.tree_model(
            inner, (start, str(rng.choice(["revolute", "spherical"]))), forces=forces, size=size
        )
    _constrain(model, rng, size)
    _branch(model, rng, size)
    return _nested(model, rng, size)


def _constrain(model: Model, rng: np.random.Generator, size: random_models.Size) -> None:
    """Drives, gears, racks, couplers, equations, dependent coordinates, none of which contradicts the drawing."""
    inside = [
        joint for joint in random_models.scalar_joints(model) if not joint.cut and not joint.kind.startswith("rolling")
    ]
    joints = [str(joint.name) for joint in inside if FREEDOM[joint.kind] == 1]
    long = {str(joint.name): size.length if random_models.slides(joint.kind) else 1.0 for joint in inside}
    at = {name: drawn_coordinate(model, name) for name in joints}
    rng.shuffle(joints)
    if joints and rng.random() < 0.25:
        a = joints.pop()
        model.drive(a, f"{at[a]!r} + {0.4 * long[a]!r}*sin({size.after(2)})")
    if len(joints) > 1 and rng.random() < 0.7:
        a, b = joints.pop(), joints.pop()
        ratio = float(rng.uniform(0.5, 2)) * long[a] / long[b]
        which = rng.integers(5)
        if which == 0:
            model.gear("gear", a, b, ratio=ratio, offset=at[a] + ratio * at[b])
        elif which == 1:
            model.coupler("coupler", {a: 1, b: -ratio}, offset=at[a] - ratio * at[b])
        elif which == 2:
            model.rack("rack", b, a, radius=ratio, offset=at[a] - ratio * at[b])
        elif which == 3 and (at[a] == 0) == (at[b] == 0):
            model.belt("belt", (a, b), (0.2 * size.length, 0.2 * size.length * (at[a] / at[b] if at[b] else ratio)))
        else:
            bend = f"{at[a] - ratio * at[b]!r} + {ratio!r}*q({b}) + {0.1 * long[a]!r}*sin({size.after(2)})"
            model.explicit("follow", a, bend)
    last = model.bodies[-1].name
    moving = sum(FREEDOM.get(joint.kind, 3) for joint in inside if not joint.cut)
    cut = sum(6 - FREEDOM[joint.kind] for joint in model.joints if joint.cut)
    if moving - cut > 3 and rng.random() < 0.25:
        angle = float(rng.uniform(0, 3))
        skate = f"vx({last})*{np.sin(angle).item()!r} - vy({last})*{np.cos(angle).item()!r}"
        model.constraint("skate", skate, level="velocity")
    closed = len([joint for joint in model.joints if not joint.cut]) > len(model.bodies)
    left = 0 if closed else moving - cut - len(model.constraints)
    add_elements(Drawn(model, rng, size, joints, at, left))


def _branch(model: Model, rng: np.random.Generator, size: random_models.Size) -> None:
    """Forces with branches, outputs and events that change nothing of the equations."""
    last, L = next(body.name for body in reversed(model.bodies) if body.mass != 0), size.length
    k, F = size.stiffness, size.force
    if rng.random() < 0.3:
        stop = f"-{30 * k!r}*max(x({last}) - {0.3 * L!r}, 0) - {2 * size.mass!r}*abs(vx({last}))*vx({last})/{L!r}"
        model.force(
            "stop", last, (stop, f"{F!r} if y({last}) > z({last}) else {-F!r}", f"min({F / size.time!r}*t, {F!r})")
        )
    if rng.random() < 0.3:
        model.parameters(hits=0.0)
        model.event("passing", f"x({last}) - {0.1 * L!r}", set={"hits": "hits + 1"})
        model.output("height", f"z({last})/{L!r}", unit="1")


def _nested(model: Model, rng: np.random.Generator, size: random_models.Size) -> Model:
    """The model itself, or inside another one that has a tree of its own."""
    if rng.random() > 0.2:
        return model
    outer = Model(f"around {model.name}", gravity=model.gravity)
    random_models.draw_body(outer, rng, "carrier", size.length * rng.normal(size=3), size)
    outer.prismatic("rail", "ground", "carrier", point=(0, 0, 0), axis=tuple(rng.normal(size=3)))
    inner = Model("part", gravity=model.gravity)
    random_models.grow(inner, rng, ("revolute", "spherical")[: rng.integers(1, 3)], size)
    random_models.add_forces(inner, rng, size)
    freedom = sum(FREEDOM[joint.kind] for joint in inner.joints)
    add_elements(Drawn(inner, rng, size, ["j0"], {"j0": drawn_coordinate(inner, "j0")}, freedom), inside=True)
    pose = {"position": tuple(size.length * rng.normal(size=3)), "quaternion": tuple(rng.normal(size=4))}
    outer.add(inner, "part", pose=pose, base="carrier")
    if len(model.bodies) <= 3:
        outer.add(model, "whole")
    return outer
