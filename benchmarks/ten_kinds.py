"""All formulations in all coordinates that they take, on ten kinds of models, against an independent reference.

    python benchmarks/ten_kinds.py [KIND …]

The reference is found without any formulation of the package: accelerations of free bodies in world axes, all joints
being equations (``dalembert.fuzz.oracle``, dense, plain NumPy), integrated by SciPy's DOP853 at rtol 1e-13. Runs
are at rtol 1e-11; the error is the largest one of any body's position (m) or entry of its rotation matrix at the end,
relative to the largest of the reference where that exceeds one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.errors import DalembertError, ModelError
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.penalty import Penalty
from dalembert.fuzz.oracle import Oracle
from dalembert.fuzz.physical_states import body_motion, equations_at
from dalembert.fuzz.ways import PAIRS

DURATION, ASKED, RTOL, ATOL = 0.4, 1e-9, 1e-11, 1e-13


def _bar(model: da.Model, name: str, start: Any, end: Any, mass: float = 1.0) -> str:
    """A bar between two points, thick enough to have inertia about itself."""
    a, b = np.array(start, dtype=float), np.array(end, dtype=float)
    d = b - a
    J = mass / 12 * (d @ d * np.eye(3) - np.outer(d, d)) + 0.003 * np.eye(3)
    model.body(name, mass=mass, com=tuple((a + b) / 2), inertia=J)
    return name


def spatial_loop() -> da.Model:
    """A crank moves a sliding nut through a universal joint, a screw and a ball."""
    model = da.Model("spatial loop", gravity=(0, 0, -9.81))
    _bar(model, "crank", (0, 0, 0), (0.3, 0, 0))
    _bar(model, "rod", (0.3, 0, 0), (0.9, 0.5, 0.2))
    _bar(model, "nut", (0.9, 0.5, 0.2), (1.2, 0.6, 0.3))
    _bar(model, "slide", (1.2, 0.6, 0.3), (1.4, 0.6, 0.3))
    model.revolute("hinge", model.ground, "crank", point=(0, 0, 0), axis=(0, 0.2, 1))
    model.universal("cross", "crank", "rod", point=(0.3, 0, 0), axis=(0, 1, 0), axis_2=(0, 0, 1))
    model.screw("thread", "rod", "nut", point=(0.9, 0.5, 0.2), axis=(0.6, 0.5, 0.2), pitch=0.2)
    model.spherical("ball", "nut", "slide", point=(1.2, 0.6, 0.3))
    model.cylindrical("guide", model.ground, "slide", point=(1.4, 0.6, 0.3), axis="x")
    model.initial("hinge", rate=2.0)
    return model


def trailer() -> da.Model:
    """A car and its trailer on one knife edge each; the car's speed is prescribed."""
    model = da.Model("trailer", gravity=(0, 0, 0))
    _bar(model, "car", (-0.4, 0, 0), (0.8, 0, 0), 3.0)
    _bar(model, "trailer", (-1.6, 0, 0), (-0.4, 0, 0), 2.0)
    model.planar("plane", model.ground, "car", point=(0, 0, 0), axis="z")
    model.revolute("hitch", "car", "trailer", point=(-0.4, 0, 0), axis="z")
    model.constraint("car blade", "u(plane, 1)*cos(q(plane, 2)) - u(plane)*sin(q(plane, 2))", level="velocity")
    speed = "u(plane)*cos(q(plane, 2)) + u(plane, 1)*sin(q(plane, 2)) - 1 - sin(3*t)/2"
    model.constraint("speed", speed, level="velocity")
    angle = "(q(plane, 2) + q(hitch))"
    vx, vy = "u(plane) + 0.4*sin(q(plane, 2))*u(plane, 2)", "u(plane, 1) - 0.4*cos(q(plane, 2))*u(plane, 2)"
    rate = "(u(plane, 2) + u(hitch))"
    model.constraint("trailer blade", f"({vy})*cos{angle} - ({vx})*sin{angle} - 0.9*{rate}", level="velocity")
    model.initial("plane", (0, 0, 0.2), rate=(float(np.cos(0.2)), float(np.sin(0.2)), 0.6))
    return model


