"""A trajectory as curves: the panels over time, and one quantity against another."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.errors import DalembertError
from dalembert.spatial import Pose
from dalembert.spatial import quaternion as quaternions
from dalembert.view.check import LARGEST
from dalembert.view.figures import plot_path, plot_series
from dalembert.view.scene import Plot
from dalembert.view.sticks import Sticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dalembert.trajectory import Trajectory

__all__ = ["chosen", "coordinate_panels", "figure", "panels", "phase", "snapshots"]

MOST_SERIES = 8  # of one panel
MOST_NAMES = 4  # of events below the time axis
MOST_BODIES, MOST_JOINTS = 60, 30  # of a mechanism whose pictures and reactions are drawn
SNAPSHOTS = (0.0, 0.23, 0.46, 0.72, 1.0)  # parts of the run, so that whole periods do not look alike
TURN = 2 * np.pi
SMALLEST = 1e-16  # on an axis of decades: what is zero is drawn here
AXES = "xyz"


def figure(run: Trajectory, quantities: Sequence[str] | str | None = None, forces: bool = False) -> Any:
    """Stacked plots: those asked for, else the mechanism, outputs, joint coordinates, states, motors, energy, what
    the run leaves open; ``forces`` adds those in the joints.
    """
    if quantities is None:
        plots = panels(run, errors=True, forces=forces)
    else:
        names = [quantities] if isinstance(quantities, str) else list(quantities)
        plots = [plot for name in names for plot in chosen(run, name)]
    if not plots:
        raise DalembertError("nothing to plot: quantities is empty")
    events = run.events
    names = list(dict.fromkeys(event.name for event in events))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    note = f"thin lines: {', '.join(names[:MOST_NAMES])}{more}" if events else ""
    marks = [event.time for event in events]
    pictures = snapshots(run) if quantities is None else ()
    name = run.dynamics.model.name
    return plot_series(run.values("time"), plots, title=name, marks=marks, note=note, pictures=pictures)


def snapshots(run: Trajectory) -> list[tuple[str, Callable[[Axes], None]]]:
    """Pictures of the mechanism at some instants of the run; none where there is nothing to draw."""
    flat, time = run.dynamics.flat, run.values("time")
    small = len(time) > 1 and len(flat.bodies) <= MOST_BODIES
    if not (small and flat.joints and np.all(np.isfinite(run.values("position")))):
        return []
    sticks = Sticks(run.dynamics.coordinates)
    found: list[tuple[str, Callable[[Axes], None]]] = []
    for i in np.unique([round(part * (len(time) - 1)) for part in SNAPSHOTS]):
        instant = Instant(run, int(i))
        found.append((f"{time[i]:.3g} s", partial(sticks.draw, state=instant, labels=False)))
    return found


@dataclass(frozen=True)
class Instant:
    """Where all bodies are at one output of a run."""

    run: Trajectory
    index: int

    def body(self, name: str) -> tuple[Pose, None]:
        """World pose of a body."""
        at = [str(body) for body in self.run.values("body")].index(name)
        turn = quaternions.to_matrix(NUMPY, self.run.values("orientation")[self.index, at])
        return Pose(turn, self.run.values("position")[self.index, at]), None


def panels(run: Trajectory, errors: bool = False, forces: bool = False) -> list[Plot]:
    """What is worth looking at; ``errors`` adds motors, the energy error and the constraint residuals, ``forces`` those
    in the joints."""
    units: dict[str, dict[str, np.ndarray]] = {}
    for i, (name, (output, _)) in enumerate(run.dynamics.flat.outputs.items()):
        units.setdefault(output.unit, {})[name] = run.values("outputs")[:, i]
    plots = [_panel("Outputs", unit, series) for unit, series in units.items()] + coordinate_panels(run)
    plots += _states(run)
    if not plots:
        plots.append(_body(run, str(run.values("body")[0]))[0])
    if not errors:
        return plots + _energy(run)[:1]
    return plots + _motors(run) + (_forces(run) if forces else []) + _energy(run) + _residuals(run)


def _states(run: Trajectory) -> list[Plot]:
    """Currents, pressures and what else has states of its own."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, place in run.dynamics.coordinates.own_states.items():
        unit = run.dynamics.flat.states[name][0].unit
        found.setdefault(unit, {})[name] = run.values("q")[:, place]
    return [_panel("States", unit, series) for unit, series in found.items()]


