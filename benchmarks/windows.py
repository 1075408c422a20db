"""Windows of four bars in a row (IFToMM A02): the cost of one evaluation over their number, and a run against Exudyn.

    python benchmarks/windows.py [--quick]

Writes ``docs/images/windows.png``. Each run of the comparison is 10 s of two windows; ratios are those of the
wall times of the time loops, at an error of the crank's angle that is no larger.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from simulate import ExudynMechanism

import dalembert as da
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.dynamics.evaluate import accelerations_along

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "windows.png"
SIZES = (10, 20, 40, 100, 200, 400)
DENSE = (1, 2, 5, 10, 20)


def evaluation(n: int, formulation: str, coordinates: str) -> float:
    """Seconds of one evaluation of u̇ and λ."""
    dynamics = da.compile(da.library.n_four_bar(n=n), formulation=formulation, coordinates=coordinates)
    state = assemble_state(dynamics.relative, {"A0": 0.2}, {"A0": -1.0}, None, 0.0)
    y = np.concatenate([*state.to(dynamics.coordinates), [0.0]])
    context, nv, rows = dynamics.context(), dynamics.nv, len(dynamics.rows)

    def seconds(count: int) -> float:
        states, none = np.tile(y, (count, 1)), np.zeros((count, nv))
        du, multipliers = np.empty((count, nv)), np.empty((count, rows))
        began = time.perf_counter()
        accelerations_along(context, np.zeros(count), states, none, du, multipliers)
        return (time.perf_counter() - began) / count

    once = seconds(3)
    return min(seconds(max(1, int(0.02 / once))) for _ in range(5))


def costs(quick: bool) -> None:
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    cases = [
        ("recursive", "relative", SIZES, "#2563eb", "o-"),
        ("recursive", "absolute", SIZES, "#0d9488", "s-"),
        ("lagrange-multipliers", "relative", DENSE, "#b0b7c3", "^-"),
    ]
    print("µs per window in one evaluation")
    for formulation, coordinates, sizes, color, style in cases:
        shown = sizes[:3] if quick else sizes
        values = [1e6 * evaluation(n, formulation, coordinates) / n for n in shown]
        row = "  ".join(f"{n}: {v:.2f}" for n, v in zip(shown, values, strict=True))
        print(f"  {formulation}, {coordinates:<9} {row}")
        axes.loglog(shown, values, style, color=color, label=f"{formulation}, {coordinates} coordinates")
    axes.set(xlabel="windows", ylabel="µs per window", title="One evaluation of a row of four-bars, one thread")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(PICTURE, dpi=130)
    print(f"wrote {PICTURE}")


def exact(n: int, times: np.ndarray) -> np.ndarray:
    """θ(t) of the pendulum that the windows are."""
    a = ((n + 1) / 2 + n) / ((n + 1) / 3 + n) * 9.81
    ode = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13, "t_eval": times}
    return solve_ivp(lambda _, y: [y[1], a * np.sin(y[0])], (0, times[-1]), [0.0, 1.0], **ode).y[0]


def against_exudyn(n: int = 2, step: float = 0.01) -> None:
    """Ten seconds of the benchmark; ours must be no less accurate at any output."""
    model, times = da.library.n_four_bar(n=n, angle=0.0, speed=1.0), np.linspace(0, 10, 101)
    dynamics, state, theta = da.compile(model, formulation="lagrange-multipliers"), da.assemble(model), exact(n, times)
    theirs = []
    for _ in range(5):
        mechanism = ExudynMechanism(dynamics, state)
        settings = mechanism.settings(10.0, 100, round(0.1 / step), 1e-8)
        began = time.perf_counter()
        angle = mechanism.run("GeneralizedAlpha", settings)
        theirs.append(time.perf_counter() - began)
        off = float(np.abs(-angle - theta).max())
    print(f"Exudyn, h = {step} s: {1e3 * min(theirs):.1f} ms, angle off by {off:.1e} rad")
    ours = [
        ("tsit5, rtol = 1e-4", {"integrator": "tsit5", "rtol": 1e-4, "atol": 1e-6}),
        ("rk4, h = 0.02 s", {"integrator": "rk4", "step": 0.02}),
        ("dopri8, rtol = 1e-9", {"integrator": "dopri8", "rtol": 1e-9, "stabilization": "stages"}),
    ]
    for name, options in ours:
        runs = [da.simulate(dynamics, 10.0, initial=state, output_step=0.1, **options) for _ in range(6)]
        seconds = min(run.data.attrs["seconds"] for run in runs[1:])
        mine = float(np.abs(-runs[0].joint("A0").q.values - theta).max())
        verdict = f"{min(theirs) / seconds:5.1f} times as fast" if mine <= off else "less accurate"
        print(f"  {name:<22} {1e3 * seconds:6.2f} ms, angle off by {mine:.1e} rad: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers of windows only")
    costs(parser.parse_args().quick)
    against_exudyn()


if __name__ == "__main__":
    main()
