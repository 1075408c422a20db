"""Trajectories that were saved."""

from __future__ import annotations

from pathlib import Path

from dalembert.analyses.resample import resample
from dalembert.analyses.system_inverse import INVERSE, SystemInverse
from dalembert.trajectory import Trajectory
from dalembert.trajectory.system_trajectory import SystemTrajectory, is_system_file, read_system
from dalembert.trajectory.trajectory import read_netcdf

__all__ = ["load"]


def load(path: str | Path) -> Trajectory | SystemTrajectory:
    """A trajectory that was saved, with the equations that were integrated: all options are as they were. The motion of
    a subsystem, and its inverse dynamics, come without equations."""
    if is_system_file(path):
        run = read_system(path)
        return SystemInverse.loaded(run) if INVERSE in run.attrs else run
    return read_netcdf(path, resample)