def _motors(run: Trajectory) -> list[Plot]:
    """What drives must supply."""
    found: dict[str, dict[str, np.ndarray]] = {}
    known = run.dynamics.rows.owners()
    for name, (constraint, _) in run.dynamics.flat.constraints.items():
        for joint, index, _ in constraint.gives() if name in known else ():
            angle = index in run.dynamics.coordinates.nominal_joint(joint).joint.angles
            force = run.solved[1][:, next(iter(run.dynamics.rows.of([name])))]
            found.setdefault("N m" if angle else "N", {})[name] = force
    return [_panel("Motors", unit, series) for unit, series in found.items()]


def _forces(run: Trajectory) -> list[Plot]:
    """How large the forces in the joints are, where they are known."""
    joints = run.dynamics.flat.joints
    try:
        found = run.wrenches if len(joints) <= MOST_JOINTS else {}
    except DalembertError:
        return []
    sizes = {name: np.linalg.norm(wrench[:, 1], axis=-1) for name, wrench in found.items()}
    sizes = {name: size for name, size in sizes.items() if size.any()}
    return [_panel("Forces in joints", "N", sizes)] if sizes else []


def coordinate_panels(run: Trajectory) -> list[Plot]:
    """Angles and displacements of the joints."""
    angles, lengths = _coordinates(run)
    # What turns round and round would flatten the others.
    turning = {name: values for name, values in angles.items() if np.ptp(values) > TURN}
    swinging = {name: values for name, values in angles.items() if name not in turning}
    plots = [_panel("Angles that turn" if swinging else "Angles", "rad", turning)] if turning else []
    plots += [_panel("Angles", "rad", swinging)] if swinging else []
    return plots + ([_panel("Displacements", "m", lengths)] if lengths else [])


def _panel(title: str, unit: str, series: dict[str, np.ndarray], log: bool = False) -> Plot:
    largest = {name: np.max(np.abs(values), initial=0.0) for name, values in series.items()}
    left_out = {
        "not finite": sorted(name for name, value in largest.items() if not np.isfinite(value)),
        "too large to draw": sorted(name for name, value in largest.items() if LARGEST < value < np.inf),
    }
    for why, names in left_out.items():
        title += f" ({why}: {', '.join(names[:MOST_NAMES])})" if names else ""
    drawn = [name for name, value in largest.items() if value <= LARGEST]
    if len(drawn) > MOST_SERIES:
        title += f" (first {MOST_SERIES} of {len(drawn)})"
    return Plot(title, unit, {name: series[name] for name in drawn[:MOST_SERIES]}, log)


# What can be asked for by name


def chosen(run: Trajectory, name: str) -> list[Plot]:
    """Panels of a quantity that is asked for by name."""
    whole = {"energy": _energy, "momentum": _momentum, "residuals": _residuals}
    kinds = _kinds(run)
    if name in whole and not any(name in known for known, _ in kinds.values()):
        return whole[name](run)
    kind, colon, rest = name.partition(":")
    if colon and kind in kinds and rest in kinds[kind][0]:
        return kinds[kind][1](run, rest)
    for kind, (known, draw) in kinds.items():
        if name in known and kind != "reactions":
            return draw(run, name)
    values = _formula(run, name)
    if values is not None:
        return [_panel(name, "", {name: values})]
    there = [f"{kind}s: {', '.join(known)}" for kind, (known, _) in kinds.items() if known and kind != "reactions"]
    there += [", ".join(whole)]
    if kinds["reactions"][0]:
        there.append(", ".join(f"reactions:{owner}" for owner in kinds["reactions"][0]))
    there.append("formulas such as x(body)")
    raise DalembertError(f"unknown quantity {name!r}; there are {'; '.join(there)}".replace("bodys", "bodies"))


