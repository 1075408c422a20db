"""Whole files to begin with, before they are damaged: models, robots, tables, results, checkpoints, formulas."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dalembert import library
from dalembert.analyses.simulation.simulate import simulate
from dalembert.fuzz.check_runs import pauses
from dalembert.fuzz.random_mechanisms import random_model
from dalembert.io import dumps
from dalembert.model import Model
from dalembert.modular import Subsystem
from dalembert.trajectory import Trajectory

__all__ = [
    "checkpoint_bytes", "formula_text", "mjcf_text", "planar_document", "result_bytes", "resume", "system_bytes",
    "table_text", "urdf_text", "yaml_text",
]  # fmt: skip

NAMES = ("pendulum", "four-bar", "cart-pendulum", "slider-crank", "rolling-disc", "snakeboard", "desk-lamp")
SAVED = ("pendulum", "four-bar", "rolling-disc", "cart-pendulum")
STEPS = 50  # after which a checkpoint is left
# Runs (s) that take long enough to be stopped on their way.
LONG = (("pendulum", 30.0), ("four-bar", 10.0), ("rolling-disc", 10.0))


def yaml_text(rng: np.random.Generator) -> str:
    """A model file: of the library, or random."""
    if rng.random() < 0.4:
        return dumps(library.build(str(rng.choice(NAMES))))
    return dumps(random_model(int(rng.integers(1 << 30))))


def planar_document(rng: np.random.Generator) -> dict[str, Any]:
    """A planar mechanism of the library, as plain data."""
    return library.build(str(rng.choice(list(library.PLANAR)))).to_data()


def table_text(rng: np.random.Generator) -> str:
    """Numbers in columns, a grid, or a map."""
    mark = str(rng.choice([",", ";", "\t", " "]))
    rows = [mark.join(f"{v:.4g}" for v in [i, *rng.normal(size=3)]) for i in range(int(rng.integers(2, 7)))]
    head = mark.join(["x", "y", "z", "w"]) if rng.random() < 0.5 else mark.join(["0", "1", "2", "3"])
    if rng.random() < 0.6:
        return "\n".join([head, *rows])
    size = f"ncols 4\nnrows {len(rows)}\nxllcorner 0\nyllcenter 1.5\ncellsize 10\nNODATA_value -9999"
    return "\n".join([size, *rows])


def _numbers(rng: np.random.Generator, count: int = 3) -> str:
    return " ".join(f"{value:.3g}" for value in rng.normal(size=count))


def urdf_text(rng: np.random.Generator) -> str:
    """A random robot: links in a tree, joints of all kinds, mimics, shapes."""
    n = int(rng.integers(2, 7))
    parts = [f'<robot name="r{rng.integers(9)}">']
    for i in range(n):
        shape = rng.choice(['<box size="1 2 3"/>', '<sphere radius="0.1"/>', '<cylinder radius="0.1" length="1"/>'])
        inertia = '<inertia ixx="1" iyy="1.2" izz="1.1" ixy="0.01" ixz="0" iyz="0"/>'
        parts.append(
            f'<link name="l{i}"><inertial><origin xyz="{_numbers(rng)}" rpy="{_numbers(rng)}"/><mass value="2"/>'
            f'{inertia}</inertial><visual><geometry>{shape}</geometry><material name="m"><color rgba="1 0 0 1"/>'
            "</material></visual></link>"
        )
    for i in range(1, n):
        kind = rng.choice(["revolute", "continuous", "prismatic", "fixed", "floating", "planar"])
        mimic = f'<mimic joint="j{i - 1}" multiplier="2" offset="0.1"/>' if i > 1 and rng.random() < 0.2 else ""
        parts.append(
            f'<joint name="j{i}" type="{kind}"><parent link="l{rng.integers(i)}"/><child link="l{i}"/>'
            f'<origin xyz="{_numbers(rng)}" rpy="{_numbers(rng)}"/><axis xyz="{_numbers(rng)}"/>'
            f'<limit lower="-1" upper="1" effort="10" velocity="1"/><dynamics damping="0.1" friction="0.2"/>{mimic}'
            "</joint>"
        )
    return "\n".join([*parts, "</robot>"])


def mjcf_text(rng: np.random.Generator) -> str:
    """A random MuJoCo model: nested bodies, several joints in one, defaults, equalities, actuators."""
    joints: list[str] = []

    def body(depth: int) -> str:
        name = f"b{len(joints)}_{depth}"
        inside = [f'<geom type="{rng.choice(["capsule", "box", "sphere", "cylinder"])}" size=".1 .2 .3" mass="1"/>']
        for _ in range(rng.integers(1, 3)):
            joints.append(f"j{len(joints)}")
            kind = rng.choice(["hinge", "slide", "ball"]) if depth else "free"
            inside.append(f'<joint name="{joints[-1]}" type="{kind}" axis="{_numbers(rng)}" damping=".1"/>')
            if kind in ("free", "ball"):
                break
        inside += [body(depth + 1) for _ in range(rng.integers(0, 3)) if depth < 3]
        return f'<body name="{name}" pos="{_numbers(rng)}" euler="{_numbers(rng)}">{"".join(inside)}</body>'

    world = body(int(rng.integers(2)))
    head = '<compiler angle="radian"/><option gravity="0 0 -9.8"/><default><joint armature=".1"/></default>'
    tail = f'<equality><joint joint1="{joints[-1]}" polycoef="0 1 0 0 0"/></equality>' if rng.random() < 0.3 else ""
    tail += f'<actuator><motor joint="{joints[-1]}" gear="10"/></actuator>' if rng.random() < 0.3 else ""
    return f'<mujoco model="m">{head}<worldbody>{world}</worldbody>{tail}</mujoco>'


ATOMS = ("x", "t", "q(A)", "u(A)", "x(b)", "wz(b)", "1", "2.5", "1e-3", "pi", "a", "0")
CALLS = ("sin", "cos", "tan", "exp", "log", "sqrt", "abs", "sign", "atan", "tanh", "asin", "min", "max", "atan2", "if")


def formula_text(rng: np.random.Generator, depth: int = 0) -> str:
    """A formula of the language of model files."""
    if depth > 5 or rng.random() < 0.2:
        return str(rng.choice(ATOMS))

    def part() -> str:
        return formula_text(rng, depth + 1)

    call = str(rng.choice([*CALLS, "+", "-", "*", "/", "**", "()"]))
    if call == "if":
        return f"({part()} if {part()} {rng.choice(['<', '>', '<=', '>='])} {part()} else {part()})"
    if call in ("min", "max", "atan2"):
        return f"{call}({part()}, {part()})"
    if call in CALLS:
        return f"{call}({part()})"
    return f"({part()})" if call == "()" else f"{part()} {call} {part()}"


def model_of(name: str) -> Model:
    return library.build(name)


@cache
def result_bytes(number: int) -> bytes:
    """A result file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        simulate(model_of(SAVED[number % len(SAVED)]), 0.2, output_step=0.01).save(path)
        return path.read_bytes()


@cache
def system_bytes(number: int) -> bytes:
    """The saved motion of a subsystem: one mass, or two on a line with an event."""
    mass = Subsystem("mass")
    m, x, u = mass.parameters(m=1.0), mass.coordinates("x"), mass.input("u")
    mass.effective_forces({x: u - 4 * x - m * x.dd})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        simulate(mass, 0.2, output_step=0.01, inputs={"u": f"sin({number + 1}*t)"}, initial={"x": 0.1}).save(path)
        return path.read_bytes()


@cache
def checkpoint_bytes(number: int) -> bytes:
    """A checkpoint of a run that was stopped on its way."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.checkpoint"

        def stop(_: float) -> None:
            if path.exists():
                raise KeyboardInterrupt

        with pauses(STEPS):
            resume(number, path, stop)
        return path.read_bytes()


def resume(number: int, path: Path, progress: Callable[[float], None] | None = None) -> Trajectory:
    """The run to which a checkpoint belongs, from there on if there is one."""
    name, duration = LONG[number % len(LONG)]
    keep: dict[str, Any] = {"checkpoint": path, "checkpoint_interval": 0.0, "progress": progress}
    return simulate(model_of(name), duration, rtol=1e-8, output_step=duration / 20, certify=False, **keep)
