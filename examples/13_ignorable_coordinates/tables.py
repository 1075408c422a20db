"""The tables of a paper on ignorable coordinates, made again: ``python examples/13_ignorable_coordinates/tables.py``.

M. H. Yoosefian Nooshabadi, H. Nejat Pishkenari, "Development of an efficient formulation for Volterra's equations of
motion for multibody dynamical systems", tables 1, 3, 6 and 9. Mechanisms and assumptions: ``cases.py``.

Steps. The paper says "ode45", 50 s, "time step fixed at" 0.01 s (table 3) or 0.1 s (tables 6 and 9). Errors of 1e-14 in
table 9 come about if no step of the pair of Dormand and Prince is longer than 0.1 s, and so do those of table 6. Errors
of 1e-4 in table 3 do not: with steps of 0.01 s all methods are at 1e-12. There, 0.01 s must be the output interval
only, and a tolerance sets the steps: 1e-6 gives errors of the published size.

Norms. They are 2-norms over all outputs of the error relative to the value at the start (of the constraint: of its
residual). These give the sizes of table 9.

States. Table 9 counts 15 and 12, one more than coordinates and velocities: the work of the force is integrated along.
We integrate it always, and do not count it.

What comes out. All counts are as published. The reduced equations keep momenta and constraints to round-off, and have
the smallest energy errors, everywhere. The order of all methods is as published. In table 3 that of Lagrange and
Gibbs-Appell is a matter of the tolerance, though (and of masses and the origin of the angles): with others than 1e-6
the one or the other is better, as the last lines show. Both errors are errors of the cart's momentum, which is a matter
of where the steps happen to lie; and the quasi-velocity of the paper, θ̇1 − θ̇2 = (1 + cos(θ1 − θ2)) θ̇1, dies out while
the bars fold, so that the tolerance loses its grip on it.
"""

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cases import CASES, Case

import dalembert as da
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.equations.ignorable_coordinates import ignorable_of
from dalembert.equations.quasi_velocities import plan_of
from dalembert.equations.sampled import symbolic
from dalembert.formulations.shared.analytical import AnalyticalFormulation
from dalembert.integrators.runge_kutta import RungeKutta4
from dalembert.integrators.scipy_ivp import SciPy

DURATION = 50.0
METHODS = ["lagrange", "maggi", "udwadia-kalaba", "boltzmann-hamel", "volterra", "kane", "gibbs-appell", "hamilton"]
METHODS += ["routh", "volterra-reduced"]


# Table 1: counts


def counts(case: Case, method: Any) -> tuple[int, int | None, int | None]:
    """Equations of motion, unknowns of the linear system, state variables; as the code has them."""
    (entry,) = da.compare(case.model, 0.02, formulations=method, coordinates=case.coordinates)
    assert entry.status == "trusted", entry.reason
    dynamics = da.compile(case.model, formulation=method, coordinates=case.coordinates)
    if not isinstance(dynamics.formulation, AnalyticalFormulation):
        return dynamics.nv, entry.unknowns, entry.states
    equations, _ = symbolic(dynamics.coordinates, CASADI)
    derived = dynamics.formulation.derive(dynamics.formulation.mechanics(equations))
    return len(derived.w), entry.unknowns, entry.states


def letters(case: Case) -> dict[str, int]:
    """m, p, s and what can be made of them."""
    coordinates = da.compile(case.model, formulation="lagrange", coordinates=case.coordinates).coordinates
    m, r, s = coordinates.nv, len(plan_of(coordinates).rows), len(ignorable_of(coordinates).indices)
    p = m - r
    return {
        "m": m, "p": p, "m - s": m - s, "p - s": p - s, "m + r": m + r, "2m": 2 * m, "m + p": m + p,
        "2m - s": 2 * m - s, "m + p - s": m + p - s,
    }  # fmt: skip


def table_1() -> dict[str, tuple[str, str, str]]:
    """The letters that give the counts in all three cases."""
    known = [letters(case) for case in CASES.values()]
    found = {}
    for method in METHODS:
        seen = zip(*(counts(case, method) for case in CASES.values()), strict=True)
        found[method] = tuple(
            next(name for name in known[0] if [case[name] for case in known] == list(count)) for count in seen
        )
    return found


# Tables 3, 6, 9: errors


def integrator(case: Case) -> SciPy:
    """Steps of ode45, see above."""
    if case.step < 0.1:
        return SciPy(method="RK45", rtol=1e-6, atol=1e-9)
    return SciPy(method="RK45", rtol=1e-3, atol=1e-6, max_step=case.step)


