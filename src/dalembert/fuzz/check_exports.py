"""Random runs as pages, C and FMUs make them: the same native code, run here, against the run of ``da.simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.analyses.simulation.live import make_living
from dalembert.analyses.simulation.make_device import make_device
from dalembert.analyses.simulation.options import LIVE_METHODS
from dalembert.analyses.simulation.simulate import simulate
from dalembert.errors import DalembertError
from dalembert.export.native_device import BEGIN, OBSERVE, OVER, RATES, STEP, serve
from dalembert.export.native_run import ACTED, NO_START, run_live
from dalembert.fuzz.check_models import Finding, Judged
from dalembert.fuzz.check_runs import LEAST_SHARE, random_options, random_outputs, sizes_of
from dalembert.fuzz.random_models import UNIT, Size
from dalembert.integrators import INTEGRATORS
from dalembert.model import Model
from dalembert.trajectory import Trajectory

__all__ = ["check_export", "random_export"]

SAME = 1e-9
ENDLESS = "faster and faster"  # other ends, as at singular positions, are a matter of rounding
# Starts differ by rounding, and so do steps: what differs more must be as near to the truth, but for this factor.
AS_GOOD = 100.0
TIGHT: dict[str, Any] = {"integrator": "dopri8", "rtol": 1e-12, "atol": 1e-14, "certify": False}


def random_export(rng: np.random.Generator, time: float) -> dict[str, Any]:
    """How a run is made that needs no Python."""
    options = random_options(rng, time) | random_outputs(rng)
    name = str(rng.choice(LIVE_METHODS))
    adaptive = INTEGRATORS[name].adaptive
    given = {"rtol": 10 ** rng.uniform(-9, -5)} if adaptive else {"step": time * 10 ** rng.uniform(-3.5, -2.5)}
    for other in ("rtol", "atol", "step"):
        options.pop(other, None)
    return {**options, "integrator": name, **{key: float(value) for key, value in given.items()}}


def check_export(model: Model, options: Mapping[str, Any], size: Size = UNIT) -> Judged:
    """Run a model, and again as a page does, and step by step as an FMU does."""
    judged, more = Judged(), dict(options)
    duration = size.time * more.pop("duration")
    more["output_step"] = duration / more.pop("outputs")
    try:
        run = simulate(model, duration, certify=False, **more)
        live = make_living(run, []).live
    except DalembertError as error:
        judged.skipped = f"refused: {error}"
        return judged
    status, count, message = run_live(live), len(run.values("time")), run.certificate.message
    if not run.certificate.finished and ENDLESS not in message:
        judged.skipped = f"stopped: {message}"
        return judged
    judged.comparisons += 1
    if status == NO_START:
        judged.findings.append(Finding("page start", f"no start ({live.reaction}), row {live.start.off_row}"))
        return judged
    happened = live.events.count if run.dynamics.flat.events else 0
    if (live.written, happened) != (count, len(run.events)):
        words = f"{live.written} outputs and {happened} events, not {count} and {len(run.events)} ({status})"
        judged.findings.append(Finding("page end", f"{words}\n{message}"))
        return judged
    compared = _Compared(model, run, more, size, duration)
    compared.judge("page", np.asarray(live.states)[:count], judged)
    if run.certificate.finished and status != ACTED:
        _device(run, compared, judged)
    return judged


class _Compared:
    """A run, and what others made of it."""

    def __init__(self, model: Model, run: Trajectory, options: Mapping[str, Any], size: Size, duration: float):
        self.model, self.run, self.options, self.size, self.duration = model, run, options, size, duration

    @cached_property
    def truth(self) -> np.ndarray | None:
        """States of a tight run, None if it does not come so far."""
        options = {key: value for key, value in self.options.items() if key not in ("step", "stabilization")}
        tight: Any = simulate(self.model, self.duration, **{**options, **TIGHT})
        found = _states(tight)
        return found if len(found) == len(self.run.values("time")) else None

    def judge(self, name: str, states: np.ndarray, judged: Judged) -> None:
        """The same states, or states as good."""
        own = _states(self.run)
        judged.comparisons += 1
        off = self._off(states, own)
        if off <= SAME:
            judged.worst = max(judged.worst, off)
            return
        if self.truth is None:
            judged.skipped = "no truth"
            return
        far, allowed = self._off(states, self.truth), AS_GOOD * max(SAME, self._off(own, self.truth))
        if not far <= allowed:
            judged.findings.append(Finding(name, f"states are off by {far:.1e}, {allowed:.0e} allowed"))

    def _off(self, states: np.ndarray, truth: np.ndarray) -> float:
        """The largest difference of states, relative to sizes as the certificate takes them."""
        worst, nq, nv = 0.0, self.run.dynamics.nq, self.run.dynamics.nv
        for part, (_, floor) in zip(
            (slice(0, nq), slice(nq, nq + nv)), sizes_of(self.size, self.duration), strict=True
        ):
            sizes = np.abs(truth[:, part]).max(axis=0, initial=0.0)
            sizes = np.maximum(sizes, LEAST_SHARE * sizes.max(initial=0.0)) + floor
            worst = max(worst, float((np.abs(states[:, part] - truth[:, part]) / sizes).max(initial=0.0)))
        return worst if np.isfinite(worst) else np.inf


def _states(run: Any) -> np.ndarray:
    return np.hstack([run.values("q"), run.values("u")])


def _device(run: Trajectory, compared: _Compared, judged: Judged) -> None:
    """Co-Simulation from output to output; the rates that Model Exchange begins with."""
    try:
        device = make_device(run).device
    except DalembertError:
        return  # other coordinates than relative ones
    if serve(device, BEGIN) != 0:
        judged.findings.append(Finding("device start", "an FMU does not begin"))
        return
    states = [device.x.copy()]
    for t in run.values("time")[1:]:
        device.target = t
        status = serve(device, STEP)
        if status == OVER:
            return
        if status != 0:
            judged.findings.append(Finding("device end", f"a step to t = {t:.6g} ends with {status}"))
            return
        states.append(device.x.copy())
    compared.judge("device", np.array(states), judged)
    _exchange(run, judged)


def _exchange(run: Trajectory, judged: Judged) -> None:
    device = make_device(run).device
    device.exchange = True
    if serve(device, BEGIN) != 0 or serve(device, RATES) != 0 or serve(device, OBSERVE) != 0:
        judged.findings.append(Finding("exchange start", "an FMU for Model Exchange does not begin"))
        return
    judged.comparisons += 1
    d, x = run.dynamics, device.x
    if not np.all(np.isfinite(device.rates)):
        judged.findings.append(Finding("exchange", "rates are not finite"))
    if device.direct:
        du = d.solve(x[: d.nq], x[d.nq : -1], t=float(run.values("time")[0]), parameters=run.segments[0][1])[0]
        off = np.abs(device.rates[d.nq :] - du).max(initial=0.0) / max(np.abs(du).max(initial=0.0), 1e-300)
        judged.worst = max(judged.worst, float(off))
        if not off <= SAME:
            judged.findings.append(Finding("exchange", f"rates are off by {off:.1e}"))
