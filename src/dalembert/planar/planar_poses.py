"""Where the bodies of a planar mechanism are: as drawn, in a state, or along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algebra import NUMPY
from dalembert.errors import DalembertError
from dalembert.expressions import TIME, evaluate
from dalembert.expressions.symbols import Reference
from dalembert.planar.planar_data import BASE, OF_NODE
from dalembert.planar.planar_geometry import Drawn, ends
from dalembert.planar.planar_names import near_quantities, quantities
from dalembert.planar.planar_tree import PlanarTree

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["Poses", "at_all_times", "instant", "is_state", "motion_of", "poses_at", "poses_of", "values_along"]

Array = NDArray[np.float64]


class Poses:
    """Angle and center of mass of every body, of one time or of many.

    Args:
        motion: by body, angle (…,) and center (…, 2).
    """

    def __init__(self, planar: Planar, motion: dict[str, tuple[Array, Array]]):
        self.planar, self.drawn, self.motion = planar, Drawn(planar), motion
        self._com = {
            body.name: np.array([self.drawn.value(part) for part in self.drawn.com(body)]) for body in planar.bodies
        }

    @property
    def count(self) -> int:
        """Number of times."""
        return len(next(iter(self.motion.values()))[0])

    def angle(self, body: str) -> Any:
        return 0.0 if body == BASE else self.motion[body][0]

    def com(self, body: str) -> Array:
        return self.motion[body][1]

    def fixed(self, body: str, place: Any) -> Array:
        """Where a point is that was drawn at a place and is fixed to a body."""
        place = np.asarray(place, dtype=float)
        if body == BASE:
            return place
        (angle, center), arm = self.motion[body], place - self._com[body]
        c, s = np.cos(angle), np.sin(angle)
        return center + np.stack([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]], axis=-1)

    def node(self, node: str) -> Array:
        """Where a node is."""
        return self.fixed(node.partition(".")[0], self.drawn.point(node))

    def way(self, body: str, node: str, place: Any, e: Any) -> Array:
        """How far a node has come along a line of a body through a place."""
        start = self.fixed(body, place)
        along = self.fixed(body, np.asarray(place) + e) - start
        return np.sum((self.node(node) - start) * along, axis=-1)

    def slide(self, joint: Any, e: Any) -> Array:
        """Displacement of a sliding joint."""
        slider = self.drawn.slider(joint)
        return self.way(ends(joint)[0], slider, self.drawn.point(slider), e)


def poses_at(planar: Planar, at: Any, time: float | None) -> Poses:
    """Poses of one time."""
    if at is None:
        if time is not None:
            raise DalembertError("draw: time is that of a run.  Fix: at=run, with run = da.simulate(…)")
        drawn = Drawn(planar)
        com = {body.name: np.array([drawn.value(part) for part in drawn.com(body)]) for body in planar.bodies}
        return Poses(planar, {name: (np.zeros(()), place) for name, place in com.items()})
    if is_state(at):
        motion: dict[str, tuple[Any, Any]] = {}
        for body in planar.bodies:
            X, _ = at.body(body.name)
            motion[body.name] = (np.arctan2(X.R[1, 0], X.R[0, 0]), np.asarray(X.p[:2], dtype=float))
        return Poses(planar, motion)
    if not hasattr(at, "resample"):
        raise DalembertError(
            f"draw: at must be a state or a run, got {type(at).__name__}.  Fix: at=da.assemble(mechanism, {{…}})"
        )
    times, when = at.values("time"), instant("draw", at, time)
    one = poses_of(planar, at if np.any(times == when) else at.resample([when]))
    assert one is not None
    k = int(np.argmin(np.abs(times - when))) if np.any(times == when) else 0
    return Poses(planar, {name: (angle[k], center[k]) for name, (angle, center) in one.motion.items()})


def instant(what: str, run: Any, time: float | None) -> float:
    """A time of a run; its end, if none is given."""
    times = run.values("time")
    when = float(times[-1] if time is None else time)
    if not times[0] <= when <= times[-1]:
        raise DalembertError(f"{what}: the run lasts from {times[0]:g} to {times[-1]:g} s, got time {when:g} s")
    return when


def poses_of(planar: Planar, run: Any) -> Poses | None:
    """Poses along a whole run; None if there is none."""
    if run is None or is_state(run):
        return None
    return Poses(planar, {body.name: _along(run, body.name) for body in planar.bodies})


def _along(run: Any, body: str) -> tuple[Array, Array]:
    """Angle and center of a body along a run."""
    moving = run.body(body)
    w, _, _, z = np.moveaxis(np.asarray(moving.quaternion), -1, 0)
    return np.unwrap(2 * np.arctan2(z, w)), np.asarray(moving.position)[:, :2]


def is_state(at: Any) -> bool:
    """True for a state, of ``da.assemble``."""
    return hasattr(at, "coordinates") and hasattr(at, "body")


def motion_of(given: Any) -> Any:
    """A state or a run as it is; of a result of inverse dynamics, its motion."""
    found = getattr(given, "motion", given)
    if not is_state(found) and not (hasattr(found, "values") and hasattr(found, "body")):
        raise DalembertError(f"expected a state of da.assemble, a run or a motion, got {given!r}")
    return found


def values_along(planar: Planar, run: Any, name: str) -> Array:
    """A quantity of the motion at every time of a run."""
    known = quantities(planar)
    if name not in known:
        raise DalembertError(f"unknown quantity {name!r}.  Fix: {near_quantities(name, known)}")
    time = run.values("time")
    owner, _, key = name.rpartition(".")
    if key in OF_NODE:
        return _node_along(planar, run, owner)[key[0] == "v"][:, "xy".index(key[-1])]
    entries = {"q": [str(e) for e in run.values("joint_q")], "u": [str(e) for e in run.values("joint_u")]}
    arrays = {"q": run.values("joint_coordinates"), "u": run.values("joint_velocities")}

    def lookup(atom: Any) -> Any:
        if isinstance(atom, Reference):
            labels = entries[atom.quantity]
            indexed = f"{atom.element}[{atom.index}]"
            return arrays[atom.quantity][:, labels.index(indexed if indexed in labels else atom.element)]
        return time if atom == TIME else planar.parameter_values[atom.name]

    return at_all_times(PlanarTree(planar).quantity(name), lookup, len(time))


def _node_along(planar: Planar, run: Any, node: str) -> tuple[Array, Array]:
    """Places and velocities of a node along a run."""
    body = node.partition(".")[0]
    poses = Poses(planar, {} if body == BASE else {body: _along(run, body)})
    place = np.broadcast_to(poses.node(node), (len(run.values("time")), 2))
    if body == BASE:
        return place, np.zeros_like(place)
    moving = run.body(body)
    arm, omega = place - poses.com(body), np.asarray(moving.angular_velocity)[:, 2]
    velocity = np.asarray(moving.velocity)[:, :2]
    return place, velocity + omega[:, None] * np.stack([-arm[:, 1], arm[:, 0]], axis=1)


def at_all_times(formula: Any, lookup: Any, count: int) -> Array:
    """The values of a formula whose symbols and references stand for arrays over time, or for numbers."""
    known: dict[Any, Any] = {}

    def value(atom: Any) -> Any:
        if atom not in known:
            known[atom] = np.broadcast_to(lookup(atom), (count,)).tolist()
        return known[atom][k]

    found = np.empty(count)
    for k in range(count):
        found[k] = evaluate(NUMPY, formula, value)
    return found
