"""Simulation of many samples at once: initial states, parameters, or both."""

from __future__ import annotations

import itertools
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from dalembert.analyses.assembly.rank import hold_rank
from dalembert.analyses.simulation.account import overlooked
from dalembert.analyses.simulation.certify import certify, ending
from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.analyses.simulation.companion import estimate_motion
from dalembert.analyses.simulation.drive import Driver, guard_spacing
from dalembert.analyses.simulation.options import Options, RunOptions, public_with
from dalembert.analyses.simulation.resample import resample
from dalembert.analyses.simulation.sample_bench import Bench, BenchRun
from dalembert.analyses.simulation.samples import Samples, read_samples
from dalembert.analyses.simulation.watched_loop import WATCH_PERIOD
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.integrators import Result, Status, loop
from dalembert.integrators.base import Monitor
from dalembert.integrators.batch import Lanes
from dalembert.model import Model
from dalembert.numerics.context import NOT_FINITE
from dalembert.state import State
from dalembert.trajectory import Trajectory
from dalembert.trajectory.outcome import Outcome
from dalembert.trajectory.record import record
from dalembert.trajectory.trajectories import Batch, SampleRun

__all__ = ["simulate_many"]

DEFAULT_OUTPUTS = 100


@public_with(RunOptions)
def simulate_many(
    model: Model | Dynamics,
    duration: float,
    *,
    options: Options | None = None,
    q: Any = None,
    u: Any = None,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
    **given: Unpack[RunOptions],
) -> Batch:
    """Move many samples of a mechanism through time.

    Trees without constraints, events and branches of formulas, with ``integrator="rk4"``, run several samples to a
    processor's vector register; all else runs one sample at a time on each thread.

    Args:
        model: the mechanism, or its compiled equations (``da.compile``).
        duration: how long (s).
        options: a ``da.Options`` with some or all of the options below; those given by name go first.
        q, u: states instead of ``initial`` and ``initial_rates``, (samples, nq) and (samples, nv).
        threads: how many to use; all processors by default.
        progress: called now and then with the fraction done.
        initial, initial_rates: joint coordinates and velocities by name: one value for all samples, or an array with
            one row for each; assembly completes them.
        parameters: values to use instead of the model's, likewise.
        output_step: output interval (s); default: a hundredth of the duration.
        …: the options of each run, see ``Options``.

    Returns:
        all motions; samples that fail keep NaN from there on and are named in ``failed``.

    Example:
        batch = da.simulate_many(da.library.pendulum(), 2.0, initial={"pivot": [0.1, 0.2, 0.3]})
        batch.q.isel(time=-1)
    """
    options = Options.of(options, given, RunOptions)
    times = options.times(duration, DEFAULT_OUTPUTS)
    dynamics = options.equations(model)
    choice = options.choice(dynamics)
    threads = (os.cpu_count() or 1) if threads is None else threads
    if threads < 1:
        raise DalembertError(f"threads must be a positive integer, got {threads!r}")
    samples = read_samples(dynamics, options, q, u)
    _hold_ranks(dynamics, samples, float(times[0]))
    free = dynamics.formulation.explicit and not (dynamics.rows or dynamics.is_large or dynamics.flat.events)
    free = free and not (dynamics.kernels.assumes or dynamics.kernels.n_branches)
    fast = free and Lanes.takes(choice.method, times)
    crew: _Crew = (_LaneCrew if fast else _DriverCrew)(dynamics, samples, times, choice)
    crew.options = replace(options, initial=None, initial_rates=None, parameters=None)
    crew.work(threads, progress)
    return crew.batch()


def _hold_ranks(dynamics: Dynamics, samples: Samples, time: float) -> None:
    """Over-constrained mechanisms, such as Bennett's, need to know the rank of their constraints, all others do not."""
    if not dynamics.rows or dynamics.coordinates.name != "relative":
        return
    for i in np.flatnonzero(np.isfinite(samples.start).all(axis=1)):
        q, u = np.split(samples.start[i], [dynamics.nq])
        hold_rank(dynamics, State(time, q, u, dynamics.coordinates, samples.values(int(i))))
        if not dynamics.rows.held:
            return


