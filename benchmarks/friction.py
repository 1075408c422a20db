"""What friction costs: a parallel robot of 21 joints that rubs in 20 of them, against the same without friction; and
what an impact costs, by a ball that bounces about a hundred times.

    python benchmarks/friction.py

The robot is a Delta robot whose elbows are crosses on two pins each: 3 hips, 12 pins, 6 balls; five loops. Friction is
exact, by the reaction of each joint. Times are processor times. With and without friction are measured in turn, and
the ratio is the median of those of neighbors: on a shared machine both may take 1.4 times as long for a while, and a
ratio of times from different moments is off by as much.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

import dalembert as da
from dalembert.dynamics.evaluate import accelerations_along
from dalembert.library import parts

EVALUATIONS = 1000  # of a call: what it costs to begin one does not count
BASE, PLATFORM, ARM, ROD, WIDTH = 0.2, 0.06, 0.25, 0.6, 0.05


def robot(rubs: int) -> da.Model:
    """The robot, whose hips follow sines by controlled torques, with friction in so many of its joints."""
    model = da.Model("Delta robot")
    angle = 0.3
    reach = BASE + ARM * math.cos(angle)
    drop = math.sqrt(ROD**2 - (reach - PLATFORM) ** 2) + ARM * math.sin(angle)
    model.disc("platform", (0, 0, -drop), 1.2 * PLATFORM, thickness=0.01, mass=0.5)
    pins, balls = list[str](), list[str]()
    for i in range(3):
        heading = 2 * math.pi * i / 3
        c, s = math.cos(heading), math.sin(heading)
        out, side = np.array([c, s, 0]), np.array([-s, c, 0])
        hip, elbow = BASE * out, reach * out - [0, 0, ARM * math.sin(angle)]
        link = model.body(f"arm{i}", **parts.rod(0.3, tuple(hip), tuple(elbow), radius=0.012))
        model.revolute(f"hip{i}", model.ground, link, point=tuple(hip), axis=tuple(side))
        model.joint_force(f"motor{i}", f"hip{i}", value=f"-1.2 + 40*(0.25*sin({5 + i}*t) - q(hip{i})) - 4*u(hip{i})")
        pins.append(f"hip{i}")
        for sign in (1, -1):
            above, below = elbow + sign * WIDTH * side, PLATFORM * out + sign * WIDTH * side - [0, 0, drop]
            along = (below - above) / ROD
            bar = model.body(f"rod{i}{sign}", **parts.rod(0.06, tuple(above), tuple(below), radius=0.005))
            cross = model.body(f"cross{i}{sign}", mass=0.02, com=tuple(above), inertia=(2e-6, 2e-6, 2e-6))
            model.revolute(f"pin{i}{sign}", link, cross, point=tuple(above), axis=tuple(side))
            model.revolute(f"elbow{i}{sign}", cross, bar, point=tuple(above), axis=tuple(np.cross(along, side)))
            model.spherical(f"ball{i}{sign}", bar, "platform", point=tuple(below))
            pins += [f"pin{i}{sign}", f"elbow{i}{sign}"]
            balls.append(f"ball{i}{sign}")
    for joint in (pins + balls)[:rubs]:
        model.friction(f"rub {joint}", joint, coefficient=0.1, radius=0.004)
    for i in range(3):
        model.initial(f"hip{i}", rate=0.25 * (5 + i))
    return model


def least(call: Callable[[], object], count: int) -> float:
    """Seconds of processor time of one of ``count`` calls, the least."""
    times = list[float]()
    for _ in range(count):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def in_turn(calls: dict[int, Callable[[], object]], count: int) -> tuple[dict[int, float], float]:
    """Seconds of each of the two calls, the least of ``count`` in turn; and the median ratio of the second to the
    first."""
    times = np.array([[least(call, 1) for call in calls.values()] for _ in range(count)])
    return dict(zip(calls, times.min(axis=0).tolist(), strict=True)), float(np.median(times[:, 1] / times[:, 0]))


def until(run: da.Trajectory) -> float:
    """The time of its first event."""
    return run.events[0].time if run.events else math.inf


def evaluation(model: da.Model, run: da.Trajectory, end: float) -> Callable[[], object]:
    """u̇ and λ along the states of a run up to a time, over and over: ``EVALUATIONS`` of them."""
    dynamics = da.compile(model)
    at = np.resize(np.flatnonzero(run.values("time") < end), EVALUATIONS)
    q, u, t = run.values("q")[at], run.values("u")[at], run.values("time")[at]
    states = np.hstack([q, u, np.zeros((len(q), 1))])
    context = dynamics.context(run.segments[0][1])
    du, multipliers = np.empty_like(u), np.empty((len(q), len(dynamics.rows)))
    return lambda: accelerations_along(context, t, states, np.zeros_like(u), du, multipliers)


def impact(duration: float = 56.5) -> tuple[int, float]:
    """How many impacts of a ball there were, and milliseconds of each."""
    model = da.Model("ball")
    model.sphere("ball", (0, 0, 0.1), radius=0.1, mass=1.0)
    guide = model.prismatic("guide", model.ground, "ball", point=(0, 0, 0), axis="z")
    model.initial(guide, value=1.0)
    flies = least(lambda: da.simulate(model, duration, certify=False), 10)
    model.limit("floor", guide, lower=0, restitution=0.99)
    count = len(da.simulate(model, duration, certify=False).events)
    return count, 1e3 * (least(lambda: da.simulate(model, duration, certify=False), 10) - flies) / count


def main(duration: float = 1.0) -> None:
    models = {rubs: robot(rubs) for rubs in (0, 20)}
    options = {"output_step": 0.005, "certify": False}
    runs = {rubs: da.simulate(model, duration, **options) for rubs, model in models.items()}
    calls = {rubs: evaluation(model, runs[rubs], until(runs[20])) for rubs, model in models.items()}
    steps = {rubs: run.certificate.counts["steps"] + run.certificate.counts["rejected"] for rubs, run in runs.items()}
    print(f"{duration:g} s of motion; joints come to a halt {len(runs[20].events)} times")

    def show(what: str, scale: float, found: dict[int, float], ratio: float, parts: dict[int, int]) -> None:
        cost = {rubs: scale * found[rubs] / parts[rubs] for rubs in found}
        ratio *= parts[0] / parts[20]
        print(f"{what:<20} without friction {cost[0]:7.2f}   with {cost[20]:7.2f}   ratio {ratio:.2f}")

    show("an evaluation (µs)", 1e6, *in_turn(calls, 200), dict.fromkeys(runs, EVALUATIONS))
    again = {rubs: lambda model=model: da.simulate(model, duration, **options) for rubs, model in models.items()}
    found = in_turn(again, 30)
    show("a run (ms)", 1e3, *found, {0: 1, 20: 1})
    show("a step (µs)", 1e6, *found, steps)
    print("{} impacts, {:.2f} ms each".format(*impact()))


if __name__ == "__main__":
    main()
