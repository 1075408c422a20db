"""Where many samples begin: what the caller gave, as one row of numbers for each sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.close_loops import reference
from dalembert.analyses.simulation.options import Options
from dalembert.analyses.simulation.samples_closed import WantedStarts, close_many
from dalembert.codegen import compile_function
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.state import State, state_of
from dalembert.values import NO_NUMBER

__all__ = ["Samples", "read_samples"]

OPEN = 1e-8  # how far given states may violate the constraints, relative to the mechanism and its motion


@dataclass(frozen=True)
class Samples:
    """Starts and parameters of all samples.

    Attributes:
        start: (q, u) of each; NaN where there is none.
        given: parameters that differ from the model's, by name, one value for each sample.
        parameters: all parameters of each.
        states: the assembled states, where assembly was needed.
        without: why samples have no start.
    """

    start: np.ndarray
    given: dict[str, np.ndarray]
    parameters: np.ndarray
    states: list[State | None] | None = None
    without: dict[int, str] = field(default_factory=lambda: {})

    def __len__(self) -> int:
        return len(self.start)

    def values(self, i: int) -> dict[str, float]:
        """Parameters of one sample that differ from the model's."""
        return {name: float(column[i]) for name, column in self.given.items()}


def read_samples(dynamics: Dynamics, options: Options, q: Any, u: Any) -> Samples:
    """Check what was given, all of it at once, and complete it."""
    initial, initial_rates, time = state_of(options.initial) or {}, options.initial_rates or {}, options.first
    if isinstance(initial, State):
        raise DalembertError("initial: simulate_many takes arrays by joint.  Fix: q=state.q, u=state.u, or joint names")
    reader = _Reader(dynamics)
    positions = reader.joints("initial", cast(Any, initial), "nq")
    rates = reader.joints("initial_rates", initial_rates, "nv")
    values = reader.parameters(options.parameters or {})
    states = {
        name: reader.rows(name, given, size) for name, given, size in (("q", q, dynamics.nq), ("u", u, dynamics.nv))
    }
    if u is not None and q is None:
        reader.problems.append(Problem("u is given without q", "u", "give both, or initial_rates="))
    if q is not None and (initial or initial_rates):
        reader.problems.append(Problem("q, u and initial, initial_rates exclude each other", "q"))
    n = reader.count()
    given = {name: np.ascontiguousarray(np.broadcast_to(value, n)) for name, value in values.items()}
    table = np.tile(dynamics.parameters(), (n, 1))
    for name, column in given.items():
        table[:, dynamics.parameter_names.index(name)] = column
    if states["q"] is not None:
        return _given(dynamics, time, n, states, given, table)
    wanted = WantedStarts(dynamics, time, positions, rates, given, table)
    return _assembled(wanted) if dynamics.rows or dynamics.coordinates.name != "relative" else _free(wanted)


