"""Simulation: from a model to a trajectory with a certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dalembert.analyses.assembly.check_values import check_values
from dalembert.analyses.assembly.rank import hold_rank
from dalembert.analyses.simulation.certify import certify
from dalembert.analyses.simulation.certify_cables import check_cables
from dalembert.analyses.simulation.checkpoint import Checkpoint, fingerprint
from dalembert.analyses.simulation.companion import estimate_motion
from dalembert.analyses.simulation.drive import Driver
from dalembert.analyses.simulation.give_inputs import give_inputs
from dalembert.analyses.simulation.live_file import write_live
from dalembert.analyses.simulation.options import DEFAULT_OUTPUTS, Options, RunOptions, public_with
from dalembert.analyses.simulation.resample import resample
from dalembert.analyses.simulation.simulate_with_fmus import simulate_with_fmus
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, SimulationError
from dalembert.model import Model
from dalembert.model.model import has_fmus
from dalembert.planar import Planar
from dalembert.trajectory import Trajectory
from dalembert.trajectory.record import record

if TYPE_CHECKING:
    from dalembert.modular import Subsystem

__all__ = ["simulate"]


@public_with(RunOptions)
def simulate(
    model: Model | Planar | Dynamics | Subsystem,
    duration: float,
    *,
    inputs: Mapping[str, Any] | None = None,
    options: Options | None = None,
    progress: Callable[[float], None] | None = None,
    strict: bool = False,
    trust_fmus: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 30.0,
    **given: Unpack[RunOptions],
) -> Any:
    """Move a mechanism through time.

    Args:
        model: the mechanism, also a planar one, or its compiled equations (``da.compile``), which a sweep can use
            again; or a ``da.Subsystem``, whose motion is a ``SystemTrajectory``.
        duration: how long (s).
        inputs: by name, what they are: numbers, formulas of t and the motion, pairs (times, values), or tables
            (formulas only for a subsystem or a planar mechanism); those that are left out follow their own law.
        options: a ``da.Options`` with some or all of the options below; those given by name go first.
        progress: called now and then with the fraction done.
        strict: raise SimulationError if the certificate fails.
        trust_fmus: True: the FMUs of the model (``model.fmu``) may run. They are machine code from files.
        checkpoint: a file to which the run is saved from time to time; after a crash the same call continues from it.
        checkpoint_interval: seconds of wall time between two writings.
        …: the options of the run, see ``Options``.

    Returns:
        the trajectory up to the end or to where the run had to stop; ``certificate`` says which.

    Example:
        run = da.simulate(da.library.four_bar(), 5.0, initial_rates={"A": 10.0})
        print(run.certificate)
        run.joint("D").q  # the rocker's angle over time
    """
    options = Options.of(options, given, RunOptions)
    if strict and not options.certify:
        raise DalembertError("strict=True needs a certificate.  Fix: leave out certify=False")
    times = options.times(duration, DEFAULT_OUTPUTS)
    if isinstance(model, Planar):
        model, inputs = model.to_model(inputs), None
    if not isinstance(model, (Model, Dynamics)):
        from dalembert.analyses.simulation.simulate_system import simulate_system
        from dalembert.modular import Subsystem

        if not isinstance(model, Subsystem):
            fix = ".  Fix: da.read(path) for a file, da.library.four_bar() for a bundled model" * isinstance(model, str)
            raise DalembertError(f"simulate takes a model, compiled equations or a subsystem, got {model!r}{fix}")
        if checkpoint is not None:
            raise DalembertError("checkpoints are for mechanisms; a subsystem runs without")
        return simulate_system(model, times, options, inputs, progress, strict)
    if inputs:
        model, options = give_inputs(model, inputs, options)
    if isinstance(model, Model) and has_fmus(model):
        if checkpoint is not None:
            raise DalembertError("checkpoints are for runs without FMUs, whose memory is their own")
        return simulate_with_fmus(model, times, options, trust_fmus, progress, strict)
    dynamics = options.equations(model)
    choice = options.choice(dynamics)
    state = options.state(dynamics)
    hold_rank(dynamics, state)
    check_cables(dynamics, state)
    q, u = state.to(dynamics.coordinates)
    values = dict(options.parameters or {})
    if values:
        check_values(dynamics, values)
    saved = None
    if checkpoint is not None:
        from dalembert.io import dumps

        recipe = replace(dynamics.recipe, reason="")  # chosen or asked for, the run is the same
        made = (recipe.to_data(), repr(choice.method), times, options.stabilization, options.baumgarte, options.drift)
        name = fingerprint(dumps(dynamics.model), *made, values, q, u)
        saved = Checkpoint(checkpoint, checkpoint_interval, recipe, name)
    start = np.concatenate([q, u, [0.0]])
    driver = Driver(dynamics, choice, times, start, values, progress=progress, checkpoint=saved)
    outcome = driver.run()

    def begin(name: str) -> np.ndarray:
        return state.joint(name)[0]

    begun = None if state.coordinates is dynamics.coordinates else begin
    data = record(dynamics, outcome, driver.method.name, begun)
    how = options.recorded(choice, float(duration))
    data.attrs |= {"reason": choice.reason, "seconds": driver.loop.seconds, "options": how}
    judged = estimate_motion(dynamics, choice, outcome, options.accuracy, driver) if options.certify else None
    certificate = certify(dynamics, outcome, data, driver.context, judged)
    run = Trajectory(data, certificate, dynamics, resample, write_live)
    if strict and not run.certificate.trusted:
        raise SimulationError(f"the run cannot be trusted\n{run.certificate}")
    return run
