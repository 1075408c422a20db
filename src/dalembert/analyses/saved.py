"""Trajectories that were saved."""

from __future__ import annotations

from pathlib import Path

from dalembert.analyses.resample import resample
from dalembert.trajectory import Trajectory
from dalembert.trajectory.trajectory import read_netcdf

__all__ = ["load"]


def load(path: str | Path) -> Trajectory:
    """A trajectory that was saved, with the equations that were integrated: all options are as they were."""
    return read_netcdf(path, resample)
