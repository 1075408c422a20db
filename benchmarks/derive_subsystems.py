"""Equations of closed mechanisms composed of subsystems, against sympy.physics.mechanics.KanesMethod.

    python benchmarks/derive_subsystems.py [--repeats 8]

The five-bar mechanism with a payload and the 3-RRR mechanism, from the finished description to the equations of motion

    K q̈ + k = 0    (forces on the independent variables),        A q̈ + b = 0    (invariants)

as mathematics, for SymPy: ``KanesMethod(…).kanes_equations(…)``, then ``mass_matrix`` and ``forcing``, which are the
same rows. SymPy is asked twice: for the same variables and constraints as the subsystems have (bars by their nodes),
and its best way, with angles as coordinates and nothing else. Descriptions (bodies, frames, subsystems) are made before
the clock starts, on both sides; nothing is simplified, on both sides. Every derivation begins with empty caches. Times
are those of the processor, the shortest of several. Accelerations of all three must be equal to 1e-8.

Ours is the graph that is compiled; what it takes to read the same equations as SymPy expressions is printed, too.
"""

from __future__ import annotations

import argparse
import gc
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
import sympy.physics.mechanics as me
from sympy.core.cache import clear_cache

import dalembert as da

SAME = 1e-8
SIDES = {"HL": -0.5, "HR": 0.5}
BASE = [(3 * math.sqrt(3) / 2, -1.5), (0.0, 3.0), (-3 * math.sqrt(3) / 2, -1.5)]
TIPS = [(math.sqrt(3) / 2, -0.5), (0.0, 1.0), (-math.sqrt(3) / 2, -0.5)]

# Ours


def bar(mark: str, pivot: bool) -> da.Subsystem:
    """A bar by its nodes; the first one may be a pivot."""
    B = da.Subsystem("B")
    m, inertia, gamma, g, _ = B.parameters(m=1.0, I=0.1, gamma=0.5, g=9.8, **{mark: 0})
    vx, vy, w = B.quasi_velocity("v.x v.y omega")
    if pivot:
        x1, y1 = B.parameters(x1=0, y1=0)
        rates: tuple[Any, Any] = (0, 0)
    else:
        x1, y1 = B.coordinates("p1.x p1.y")
        rates = (x1.d, y1.d)
    x2, y2 = B.coordinates("p2.x p2.y")
    dx, dy = x2 - x1, y2 - y1
    B.invariants(vx + w * gamma * dy - rates[0], vy - w * gamma * dx - rates[1])
    B.invariants(vx - w * (1 - gamma) * dy - x2.d, vy + w * (1 - gamma) * dx - y2.d)
    B.effective_forces({vx: -m * vx.d, vy: -m * vy.d - m * g, w: -inertia * w.d})
    return B


def five_bar(mark: str) -> tuple[da.Subsystem, dict[str, float]]:
    """Two arms of two bars and a payload; and speeds that are given in the comparison."""
    arm = da.Subsystem("H")
    arm.parameters(px=0)
    U, B = arm.include(bar(mark, True), "U", parameters={"x1": arm.px}), arm.include(bar(mark, False), "B")
    th, ph = arm.coordinates("theta phi")
    arm.invariants(B.p1.x.d - U.p2.x.d, B.p1.y.d - U.p2.y.d, th.d - U.omega, ph.d - B.omega)
    R = da.Subsystem("R")
    for name, px in SIDES.items():
        R.include(arm, name, parameters={"px": px})
    load = R.include(da.leaves.particle("L", "-y", axes="xy", m=2.0))
    for name in SIDES:
        tip = getattr(R, name).B.p2
        R.invariants(tip.x.d - load.x.d, tip.y.d - load.y.d)
    R.independent(R.HL.theta, R.HR.theta)
    angles = {"HL": (2.2, 0.8), "HR": (0.9, 2.3)}
    for name, px in SIDES.items():
        side, (a, b) = getattr(R, name), angles[name]
        x, y = px + math.cos(a), math.sin(a)
        R.guess({side.theta: a, side.phi: b, side.U.p2.x: x, side.U.p2.y: y, side.B.p1.x: x, side.B.p1.y: y})
    R.guess({R.HL.B.p2.x: 0.0, R.HL.B.p2.y: 2.0, R.HR.B.p2.x: 0.0, R.HR.B.p2.y: 2.0, load.x: 0.0, load.y: 2.0})
    return R, {"HL.theta.d": 0.3, "HR.theta.d": -0.7}


