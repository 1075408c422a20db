"""The result of kinematics: a motion with its rates, what is remarkable in it, and how it transmits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble_branches import is_pin, loops_of
from dalembert.analyses.motions.kinematics_events import Found
from dalembert.arguments import Between, public_methods
from dalembert.atomic import write_atomic
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, index_of, unknown
from dalembert.model import Model
from dalembert.netcdf import write_sealed
from dalembert.spatial import Pose
from dalembert.trajectory import Trajectory
from dalembert.trajectory.recorded import AXES
from dalembert.trajectory.time_series import csv_of, labeled
from dalembert.values import NO_NUMBER, SEQUENCE

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.planar import Planar

__all__ = ["Kinematics", "Rates"]

Positions = Annotated[int, Between(0, 1000)]  # that one picture shows


@dataclass(frozen=True)
class Rates:
    """Rates beyond velocities, at all instants.

    Attributes:
        accelerations, jerks: u̇ and ü.
        unit: what a unit of each drive does to all velocities: (time, drive, velocity).
        jacobian: J of constraints and drives.
        joint_names: entries of the joints' velocities.
        joints: their first and second rates.
        joint_ratios: what a unit of each drive does to them: (time, entry, drive).
        bodies: first and second rates of angular velocity and velocity, world axes: (time, body, 2, 3).
        outputs: first and second rates of the outputs.
        output_ratios: as ``joint_ratios``.
    """

    accelerations: np.ndarray
    jerks: np.ndarray
    unit: np.ndarray
    jacobian: np.ndarray
    joint_names: list[str]
    joints: tuple[np.ndarray, np.ndarray]
    joint_ratios: np.ndarray
    bodies: tuple[np.ndarray, np.ndarray]
    outputs: tuple[np.ndarray, np.ndarray]
    output_ratios: np.ndarray

    @classmethod
    def of(
        cls, dynamics: Dynamics, seen: Any, du: np.ndarray, jerks: np.ndarray, unit: np.ndarray, J: np.ndarray
    ) -> Rates:
        """From what the kernel of rates gives."""
        n, nv = len(jerks), dynamics.nv
        names: list[str] = []
        for name in dynamics.measurable:
            size = dynamics.coordinates.nominal_joint(name).joint.nv
            names += [name] if size == 1 else [f"{name}[{i}]" for i in range(size)]

        def rows(what: str, *shape: int) -> np.ndarray:
            found = getattr(seen, what, None)
            return np.zeros((n, 0)) if found is None else np.asarray(found).reshape(n, *(shape or (-1,)))

        count = len(dynamics.flat.outputs)
        joint_map = rows("joint_map", len(names), nv)
        output_map = rows("output_map", count, nv) if count else np.zeros((n, 0, nv))
        bodies = len(dynamics.coordinates.bodies)
        return cls(
            du, jerks, unit, J, names, (rows("joints_first"), rows("joints_second")),
            np.einsum("tij,tkj->tik", joint_map, unit),
            (rows("bodies_first", bodies, 2, 3), rows("bodies_second", bodies, 2, 3)),
            (rows("outputs_first"), rows("outputs_second")), np.einsum("tij,tkj->tik", output_map, unit),
        )  # fmt: skip


class Moving(NamedTuple):
    """A quantity with three rates, over time."""

    position: xr.DataArray
    velocity: xr.DataArray
    acceleration: xr.DataArray
    jerk: xr.DataArray


class Rated(NamedTuple):
    """An output with two rates, over time; a third one would need more than jerks, if it is of a velocity."""

    value: xr.DataArray
    rate: xr.DataArray
    second_rate: xr.DataArray


class Turning(NamedTuple):
    """How a body turns: angular velocity with two rates, world axes."""

    velocity: xr.DataArray
    acceleration: xr.DataArray
    jerk: xr.DataArray


@public_methods
class Kinematics:
    """The motion of a mechanism whose freedoms are all driven.

    Attributes:
        model: as it was given.
        motion: the motion as a trajectory, to plot, animate, resample.
        certificate: how far to trust it.
        events: dead points, singular positions, changes of branch, in the order of time.
        drives: names of what is prescribed, with the joint whose coordinate it is, or None.

    Example:
        motion = da.kinematics(da.library.four_bar(), 1.0, {"A": "2*pi*t"})
        print(motion.dead_points)
    """

    def __init__(
        self,
        model: Model,
        motion: Trajectory,
        rates: Rates,
        events: tuple[Found, ...],
        drives: dict[str, str | None],
        planar: Planar | None = None,
    ):
        self.model, self.motion, self.events, self.drives = model, motion, events, drives
        self._rates, self._planar, self.dynamics, self.certificate = rates, planar, motion.dynamics, motion.certificate

    def __repr__(self) -> str:
        t = self.values("time")
        return (
            f"<Kinematics of {self.model.name!r}: {len(t)} instants, {t[0]:g} … {t[-1]:g} s; driven by "
            f"{', '.join(self.drives)}; {len(self.events)} events; "
            f"{'trusted' if self.certificate.trusted else 'NOT TRUSTED'}>"
        )

    @property
    def time(self) -> xr.DataArray:
        """Instants (s)."""
        return self.motion.time

    def values(self, name: str) -> np.ndarray:
        """One of the arrays of the motion, as a trajectory has it."""
        return self.motion.values(name)

    # Motion

    def _labeled(self, values: np.ndarray, unit: str, **axes: Any) -> xr.DataArray:
        return labeled(values, self.motion.values("time"), unit, **axes)

    def _entry(self, name: str) -> int:
        return index_of("unknown joint", name, self._rates.joint_names)

    def joint(self, name: str) -> Moving:
        """Coordinate of a joint, velocity, acceleration and jerk; of one with several, e.g. ``"foot[1]"``.

        Of a ball the velocities are those about the axes of its second body, and the position is its quaternion.
        """
        k, joint = self._entry(name), self.dynamics.coordinates.nominal_joint(name.split("[")[0]).joint
        entries = [str(entry) for entry in self.motion.values("joint_q")]
        index = int(name.split("[")[1][:-1]) if "[" in name else 0
        unit = "rad" if index in joint.angles or joint.quaternions else "m"
        own = [i for i, entry in enumerate(entries) if entry == name or (joint.quaternions and
               entry.startswith(f"{name.split('[')[0]}["))]  # fmt: skip
        q = self.motion.values("joint_coordinates")[:, own]
        first, second = self._rates.joints
        return Moving(
            self._labeled(q[:, 0], unit) if len(own) == 1 else self._labeled(q, "", component=None),
            self._labeled(self.motion.values("joint_velocities")[:, k], f"{unit}/s"),
            self._labeled(first[:, k], f"{unit}/s²"),
            self._labeled(second[:, k], f"{unit}/s³"),
        )

    def output(self, name: str) -> Rated:
        """An output with two rates."""
        k = index_of("unknown output", name, self.dynamics.flat.outputs, "the model has")
        value = self.motion.output(name)
        first, second = (part[:, k] for part in self._rates.outputs)
        unit = value.attrs.get("units", "")
        return Rated(value, self._labeled(first, f"{unit}/s"), self._labeled(second, f"{unit}/s²"))

    def _body(self, name: str) -> int:
        return index_of("unknown body", name, map(str, self.motion.values("body")))

    def body(self, name: str) -> Moving:
        """Place of a body's origin, velocity, acceleration and jerk (world axes)."""
        k = self._body(name)
        first, second = (part[:, k, 1] for part in self._rates.bodies)
        found = (self.motion.values("position")[:, k], self.motion.values("linear_velocity")[:, k], first, second)
        return self._vectors(found)

    def turning(self, name: str) -> Turning:
        """Angular velocity, acceleration and jerk of a body (world axes)."""
        k = self._body(name)
        first, second = (part[:, k, 0] for part in self._rates.bodies)
        omega = self.motion.values("angular_velocity")[:, k]
        named = zip((omega, first, second), ("rad/s", "rad/s²", "rad/s³"), strict=True)
        return Turning(*(self._labeled(values, unit, axis=AXES) for values, unit in named))

    def _vectors(self, found: tuple[np.ndarray, ...]) -> Moving:
        named = zip(found, ("m", "m/s", "m/s²", "m/s³"), strict=True)
        return Moving(*(self._labeled(values, unit, axis=AXES) for values, unit in named))

    def point(self, body: str, at: Sequence[Any] | None = None) -> Moving:
        """A point of a body and its rates (world axes): the path of ``position`` is a coupler curve.

        Args:
            body: its name, or that of a point of the model; of a planar mechanism also a node, ``"coupler.tip"``.
            at: where the point is as drawn, world axes (m); the body's origin if left out.
        """
        if self._planar is not None and at is None and "." in body:
            body, at = self._node(body)
        drawn, local = self.dynamics.coordinates.nominal, np.zeros(3)
        if at is None and body in self.dynamics.flat.points:
            named, scope = self.dynamics.flat.points[body]
            place = Pose.translation(NUMPY, drawn.vector(named.at))
            body, local = named.body, np.asarray(drawn.local(named.body, place, named.frame, scope).p, dtype=float)
        k = self._body(body)
        if at is not None:
            local = np.asarray(drawn.body_pose(body).inverse().apply(_place(at)), dtype=float)
        r = _rotations(self.motion.values("orientation")[:, k]) @ local
        p, v, a, j = (part.values for part in self.body(body))
        w, dw, ddw = (part.values for part in self.turning(body))

        def cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            return np.cross(x, y)

        r1 = cross(w, r)
        r2 = cross(dw, r) + cross(w, r1)
        r3 = cross(ddw, r) + 2 * cross(dw, r1) + cross(w, r2)
        return self._vectors((p + r, v + r1, a + r2, j + r3))

    def _node(self, node: str) -> tuple[str, tuple[float, float, float]]:
        """Body and drawn place of a node of a planar mechanism."""
        from dalembert.planar.planar_geometry import Drawn

        assert self._planar is not None
        body, _, name = node.partition(".")
        data = next((one for one in self._planar.bodies if one.name == body), None)
        if data is None or name not in data.nodes:
            known = [f"{one.name}.{key}" for one in self._planar.bodies for key in one.nodes]
            raise unknown("unknown node", node, known)
        drawn = Drawn(self._planar)
        x, y = (float(drawn.value(part)) for part in data.nodes[name])
        return body, (x, y, 0.0)

    def path(self, body: str, at: Sequence[Any] | None = None) -> xr.DataArray:
        """The path of a point of a body: a coupler curve (m); see ``point``."""
        return self.point(body, at).position

    # What is remarkable

    def _of(self, *kinds: str) -> list[Found]:
        return [event for event in self.events if event.kind in kinds]

    @property
    def dead_points(self) -> list[Found]:
        """Where a joint does not move though the drive does, with time, joint and coordinate."""
        return self._of("dead point")

    @property
    def singular_positions(self) -> list[Found]:
        """Where drives and constraints leave a motion free, changes of branch among them."""
        return self._of("singular", "change of branch")

    # Transmission

    def _drive(self, drive: str | None) -> int:
        if drive is None:
            if len(self.drives) > 1:
                raise DalembertError(f"which drive?  Fix: one of {', '.join(self.drives)}")
            return 0
        return index_of("unknown drive", drive, self.drives)

    def velocity_ratio(self, output: str, drive: str | None = None) -> xr.DataArray:
        """Velocity of a joint or output for a unit velocity of a drive, the others at rest: dq/ds.

        It depends on the position only, not on how fast the drive goes; zero at dead points.
        """
        k, r = self._drive(drive), self._rates
        if output in r.joint_names:
            return self._labeled(r.joint_ratios[:, self._entry(output), k], "")
        outputs = list(self.dynamics.flat.outputs)
        if output in outputs:
            return self._labeled(r.output_ratios[:, outputs.index(output), k], "")
        raise unknown("unknown joint or output", output, [*r.joint_names, *outputs])

    def force_ratio(self, output: str, drive: str | None = None) -> xr.DataArray:
        """Mechanical advantage: force at the output that a unit force of the drive balances, without friction.

        By virtual power it is the inverse of the velocity ratio: infinite at dead points.
        """
        ratio = self.velocity_ratio(output, drive)
        with np.errstate(divide="ignore"):
            return self._labeled(1.0 / ratio.values, "")

    def transmission_angle(self, joint: str | None = None) -> xr.DataArray:
        """Acute angle (rad) between the two links that meet at a joint: 90° is best, near 0° the joint jams.

        A link is the line to the next joint of the loop; a slide counts as the normal to its direction.

        Args:
            joint: the pin between coupler and output link; found by itself in one loop of four joints.
        """
        coordinates = self.dynamics.coordinates
        loops = loops_of(coordinates)
        if joint is None:
            joint = self._opposite(loops)
        around = [loop for loop in loops if joint in loop]
        if not around or not is_pin(coordinates, joint):
            pins = sorted({name for loop in loops for name in loop if is_pin(coordinates, name)})
            raise DalembertError(f"transmission angle: {joint!r} is not a pin of a loop; there are {', '.join(pins)}")
        loop = min(around, key=len)
        k = loop.index(joint)
        here, axis = self._joint_track(joint)
        lines = [self._line(name, here, axis) for name in (loop[k - 1], loop[(k + 1) % len(loop)])]
        cosine = np.abs(np.einsum("ti,ti->t", *lines)) / np.prod([np.linalg.norm(x, axis=1) for x in lines], axis=0)
        return self._labeled(np.arccos(np.clip(cosine, 0.0, 1.0)), "rad")

    def _opposite(self, loops: list[tuple[str, ...]]) -> str:
        """The joint opposite to the driven one in a loop of four."""
        for loop in loops:
            for driven in self.drives.values():
                if len(loop) == 4 and driven in loop:
                    return loop[(loop.index(driven) + 2) % 4]
        raise DalembertError("transmission angle of which joint?  Fix: the pin between coupler and output link")

    def _joint_track(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Place and axis of a joint over time."""
        placed = self.dynamics.coordinates.nominal_joint(name)
        p, R = np.asarray(placed.X_1P.p, dtype=float), np.asarray(placed.X_1P.R, dtype=float)
        if placed.first == "ground":
            n = len(self.motion.values("time"))
            return np.tile(p, (n, 1)), np.tile(R[:, 2], (n, 1))
        k = self._body(placed.first)
        turned = _rotations(self.motion.values("orientation")[:, k])
        return self.motion.values("position")[:, k] + turned @ p, turned @ R[:, 2]

    def _line(self, name: str, here: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """The line of a link from one joint to the next."""
        place, direction = self._joint_track(name)
        if is_pin(self.dynamics.coordinates, name):
            return place - here
        return np.cross(axis, direction)

    # Tables, pictures and files

    @cached_property
    def data(self) -> xr.Dataset:
        """The motion with ``joint_accelerations``, ``joint_jerks``, rates of bodies, ``velocity_ratio``."""
        import xarray as xr

        r, first, second = self._rates, *self._rates.bodies
        more = {
            "joint_accelerations": (("time", "joint_u"), r.joints[0]),
            "joint_jerks": (("time", "joint_u"), r.joints[1]),
            "angular_acceleration": (("time", "body", "axis"), first[:, :, 0]),
            "linear_acceleration": (("time", "body", "axis"), first[:, :, 1]),
            "angular_jerk": (("time", "body", "axis"), second[:, :, 0]),
            "linear_jerk": (("time", "body", "axis"), second[:, :, 1]),
            "velocity_ratio": (("time", "joint_u", "drive"), r.joint_ratios),
            "accelerations": (("time", "velocity"), r.accelerations),
            "jerks": (("time", "velocity"), r.jerks),
        }
        found = self.motion.data.assign({name: xr.Variable(*value) for name, value in more.items()})
        return found.assign_coords(drive=list(self.drives))

    def __str__(self) -> str:
        """What is remarkable, one line each, then the certificate."""
        return "\n".join([repr(self), *(f"  {event}" for event in self.events), str(self.certificate)])

    def to_csv(self) -> str:
        """Time, and coordinate, velocity, acceleration and jerk of all joints with one freedom, as a table."""
        names = [name for name in self._rates.joint_names if "[" not in name]
        header = ["time", *(f"{letter}({name})" for name in names for letter in ("q", "u", "a", "j"))]
        columns = [part.values for name in names for part in self.joint(name)]
        table = np.stack([self.motion.values("time"), *columns], axis=1)
        return csv_of(header, table)

    def save(self, path: str | Path) -> Path:
        """A file of all data: NetCDF (.nc), or a table of the joints (.csv)."""
        if Path(path).suffix == ".csv":
            return write_atomic(path, self.to_csv().encode(), DalembertError)
        facts = {"certificate": str(self.certificate), "kinematics": json.dumps([str(event) for event in self.events])}
        return write_sealed(path, self.data.assign_attrs(facts))

    def plot(self, path: str | Path | None = None, *, joints: Sequence[str] | str | None = None) -> Any:
        """Coordinate, velocity, acceleration and jerk over time, with a thin line at each event.

        Args:
            path: a PNG, SVG or PDF file.
            joints: whose; default: all with one freedom.
        """
        from dalembert.view import with_file
        from dalembert.view.kinematics_plots import rates_figure

        return with_file(rates_figure(self, [joints] if isinstance(joints, str) else joints), path)

    def draw(
        self,
        path: str | Path | None = None,
        *,
        paths: Sequence[Any] = (),
        positions: Positions = 6,
        labels: bool = True,
    ) -> Any:
        """The mechanism at some instants with the paths of points; a matplotlib figure.

        Args:
            path: a PNG, SVG or PDF file.
            paths: points as ``(body, (x, y, z))``, bodies, or nodes of a planar mechanism: coupler curves.
            positions: how many are drawn; the first one is strong.
            labels: names of the joints.
        """
        from dalembert.view import with_file
        from dalembert.view.kinematics_plots import path_figure

        tracks: dict[str, tuple[str, np.ndarray]] = {}
        for one in paths:
            if not isinstance(one, str) and not (isinstance(one, SEQUENCE) and len(one) == 2):
                raise DalembertError(f"draw: paths are bodies, nodes or (body, (x, y, z)), got {one!r}")
            body, at = (one, None) if isinstance(one, str) else one
            place = "" if at is None else f" at ({', '.join(f'{float(x):g}' for x in _place(at))})"
            tracks[body + place] = (body.partition(".")[0], self.path(body, at).values)
        return with_file(path_figure(self, tracks, positions, labels), path)

    def animate(self, path: str | Path) -> Path:
        """One self-contained HTML file: the mechanism in 3D, moving, with plots beside it."""
        return self.motion.animate(path)


def _place(at: Sequence[Any]) -> np.ndarray:
    try:
        place = np.array([float(x) for x in at])
    except NO_NUMBER:
        place = np.zeros(0)
    if place.shape != (3,) or not np.all(np.isfinite(place)):
        raise DalembertError(f"point: expected three numbers (x, y, z) in the reference configuration (m), got {at!r}")
    return place


def _rotations(Q: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions (w, x, y, z)."""
    w, x, y, z = Q.T
    return np.stack([
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
    ], axis=-2)  # fmt: skip