class _Crew(ABC):
    """Threads that take samples through time. What ``look`` asks for is all that is pickled."""

    looked: tuple[str, ...] = ("dynamics", "samples", "times", "method", "out", "written", "stopped", "options")
    options: Options

    def __init__(self, dynamics: Dynamics, samples: Samples, times: np.ndarray, choice: Choice):
        self.dynamics, self.samples, self.times, self.choice = dynamics, samples, times, choice
        self.method: Any = choice.method
        self.out = np.empty((len(samples), len(times), dynamics.nq + dynamics.nv + 1))
        self.out[:, 0, :-1], self.out[:, 0, -1] = samples.start, 0.0
        self.ready = np.asarray(np.isfinite(samples.start).all(axis=1))
        self.out[~self.ready] = np.nan
        self.written = self.ready.astype(np.int64)
        self.stopped = False

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.looked}

    def work(self, threads: int, progress: Callable[[float], None] | None) -> None:
        """Let the threads run, watch them, and stop them if the user wants to."""
        tasks = self.tasks(threads)
        numbers = itertools.count()

        def take() -> None:
            while not self.stopped and (i := next(numbers)) < len(tasks):
                tasks[i]()

        with ThreadPoolExecutor(threads) as pool:
            crew = [pool.submit(take) for _ in range(min(threads, len(tasks)))]
            try:
                while wait(crew, WATCH_PERIOD).not_done:
                    if progress is not None:
                        progress(self.fraction())
            except KeyboardInterrupt:
                self.stop()
            except BaseException:
                self.stop()
                raise
        for member in crew:
            member.result()
        if progress is not None and not self.stopped:
            progress(1.0)

    @abstractmethod
    def tasks(self, threads: int) -> list[Callable[[], None]]:
        """Pieces of work that do not need each other."""

    @abstractmethod
    def fraction(self) -> float:
        """How much is done."""

    @abstractmethod
    def look(self, i: int) -> SampleRun:
        """How a sample went."""

    def stop(self) -> None:
        """Let all samples end where they are."""
        self.stopped = True

    def begun(self, i: int, joint: str) -> np.ndarray:
        """Coordinates of a joint at the start of a sample."""
        known = None if self.samples.states is None else self.samples.states[i]
        if known is None:
            q, u = np.split(self.samples.start[i], [self.dynamics.nq])
            known = State(float(self.times[0]), q, u, self.dynamics.coordinates, self.samples.values(i))
        return known.joint(joint)[0]

    def batch(self) -> Batch:
        """What became of all samples."""
        import xarray as xr

        d, samples = self.dynamics, self.samples
        count = len(self.times)
        for i in np.flatnonzero(self.written < count):
            self.out[i, self.written[i] :] = np.nan
        failed, status = dict(samples.without), np.full(len(samples), Status.FINISHED.name.lower(), dtype=object)
        end = np.full(len(samples), self.times[-1])
        for i in np.flatnonzero(self.written < count).tolist():
            if i in samples.without:
                status[i], end[i] = "not assembled", np.nan
                continue
            run = self.look(i)
            status[i], end[i] = run.outcome.result.status.name.lower(), run.outcome.result.end
            if run.outcome.ended_by is None:
                failed[i] = ending(d, run.outcome, run.context(d))
        data = xr.Dataset(
            {
                "q": (("sample", "time", "coordinate"), self.out[..., : d.nq]),
                "u": (("sample", "time", "velocity"), self.out[..., d.nq : -1]),
                "work": (("sample", "time"), self.out[..., -1], {"units": "J"}),
                "status": ("sample", status.astype(str)),
                "end": ("sample", end, {"units": "s"}),
                "parameters": (("sample", "parameter"), np.reshape(list(samples.given.values()), (-1, len(samples))).T),
            },
            coords={
                "sample": np.arange(len(samples)),
                "time": ("time", self.times, {"units": "s"}),
                "coordinate": d.q_names,
                "velocity": d.u_names,
                "parameter": list(samples.given),
            },
            attrs={
                "model": d.model.name,
                "formulation": d.formulation.name,
                "coordinate_kind": d.coordinates.name,
                "integrator": self.method.name,
                "reason": self.choice.reason,
            },
        )
        finish = partial(self.trajectory, self.choice.reason)
        return Batch(data, d, dict(sorted(failed.items())), samples.parameters, self.look, finish)

    def trajectory(self, why: str, run: SampleRun) -> Trajectory:
        """All quantities of one sample, with its certificate, for which companions are run now."""
        data = record(self.dynamics, run.outcome, run.integrator, run.start)
        data.attrs["reason"] = why
        judged, options = None, self.options
        if options.certify:
            choice = options.choice(self.dynamics)
            judged = estimate_motion(self.dynamics, choice, run.outcome, options.accuracy)
        certificate = certify(self.dynamics, run.outcome, data, run.context(self.dynamics), judged)
        return Trajectory(data, certificate, self.dynamics, resample)