def knee(k: int) -> tuple[float, float]:
    (x, y), (u, v) = BASE[k], TIPS[k]
    d = math.hypot(u - x, v - y)
    h = math.sqrt(4 - d * d / 4)
    return (x + u) / 2 - h * (v - y) / d, (y + v) / 2 + h * (u - x) / d


def three_rrr(mark: str) -> tuple[da.Subsystem, dict[str, float]]:
    """Three arms of two bars and a platform of three nodes."""
    arm = da.Subsystem("arm")
    arm.parameters(px=0, py=0)
    U = arm.include(bar(mark, True), "U", parameters={"x1": arm.px, "y1": arm.py, "g": 0})
    B = arm.include(bar(mark, False), "B", parameters={"g": 0})
    arm.invariants(B.p1.x.d - U.p2.x.d, B.p1.y.d - U.p2.y.d)
    arm.effective_forces({U.omega: arm.input("u")})
    L = da.Subsystem("L")
    m, inertia, _ = L.parameters(m=1.0, I=0.25, **{mark: 0})
    vx, vy, w = L.quasi_velocity("v.x v.y omega")
    nodes = [L.coordinates(f"n{k}.x n{k}.y") for k in range(3)]
    cx, cy = (sum(node[i] for node in nodes) / 3 for i in range(2))
    for x, y in nodes:
        L.invariants(x.d - vx + w * (y - cy), y.d - vy - w * (x - cx))
    L.effective_forces({vx: -m * vx.d, vy: -m * vy.d, w: -inertia * w.d})
    L.independent(vx, vy, w)
    Q = da.Subsystem("Q")
    Q.include(L)
    for k in range(3):
        arms = Q.include(arm, f"H{k}", parameters={"px": BASE[k][0], "py": BASE[k][1]})
        tip = getattr(Q.L, f"n{k}")
        Q.invariants(arms.B.p2.x.d - tip.x.d, arms.B.p2.y.d - tip.y.d)
        for node, place in ((arms.U.p2, knee(k)), (arms.B.p1, knee(k)), (arms.B.p2, TIPS[k]), (tip, TIPS[k])):
            Q.guess({node.x: place[0], node.y: place[1]})
    Q.independent(Q.L.v.x, Q.L.v.y, Q.L.omega)
    return Q, {"L.v.x": 0.3, "L.v.y": -0.2, "L.omega": 0.4, "H0.u": 1.0, "H1.u": -0.5, "H2.u": 0.7}


# SymPy's, in the same variables; names as ours, with _ for dots


class Sheet:
    """What KanesMethod takes."""

    def __init__(self) -> None:
        self.N = me.ReferenceFrame("N")
        self.O = me.Point("O")
        self.O.set_vel(self.N, 0)
        self.q: list[Any] = []
        self.u: list[Any] = []
        self.rates: list[Any] = []
        self.position: list[Any] = []
        self.velocity: list[Any] = []
        self.bodies: list[Any] = []
        self.loads: list[Any] = []
        self.independent: list[Any] = []

    def coordinate(self, name: str) -> tuple[Any, Any]:
        x, v = me.dynamicsymbols(f"{name} {name}_d")
        self.q.append(x)
        self.u.append(v)
        self.rates.append(x.diff() - v)
        return x, v

    def node(self, name: str) -> tuple[Any, Any, Any, Any]:
        (x, vx), (y, vy) = self.coordinate(f"{name}_x"), self.coordinate(f"{name}_y")
        return x, y, vx, vy

    def body(self, name: str, inertia: Any, mass: Any, g: Any) -> tuple[Any, Any, Any, Any]:
        """A planar body by three velocities of its own."""
        vx, vy, w = me.dynamicsymbols(f"{name}_v_x {name}_v_y {name}_omega")
        self.u += [vx, vy, w]
        frame, center = me.ReferenceFrame(f"F{name}"), me.Point(f"C{name}")
        frame.set_ang_vel(self.N, w * self.N.z)
        center.set_vel(self.N, vx * self.N.x + vy * self.N.y)
        self.bodies.append(me.RigidBody(name, center, frame, mass, (me.inertia(self.N, 0, 0, inertia), center)))
        if g != 0:
            self.loads.append((center, -mass * g * self.N.y))
        return vx, vy, w, frame

    def bar(self, name: str, first: tuple[Any, ...], second: tuple[Any, ...], g: Any) -> tuple[Any, Any]:
        m, inertia, gamma = sp.symbols(f"{name}_m {name}_I {name}_gamma")
        vx, vy, w, frame = self.body(name, inertia, m, g)
        dx, dy = second[0] - first[0], second[1] - first[1]
        self.velocity += [
            vx + w * gamma * dy - first[2], vy - w * gamma * dx - first[3],
            vx - w * (1 - gamma) * dy - second[2], vy + w * (1 - gamma) * dx - second[3],
        ]  # fmt: skip
        return w, frame

    def derive(self) -> tuple[Any, Any, list[Any]]:
        """Mass matrix, forcing, and the speeds in their order."""
        dependent = [u for u in self.u if u not in self.independent]
        kane = me.KanesMethod(
            self.N, self.q, self.independent, self.rates, u_dependent=dependent, velocity_constraints=self.velocity
        )
        kane.kanes_equations(self.bodies, self.loads)
        return kane.mass_matrix, kane.forcing, list(kane.u)


