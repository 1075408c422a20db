"""Several states at once: one mechanism, its equations made once, led from the first state to all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, overload

import numpy as np

from dalembert.analyses.assembly.assemble import Assembler, Start
from dalembert.analyses.assembly.assemble_given import Desired
from dalembert.analyses.assembly.assemble_search import Search
from dalembert.analyses.assembly.close_loops import CLOSED
from dalembert.arguments import entry_of, public_methods
from dalembert.coordinates import Coordinates
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.state import State
from dalembert.values import SEQUENCE

__all__ = ["States", "assemble_many", "samples_of"]

MOST_REPORTED = 3  # samples that are named in an error


@dataclass(frozen=True)
class Sample:
    """What is given of one state."""

    initial: Mapping[Any, Any]
    rates: Mapping[Any, Any]
    parameters: dict[str, float]


@public_methods
class States(Sequence[State]):
    """Several states of one mechanism, in the order in which they were asked for.

    Attributes:
        time: t (s).
        q, u: relative coordinates and velocities, one row for each state.
        parameters: values that differ from the model's, of each state.

    Example:
        states = da.assemble(da.library.four_bar(), {"A": [0.0, 0.5, 1.0]})
        print(states[2].joint("D"))
    """

    def __init__(
        self, time: float, q: np.ndarray, u: np.ndarray, coordinates: Coordinates, parameters: list[dict[str, float]]
    ):
        self.time, self.q, self.u, self.coordinates, self.parameters = time, q, u, coordinates, parameters

    def __len__(self) -> int:
        return len(self.q)

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> States: ...
    def __getitem__(self, at: int | slice) -> State | States:
        if isinstance(at, slice):
            return States(self.time, self.q[at], self.u[at], self.coordinates, self.parameters[at])
        values = entry_of("states", self.parameters, at)
        return State(self.time, self.q[at], self.u[at], self.coordinates, values)

    def __repr__(self) -> str:
        return f"<{len(self)} states of {self.coordinates.flat.name!r} at {self.time:g} s>"

    def joint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of a joint, one row for each state."""
        slot = self.coordinates.slot_of_joint.get(name)
        if slot is not None:
            return self.q[:, slot.q], self.u[:, slot.u]
        found = [state.joint(name) for state in self]
        return np.array([q for q, _ in found]), np.array([u for _, u in found])


def samples_of(
    dynamics: Dynamics, initial: Any, rates: Any, parameters: Mapping[str, Any] | None
) -> list[Sample] | None:
    """One entry for each state, if several are asked for."""
    tables: list[tuple[Any, Any]] = []
    counts: dict[str, int] = {}
    for what, given, size in (("initial", initial, "nq"), ("initial_rates", rates, "nv")):
        if isinstance(given, SEQUENCE):
            if not all(isinstance(one, Mapping) for one in given):
                raise DalembertError(f"{what}: expected a dictionary by name, or a list of dictionaries")
            counts[what] = len(given)
        named: dict[Any, Any] = {} if given is None or isinstance(given, SEQUENCE) else dict(given)
        for name, value in named.items():
            if _is_many(dynamics, name, value, size):
                counts[f"{what} of {getattr(name, 'name', name)}"] = len(value)
        tables.append((cast(Any, given), size))
    for name, value in (parameters or {}).items():
        if np.ndim(value) == 1:
            counts[f"parameter {name}"] = len(value)
    if not counts:
        return None
    if len(set(counts.values())) > 1 or 0 in counts.values():
        listed = ", ".join(f"{what}: {n}" for what, n in counts.items())
        raise ModelError(Problem(f"different numbers of states: {listed}", fix="give the same number to all"))
    n = next(iter(counts.values()))
    found: list[Sample] = []
    for i in range(n):
        rows = [_row(dynamics, given, size, i) for given, size in tables]
        values = {k: float(v[i]) if np.ndim(v) == 1 else v for k, v in (parameters or {}).items()}
        found.append(Sample(rows[0], rows[1], values))
    return found


