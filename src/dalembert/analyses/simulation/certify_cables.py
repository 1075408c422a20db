"""Cables over wheels: whether they stay in the plane of their wheels, lie on them, and pull."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.simulation.seen import Seen
from dalembert.constraints import Cable
from dalembert.constraints.transmissions import Laid
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import ModelError
from dalembert.spatial import quaternion
from dalembert.state import State
from dalembert.trajectory import Check
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.recorded import Recorded

__all__ = ["cable_checks", "cable_remarks", "check_cables"]

FLEET_LIMIT = 0.1  # rad, at the start: no wheel guides a cable that comes in more askew
IN_PLANE = "joints that keep the wheels and the points next to them in one plane across the axis"
PUSHES = (
    "cable {name!r} pushes with up to {push:.3g} N, first at t = {time:.4g} s: a real cable is slack there. Fix: an "
    "event that switches it off"
)

Poses = dict[str, tuple[np.ndarray, np.ndarray]]  # rotation matrices (times, 3, 3) and positions (times, 3) by body


class Wheeled(NamedTuple):
    """A cable with wheels, how it is laid, and the axis of its first wheel as drawn."""

    cable: Cable
    laid: Laid
    drawn: np.ndarray


class Lay(NamedTuple):
    """How a cable lies at several times: the largest angle out of the plane, and the smallest arc, both in rad."""

    fleet: np.ndarray
    wrap: np.ndarray


def check_cables(dynamics: Dynamics, state: State) -> None:
    """Raise where a cable is out of the plane of its wheels at the start.

    Raises:
        ModelError: naming the cable and the angle.
    """
    for name in _wheeled(dynamics):
        if name in dynamics.flat.off(state.parameters):
            continue
        wheeled = _laid(dynamics, name, state.parameters)
        poses: Poses = {}
        for body in {*wheeled.cable.bodies}:
            X = state.body(body)[0]
            poses[body] = np.asarray(X.R, dtype=float)[None], np.asarray(X.p, dtype=float)[None]
        fleet = float(_lay(wheeled, poses).fleet[0])
        if not fleet <= FLEET_LIMIT:
            raise ModelError(
                f"cable {name!r} is {fleet:.3g} rad out of the plane of its wheels, where its equation does not hold "
                f"(at most {FLEET_LIMIT:g}).  Fix: {IN_PLANE}"
            )


def cable_checks(dynamics: Dynamics, data: Recorded, outcome: Outcome, accuracy: float) -> list[Check]:
    """How far cables left the plane of their wheels, and the wheels themselves."""
    fleets, wraps = dict[str, float](), dict[str, float]()
    for name in _wheeled(dynamics):
        for wheeled, poses in _along(dynamics, name, data, outcome):
            lay = _lay(wheeled, poses)
            fleets[name] = max(fleets.get(name, 0.0), _worst(lay.fleet))
            wraps[name] = max(wraps.get(name, 0.0), _worst(-lay.wrap))
    if not fleets:
        return []
    askew, lifted = (max(found, key=lambda name: found[name]) for found in (fleets, wraps))
    about = f"largest angle (rad) of cable {askew!r} to the plane of its wheels; the error is its square"
    checks = [Check("fleet angle", fleets[askew], float(np.sqrt(accuracy)), "", about, IN_PLANE)]
    about = f"arc (rad) that cable {lifted!r} would have to wrap a wheel backward: it has left the wheel"
    fix = "an event that ends the run there, or switches to a cable without that wheel"
    return [*checks, Check("cable off its wheel", wraps[lifted], accuracy, "", about, fix)]


def cable_remarks(seen: Seen) -> list[str]:
    """Cables that would have to push."""
    said, dynamics, time = list[str](), seen.dynamics, seen.data.time
    for i, row in enumerate(dynamics.rows):
        found = dynamics.flat.constraints.get(row.owner)
        if found is None or not found[0].pulls:
            continue
        pull = np.nan_to_num(seen.accelerations.multipliers[:, i])
        rounding = 1e-9 * np.abs(pull).max(initial=0.0)
        if pull.size and pull.min() < -rounding:
            when = float(time[int(np.argmax(pull < -rounding))])
            said.append(PUSHES.format(name=row.owner, push=-float(pull.min()), time=when))
    return said


def _wheeled(dynamics: Dynamics) -> list[str]:
    """Cables with wheels."""
    return [name for name, (one, _) in dynamics.flat.constraints.items() if one.wheels]


def _worst(values: np.ndarray) -> float:
    """The largest value; infinite if any is undefined."""
    return float(values.max(initial=0.0)) if np.all(np.isfinite(values)) else np.inf


def _laid(dynamics: Dynamics, name: str, parameters: dict[str, float]) -> Wheeled:
    """A cable, and how it is laid with these parameters."""
    cable, scope = dynamics.flat.constraints[name]
    coordinates = dynamics.relative.coordinates
    tree = coordinates.place(NUMPY, {**dynamics.flat.parameters, **parameters})
    motion = Equations(tree, 0.0, coordinates.neutral(), np.zeros(coordinates.nv)).motion.within(scope)
    laid = cable.laid(motion)
    first, axis = next(iter(laid.axes.items()))
    return Wheeled(cable, laid, motion.reference(cable.bodies[first]).R @ axis)


def _along(dynamics: Dynamics, name: str, data: Recorded, outcome: Outcome) -> Iterator[tuple[Wheeled, Poses]]:
    """A cable and the poses of its bodies, for each piece of a run in which it acts."""
    names = list(data.labels["body"])
    for at, parameters in pieces(outcome.segments, len(data.time)):
        if name in dynamics.flat.off(parameters):
            continue
        wheeled = _laid(dynamics, name, parameters)
        count = len(data.time[at])
        poses: Poses = {"ground": (np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3)))}
        for body in {*wheeled.cable.bodies} - {"ground"}:
            i = names.index(body)
            R = quaternion.to_matrix(NUMPY, data["orientation"][at, i].T)
            poses[body] = np.moveaxis(R, -1, 0), data["position"][at, i]
        yield wheeled, poses


def _lay(wheeled: Wheeled, poses: Poses) -> Lay:
    cable, laid, drawn = wheeled
    moved = [poses[body][0] @ point + poses[body][1] for body, point in zip(cable.bodies, laid.points, strict=True)]
    axes = {i: poses[cable.bodies[i]][0] @ axis for i, axis in laid.axes.items()}
    first = next(iter(axes))
    n, fleet = axes[first], np.zeros(len(moved[0]))
    for i, (one, other) in enumerate(pairwise(moved)):
        if {i, i + 1} & set(axes):
            fleet = np.maximum(fleet, _leaning(n, other - one))
    for axis in axes.values():
        fleet = np.maximum(fleet, np.arctan2(np.linalg.norm(np.cross(n, axis), axis=-1), np.sum(n * axis, axis=-1)))
    before = _arcs([point[None] for point in laid.drawn], laid.radii, drawn[None])
    now, wrap = _arcs(moved, laid.radii, n), np.full(len(fleet), np.inf)
    for i in axes:
        if 0 < i < len(moved) - 1:
            turned = np.sign(laid.radii[i]) * np.angle(np.exp(1j * (now[i] - before[i])))
            wrap = np.minimum(wrap, (np.sign(laid.radii[i]) * before[i]) % (2 * np.pi) + turned)
    return Lay(fleet, wrap)


def _leaning(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The angle of a direction to the plane across n."""
    along = np.sum(n * d, axis=-1)
    return np.arctan2(np.abs(along), np.linalg.norm(d - along[:, None] * n, axis=-1))


def _arcs(points: list[np.ndarray], radii: list[Any], n: np.ndarray) -> dict[int, np.ndarray]:
    """Angles about n by which the cable turns at each point between its ends."""
    directions: list[np.ndarray] = []
    for i, (one, other) in enumerate(pairwise(points)):
        d, delta = other - one, float(radii[i + 1] - radii[i])
        square = np.sum(d * d, axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            directions.append((np.sqrt(square - delta**2) * d - delta * np.cross(n, d)) / square)
    found: dict[int, np.ndarray] = {}
    for i, (e, after) in enumerate(pairwise(directions)):
        found[i + 1] = np.arctan2(np.sum(n * np.cross(e, after), axis=-1), np.sum(e * after, axis=-1))
    return found
