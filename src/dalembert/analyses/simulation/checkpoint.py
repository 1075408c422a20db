"""Checkpoints: a run that is killed goes on from the last one, bit for bit as if nothing had happened."""

from __future__ import annotations

import hashlib
import json
import operator
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.atomic import remove_parts
from dalembert.dynamics import Recipe
from dalembert.errors import DalembertError
from dalembert.netcdf import read_sealed, write_sealed
from dalembert.numerics.context import Context
from dalembert.trajectory.whole import read_events, read_numbers, read_segments, read_text
from dalembert.values import DICT, MISSHAPEN, is_finite

if TYPE_CHECKING:
    from dalembert.analyses.simulation.drive import Driver

__all__ = ["Checkpoint", "fingerprint"]

_FORMAT = 11
# Of a context: which rank the constraints have; what friction was, and how it answers to what is assumed of it.
CARRIED = ("rank", "holonomic_rank")
CARRIED_BY_FRICTION = ("parameters", "response", "trusts_response", "friction_size")


def fingerprint(*parts: Any) -> str:
    """A short name for everything that a run depends on."""
    return hashlib.sha256(json.dumps(parts, default=_plain, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else repr(value)


class Checkpoint:
    """A file that keeps a run.

    Args:
        path: the file; it is removed when the run has ended.
        interval: seconds between two writings.
        recipe: coordinates and formulation of the run.
        fingerprint: of all that the run depends on; a file of another run is refused.
    """

    def __init__(self, path: str | Path, interval: float, recipe: Recipe, fingerprint: str):
        self.path, self.interval, self.recipe, self.fingerprint = Path(path), interval, recipe, fingerprint
        if not (is_finite(interval) and interval >= 0):
            raise DalembertError(f"checkpoint_interval must be a number of seconds, not negative, got {interval!r}")
        if not self.path.parent.is_dir():
            raise DalembertError(f"cannot write checkpoint {self.path}: no folder {self.path.parent}")
        self._last = time.monotonic()

    def due(self) -> bool:
        return time.monotonic() - self._last >= self.interval

    def save(self, run: Driver) -> None:
        """Write the run; the old file stays until the new one is complete."""
        import xarray as xr

        self._last, account = time.monotonic(), run.account
        notes: dict[str, Any] = {
            "format": _FORMAT, "recipe": self.recipe.to_data(), "fingerprint": self.fingerprint,
            "method": run.method.name, "written": run.written,
            "choices": run.handler.choices, "chosen": run.chosen.recipe.to_data(),
            "fallback": run.fallback is not None, "parameters": account.parameters, "segments": account.segments,
            "events": [asdict(event) for event in account.events], "notes": account.notes,
            "counts": account.counts.tolist(), "active": run.context.active.tolist(),
            "statistics": run.context.statistics.values(), "lost": account.lost,
            "softened": account.softened, "idle": list(run.handler.idle),
            "undefined": [[i, *found] for i, found in account.undefined.items()],
        }  # fmt: skip
        data = xr.Dataset(
            {
                "states": (("row", "entry"), run.out[: run.written]),
                **_variables("memory", run.memory.values()),
                **_variables("solver", _remembered(run)),
                **_variables("context", _carried(run)),
            },
            attrs={"dalembert_checkpoint": json.dumps(notes)},
        )
        write_sealed(self.path, data, sync=True)

    def restore(self, run: Driver) -> None:
        """Bring a new driver to where the file stands; nothing to do if there is no file."""
        if not self.path.exists():
            return
        data, sealed = read_sealed(self.path, "a checkpoint", fix="delete the file; the run starts from the beginning")
        try:
            notes = json.loads(data.attrs["dalembert_checkpoint"])
            written = notes["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise DalembertError(
                f"{self.path} is not a checkpoint: {error}.  Fix: another name, or delete it"
            ) from None
        if written != _FORMAT or not sealed:
            raise DalembertError(
                f"checkpoint {self.path} was not written by this version of dalembert.  "
                f"Fix: another name, or delete the file"
            )
        try:
            self._bring(run, notes, data)
        except MISSHAPEN as error:
            found = f"{type(error).__name__}: {error}"
            raise DalembertError(
                f"checkpoint {self.path} does not fit this run ({found}).  Fix: delete the file"
            ) from None

    def _bring(self, run: Driver, notes: dict[str, Any], data: Any) -> None:
        """Set a driver to what the file says."""
        if notes["fingerprint"] != self.fingerprint:
            raise DalembertError(
                f"checkpoint {self.path} belongs to another run ({self._difference(notes['recipe'])}).  "
                f"Fix: the same call as before, another name, or delete the file"
            )
        account, handler = run.account, run.handler
        counts, written, given = np.array(notes["counts"]), notes["written"], notes["parameters"]
        fits = counts.shape == account.counts.shape and counts.dtype == account.counts.dtype and isinstance(given, DICT)
        if not (fits and type(written) is int and 0 < written <= len(run.out)):
            raise ValueError("its notes are not those of a run")
        account.parameters = read_numbers(given)
        account.segments = read_segments(notes["segments"], written)
        account.events = read_events(notes["events"])
        account.lost, account.softened = float(notes["lost"]), [float(factor) for factor in notes["softened"]]
        account.undefined = {
            operator.index(i): (operator.index(count), float(first)) for i, count, first in notes["undefined"]
        }
        account.notes = [read_text(note) for note in notes["notes"]]
        handler.resume(tuple(read_text(name) for name in notes["idle"]))
        if notes["method"] != run.method.name:
            if run.fallback is None:
                raise ValueError(f"it was written by integrator {notes['method']!r}")
            run.method, run.fallback = run.fallback, None
        handler.choices = operator.index(notes["choices"])
        if handler.choices:
            handler.take(Recipe.from_data(notes["chosen"]).formulation)
        account.counts = counts
        account.statistics = notes["statistics"]
        memory, states = _values("memory", data), data.states.values
        run.out[: len(states)] = states
        # Implicit methods go on with the constraint rows that they chose where they began, formulations with theirs.
        run.begin(memory["t"], states[-1], written, active=np.array(notes["active"], dtype=np.int64))
        if _shapes(memory) != _shapes(run.memory.values()):
            raise DalembertError(f"checkpoint {self.path} does not fit this run.  Fix: delete the file")
        run.memory.restore(memory)
        carried = _values("context", data)
        if _shapes(carried) != _shapes(_carried(run)):
            raise ValueError("its equations have other sizes")
        run.context.restore(carried)
        if _remembered(run):
            run.context.solver.record.restore(_values("solver", data))
        account.notes.append(f"resumed from {self.path} at t = {run.time:.6g} s")
        run.monitor.reached = run.time  # where progress begins

    def _difference(self, theirs: dict[str, Any]) -> str:
        """What another run has that this one has not."""
        mine = self.recipe.to_data()
        for what in ("coordinates", "formulation"):
            if theirs[what] != mine[what]:
                there, here = (json.dumps(data[what], ensure_ascii=False) for data in (theirs, mine))
                return f"{what} there: {there}, here: {here}"
        return "other model, options or initial state"

    def remove(self) -> None:
        """The run is over."""
        self.path.unlink(missing_ok=True)
        remove_parts(self.path)


def _remembered(run: Driver) -> dict[str, Any]:
    """What the solver of a formulation keeps from one evaluation to the next, such as a choice of velocities."""
    solver = run.context.solver
    return {} if solver is None or solver.record is run.context else solver.record.values()


def _shapes(values: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(value) for name, value in values.items()}


def _carried(run: Driver) -> dict[str, Any]:
    """What equations go on from: forces of friction and how they respond, and the rank of constraints."""
    context = run.context
    if not isinstance(context, Context):
        return {}
    values = context.values()
    return {name: values[name] for name in (*CARRIED, *(CARRIED_BY_FRICTION if context.n_assumed else ()))}


def _variables(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """Numbers and arrays of a record as variables of a file; axes are named after them. Flags are stored as bytes."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        array = np.asarray(value)
        array = array.astype(np.int8) if array.dtype == bool else array
        found[f"{prefix}.{name}"] = (tuple(f"{prefix}.{name}.{k}" for k in range(array.ndim)), array)
    return found


def _values(prefix: str, data: Any) -> dict[str, Any]:
    """The way back; numbers are Python's own."""
    found: dict[str, Any] = {}
    for label, variable in data.variables.items():
        owner, _, name = str(label).partition(".")
        if owner == prefix:
            found[name] = variable.values if variable.ndim else variable.values.item()
    return found
