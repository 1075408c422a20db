"""Sweeps: the same computation for many values of parameters and initial states, as one labeled data set."""

from __future__ import annotations

import hashlib
import inspect
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dalembert.analyses.simulation.checkpoint import fingerprint
from dalembert.analyses.simulation.options import Options, RunOptions, public_with
from dalembert.analyses.sweeps.sweep_design import Design
from dalembert.analyses.sweeps.sweep_job import Analysis, Job, Simulation, roles_of, run_part
from dalembert.analyses.sweeps.sweep_outputs import Outputs
from dalembert.analyses.sweeps.sweep_store import Block, Store
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, warn
from dalembert.model import Model
from dalembert.planar import Planar
from dalembert.state import State
from dalembert.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["sweep"]

DEFAULT_OUTPUTS = 100
BLOCKS, MOST_IN_BLOCK = 64, 256  # a sweep has about so many blocks, of so many samples at most
IN_FLIGHT = 64  # blocks that an executor has at a time
SHORT, LONG, MOST_TOGETHER = 4.0, 15.0, 256  # seconds between two looks at what is done, and samples


@public_with(RunOptions)
def sweep(
    model: Any,
    over: Mapping[str, Any] | Design,
    duration: float | None = None,
    *,
    outputs: Any = None,
    analysis: Callable[[Any, dict[str, float]], Any] | None = None,
    executor: Any = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
    options: Options | None = None,
    **given: Unpack[RunOptions],
) -> xr.Dataset:
    """Do the same for many values of parameters and initial states.

    A sample that fails has its reason in ``failure``, and the others continue. With ``store``, the same
    call continues a sweep that was killed.

    Args:
        model: the mechanism, also a planar one, or its compiled equations.
        over: values by name, of which every combination is computed; or a ``da.Design``: lists, Latin hypercubes,
            random numbers. Names are parameters, joints (their initial coordinate), and joints with ``.d`` (velocity).
        duration: how long each run is (s).
        outputs: what is kept of each run: names of outputs, joints or formulas, over time; with a word in front, such
            as ``max: A.d``, one number (first, final, max, min, mean, rms, range); functions of a trajectory, which
            give a number, an array, or a dictionary of them. A list, or a dictionary by name. Default: the model's
            outputs, or the coordinates of its joints.
        analysis: instead of runs: a function of the compiled equations and of the values by name.
        executor: any of ``concurrent.futures``, or a Dask client, that does the work; default: threads of this process.
        threads: how many, here or in each worker; default: all processors here, one in a worker.
        store: a folder that keeps what is done.
        progress: called now and then with the fraction done.
        options: a ``da.Options`` with some or all of the options below; those given by name go first.
        …: the options of each run, see ``Options``.

    Returns:
        a data set: of a grid with an axis for each name, else with ``sample``; ``failure`` says why a sample has no
        values, ``drift`` how far its energy balance drifted, ``end`` the time it reached (s).

    Example:
        data = da.sweep(da.library.pendulum(), {"length": [0.5, 1.0]}, 2.0, outputs=["max: pivot"])
    """
    design = over if isinstance(over, Design) else Design.grid(over)
    options = Options.of(options, given, RunOptions)
    if threads is not None and threads < 1:
        raise DalembertError(f"threads must be a positive integer, got {threads!r}")
    job, key = _job(model, design, duration, options, outputs, analysis)
    kept = None if store is None else Store(store, key, len(design))
    work = _Work(job, design, kept, progress)
    if executor is None:
        work.here(threads or os.cpu_count() or 1)
    else:
        work.there(_executor(executor), threads or 1)
    times = None if duration is None or analysis is not None else options.times(duration, DEFAULT_OUTPUTS)
    return _dataset(model, design, work, times, job)


