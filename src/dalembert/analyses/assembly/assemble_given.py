"""What a caller says about a position: coordinates of joints, poses of bodies, points, outputs and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.prescribe import Given, quantities_of, targets_of
from dalembert.coordinates import Coordinates
from dalembert.dynamics.assembly import Quantity
from dalembert.equations import Level
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.joints import Joint
from dalembert.model import Flat
from dalembert.spatial import Pose, quaternion
from dalembert.values import NO_NUMBER, NUMBER, SEQUENCE, TUPLE

__all__ = ["Desired", "joint_rows", "read_desired", "read_joint", "split_states", "undefined_rates"]

INDEXED = re.compile(r"(.*)\[(\d+)\]")
POSE = 7  # numbers of a pose: quaternion (w, x, y, z) and place

Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class Desired:
    """What is given of a position.

    Attributes:
        joints: coordinates by joint; NaN where one is left open.
        quantities: everything else, as residuals.
        values: of the quantities, by name.
    """

    joints: Values
    quantities: tuple[Quantity, ...]
    values: Values

    def __bool__(self) -> bool:
        return bool(self.joints or self.quantities)


def split_states(flat: Flat, given: Mapping[Any, Any]) -> tuple[dict[str, float], dict[Any, Any]]:
    """Values of the model's own states among what is given, and the rest, which is about the position."""
    found: dict[str, float] = {}
    rest: dict[Any, Any] = {}
    for key, value in given.items():
        name = getattr(key, "name", key)
        if not isinstance(name, str) or name not in flat.states or name in flat.joints:
            rest[key] = value
        elif not isinstance(value, NUMBER) or not np.isfinite(value):
            message = f"initial of state {name!r}: expected a finite number, got {value!r}"
            raise ModelError(Problem(message, "initial"))
        else:
            found[name] = float(value)
    return found, rest


def read_joint(joint: Joint, name: str, value: Any, what: str, size: int) -> np.ndarray:
    """Numbers of one joint; None leaves one open, where coordinates are independent of each other."""
    listed = [np.nan if one is None else one for one in value] if isinstance(value, SEQUENCE) else value
    open_ones = isinstance(value, SEQUENCE) and any(one is None for one in value)
    try:
        array = np.atleast_1d(np.asarray(listed, dtype=float))
    except NO_NUMBER:
        raise ModelError(Problem(f"{what} of joint {name!r}: expected numbers, got {value!r}", what)) from None
    loose = open_ones and (joint.nq == joint.nv or size == joint.nv)
    good = np.isfinite(array) | (np.isnan(array) if loose else False)
    if array.shape != (size,) or not np.all(good):
        raise ModelError(
            Problem(
                f"{what} of joint {name!r}: expected {size} finite numbers ({joint.kind}: {joint.nq} "
                f"coordinates, {joint.nv} velocities), got {array.tolist()}",
                what,
            )
        )
    return array


def joint_rows(joint: Joint, value: np.ndarray) -> np.ndarray:
    """Which velocities of a joint its given coordinates hold."""
    return np.isfinite(value) if joint.nq == joint.nv else np.ones(joint.nv, dtype=bool)


def read_desired(coordinates: Coordinates, given: Mapping[Any, Any], what: str) -> Desired:
    """Everything that was given, checked."""
    flat = coordinates.flat
    joints: Values = {}
    quantities: list[Quantity] = []
    values: Values = {}
    for key, value in given.items():
        name = getattr(key, "name", key)
        match = INDEXED.fullmatch(name) if isinstance(name, str) else None
        if isinstance(name, str) and name in flat.joints:
            joint = coordinates.nominal_joint(name).joint
            joints[name] = read_joint(joint, name, value, what, joint.nq)
        elif match and match[1] in flat.joints:
            _one_coordinate(coordinates, match[1], int(match[2]), value, joints, what)
        elif isinstance(name, str) and name in flat.bodies:
            quantities.append(pose_quantity(name))
            values[name] = _pose(name, value, what)
        else:
            found, numbers = _others(coordinates, key, value, what)
            quantities += found
            values |= numbers
    normal: Values = {}
    for name, value in joints.items():
        joint = coordinates.nominal_joint(name).joint
        normal[name] = joint.normalize(NUMPY, value) if joint.quaternions else value
    return Desired(normal, tuple(quantities), values)


def _one_coordinate(coordinates: Coordinates, name: str, index: int, value: Any, joints: Values, what: str) -> None:
    """One coordinate of a joint with several, e.g. ``"foot[1]"``."""
    joint = coordinates.nominal_joint(name).joint
    if index >= joint.nq or joint.quaternions:
        raise ModelError(
            Problem(
                f"{what} of {name}[{index}]: joint {name!r} ({joint.kind}) has {joint.nq} coordinates"
                + (", which only go together" if joint.quaternions else ""),
                what,
                f"{name!r}: ({', '.join(['…'] * joint.nq)})",
            )
        )
    row = joints.setdefault(name, np.full(joint.nq, np.nan))
    row[index] = read_joint(joint, f"{name}[{index}]", value, what, 1)[0]