def five_bar_by_nodes() -> Sheet:
    s = Sheet()
    tips = []
    for name in SIDES:
        px = sp.Symbol(f"{name}_px")
        knee_node = s.node(f"{name}_U_p2")
        w, _ = s.bar(f"{name}_U", (px, sp.Symbol(f"{name}_U_y1"), 0, 0), knee_node, sp.Symbol(f"{name}_U_g"))
        first, tip = s.node(f"{name}_B_p1"), s.node(f"{name}_B_p2")
        v, _ = s.bar(f"{name}_B", first, tip, sp.Symbol(f"{name}_B_g"))
        (_, dth), (_, dph) = s.coordinate(f"{name}_theta"), s.coordinate(f"{name}_phi")
        s.velocity += [first[2] - knee_node[2], first[3] - knee_node[3], dth - w, dph - v]
        s.independent.append(dth)
        tips.append(tip)
    x, y, vx, vy = s.node("L")
    point = s.O.locatenew("P", x * s.N.x + y * s.N.y)
    point.set_vel(s.N, vx * s.N.x + vy * s.N.y)
    m, g = sp.symbols("L_m L_g")
    s.bodies.append(me.Particle("L", point, m))
    s.loads.append((point, -m * g * s.N.y))
    for tip in tips:
        s.velocity += [tip[2] - vx, tip[3] - vy]
    return s


def three_rrr_by_nodes() -> Sheet:
    s = Sheet()
    nodes = [s.node(f"L_n{k}") for k in range(3)]
    cx, cy = (sum(node[i] for node in nodes) / 3 for i in range(2))
    vx, vy, w, _ = s.body("L", sp.Symbol("L_I"), sp.Symbol("L_m"), 0)
    s.independent = [vx, vy, w]
    for x, y, dx, dy in nodes:
        s.velocity += [dx - vx + w * (y - cy), dy - vy - w * (x - cx)]
    for k in range(3):
        px, py = sp.symbols(f"H{k}_px H{k}_py")
        knee_node = s.node(f"H{k}_U_p2")
        _, frame = s.bar(f"H{k}_U", (px, py, 0, 0), knee_node, 0)
        s.loads.append((frame, sp.Symbol(f"H{k}_u") * s.N.z))
        first, tip = s.node(f"H{k}_B_p1"), s.node(f"H{k}_B_p2")
        s.bar(f"H{k}_B", first, tip, 0)
        s.velocity += [first[2] - knee_node[2], first[3] - knee_node[3], tip[2] - nodes[k][2], tip[3] - nodes[k][3]]
    return s


# SymPy's best way: angles


class Angles(Sheet):
    """The same with one coordinate per bar; lengths are parameters."""

    def turning(self, name: str, start: Any, length: Any, angle: str, mass: Any, inertia: Any, g: Any) -> Any:
        """A bar that begins at a point, and its end."""
        q, u = self.coordinate(angle)
        frame = self.N.orientnew(f"F{name}", "Axis", (q, self.N.z))
        frame.set_ang_vel(self.N, u * self.N.z)
        center = start.locatenew(f"C{name}", sp.Symbol(f"{name}_gamma") * length * frame.x)
        end = start.locatenew(f"E{name}", length * frame.x)
        center.v2pt_theory(start, self.N, frame)
        end.v2pt_theory(start, self.N, frame)
        self.bodies.append(me.RigidBody(name, center, frame, mass, (me.inertia(frame, 0, 0, inertia), center)))
        if g != 0:
            self.loads.append((center, -mass * g * self.N.y))
        return end, frame, u

    def close(self, one: Any, other: Any) -> None:
        gap, speed = one.pos_from(self.O) - other.pos_from(self.O), one.vel(self.N) - other.vel(self.N)
        self.position += [gap.dot(self.N.x), gap.dot(self.N.y)]
        self.velocity += [speed.dot(self.N.x), speed.dot(self.N.y)]