def _is_many(dynamics: Dynamics, name: Any, value: Any, size: str) -> bool:
    """True if a value has an axis for samples."""
    name = getattr(name, "name", name)
    try:
        dimensions = np.ndim(value)
    except ValueError:
        return False
    flat = dynamics.flat
    if isinstance(name, str) and name in flat.joints:
        length = getattr(dynamics.coordinates.nominal_joint(name).joint, size)
        return dimensions == 2 or (dimensions == 1 and length == 1 and len(value) > 1)
    if isinstance(name, str) and name in flat.bodies:
        return dimensions == 2
    return isinstance(name, str) and dimensions == 1


def _row(dynamics: Dynamics, given: Any, size: str, i: int) -> Mapping[Any, Any]:
    if isinstance(given, SEQUENCE):
        return given[i]
    found: dict[Any, Any] = {}
    for name, value in dict[Any, Any](given or {}).items():
        found[name] = value[i] if _is_many(dynamics, name, value, size) else value
    return found


def assemble_many(dynamics: Dynamics, samples: list[Sample], more: Mapping[str, Any], time: float) -> States:
    """All states; those that follow the first along a path are found by native code."""
    makers = [Assembler(dynamics, dict(s.parameters), time, Start(s.initial, s.rates, **more)) for s in samples]
    q, u = np.empty((len(samples), dynamics.nq)), np.empty((len(samples), dynamics.nv))
    todo = list(range(len(samples)))
    failed: dict[int, ModelError] = {}
    first = _one(makers[0], 0, q, u, failed)
    keys = _keys(makers[0].desired)
    alike = all(s.parameters == samples[0].parameters for s in samples)
    if first and alike and not dynamics.is_large and dynamics.rows:
        same = [i for i in todo if i and _keys(makers[i].desired) == keys]
        led = _lead(makers, same, q)
        done = [i for i in led if _rates(makers[i], i, q, u)]
        todo = [i for i in todo if i not in set(done)]
    for i in todo:
        if i or not first:
            _one(makers[i], i, q, u, failed)
    if failed:
        reported = "; ".join(f"state {i}: {failed[i].problems[0].message}" for i in list(failed)[:MOST_REPORTED])
        raise ModelError(
            Problem(f"{len(failed)} of {len(samples)} states cannot be assembled; {reported}", "initial",
                    next(iter(failed.values())).problems[0].fix)
        )  # fmt: skip
    return States(float(time), q, u, dynamics.coordinates, [dict(s.parameters) for s in samples])


def _keys(desired: Desired) -> Any:
    joints = tuple((name, tuple(np.isfinite(value))) for name, value in desired.joints.items())
    return joints, tuple(one.key for one in desired.quantities)


def _one(maker: Assembler, i: int, q: np.ndarray, u: np.ndarray, failed: dict[int, ModelError]) -> bool:
    try:
        state = maker.run()
    except ModelError as error:
        failed[i] = error
        return False
    q[i], u[i] = state.q, state.u
    return True


def _lead(makers: list[Assembler], rows: list[int], q: np.ndarray) -> list[int]:
    """Positions led from the first one; the numbers of those that closed."""
    if not rows:
        return []
    base = makers[0]
    search = Search(base.dynamics, base.now(q[0], base.desired), base.parameters, base.time, base.start.weights)
    wanted = np.array([makers[i].placed(q[0], makers[i].desired) for i in rows])
    values = np.array([makers[i].quantity_values for i in rows])
    found, errors = search.lead(q[0], wanted, values)
    closed = np.flatnonzero(errors <= CLOSED * base.even.size(found)).tolist()
    for k in closed:
        q[rows[k]] = found[k]
    return [rows[k] for k in closed]


def _rates(maker: Assembler, i: int, q: np.ndarray, u: np.ndarray) -> bool:
    try:
        u[i] = maker.velocities(q[i])
    except ModelError:
        return False
    return True
