"""Random runs: what a certificate calls trusted is compared with a far tighter run, with a batch and with its file."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from dalembert.analyses.saved import load
from dalembert.analyses.simulation.choose_integrator import STABILIZATIONS
from dalembert.analyses.simulation.drive import Driver
from dalembert.analyses.simulation.many import simulate_many
from dalembert.analyses.simulation.simulate import simulate
from dalembert.errors import DalembertError
from dalembert.formulations import FORMULATIONS
from dalembert.fuzz.check_models import Finding, Judged
from dalembert.fuzz.random_models import UNIT, Size
from dalembert.fuzz.ways import ANALYTICAL
from dalembert.integrators import INTEGRATORS
from dalembert.model import Model
from dalembert.trajectory import Trajectory

__all__ = ["LEAST_SHARE", "check_run", "difference", "pauses", "random_options", "random_outputs", "sizes_of"]

DURATION, OUTPUTS = 1.0, 100
TIGHT: dict[str, Any] = {"integrator": "dopri8", "rtol": 1e-12, "step": 1e-3, "certify": False}
OTHER: dict[str, Any] = {**TIGHT, "rtol": 1e-11, "step": 3.7e-4}  # tells how well the truth is known
UNSURE = 0.3  # of the accuracy: doubt about the truth
LEAST_SHARE, LEAST_SIZE = 0.01, 0.01  # of sizes that errors refer to, as certificates have them
LONGEST = 1024.0  # s
BESIDE = 1e-3  # s from an event: there a late jump is no error
AGREEMENT = 1e-9
PLAIN = [name for name in FORMULATIONS if name not in ANALYTICAL]  # others take minutes to be written out


def random_options(rng: np.random.Generator, time: float = 1.0) -> dict[str, Any]:
    """How a run is made: integrator, tolerance or step, coordinates."""
    name = str(rng.choice(["auto", *INTEGRATORS]))
    options: dict[str, Any] = {"integrator": name}
    if name == "auto" or INTEGRATORS[name].adaptive:
        options["rtol"] = float(10 ** rng.uniform(-9, -4))
        options["atol"] = options["rtol"] / 100
    else:
        options["step"] = time * float(10 ** rng.uniform(-3.5, -2.3))
    if rng.random() < 0.4:
        options["coordinates"] = str(rng.choice(["relative", "absolute", "natural", "generalized"]))
    if rng.random() < 0.25:
        options["formulation"] = str(rng.choice(PLAIN))
    if rng.random() < 0.15:
        options["stabilization"] = str(rng.choice(STABILIZATIONS))
    if rng.random() < 0.2:
        options["start"] = time * float(rng.uniform(-2, 5))
    return options


def random_outputs(rng: np.random.Generator) -> dict[str, Any]:
    """How long a run is, in the model's unit of time, and how many outputs it has."""
    return {"duration": float(rng.choice([1.0, 2.0, 4.0])), "outputs": int(rng.choice([5, 50, 200, 1000]))}


def difference(run: Any, truth: Any, size: Size = UNIT) -> float:
    """Largest over outputs and entries, relative to sizes as the certificate takes them; not beside jumps."""
    n = min(len(run.values("time")), len(truth.values("time")))
    times, worst = truth.values("time")[:n], 0.0
    if not truth.certificate.finished:  # what comes to rest by ever more bounces has no truth from there on
        return np.inf
    keep = np.ones(n, dtype=bool)
    for event in truth.events:
        keep &= np.abs(times - event.time) > BESIDE * size.time
    if n < len(truth.values("time")):
        return np.inf
    for name, floor in sizes_of(size, float(np.ptp(times))):
        a, b = run.values(name)[:n][keep], truth.values(name)[:n][keep]
        sizes = np.abs(b).max(axis=0, initial=0.0)
        sizes = np.maximum(sizes, LEAST_SHARE * sizes.max(initial=0.0)) + floor
        if name == "q":
            for part in truth.dynamics.coordinates.quaternions:
                sizes[part] = 1.0 + floor
        worst = max(worst, float((np.abs(a - b) / sizes).max(initial=0.0)))
    return worst if np.isfinite(worst) else np.inf


def sizes_of(size: Size, span: float) -> list[tuple[str, float]]:
    """What is added to sizes of coordinates and velocities; as in certificates, time counts in runs that are long."""
    least = LEAST_SIZE * min(1.0, size.length)
    return [("q", least), ("u", least / max(1.0, size.time) if span > LONGEST else least)]


