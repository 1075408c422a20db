"""The verdict against the truth: random runs, judged by their certificates and by far tighter runs.

    python benchmarks/verdicts.py [RUNS] [--seed N] [--kind KIND] [--accuracies]
    python benchmarks/verdicts.py --cost [--seconds S] [--repeats N]

Runs are drawn from problems of fourteen kinds (``verdict_problems.py``), all integrators, tolerances from 1e-3 to
1e-11, steps from 1e-4 to 1e-2 s; some have few outputs, are short, have another atol, go on from a run, are samples of
a batch, or are made by another formulation in other coordinates. The truth is a run at 1e-13 with short steps; a second
one, by another formulation, tells how well it is known. A run is wrong if its error, or the share of the duration by
which events come at another time, exceeds the accuracy that its certificate states. ``--cost`` measures what
certificates cost over the library, by processor time, in runs as long as each mechanism is usually run, or of so many
seconds at most.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.analyses.simulation.drive import Driver
from dalembert.fuzz.check_runs import BESIDE, difference
from dalembert.fuzz.ways import PAIRS
from dalembert.integrators import INTEGRATORS

sys.path.insert(0, str(Path(__file__).parent))
from verdict_problems import KINDS, PROBLEMS, Problem

ADAPTIVE = ("auto", *(name for name, kind in INTEGRATORS.items() if kind.adaptive))
FIXED = tuple(name for name, kind in INTEGRATORS.items() if not kind.adaptive)
FOR_STIFF = ("auto", "radau", "bdf", "generalized-alpha")
NEAR, UNSURE = 2.0, 0.3  # of the accuracy: errors that no estimate can tell apart, and doubt about the truth
CERTIFIED = ("pendulum", "double-pendulum", "cart-pendulum", "four-bar", "crank-rocker", "slider-crank", "spinning-top",
             "rolling-disc", "rolling-sphere", "knife-edge", "snakeboard", "bicycle", "stewart-platform", "andrews",
             "satellite", "bennett")  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A run: what it was, its verdict, its error and the accuracy, both relative, doubt about the truth, and cost."""

    kind: str
    integrator: str
    words: str
    trusted: bool
    finished: bool
    error: float
    accuracy: float
    doubt: float
    cost: float
    certificate: str

    @property
    def wrong(self) -> bool:
        return self.error > self.accuracy

    @property
    def decidable(self) -> bool:
        return self.wrong or self.doubt <= UNSURE * self.accuracy

    @property
    def near(self) -> bool:
        return self.accuracy / NEAR < self.error < self.accuracy * NEAR


@dataclass(frozen=True)
class Drawn:
    """How a run is made, besides integrator and tolerance.

    Attributes:
        way: formulation and coordinates.
        share: of the problem's duration.
        outputs: how many.
        mode: ``plain``, ``resumed`` from another run, or ``batch``: one of two samples.
    """

    way: tuple[str, str]
    share: float
    outputs: int
    mode: str


@cache
def compiled(number: int, formulation: str = "auto", coordinates: str = "auto") -> da.Dynamics:
    return da.compile(PROBLEMS[number].build(), formulation=formulation, coordinates=coordinates)


@cache
def by_others(number: int) -> da.Dynamics:
    """The equations of a problem by another formulation."""
    for formulation in ("recursive", "udwadia-kalaba"):
        try:
            return compiled(number, formulation, "relative")
        except da.DalembertError:  # it does not take this problem
            continue
    return compiled(number)


def draw(rng: np.random.Generator, ranges: dict[str, tuple[float, float]]) -> dict[str, float]:
    return {name: float(rng.uniform(*limits)) for name, limits in ranges.items()}


