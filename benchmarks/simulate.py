"""Time loops: dalembert against MuJoCo, SciPy on SymPy, and Exudyn, in one run, as ratios.

    pip install ".[bench]" && python benchmarks/simulate.py [--quick]

Both sides are timed in turn, round by round; a row shows the median of the ratios peer/dalembert and their quartiles.
Only solving is counted: no reading of models, no compilation, no files. Before timing, the motions are compared.
"""

from __future__ import annotations

import argparse
import os
import sys

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
sys.exudynFast = True  # type: ignore[attr-defined]  # Exudyn's build without range checks

import math
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.integrators import INTEGRATORS

console = Console(width=160)
THREADS = os.cpu_count() or 1

# A seven-joint arm and a pendulum; what MuJoCo could do besides is switched off.
_HEAD = """<option timestep="0.001" integrator="RK4" gravity="0 0 -9.81">
  <flag contact="disable" constraint="disable" warmstart="disable"/></option>"""


def arm() -> str:
    """Seven links of 0.3 m, hinged about z and y in turn."""
    text = ""
    for i in reversed(range(7)):
        axis, m = ("0 0 1", "0 1 0")[i % 2], 4.0 - 0.4 * i
        text = (
            f'<body name="link{i}" pos="0 0 {0.3 if i else 0.1}"><joint name="joint{i}" type="hinge" axis="{axis}"/>'
            f'<inertial pos="0.01 -0.02 0.15" mass="{m}" '
            f'fullinertia="{0.03 * m} {0.028 * m} {0.006 * m} 0.001 0.002 0"/>{text}</body>'
        )
    return f'<mujoco model="arm">{_HEAD}<worldbody>{text}</worldbody></mujoco>'


PENDULUM = f"""<mujoco model="pendulum">{_HEAD}<worldbody><body name="rod">
  <joint name="hinge" type="hinge" axis="0 1 0"/>
  <inertial pos="0 0 -0.5" mass="1" diaginertia="0.08 0.08 0.001"/>
</body></worldbody></mujoco>"""


@dataclass(frozen=True)
class Row:
    """A ratio, what is required of it, and what both sides took."""

    name: str
    ours: str
    theirs: str
    ratios: np.ndarray
    required: float
    agreement: str

    def cells(self) -> list[str]:
        low, middle, high = np.quantile(self.ratios, (0.25, 0.5, 0.75))
        verdict = "yes" if middle >= self.required else "[bold red]NO[/]"
        spread = f"{low:.1f} … {high:.1f}"
        return [
            self.name,
            self.ours,
            self.theirs,
            f"{middle:.1f}",
            spread,
            f"{self.required:g}",
            verdict,
            self.agreement,
        ]


