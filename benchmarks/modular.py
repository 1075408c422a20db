"""What one evaluation costs all at once and from the parts to the whole, for more and more windows side by side.

    python benchmarks/modular.py                      10 … 100 windows in relative, 5 … 20 in absolute coordinates
    python benchmarks/modular.py absolute 5 10 40     these
    python benchmarks/modular.py rhs                  whole right-hand sides, beside those of lagrange-multipliers

Every window is a sub-model of two bodies; the time is that of the solution for u̇ and λ alone, without the kernel that
gives M, f, A and γ. The least of many, in microseconds.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import dalembert as da
from dalembert.native import native
from dalembert.numerics.elimination_plan import Plan
from dalembert.numerics.linear import solve_constrained
from dalembert.numerics.tree_elimination import solve_hierarchy


def windows(n: int) -> da.Model:
    """n windows in a row, each of which leans on the next; a last crank closes the row."""
    window = da.Model("window")
    window.body("crank", mass=1, com=(0, 0.5, 0), inertia=(0.1, 0.01, 0.1))
    window.body("coupler", mass=1, com=(0.5, 1, 0), inertia=(0.01, 0.1, 0.1))
    window.revolute("foot", "ground", "crank", point=(0, 0, 0), axis="z")
    window.revolute("head", "crank", "coupler", point=(0, 1, 0), axis="z")
    model = da.Model("windows", gravity=(1.0, -9.81, 0))
    for k in range(n):
        model.add(window, f"w{k}", pose=(k, 0, 0))
    model.body("last", mass=1, com=(n, 0.5, 0), inertia=(0.1, 0.01, 0.1))
    model.revolute("last foot", "ground", "last", point=(n, 0, 0), axis="z")
    for k in range(n):
        neighbor = f"w{k + 1}.crank" if k < n - 1 else "last"
        model.revolute(f"tie{k}", f"w{k}.coupler", neighbor, point=(k + 1, 1, 0), axis="z")
    return model


@native
def _flat(count: int, M, f, A, gamma, du, multipliers):
    for _ in range(count):
        solve_constrained(M, f, A, gamma, du, multipliers)


@native
def _modular(count: int, p: Plan, M, f, A, gamma, du, multipliers):
    for _ in range(count):
        solve_hierarchy(p, M, f, A, gamma, du, multipliers)


def least(call: Any, *arguments: Any) -> float:
    """Seconds of one call, the least of many."""
    call(1, *arguments)
    begin = time.perf_counter()
    call(10, *arguments)
    count = max(1, int(0.002 * 10 / (time.perf_counter() - begin)))
    best = np.inf
    for _ in range(25):
        begin = time.perf_counter()
        call(count, *arguments)
        best = min(best, (time.perf_counter() - begin) / count)
    return best


def measure(n: int, coordinates: str) -> None:
    """One line of the table."""
    model = windows(n)
    dynamics = da.compile(model, formulation="modular", coordinates=coordinates)
    q, u = da.assemble(model).to(dynamics.coordinates)
    kernel = dynamics.dynamics_kernel
    values = dict(zip(kernel.outputs, kernel(0.0, q, u, dynamics.parameters(), np.zeros(dynamics.nv)), strict=True))
    blocks = [np.ascontiguousarray(values[name]) for name in ("mass_matrix", "forcing", "jacobian", "gamma")]
    du, multipliers = np.empty((2, dynamics.nv)), np.empty((2, len(dynamics.rows)))
    flat = least(_flat, *blocks, du[0], multipliers[0])
    # One node is the null space of the whole, in the formulation too.
    nodes, last = dynamics.kernels.plan.nodes, (*blocks, du[1], multipliers[1])
    modular = least(_flat, *last) if nodes == 1 else least(_modular, dynamics.kernels.plan, *last)
    assert np.allclose(du[0], du[1], rtol=0, atol=1e-9) and np.allclose(multipliers[0], multipliers[1], atol=1e-8)
    sizes = f"{coordinates:9} {n:4} windows {dynamics.nv:5} velocities {len(dynamics.rows):5} rows"
    print(
        f"{sizes}   all at once {1e6 * flat:8.1f}   {nodes:3} nodes {1e6 * modular:8.1f}   per window "
        f"{1e6 * modular / n:5.2f}"
    )


def right_hand_side(model: da.Model, formulation: str, coordinates: str) -> float:
    """Seconds of one evaluation, the least of many."""
    dynamics = da.compile(model, formulation=formulation, coordinates=coordinates)
    y = np.concatenate([*da.assemble(model).to(dynamics.coordinates), [0.0]])
    problem, _ = dynamics.problem(None, ("rhs",), (0.0, y), None)
    out, best = np.empty(len(y)), np.inf
    for _ in range(200):
        begin = time.perf_counter()
        problem.rhs(0.0, y, out)
        best = min(best, time.perf_counter() - begin)
    return best


def beside_multipliers() -> None:
    """The table of right-hand sides."""
    models = {"four-bar": da.library.four_bar(), "5 windows": windows(5), "20 windows": windows(20)}
    for name, model in models.items():
        for coordinates in ("relative", "absolute"):
            ours, other = (right_hand_side(model, one, coordinates) for one in ("modular", "lagrange-multipliers"))
            times = f"modular {1e6 * ours:7.1f}   multipliers {1e6 * other:7.1f}   {ours / other:5.2f}"
            print(f"{name:10} {coordinates:9} {times}")


def main() -> None:
    if sys.argv[1:] == ["rhs"]:
        beside_multipliers()
        return
    asked = {sys.argv[1]: [int(n) for n in sys.argv[2:]]} if len(sys.argv) > 2 else {}
    for coordinates, sizes in (asked or {"relative": [10, 20, 50, 100], "absolute": [5, 10, 20]}).items():
        for n in sizes:
            measure(n, coordinates)


if __name__ == "__main__":
    main()
