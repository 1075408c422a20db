"""What warm calls of the analyses cost, in processor time, and what a sweep adds to the integration of its samples.

    python benchmarks/analyses.py [samples of the sweep, 200]
    python benchmarks/analyses.py 10000 --sweep      the sweep alone; for its ratio by the clock nothing else may run

Warm: the model was asked once before. Of the calls the median of 21 is shown, with the least. The sweep runs four-bars
of 10 s at rtol 1e-6 from different starts with different masses. *Integration* is the native loop alone, one sample
after the other (500 of them); *sweep* is all that ``da.sweep`` does, on all threads: assembly, runs, outputs, the data
set. Memory is the growth of the process between the first tenth of the samples and the end.
"""

from __future__ import annotations

import gc
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dalembert as da
from dalembert.analyses.simulation.options import Options
from dalembert.analyses.simulation.sample_bench import Bench

REPEATS = 21
DURATION, RTOL = 10.0, 1e-6


def warm(call: Callable[[], Any]) -> tuple[float, float]:
    """Median and least processor time (ms) of calls after the first."""
    call()
    gc.collect()
    times: list[float] = []
    for _ in range(REPEATS):
        began = time.process_time()
        call()
        times.append(1e3 * (time.process_time() - began))
    return statistics.median(times), min(times)


def calls() -> list[tuple[str, float, Callable[[], Any]]]:
    """What is called, what it may take (ms), and how."""
    stewart, four_bar = da.library.stewart_platform(), da.library.four_bar()
    legs = [f"actuator_{i}" for i in range(1, 7)]
    instants = np.linspace(0, 1, 1000)
    return [
        ("linearize the Stewart platform, 12 states", 30, lambda: da.linearize(stewart, release=legs, inputs=legs)),
        ("inverse dynamics of 1 000 instants, four-bar", 20,
         lambda: da.inverse_dynamics(four_bar, {"A": "2*pi*t"}, instants, unknowns=["A"])),
        ("assemble a four-bar", 3, lambda: da.assemble(four_bar, {"A": 0.7}, {"A": 1.0})),
    ]  # fmt: skip


def pure_integration(dynamics: da.Dynamics, starts: list[dict[str, float]]) -> float:
    """Processor time (s) of the native loop for all samples, with nothing around it."""
    options = Options(rtol=RTOL)
    times = np.linspace(0, DURATION, 101)
    choice = options.choice(dynamics)
    first = da.assemble(dynamics.model, {"A": starts[0]["A"]})
    state = np.concatenate([first.q, first.u, [0.0]])
    bench = Bench(dynamics, choice, times, state, {})
    out = np.empty((len(times), len(state)))
    total = 0.0
    for start in starts:
        at = da.assemble(dynamics.model, {"A": start["A"]})
        values = dynamics.parameters({"density": start["density"]})
        began = time.process_time()
        done = bench.run(np.concatenate([at.q, at.u, [0.0]]), values, out)
        total += time.process_time() - began
        if done is None:
            raise SystemExit(f"sample {start} did not reach its end")
    return total


def memory() -> float:
    """What the process has held at most (MB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def sweep(samples: int) -> None:
    """Compare a sweep with the integration of its samples."""
    dynamics = da.compile(da.library.four_bar())
    rng = np.random.default_rng(0)
    table = {"A": rng.uniform(0.2, 1.2, samples), "density": rng.uniform(1.0, 9.0, samples)}
    starts = [{name: float(values[i]) for name, values in table.items()} for i in range(samples)]
    kept = {"crank": "final: A", "swing": "range: D"}

    def run(count: int) -> Any:
        design = da.Design.lists({name: values[:count] for name, values in table.items()})
        return da.sweep(dynamics, design, DURATION, rtol=RTOL, outputs=kept)

    run(2)
    part = starts[: min(samples, 500)]
    alone = pure_integration(dynamics, part) * samples / len(part)
    run(max(2, samples // 10))
    before = memory()
    wall, began = time.perf_counter(), time.process_time()
    found = run(samples)
    processor, wall = time.process_time() - began, time.perf_counter() - wall
    failed = int((found.failure.values != "").sum())
    print(f"sweep of {samples} four-bars, {DURATION:g} s each at rtol {RTOL:g}; {failed} failed")
    print(f"  integration alone {alone:8.2f} s ({1e3 * alone / samples:.2f} ms a sample)")
    print(
        f"  sweep             {processor:8.2f} s of all threads, {processor / alone:.2f} of it; "
        f"{wall:.2f} s by the clock"
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    print(
        f"  ratio             {wall * cores / alone:8.2f} by the clock against the integration on {cores} cores "
        f"(asked: 1.30), {processor / alone:.2f} by processor time"
    )
    print(f"  memory            +{memory() - before:.0f} MB after the first tenth of the samples")


def main() -> None:
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    if "--sweep" not in sys.argv:
        print_calls()
    sweep(int(numbers[0]) if numbers else 200)


def print_calls() -> None:
    """Warm calls, with what they may take."""
    print(f"{'warm call':<48}{'median':>10}{'least':>10}{'asked':>10}   (ms of the processor)")
    for name, most, call in calls():
        middle, least = warm(call)
        print(f"{name:<48}{middle:>10.2f}{least:>10.2f}{most:>10}")


if __name__ == "__main__":
    main()
