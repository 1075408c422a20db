"""The verdict against the truth: random runs, judged by their certificates and by far tighter runs.

    python benchmarks/verdicts.py [RUNS] [--seed N] [--kind KIND] [--accuracies]
    python benchmarks/verdicts.py --cost [--seconds S] [--repeats N]

Runs are drawn from problems of six kinds (smooth, kinks, events, stiff, chaotic, narrow), all integrators, tolerances
from 1e-3 to 1e-11, steps from 1e-4 to 1e-2 s. The truth is a run at 1e-13 with short steps; a second one tells how well
it is known. A run is wrong if its error exceeds the accuracy that its certificate states. ``--cost`` measures what
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
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.analyses.simulation.drive import Driver
from dalembert.fuzz.check_runs import difference
from dalembert.integrators import INTEGRATORS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.magnet import magnet

KINDS = ("smooth", "kinks", "events", "stiff", "chaotic", "narrow")
ADAPTIVE = ("auto", *(name for name, kind in INTEGRATORS.items() if kind.adaptive))
FIXED = tuple(name for name, kind in INTEGRATORS.items() if not kind.adaptive)
FOR_STIFF = ("auto", "radau", "bdf", "generalized-alpha")
NEAR, UNSURE = 2.0, 0.3  # of the accuracy: errors that no estimate can tell apart, and doubt about the truth
CERTIFIED = ("pendulum", "double-pendulum", "cart-pendulum", "four-bar", "crank-rocker", "slider-crank", "spinning-top",
             "rolling-disc", "rolling-sphere", "knife-edge", "snakeboard", "bicycle", "stewart-platform", "andrews",
             "satellite", "bennett")  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A mechanism with values to draw.

    Attributes:
        build: the model.
        duration: s.
        values, start, rates: ranges of parameters, of initial coordinates and of velocities by name.
        reference: longest step (s) of the run that is taken for the truth.
        stiff: the truth is found by an implicit method.
    """

    kind: str
    build: Callable[[], da.Model]
    duration: float
    values: dict[str, tuple[float, float]] = field(default_factory=dict)
    start: dict[str, tuple[float, float]] = field(default_factory=dict)
    rates: dict[str, tuple[float, float]] = field(default_factory=dict)
    reference: float = 0.01
    stiff: bool = False


def slider(force: str, **parameters: float) -> Callable[[], da.Model]:
    """A mass of 1 kg on a line with a force, a formula of q(P), u(P), t and parameters."""

    def build() -> da.Model:
        model = da.Model("slider", gravity=(0, 0, 0))
        for name, value in parameters.items():
            model.parameters(**{name: value})
        body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
        model.prismatic("P", "ground", body, point=(0, 0, 0), axis="x")
        model.joint_force("F", "P", force)
        return model

    return build


def bouncing() -> da.Model:
    """A mass that falls and bounces."""
    model = slider("-g", g=9.81, e=0.8)()
    model.event("bounce", "-q(P)", rates={"P": "-e*u(P)"})
    return model


def switched() -> da.Model:
    """An oscillator whose spring is stiffer on one side, by events."""
    model = slider("-k*q(P)", k=4.0, hard=30.0, soft=4.0)()
    model.event("into", "q(P)", set={"k": "hard"})
    model.event("out", "-q(P)", set={"k": "soft"})
    return model


def library(name: str) -> Callable[[], da.Model]:
    return lambda: da.library.build(name)


