"""The work of a sweep: what is done with some of its samples, here or in another process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.analyses.assembly.check_values import check_values
from dalembert.analyses.simulation.many import simulate_many
from dalembert.analyses.simulation.options import Options
from dalembert.analyses.sweeps.sweep_design import Design
from dalembert.analyses.sweeps.sweep_outputs import Outputs, gathered, numbers_of, reason_of
from dalembert.analyses.sweeps.sweep_store import Block
from dalembert.dynamics import Dynamics, Recipe
from dalembert.errors import DalembertError, ModelError
from dalembert.model import Model

__all__ = ["Analysis", "Job", "Simulation", "roles_of", "run_part"]

# Equations that this process has made before, by the fingerprint of their sweep; the last ones are kept.
_known: dict[str, Dynamics] = {}
MOST_KNOWN = 4


class Job(ABC):
    """What is done with samples."""

    @abstractmethod
    def compute(self, table: np.ndarray, threads: int, progress: Callable[[float], None] | None = None) -> Block:
        """Results of samples with these values."""


@dataclass
class Simulation(Job):
    """Runs through time, and what is kept of them.

    Attributes:
        key: names the equations, for processes that get the same sweep again and again.
        roles: what each name means: a parameter, or a joint's coordinate or velocity at the start.
        bounds: the smallest and the largest value of each name, in two rows.
    """

    key: str
    dynamics: Dynamics
    duration: float
    options: Options
    outputs: Outputs
    names: tuple[str, ...]
    roles: tuple[tuple[str, str], ...]
    bounds: np.ndarray

    def __reduce__(self) -> Any:
        d = self.dynamics
        rest = self.duration, self.options, self.outputs, self.names, self.roles, self.bounds
        return _again, (self.key, (d.model, d.recipe), *rest)

    @property
    def initial(self) -> dict[str, Any]:
        """Coordinates at the start that are the same for all."""
        given: Any = self.options.initial
        return dict(given or {})

    def compute(self, table: np.ndarray, threads: int, progress: Callable[[float], None] | None = None) -> Block:
        given: dict[str, dict[str, Any]] = {
            "parameters": dict(self.options.parameters or {}),
            "initial": self.initial,
            "initial_rates": dict(self.options.initial_rates or {}),
        }
        invalid = self._invalid(table)
        kept = [i for i in range(len(table)) if i not in invalid]
        columns = table[kept]
        for k, (role, name) in enumerate(self.roles):
            given[role][name] = columns[:, k]
        if not kept:
            return Block({}, invalid)
        options = replace(self.options, **given)
        batch = simulate_many(self.dynamics, self.duration, options=options, threads=threads, progress=progress)
        arrays, failed = self.outputs.of(batch, self._parameters(given["parameters"], len(kept)))
        arrays["end"] = np.asarray(batch.data.end.values, dtype=float)
        if not self.dynamics.is_large:
            arrays["drift"] = np.asarray(batch.drift.values, dtype=float)
        failed = {kept[i]: text for i, text in {**failed, **batch.failed}.items()}
        if invalid:
            arrays = {name: _spread(values, kept, len(table)) for name, values in arrays.items()}
        return Block(arrays, failed | invalid)

    def _parameters(self, given: dict[str, Any], count: int) -> np.ndarray:
        d = self.dynamics
        table = np.tile(d.parameters(), (count, 1))
        for name, values in given.items():
            table[:, d.parameter_names.index(name)] = values
        return table

    def _invalid(self, table: np.ndarray) -> dict[int, str]:
        """Samples that no model could have, such as those with a negative mass: looked at one by one where the
        smallest or the largest value of a parameter is of that kind."""
        if self._ranges_are_valid:
            return {}
        found: dict[int, str] = {}
        for i, row in enumerate(table):
            try:
                check_values(self.dynamics, self._own(row))
            except ModelError as error:
                found[i] = _first_of(error)
        return found

    def _own(self, row: np.ndarray) -> dict[str, float]:
        pairs = zip(self.roles, row, strict=True)
        return {name: float(value) for (role, name), value in pairs if role == "parameters"}

    @cached_property
    def _ranges_are_valid(self) -> bool:
        try:
            for row in self.bounds:
                for k, (role, name) in enumerate(self.roles):
                    if role == "parameters":
                        check_values(self.dynamics, {name: float(row[k])})
                check_values(self.dynamics, self._own(row))
        except ModelError:
            return False
        return True


def _first_of(error: ModelError) -> str:
    """The first problem, and how many more there are."""
    more = len(error.problems) - 1
    return str(error.problems[0]) + (f"\n    and {more} more of this kind" if more else "")


def _again(key: str, how: tuple[Model, Recipe], *rest: Any) -> Simulation:
    """A job that was sent here: its equations are made once."""
    if key not in _known:
        while len(_known) >= MOST_KNOWN:
            _known.pop(next(iter(_known)))
        _known[key] = Dynamics.from_recipe(*how)
    return Simulation(key, _known[key], *rest)


def _spread(values: np.ndarray, kept: list[int], count: int) -> np.ndarray:
    """Rows of some samples among all; NaN for the others."""
    found = np.full((count, *values.shape[1:]), np.nan, dtype=values.dtype)
    found[kept] = values
    return found


@dataclass
class Analysis(Job):
    """A function of the caller: of the equations, or whatever was given as a model, and the values of a sample."""

    subject: Any
    function: Callable[[Any, dict[str, float]], Any]
    names: tuple[str, ...]

    def compute(self, table: np.ndarray, threads: int, progress: Callable[[float], None] | None = None) -> Block:
        found: dict[int, Any] = {}
        failed: dict[int, str] = {}
        for i, row in enumerate(table):
            try:
                found[i] = numbers_of(self.function(self.subject, dict(zip(self.names, map(float, row), strict=True))))
            except Exception as error:  # a function of the caller: its reason is kept, the others go on
                failed[i] = reason_of(error)
            if progress is not None:
                progress((i + 1) / len(table))
        return Block(gathered("value", found, len(table)), failed)


def roles_of(dynamics: Dynamics, design: Design) -> tuple[tuple[str, str], ...]:
    """What the names of a design mean for a simulation."""
    return tuple(_role(dynamics, name) for name in design.names)


def _role(dynamics: Dynamics, text: str) -> tuple[str, str]:
    kind, colon, rest = text.partition(":")
    wanted = kind if colon and kind in ("parameter", "joint") else ""
    name = rest if wanted else text
    joint, rate = name.removesuffix(".d"), name.endswith(".d")
    is_parameter = name in dynamics.parameter_names and wanted != "joint"
    is_joint = joint in dynamics.flat.joints and wanted != "parameter"
    if is_parameter and is_joint:
        raise DalembertError(f"{text!r} is a parameter and a joint.  Fix: 'parameter:{text}' or 'joint:{text}'")
    if is_parameter:
        return "parameters", name
    if is_joint:
        data = dynamics.coordinates.nominal_joint(joint).joint
        size = data.nv if rate else data.nq
        if size != 1:
            raise DalembertError(
                f"joint {joint!r} has {size} values, a sweep varies one.  "
                "Fix: make it a parameter, model.initial(joint, formulas of the parameter)"
            )
        return ("initial_rates" if rate else "initial"), joint
    known = ", ".join([*dynamics.parameter_names, *dynamics.flat.joints])
    raise DalembertError(
        f"a sweep cannot vary {text!r}.  Fix: a parameter, a joint, or joint.d for its velocity: {known}"
    )


def run_part(job: Job, tables: list[np.ndarray], threads: int) -> list[Block]:
    """Some blocks one after the other, in a worker."""
    return [job.compute(table, threads) for table in tables]
