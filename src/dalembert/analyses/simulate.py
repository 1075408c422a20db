"""Simulation: from a model to a trajectory with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from dalembert.analyses.certify import certify
from dalembert.analyses.checkpoint import Checkpoint, fingerprint
from dalembert.analyses.drive import Driver
from dalembert.analyses.options import Options, RunOptions, show_options
from dalembert.analyses.rank import hold_rank
from dalembert.analyses.resample import resample
from dalembert.dynamics import Dynamics
from dalembert.errors import SimulationError
from dalembert.model import Model
from dalembert.trajectory import Trajectory
from dalembert.trajectory.record import record

__all__ = ["simulate"]

DEFAULT_OUTPUTS = 1000


@show_options(RunOptions)
def simulate(
    model: Model | Dynamics,
    duration: float,
    *,
    options: Options | None = None,
    progress: Callable[[float], None] | None = None,
    strict: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 30.0,
    **given: Unpack[RunOptions],
) -> Trajectory:
    """Move a mechanism through time.

    Args:
        model: the mechanism, or its compiled equations (``da.compile``), which a sweep can use again.
        duration: how long (s).
        options: a ``da.Options`` with some or all of the options below; those given by name go first.
        progress: called now and then with the fraction done.
        strict: raise SimulationError if the certificate fails.
        checkpoint: a file that keeps the run from time to time; the same call goes on from it after a crash.
        checkpoint_interval: seconds of wall time between two writings.
        …: the options of the run, see ``Options``.

    Returns:
        the trajectory up to the end or to where the run had to stop; ``certificate`` says which.
    """
    options = Options.of(options, given, RunOptions)
    times = options.times(duration, DEFAULT_OUTPUTS)
    dynamics = options.equations(model)
    choice = options.choice(dynamics)
    state = options.state(dynamics)
    hold_rank(dynamics, state)
    q, u = state.to(dynamics.coordinates)
    values = dict(options.parameters or {})
    saved = None
    if checkpoint is not None:
        from dalembert.io import dumps

        recipe = replace(dynamics.recipe, reason="")  # chosen or asked for, the run is the same
        how = (recipe.to_data(), repr(choice.method), times, options.stabilization, options.baumgarte)
        name = fingerprint(dumps(dynamics.model), *how, values, q, u)
        saved = Checkpoint(checkpoint, checkpoint_interval, recipe, name)
    start = np.concatenate([q, u, [0.0]])
    driver = Driver(dynamics, choice, times, start, values, progress=progress, checkpoint=saved)
    outcome = driver.run()
    begun = None if state.coordinates is dynamics.coordinates else lambda name: state.joint(name)[0]
    data = record(dynamics, outcome, driver.method.name, begun)
    data.attrs |= {"reason": choice.reason, "seconds": driver.seconds}
    run = Trajectory(data, certify(dynamics, outcome, data, driver.context), dynamics, resample)
    if strict and not run.certificate.trusted:
        raise SimulationError(f"the run cannot be trusted\n{run.certificate}")
    return run
