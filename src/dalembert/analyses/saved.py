"""Trajectories that were saved."""

from __future__ import annotations

from pathlib import Path

from dalembert.analyses.live_file import write_live
from dalembert.analyses.resample import resample
from dalembert.trajectory import Trajectory
from dalembert.trajectory.system_trajectory import SystemTrajectory, is_system_file, read_system
from dalembert.trajectory.trajectory import read_netcdf

__all__ = ["load"]


def load(path: str | Path) -> Trajectory | SystemTrajectory:
    """A trajectory that was saved, with the equations that were integrated: all options are as they were. The motion of
    a subsystem comes without its equations."""
    if is_system_file(path):
        return read_system(path)
    return read_netcdf(path, resample, write_live)