def draw_circumstances(rng: np.random.Generator, problem: Problem) -> Drawn:
    way = PAIRS[int(rng.integers(len(PAIRS)))] if problem.ways and rng.random() < 0.4 else ("auto", "auto")
    share = float(10 ** rng.uniform(-5, 0)) if rng.random() < 0.1 else 1.0
    outputs = int(rng.choice([1, 2, 3, 7, 20, 100])) if rng.random() < 0.3 else 1000
    mode = str(rng.choice(["plain", "resumed", "batch"], p=[0.8, 0.1, 0.1]))
    sampled = problem.values or problem.start or problem.rates
    return Drawn(way, share, outputs, "plain" if mode == "batch" and not sampled else mode)


def method(rng: np.random.Generator, stiff: bool, accuracies: bool, name: str) -> dict[str, Any]:
    """Tolerance or step of an integrator, and an accuracy if that is to be drawn too."""
    options: dict[str, Any] = {"integrator": name}
    if name in ADAPTIVE:
        options["rtol"] = float(10 ** rng.uniform(-9 if name in ("radau", "bdf") else -11, -3))
        options["atol"] = options["rtol"] * (float(10 ** rng.uniform(-6, 2)) if rng.random() < 0.15 else 0.01)
    else:
        options["step"] = float(10 ** rng.uniform(-3.3, -2))
    if accuracies:
        least = max(10 * options.get("rtol", 1e-7), 1e-8)
        options["accuracy"] = float(10 ** rng.uniform(np.log10(least), -2))
    return options


def bodies_off(run: da.Trajectory, truth: da.Trajectory, length: float) -> float:
    """As ``difference``, of poses and velocities of bodies, for runs in other coordinates; not beside events."""
    times = truth.values("time")
    if len(run.values("time")) != len(times):
        return math.inf
    keep = np.all(
        [np.abs(times - event.time) > BESIDE for event in truth.events] or [np.ones(len(times), bool)], axis=0
    )
    order = [list(truth.data.body.values).index(name) for name in run.data.body.values]
    worst, least = 0.0, 0.01 * min(1.0, length)
    for line, turn in (("position", "orientation"), ("linear_velocity", "angular_velocity")):
        # As (11.1): at least 1 % of the largest of all of its kind, in units of the mechanism.
        unit = least / 0.01
        largest = [float(np.abs(truth.values(name)[keep]).max(initial=0.0)) for name in (line, turn)]
        share = 0.01 * max(largest[0] / unit, largest[1])
        for name, size, own in ((line, largest[0], unit), (turn, largest[1], 1.0)):
            a, b = run.values(name)[keep], truth.values(name)[keep][:, order]
            if name == "orientation":
                a = a * np.sign(np.sum(a * b, axis=-1, keepdims=True))
            scale = max(size, share * own) + 0.01 * own
            worst = max(worst, float(np.abs(a - b).max(initial=0.0) / scale))
    return worst if np.isfinite(worst) else math.inf


def events_off(run: da.Trajectory, truth: da.Trajectory) -> float:
    """The largest difference of times of the events that both have, as a share of the duration."""
    span, worst = float(np.ptp(truth.values("time"))), 0.0
    for name in {event.name for event in truth.events}:
        mine, true = ([event.time for event in one.events if event.name == name] for one in (run, truth))
        worst = max([worst, *(abs(a - b) / span for a, b in zip(mine, true, strict=False))])
    return worst


def error_of(run: da.Trajectory, truth: da.Trajectory, problem: Problem) -> float:
    if run.values("q").shape[1] == truth.values("q").shape[1] and run.dynamics.coordinates.name == "relative":
        return max(difference(run, truth, problem.size), events_off(run, truth))
    return max(bodies_off(run, truth, problem.size.length), events_off(run, truth))


def make(
    dynamics: da.Dynamics, problem: Problem, how: Drawn, start: dict[str, Any], options: dict[str, Any]
) -> tuple[da.Trajectory, dict[str, Any]]:
    """A run, and what it started from."""
    duration = how.share * problem.duration
    if how.mode == "resumed":
        before = da.simulate(dynamics, 0.7 * problem.duration, **start, **options, certify=False)
        start = {"initial": before.end}
    options = {**options, "output_step": duration / how.outputs}
    if how.mode == "batch":
        two = {what: {name: np.full(2, value) for name, value in values.items()} for what, values in start.items()}
        return da.simulate_many(dynamics, duration, **two, **options).trajectory(1), start
    return da.simulate(dynamics, duration, **start, **options), start