_Q, _U = {"P": (0.5, 2.0)}, {"P": (-1.0, 1.0)}
PROBLEMS = (
    Problem("smooth", library("four-bar"), 5.0),
    Problem("smooth", library("spinning-top"), 3.0),
    Problem("smooth", library("slider-crank"), 5.0),
    Problem("smooth", library("rolling-disc"), 5.0),
    Problem("smooth", library("cart-pendulum"), 5.0),
    Problem("smooth", library("bicycle"), 2.0),
    Problem("smooth", slider("-k*q(P) - c*u(P) + a*cos(2*t)", k=4.0, c=0.1, a=1.0), 20.0,
            {"k": (1, 50), "c": (0, 1), "a": (0, 3)}, _Q, _U, 0.02),
    Problem("smooth", slider("-k*sin(q(P))", k=9.81), 30.0, {"k": (1, 20)}, _Q, _U, 0.02),
    Problem("kinks", slider("-k*abs(q(P))*q(P) - k*(q(P)-0.2) - 0.05*u(P)", k=3.0), 10.0, {"k": (1, 20)}, _Q, _U, 2e-3),
    Problem("kinks", slider("-q(P) - (k*(q(P)-0.3) if q(P) > 0.3 else 0)", k=50.0), 10.0, {"k": (5, 300)}, _Q, _U,
            2e-3),
    Problem("kinks", slider("-4*q(P) - k*max(q(P)-0.5, 0) - k*min(q(P)+0.5, 0)", k=20.0), 10.0, {"k": (5, 100)}, _Q, _U,
            2e-3),
    Problem("kinks", slider("-4*q(P) - 0.5*tanh(u(P)/w) + sin(t)", w=0.05), 10.0, {"w": (0.02, 0.2)}, _Q, _U, 2e-3),
    Problem("events", bouncing, 3.0, {"e": (0.6, 0.95)}, {"P": (0.5, 2.0)}, {"P": (-1.0, 1.0)}),
    Problem("events", switched, 10.0, {"hard": (10, 100)}, {"P": (-1.0, -0.2)}, {"P": (0.0, 1.0)}),
    Problem("stiff", slider("-k*(q(P)-cos(t)) - c*u(P)", k=1e4, c=1e3), 5.0, {"k": (1e3, 1e5), "c": (100, 1000)},
            {"P": (0.9, 1.1)}, _U, 0.01, True),
    Problem("stiff", slider("m*(1-q(P)**2)*u(P) - q(P)", m=50.0), 50.0, {"m": (20, 100)}, {"P": (1.0, 2.0)}, {}, 0.05,
            True),
    Problem("chaotic", library("double-pendulum"), 15.0, {}, {}, {}, 5e-3),
    Problem("chaotic", slider("q(P) - q(P)**3 - 0.1*u(P) + a*cos(1.4*t)", a=0.35), 60.0, {"a": (0.3, 0.4)}, _Q, _U,
            0.02),
    Problem("narrow", magnet, 10.0, {"w": (0.0005, 0.01)}, {}, {}, 2e-3),
    Problem("narrow", slider("a*exp(-((t-5)/w)**2) - 0.5*q(P)", a=100.0, w=0.05), 10.0,
            {"a": (10, 300), "w": (0.02, 0.2)}, {"P": (0.0, 1.0)}, _U, 2e-3),
    Problem("narrow", slider("a*exp(-((q(P)-3)/w)**2)", a=3.0, w=0.1), 10.0, {"a": (1, 20), "w": (0.03, 0.3)},
            {"P": (0.0, 0.5)}, {"P": (0.8, 1.5)}, 2e-3),
)  # fmt: skip


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


@cache
def compiled(number: int) -> da.Dynamics:
    return da.compile(PROBLEMS[number].build())


def draw(rng: np.random.Generator, ranges: dict[str, tuple[float, float]]) -> dict[str, float]:
    return {name: float(rng.uniform(*limits)) for name, limits in ranges.items()}


def method(rng: np.random.Generator, stiff: bool, accuracies: bool, name: str) -> dict[str, Any]:
    """Tolerance or step of an integrator, and an accuracy if that is to be drawn too."""
    options: dict[str, Any] = {"integrator": name}
    if name in ADAPTIVE:
        options["rtol"] = float(10 ** rng.uniform(-9 if name in ("radau", "bdf") else -11, -3))
        options["atol"] = options["rtol"] / 100
    else:
        options["step"] = float(10 ** rng.uniform(-3.3, -2))
    if accuracies:
        least = max(10 * options.get("rtol", 1e-7), 1e-8)
        options["accuracy"] = float(10 ** rng.uniform(np.log10(least), -2))
    return options


def judge(number: int, rng: np.random.Generator, accuracies: bool, name: str) -> Judged | None:
    """Draw a run of a problem by an integrator, and judge its certificate; None where it cannot take the problem."""
    problem, dynamics = PROBLEMS[number], compiled(number)
    start: dict[str, Any] = {"initial": draw(rng, problem.start), "initial_rates": draw(rng, problem.rates)}
    start |= {"parameters": draw(rng, problem.values)}
    options = method(rng, problem.stiff, accuracies, name)
    how = {"integrator": "radau"} if problem.stiff else {"integrator": "dopri8", "step": problem.reference}
    fine = (1e-11, 3e-12) if problem.stiff else (1e-12, 1e-13)
    other, truth = (
        da.simulate(dynamics, problem.duration, **start, **how, rtol=r, atol=r / 100, certify=False) for r in fine
    )
    try:
        run = da.simulate(dynamics, problem.duration, **start, **options)
    except da.DalembertError as error:
        if "variational" not in str(error) and name not in str(error):
            raise
        return None
    certificate, estimate = run.certificate, run.certificate.estimate
    accuracy = certificate.accuracy or 1e-3
    evaluations = certificate.counts["evaluations"]
    cost = estimate.evaluations / max(1, evaluations) if estimate else 0.0
    words = f"{problem.kind} {number} {options} {start}"
    return Judged(
        problem.kind, name, words, certificate.trusted, certificate.finished, difference(run, truth), accuracy,
        difference(other, truth), cost, str(certificate),
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
    the library; the least of some repeats, each on its own."""
    spent: dict[str, list[float]] = {"integrate": [], "certify": []}

    def timed(what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*given: Any) -> Any:
            began = time.process_time()
            found = call(*given)
            spent[what].append(time.process_time() - began)
            return found

        return measured

    Driver.run = timed("integrate", Driver.run)  # type: ignore[method-assign]
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
                first, *others = spent["integrate"]
                least = np.minimum(least, (first, sum(others), sum(spent["certify"])))
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
