"""Checkpoints: a run that is killed goes on from the last one, bit for bit as if nothing had happened."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from dalembert.errors import DalembertError
from dalembert.integrators import loop
from dalembert.trajectory.outcome import Happening

if TYPE_CHECKING:
    from dalembert.analyses.drive import Driver

__all__ = ["Checkpoint", "fingerprint"]

_FORMAT = 2


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
        fingerprint: of the run; a file of another run is refused.
    """

    def __init__(self, path: str | Path, interval: float, fingerprint: str):
        self.path, self.interval, self.fingerprint = Path(path), interval, fingerprint
        if not (isinstance(interval, (int, float)) and math.isfinite(interval) and interval >= 0):
            raise DalembertError(f"checkpoint_interval must be a number of seconds, not negative, got {interval!r}")
        if not self.path.parent.is_dir():
            raise DalembertError(f"cannot write checkpoint {self.path}: no folder {self.path.parent}")
        self._last = time.monotonic()

    def due(self) -> bool:
        return time.monotonic() - self._last >= self.interval

    def save(self, run: Driver) -> None:
        """Write the run; the old file stays until the new one is complete."""
        self._last = time.monotonic()
        notes = {
            "format": _FORMAT, "fingerprint": self.fingerprint, "method": run.method.name, "written": run.written,
            "fallback": run.fallback is not None, "parameters": run.parameters, "segments": run.segments,
            "events": [asdict(event) for event in run.events], "notes": run.notes, "counts": run.counts.tolist(),
            "active": run.context.active.tolist(), "options": run.context.options.tolist(),
        }  # fmt: skip
        data = xr.Dataset(
            {
                "memory": ("memory_", run.memory),
                "states": (("row", "entry"), run.out[: run.written]),
                "statistics": ("statistic", run.context.statistics),
            },
            attrs={"dalembert_checkpoint": json.dumps(notes)},
        )
        temporary = self.path.with_name(self.path.name + ".part")
        try:
            data.to_netcdf(temporary, engine="h5netcdf")
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise DalembertError(f"cannot write checkpoint {self.path}: {error.strerror or error}") from None

    def restore(self, run: Driver) -> None:
        """Bring a new driver to where the file stands; nothing to do if there is no file."""
        if not self.path.exists():
            return
        try:
            data = xr.load_dataset(self.path, engine="h5netcdf")
            notes = json.loads(data.attrs["dalembert_checkpoint"])
        except (OSError, ValueError, KeyError) as error:
            raise DalembertError(
                f"{self.path} is not a checkpoint: {error}.  Fix: another name, or delete it"
            ) from None
        if notes["format"] != _FORMAT or notes["fingerprint"] != self.fingerprint:
            raise DalembertError(
                f"checkpoint {self.path} belongs to another run (other model, options or initial state).  "
                f"Fix: the same call as before, another name, or delete the file"
            )
        run.parameters = notes["parameters"]
        run.segments = [(start, values) for start, values in notes["segments"]]
        run.events = [Happening(**event) for event in notes["events"]]
        run.notes = notes["notes"]
        if notes["method"] != run.method.name:
            assert run.fallback is not None
            run.method, run.fallback = run.fallback, None
        run.counts = np.array(notes["counts"])
        run.statistics = data.statistics.values.copy()
        memory, states = data.memory.values, data.states.values
        run.out[: len(states)] = states
        # Implicit methods go on with the constraint rows that they chose where they began, formulations with theirs.
        run.begin(float(memory[loop.T]), states[-1], notes["written"], active=np.array(notes["active"], dtype=np.int64))
        run.context.options[:] = notes["options"]
        if len(memory) != len(run.memory):
            raise DalembertError(f"checkpoint {self.path} does not fit this run.  Fix: delete the file")
        run.memory[:] = memory
        run.notes.append(f"resumed from {self.path} at t = {run.time:.6g} s")
        run.monitor[0] = run.time  # where progress begins

    def remove(self) -> None:
        """The run is over."""
        self.path.unlink(missing_ok=True)
