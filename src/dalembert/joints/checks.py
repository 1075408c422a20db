"""What is checked for every joint: fields that its kind needs, directions, sizes and the number of coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.elements import Site, Sizes, check_two_bodies
from dalembert.joints.base import Joint
from dalembert.joints.joint_data import GEOMETRY, JointData

__all__ = ["check_joint", "check_values"]


def check_joint(joint: type[Joint], data: JointData, site: Site) -> None:
    """Everything about a joint of this kind but its formulas, its name and the names that it gives."""
    check_two_bodies(site, data.bodies, "connect")
    _check_fields(joint, data, site)
    for key in ("axis", "axis_2"):
        values = site.vector(getattr(data, key))
        if values is not None and math.hypot(*values) == 0:
            site.report(key, f"{key} must not be zero, got {show(values)}", example(data, key))
    sizes = joint.sizes(data)
    armature = site.value(data.armature)
    if armature is not None and armature < 0:
        site.report("armature", f"armature must not be negative, got {armature:g}", "e.g. armature: 0.01")
    elif armature is not None and sizes is not None and sizes.nv == 0:
        message = f"armature is too much; a {data.kind} joint has no velocity"
        site.report("armature", message, "leave armature out")
    joint.check(data, site)
    if data.reference is not None and sizes is not None:
        check_values(site, "reference", "reference: ", data.reference, sizes, rates=False)


def _check_fields(joint: type[Joint], data: JointData, site: Site) -> None:
    """What is missing and what is too much for this kind of joint."""
    needs = {name.strip("[]"): not name.startswith("[") for name in (*joint.geometry, *joint.parameters)}
    framed = data.frame_1 is not None or data.frame_2 is not None
    if framed:
        for key, other in (("frame_1", "frame_2"), ("frame_2", "frame_1")):
            if getattr(data, key) is None:
                message = f"{key} is missing; {other} is given, and they only go together"
                site.report("", message, f"{key}: [0, 0, 0]")
        needs = {key: required for key, required in needs.items() if key not in GEOMETRY}
        needs |= dict.fromkeys(joint.measured_from_drawing, True)
    for key in (*GEOMETRY, *joint.own_fields()):
        given = getattr(data, key, None) is not None
        if given and key not in needs:
            replaced = framed and key in GEOMETRY
            reason = "frame_1 and frame_2 take its place" if replaced else f"a {data.kind} joint has none"
            site.report(key, f"{key} is too much; {reason}", f"leave {key} out")
        elif not given and needs.get(key):
            listed = ", ".join(name for name, required in needs.items() if required)
            site.report("", f"{key} is missing; a {data.kind} joint needs {listed}", example(data, key))


def example(data: JointData, key: str) -> str:
    """How a field may be written."""
    field = type(data).model_fields.get(key)
    given = field.examples[0] if field is not None and field.examples else "…"
    return f"e.g. {key}: {given}".replace("'", "")


def show(values: Sequence[float]) -> str:
    """Numbers as a person writes them."""
    return "[" + ", ".join(f"{value:g}" for value in values) + "]"


def check_positive(data: JointData, site: Site, key: str) -> None:
    """A length must be positive."""
    value = site.value(getattr(data, key, None))
    if value is not None and value <= 0:
        site.report(key, f"{key} must be positive, got {value:g}", example(data, key))


def axes_angle(data: JointData, site: Site) -> tuple[float, float] | None:
    """Cosine and sine between axis and axis_2, or None if one is not known or zero."""
    a, b = (site.vector(axis) for axis in (data.axis, data.axis_2))
    if a is None or b is None or math.hypot(*a) == 0 or math.hypot(*b) == 0:
        return None
    x, y = np.array(a) / math.hypot(*a), np.array(b) / math.hypot(*b)
    return float(x @ y), float(np.linalg.norm(np.cross(x, y)))


def check_values(
    site: Site, field: str, title: str, given: tuple[sp.Expr, ...] | Any, sizes: Sizes, rates: bool
) -> None:
    """The right number of coordinates or velocities, and quaternions that can be normalized."""
    expected, other = (sizes.nv, sizes.nq) if rates else (sizes.nq, sizes.nv)
    if len(given) != expected:
        what = ("velocities" if rates else "coordinates", "coordinates" if rates else "velocities")
        note = f"; {other} is the number of its {what[1]}" if len(given) == other != expected else ""
        message = f"{title}expected {expected} {what[0]}, got {len(given)} values{note}"
        site.report(field, message, f"give {expected}")
        return
    for start in () if rates else sizes.quaternions:
        part = site.vector(given[start : start + 4])
        if part is not None and math.hypot(*part) == 0:
            message = f"{title}the quaternion (w, x, y, z) must not be zero, got {show(part)}"
            site.report(field, message, "[1, 0, 0, 0] is no rotation")
