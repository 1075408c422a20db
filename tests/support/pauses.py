"""Runs that pause after a number of steps, however fast the machine is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from dalembert.analyses.simulation.drive import Driver

__all__ = ["leave_checkpoint", "pause_every"]


def pause_every(patch: pytest.MonkeyPatch, steps: int) -> None:
    """Let runs that have a checkpoint pause each time they have tried so many steps more."""
    advance = Driver._advance

    def paused(self: Driver) -> Any:
        if self.checkpoint is not None:
            self.monitor.pause_at = self.memory.steps + self.memory.rejected + steps
        return advance(self)

    patch.setattr(Driver, "_advance", paused)


def leave_checkpoint(model: da.Model, duration: float, path: Path, steps: int = 100) -> da.Trajectory:
    """A run that the user stops as soon as its checkpoint is written."""

    def stop(fraction: float) -> None:
        if path.exists():
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        pause_every(patch, steps)
        run = da.simulate(model, duration, checkpoint=path, checkpoint_interval=1e9, progress=stop)
    assert path.exists()
    return run
