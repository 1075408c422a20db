"""Simulation of a subsystem: variables of any kind and order through time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dalembert.analyses.simulation.certify import CONDITION_LIMIT, MOST_NAMED, REMARKS, ending_words
from dalembert.analyses.simulation.certify_events import undefined_checks
from dalembert.analyses.simulation.choose_integrator import BAUMGARTE, Choice, baumgarte_constants, choose_methods
from dalembert.analyses.simulation.companion import estimate_error
from dalembert.analyses.simulation.drive import Driver
from dalembert.analyses.simulation.motion_sizes import motion_sizes
from dalembert.analyses.simulation.options import Options
from dalembert.errors import DalembertError, SimulationError
from dalembert.modular import Subsystem
from dalembert.modular.compiled_system import CompiledSystem
from dalembert.modular.system_branches import branches_as_written
from dalembert.modular.system_functions import SystemContext, solve_tops
from dalembert.trajectory import Certificate, Check, Estimate
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.recorded import Recorded
from dalembert.trajectory.system_trajectory import SystemTrajectory
from dalembert.values import NO_NUMBER

__all__ = ["WAYS", "simulate_system"]

WAYS = ("modular", "null space")

TOP_LIMIT = 1e-6


def simulate_system(
    subsystem: Subsystem,
    times: np.ndarray,
    options: Options,
    inputs: Mapping[str, Any] | None,
    progress: Callable[[float], None] | None,
    strict: bool,
    way: str = "modular",
) -> SystemTrajectory:
    """Move a subsystem through time.

    Args:
        inputs: formulas of t by name; those that are left out are zero.
        way: one of ``WAYS``: equations are solved from the leaves to the root, or all at once.
    """
    initial, parameters = _initial(options), dict(options.parameters or {})
    events, pull = subsystem.events(), _pull(subsystem.name, options)
    system = CompiledSystem(subsystem.equations(), inputs, initial, events, pull, chooses=True).kept()
    system = system if way == "modular" else system.at_once()
    if not system.state:
        raise DalembertError(f"subsystem {subsystem.name!r} has no variables.  Fix: e.g. subsystem.coordinates('x')")
    for name, value in zip(system.equations.inputs, system.input_values(options.first), strict=True):
        if not np.isfinite(value):
            said = f"subsystem {subsystem.name!r}: input {name!r} has no finite value at t = {options.first:g} s"
            raise DalembertError(f"{said}.  Fix: inputs={{{name!r}: 'sin(t)'}}")
    vector = system.parameters(parameters)
    y = system.start(options.first, initial, vector)
    choice = _choice(system, options)
    driver = Driver(system, choice, times, y, parameters, progress=progress)
    outcome = driver.run()
    data, residual = _recorded(system, outcome, driver)
    data.attrs["reason"] = choice.reason
    judged = _judged(system, choice, outcome, options.accuracy) if options.certify else None
    certificate = _certificate(system, outcome, driver.context, data, (residual, judged))
    run = SystemTrajectory(data, certificate, subsystem.equations(), subsystem.drawings())
    if strict and not certificate.trusted:
        raise SimulationError(f"the run cannot be trusted\n{certificate}")
    return run


def _choice(system: CompiledSystem, options: Options) -> Choice:
    name = system.equations.name
    for what in ("formulation", "coordinates"):
        if getattr(options, what) != "auto":
            raise DalembertError(f"subsystem {name!r} has its own variables and equations; leave out {what}=…")
    numbers = {"rtol": options.rtol, "atol": options.atol, "step": options.step}
    method, fallback, why = choose_methods(system, options.integrator, numbers, options.stabilization)
    led_back = options.stabilization != "none" and system.pull is None
    return Choice(method, fallback, why, (lambda context: None) if led_back else _freed)


def _pull(name: str, options: Options) -> tuple[float, float, float] | None:
    """Baumgarte's α, β and γ, if his stabilization is asked for."""
    asked, given = options.stabilization, options.baumgarte
    if asked not in ("auto", "projection", "baumgarte", "none"):
        known = "'auto', 'projection', 'baumgarte' or 'none'"
        raise DalembertError(f"subsystem {name!r}: stabilization must be {known}, got {asked!r}")
    if given is None:
        return baumgarte_constants(BAUMGARTE) if asked == "baumgarte" else None
    if asked not in ("auto", "baumgarte"):
        raise DalembertError(f"baumgarte={given} and stabilization={asked!r} exclude each other")
    return baumgarte_constants(given)


def _freed(context: Any) -> None:
    """No way back onto the invariants."""
    context.lower = 0


def _initial(options: Options) -> dict[str, float]:
    """Initial values of states by name; rates may be given apart."""
    given = options.initial
    if given is not None and not isinstance(given, Mapping):
        raise DalembertError(f"initial must be a dictionary of variables, got {type(given).__name__}")
    found = {str(getattr(key, "name", key)): _value(key, value) for key, value in (given or {}).items()}
    for key, value in (options.initial_rates or {}).items():
        found[f"{getattr(key, 'name', key)}.d"] = _value(key, value)
    return found


def _value(key: Any, value: Any) -> float:
    try:
        number = float(value)
    except NO_NUMBER:
        number = np.nan
    if not np.isfinite(number):
        raise DalembertError(f"the initial value of {str(key)!r} must be a finite number, got {value!r}")
    return number