def judge(number: int, rng: np.random.Generator, accuracies: bool, name: str) -> Judged | None:
    """Draw a run of a problem by an integrator, and judge its certificate; None where it cannot take the problem."""
    problem = PROBLEMS[number]
    start: dict[str, Any] = {"initial": draw(rng, problem.start), "initial_rates": draw(rng, problem.rates)}
    start |= {"parameters": draw(rng, problem.values)}
    options, how = method(rng, problem.stiff, accuracies, name), draw_circumstances(rng, problem)
    words = f"{problem.kind} {number} {options} {start} {how}"
    try:
        run, start = make(compiled(number, *how.way), problem, how, start, options)
    except da.DalembertError:  # refused: no verdict
        return None
    duration, small = how.share * problem.duration, min(1.0, problem.size.length)
    fine = (1e-11, 3e-12) if problem.stiff else (1e-12, 1e-13)
    best: dict[str, Any] = {"integrator": "dopri8", "output_step": duration / how.outputs, "certify": False}
    # Steps that are powers of two: thousands of equal ones that are not, each rounded alike, delay time by 1e-11 s.
    step = 2.0 ** math.floor(math.log2(min(problem.reference, 0.02 * duration)))
    try:
        other, truth = (
            da.simulate(
                dynamics, duration, **start, rtol=rtol, atol=0.01 * rtol * small,
                **(best | ({"integrator": "radau"} if problem.stiff else {"step": longest})),
            )
            for dynamics, rtol, longest in zip(
                (by_others(number), compiled(number)), fine, (step / 2, step), strict=True
            )
        )  # fmt: skip
    except da.DalembertError:  # where steps with impulses ended a little beyond a stop, others do not begin
        return None
    certificate, estimate = run.certificate, run.certificate.estimate
    accuracy = certificate.accuracy or 1e-3
    evaluations = certificate.counts["evaluations"]
    cost = estimate.evaluations / max(1, evaluations) if estimate else 0.0
    return Judged(
        problem.kind, name, words, certificate.trusted, certificate.finished, error_of(run, truth, problem), accuracy,
        error_of(other, truth, problem), cost, str(certificate),
    )  # fmt: skip