def _formula(run: Trajectory, text: str) -> np.ndarray | None:
    """Values of a formula of the motion; None if the text is none."""
    try:
        return run.output(text).values
    except DalembertError:
        return None


def _kinds(run: Trajectory) -> dict[str, tuple[list[str], Callable[[Trajectory, str], list[Plot]]]]:
    d = run.dynamics
    owners = list(dict.fromkeys([*d.flat.joints, *(row.owner for row in d.rows)]))
    return {
        "output": (list(d.flat.outputs), _output),
        "joint": (list(d.measurable), _joint),
        "body": ([str(body) for body in run.values("body")], _body),
        "reactions": (owners, _reaction),
    }


def _output(run: Trajectory, name: str) -> list[Plot]:
    return [_panel(name, run.dynamics.flat.outputs[name][0].unit, {name: run.output(name).values})]


def _joint(run: Trajectory, name: str) -> list[Plot]:
    """Coordinates by unit, then velocities by unit."""
    joint = run.dynamics.coordinates.nominal_joint(name).joint
    plots: list[Plot] = []
    motion = run.joint(name)
    units = _joint_units(joint)
    for title, values, given in ((name, motion.q, units[0]), (f"Velocity of {name}", motion.u, units[1])):
        columns = values.values.reshape(len(run.time), -1)
        for unit in dict.fromkeys(given):
            entries = [i for i, own in enumerate(given) if own == unit]
            label = "Orientation of " if unit == "1" else ""
            names = [name] if len(given) == 1 else [f"{name}[{i}]" for i in entries]
            plots.append(_panel(label + title, unit, dict(zip(names, columns[:, entries].T, strict=True))))
    return plots


def _joint_units(joint: Any) -> tuple[list[str], list[str]]:
    """Units of the coordinates (``1``: of a quaternion) and of the velocities of a joint."""
    q = ["rad" if i in joint.angles else "m" for i in range(joint.nq)]
    u = [f"{unit}/s" for unit in q[: joint.nv]]
    for first in joint.quaternions:
        q[first : first + 4] = ["1"] * 4
        u[first : first + 3] = ["rad/s"] * 3
        u[first + 3 :] = ["m/s"] * (joint.nv - first - 3)
    return q, u


def _body(run: Trajectory, name: str) -> list[Plot]:
    motion = run.body(name)
    return [
        _panel(f"{title} of {name}", unit, {axis: values.sel(axis=axis).values for axis in AXES})
        for title, unit, values in (
            ("Position", "m", motion.position), ("Velocity", "m/s", motion.velocity),
            ("Angular velocity", "rad/s", motion.angular_velocity),
        )
    ]  # fmt: skip


def _reaction(run: Trajectory, name: str) -> list[Plot]:
    found = run.reaction(name)
    if "kind" in found.dims:
        return [
            _panel(f"{title} of {name}", unit, {axis: found.sel(kind=kind, axis=axis).values for axis in AXES})
            for title, kind, unit in (("Force", "force", "N"), ("Torque", "torque", "N m"))
        ]
    columns = found.values.reshape(len(run.time), -1)
    names = [name] if columns.shape[1] == 1 else [f"{name}[{i}]" for i in range(columns.shape[1])]
    return [_panel(f"Multipliers of {name}", "N, N m", dict(zip(names, columns.T, strict=True)))]


def _energy(run: Trajectory) -> list[Plot]:
    kinetic, potential, work = (run.values(name) for name in ("kinetic", "potential", "work"))
    energy = {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}
    if np.ptp(work) > 0:
        energy["work put in"] = work
    balance = run.values("balance")
    return [_panel("Energy", "J", energy), _panel("Energy error", "J", {"T + V − W": balance - balance[0]})]