class _LaneCrew(_Crew):
    """Blocks of samples in the lanes of vector registers."""

    def tasks(self, threads: int) -> list[Callable[[], None]]:
        k = self.dynamics.kernels
        lanes = Lanes(k.dynamics_kernel, k.move_kernel if k.has_quaternions else None, k.nq, k.nv)
        size, n = lanes.samples_per_block(len(self.samples), threads), len(self.samples)
        self.monitors = [Monitor(reached=float(self.times[0])) for _ in range(-(-n // size))]

        def task(block: int) -> Callable[[], None]:
            part = slice(block * size, min((block + 1) * size, n))
            return lambda: lanes.run(
                self.method, self.samples.start[part], self.samples.parameters[part], self.times, self.out[part],
                self.written[part], self.monitors[block],
            )  # fmt: skip

        return [task(block) for block in range(len(self.monitors))]

    def fraction(self) -> float:
        reached = np.mean([monitor.reached for monitor in self.monitors])
        return float((reached - self.times[0]) / (self.times[-1] - self.times[0]))

    def stop(self) -> None:
        super().stop()
        for monitor in self.monitors:
            monitor.request = loop.STOP

    def look(self, i: int) -> SampleRun:
        n = int(self.written[i])
        status = Status.FINISHED if n == len(self.times) else Status.STOPPED if self.stopped else Status.FAILED
        end = float(self.times[n - 1])
        steps = int(np.ceil(np.diff(self.times[:n]) / self.method.step - 1e-9).sum())
        evaluations = 1 + steps * len(self.method.weights)
        found = Result(self.times[:n], self.out[i, :n], status, end, self.out[i, n - 1], steps, 0, evaluations)
        outcome = Outcome(found, [(0, self.samples.values(i))], method=self.method, times=self.times)
        statistics: dict[str, float] = {"failure": NOT_FINITE} if status == Status.FAILED else {}
        return SampleRun(outcome, statistics, self.method.name, partial(self.begun, i))


class _DriverCrew(_Crew):
    """One sample after the other on each thread, each as ``simulate`` would run it: on a bench where the method allows
    it and nothing happens, else by a driver."""

    looked = (*_Crew.looked, "runs")

    def __init__(self, dynamics: Dynamics, samples: Samples, times: np.ndarray, choice: Choice):
        super().__init__(dynamics, samples, times, choice)
        self.lock = threading.Lock()
        self.running: dict[int, _SampleDriver] = {}
        self.runs: dict[int, SampleRun | BenchRun] = {}
        self.queue = np.flatnonzero(self.ready).tolist()
        self.own = threading.local()
        self.benches: list[Bench] = []

    def tasks(self, threads: int) -> list[Callable[[], None]]:
        return [lambda i=i: self._run(i) for i in self.queue]

    def _bench(self, i: int) -> Bench | None:
        """That of this thread; none where drivers must do it."""
        if not Bench.takes(self.dynamics, self.choice):
            return None
        if not hasattr(self.own, "bench"):
            with self.lock:
                self.own.bench = Bench(self.dynamics, self.choice, self.times, self.out[i, 0], self.samples.values(i))
                self.benches.append(self.own.bench)
        return self.own.bench

    def _run(self, i: int) -> None:
        bench = self._bench(i)
        if bench is not None and not self.stopped:
            found = bench.run(self.out[i, 0].copy(), self.samples.parameters[i], self.out[i])
            if found is not None:
                self.written[i], self.runs[i] = len(self.times), found
                return
        with self.lock:
            start, values = self.out[i, 0].copy(), self.samples.values(i)
            driver = _SampleDriver(self.dynamics, self.choice, self.times, start, values)
            driver.lock, driver.out = self.lock, self.out[i]
            self.running[i] = driver
            if self.stopped:
                driver.monitor.request = loop.STOP
            outcome = driver.run()
            self.written[i] = driver.written
            statistics = driver.context.statistics.values()
            self.runs[i] = SampleRun(outcome, statistics, driver.method.name, partial(self.begun, i))
            del self.running[i]

    def fraction(self) -> float:
        first, span = self.times[0], self.times[-1] - self.times[0]
        watched = [*self.running.values(), *(self.benches if self.queue and len(self.runs) < len(self.queue) else ())]
        going = sum((one.monitor.reached - first) / span for one in watched if one.monitor.reached < self.times[-1])
        return float((len(self.runs) + going) / max(1, len(self.queue)))

    def stop(self) -> None:
        super().stop()
        for one in [*self.running.values(), *self.benches]:
            one.monitor.request = loop.STOP

    def look(self, i: int) -> SampleRun:
        found = self.runs.get(i)
        if isinstance(found, BenchRun):
            result = found.result(self.times, self.out[i])
            notes = tuple(overlooked(result, guard_spacing(self.times)))
            outcome = Outcome(
                result, [(0, self.samples.values(i))], notes=notes, projects=found.projects, method=self.method,
                times=self.times,
            )  # fmt: skip
            return SampleRun(outcome, found.seen(), self.method.name, partial(self.begun, i))
        if found is not None:
            return found
        y = self.out[i, 0]
        found = Result(self.times[:1], self.out[i, :1], Status.STOPPED, float(self.times[0]), y, 0, 0, 0)
        outcome = Outcome(found, [(0, self.samples.values(i))], method=self.method, times=self.times)
        return SampleRun(outcome, {}, self.method.name, partial(self.begun, i))


class _SampleDriver(Driver):
    """A driver whose native loop runs in the thread that asks; what Python does is done by one thread at a time."""

    lock: threading.Lock

    def _advance(self) -> Status:
        self.lock.release()
        try:
            return self.method.advance(self.problem, self.memory, self.times, self.out, self.monitor)
        finally:
            self.lock.acquire()