def _job(
    model: Any, design: Design, duration: float | None, options: Options, outputs: Any, analysis: Any
) -> tuple[Job, str]:
    """The work, and a fingerprint of all that its results depend on."""
    from dalembert.io import dumps

    if isinstance(model, Planar):
        model = model.to_model()
    if analysis is not None:
        if duration is not None or outputs is not None:
            raise DalembertError("a sweep does runs (duration, outputs) or an analysis, not both")
        subject = options.equations(model) if isinstance(model, Model | Dynamics) else model
        text = dumps(subject.model) if isinstance(subject, Dynamics) else type(subject).__name__
        return Analysis(subject, analysis, design.names), fingerprint(text, _told(analysis), design.names, design.table)
    if not isinstance(model, Model | Dynamics):
        raise DalembertError(f"sweep takes a model, a planar mechanism or compiled equations, got {model!r}")
    if duration is None:
        raise DalembertError("sweep: how long is a run?  Fix: sweep(model, over, duration), or analysis=function")
    if isinstance(options.initial, State | Trajectory):
        raise DalembertError("sweep: initial must be a dictionary by joint")
    times = options.times(duration, DEFAULT_OUTPUTS)
    dynamics = options.equations(model)
    choice, roles = options.choice(dynamics), roles_of(dynamics, design)
    wanted = Outputs.read(dynamics, outputs)
    how = [dumps(dynamics.model), dynamics.recipe.to_json(), repr(choice.method), options.stabilization]
    how += [options.baumgarte, times, options.parameters, options.initial, options.initial_rates]
    key = fingerprint(
        how, design.names, design.table, wanted.series, {k: _told(f) for k, f in wanted.functions.items()}
    )
    # The equations have their formulation and coordinates already.
    plain = Options.of(options, {"formulation": "auto", "coordinates": "auto"}, RunOptions)
    bounds = np.stack([design.table.min(axis=0), design.table.max(axis=0)])
    return Simulation(key, dynamics, duration, plain, wanted, design.names, roles, bounds), key


def _told(function: Any) -> str:
    """A function by its name and its text, as far as that can be read."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = type(function).__name__
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{name} {hashlib.sha256(text.encode()).hexdigest()}"


def _executor(given: Any) -> Any:
    """An executor of ``concurrent.futures``; a Dask client has one."""
    found = given.get_executor() if hasattr(given, "get_executor") else given
    if not callable(getattr(found, "submit", None)):
        raise DalembertError(f"executor must be one of concurrent.futures, or a Dask client, got {given!r}")
    return found


class _Work:
    """The blocks of a sweep, and what became of them."""

    def __init__(self, job: Job, design: Design, store: Store | None, progress: Callable[[float], None] | None):
        self.job, self.table, self.store, self.progress = job, design.table, store, progress
        size = min(MOST_IN_BLOCK, max(1, -(-len(design) // BLOCKS)))
        self.bounds = [(first, min(first + size, len(design))) for first in range(0, len(design), size)]
        self.done: dict[int, Block] = {}
        self.notes: list[str] = []
        self.together = 1  # samples that are done at a time
        for number, (first, last) in enumerate(self.bounds if store is not None else ()):
            assert store is not None
            found = store.read(first, last - first)
            if found is not None:
                self.done[number] = found
        self._tell()

    @property
    def missing(self) -> list[int]:
        return [number for number in range(len(self.bounds)) if number not in self.done]

    def _samples(self, numbers: list[int]) -> int:
        return sum(self.bounds[n][1] - self.bounds[n][0] for n in numbers)

    def _tell(self, more: float = 0.0) -> None:
        if self.progress is not None:
            self.progress(min(1.0, (self._samples(list(self.done)) + more) / max(1, len(self.table))))

    def _keep(self, number: int, block: Block) -> None:
        if self.store is not None:
            self.store.write(self.bounds[number][0], block)
        self.done[number] = block

    # In this process

    def here(self, threads: int) -> None:
        """Several blocks at a time, so that all threads have work, and not so many that little is kept."""
        self.together = 4 * threads
        for numbers in self._groups():
            first, last = self.bounds[numbers[0]][0], self.bounds[numbers[-1]][1]
            began = time.monotonic()
            many = last - first
            block = self.job.compute(self.table[first:last], threads, lambda part, n=many: self._tell(part * n))
            for number in numbers:
                a, b = (bound - first for bound in self.bounds[number])
                failed = {i - a: text for i, text in block.failed.items() if a <= i < b}
                self._keep(number, Block({name: values[a:b] for name, values in block.arrays.items()}, failed))
            self._tell()
            took = time.monotonic() - began
            if took < SHORT:
                self.together = min(MOST_TOGETHER, 2 * self.together)
            elif took > LONG:
                self.together = max(threads, self.together // 2)

    def _groups(self) -> Iterator[list[int]]:
        """Blocks that follow each other, with as many samples as are wanted."""
        missing = self.missing
        while missing:
            group = [missing.pop(0)]
            while missing and missing[0] == group[-1] + 1 and self._samples(group) < self.together:
                group.append(missing.pop(0))
            yield group

    # Elsewhere

    def there(self, executor: Any, threads: int) -> None:
        """By the workers of an executor; what dead workers leave is done here."""
        if isinstance(executor, ThreadPoolExecutor) and self.missing:
            # Machine code is made by one thread.
            number = self.missing[0]
            self._keep(number, self._computed(number, threads))
        waiting = self.missing
        running: dict[Future[list[Block]], int] = {}
        lost: list[int] = []
        try:
            while waiting or running:
                while waiting and len(running) < IN_FLIGHT:
                    number = waiting.pop(0)
                    first, last = self.bounds[number]
                    running[executor.submit(run_part, self.job, [self.table[first:last]], threads)] = number
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(done, key=lambda one: one.exception() is not None):
                    number = running.pop(future)
                    self._keep(number, future.result()[0])
                    self._tell()
        except Exception as error:
            if not _is_dead(error):
                raise _sending(error) from error
            lost = self.missing
        finally:
            for future in running:
                future.cancel()
        if lost:
            self.notes.append(f"workers died; {self._samples(lost)} samples were computed in this process instead")
            warn(f"sweep: {self.notes[-1]}")
            for number in lost:
                self._keep(number, self._computed(number, threads))
                self._tell()

    def _computed(self, number: int, threads: int) -> Block:
        first, last = self.bounds[number]
        return self.job.compute(self.table[first:last], threads)


def _is_dead(error: Exception) -> bool:
    """True if workers went away, and not the work itself went wrong."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ in ("KilledWorker", "CommClosedError")


