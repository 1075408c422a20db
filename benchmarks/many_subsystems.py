"""What a subsystem costs where there are many: deriving, deriving again after one change, compiling, evaluating.

    python benchmarks/many_subsystems.py [10 50 100 200 400]

*Row*: slider-cranks side by side in groups of ten, each tied to the next by a spring, no two of them equal (equal ones
are derived once). *Nest*: a chain in which every
link holds the rest of the chain, as deep as it is long (up to 100). Times are those of the processor, per subsystem;
flat means that they do not grow with the number. *Again*: one slider-crank gets another force, and the row is derived anew: the share of the
first time.
"""

from __future__ import annotations

import gc
import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np
from sympy import cos, sin

import dalembert as da
from dalembert.modular.compiled_system import CompiledSystem

GROUP = 10


def slider_crank(mark: str) -> da.Subsystem:
    """A crank, a rod and a slider. The mark makes it another subsystem than those with other marks."""
    S = da.Subsystem("slider_crank")
    m, inertia, r, l, _ = S.parameters(m=1.0, I=0.1, r=0.3, l=1.0, **{mark: 0})
    th, ph, x = S.coordinates("th ph x")
    S.invariants(r * cos(th) + l * cos(ph) - x, r * sin(th) - l * sin(ph))
    S.effective_forces({x: -m * x.dd, th: -inertia * th.dd, ph: -0.1 * inertia * ph.dd})
    S.guess({th: 0.6, ph: 0.17, x: 1.23})
    return S


def row(n: int, mark: str) -> tuple[da.Subsystem, da.Subsystem]:
    """n slider-cranks in groups, no two of them equal; and one of them."""
    parts = [slider_crank(f"{mark}_{k}") for k in range(n)]
    root = da.Subsystem("row")
    k = root.parameters(k=10.0)
    groups = []
    for g in range(0, n, GROUP):
        group = da.Subsystem(f"group{g}")
        stiffness = group.parameters(k=10.0)
        views = [group.include(part, f"s{i}") for i, part in enumerate(parts[g : g + GROUP])]
        for a, b in pairwise(views):
            group.effective_forces({a.th: -stiffness * (a.th - b.th), b.th: -stiffness * (b.th - a.th)})
        groups.append(root.include(group, f"g{g}", parameters={"k": k}))
    for a, b in pairwise(groups):
        last = getattr(a, f"s{GROUP - 1}")
        root.effective_forces({last.th: -k * (last.th - b.s0.th), b.s0.th: -k * (b.s0.th - last.th)})
    return root, parts[n // 2]


def nest(n: int, mark: str) -> tuple[da.Subsystem, da.Subsystem]:
    """A chain of n links: each holds the next, which hangs on it; and the innermost."""
    link = da.Subsystem("link")
    m, inertia, a, _ = link.parameters(m=1.0, I=0.1, a=1.0, **{mark: 0})
    x, y, th = link.coordinates("x y th")
    link.effective_forces({x: -m * x.dd, y: -m * y.dd - 9.8 * m, th: -inertia * th.dd})
    inner = last = None
    for k in reversed(range(n)):
        S = da.Subsystem(f"n{k}")
        px, py = S.coordinates("p.x p.y")
        p = S.include(link, "l")
        S.invariants(p.x - px - p.a / 2 * cos(p.th), p.y - py - p.a / 2 * sin(p.th))
        if inner is not None:
            q = S.include(inner, "rest")
            S.invariants(q.p.x - px - p.a * cos(p.th), q.p.y - py - p.a * sin(p.th))
        S.guess({p.th: -1.0})
        inner, last = S, last or S
    assert inner is not None and last is not None
    inner.invariants(inner.p.x, inner.p.y)
    return inner, last


def timed(call: Any) -> tuple[float, Any]:
    gc.collect()
    begin = time.process_time()
    found = call()
    return time.process_time() - begin, found


def derive(S: da.Subsystem) -> Any:
    """All equations of a system as a graph, by independent variables."""
    equations = S.equations()
    return equations.casadi.f_bar, equations


def evaluation(system: CompiledSystem) -> float:
    """Seconds of one evaluation of the right-hand side."""
    problem, _ = system.problem(None, ("rhs",))
    eq = system.equations
    state = eq.consistent({})
    y, out = np.array([state[str(label)] for label in eq.state]), np.empty(len(eq.state))
    problem.rhs(0.0, y, out)
    best = np.inf
    for _ in range(20):
        begin = time.perf_counter()
        problem.rhs(0.0, y, out)
        best = min(best, time.perf_counter() - begin)
    return best


def measure(kind: str, n: int) -> None:
    """One line of the table."""
    S, part = (row if kind == "row" else nest)(n, f"{kind}{n}")
    first, (_, equations) = timed(lambda: derive(S))
    system = CompiledSystem(equations)
    compiling, _ = timed(lambda: system.problem(None, ("rhs",)))
    evaluating = evaluation(system)
    if kind == "row":
        part.effective_forces({part.th: -0.1 * part.x**2})
    again, _ = timed(lambda: derive(S))
    line = f"{kind:4} {n:4}   derive {1e3 * first / n:6.2f} ms   compile {1e3 * compiling / n:6.2f} ms"
    line += f"   right-hand side {1e6 * evaluating / n:6.2f} us"
    print(line + (f"   again {again / first:5.3f} of the first time" if kind == "row" else ""), flush=True)


def main() -> None:
    sizes = [int(n) for n in sys.argv[1:]] or [10, 50, 100, 200, 400]
    for n in sizes:
        measure("row", n)
    for n in sizes:
        if n <= 100:
            measure("nest", n)


if __name__ == "__main__":
    main()
