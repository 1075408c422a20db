"""Validation of joints: what their kind needs, and whether the geometry makes sense."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.joints import JOINTS
from dalembert.model.data import JointData
from dalembert.model.validate_bodies import check_placement
from dalembert.model.validate_scope import Place, Sizes, hint, sizes_of

__all__ = ["check_initial", "check_joint"]

GEOMETRY = ("point", "axis", "axis_2", "point_2")
QUANTITIES = ("pitch", "radius", "length", "custom")
PERPENDICULAR = 1e-9  # cosine between the axes of a universal joint
PARALLEL = 1e-9  # sine between two axes
EXAMPLES = {
    "point": "point: [0, 0, 0]", "point_2": "point_2: [0, 0, 1]", "axis": "axis: [0, 0, 1]",
    "axis_2": "axis_2: [0, 1, 0]", "pitch": "pitch: 0.01", "radius": "radius: 0.5", "length": "length: 1",
    "custom": "custom: {coordinates: 1, position: [q0, 0, 0]}",
}  # fmt: skip


def show(values: Sequence[float]) -> str:
    """Numbers as a person writes them."""
    return "[" + ", ".join(f"{value:g}" for value in values) + "]"


def check_joint(place: Place, path: str, joint: JointData) -> None:
    """Everything about a joint but its formulas and its name."""
    title = f"joint {joint.name!r}"
    for i, body in enumerate(joint.bodies):
        place.check_body(f"{path}.bodies[{i}]", title, body)
    if joint.bodies[0] == joint.bodies[1]:
        message = f"{title}: must connect two different bodies, got {joint.bodies[0]!r} twice"
        place.report(f"{path}.bodies", message, "name another body, or ground")
    if joint.frame not in ("world", "body"):
        place.check_body(f"{path}.frame", title, joint.frame)
    for key in ("frame_1", "frame_2"):
        placement = getattr(joint, key)
        if placement is not None:
            check_placement(place, f"{path}.{key}", title, placement)
    if joint.kind not in JOINTS:
        place.report(f"{path}.kind", f"{title}: unknown kind {joint.kind!r}", hint(joint.kind, JOINTS))
        return
    _check_fields(place, path, title, joint)
    _check_axes(place, path, title, joint)
    _check_sizes(place, path, title, joint)
    if joint.custom is not None:
        _check_custom(place, path, title, joint)
    sizes = sizes_of(joint)
    if joint.reference is not None and sizes is not None:
        _check_count(place, f"{path}.reference", f"{title}: reference", joint.reference, sizes, rates=False)


def _check_fields(place: Place, path: str, title: str, joint: JointData) -> None:
    """What is missing and what is too much for this kind of joint."""
    kind = JOINTS[joint.kind]
    needs = {name.strip("[]"): not name.startswith("[") for name in (*kind.geometry, *kind.parameters)}
    if joint.kind == "custom":
        needs["custom"] = True
    framed = joint.frame_1 is not None or joint.frame_2 is not None
    if framed:
        for key, other in (("frame_1", "frame_2"), ("frame_2", "frame_1")):
            if getattr(joint, key) is None:
                message = f"{title}: {key} is missing; {other} is given, and they only go together"
                place.report(path, message, f"{key}: [0, 0, 0]")
        needs = {key: required for key, required in needs.items() if key not in GEOMETRY}
        if "length" in needs:
            needs["length"] = True  # nothing is drawn that it could be taken from
    for key in (*GEOMETRY, *QUANTITIES):
        given = getattr(joint, key) is not None
        if given and key not in needs:
            reason = (
                "frame_1 and frame_2 take its place" if framed and key in GEOMETRY else f"a {joint.kind} joint has none"
            )
            place.report(f"{path}.{key}", f"{title}: {key} is too much; {reason}", f"leave {key} out")
        elif not given and needs.get(key):
            message = f"{title}: {key} is missing; a {joint.kind} joint needs {_list(needs)}"
            place.report(path, message, f"e.g. {EXAMPLES[key]}")


def _list(needs: dict[str, bool]) -> str:
    return ", ".join(key for key, required in needs.items() if required)


def _check_axes(place: Place, path: str, title: str, joint: JointData) -> None:
    axes: dict[str, np.ndarray] = {}
    for key in ("axis", "axis_2"):
        given = getattr(joint, key)
        values = None if given is None else place.vector(given)
        if values is None:
            continue
        size = math.hypot(*values)
        if size == 0:
            place.report(
                f"{path}.{key}",
                f"{title}: {key} must not be zero, got {show(values)}",
                f"e.g. {EXAMPLES[key]}",
            )
        else:
            axes[key] = np.array(values) / size
    if len(axes) == 2:
        a, b = axes.values()
        cosine, sine = abs(float(a @ b)), float(np.linalg.norm(np.cross(a, b)))
        if joint.kind == "universal" and cosine > PERPENDICULAR:
            angle = math.degrees(math.atan2(sine, float(a @ b)))
            message = f"{title}: axis_2 must be perpendicular to axis, got {angle:.6g} degrees between them"
            fix = "draw the joint with its cross at right angles, as a Cardan joint has it"
            place.report(f"{path}.axis_2", message, fix)
        elif joint.kind == "rolling-disc" and sine < PARALLEL:
            message = f"{title}: axis_2 (of the disc) must not be parallel to axis (the normal); the disc lies flat"
            place.report(f"{path}.axis_2", message, "draw the disc upright")
    if joint.kind == "distance" and joint.point is not None and joint.point_2 is not None:
        ends = [place.vector(end) for end in (joint.point, joint.point_2)]
        if ends[0] is not None and ends[0] == ends[1]:
            message = f"{title}: point and point_2 must differ, both are {show(ends[0])}"
            place.report(f"{path}.point_2", message, "use a spherical joint where two points coincide")


def _check_sizes(place: Place, path: str, title: str, joint: JointData) -> None:
    armature = None if joint.armature is None else place.value(joint.armature)
    sizes = sizes_of(joint)
    if armature is not None and armature < 0:
        message = f"{title}: armature must not be negative, got {armature:g}"
        place.report(f"{path}.armature", message, "e.g. armature: 0.01")
    elif armature is not None and sizes is not None and sizes.nv == 0:
        message = f"{title}: armature is too much; a {joint.kind} joint has no velocity"
        place.report(f"{path}.armature", message, "leave armature out")
    for key, fix in (("radius", "radius: 0.5"), ("length", "length: 1")):
        given = getattr(joint, key)
        value = None if given is None else place.value(given)
        if value is not None and value <= 0:
            place.report(f"{path}.{key}", f"{title}: {key} must be positive, got {value:g}", f"e.g. {fix}")
    pitch = None if joint.pitch is None else place.value(joint.pitch)
    if pitch == 0:
        message = f"{title}: pitch must not be zero, got 0; negative is a left-handed thread"
        place.report(f"{path}.pitch", message, "e.g. pitch: 0.01, or kind: revolute")


def _check_custom(place: Place, path: str, title: str, joint: JointData) -> None:
    motion = joint.custom
    assert motion is not None
    n = motion.coordinates
    for key, count, rule in (
        ("equations", 6 - n, f"6 − {n} coordinates"),
        ("measure", n, "one for each coordinate"),
    ):
        given = getattr(motion, key)
        if given is not None and len(given) != count:
            message = f"{title}: custom.{key}: expected {count} formulas ({rule}), got {len(given)}"
            place.report(f"{path}.custom.{key}", message, f"give {count} formulas")


def _check_count(place: Place, path: str, title: str, given: Any, sizes: Sizes, rates: bool) -> None:
    """The right number of values, and quaternions that can be normalised."""
    expected, other = (sizes.nv, sizes.nq) if rates else (sizes.nq, sizes.nv)
    if len(given) != expected:
        what = ("velocities" if rates else "coordinates", "coordinates" if rates else "velocities")
        note = f"; {other} is the number of its {what[1]}" if len(given) == other != expected else ""
        place.report(path, f"{title}: expected {expected} {what[0]}, got {len(given)} values{note}", f"give {expected}")
        return
    if rates:
        return
    for start in sizes.quaternions:
        part = place.vector(given[start : start + 4])
        if part is not None and math.hypot(*part) == 0:
            message = f"{title}: the quaternion (w, x, y, z) must not be zero, got {show(part)}"
            place.report(path, message, "[1, 0, 0, 0] is no rotation")


def check_initial(place: Place) -> None:
    """Initial coordinates and rates name joints and have their sizes."""
    for section, given, rates in (
        ("initial", place.model.initial_values, False),
        ("initial_rates", place.model.initial_rates, True),
    ):
        for name, values in given.items():
            path, title = f"{section}.{name}", f"{section} of joint {name!r}"
            if not place.check_joint(path, section, name):
                continue
            sizes = place.sizes(name)
            if sizes is not None:
                _check_count(place, path, title, values, sizes, rates)