def _sending(error: Exception) -> Exception:
    """What cannot be sent to a worker, said by its name."""
    if "pickle" in f"{type(error).__name__} {error}".lower():
        return DalembertError(
            f"sweep: the work cannot be sent to the workers: {error}.  "
            "Fix: outputs and analysis as functions of a module, not lambdas; or threads"
        )
    return error


# Results


def _dataset(model: Any, design: Design, work: _Work, times: np.ndarray | None, job: Job) -> xr.Dataset:
    import xarray as xr

    blocks = [work.done[number] for number in range(len(work.bounds))]
    counts = [last - first for first, last in work.bounds]
    failure = np.full(len(design), "", dtype=object)
    for (first, _), block in zip(work.bounds, blocks, strict=True):
        for i, text in block.failed.items():
            failure[first + i] = text
    arrays = _joined(blocks, counts)
    whole = {name for name, (word, _) in job.outputs.series.items() if not word} if isinstance(job, Simulation) else ()
    shape = tuple(map(len, design.axes)) if design.axes else (len(design),)
    dims = design.names if design.axes else ("sample",)
    variables: dict[str, Any] = {}
    for name, values in arrays.items():
        more = ("time",) if name in whole else tuple(f"{name}_{k}" for k in range(values.ndim - 1))
        variables[name] = ((*dims, *more), values.reshape(*shape, *values.shape[1:]))
    variables["failure"] = (dims, failure.reshape(shape))
    coords: dict[str, Any] = {}
    if design.axes:
        coords = dict(zip(design.names, design.axes, strict=True))
    else:
        coords = {"sample": np.arange(len(design))}
        coords |= {name: ("sample", design.table[:, k]) for k, name in enumerate(design.names)}
    if whole and times is not None:
        coords["time"] = ("time", times, {"units": "s"})
    name = model.model.name if isinstance(model, Dynamics) else getattr(model, "name", type(model).__name__)
    attrs = {"model": name, "design": design.how, "failed": int(np.sum(failure != "")), "notes": "; ".join(work.notes)}
    return xr.Dataset(variables, coords, attrs)


def _joined(blocks: list[Block], counts: list[int]) -> dict[str, np.ndarray]:
    """Arrays of all samples; NaN where a block has none, or a shorter one."""
    found: dict[str, np.ndarray] = {}
    names = dict.fromkeys(name for block in blocks for name in block.arrays)
    for name in names:
        parts = [block.arrays.get(name) for block in blocks]
        known = [part for part in parts if part is not None]
        axes = max(part.ndim for part in known)
        shape = np.max([part.shape[1:] for part in known if part.ndim == axes], axis=0, initial=0) if axes > 1 else ()
        kind = complex if any(np.iscomplexobj(part) for part in known) else float
        table = np.full((sum(counts), *map(int, shape)), np.nan, dtype=kind)
        at = 0
        for part, count in zip(parts, counts, strict=True):
            if part is not None and part.ndim == axes:
                table[(slice(at, at + count), *(slice(size) for size in part.shape[1:]))] = part
            at += count
        found[name] = table
    return found