def _pose(name: str, value: Any, what: str) -> np.ndarray:
    """The pose of a body: a pose, or quaternion and place."""
    if isinstance(value, Pose):
        value = [*quaternion.from_matrix(NUMPY, value.R), *value.p]
    try:
        array = np.asarray(value, dtype=float)
    except NO_NUMBER:
        array = np.empty(0)
    if array.shape != (POSE,) or not np.all(np.isfinite(array)) or not np.any(array[:4]):
        raise ModelError(
            Problem(
                f"{what} of body {name!r}: expected seven numbers, a quaternion (w, x, y, z) and the place of its "
                f"frame (m), got {value!r}",
                what,
            )
        )
    return np.concatenate([array[:4] / np.linalg.norm(array[:4]), array[4:]])


def pose_quantity(body: str) -> Quantity:
    """The pose of a body. Three of its points are held: they have no singular place and no second root."""

    def points(R: Any, p: Any) -> list[Any]:
        return [*p, *(p + R[:, 0]), *(p + R[:, 1])]

    def residual(motion: Any, given: Any) -> list[Any]:
        X, _ = motion.body(body)
        R = quaternion.to_matrix(motion.al, quaternion.normalize(motion.al, given[:4]))
        wanted = points(R, given[4:])
        return [a - b for a, b in zip(points(X.R, X.p), wanted, strict=True)]

    def measure(motion: Any) -> Any:
        X, _ = motion.body(body)
        return motion.al.concatenate([quaternion.from_matrix(motion.al, X.R), X.p])

    return Quantity(("pose", body), body, POSE, 9, residual, measure)


def joint_quantity(joint: Joint, name: str, rows: Iterable[int]) -> Quantity:
    """Coordinates of a joint that closes a loop; angles up to whole turns."""
    kept = tuple(rows)

    def residual(motion: Any, given: Any) -> list[Any]:
        al, q = motion.al, motion.joint(name)[0]
        if joint.nq != joint.nv:
            return list(joint.difference(al, given, q))
        off = [q[i] - given[k] for k, i in enumerate(kept)]
        return [al.atan2(al.sin(r), al.cos(r)) if i in joint.angles else r for i, r in zip(kept, off, strict=True)]

    def measure(motion: Any) -> Any:
        q = motion.joint(name)[0]
        return q if joint.nq != joint.nv else q[list(kept)]

    size, count = (joint.nq, joint.nv) if joint.nq != joint.nv else (len(kept), len(kept))
    return Quantity(("joint", name, kept), name, size, count, residual, measure)


def _others(coordinates: Coordinates, key: Any, value: Any, what: str) -> tuple[list[Quantity], Values]:
    """Points, outputs and formulas."""
    flat, name = coordinates.flat, getattr(key, "name", key)
    plain = isinstance(name, str) and not re.search(r"\w\(", name) and name not in flat.outputs
    if plain or not isinstance(name, (str, sp.Expr, *TUPLE)):
        known = ", ".join([*flat.joints, *flat.states, *flat.outputs])
        raise ModelError(Problem(f"{what}: unknown joint {name!r}", what, f"one of {known}; a body, or a formula"))
    given = quantities_of(flat, key, value, what)
    return [_quantity(one, what) for one in given], {one.name: _number(one, what) for one in given}


def _quantity(one: Given, what: str) -> Quantity:
    (target,) = targets_of([one])
    if target.level is not Level.POSITION:
        raise DalembertError(f"{what}: {one.name} is a velocity.  Fix: give its rate in initial_rates")
    return Quantity(
        one.key, one.name, 1, 1, lambda motion, given: [target.value(motion) - given[0]],
        lambda motion: motion.al.array([target.value(motion)]),
    )  # fmt: skip


def _number(one: Given, what: str) -> np.ndarray:
    try:
        number = np.array([float(one.value)])
    except NO_NUMBER:
        number = np.array([np.nan])
    if not np.isfinite(number[0]):
        raise ModelError(Problem(f"{what} of {one.name}: expected a finite number, got {one.value!r}", what))
    return number


def undefined_rates(names: list[str], A: Any, b: np.ndarray) -> Problem | None:
    """The first of the rows  A u = b  that is no number, in words."""
    undefined = np.flatnonzero(~np.isfinite(A @ np.ones(A.shape[1]) + b)).tolist()
    if not undefined:
        return None
    return Problem(
        f"the velocities that fit {names[undefined[0]]} are not finite in the reference configuration",
        "bodies",
        "look for lengths and places that are far too large, and for formulas that divide by zero",
    )