def check_run(model: Model, options: Mapping[str, Any], size: Size = UNIT) -> Judged:
    """Run a model and judge its certificate by a tight run, its batch and its file."""
    judged, more = Judged(), dict(options)
    duration = size.time * more.pop("duration", DURATION)
    more["output_step"] = duration / more.pop("outputs", OUTPUTS)
    try:
        run = simulate(model, duration, **more)
    except DalembertError as error:
        judged.skipped = f"refused: {error}"
        return judged
    str(run.certificate)
    if not run.certificate.finished:
        judged.skipped = f"stopped: {run.certificate.message}"
        return judged
    if run.certificate.trusted:
        _accurate(model, run, more, size, duration, judged)
    else:
        judged.skipped = "not trusted"
    with TemporaryDirectory() as folder:
        _again(run, Path(folder) / "run.nc", judged)
        _resumed(model, run, more, duration, Path(folder) / "run.checkpoint", judged)
    _together(model, run, more, size, duration, judged)
    return judged


def _accurate(
    model: Model, run: Trajectory, options: Mapping[str, Any], size: Size, duration: float, judged: Judged
) -> None:
    """Trusted means: as accurate as stated."""

    def tight(how: Mapping[str, Any]) -> Any:
        given: dict[str, Any] = {**options, **how, "step": duration * how["step"], "atol": how["rtol"] / 100}
        return simulate(model, duration, **given)

    truth = tight(TIGHT)
    if not truth.certificate.finished:
        judged.skipped = f"no truth: {truth.certificate.message}"
        return
    error, accuracy = difference(run, truth, size), run.certificate.accuracy or np.inf
    judged.comparisons += 1
    if not error <= accuracy and not difference(tight(OTHER), truth, size) <= UNSURE * accuracy:
        judged.skipped = "the reference is not accurate enough"
        return
    if not error <= accuracy:
        words = f"trusted with an error of {error:.1e}, accuracy {accuracy:.0e}\n{run.certificate}"
        judged.findings.append(Finding("verdict", words))


def _again(run: Trajectory, path: Path, judged: Judged) -> None:
    """Saved and loaded, a run is what it was."""
    run.save(path)
    again: Any = load(path)
    judged.comparisons += 1
    same = all(np.array_equal(run.values(name), again.values(name), equal_nan=True) for name in ("time", "q", "u"))
    if not (same and again.certificate == run.certificate):
        judged.findings.append(Finding("file", "a run that was saved and loaded is another one"))


def _resumed(
    model: Model, run: Trajectory, options: Mapping[str, Any], duration: float, path: Path, judged: Judged
) -> None:
    """Stopped on its way and taken up again, a run comes to the same bits."""
    given: dict[str, Any] = {**options, "certify": False, "checkpoint": path}

    def stop(_: float) -> None:
        if path.exists():
            raise KeyboardInterrupt

    with pauses(int(run.certificate.counts.get("steps", 0)) // 8 + 1):
        try:
            simulate(model, duration, **given, checkpoint_interval=0.0, progress=stop)
        except DalembertError:
            return  # methods that nothing can be written of refuse
    if not path.exists():
        return
    again = simulate(model, duration, **given, checkpoint_interval=1e9)
    judged.comparisons += 1
    for name in ("time", "q", "u"):
        if not np.array_equal(run.values(name), again.values(name), equal_nan=True):
            judged.findings.append(Finding("resumed", f"{name} of a run that was taken up again is another one"))
            return


@contextmanager
def pauses(steps: int) -> Generator[None]:
    """Runs that pause after so many steps, however fast the machine is."""
    advance: Any = getattr(Driver, "_advance")  # noqa: B009

    def paused(driver: Any) -> Any:
        driver.monitor.pause_at = driver.memory.steps + driver.memory.rejected + steps
        return advance(driver)

    with mock.patch.object(Driver, "_advance", paused):
        yield


def _together(
    model: Model, run: Trajectory, options: Mapping[str, Any], size: Size, duration: float, judged: Judged
) -> None:
    """Two samples of a batch move as the run alone did."""
    given = {name: value for name, value in options.items() if name not in ("certify", "initial_rates")}
    try:
        batch = simulate_many(model, duration, **given, parameters={},
                              q=np.tile(run.values("q")[0], (2, 1)), u=np.tile(run.values("u")[0], (2, 1)))  # fmt: skip
    except DalembertError as error:
        if not any(words in str(error) for words in ("simulate_many", "batch", "integrator")):
            judged.findings.append(Finding("batch", f"refused: {error}"))
        return
    if batch.failed:
        judged.findings.append(Finding("batch", f"failed: {batch.failed[0]}"))
        return
    judged.comparisons += 1
    error = run.certificate.error
    limit = max(AGREEMENT, 10 * (error if error is not None and np.isfinite(error) else np.inf))
    for name, floor in sizes_of(size, duration):
        alone, sample = run.values(name), np.asarray(batch.data[name])[1]
        sizes = np.abs(alone).max(axis=0, initial=0.0)
        sizes = np.maximum(sizes, LEAST_SHARE * sizes.max(initial=0.0)) + floor
        off = float((np.abs(alone - sample) / sizes).max(initial=0.0))
        judged.worst = max(judged.worst, AGREEMENT * off / limit)
        if not off <= limit:
            judged.findings.append(Finding("batch", f"{name} of a sample is off by {off:.1e}, {limit:.0e} allowed"))
