"""Trajectories that were saved."""

from __future__ import annotations

from pathlib import Path

from dalembert.analyses.motions.inverse_system_result import INVERSE, SystemInverse
from dalembert.analyses.simulation.live_file import write_live
from dalembert.analyses.simulation.resample import resample
from dalembert.arguments import public
from dalembert.errors import DalembertError
from dalembert.netcdf import read_sealed
from dalembert.trajectory import Trajectory
from dalembert.trajectory.system_trajectory import SystemTrajectory, system_run_of
from dalembert.trajectory.trajectory import run_of

__all__ = ["load"]

_MODELS = (".yaml", ".yml", ".urdf", ".xml", ".json")


@public
def load(path: str | Path) -> Trajectory | SystemTrajectory:
    """A trajectory that was saved, with the equations that were integrated: all options are as they were. The motion of
    a subsystem, and its inverse dynamics, come without equations.

    Raises:
        DalembertError: the file does not exist, is not a result, or was changed or damaged since it was written.

    Args:
        path: a file that ``run.save`` wrote.

    Example:
        da.simulate(da.library.pendulum(), 1.0).save("run.nc")
        run = da.load("run.nc")
    """
    path = Path(path)
    if path.suffix.lower() in _MODELS:
        raise DalembertError(f"{path} is a model, not a result.  Fix: da.read({str(path)!r})")
    data, sealed = read_sealed(path)
    if "dalembert_system" in data.attrs:
        run = system_run_of(path, data, sealed)
        return SystemInverse.loaded(run) if INVERSE in run.attrs else run
    return run_of(path, data, sealed, resample, write_live)
