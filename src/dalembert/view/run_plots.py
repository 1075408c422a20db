"""A trajectory as curves: the panels over time, and one quantity against another."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.view.figures import plot_path, plot_series
from dalembert.view.scene import Plot

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["chosen", "coordinate_panels", "figure", "panels", "phase"]

MOST_SERIES = 8  # of one panel
MOST_NAMES = 4  # of events below the time axis
SMALLEST = 1e-16  # on an axis of decades: what is zero is drawn here
AXES = "xyz"


def figure(run: Trajectory, quantities: Sequence[str] | str | None = None) -> Any:
    """Stacked plots: those asked for, else outputs, joint coordinates, energy, what the run leaves open."""
    if quantities is None:
        plots = panels(run, errors=True)
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
    return plot_series(run.values("time"), plots, title=run.dynamics.model.name, marks=marks, note=note)


def panels(run: Trajectory, errors: bool = False) -> list[Plot]:
    """What is worth looking at; ``errors`` adds the energy error and the constraint residuals."""
    units: dict[str, dict[str, np.ndarray]] = {}
    for i, (name, (output, _)) in enumerate(run.dynamics.flat.outputs.items()):
        units.setdefault(output.unit, {})[name] = run.values("outputs")[:, i]
    plots = [_panel("Outputs", unit, series) for unit, series in units.items()] + coordinate_panels(run)
    if not plots:
        plots.append(_body(run, str(run.values("body")[0]))[0])
    plots += _energy(run)[: 2 if errors else 1]
    return plots + _residuals(run) if errors else plots


def coordinate_panels(run: Trajectory) -> list[Plot]:
    """Angles and displacements of the joints."""
    angles, lengths = _coordinates(run)
    plots = [_panel("Angles", "rad", angles)] if angles else []
    return plots + ([_panel("Displacements", "m", lengths)] if lengths else [])


def _panel(title: str, unit: str, series: dict[str, np.ndarray], log: bool = False) -> Plot:
    finite = {name: values for name, values in series.items() if np.all(np.isfinite(values))}
    if len(finite) < len(series):
        title += " (not finite: " + ", ".join(sorted(set(series) - set(finite))[:MOST_NAMES]) + ")"
    if len(finite) > MOST_SERIES:
        title += f" (first {MOST_SERIES} of {len(finite)})"
    return Plot(title, unit, dict(list(finite.items())[:MOST_SERIES]), log)


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
    there = [f"{kind}s: {', '.join(known)}" for kind, (known, _) in kinds.items() if known and kind != "reactions"]
    there += [", ".join(whole)]
    if kinds["reactions"][0]:
        there.append(", ".join(f"reactions:{owner}" for owner in kinds["reactions"][0]))
    raise DalembertError(f"unknown quantity {name!r}; there are {'; '.join(there)}".replace("bodys", "bodies"))


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
        labels=(f"{first[2]} ({first[1]})", f"{second[2]} ({second[1]})"),
        title=run.dynamics.model.name,
        equal=equal,
    )


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
        there = known if given else [*known, *outputs]
        what = f"{'body' if kind in AXES else 'joint'} {entry!r}" if given else f"quantity {name!r}"
        raise DalembertError(
            f"unknown {what}; there are {', '.join(there)}.  Fix: an output, a joint, or q(joint), u(joint), x(body), "
            f"y(body), z(body)"
        )
    if kind in AXES:
        return data.position.sel(body=entry, axis=kind).values, "m", f"{kind} of {entry}"
    joint_name, _, index = entry.partition("[")
    units = _joint_units(run.dynamics.coordinates.nominal_joint(joint_name).joint)[kind == "u"]
    values = (data.joint_coordinates if kind == "q" else data.joint_velocities).values[:, known.index(entry)]
    return values, units[int(index.rstrip("]") or 0)], entry if kind == "q" else f"velocity of {entry}"