def _momentum(run: Trajectory) -> list[Plot]:
    return [
        _panel(f"{name} momentum".capitalize(), values.units, {axis: values.sel(axis=axis).values for axis in AXES})
        for name, values in run.momentum.data_vars.items()
    ]


def _residuals(run: Trajectory) -> list[Plot]:
    """The largest residual of the constraints at both levels."""
    names = {"position": "|φ|  (m, rad)", "velocity": "|A u + b|  (m/s, rad/s)"}
    series = {names[level]: np.maximum(values, SMALLEST) for level, values in run.residuals.items()}
    if not series:
        return []
    return [_panel("Constraint residuals", "largest", series, log=True)]


def _coordinates(run: Trajectory) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Angles and displacements of the joints that have some; quaternions are no picture."""
    angles: dict[str, np.ndarray] = {}
    lengths: dict[str, np.ndarray] = {}
    labels = [str(label) for label in run.values("joint_q")]
    at = 0
    for name in run.dynamics.measurable:
        joint = run.dynamics.coordinates.nominal_joint(name).joint
        for index in range(joint.nq):
            values = run.values("joint_coordinates")[:, at]
            if joint.nq == joint.nv:
                (angles if index in joint.angles else lengths)[labels[at]] = values
            at += 1
    return angles, lengths


# One quantity against another


def phase(run: Trajectory, x: str, y: str | None = None) -> Any:
    """The path of two quantities, without lines across events that make velocities jump."""
    if y is None:
        first, second = _single(run, f"q({x})"), _single(run, f"u({x})")
    else:
        first, second = _single(run, x), _single(run, y)
    flat = run.dynamics.flat.events
    jumps = [event.time for event in run.events if flat[event.name][0].rates or flat[event.name][0].switch]
    at = np.searchsorted(run.time.values, jumps, side="right")
    equal = first[1] == second[1] and y is not None and x[1:2] == y[1:2] == "("
    return plot_path(
        *(np.insert(values, at, np.nan) for values, _, _ in (first, second)),
        labels=(_axis_label(first), _axis_label(second)),
        title=run.dynamics.model.name,
        equal=equal,
    )


def _axis_label(drawn: tuple[np.ndarray, str, str]) -> str:
    _, unit, label = drawn
    return f"{label} ({unit})" if unit else label


def _single(run: Trajectory, name: str) -> tuple[np.ndarray, str, str]:
    """Values, unit and label of a quantity that is one number."""
    data, outputs = run.data, run.dynamics.flat.outputs
    if name in outputs:
        return run.output(name).values, outputs[name][0].unit or "1", name
    given = re.fullmatch(r"([quxyz])\((.+)\)", name)
    kind, entry = given.groups() if given else ("q", name)
    labels = {"q": data.joint_q, "u": data.joint_u}.get(kind, data.body)
    known = [str(label) for label in labels.values]
    if entry not in known:
        values = _formula(run, name)
        if values is not None:
            return values, "", name
        there = known if given else [*known, *outputs]
        what = f"{'body' if kind in AXES else 'joint'} {entry!r}" if given else f"quantity {name!r}"
        raise DalembertError(
            f"unknown {what}; there are {', '.join(there)}.  Fix: an output, a joint, or a formula such as "
            "q(joint), u(joint), x(body)"
        )
    if kind in AXES:
        return data.position.sel(body=entry, axis=kind).values, "m", f"{kind} of {entry}"
    joint_name, _, index = entry.partition("[")
    units = _joint_units(run.dynamics.coordinates.nominal_joint(joint_name).joint)[kind == "u"]
    values = (data.joint_coordinates if kind == "q" else data.joint_velocities).values[:, known.index(entry)]
    return values, units[int(index.rstrip("]") or 0)], entry if kind == "q" else f"velocity of {entry}"
