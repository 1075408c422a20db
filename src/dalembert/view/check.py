"""Everything that can be wrong with a scene, found in one pass and raised once."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError, Problem
from dalembert.values import NO_NUMBER
from dalembert.view.scene import Plot, Scene, SceneBody, Shape

__all__ = ["LARGEST", "SceneError", "check"]

GROUND = "ground"
_HEX_COLOR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})\Z")
# Single precision ends at 3e38; the margin keeps squares and sums of drawn lengths finite in the page.
LARGEST = 1e18
_POSITIVE = {
    "cylinder": ("radius", "length"),
    "cone": ("radius", "length"),
    "capsule": ("radius", "length"),
    "sphere": ("radius",),
    "torus": ("radius", "tube"),
    "frame": ("length",),
}
_KINDS = ("box", "plane", "line", "mesh", *_POSITIVE)


class SceneError(ModelError):
    """The scene cannot be drawn. Carries every problem found, not only the first."""


def check(scene: Scene) -> None:
    """Raise one SceneError that lists every inconsistency of ``scene``."""
    problems = _Problems()
    count = _check_time(scene, problems)
    names = {GROUND}
    for i, body in enumerate(scene.bodies):
        place = f"bodies[{i}]"
        if body.name in names:
            problems.add(f"body name {body.name!r} is taken", f"{place}.name", "give every body its own name")
        names.add(body.name)
        _check_body(body, count, place, problems)
    for i, shape in enumerate(scene.ground_shapes):
        _check_shape(shape, f"ground_shapes[{i}]", problems)
    _check_attachments(scene, names, problems)
    for i, plot in enumerate(scene.plots):
        _check_plot(plot, count, f"plots[{i}]", problems)
    _check_up(scene, problems)
    if problems.found:
        raise SceneError(problems.found)


class _Problems:
    """Collects problems; the helpers report whether a value could be used."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, message: str, path: str, fix: str = "") -> None:
        self.found.append(Problem(message, path=path, fix=fix))

    def array(self, value: object, shape: tuple[int, ...], path: str) -> np.ndarray | None:
        """``value`` as finite floats of ``shape`` (-1: any length), or None after reporting why not."""
        try:
            array = np.asarray(value, dtype=float)
        except NO_NUMBER:
            self.add(f"expected numbers, got {type(value).__name__}", path)
            return None
        fits = array.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, array.shape, strict=True))
        if not fits:
            expected = str(tuple("any" if n == -1 else n for n in shape)).replace("'", "")
            fix = "pass the transpose" if array.shape == shape[::-1] else ""
            self.add(f"expected shape {expected}, got {array.shape}", path, fix)
            return None
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            at = ", ".join(str(k) for k in bad[0])
            value_there = array[tuple(bad[0])]
            self.add(f"{len(bad)} value(s) are not finite; the first is {value_there} at [{at}]", path)
            return None
        if array.size and np.max(np.abs(array)) > LARGEST:
            self.add(f"values up to {np.max(np.abs(array)):.1e} are too large to draw", path)
            return None
        return array

    def quaternion(self, value: object, shape: tuple[int, ...], path: str) -> None:
        array = self.array(value, shape, path)
        if array is not None and array.size and np.min(np.linalg.norm(array, axis=-1)) < 1e-6:
            self.add("a quaternion has zero length", path, "the identity is (1, 0, 0, 0), scalar first")


def _check_time(scene: Scene, problems: _Problems) -> int:
    """Check the time and return the number of samples that every track must have."""
    time = problems.array(scene.time, (-1,), "time")
    if time is None:
        return np.asarray(scene.time, dtype=object).size
    if time.size == 0:
        problems.add("a scene needs at least one sample", "time")
    elif np.any(np.diff(time) < 0):
        k = int(np.argmax(np.diff(time) < 0))
        problems.add(f"time runs backwards: {time[k]:g} then {time[k + 1]:g} at [{k + 1}]", "time")
    return time.size


def _check_body(body: SceneBody, count: int, place: str, problems: _Problems) -> None:
    where = f"{place} ({body.name!r})"
    problems.array(body.position, (count, 3), f"{where}.position")
    problems.quaternion(body.quaternion, (count, 4), f"{where}.quaternion")
    for i, shape in enumerate(body.shapes):
        _check_shape(shape, f"{where}.shapes[{i}]", problems)