def seconds(call: Callable[[], object], repeat: int = 1) -> float:
    """The median time of a few calls."""
    samples = []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        samples.append(time.perf_counter() - began)
    return float(np.median(samples))


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Times of both sides, one after the other in each round."""
    ours(), theirs()
    times = np.array([(seconds(ours), seconds(theirs)) for _ in range(rounds)])
    return times[:, 0], times[:, 1]


def read_mjcf(text: str) -> da.Model:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.xml"
        path.write_text(text, encoding="utf-8")
        return da.read(path)


def prepared(dynamics: da.Dynamics, method, state: da.State):
    """A problem and a state that ``method.run`` takes."""
    y = np.concatenate([*state.to(dynamics.coordinates), [0.0]])
    problem, _ = dynamics.problem(None, method.needs, (0.0, y))
    return problem, y


# MuJoCo


def mujoco_arm(rounds: int) -> Row:
    """One arm, one thread, every step kept by both."""
    import mujoco
    from mujoco.rollout import Rollout

    text, n = arm(), 2000
    peer, dynamics = mujoco.MjModel.from_xml_string(text), da.compile(read_mjcf(text))
    rng = np.random.default_rng(0)
    q, u = rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7)
    h = peer.opt.timestep
    method, times = INTEGRATORS["rk4"](step=h), h * np.arange(n + 1)
    problem, y = prepared(dynamics, method, da.State(0.0, q, u, dynamics.coordinates, {}))
    data, start = mujoco.MjData(peer), np.concatenate([[0.0], q, u])[None]
    with Rollout(nthread=0) as pool:
        run = lambda: pool.rollout(peer, data, start, nstep=n, skip_checks=False)  # noqa: E731
        states = run()[0][0, :, 1:15]
        error = np.abs(method.run(problem, y, times).states[1:, :14] - states).max()
        assert error < 1e-8, f"the arms move differently: {error}"
        ours, theirs = in_turn(lambda: method.run(problem, y, times), run, rounds)
    micro = [f"{np.median(part) / n * 1e6:.2f} µs/step" for part in (ours, theirs)]
    return Row("RK4 step of a 7-joint arm: MuJoCo", *micro, theirs / ours, 3.0, f"{error:.0e} rad")


def mujoco_pendulums(rounds: int) -> Row:
    """Many pendulums on all threads, every step kept by both."""
    import mujoco
    from mujoco.rollout import Rollout

    samples, n = 10_000, 200
    peer, dynamics = mujoco.MjModel.from_xml_string(PENDULUM), da.compile(read_mjcf(PENDULUM))
    h, angles = peer.opt.timestep, np.random.default_rng(0).uniform(-3, 3, samples)
    start = np.column_stack([np.zeros(samples), angles, np.zeros(samples)])
    data = [mujoco.MjData(peer) for _ in range(THREADS)]

    def many() -> da.Batch:
        return da.simulate_many(
            dynamics, n * h, initial={"hinge": angles}, integrator="rk4", step=h, output_step=h, threads=THREADS
        )

    with Rollout(nthread=THREADS) as pool:
        run = lambda: pool.rollout(peer, data, start, nstep=n)  # noqa: E731
        error = np.abs(many().q.values[:, 1:, 0] - run()[0][:, :, 1]).max()
        assert error < 1e-10, f"the pendulums move differently: {error}"
        ours, theirs = in_turn(many, run, rounds)
    million = [f"{samples * n / np.median(part) / 1e6:.1f} M steps/s" for part in (ours, theirs)]
    name = f"{samples} pendulums at once, {THREADS} threads: MuJoCo rollout"
    return Row(name, *million, theirs / ours, 5.0, f"{error:.0e} rad")


# SciPy on SymPy


def sympy_double_pendulum(model: da.Model) -> Callable[[float, np.ndarray], list[float]]:
    """Lagrange's equations of the library's double pendulum, solved by hand, as a Python function of plain numbers."""
    import sympy as sp

    a, b, va, vb = sp.symbols("a b va vb")
    v = {name: sp.Float(value) for name, value in model.parameter_values.items()}
    l1, l2, m1, m2 = (v[key] for key in ("upper_length", "lower_length", "upper_mass", "lower_mass"))
    g, q, u = sp.Float(9.81), sp.Matrix([a, b]), sp.Matrix([va, vb])
    elbow = sp.Matrix([l1 * sp.sin(a), -l1 * sp.cos(a)])
    centers = [elbow / 2, elbow + l2 / 2 * sp.Matrix([sp.sin(a + b), -sp.cos(a + b)])]
    speeds = [center.jacobian(q) * u for center in centers]
    T = sum(m * (s.T * s)[0] / 2 for m, s in zip((m1, m2), speeds, strict=True))
    T += m1 * l1**2 / 24 * va**2 + m2 * l2**2 / 24 * (va + vb) ** 2
    V = g * (m1 * centers[0][1] + m2 * centers[1][1])
    p = sp.Matrix([T]).jacobian(u).T
    M = sp.simplify(p.jacobian(u))
    f = sp.simplify(sp.Matrix([T - V]).jacobian(q).T - p.jacobian(q) * u)
    return sp.lambdify((sp.Symbol("t"), (a, b, va, vb)), [va, vb, *M.LUsolve(f)], modules="math", cse=True)


def scipy_double_pendulum(rounds: int) -> Row:
    """Both with Dormand-Prince 8(5,3), the same tolerance and outputs."""
    from scipy.integrate import solve_ivp

    model, end = da.library.double_pendulum(), 5.0  # longer, and chaos makes rounding visible
    dynamics, rhs = da.compile(model), sympy_double_pendulum(model)
    times, rtol = np.linspace(0.0, end, 501), 1e-9
    tight = INTEGRATORS["dopri8"](rtol=1e-13, atol=1e-14)
    problem, y = prepared(dynamics, tight, da.assemble(model))

    def scipy(rtol: float = rtol) -> np.ndarray:
        return solve_ivp(rhs, (0.0, end), y[:4], "DOP853", times, rtol=rtol, atol=0.01 * rtol).y.T

    reference = tight.run(problem, y, times).states[:, :4]
    assert np.abs(scipy(1e-13) - reference).max() < 1e-8, "the double pendulums move differently"
    theirs_off = np.abs(scipy() - reference).max()
    # Ours may need a tighter tolerance to be as exact.
    for own in rtol * 0.5 ** np.arange(8):
        method = INTEGRATORS["dopri8"](rtol=own, atol=0.01 * own)
        ours_off = np.abs(method.run(problem, y, times).states[:, :4] - reference).max()
        if ours_off <= theirs_off:
            break
    ours, theirs = in_turn(lambda: method.run(problem, y, times), scipy, rounds)
    milli = [f"{np.median(part) * 1e3:.2f} ms" for part in (ours, theirs)]
    note = f"errors {ours_off:.1e} (rtol {own:.1e}), {theirs_off:.1e}" + " OURS IS WORSE" * bool(ours_off > theirs_off)
    return Row("double pendulum, rtol 1e-9: SciPy DOP853 on SymPy", *milli, theirs / ours, 30.0, note)


# Exudyn: planar rigid bodies with revolute joints, a slider by two coordinate constraints


class ExudynMechanism:
    """A planar mechanism of ours, in the same state, for Exudyn; the angle of the first body is watched."""

    def __init__(self, dynamics: da.Dynamics, state: da.State):
        import exudyn as exu
        import exudyn.itemInterface as items

        self.exu, self.system = exu, exu.SystemContainer()
        self.main = main = self.system.AddSystem()
        mechanism = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters).mechanism
        now, drawn = dynamics.bodies(state.q, state.u), {"ground": np.zeros(3)}
        objects, nodes = {"ground": main.AddObject(items.ObjectGround())}, {}
        for name in dynamics.flat.bodies:
            inertia, p, at = mechanism.inertia(name), mechanism.body_pose(name).p, now[name]
            angle = math.atan2(at.rotation[1, 0], at.rotation[0, 0])
            drawn[name] = p
            nodes[name] = main.AddNode(
                items.NodeRigidBody2D(
                    referenceCoordinates=[*p[:2], 0.0],
                    initialCoordinates=[*(at.position - p)[:2], angle],
                    initialVelocities=[*at.velocity[:2], at.angular_velocity[2]],
                )
            )
            objects[name] = main.AddObject(
                items.ObjectRigidBody2D(mass=inertia.mass, inertia=inertia.central[2, 2], nodeNumber=nodes[name])
            )
            marker = main.AddMarker(items.MarkerBodyMass(bodyNumber=objects[name]))
            main.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=list(mechanism.gravity)))
        fixed = main.AddNode(items.NodePointGround(referenceCoordinates=[0, 0, 0]))
        for name in dynamics.flat.joints:
            placed = mechanism.joint(name)
            point = (mechanism.body_pose(placed.first) @ placed.X_1P).p
            if placed.joint.kind == "revolute":
                markers = [
                    main.AddMarker(
                        items.MarkerBodyPosition(bodyNumber=objects[b], localPosition=list(point - drawn[b]))
                    )
                    for b in (placed.first, placed.second)
                ]
                main.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))
                continue
            zero = main.AddMarker(items.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
            for i in (1, 2):  # y and the angle of the slider
                moving = main.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[placed.second], coordinate=i))
                main.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[zero, moving]))
        watched = next(iter(nodes.values()))
        kind = exu.OutputVariableType.Coordinates
        self.sensor = main.AddSensor(items.SensorNode(nodeNumber=watched, storeInternal=True, outputVariableType=kind))
        main.Assemble()

    def settings(self, end: float, outputs: int, steps: int, tolerance: float):
        """Dense, quiet, no files; so many steps from output to output."""
        settings = self.exu.SimulationSettings()
        settings.timeIntegration.endTime = end
        settings.timeIntegration.numberOfSteps = outputs * steps
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.newton.useModifiedNewton = False
        settings.timeIntegration.newton.relativeTolerance = tolerance
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = end / outputs
        settings.linearSolver.solverType = self.exu.LinearSolverType.EXUdense
        return settings

    def run(self, solver: str, settings) -> np.ndarray:
        """The angle at the outputs; NaN if the step is too long for the solver."""
        outputs = round(settings.timeIntegration.endTime / settings.solution.sensors.writePeriod)
        try:
            self.main.SolveDynamic(settings, solverType=getattr(self.exu.DynamicSolverType, solver))
        except self.exu.SolverError:
            return np.full(outputs + 1, np.nan)
        return self.main.GetSensorStoredData(self.sensor)[:, 3]


def exudyn_rows(name: str, rounds: int, wanted: tuple[float, ...]) -> list[Row]:
    """Times at equal errors of the crank's angle, from curves of time over error of both sides."""
    model, end, outputs = getattr(da.library, name)(), 2.0, 20
    dynamics, state = da.compile(model), da.assemble(model)
    peer, times = ExudynMechanism(dynamics, state), np.linspace(0.0, end, outputs + 1)
    tolerances = 10.0 ** -np.arange(2.0, 9.0)
    methods = [INTEGRATORS[kind](rtol=r, atol=0.1 * r) for kind in ("tsit5", "dopri8") for r in tolerances]
    problems = [prepared(dynamics, method, state) for method in methods]
    tight = INTEGRATORS["dopri8"](rtol=1e-13, atol=1e-14)
    reference = tight.run(*prepared(dynamics, tight, state), times).states[:, 0]

    def ours(i: int) -> np.ndarray:
        return methods[i].run(*problems[i], times).states[:, 0] - reference

    choices = [
        (solver, peer.settings(end, outputs, steps, tolerance))
        for solver in ("GeneralizedAlpha", "TrapezoidalIndex2")
        for tolerance in (1e-6, 1e-8)
        for steps in (10, 15, 20, 25, 50, 100, 250, *((1000,) if min(wanted) < 1e-4 else ()))
    ]

    def theirs(i: int) -> np.ndarray:
        angle = peer.run(*choices[i])
        return angle - angle[0] + reference[0] - reference

    our_errors = [np.abs(ours(i)).max() for i in range(len(methods))]
    their_errors = [np.abs(theirs(i)).max() for i in range(len(choices))]
    choices = [choice for choice, error in zip(choices, their_errors, strict=True) if np.isfinite(error)]
    their_errors = [error for error in their_errors if np.isfinite(error)]
    assert min(their_errors) < 1e-3, f"the mechanisms move differently: {min(their_errors)}"
    found: dict[float, list[tuple[float, float]]] = {error: [] for error in wanted}
    for _ in range(rounds):
        our_times = [seconds(lambda: ours(i), 5) for i in range(len(methods))]
        their_times = [seconds(lambda: theirs(i)) for i in range(len(choices))]
        for error, pairs in found.items():
            pairs.append((time_at(error, our_errors, our_times), time_at(error, their_errors, their_times)))
    rows = []
    for error, pairs in found.items():
        mine, peers = np.array(pairs).T
        milli = [f"{np.median(part) * 1e3:.2f} ms" for part in (mine, peers)]
        label = f"{name.replace('_', '-')}, {end:g} s, error {error:.0e} rad: Exudyn"
        rows.append(Row(label, *milli, peers / mine, 5.0, "equal errors"))
    return rows


