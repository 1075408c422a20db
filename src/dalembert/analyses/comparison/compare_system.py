"""One subsystem solved from its parts to the whole, and all at once: what each takes, and what it leaves open."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.analyses.simulation.options import Options
from dalembert.analyses.simulation.simulate_system import WAYS, simulate_system
from dalembert.errors import DalembertError
from dalembert.modular import Subsystem
from dalembert.trajectory.system_trajectory import SystemTrajectory

__all__ = ["SystemMeasure", "measure_system"]

REFERENCE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class SystemMeasure:
    """One way to solve a subsystem.

    Attributes:
        way: ``modular``, leaves to root, or ``null space``, of the whole at once.
        run: its motion, or None;  reason: how it ended, or why there is none.
        unknowns, states, constraints: how many.
        seconds, compile_seconds: of the time loop; of deriving and compiling.
        differences: largest distance from the reference, of variables of order 0 and of order 1.
    """

    way: str
    run: SystemTrajectory | None
    reason: str
    unknowns: int = 0
    states: int = 0
    constraints: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    differences: tuple[float, float] = (0.0, 0.0)

    def residual(self, check: str) -> float | None:
        """A value of the certificate."""
        found = [] if self.run is None else [one.value for one in self.run.certificate.checks if one.name == check]
        return float(found[0]) if found else None


def measure_system(
    subsystem: Subsystem,
    times: np.ndarray,
    options: Options,
    repeats: int,
    progress: Callable[[int, int, str], None] | None,
) -> tuple[str, list[SystemMeasure]]:
    """What the others are measured against, in words, and one measure for each way."""
    total = len(WAYS) + 1
    if progress is not None:
        progress(0, total, "reference")
    tight = replace(options, rtol=REFERENCE_TOLERANCE, atol=REFERENCE_TOLERANCE, step=None)
    reference = simulate_system(subsystem, times, tight, None, None, False)
    found: list[SystemMeasure] = []
    for way in WAYS:
        if progress is not None:
            progress(1 + len(found), total, way)
        found.append(_measure(subsystem, times, options, way, repeats, reference))
    return f"modular, {reference.attrs['integrator']}, tolerance {REFERENCE_TOLERANCE:g}", found


def _measure(
    subsystem: Subsystem, times: np.ndarray, options: Options, way: str, repeats: int, reference: SystemTrajectory
) -> SystemMeasure:
    begin = time.perf_counter()
    try:
        runs = [simulate_system(subsystem, times, options, None, None, False, way)]
        whole = time.perf_counter() - begin
        runs += [simulate_system(subsystem, times, options, None, None, False, way) for _ in range(repeats - 1)]
    except DalembertError as error:
        return SystemMeasure(way, None, str(error))
    run, equations = runs[0], subsystem.equations()
    seconds = min(float(one.attrs["seconds"]) for one in runs)
    rows = sum(len(node.description.invariants) for node in equations.nodes)
    return SystemMeasure(
        way, run, run.certificate.message, len(equations.top) + rows, len(equations.state), rows, seconds,
        max(whole - float(run.attrs["seconds"]), 0.0), _differences(equations, run, reference),
    )  # fmt: skip


def _differences(equations: Any, run: SystemTrajectory, reference: SystemTrajectory) -> tuple[float, float]:
    count = min(len(run.values("time")), len(reference.values("time")))
    off = np.abs(run.values("states")[:count] - reference.values("states")[:count]).max(axis=0, initial=0.0)
    orders = np.array([label.order for label in equations.state])
    return float(off[orders == 0].max(initial=0.0)), float(off[orders == 1].max(initial=0.0))