def errors(dynamics: da.Dynamics, case: Case, steps: Any) -> dict[str, np.ndarray]:
    """Of energy and momentum along x, relative to their start, and of the constraints."""
    options = {"integrator": steps, "stabilization": "none", "output_step": case.step}
    run = da.simulate(dynamics, DURATION, **options)
    assert run.time.values[-1] == DURATION
    energy, momentum = run.energy.balance.values, run.momentum.linear.sel(axis="x").values
    constraint = np.zeros((len(energy), 0))
    if dynamics.rows:
        constraint = np.asarray(dynamics.residuals(run.time.values, run.q.values, run.u.values).velocity)
    return {
        "time": run.time.values,
        "energy": energy / energy[0] - 1,
        "constraint": constraint[:, 0] if constraint.size else np.zeros(0),
        "momentum": momentum / momentum[0] - 1,
        "seconds": run.data.attrs["seconds"],
    }


def table(case: Case) -> dict[str, dict[str, Any]]:
    """Errors along the run, and the time of a run with fixed steps (the shortest of five), of all methods."""
    rows = {}
    for name, method in case.methods.items():
        dynamics = da.compile(case.model, formulation=method, coordinates=case.coordinates)
        rows[name] = errors(dynamics, case, integrator(case))
        rows[name]["cpu"] = min(errors(dynamics, case, RungeKutta4(step=case.step))["seconds"] for _ in range(5))
    return rows


def ratios(case: Case, tolerances: Any) -> dict[str, np.ndarray]:
    """Norms of the energy errors for several tolerances, over that of Lagrange's equations; also with quasi-velocities
    that the program chooses.
    """
    chosen = {f"{name}, own choice": (name, "generalized") for name in ("gibbs-appell", "volterra-reduced")}
    norms = {}
    for name, pair in ({name: (method, case.coordinates) for name, method in case.methods.items()} | chosen).items():
        dynamics = da.compile(case.model, formulation=pair[0], coordinates=pair[1])
        steps = (SciPy(method="RK45", rtol=rtol, atol=rtol / 1000) for rtol in tolerances)
        norms[name] = np.array([np.linalg.norm(errors(dynamics, case, each)["energy"]) for each in steps])
    return {name: norm / norms["lagrange"] for name, norm in norms.items()}


# Printing


def print_table(title: str, case: Case, rows: dict[str, dict[str, Any]]) -> None:
    print(f"\n{title}: ours, published")
    print(f"{'':18}states   equations  energy             constraint         momentum (x)       time")
    for name, row in rows.items():
        states, equations, *known = case.published[name]
        n, _, own = counts(case, case.methods[name])
        cells = []
        for what, value in zip(("energy", "constraint", "momentum"), known, strict=True):
            cells.append(f"{np.linalg.norm(row[what]):.1e}, {value:.1e}" if value is not None else "")
        time = row["cpu"] / rows["lagrange"]["cpu"]
        print(
            f"{name:18}{own:2}, {states:2}   {n}, {equations}       "
            + "".join(f"{c:19}" for c in cells)
            + f"{time:.2f}"
        )


def picture(results: dict[str, dict[str, dict[str, Any]]], path: Path) -> None:
    """Errors over time, as in figures 2 to 4, 8, 9, 13, 14."""
    figure, axes = plt.subplots(3, 3, figsize=(11, 8), layout="constrained", sharex=True)
    for (title, rows), line in zip(results.items(), axes, strict=True):
        for what, ax in zip(("energy", "momentum", "constraint"), line, strict=True):
            if not rows["lagrange"][what].size:
                ax.axis("off")
                continue
            for (name, row), style in zip(rows.items(), ("-", "--", "-", "-"), strict=True):
                ax.semilogy(row["time"], np.maximum(np.abs(row[what]), 1e-17), style, lw=1, label=name)
            ax.set_title(f"{what} error" + (f": {title.split(' (')[0]}" if what == "energy" else ""), fontsize=9)
            ax.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    for ax in axes[2, :2]:
        ax.set_xlabel("time (s)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Print all tables, and leave a picture."""
    print("Table 1: equations, unknowns of the linear system, state variables")
    for method, row in table_1().items():
        print(f"{method:18}" + "".join(f"{cell:12}" for cell in row))
    results = {}
    for title, case in CASES.items():
        results[title] = table(case)
        print_table(title, case, results[title])
    case = next(iter(CASES.values()))
    print("\nEnergy error of the cart over that of Lagrange's equations, tolerances 1e-3 … 1e-7")
    for name, found in ratios(case, np.geomspace(1e-3, 1e-7, 13)).items():
        middle = np.exp(np.log(found).mean())
        print(f"{name:30}{found.min():.3f} … {found.max():.3f}, in the (geometric) mean {middle:.3f}")
    picture(results, Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", ".")) / "tables.png")


if __name__ == "__main__":
    main()