def _check_shape(shape: Shape, path: str, problems: _Problems) -> None:
    if shape.kind not in _KINDS:
        problems.add(f"unknown shape {shape.kind!r}", f"{path}.kind", f"one of {', '.join(sorted(_KINDS))}")
        return
    for attribute in _POSITIVE.get(shape.kind, ()):
        _check_positive(getattr(shape, attribute), (), f"{path}.{attribute}", problems)
    if shape.kind in ("box", "plane"):
        _check_positive(shape.size, (3 if shape.kind == "box" else 2,), f"{path}.size", problems)
    elif shape.kind == "line":
        points = problems.array(shape.points, (-1, 3), f"{path}.points")
        if points is not None and len(points) < 2:
            problems.add("a line needs at least two points", f"{path}.points")
        if shape.radius is not None:
            _check_positive(shape.radius, (), f"{path}.radius", problems)
    elif shape.kind == "mesh":
        _check_mesh(shape, path, problems)
    problems.array(shape.position, (3,), f"{path}.position")
    problems.quaternion(shape.quaternion, (4,), f"{path}.quaternion")
    if shape.color is not None and not (isinstance(shape.color, str) and _HEX_COLOR.match(shape.color)):
        problems.add(f"color must be a hex string, got {shape.color!r}", f"{path}.color", 'e.g. "#0072b2"')
    if not 0 <= shape.opacity <= 1:
        problems.add(f"opacity must lie between 0 and 1, got {shape.opacity}", f"{path}.opacity")


def _check_positive(value: object, shape: tuple[int, ...], path: str, problems: _Problems) -> None:
    if value is None:
        problems.add("missing dimension", path)
        return
    array = problems.array(value, shape, path)
    if array is not None and np.any(array <= 0):
        problems.add(f"must be positive, got {value}", path)


def _check_mesh(shape: Shape, path: str, problems: _Problems) -> None:
    vertices = problems.array(shape.vertices, (-1, 3), f"{path}.vertices")
    faces = problems.array(shape.faces, (-1, 3), f"{path}.faces")
    if vertices is None or faces is None:
        return
    if len(faces) == 0:
        problems.add("a mesh needs at least one face", f"{path}.faces")
    elif np.any(faces != np.floor(faces)) or faces.min() < 0 or faces.max() >= len(vertices):
        problems.add(f"faces must be whole numbers from 0 to {len(vertices) - 1}", f"{path}.faces")


def _check_attachments(scene: Scene, names: set[str], problems: _Problems) -> None:
    """Joints, springs, arrows and traces must sit on bodies that exist."""

    def attached(body: str, point: object, path: str) -> None:
        if body not in names:
            known = ", ".join(sorted(names))
            problems.add(f"there is no body {body!r}", path, f"one of {known}")
        problems.array(point, (3,), path)

    for i, joint in enumerate(scene.joints):
        attached(joint.body, joint.position, f"joints[{i}] ({joint.name!r})")
        problems.array(joint.axis, (3,), f"joints[{i}] ({joint.name!r}).axis")
    for i, spring in enumerate(scene.springs):
        attached(spring.body_1, spring.point_1, f"springs[{i}] ({spring.name!r}), end 1")
        attached(spring.body_2, spring.point_2, f"springs[{i}] ({spring.name!r}), end 2")
    for i, belt in enumerate(scene.belts):
        attached(belt.body, belt.axis, f"belts[{i}] ({belt.name!r}).axis")
        for k, (body, point, _) in enumerate(belt.wheels):
            attached(body, point, f"belts[{i}] ({belt.name!r}).wheels[{k}]")
    for i, arrow in enumerate(scene.arrows):
        attached(arrow.body, arrow.point, f"arrows[{i}] ({arrow.name!r})")
        problems.array(arrow.force, (len(scene.time), 3), f"arrows[{i}] ({arrow.name!r}).force")
    for i, (body, point) in enumerate(scene.trace):
        attached(body, point, f"trace[{i}]")


def _check_plot(plot: Plot, count: int, path: str, problems: _Problems) -> None:
    for name, values in plot.series.items():
        problems.array(values, (count,), f"{path} ({plot.title!r}).series[{name!r}]")


def _check_up(scene: Scene, problems: _Problems) -> None:
    if isinstance(scene.up, str):
        if scene.up not in ("x", "y", "z"):
            problems.add(f"up must be x, y, z or three numbers, got {scene.up!r}", "up")
        return
    if isinstance(scene.up, Sequence | np.ndarray):
        up = problems.array(scene.up, (3,), "up")
        if up is not None and not np.any(up):
            problems.add("up must not be zero", "up", 'e.g. up="z"')
    else:
        problems.add(f"up must be x, y, z or three numbers, got {scene.up!r}", "up")