def time_at(error: float, errors: list[float], times: list[float]) -> float:
    """Time that the best choice takes for an error, between those that no other beats in both error and time."""
    points = sorted(zip(errors, times, strict=True))
    front: list[tuple[float, float]] = []
    for e, t in points:
        if not front or t < front[-1][1]:
            front.append((e, t))
    e, t = np.log(np.array(front)).T
    assert e[0] <= math.log(error) <= e[-1], "the choices do not reach that error"
    return math.exp(np.interp(math.log(error), e, t))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 15
    table = Table(title=f"Time loops; {THREADS} processors", title_justify="left")
    for heading in ("case: peer", "dalembert", "peer", "ratio", "quartiles", "required", "met", "agreement"):
        table.add_column(heading, justify="left" if heading in ("case: peer", "agreement") else "right")
    table.add_row(*mujoco_arm(rounds).cells())
    table.add_row(*scipy_double_pendulum(rounds).cells())
    for name in ("four_bar", "slider_crank"):
        for row in exudyn_rows(name, 1 + rounds // 4, (1e-3,) if rounds < 10 else (1e-3, 2e-5)):
            table.add_row(*row.cells())
    table.add_row(*mujoco_pendulums(rounds).cells())
    console.print(table)


if __name__ == "__main__":
    main()