def rheonomic_loop() -> da.Model:
    """A five-bar whose second crank is driven, on a base that moves."""
    model = da.Model("rheonomic loop", gravity=(0, -9.81, 0))
    _bar(model, "base", (-0.1, 0, 0), (0.1, 0, 0))
    for name, start, end in (("a", (0, 0, 0), (0, 0.4, 0)), ("b", (0, 0.4, 0), (0.5, 0.8, 0)),
                             ("c", (0.5, 0.8, 0), (1, 0.4, 0)), ("d", (1, 0.4, 0), (1, 0, 0))):  # fmt: skip
        _bar(model, name, start, end)
    model.prismatic("slide", model.ground, "base", point=(0, 0, 0), axis="x")
    model.revolute("A", "base", "a", point=(0, 0, 0), axis="z")
    model.revolute("B", "a", "b", point=(0, 0.4, 0), axis="z")
    model.revolute("C", "b", "c", point=(0.5, 0.8, 0), axis="z")
    model.revolute("D", "c", "d", point=(1, 0.4, 0), axis="z")
    model.revolute("E", model.ground, "d", point=(1, 0, 0), axis="z")
    model.drive("slide", "0.1*sin(4*t)")
    model.drive("E", "0.3*t + t**2/2")
    model.initial("A", rate=0.5)
    return model


def over_constrained() -> da.Model:
    """A bar on three parallel cranks with hinges in space."""
    model = da.Model("over-constrained", gravity=(0, -9.81, 0))
    model.body("bar", mass=2, com=(1, 1, 0), inertia=(0.01, 0.4, 0.4))
    for i, x in enumerate((0.0, 2.0, 1.0)):
        model.body(f"crank{i}", mass=1.2, com=(x + 0.1, 0.5, 0), inertia=(0.1, 0.02, 0.1))
        model.revolute(f"foot{i}", "ground", f"crank{i}", point=(x, 0, 0), axis="z")
        model.revolute(f"head{i}", f"crank{i}", "bar", point=(x, 1, 0), axis="z")
    model.initial("foot0", rate=1.5)
    return model


def two_loops() -> da.Model:
    """A four-bar whose coupler moves a slider by a second rod."""
    model = da.Model("two loops", gravity=(0, -9.81, 0))
    for name, start, end in (("crank", (0, 0, 0), (0.2, 0.2, 0)), ("coupler", (0.2, 0.2, 0), (0.9, 0.6, 0)),
                             ("rocker", (0.9, 0.6, 0), (1, 0, 0)), ("rod", (0.5, 0.5, 0), (1.4, 0.9, 0)),
                             ("slider", (1.35, 0.9, 0), (1.45, 0.9, 0))):  # fmt: skip
        _bar(model, name, start, end)
    model.revolute("A", model.ground, "crank", point=(0, 0, 0), axis="z")
    model.revolute("B", "crank", "coupler", point=(0.2, 0.2, 0), axis="z")
    model.revolute("C", "coupler", "rocker", point=(0.9, 0.6, 0), axis="z")
    model.revolute("D", model.ground, "rocker", point=(1, 0, 0), axis="z")
    model.revolute("E", "coupler", "rod", point=(0.5, 0.5, 0), axis="z")
    model.revolute("F", "rod", "slider", point=(1.4, 0.9, 0), axis="z")
    model.prismatic("G", model.ground, "slider", point=(1.4, 0.9, 0), axis="x")
    model.initial("A", rate=3.0)
    return model


def edge_mill() -> da.Model:
    """A disc that rolls round a shaft: redundant, and nonholonomic."""
    model = da.Model("edge mill", gravity=(0, 0, -9.81))
    model.body("shaft", mass=1, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.1))
    model.body("disc", mass=2, com=(0.8, 0, 0.3), inertia=(0.09, 0.045, 0.045))
    model.revolute("S", "ground", "shaft", point=(0, 0, 0.3), axis="z")
    model.cylindrical("C", "shaft", "disc", point=(0.8, 0, 0.3), axis="x")
    model.rolling_disc("R", "ground", "disc", point=(0.8, 0, 0.3), axis="z", axis_2="x", radius=0.3, cut=True)
    model.initial("S", rate=2.0)
    return model


def differential() -> da.Model:
    """A carrier between two wheels that turn at different speeds; one wheel is braked by a spring."""
    model = da.Model("differential", gravity=(0, 0, 0))
    for name, y, J in (("carrier", 0, 0.2), ("left", 0.5, 0.5), ("right", -0.5, 0.7)):
        model.body(name, mass=1, com=(0, y, 0), inertia=(J / 2, J, J / 2))
        model.revolute(name[0].upper(), model.ground, name, point=(0, y, 0), axis="y")
    model.coupler("gears", {"L": 1, "R": 1, "C": -2})
    model.joint_force("brake", "L", "-4*q(L) - u(L)")
    model.joint_force("motor", "C", "3*cos(2*t)")
    model.initial("C", rate=5.0)
    model.initial("L", rate=2.0)
    return model


