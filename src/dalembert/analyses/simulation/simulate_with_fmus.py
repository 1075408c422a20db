"""Runs of a mechanism with FMUs beside it: values are exchanged at communication points, in between each goes alone.

From tₖ to tₖ₊₁ the mechanism goes first, with outputs y of the FMUs led on to the middle of the step, y + Δy/2; then
the FMUs, with inputs v in the middle, (vₖ + vₖ₊₁)/2. Both are of second order in the communication step. Where outputs
are held (``hold=True``), the mechanism sees y itself, and the FMU the inputs of the exchange before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analyses.assembly.check_values import check_values
from dalembert.analyses.assembly.rank import hold_rank
from dalembert.analyses.simulation.certify import certify
from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.analyses.simulation.companion import MARGIN, TIGHTER, estimate_by_other
from dalembert.analyses.simulation.drive import Driver
from dalembert.analyses.simulation.motion_sizes import ENOUGH
from dalembert.analyses.simulation.options import Options
from dalembert.analyses.simulation.resample import resample
from dalembert.analyses.simulation.run_fmu import RunningFMU
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.errors import DalembertError, SimulationError
from dalembert.expressions import TIME, parameter
from dalembert.model import Flat, Model, flatten
from dalembert.model.data import Event, Output
from dalembert.model.fmu_data import FMUElement
from dalembert.trajectory import Trajectory
from dalembert.trajectory.outcome import Outcome
from dalembert.trajectory.record import record

__all__ = ["simulate_with_fmus"]

MOST_EXCHANGES = 1_000_000
NEVER = 1e300  # s
ORDER = 2


def simulate_with_fmus(
    model: Model,
    times: np.ndarray,
    options: Options,
    trusted: bool,
    progress: Callable[[float], None] | None,
    strict: bool,
) -> Trajectory:
    """The motion of a mechanism with its FMUs, see ``simulate``; a companion run exchanges twice as often."""
    model.validate()
    units = flatten(model).fmus
    if trusted is not True:
        files = ", ".join(f"{name!r} ({unit.file})" for name, (unit, _) in units.items())
        raise DalembertError(f"the FMUs of {model.name!r} are machine code that would run on this computer: {files}.  "
                             "Fix: da.simulate(…, trust_fmus=True), if you trust these files")  # fmt: skip
    bare = _Bare(model, units)
    dynamics = cached_dynamics(bare.model, options.formulation, options.coordinates)
    choice, values = options.choice(dynamics), dict(options.parameters or {})
    check_values(dynamics, values)
    span, step = float(times[-1] - times[0]), min(unit.step for unit, _ in units.values())
    if span / step > MOST_EXCHANGES:
        raise DalembertError(f"{span / step:.0f} exchanges of values are too many, at most {MOST_EXCHANGES}.  "
                             "Fix: a longer step of the FMUs")  # fmt: skip
    start = _start(dynamics, options)

    def go(length: float, how: Choice, tell: Callable[[float], None] | None = None) -> tuple[Outcome, Any]:
        with ExitStack() as stack:
            running = {name: RunningFMU(unit, float(times[0]), float(times[-1])) for name, (unit, _) in units.items()}
            for one in running.values():
                stack.callback(one.close)
            driver = _Driver(dynamics, how, times, start.copy(), values, bare, running, length, progress=tell)
            return driver.run(), driver

    outcome, driver = go(step, choice, progress)
    data = record(dynamics, outcome, driver.method.name, None)
    reason = f"{choice.reason}; values exchanged every {step:g} s"
    data.attrs |= {"reason": reason, "seconds": driver.loop.seconds, "options": "null"}
    judged = None
    if options.certify:
        # Where all outputs are held, the exchanges are part of the system; else they are the coarser of two errors.
        sampled = all(unit.hold for unit, _ in units.values())
        finer, _ = go(step, _tighter(choice)) if sampled else go(step / 2, choice)
        by = "by a run at a tighter tolerance" if sampled else f"by a run that exchanges values every {step / 2:g} s"
        scale = MARGIN * (1.0 if sampled else 2**ORDER / (2**ORDER - 1))
        accuracy = options.accuracy if options.accuracy is not None or sampled else ENOUGH
        judged = estimate_by_other(dynamics, choice, outcome, finer, accuracy, scale, by)
    run = Trajectory(data, certify(dynamics, outcome, data, driver.context, judged), dynamics, resample, _refuse_page)
    if strict and not run.certificate.trusted:
        raise SimulationError(f"the run cannot be trusted\n{run.certificate}")
    return run


def _tighter(choice: Choice) -> Choice:
    method: Any = choice.method
    if method.adaptive:
        return replace(choice, method=replace(method, rtol=method.rtol / TIGHTER, atol=method.atol / TIGHTER))
    return replace(choice, method=replace(method, step=method.step / 2))


def _refuse_page(run: Trajectory, *_: Any) -> Any:
    raise DalembertError(f"the FMUs of {run.dynamics.model.name!r} cannot run in a page.  Fix: model.remove(name), and "
                         "formulas in their place")  # fmt: skip


def _start(dynamics: Dynamics, options: Options) -> np.ndarray:
    state = options.state(dynamics)
    hold_rank(dynamics, state)
    return np.concatenate([*state.to(dynamics.coordinates), [0.0]])


class _Bare:
    """The mechanism without its FMUs: what they get is recorded as outputs, what they give are its inputs, and an event
    happens at every communication point.

    Attributes:
        next: the parameter that says when values are exchanged next.
        event: the name of the event.
        gets: by FMU, the output that each of its variables follows.
        gives: by FMU, the full name of each input that it gives.
    """

    def __init__(self, model: Model, units: Mapping[str, tuple[FMUElement, Any]]):
        self.gets: dict[str, dict[str, str]] = {}
        self.gives: dict[str, dict[str, str]] = {}
        self.model = _without(model, "", self)
        taken = {*self.model.parameter_values, *(one.name for one in (*model.states, *model.inputs, *model.tables))}
        self.next, self.event = _free("next_exchange", taken), _free("exchange", {e.name for e in model.events})
        self.model.parameter_values[self.next] = NEVER
        when = {"name": self.event, "when": TIME - parameter(self.next), "direction": "rising"}
        self.model.events.append(Event.model_validate(when))
        known = flatten(self.model).inputs
        for name in units:
            for full in self.gives[name].values():
                if full not in known:
                    raise DalembertError(f"fmu {name!r}: input {full!r} is given by the enclosing model already")


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _without(model: Model, prefix: str, bare: _Bare) -> Model:
    """A copy without FMUs; their inputs and outputs are outputs of the model."""
    made = model.snapshot()
    taken = {output.name for output in made.outputs}
    for unit in made.fmus:
        gets: dict[str, str] = {}
        for k, (variable, formula) in enumerate(unit.inputs.items()):
            name = _free(f"{unit.name} input {k + 1}" if len(unit.inputs) > 1 else f"{unit.name} input", taken)
            taken.add(name)
            made.outputs.append(Output.model_validate({"name": name, "formula": formula}))
            gets[variable] = prefix + name
        for given in unit.outputs:
            name = _free(f"{unit.name} gives {given}".replace(".", " "), taken)
            taken.add(name)
            made.outputs.append(Output.model_validate({"name": name, "formula": parameter(given)}))
        bare.gets[prefix + unit.name] = gets
        bare.gives[prefix + unit.name] = {given: prefix + given for given in unit.outputs}
    made.fmus = []
    made.submodels = [
        sub.model_copy(update={"model": _without(sub.model, f"{prefix}{sub.name}.", bare)}) for sub in made.submodels
    ]
    return made


class _Driver(Driver):
    """A run that exchanges values with FMUs whenever the event of a communication point happens."""

    def __init__(
        self, dynamics: Dynamics, choice: Choice, times: np.ndarray, x: np.ndarray, parameters: Mapping[str, float],
        bare: _Bare, running: Mapping[str, RunningFMU], step: float, *, progress: Any,
    ):  # fmt: skip
        self.bare, self.running, self.step, self.first, self.exchanges = bare, running, step, float(times[0]), 0
        self.flat: Flat = dynamics.flat
        given = dict(parameters)
        self.seen = {name: self._inputs(dynamics, name, self.first, x, given) for name in running}
        self.last: dict[str, dict[str, float]] = {}
        for name, unit in running.items():
            self.last[name] = unit.begin(self.seen[name])
            given |= {bare.gives[name][key]: value for key, value in self.last[name].items()}
        given[bare.next] = self.first + step
        super().__init__(dynamics, choice, times, x, given, progress=progress)

    def _inputs(
        self, dynamics: Dynamics, name: str, t: float, x: np.ndarray, given: dict[str, float]
    ) -> dict[str, float]:
        """Values of the inputs of an FMU, by variable."""
        wanted = self.bare.gets[name]
        if not wanted:
            return {}
        q, u = x[: dynamics.nq], x[dynamics.nq : dynamics.nq + dynamics.nv]
        found = np.asarray(dynamics.observe(t, q, u, given).outputs).ravel().tolist()
        values = dict(zip(dynamics.flat.outputs, found, strict=True))
        return {variable: values[output] for variable, output in wanted.items()}

    def _react(self) -> tuple[str | None, str | None]:
        index = self.memory.event
        assert isinstance(self.dynamics, Dynamics)
        if self.flat.event_owners[index - 1] != self.bare.event:
            return super()._react()
        t, x = self.time, self.state
        try:
            given = self._exchange(t, x)
        except SimulationError as error:
            return None, str(error)
        self.account.parameters = given
        self.account.change(self.written)
        self._close()
        self.begin(t, x, self.written)
        return None, None

    def _exchange(self, t: float, x: np.ndarray) -> dict[str, float]:
        """The FMUs go as far as the mechanism has gone; returns the parameters from here on."""
        assert isinstance(self.dynamics, Dynamics)
        began = self.first + self.exchanges * self.step
        self.exchanges += 1
        given = dict(self.account.parameters)
        for name, unit in self.running.items():
            now = self._inputs(self.dynamics, name, t, x, given)
            before = self.seen[name]
            if not unit.given.hold:  # else those of the last exchange
                unit.write({key: (before[key] + value) / 2 for key, value in now.items()})
            unit.step(began, self.step)
            unit.write(now)
            self.seen[name] = now
        for name, unit in self.running.items():
            now, before = unit.read(), self.last[name]
            for key, value in now.items():
                if not np.isfinite(value):
                    raise SimulationError(f"fmu {name!r}: its output {unit.given.outputs[key]!r} is {value}")
                led = 0.0 if unit.given.hold else (value - before[key]) / 2
                given[self.bare.gives[name][key]] = value + led
            self.last[name] = now
        following = self.first + (self.exchanges + 1) * self.step
        given[self.bare.next] = following if following < self.times[-1] else NEVER
        return given
