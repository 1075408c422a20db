"""What a subsystem costs where there are many: deriving, deriving again after one change, compiling, evaluating,
returning to the invariants.

    python benchmarks/many_subsystems.py [10 50 100 200 400]

*Row*: slider-cranks side by side in groups of ten, each tied to the next by a spring, no two of them equal (equal ones
are derived once). *Nest*: a chain in which every link holds the rest of the chain, as deep as it is long (up to 100).
Times are those of the processor, per subsystem; flat means that they do not grow with the number. *Again*: one
slider-crank gets another force, and the row is derived anew: the share of the first time. Both are the least of three,
the first ones of three rows without anything in common, the others after changes of three slider-cranks. A small system
that is derived, compiled and run before takes the costs of first use, which are those of no system.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.modular.compiled_system import CompiledSystem

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.many_subsystems import nest, row

GROUP = 10
TRIES = 3


def timed(call: Any) -> tuple[float, Any]:
    gc.collect()
    begin = time.process_time()
    found = call()
    return time.process_time() - begin, found


def derive(S: da.Subsystem) -> Any:
    """All equations of a system as a graph, by independent variables."""
    equations = S.equations()
    return equations.casadi.f_bar, equations


def evaluation(system: CompiledSystem) -> tuple[float, float]:
    """Seconds of one evaluation of the right-hand side, and of the way back onto the invariants from next to them."""
    problem, _ = system.problem(None, ("rhs",))
    eq = system.equations
    state = eq.consistent({})
    y, out = np.array([state[str(label)] for label in eq.state]), np.empty(len(eq.state))
    off = y + 1e-7 * np.random.default_rng(1).normal(size=len(y))
    assert problem.rhs(0.0, y, out) == 0
    best = [np.inf, np.inf]
    for _ in range(20):
        moved = off.copy()
        begin = time.perf_counter()
        problem.rhs(0.0, y, out)
        middle = time.perf_counter()
        assert problem.retract(0.0, moved, np.zeros(4)) == 0
        best = [min(best[0], middle - begin), min(best[1], time.perf_counter() - middle)]
    return best[0], best[1]


def made(kind: str, n: int, mark: str) -> tuple[da.Subsystem, list[da.Subsystem]]:
    """A system of n subsystems, and the slider-cranks in it."""
    return row(n, mark, GROUP, tied=True) if kind == "row" else (nest(n, mark)[0], [])


def measure(kind: str, n: int) -> None:
    """One line of the table."""
    first, again = np.inf, np.inf
    S, parts, equations = da.Subsystem("none"), list[da.Subsystem](), None
    for k in range(TRIES):
        S, parts = made(kind, n, f"{kind}{n}_{k}")
        taken, (_, equations) = timed(lambda S=S: derive(S))
        first = min(first, taken)
    system = CompiledSystem(equations)
    compiling, _ = timed(lambda: system.problem(None, ("rhs",)))
    evaluating, returning = evaluation(system)
    for k in range(TRIES if kind == "row" else 0):
        part = parts[(k + 1) * n // (TRIES + 1)]
        part.effective_forces({part.th: -0.1 * part.x**2})
        again = min(again, timed(lambda S=S: derive(S))[0])
    line = f"{kind:4} {n:4}   derive {1e3 * first / n:6.2f} ms   compile {1e3 * compiling / n:6.2f} ms"
    line += f"   right-hand side {1e6 * evaluating / n:6.2f} us   way back {1e6 * returning / n:6.2f} us"
    print(line + (f"   again {again / first:5.3f} of the first time" if kind == "row" else ""), flush=True)


def main() -> None:
    sizes = [int(n) for n in sys.argv[1:]] or [10, 50, 100, 200, 400]
    for kind in ("row", "nest"):
        evaluation(CompiledSystem(derive(made(kind, 4, f"first_{kind}")[0])[1]))
    for n in sizes:
        measure("row", n)
    for n in sizes:
        if n <= 100:
            measure("nest", n)


if __name__ == "__main__":
    main()