def floating_base() -> da.Model:
    """A free body with an arm on each side, without gravity."""
    model = da.Model("floating base", gravity=(0, 0, 0))
    model.body("base", mass=5, com=(0, 0, 0), inertia=(0.4, 0.5, 0.6))
    model.free("F", model.ground, "base")
    _bar(model, "upper", (0.3, 0, 0), (0.8, 0.1, 0.2))
    _bar(model, "fore", (0.8, 0.1, 0.2), (1.2, 0.3, 0.2), 0.7)
    _bar(model, "boom", (-0.3, 0, 0), (-1.0, 0, 0.3))
    model.universal("shoulder", "base", "upper", point=(0.3, 0, 0), axis=(0, 1, 0), axis_2=(0, 0, 1))
    model.revolute("elbow", "upper", "fore", point=(0.8, 0.1, 0.2), axis=(0.3, 0.2, 1))
    model.spherical("gimbal", "base", "boom", point=(-0.3, 0, 0))
    model.initial("F", rate=(0.3, -0.5, 0.8, 0.1, 0, 0))
    model.initial("shoulder", (0.2, -0.1), rate=(2.0, -1.0))
    model.initial("elbow", 0.4, rate=-1.5)
    model.initial("gimbal", rate=(1.0, 0.4, 0.2))
    return model


def pin_on_a_curve() -> da.Model:
    """A pendulum whose pin runs along y = x²/2 + x³/3."""
    model = da.Model("pin on a curve", gravity=(0, -9.81, 0))
    model.body("pin", mass=0.5, com=(0.4, 0, 0), pose=(0, 0, 0), inertia=(0.01, 0.01, 0.01))
    _bar(model, "bob", (0, 0, 0), (0, -0.7, 0))
    model.planar("P", model.ground, "pin", point=(0, 0, 0), axis="z")
    model.revolute("H", "pin", "bob", point=(0, 0, 0), axis="z")
    model.constraint("curve", "y(pin) - x(pin)**2/2 - x(pin)**3/3")
    model.initial("P", (0.6, 0.252, 0.1), rate=(0, 0, 1.0))
    model.initial("H", rate=-2.0)
    return model


def wheelset() -> da.Model:
    """Two wheels on one axle that roll on a plane, each turning by itself, with a body that swings below."""
    model = da.Model("wheelset", gravity=(0, 0, -9.81))
    _bar(model, "axle", (0, -0.4, 0.3), (0, 0.4, 0.3), 2.0)
    _bar(model, "bob", (0, 0, 0.3), (0.1, 0, -0.1), 1.0)
    for name, y in (("left", 0.4), ("right", -0.4)):
        model.body(name, mass=1.5, com=(0, y, 0.3), inertia=(0.034, 0.0675, 0.034))
        model.revolute(name[0].upper(), "axle", name, point=(0, y, 0.3), axis="y")
        model.rolling_disc(
            f"{name} contact", "ground", name, point=(0, y, 0.3), axis="z", axis_2="y", radius=0.3, cut=name == "right"
        )
    model.revolute("H", "axle", "bob", point=(0, 0, 0.3), axis="y")
    model.initial("H", 0.8)
    model.initial("L", rate=-1.0)
    return model


KINDS: dict[str, Callable[[], da.Model]] = {
    build.__name__.replace("_", " "): build
    for build in (
        spatial_loop, trailer, rheonomic_loop, over_constrained, two_loops, edge_mill, differential, floating_base,
        pin_on_a_curve, wheelset,
    )
}  # fmt: skip


