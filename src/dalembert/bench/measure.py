"""Run the public problems in several ways: error reached, processor time, verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.bench.problems import PROBLEMS, PublicProblem, Way
from dalembert.errors import DalembertError

__all__ = ["Precision", "Row", "bench", "work_precision"]

REPEATS = 3
PRECISION_TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
PRECISION_METHODS = ("dopri8", "tsit5", "radau", "bdf")


@dataclass(frozen=True)
class Row:
    """One way through one problem.

    Attributes:
        error: largest one reached, and ``meets``: what it must reach.
        first, again: processor seconds of the first run, compiling included, and of the fastest of the next ones.
        verdict: of the certificate; empty where there is none.
    """

    problem: str
    way: str
    error: float
    meets: float
    first: float
    again: float
    evaluations: int
    verdict: str

    @property
    def met(self) -> bool:
        return self.error <= self.meets


@dataclass(frozen=True)
class Precision:
    """Error against processor time of one integrator on one problem."""

    problem: str
    integrator: str
    tolerances: np.ndarray
    errors: np.ndarray
    seconds: np.ndarray


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def chosen(names: Iterable[str] | None) -> list[PublicProblem]:
    """Problems by name; all if none are named."""
    wanted = list(PROBLEMS) if names is None else list(names)
    for name in wanted:
        if name not in PROBLEMS:
            raise DalembertError(f"unknown problem {name!r}; expected one of {', '.join(PROBLEMS)}")
    return [PROBLEMS[name] for name in wanted]


def bench(
    problems: Iterable[str] | None = None, *, quick: bool = False, progress: Callable[[str], None] | None = None
) -> list[Row]:
    """Solve public problems in several ways and compare with their references.

    Args:
        problems: names; default: all.
        quick: only the short table.
        progress: called with what comes next.
    """
    rows: list[Row] = []
    for problem in chosen(problems):
        for way in problem.ways:
            if quick and not way.quick:
                continue
            if progress is not None:
                progress(f"{problem.name}: {way.name}")
            rows.append(_row(problem, way))
    return rows


def _row(problem: PublicProblem, way: Way) -> Row:
    (found, run), first = _timed(lambda: problem.solve(way.options))
    again = min(_timed(lambda: problem.solve(way.options))[1] for _ in range(REPEATS))
    return Row(
        problem=problem.name,
        way=way.name,
        error=problem.error(found),
        meets=problem.meets if way.meets is None else way.meets,
        first=first,
        again=again,
        evaluations=0 if run is None else run.certificate.counts.get("evaluations", 0),
        verdict="" if run is None else run.certificate.verdict,
    )


def work_precision(
    problem: str, integrators: Iterable[str] = PRECISION_METHODS, options: Mapping[str, Any] | None = None
) -> list[Precision]:
    """Errors reached and processor times over the tolerance, for a diagram of work against precision.

    The error of a run that stopped early is NaN.
    """
    given = chosen([problem])[0]
    curves: list[Precision] = []
    for name in integrators:
        errors: list[float] = []
        seconds: list[float] = []
        for rtol in PRECISION_TOLERANCES:
            how = {**(options or {}), "integrator": name, "rtol": rtol, "atol": rtol / 10, "certify": False}
            given.solve(how)
            (found, run), spent = _timed(lambda how=how: given.solve(how))
            errors.append(given.error(found) if run is None or run.certificate.finished else np.nan)
            seconds.append(spent)
        curves.append(Precision(problem, name, np.array(PRECISION_TOLERANCES), np.array(errors), np.array(seconds)))
    return curves
