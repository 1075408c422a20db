"""A mechanism as others drive it: the native record of an FMU, and its variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analyses.simulation.choose_integrator import choose_integrator
from dalembert.analyses.simulation.live import Living, Place, RunMaker, make_living, start_place
from dalembert.dynamics import Dynamics
from dalembert.dynamics.cached import cached_dynamics
from dalembert.errors import DalembertError
from dalembert.export.native_device import Device
from dalembert.formulations import CoordinatePartitioning
from dalembert.native import Record
from dalembert.trajectory import Trajectory

__all__ = ["Made", "Quantity", "make_device", "quantities"]


@dataclass(frozen=True)
class Made:
    """A device, the run that it is made of, and where its failures are kept."""

    device: Device
    living: Living
    run: Trajectory
    starts: list[tuple[Place, bool]]
    exchange: Any


@dataclass(frozen=True)
class Quantity:
    """A number that others see.

    Attributes:
        kind: ``parameter``, ``input``, ``start``, ``state``, ``rate``, ``indicator`` or ``output``.
        array, index: where it stands.
        value: at the start.
        masks: entries that become 1 when it is set; ``moved``: so does this field of the start.
        of: for a rate, the number of its state.
    """

    name: str
    kind: str
    array: np.ndarray
    index: int
    value: float
    about: str
    unit: str = ""
    masks: tuple[tuple[np.ndarray, int], ...] = ()
    moved: tuple[tuple[Record, str], ...] = ()
    of: int = -1


def make_device(run: Trajectory) -> Made:
    """The device of a run: its parameters, its method for Co-Simulation, independent states for Model Exchange."""
    d = run.dynamics
    if d.coordinates is not d.relative.coordinates:
        raise DalembertError(f"an FMU has relative coordinates, not {d.coordinates.name}.  "
                             "Fix: leave out coordinates=…")  # fmt: skip
    joints = _given_joints(d)
    living = make_living(run, joints, stepwise=True)
    live, watch = living.live, living.live.watch
    driver = _exchange(living, d)
    problem, y = driver.problem, driver.memory.y
    direct, nv = problem.encode is None, d.nv
    # y = (δ, what else stands in q, ż, W, choices of ż and of z, q₀)
    rest = 0 if direct else len(y) - 4 * nv - d.nq - 1
    at_slots = nv + rest
    at_velocities = at_slots + nv + 1
    at_positions = at_velocities + nv
    free = [int(np.sum(y[at : at + nv] != 0.0)) for at in (at_positions, at_velocities)] if not direct else [d.nq, nv]
    device = Device(
        n_states=sum(free) + rest, nx=d.nq + nv + 1, n_y=len(y), n_events=problem.n_events,
        n_acting=problem.n_events - problem.n_branches,
        n_indicators=problem.n_events + (not direct), n_seen=watch.n_observed, n_angles=watch.n_angles,
        n_balls=watch.n_balls,
        at_windings=nv, at_slots=at_slots, at_velocities=at_velocities, at_positions=at_positions,
        direct=direct, time=float(live.times[0]), live=live, problem=problem,
    )  # fmt: skip
    starts = [(start_place(living, name, i, velocity), velocity)
              for velocity in (False, True) for name in joints for i in range(_size(d, name, velocity))]  # fmt: skip
    for place, _ in starts:
        if not any(mask[row] for mask, row in place.masks):
            place.array[place.row] = place.value
    return Made(device, living, run, starts, driver.context)


def _given_joints(d: Dynamics) -> list[str]:
    """Joints whose coordinates and velocities may be given at the start: no quaternions, nothing driven."""
    driven = {at[0] for constraint, _ in d.flat.constraints.values() for at in constraint.gives()}
    kinds = {name: d.coordinates.nominal_joint(name).joint for name in d.measurable if name not in driven}
    return [name for name, joint in kinds.items() if joint.nq == joint.nv and joint.nv]


def _size(d: Dynamics, name: str, velocity: bool) -> int:
    joint = d.coordinates.nominal_joint(name).joint
    return joint.nv if velocity else joint.nq


def _exchange(living: Living, d: Dynamics) -> Any:
    """The driver of equations whose states an importer can integrate: (q, u), or independent ones."""
    free = not d.rows and d.nq == d.nv
    chosen = cached_dynamics(d.model, "auto" if free else CoordinatePartitioning(state="independent"), "relative")
    if chosen is not d:
        chosen.rows.held.update(d.rows.held)
    if list(chosen.parameter_names) != list(d.parameter_names):
        raise DalembertError(f"the equations of {d.model.name!r} for Model Exchange have other parameters")
    choice = choose_integrator(chosen, "dopri8", {}, "projection", None)
    maker = RunMaker(chosen, choice, living.live.times, living.parameters, living.start)
    return maker.driver(choice.method)


def quantities(made: Made, inputs: Sequence[str]) -> list[Quantity]:
    """All numbers that others see, in order; names are unique."""
    d, device, living = made.run.dynamics, made.device, made.living
    hidden = set(d.flat.switches.values())
    names = [name for name in d.kernels.parameter_names[: _own(d)] if name not in hidden]
    unknown = [name for name in inputs if name not in names]
    if unknown:
        raise DalembertError(f"inputs: unknown {unknown}; the parameters are {', '.join(names) or 'none'}.  "
                             "Fix: name parameters that a force, a drive or a formula uses")  # fmt: skip
    # Inputs of the model that are formulas of time are part of its equations.
    signals = {*inputs, *d.flat.inputs}
    found: list[Quantity] = []
    for index, name in enumerate(d.parameter_names):
        if name in names:
            kind, value = "input" if name in signals else "parameter", float(living.parameters[index])
            found.append(Quantity(name, kind, living.parameters, index, value, f"{kind} {name}"))
    for place, velocity in made.starts:
        moved = () if velocity else ((living.live.start, "moved"),)
        letter, what = ("u0", "velocity") if velocity else ("q0", "coordinate")
        about = f"{what} of joint {place.label} at the start"
        found.append(Quantity(f"{letter}({place.label})", "start", place.array, place.row, place.value, about,
                              place.unit, place.masks, moved))  # fmt: skip
    for k in range(device.n_states):
        about = _meaning(d, device, k)
        found.append(Quantity(f"state.{k + 1}", "state", device.states, k, 0.0, about))
        found.append(Quantity(f"der(state.{k + 1})", "rate", device.rates, k, 0.0, f"rate of {about}", of=k))
    for k in range(device.n_indicators):
        about = f"function {k + 1} of the events" if k < device.n_events else "below zero: states are to be chosen anew"
        found.append(Quantity(f"indicator.{k + 1}", "indicator", device.indicators, k, 0.0, about))
    found += [Quantity(name, "output", device.seen, column, 0.0, about, unit)
              for name, column, about, unit in _observed(made)]  # fmt: skip
    return found


def _own(d: Dynamics) -> int:
    return len(d.kernels.parameter_names) - d.kernels.n_branches


def _meaning(d: Dynamics, device: Device, k: int) -> str:
    if device.direct:
        return f"coordinate {d.q_names[k]}" if k < d.nq else f"velocity {d.u_names[k - d.nq]}"
    return f"independent state {k + 1}, chosen anew where the choice wears out"


def _observed(made: Made) -> list[tuple[str, int, str, str]]:
    """(name, column, about, unit) of what is observed: joints, outputs, energies, positions of bodies."""
    d = made.run.dynamics
    at = d.kernels.observer.places
    found: list[tuple[str, int, str, str]] = []
    place = at["joints"][0] if "joints" in at else 0
    for name in d.measurable:
        joint = d.coordinates.nominal_joint(name).joint
        for letter, what, n, first in (
            ("q", "coordinate", joint.nq, place),
            ("u", "velocity", joint.nv, place + joint.nq),
        ):
            for i in range(n):
                label = name if n == 1 else f"{name}[{i}]"
                found.append((f"{letter}({label})", first + i, f"{what} of joint {label}", ""))
        place += joint.nq + joint.nv
    found += [(name, at["outputs"][0] + i, f"output {name}", "") for i, name in enumerate(d.flat.outputs)]
    found += [(f"{name} energy", at[name][0], f"{name} energy", "J") for name in ("kinetic", "potential")]
    for b, body in enumerate(d.coordinates.bodies):
        found += [(f"{axis}({body})", at["pose"][0] + 12 * b + 9 + k, f"position of body {body}", "m")
                  for k, axis in enumerate("xyz")]  # fmt: skip
    return found
