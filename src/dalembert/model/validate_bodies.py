"""Validation of bodies: mass, inertia, placements and what is drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.elements import Placement
from dalembert.errors import ModelWarning, warn
from dalembert.model.data import Body, Shape
from dalembert.model.validate_scope import Place
from dalembert.solids import Solid
from dalembert.values import TUPLE

__all__ = ["check_body", "check_placement", "check_shape"]

INERTIA = 1e-9  # relative to the largest principal moment; lets thin rods (0, J, J) pass
ORTHONORMAL = 1e-6  # largest entry of R Rᵀ − 1
# What each kind needs; a name in brackets is optional.
SHAPES = {
    "box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"), "cone": ("radius", "length"),
    "torus": ("radius", "tube"), "line": ("points",), "mesh": ("file", "[scale]"), "frame": ("length",),
}  # fmt: skip
SHAPE_EXAMPLES = {
    "size": "size: [0.1, 0.1, 0.1]", "radius": "radius: 0.1", "length": "length: 0.5", "tube": "tube: 0.02",
    "points": "points: [[0, 0, 0], [1, 0, 0]]", "file": "file: wheel.stl",
    "scale": "scale: [0.001, 0.001, 0.001]",
}  # fmt: skip


def check_body(place: Place, path: str, title: str, body: Body) -> None:
    """Everything about a body but its formulas and its name."""
    if body.solid is not None and not _check_solid(place, f"{path}.solid", f"{title}: {body.solid.kind}", body.solid):
        return
    mass = place.value(body.mass)
    if mass is not None and mass < 0:
        place.report(f"{path}.mass", f"{title}: mass must not be negative, got {mass:g} kg", "mass: 1")
    _check_inertia(place, path, title, body)
    if body.frame not in ("world", "body"):
        message = f"{title}: frame must be 'world' or 'body', got {body.frame!r}"
        place.report(f"{path}.frame", message, "frame: world")
    if body.pose is not None:
        check_placement(place, f"{path}.pose", title, body.pose)
    for i, shape in enumerate(body.shapes):
        check_shape(place, f"{path}.shapes[{i}]", f"{title}: {shape.kind}", shape)


def _check_solid(place: Place, path: str, title: str, solid: Solid) -> bool:
    """Whether its sizes make sense; if not, nothing that follows from them does."""
    before = len(place.found)
    values = {key: place.vector(_entries(getattr(solid, key))) for key in type(solid).model_fields if key != "kind"}
    for key in solid.sizes:
        size = values[key]
        if size and min(size) <= 0:
            place.report(f"{path}.{key}", f"{title}: {key} must be positive, got {min(size):g}", f"{key}: 0.1")
    density, start, axis = (values.get(key) for key in ("density", "start", "axis"))
    if density and density[0] <= 0:
        place.report(f"{path}.density", f"{title}: density must be positive, got {density[0]:g}", "density: 7850")
    if start and start == values["end"]:
        place.report(f"{path}.end", f"{title}: both ends are the same point", "give it a length")
    if axis and not any(axis):
        place.report(f"{path}.axis", f"{title}: axis must not be zero, got [0, 0, 0]", "e.g. axis: [0, 0, 1]")
    inner, radius = values.get("inner"), values.get("radius")
    if inner and radius and not 0 <= inner[0] < radius[0]:
        message = f"{title}: inner must be below the radius {radius[0]:g}, and not negative, got {inner[0]:g}"
        place.report(f"{path}.inner", message, "leave inner out for a solid one")
    return len(place.found) == before


def _entries(value: Any) -> tuple[Any, ...]:
    """A size as a tuple of formulas; a pose has none that must be positive."""
    if value is None or isinstance(value, Placement):
        return ()
    return value if isinstance(value, TUPLE) else (value,)


def _check_inertia(place: Place, path: str, title: str, body: Body) -> None:
    entries = place.vector(body.inertia)
    if entries is None:
        return
    xx, yy, zz, xy, xz, yz = entries if len(entries) == 6 else [*entries, 0.0, 0.0, 0.0]
    tensor, size = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), max(map(abs, entries))
    if body.inertia_about == "origin":
        com, mass = place.vector(body.com), place.value(body.mass)
        if com is None or mass is None:
            return
        tensor = tensor - mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com))
    a, b, c = np.linalg.eigvalsh(tensor)
    moments = f"principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m²"
    tolerance = INERTIA * max(abs(a), abs(c), size if body.inertia_about == "origin" else 0.0)
    if a < -tolerance:
        message = f"{title}: inertia must not be negative in any direction, got {moments}"
        place.report(f"{path}.inertia", message, "entries are those of the tensor: Ixy = −∫xy dm")
    elif a + b < c - tolerance and max(abs(a), abs(b)) > tolerance:
        # Published data of robots break this rule, and a moment about one axis alone is that of planar motion.
        rule = "no rigid body has this inertia: the largest moment exceeds the sum of the others"
        advice = "It is taken as given; check units and axes: a thin rod along x has (0, J, J)"
        warn(f"{title}: {rule}, got {moments}. {advice}", ModelWarning)


def check_placement(place: Place, path: str, title: str, placement: Placement) -> None:
    """Rotations must be rotations."""
    if placement.quaternion is not None:
        values = place.vector(placement.quaternion)
        if values is not None and math.hypot(*values) == 0:
            message = f"{title}: the quaternion (w, x, y, z) must not be zero"
            place.report(f"{path}.quaternion", message, "quaternion: [1, 0, 0, 0] is no rotation")
    if placement.rotation is not None:
        rows = [place.vector(row) for row in placement.rotation]
        if any(row is None for row in rows):
            return
        R = np.array(rows, dtype=float)
        with np.errstate(over="ignore", invalid="ignore"):
            error = float(np.abs(R @ R.T - np.eye(3)).max())
            determinant = float(np.linalg.det(R))
        fix = "give rpy or a quaternion, or more digits"
        if not error <= ORTHONORMAL:
            message = f"{title}: the rotation matrix is not orthonormal: largest entry of R Rᵀ − 1 is {error:.3g}"
            place.report(f"{path}.rotation", message, fix)
        elif determinant < 0:
            message = f"{title}: the rotation matrix is a reflection (determinant −1)"
            place.report(f"{path}.rotation", message, "change the sign of one row")


def check_shape(place: Place, path: str, title: str, shape: Shape) -> None:
    """Sizes and placement of a shape on a body or on the ground."""
    needs = {key.strip("[]"): not key.startswith("[") for key in SHAPES[shape.kind]}
    for key, example in SHAPE_EXAMPLES.items():
        given = getattr(shape, key)
        if given is None and needs.get(key):
            place.report(path, f"{title}: {key} is missing", f"e.g. {example}")
        elif given is not None and key not in needs:
            message = f"{title}: {key} is too much; a {shape.kind} has {', '.join(needs)}"
            place.report(f"{path}.{key}", message, f"leave {key} out")
        elif given is not None and key in ("size", "radius", "length", "tube"):
            values = place.vector(given if key == "size" else (given,))
            if values is not None and min(values) <= 0:
                message = f"{title}: {key} must be positive, got {min(values):g}"
                place.report(f"{path}.{key}", message, f"e.g. {example}")
    # A negative factor mirrors a mesh; zero would flatten it.
    scale = None if shape.scale is None else place.vector(shape.scale)
    if scale is not None and 0 in scale:
        place.report(f"{path}.scale", f"{title}: scale must not be zero", f"e.g. {SHAPE_EXAMPLES['scale']}")
    if shape.points is not None and len(shape.points) < 2:
        message = f"{title}: a line needs two points or more, got {len(shape.points)}"
        place.report(f"{path}.points", message, f"e.g. {SHAPE_EXAMPLES['points']}")
    axis = None if shape.axis is None else place.vector(shape.axis)
    if axis is not None and math.hypot(*axis) == 0:
        place.report(f"{path}.axis", f"{title}: axis must not be zero, got [0, 0, 0]", "e.g. axis: [0, 0, 1]")
    if shape.axis is not None and (shape.pose.rpy or shape.pose.quaternion or shape.pose.rotation):
        message = f"{title}: give axis or a rotation in pose, not both"
        place.report(f"{path}.axis", message, "leave one of them out")
    check_placement(place, f"{path}.pose", title, shape.pose)
    if shape.frame not in ("world", "body"):
        place.check_body(f"{path}.frame", title, shape.frame)