def arm_of_angles(s: Angles, name: str, start: Any, g: tuple[Any, Any], angles: tuple[str, str]) -> Any:
    masses = [sp.symbols(f"{name}_{bar}_m {name}_{bar}_I {name}_{bar}_length") for bar in "UB"]
    (m, inertia, length), (m2, inertia2, length2) = masses
    end, frame, u = s.turning(f"{name}_U", start, length, angles[0], m, inertia, g[0])
    tip, _, _ = s.turning(f"{name}_B", end, length2, angles[1], m2, inertia2, g[1])
    return tip, frame, u


def five_bar_by_angles() -> Sheet:
    s, tips = Angles(), []
    for name in SIDES:
        start = s.O.locatenew(f"P{name}", sp.Symbol(f"{name}_px") * s.N.x)
        start.set_vel(s.N, 0)
        g = (sp.Symbol(f"{name}_U_g"), sp.Symbol(f"{name}_B_g"))
        tip, _, u = arm_of_angles(s, name, start, g, (f"{name}_theta", f"{name}_phi"))
        s.independent.append(u)
        tips.append(tip)
    m = sp.Symbol("L_m")
    s.bodies.append(me.Particle("L", tips[0], m))
    s.loads.append((tips[0], -m * sp.Symbol("L_g") * s.N.y))
    s.close(*tips)
    return s


def three_rrr_by_angles() -> Sheet:
    s = Angles()
    (x, vx), (y, vy), (th, w) = (s.coordinate(name) for name in ("L_x", "L_y", "L_th"))
    s.independent = [vx, vy, w]
    frame = s.N.orientnew("FL", "Axis", (th, s.N.z))
    frame.set_ang_vel(s.N, w * s.N.z)
    center = s.O.locatenew("CL", x * s.N.x + y * s.N.y)
    center.set_vel(s.N, vx * s.N.x + vy * s.N.y)
    m, inertia = sp.symbols("L_m L_I")
    s.bodies.append(me.RigidBody("L", center, frame, m, (me.inertia(frame, 0, 0, inertia), center)))
    for k in range(3):
        px, py, ax, ay = sp.symbols(f"H{k}_px H{k}_py L_a{k}x L_a{k}y")
        start = s.O.locatenew(f"P{k}", px * s.N.x + py * s.N.y)
        start.set_vel(s.N, 0)
        tip, crank, _ = arm_of_angles(s, f"H{k}", start, (0, 0), (f"H{k}_theta", f"H{k}_phi"))
        s.loads.append((crank, sp.Symbol(f"H{k}_u") * s.N.z))
        corner = center.locatenew(f"G{k}", ax * frame.x + ay * frame.y)
        corner.v2pt_theory(center, s.N, frame)
        s.close(tip, corner)
    return s


# Comparison


Task = tuple[Callable[[], Any], Callable[[Any], Any]]


def shortest(tasks: list[Task], repeats: int) -> list[tuple[float, Any]]:
    """Processor seconds of the shortest derivation by each way, and its result.

    Ways take turns, so that a machine that is busy for a while is busy for all of them; each is as often measured.
    """
    found: list[tuple[float, Any]] = [(math.inf, None)] * len(tasks)
    for _ in range(repeats):
        for k, (make, derive) in enumerate(tasks):
            made = make()
            clear_cache()
            gc.collect()
            begin = time.process_time()
            result = derive(made)
            found[k] = min(found[k][0], time.process_time() - begin), result
    return found


