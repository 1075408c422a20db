"""Windows of four bars in a row (IFToMM A02): the cost of one evaluation over their number, and a run against Exudyn.

    python benchmarks/windows.py [--quick]

Writes ``docs/images/windows.png``. Each run of the comparison is 10 s of two windows; ratios are those of the
wall times of the time loops, at an energy error that is no larger.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da
from dalembert.analyses.assemble import assemble_state
from dalembert.dynamics import Context
from dalembert.numerics.native import call_address

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "windows.png"
SIZES = (10, 20, 40, 100, 200, 400)
DENSE = (1, 2, 5, 10, 20)


def evaluation(n: int, formulation: str, coordinates: str) -> float:
    """Seconds of one evaluation of u̇ and λ."""
    dynamics = da.compile(da.library.n_four_bar(n=n), formulation=formulation, coordinates=coordinates)
    state = assemble_state(dynamics.relative, {"A0": 0.2}, {"A0": -1.0}, None, 0.0)
    y = np.concatenate([*state.to(dynamics.coordinates), [0.0]])
    context, rate = Context(dynamics), np.empty_like(y)

    def seconds(count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            call_address(context.rhs, context.address, 0.0, y, rate)
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
    for formulation, coordinates, sizes, colour, style in cases:
        shown = sizes[:3] if quick else sizes
        values = [1e6 * evaluation(n, formulation, coordinates) / n for n in shown]
        row = "  ".join(f"{n}: {v:.2f}" for n, v in zip(shown, values, strict=True))
        print(f"  {formulation}, {coordinates:<9} {row}")
        axes.loglog(shown, values, style, color=colour, label=f"{formulation}, {coordinates} coordinates")
    axes.set(xlabel="windows", ylabel="µs per window", title="One evaluation of a row of four-bars, one thread")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(PICTURE, dpi=130)
    print(f"wrote {PICTURE}")


def exudyn_system(n: int) -> Any:
    """The same windows in Exudyn."""
    import exudyn
    from exudyn.utilities import RigidBodyInertia

    container = exudyn.SystemContainer()
    system = container.AddSystem()
    ground, gravity = system.CreateGround(), [0, -9.81, 0]
    upright, level = (RigidBodyInertia(1, np.diag(J)) for J in ([1 / 12, 6e-4, 1 / 12], [6e-4, 1 / 12, 1 / 12]))
    cranks = [
        system.CreateRigidBody(
            referencePosition=[i, 0.5, 0], inertia=upright, gravity=gravity,
            initialVelocity=[0.5, 0, 0], initialAngularVelocity=[0, 0, -1],
        )
        for i in range(n + 1)
    ]  # fmt: skip
    bars = [
        system.CreateRigidBody(
            referencePosition=[i + 0.5, 1, 0], inertia=level, gravity=gravity, initialVelocity=[1, 0, 0]
        )
        for i in range(n)
    ]
    for i, crank in enumerate(cranks):
        system.CreateRevoluteJoint(bodyNumbers=[ground, crank], position=[i, 0, 0], axis=[0, 0, 1])
    for i, bar in enumerate(bars):
        system.CreateRevoluteJoint(bodyNumbers=[cranks[i], bar], position=[i, 1, 0], axis=[0, 0, 1])
        system.CreateRevoluteJoint(bodyNumbers=[bar, cranks[i + 1]], position=[i + 1, 1, 0], axis=[0, 0, 1])
    system.Assemble()
    return container, system, cranks, bars


def exudyn_run(n: int, step: float) -> tuple[float, float]:
    """Seconds of Exudyn's solver, and how far the energy is off at the end (J)."""
    import exudyn

    _, system, cranks, bars = exudyn_system(n)
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(10 / step)
    settings.timeIntegration.endTime = 10
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.linearSolverType = exudyn.LinearSolverType.EigenDense
    settings.linearSolverSettings.ignoreSingularJacobian = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.useModifiedNewton = True
    began = time.perf_counter()
    system.SolveDynamic(settings)
    seconds = time.perf_counter() - began
    energy = 0.0
    for body in [*cranks, *bars]:
        position, velocity, omega = (
            np.array(system.GetObjectOutput(body, variable))
            for variable in (
                exudyn.OutputVariableType.Position,
                exudyn.OutputVariableType.Velocity,
                exudyn.OutputVariableType.AngularVelocity,
            )
        )
        energy += velocity @ velocity / 2 + omega[2] ** 2 / 24 + 9.81 * position[1]
    start = (n + 1) * (0.125 + 1 / 24 + 9.81 / 2) + n * (0.5 + 9.81)
    return seconds, abs(energy - start)


def loop_run(dynamics: da.Dynamics, state: da.State, **options: Any) -> tuple[float, float]:
    """Seconds of our time loop, and how far the energy is off (J)."""
    run = da.simulate(dynamics, 10.0, initial=state, output_step=0.1, **options)
    return run.data.attrs["seconds"], float(np.ptp(run.data.balance.values))


def against_exudyn() -> None:
    model = da.library.n_four_bar(n=2, angle=0.0, speed=1.0)
    dynamics, state = da.compile(model, formulation="lagrange-multipliers"), da.assemble(model)
    exudyn_run(2, 0.01)
    theirs, their_error = min(exudyn_run(2, 0.01) for _ in range(5))
    print(f"Exudyn, h = 0.01 s: {1e3 * theirs:.1f} ms, energy off by {their_error:.1e} J")
    ours = [
        ("tsit5, rtol = 1e-4", {"integrator": "tsit5", "rtol": 1e-4, "atol": 1e-6}),
        ("rk4, h = 0.02 s", {"integrator": "rk4", "step": 0.02}),
        ("dopri8, rtol = 1e-9", {"integrator": "dopri8", "rtol": 1e-9, "stabilization": "stages"}),
    ]
    for name, options in ours:
        loop_run(dynamics, state, **options)
        seconds, error = min(loop_run(dynamics, state, **options) for _ in range(5))
        ratio = theirs / seconds
        print(f"  {name:<22} {1e3 * seconds:6.2f} ms, energy off by {error:.1e} J: {ratio:5.1f} times as fast")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers of windows only")
    costs(parser.parse_args().quick)
    against_exudyn()


if __name__ == "__main__":
    main()
