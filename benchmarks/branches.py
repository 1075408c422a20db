"""Would it pay to evaluate the branches of a large tree on threads?

    python benchmarks/branches.py [BODIES …]

A tree of two equal branches on one base. By the recursive formulation in rolled kernels, at one state at a time:

- T, one evaluation of the whole tree, and of one branch alone (processor time, least of many);
- two branches evaluated at the same time by two threads (wall time, least of many): the most that threads can give,
  since nothing is passed between the branches;
- h, one handover to a waiting thread and back (wall time, least of many).

An evaluation that waits for its branches needs two handovers, after the way in and after the way out, so it takes at
least T/2 + 2 h, and threads pay where that is less than T: from T = 4 h on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import dalembert as da

TURNS = 60


def tree(branches: int, bodies: int) -> da.Model:
    """Chains of bars that hang on one base body."""
    model = da.Model(f"{branches} branches of {bodies}")
    model.body("base", mass=5, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("base", model.ground, "base", point=(0, 0, 0), axis="z")
    for k in range(branches):
        before = "base"
        for i in range(bodies):
            name, x = f"b{k}.{i}".replace(".", "_"), 0.1 * i
            model.body(name, mass=0.1, com=(x + 0.05, k, 0), inertia=(1e-4, 1e-4, 1e-4))
            model.revolute(name, before, name, point=(x, k, 0), axis="y" if i % 2 else "z")
            before = name
    return model


def evaluation(model: da.Model) -> Callable[[], object]:
    """The accelerations at one state."""
    dynamics = da.compile(model, formulation="recursive")
    rng = np.random.default_rng(1)
    q, u = 0.1 * rng.normal(size=dynamics.nq), rng.normal(size=dynamics.nv)
    return lambda: dynamics.acceleration(q, u)


def least(call: Callable[[], object], clock: Callable[[], float], turns: int = TURNS) -> float:
    """The shortest time of a call (s)."""
    call()
    found: list[float] = []
    for _ in range(turns):
        began = clock()
        call()
        found.append(clock() - began)
    return min(found)


def handover(turns: int = 2000) -> float:
    """To a waiting thread and back (s)."""
    there, back = threading.Semaphore(0), threading.Semaphore(0)

    def answer() -> None:
        for _ in range(turns + 1):
            there.acquire()
            back.release()

    thread = threading.Thread(target=answer)
    thread.start()

    def call() -> None:
        there.release()
        back.acquire()

    seconds = least(call, time.perf_counter, turns)
    thread.join()
    return seconds


def main() -> None:
    """Print the table."""
    h = handover()
    print(f"handover and back: {h * 1e6:.0f} µs; threads pay from T = {4 * h * 1e6:.0f} µs on\n")
    print("| bodies | T (µs) | one branch (µs) | both on two threads (µs) | T/2 + 2 h (µs) |\n|---|---|---|---|---|")
    for bodies in [int(text) for text in sys.argv[1:]] or [50, 200, 1000, 4000]:
        whole = least(evaluation(tree(2, bodies // 2)), time.process_time)
        half = evaluation(tree(1, bodies // 2))
        alone = least(half, time.process_time)
        with ThreadPoolExecutor(2) as pool:
            both = least(lambda half=half, pool=pool: list(pool.map(lambda _: half(), range(2))), time.perf_counter)
        row = (whole, alone, both, whole / 2 + 2 * h)
        print(f"| {bodies} | " + " | ".join(f"{seconds * 1e6:.0f}" for seconds in row) + " |", flush=True)


if __name__ == "__main__":
    main()