def reference(model: da.Model) -> dict[str, np.ndarray]:
    """Rotation matrix and position of every body at the end, by the oracle and SciPy."""
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="relative")
    start, coordinates = da.assemble(dynamics), dynamics.coordinates
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
    n, slots = dynamics.nq, coordinates.slots

    def closed(t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state on the constraints: stages of the method are a little off."""
        q = tree.normalize(q)
        for _ in range(3):
            seen = dynamics.residuals(t, q, u)
            if len(seen.position):
                A = np.asarray(seen.jacobian)[: len(seen.position)]
                q = tree.integrate(q, -np.linalg.pinv(A, rcond=1e-8) @ seen.position)
        seen = dynamics.residuals(t, q, u)
        return q, u - np.linalg.pinv(np.asarray(seen.jacobian), rcond=1e-8) @ seen.velocity

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, u = closed(t, y[:n], y[n:])
        e = equations_at(coordinates, t, q, u)
        poses, twists = body_motion(coordinates, q, u)
        joints = {name: e.joint_coordinates(name)[0] for name in coordinates.flat.joints}
        oracle = Oracle(coordinates.flat, t, poses, twists, joints)
        found, _, _ = oracle.solve()
        A = {"ground": np.zeros(6)}
        for name, i in oracle.index.items():
            # Of the body's origin; the screws of joints want that of the point at the world's origin.
            p, V = poses[name].p, oracle.V[name]
            shift = np.cross(found[i, :3], p) + np.cross(V[:3], V[3:] + np.cross(V[:3], p))
            A[name] = np.concatenate([found[i, :3], found[i, 3:] - shift])
        du = np.zeros(dynamics.nv)
        for slot in slots:
            joint = oracle.joints[slot.joint]
            du[slot.u] = np.linalg.lstsq(joint.S, A[joint.second] - A[joint.first] - joint.bias, rcond=None)[0]
        qdot = np.zeros(n)
        qdot[: n - len(coordinates.windings)] = tree.qdot(q, u)
        for winding in coordinates.windings:
            qdot[winding.q] = oracle.joints[winding.joint].u[winding.index]
        return np.concatenate([qdot, du])

    y = np.concatenate([start.q, start.u])
    done = solve_ivp(rate, (0.0, DURATION), y, method="DOP853", rtol=1e-13, atol=1e-14)
    poses, _ = body_motion(coordinates, *closed(DURATION, tree.normalize(done.y[:n, -1]), done.y[n:, -1]))
    return {name: np.concatenate([X.R.reshape(-1), X.p]) for name, X in poses.items() if name != "ground"}


def measure(kind: str) -> list[tuple[str, str, float, str]]:
    """Formulation, coordinates, error and verdict of every pair."""
    model = KINDS[kind]()
    truth = reference(model)
    rows: list[tuple[str, str, float, str]] = []
    for name, coordinates in PAIRS:
        formulation = Penalty(alpha=1e9) if name == "penalty" else FORMULATIONS[name]()
        try:
            run = da.simulate(
                model, DURATION, formulation=formulation, coordinates=coordinates, rtol=RTOL, atol=ATOL,
                output_step=DURATION,
            )  # fmt: skip
        except ModelError as error:
            rows.append((name, coordinates, np.nan, f"refused: {error}"))
            continue
        except DalembertError as error:
            rows.append((name, coordinates, np.nan, f"failed: {error}"))
            continue
        poses, _ = body_motion(run.dynamics.coordinates, run.values("q")[-1], run.values("u")[-1], DURATION)
        worst = 0.0
        for body, expected in truth.items():
            X = poses[body]
            found = np.concatenate([X.R.reshape(-1), X.p])
            worst = max(worst, float(np.abs(found - expected).max()) / max(1.0, float(np.abs(expected).max())))
        message = "trusted" if run.certificate.trusted else f"NOT TRUSTED: {run.certificate.message}"
        rows.append((name, coordinates, worst if run.certificate.finished else np.nan, message))
    return rows


def main() -> None:
    """Print the table."""
    asked = sys.argv[1:] or list(KINDS)
    print(
        "| kind of model | runs | worst error | by | over 1e-9 | not trusted | refused |\n|---|---|---|---|---|---|---|"
    )
    for kind in asked:
        began = time.process_time()
        rows = measure(kind)
        ran = [row for row in rows if np.isfinite(row[2]) and FORMULATIONS[row[0]].supports().exact]
        worst = max(ran, key=lambda row: row[2])
        over = [f"{f} ({c})" for f, c, error, _ in ran if error > ASKED]
        doubt = [f"{f} ({c})" for f, c, _, said in rows if said.startswith("NOT")]
        refused = sorted({f"{f} ({c})" for f, c, _, said in rows if said.startswith(("refused", "failed"))})
        cells = [str(len(ran)), f"{worst[2]:.1e}", f"{worst[0]} ({worst[1]})"]
        cells += [", ".join(names) or "none" for names in (over, doubt, refused)]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
        print(f"{kind}: {time.process_time() - began:.0f} s", file=sys.stderr)
        for f, c, error, said in rows:
            if said != "trusted" or not error <= ASKED:
                print(f"    {f} ({c}): {error:.1e}  {said[:300]}", file=sys.stderr)


if __name__ == "__main__":
    main()