def numbers_of(equations: Any, given: dict[str, float]) -> dict[str, float]:
    """Values by SymPy's names, of a consistent state of ours; angles and lengths follow from nodes."""
    state = equations.consistent(given)
    found = {name.replace(".", "_"): value for name, value in state.items()}
    arms = [name for name in (*SIDES, "H0", "H1", "H2") if f"{name}_U_p2_x" in found]
    for name in arms:
        py = found.get(f"{name}_py", 0.0)
        x, y = found[f"{name}_U_p2_x"] - found[f"{name}_px"], found[f"{name}_U_p2_y"] - py
        u, v = (found[f"{name}_B_p2_{a}"] - found[f"{name}_B_p1_{a}"] for a in "xy")
        found |= {f"{name}_U_length": math.hypot(x, y), f"{name}_B_length": math.hypot(u, v)}
        found |= {f"{name}_theta": math.atan2(y, x), f"{name}_phi": math.atan2(v, u)}
        found |= {f"{name}_theta_d": found[f"{name}_U_omega"], f"{name}_phi_d": found[f"{name}_B_omega"]}
    if "L_n0_x" in found:
        x, y = (sum(found[f"L_n{k}_{a}"] for k in range(3)) / 3 for a in "xy")
        found |= {"L_x": x, "L_y": y, "L_th": 0.0, "L_x_d": found["L_v_x"], "L_y_d": found["L_v_y"]}
        found |= {"L_th_d": found["L_omega"]}
        for k in range(3):
            found |= {f"L_a{k}x": found[f"L_n{k}_x"] - x, f"L_a{k}y": found[f"L_n{k}_y"] - y}
    return found


def accelerations(sheet: tuple[Any, Any, list[Any]], values: dict[str, float]) -> dict[str, float]:
    """SymPy's, at a state."""
    M, F, speeds = sheet
    symbols = sorted(M.free_symbols | F.free_symbols | me.find_dynamicsymbols(M) | me.find_dynamicsymbols(F), key=str)
    symbols = [symbol for symbol in symbols if symbol != me.dynamicsymbols._t]
    numbers = [values[str(getattr(symbol, "func", symbol) if symbol.is_Function else symbol)] for symbol in symbols]
    left, right = sp.lambdify(symbols, (M, F), cse=True)(*numbers)
    found = np.linalg.solve(np.asarray(left, dtype=float), np.asarray(right, dtype=float).reshape(-1))
    return {str(speed.func): float(value) for speed, value in zip(speeds, found, strict=True)}


def compare(name: str, ours: Any, by_nodes: Any, by_angles: Any, repeats: int) -> tuple[float, float]:
    """One system; the two ratios."""
    count = iter(range(1000))

    def fresh() -> Any:
        return ours(f"mark{next(count)}")[0]

    (ours_time, equations), (read_time, _), (nodes_time, nodes), (angles_time, angles) = shortest([
        (fresh, lambda S: (eq := S.equations(), eq.casadi.matrices)[0]),
        (fresh, lambda S: S.equations().f_bar),
        (by_nodes, lambda sheet: sheet.derive()),
        (by_angles, lambda sheet: sheet.derive()),
    ], repeats)  # fmt: skip
    given = ours("check")[1]
    values = numbers_of(equations, given)
    state = equations.consistent(given)
    exact = {str(label).replace(".", "_"): value for label, value in equations.acceleration(state).items()}
    tops = {"theta": "U_omega", "phi": "B_omega"}
    for speed, value in (*accelerations(nodes, values).items(), *accelerations(angles, values).items()):
        head, _, tail = speed.removesuffix("_d").rpartition("_")
        speed = (
            {"L_x_d": "L_v_x", "L_y_d": "L_v_y", "L_th_d": "L_omega"}.get(speed, speed) if "L_v_x_d" in exact else speed
        )
        key = f"{head}_{tops[tail]}_d" if tail in tops else f"{speed}d" if speed.endswith("_d") else f"{speed}_d"
        assert abs(exact[key] - value) <= SAME * (1 + abs(value)), (name, speed, exact[key], value)
    n = len(equations.top)
    print(f"{name}: {n} variables of the highest order, {equations.degrees_of_freedom} independent")
    print(f"  ours, the graph of all equations       {1e3 * ours_time:8.1f} ms")
    print(f"  ours, f̄ as SymPy expressions            {1e3 * read_time:8.1f} ms")
    ratios = nodes_time / ours_time, angles_time / ours_time
    print(f"  SymPy, the same variables              {1e3 * nodes_time:8.1f} ms   {ratios[0]:6.1f} times ours")
    print(f"  SymPy, {len(angles[2])} speeds of angles              {1e3 * angles_time:8.1f} ms   {ratios[1]:6.1f}")
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=8)
    repeats = parser.parse_args().repeats
    compare("five-bar with payload", five_bar, five_bar_by_nodes, five_bar_by_angles, repeats)
    compare("3-RRR", three_rrr, three_rrr_by_nodes, three_rrr_by_angles, repeats)


if __name__ == "__main__":
    main()