def _recorded(system: CompiledSystem, outcome: Outcome, driver: Driver) -> tuple[Recorded, float]:
    """States, highest derivatives and inputs at the outputs; and how well the latter meet the invariants."""
    result = outcome.result
    tops, residual = np.full((len(result.time), len(system.top)), np.nan), np.full(len(result.time), np.nan)
    for part, parameters in pieces(outcome.segments, len(result.time)):
        driver.context.parameters[:] = system.parameters(parameters)
        mine = np.ascontiguousarray(result.states[part])
        solve_tops(driver.context, result.time[part].copy(), mine, tops[part], residual[part])
    names = list(system.equations.inputs)
    values = np.array([system.input_values(t) for t in result.time]).reshape(len(result.time), len(names))
    data = Recorded(
        result.time,
        {"states": result.states, "tops": tops, "inputs": values},
        labels={"state": system.state, "top": system.top, "input": names},
        attrs={
            "model": system.equations.name, "integrator": driver.method.name, "seconds": driver.loop.seconds,
            "order": system.equations.order, "events": json.dumps([asdict(event) for event in outcome.events]),
            "parameters": json.dumps(outcome.segments),
        },
    )  # fmt: skip
    return data, float(np.max(residual, initial=0.0))


def _certificate(
    system: CompiledSystem,
    outcome: Outcome,
    context: SystemContext,
    data: Recorded,
    measured: tuple[float, tuple[float, Estimate | None] | None],
) -> Certificate:
    """What was ``measured``: the residual of the highest order, and the error."""
    result, seen = outcome.result, context.statistics
    residual, judged = measured
    counts = {"steps": result.steps, "rejected": result.rejected, "evaluations": result.evaluations}
    message = _ending(outcome, context)
    if judged is None:
        return Certificate(outcome.finished, message, (), tuple(outcome.notes), counts, None, False)
    accuracy, estimate = judged
    checks, size = list[Check](), 1.0 + float(np.abs(data["states"]).max(initial=0.0))
    for order, worst in _largest_residuals(system, outcome, data).items():
        left, about = worst / size, "relative to the largest variable"
        checks.append(Check(f"invariants of order {order}", left, accuracy, "", about))
    if context.rows:
        about = f"|A q⟨{system.equations.order}⟩ + b|, relative"
        checks.append(Check("invariants, highest order", residual, max(TOP_LIMIT, accuracy), "", about))
        about = "longest row over smallest pivot of the invariants"
        checks.append(Check("conditioning", 1.0 / max(seen.smallest_pivot, 1e-300), CONDITION_LIMIT, "", about))
    remarks: list[str] = list(outcome.notes)
    if context.rows and np.isfinite(seen.lowest_rank) and seen.highest_rank < context.rows:
        remarks.append(f"{context.rows - int(seen.highest_rank)} of {context.rows} invariants are redundant")
    if seen.largest_conflict > TOP_LIMIT:
        remarks.append(f"redundant invariants contradict each other by up to {seen.largest_conflict:.1e}, relative")
        checks.append(Check("contradiction", seen.largest_conflict, TOP_LIMIT, "", "of redundant invariants, relative"))
    owners = system.event_owners
    own = {i: found for i, found in outcome.undefined.items() if owners[i] in system.events}
    checks += undefined_checks(owners, own)
    if written := branches_as_written(system.equations):
        names = ", ".join(written[:MOST_NAMED]) + (" …" if len(written) > MOST_NAMED else "")
        remarks.append(REMARKS["written"].format(names=names))
    remarks.append("no energy balance: variables of a subsystem need not be mechanical")
    if estimate is not None:
        checks.insert(0, estimate.check)
    return Certificate(outcome.finished, message, tuple(checks), tuple(remarks), counts, estimate)


def _ending(outcome: Outcome, context: SystemContext) -> str:
    """How a run ended, in words."""
    end = f"t = {outcome.result.end:.6g} s"
    if outcome.ended_by is not None:
        return f"ended by event {outcome.ended_by!r} at {end}"
    if outcome.trouble is not None:
        return f"stopped at {end}: {outcome.trouble}"
    return ending_words(outcome.result, context.failure())


def _largest_residuals(system: CompiledSystem, outcome: Outcome, data: Recorded) -> dict[int, float]:
    """The worst of the invariants by order, with the parameters that held."""
    found: dict[int, float] = {}
    for part, parameters in pieces(outcome.segments, len(data["time"])):
        vector = system.parameters(parameters)
        for order, values in system.lower_residuals(data["time"][part], data["states"][part], vector).items():
            found[order] = max(found.get(order, 0.0), float(np.abs(values).max(initial=0.0)))
    return found


def _judged(
    system: CompiledSystem, choice: Choice, outcome: Outcome, accuracy: float | None
) -> tuple[float, Estimate | None]:
    """The accuracy asked for, and the error; sizes are those of variables of the same order."""
    orders = np.array([name.count(".d") for name in system.state])
    sizes = np.abs(outcome.result.states).max(axis=0, initial=0.0)
    for order in set(orders.tolist()):
        alike = np.flatnonzero(orders == order)
        sizes[alike] = motion_sizes(outcome.result.states[:, alike], [slice(None)])
    return estimate_error(system, choice, outcome, sizes, accuracy)
