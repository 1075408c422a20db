"""Simulation: from a model to a trajectory with a certificate."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.analyses.assemble import State, assemble_state
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, SimulationError
from dalembert.integrators import INTEGRATORS, Integrator, Result
from dalembert.integrators.base import Problem
from dalembert.model import Model
from dalembert.trajectory import Trajectory
from dalembert.trajectory.record import certify, record

__all__ = ["simulate"]

DEFAULT_OUTPUTS = 1000
MOST_OUTPUTS = 10_000_000


def simulate(
    model: Model | Dynamics,
    duration: float,
    *,
    formulation: str = "auto",
    coordinates: str = "auto",
    integrator: str | Integrator = "auto",
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
) -> Trajectory:
    """Move a mechanism through time.

    Args:
        model: the mechanism, or its compiled equations (``da.compile``), which a sweep can use again.
        duration: how long (s).
        formulation, coordinates, integrator: by name; ``auto`` chooses, and the result names what it chose.
        rtol, atol: local error of adaptive integrators.
        step: step of fixed-step integrators, longest step of adaptive ones (s).
        output_step: distance of the outputs (s); default: a thousandth of the duration.
        initial, initial_rates: joint coordinates and velocities by name; assembly completes them.
        parameters: values to use instead of the model's.
        start: first time (s).
        progress: called now and then with the fraction done.
        strict: raise SimulationError if the certificate fails.

    Returns:
        the trajectory up to the end or to where the run had to stop; ``certificate`` says which.
    """
    times = _output_times(start, duration, output_step)
    method = _integrator(integrator, rtol, atol, step)
    if isinstance(model, Dynamics) and (formulation, coordinates) != ("auto", "auto"):
        raise DalembertError("compiled equations have their formulation and coordinates already; leave both out")
    dynamics = model if isinstance(model, Dynamics) else Dynamics(model, formulation, coordinates)
    values = dict(parameters or {})
    if isinstance(initial, State):
        state = initial
    else:
        state = assemble_state(dynamics.relative, initial, initial_rates, values, start)
    q, u = state.to(dynamics.coordinates)
    problem, context = dynamics.problem(values)
    result = _watched(method, problem, np.concatenate([q, u, [0.0]]), times, progress)
    data = record(dynamics, result, values, method.name, lambda name: state.joint(name)[0])
    run = Trajectory(data, certify(dynamics, result, data, context, values), dynamics)
    if strict and not run.certificate.trusted:
        raise SimulationError(f"the run cannot be trusted\n{run.certificate}")
    return run


def _output_times(start: float, duration: float, output_step: float | None) -> np.ndarray:
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


def _integrator(name: str | Integrator, rtol: float | None, atol: float | None, step: float | None) -> Integrator:
    if isinstance(name, Integrator):
        return name
    name = "dopri8" if name == "auto" else name
    if name not in INTEGRATORS:
        raise DalembertError(f"unknown integrator {name!r}; expected 'auto' or one of {', '.join(INTEGRATORS)}")
    options: dict[str, float] = {}
    for key, value in (("rtol", rtol), ("atol", atol), ("step", step)):
        if value is None:
            continue
        if not (isinstance(value, (int, float, np.number)) and math.isfinite(value) and value > 0):
            raise DalembertError(f"{key} must be a positive number, got {value!r}")
        options[key] = float(value)
    kind: Any = INTEGRATORS[name]
    if kind.adaptive:
        if "step" in options:
            options["max_step"] = options.pop("step")
        return kind(**options)
    refused = sorted(set(options) - {"step"})
    if refused:
        raise DalembertError(f"integrator {name!r} has a fixed step and takes no {' or '.join(refused)}.  Fix: step=…")
    return kind(**options)


def _watched(
    method: Integrator, problem: Problem, y: np.ndarray, times: np.ndarray, progress: Callable[[float], None] | None
) -> Result:
    """Run the native loop in a thread, so that it can be watched and interrupted."""
    monitor = np.array([times[0], 0.0])
    box: list[Any] = []

    def work() -> None:
        try:
            box.append(method.run(problem, y, times, monitor))
        except BaseException as error:  # handed to the caller's thread below
            box.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    span = times[-1] - times[0]
    try:
        while thread.is_alive():
            thread.join(0.05)
            if progress is not None:
                progress(float((monitor[0] - times[0]) / span))
    except KeyboardInterrupt:
        monitor[1] = 1.0
        thread.join()
    if isinstance(box[0], BaseException):
        raise box[0]
    return box[0]