class _Reader:
    """Arrays with or without an axis for samples; collects what is wrong with them."""

    def __init__(self, dynamics: Dynamics):
        self.dynamics = dynamics
        self.problems: list[Problem] = []
        self.lengths: dict[str, int] = {}

    def joints(self, what: str, given: Mapping[str, Any], size: str) -> dict[str, np.ndarray]:
        """Coordinates or velocities of joints: (size,), or (n, size) for n samples."""
        found: dict[str, np.ndarray] = {}
        known = self.dynamics.flat.joints
        for name, value in given.items():
            if name in self.dynamics.flat.states:
                fix = f"let it begin at a parameter, model.state({name!r}, …, initial='{name}_0'), and vary that"
                self.problems.append(Problem(f"{what}: {name!r} is a state, not a joint", what, fix))
                continue
            if name not in known:
                self.problems.append(Problem(f"{what}: unknown joint {name!r}", what, f"one of {', '.join(known)}"))
                continue
            joint = self.dynamics.coordinates.nominal_joint(name).joint
            array = self.rows(f"{what} of joint {name!r}", value, getattr(joint, size))
            if array is not None:
                found[name] = array
        return found

    def parameters(self, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """A number, or one for each sample."""
        found: dict[str, np.ndarray] = {}
        known = self.dynamics.parameter_names
        for name, value in given.items():
            if name not in known:
                fix = f"one of {', '.join(known)}" if known else "the model has none"
                self.problems.append(Problem(f"unknown parameter {name!r}", "parameters", fix))
                continue
            array = self.rows(f"parameter {name!r}", value, 1)
            if array is not None:
                found[name] = array[..., 0]
        return found

    def rows(self, what: str, value: Any, size: int) -> np.ndarray | None:
        """(size,), or (n, size) for n samples; a single number may stand for a row of one."""
        if value is None:
            return None
        try:
            array = np.asarray(value, dtype=float)
        except NO_NUMBER:
            self.problems.append(Problem(f"{what}: expected numbers, got {value!r}"))
            return None
        if size == 1 and array.shape[1:] != (1,):
            array = array[..., None]
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            wanted = "a number, or (n,)" if size == 1 else f"({size},), or (n, {size})"
            self.problems.append(Problem(f"{what}: expected {wanted} for n samples, got shape {np.shape(value)}"))
            return None
        if not np.isfinite(array).all():
            bad = np.flatnonzero(~np.isfinite(array.reshape(-1, size)).all(axis=1))
            where = f" in sample {bad[0]}" + f" and {len(bad) - 1} more" * (len(bad) > 1) if array.ndim == 2 else ""
            self.problems.append(Problem(f"{what}: not a finite number{where}"))
            return None
        if array.ndim == 2:
            self.lengths[what] = len(array)
        return array

    def count(self) -> int:
        """The number of samples, if nothing is wrong."""
        counts = set(self.lengths.values())
        if len(counts) > 1:
            listed = ", ".join(f"{what}: {n}" for what, n in self.lengths.items())
            self.problems.append(Problem(f"different numbers of samples: {listed}", fix="give the same number to all"))
        elif not self.problems and (not counts or counts == {0}):
            self.problems.append(Problem("no samples", fix="give at least one array with one entry for each sample"))
        if self.problems:
            raise ModelError(self.problems)
        return counts.pop()


def _given(
    dynamics: Dynamics,
    time: float,
    n: int,
    states: dict[str, np.ndarray | None],
    given: dict[str, Any],
    table: np.ndarray,
) -> Samples:
    """States of the caller; those of a constrained model must satisfy its constraints."""
    q: np.ndarray = np.broadcast_to(cast(np.ndarray, states["q"]), (n, dynamics.nq))
    u = np.zeros((n, dynamics.nv)) if states["u"] is None else np.broadcast_to(states["u"], (n, dynamics.nv))
    q = _normalized(dynamics, q, table)
    if dynamics.rows:
        seen = dynamics.kernels.constraint_kernel(time, q, u, table)
        even, holonomic = dynamics.even, seen.position.shape[1]
        position = np.abs(seen.position * even.rows[:holonomic]).max(axis=1, initial=0.0) / even.size(q)
        speed = 1.0 + np.abs(u / even.velocities).max(axis=1, initial=0.0)
        velocity = np.abs(seen.velocity * even.rows).max(axis=1, initial=0.0) / speed
        residual = np.maximum(position, velocity)
        bad = np.flatnonzero(~(residual <= OPEN))
        if len(bad):
            raise DalembertError(
                f"the states of {len(bad)} samples violate the constraints, e.g. sample {bad[0]} by "
                f"{residual[bad[0]]:.3g} of the motion.  Fix: give initial= and initial_rates=, which are assembled"
            )
    return Samples(np.hstack([q, u]), given, table)


def _assembled(wanted: WantedStarts) -> Samples:
    """All samples at once where that is possible, else one assembly for each; those that fail have no start."""
    dynamics, given = wanted.dynamics, wanted.given
    start = close_many(wanted)
    states: list[State | None] = [None] * len(wanted)
    without: dict[int, str] = {}
    for i in np.flatnonzero(~np.isfinite(start).all(axis=1)).tolist():
        places, speeds = ({name: _row(v, i) for name, v in part.items()} for part in (wanted.positions, wanted.rates))
        values = {name: float(column[i]) for name, column in given.items()}
        try:
            states[i] = state = assemble_state(dynamics.relative, places, speeds, values, wanted.time)
            start[i] = np.concatenate(state.to(dynamics.coordinates))
        except ModelError as error:
            without[i] = str(error)
    return Samples(start, given, wanted.table, states, without)


def _row(value: np.ndarray, i: int) -> np.ndarray:
    return value[i] if value.ndim == 2 else value


def _free(wanted: WantedStarts) -> Samples:
    """A tree without constraints begins at the given state: nothing is solved, all samples at once."""
    dynamics, given, table, n = wanted.dynamics, wanted.given, wanted.table, len(wanted)
    if any(np.ptp(column) > 0 for column in given.values()):
        q, u = (np.array(part) for part in _own_start(dynamics)(table))
    else:
        values = {name: float(column[0]) for name, column in given.items()}
        state = assemble_state(dynamics, None, None, values, wanted.time)
        q, u = np.tile(state.q, (n, 1)), np.tile(state.u, (n, 1))
    slots = dynamics.coordinates.slot_of_joint
    for name, value in wanted.positions.items():
        q[:, slots[name].q] = value
    for name, value in wanted.rates.items():
        u[:, slots[name].u] = value
    start = np.hstack([_normalized(dynamics, q, table), u])
    bad = np.flatnonzero(~np.isfinite(start).all(axis=1))
    start[bad] = np.nan
    reason = "the initial values are not finite: a formula has no value with these parameters, or a quaternion is zero"
    return Samples(start, given, table, without=dict.fromkeys(bad.tolist(), reason))


def _own_start(dynamics: Dynamics) -> Any:
    """q and u with which the model begins, as a compiled function of its parameters."""
    kernels, flat, slots = dynamics.kernels, dynamics.flat, dynamics.coordinates.slot_of_joint
    mechanism = kernels.tree.mechanism
    q, u = reference(dynamics.coordinates, mechanism), CASADI.zeros(dynamics.nv)
    for name, formulas in flat.initial_values.items():
        q[slots[name].q] = mechanism.joint(name).joint.normalize(CASADI, mechanism.vector(formulas))
    for name, formulas in flat.initial_rates.items():
        u[slots[name].u] = mechanism.vector(formulas)
    return compile_function("start", {"p": kernels.symbols["p"][0]}, {"q": CASADI.to_sx(q), "u": CASADI.to_sx(u)})


def _normalized(dynamics: Dynamics, q: np.ndarray, table: np.ndarray) -> np.ndarray:
    """q with unit quaternions."""
    k = dynamics.kernels
    return np.asarray(k.move_kernel(q, np.zeros(k.nv), table)) if k.has_quaternions else q