def runs(count: int, seed: int, kind: str | None = None, accuracies: bool = False) -> Iterator[Judged]:
    """So many random runs, the kinds and the integrators in turn."""
    rng = np.random.default_rng(seed)
    by_kind = [[i for i, p in enumerate(PROBLEMS) if p.kind == k] for k in KINDS if kind in (None, k)]
    done = tried = 0
    while done < count:
        choices = by_kind[tried % len(by_kind)]
        number = int(rng.choice(choices))
        names = FOR_STIFF if PROBLEMS[number].stiff else (*ADAPTIVE, *FIXED)
        found = judge(number, rng, accuracies, names[(tried // len(by_kind)) % len(names)])
        tried += 1
        if found is not None:
            done += 1
            yield found


def table(found: list[Judged]) -> str:
    """The confusion table by kinds of problems and by integrators, as Markdown."""
    lines = ["| | runs | wrong | of them trusted | right | of them not trusted | of these far from the line |"]
    lines += ["|---|---|---|---|---|---|---|"]
    judged = [one for one in found if one.finished and one.decidable]
    for kind in (*KINDS, *ADAPTIVE, *FIXED, "all"):
        some = [one for one in judged if kind in (one.kind, one.integrator, "all")]
        if not some:
            continue
        wrong, right = ([one for one in some if one.wrong is value] for value in (True, False))
        missed, false = [one for one in wrong if one.trusted], [one for one in right if not one.trusted]
        far = [one for one in false if not one.near]
        lines.append(
            f"| {kind} | {len(some)} | {len(wrong)} | {len(missed)} | {len(right)} | {len(false)} | {len(far)} |"
        )
    return "\n".join(lines)


def summary(found: list[Judged]) -> str:
    """The table, and what it leaves out."""
    stopped = sum(not one.finished for one in found)
    unsure = sum(one.finished and not one.decidable for one in found)
    median = statistics.median(one.cost for one in found)
    return (
        f"{table(found)}\n\nOf {len(found)} runs {stopped} stopped early and said why, and of {unsure} the truth is "
        f"not known well enough. Certificates cost, in the median, {median:.2f} of the run's evaluations."
    )


def kept(path: Path) -> list[Judged]:
    """What ``--save`` wrote."""
    return [Judged(**one) for one in json.loads(path.read_text(encoding="utf-8"))]


def cost(seconds: float = math.inf, repeats: int = 5) -> None:
    """Processor time of companion runs, and of whole certificates, over that of the integration, in the same call, over
    the library; the least of some repeats, each on its own. Runs and companions count alike: with their problem, which
    ``Driver`` makes, or takes over, before it begins."""
    spent: dict[str, list[float]] = {"integrate": [], "certify": []}

    def timed(what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*given: Any, **named: Any) -> Any:
            began = time.process_time()
            found = call(*given, **named)
            spent[what].append(time.process_time() - began)
            return found

        return measured

    for part in ("__init__", "run"):
        setattr(Driver, part, timed("integrate", getattr(Driver, part)))
    simulating = importlib.import_module("dalembert.analyses.simulation.simulate")
    for name in ("estimate_motion", "certify"):
        setattr(simulating, name, timed("certify", getattr(simulating, name)))
    models = {name: da.compile(da.library.build(name)) for name in CERTIFIED}
    for rtol in (1e-10, 1e-7, 1e-5, 1e-3):
        companions: dict[str, float] = {}
        whole: dict[str, float] = {}
        for name, dynamics in models.items():
            least = np.full(3, np.inf)
            for _ in range(repeats):
                for times in spent.values():
                    times.clear()
                made = da.simulate(dynamics, min(da.library.duration(name), seconds), rtol=rtol, atol=rtol / 100)
                made_and_run, others = spent["integrate"][:2], spent["integrate"][2:]
                least = np.minimum(least, (sum(made_and_run), sum(others), sum(spent["certify"])))
            if made.certificate.finished:
                companions[name], whole[name] = (least[1:] / least[0]).tolist()
        for what, shares in (("companions", companions), ("whole certificates", whole)):
            low, middle, high = statistics.quantiles(shares.values(), n=4)
            print(
                f"rtol {rtol:.0e}: {what} {low:.2f} / {middle:.2f} / {high:.2f} of the integration (quartiles)",
                flush=True,
            )
        dear = ", ".join(f"{name} {share:.2f}" for name, share in companions.items() if share > 1.0)
        print(f"    companions above 1: {dear}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--accuracies", action="store_true", help="draw accuracies too, instead of the default ones")
    parser.add_argument("--save", type=Path, help="keep what was found, for docs/verify.py")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of the runs that --cost measures, at most")
    parser.add_argument("--repeats", type=int, default=5, help="of these runs")
    given = parser.parse_args()
    warnings.simplefilter("ignore", da.errors.ModelWarning)  # units of random sizes are meant
    if given.cost:
        cost(given.seconds, given.repeats)
        return
    found = []
    for one in runs(given.runs, given.seed, given.kind, given.accuracies):
        found.append(one)
        if one.finished and one.decidable and one.trusted == one.wrong:
            print(f"{'MISSED' if one.wrong else 'false'}: error {one.error:.1e}, accuracy {one.accuracy:.1e}, "
                  f"truth known to {one.doubt:.0e}: {one.words}\n{one.certificate}\n", flush=True)  # fmt: skip
    print(summary(found))
    if given.save is not None:
        given.save.write_text(json.dumps([asdict(one) for one in found]), encoding="utf-8")


if __name__ == "__main__":
    main()
