"""Simulation: from a model to a trajectory with a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.analyses.assemble import assemble_state
from dalembert.analyses.certify import certify
from dalembert.analyses.checkpoint import Checkpoint, fingerprint
from dalembert.analyses.choose_integrator import choose_integrator, stabilizer
from dalembert.analyses.drive import Driver
from dalembert.analyses.rank import hold_rank
from dalembert.analyses.resample import resample
from dalembert.dynamics import Dynamics, kept_dynamics
from dalembert.errors import DalembertError, SimulationError
from dalembert.formulations import Formulation
from dalembert.integrators import Integrator
from dalembert.kinematics import Generalized
from dalembert.model import Model
from dalembert.state import State
from dalembert.trajectory import Trajectory
from dalembert.trajectory.record import record

__all__ = ["simulate"]

DEFAULT_OUTPUTS = 1000
MOST_OUTPUTS = 10_000_000


def simulate(
    model: Model | Dynamics,
    duration: float,
    *,
    formulation: str | Formulation = "auto",
    coordinates: str | Generalized = "auto",
    integrator: str | Integrator = "auto",
    stabilization: str = "auto",
    baumgarte: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    output_step: float | None = None,
    initial: dict[str, Any] | State | None = None,
    initial_rates: dict[str, Any] | None = None,
    parameters: dict[str, float] | None = None,
    start: float = 0.0,
    progress: Callable[[float], None] | None = None,
    strict: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_interval: float = 30.0,
) -> Trajectory:
    """Move a mechanism through time.

    Args:
        model: the mechanism, or its compiled equations (``da.compile``), which a sweep can use again.
        duration: how long (s).
        formulation, coordinates, integrator: by name; ``auto`` chooses, and the result names what it chose. Each may
            also be an object with its own options, such as ``da.Generalized(sequence="zxz")``.
        stabilization: how the motion stays on the constraints: ``projection`` after each step by the shortest way in
            the metric of the mass matrix, ``stages`` and toward them before every evaluation (for singular positions),
            ``partition`` along the best dependent coordinates, ``baumgarte``, ``none``;
            ``index-1`` and ``ggl`` let ``radau`` solve the differential-algebraic system itself.
        baumgarte: α = β of Baumgarte's stabilization (1/s); 10 by default.
        rtol, atol: local error of adaptive integrators.
        step: step of fixed-step integrators, longest step of adaptive ones (s).
        output_step: output interval (s); default: a thousandth of the duration.
        initial, initial_rates: joint coordinates and velocities by name; assembly completes them.
        parameters: values to use instead of the model's.
        start: first time (s).
        progress: called now and then with the fraction done.
        strict: raise SimulationError if the certificate fails.
        checkpoint: a file that keeps the run from time to time; the same call goes on from it after a crash.
        checkpoint_interval: seconds of wall time between two writings.

    Returns:
        the trajectory up to the end or to where the run had to stop; ``certificate`` says which.
    """
    times = output_times(start, duration, output_step)
    dynamics = equations_of(model, formulation, coordinates)
    method, fallback, why = choose_integrator(dynamics, integrator, rtol, atol, step, stabilization)
    values = dict(parameters or {})
    if isinstance(initial, State):
        state = initial
    else:
        state = assemble_state(dynamics.relative, initial, initial_rates, values, start)
    hold_rank(dynamics, state)
    q, u = state.to(dynamics.coordinates)
    saved = None
    if checkpoint is not None:
        from dalembert.io import dumps

        recipe = replace(dynamics.recipe, reason="")  # chosen or asked for, the run is the same
        how = (recipe.to_data(), repr(method), times, stabilization, baumgarte)
        name = fingerprint(dumps(dynamics.model), *how, values, q, u)
        saved = Checkpoint(checkpoint, checkpoint_interval, recipe, name)
    driver = Driver(
        dynamics, method, times, np.concatenate([q, u, [0.0]]), values, fallback=fallback,
        settle=stabilizer(dynamics, stabilization, baumgarte), progress=progress, checkpoint=saved,
    )  # fmt: skip
    outcome = driver.run()
    begun = None if state.coordinates is dynamics.coordinates else lambda name: state.joint(name)[0]
    data = record(dynamics, outcome, driver.method.name, begun)
    data.attrs |= {"reason": why, "seconds": driver.seconds}
    run = Trajectory(data, certify(dynamics, outcome, data, driver.context), dynamics, resample)
    if strict and not run.certificate.trusted:
        raise SimulationError(f"the run cannot be trusted\n{run.certificate}")
    return run


def equations_of(model: Model | Dynamics, formulation: str | Formulation, coordinates: str | Generalized) -> Dynamics:
    """The equations of a model, or those that were compiled before."""
    if not isinstance(model, Dynamics):
        return kept_dynamics(model, formulation, coordinates)
    if (formulation, coordinates) != ("auto", "auto"):
        raise DalembertError("compiled equations have their formulation and coordinates already; leave both out")
    return model


def output_times(start: float, duration: float, output_step: float | None) -> np.ndarray:
    """When results are wanted: every ``output_step``, and at the end."""
    if not (isinstance(duration, (int, float, np.number)) and math.isfinite(duration) and duration > 0):
        raise DalembertError(f"duration must be a positive number of seconds, got {duration!r}")
    if output_step is None:
        output_step = duration / DEFAULT_OUTPUTS
    if not (isinstance(output_step, (int, float, np.number)) and math.isfinite(output_step) and output_step > 0):
        raise DalembertError(f"output_step must be a positive number of seconds, got {output_step!r}")
    count = math.floor(duration / output_step * (1 + 1e-12))
    if count > MOST_OUTPUTS:
        raise DalembertError(f"{count} outputs asked for, at most {MOST_OUTPUTS} are kept.  Fix: a longer output_step")
    times = start + output_step * np.arange(count + 1)
    if times[-1] < start + duration * (1 - 1e-12):
        times = np.append(times, start + duration)
    times[-1] = start + duration
    return times
