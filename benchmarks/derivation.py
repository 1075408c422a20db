"""Equations of motion derived by Kane's method: ours, through the graph, against sympy.physics.mechanics.KanesMethod.

    python benchmarks/derivation.py [--quick] [--timeout 600]

Systems, written for SymPy the way its users write them: n point masses on a cart in a plane, with angles against the
bar before (as joints have them) and against the vertical ("absolute", in which the equations are short and SymPy is at
its best), and a spatial arm of seven joints. Times: up to mass matrix and forcing as mathematics, up to a compiled
function, and of one evaluation of the right-hand side; SymPy's is lambdified with common subexpressions and solved by
NumPy. Accelerations of both must be equal to 1e-9. Times are those of the processor: the shortest of three derivations
for ours, one for SymPy, in a process of its own that is ended after a while. Writes ``docs/images/derivation.png``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "derivation.png"
SIZES = (1, 2, 3, 5, 7, 10)
LONGER = (20, 40)  # ours only
AXES = "zyzyzyz"
REPEATS = 3
SAME = 1e-9
FASTER_DERIVATION, FASTER_EVALUATION = 50, 20


def numbers(system: str, n: int) -> dict[str, np.ndarray]:
    """One state and the parameters, the same for both."""
    rng = np.random.default_rng(n)
    dof = n if system == "arm" else n + 1
    return {
        "q": rng.normal(size=dof), "u": rng.normal(size=dof),
        "m": rng.uniform(0.5, 1.5, n + 1), "l": rng.uniform(0.3, 0.8, n + 1),
    }  # fmt: skip


# Ours


def model_of(system: str, n: int) -> Any:
    """The model; masses m0 … and lengths l1 … are parameters."""
    import dalembert as da

    if system == "absolute":
        return absolute_model(n)
    given = numbers(system, n)
    model = da.Model(f"{system} {n}", gravity=(0, -9.81, 0) if system == "cart" else (0, 0, -9.81))
    m = [model.parameters(**{f"m{i}": float(v)}) for i, v in enumerate(given["m"])]
    l = [model.parameters(**{f"l{i}": float(v)}) for i, v in enumerate(given["l"])]
    if system == "cart":
        before = model.body("cart", mass=m[0], com=(0, 0, 0))
        model.prismatic("x", model.ground, before, point=(0, 0, 0), axis="x")
        height = 0
        for i in range(1, n + 1):
            bob = model.body(f"bob{i}", mass=m[i], com=(0, height - l[i], 0))
            model.revolute(f"q{i}", before, bob, point=(0, height, 0), axis="z")
            before, height = bob, height - l[i]
        return model
    before, height = model.ground, 0
    for i in range(n):
        I = m[i] * l[i] ** 2
        link = model.body(f"link{i}", mass=m[i], com=(l[i] / 4, 0, height + l[i] / 2), inertia=(I / 10, I / 12, I / 20))
        model.revolute(f"q{i}", before, link, point=(0, 0, height), axis=AXES[i])
        before, height = link, height + l[i]
    return model


def absolute_model(n: int) -> Any:
    """The cart with angles against the vertical."""
    import sympy as sp

    import dalembert as da

    given = numbers("cart", n)
    model = da.System(f"absolute {n}", gravity=(0, -9.81, 0))
    m = [model.parameters(**{f"m{i}": float(v)}) for i, v in enumerate(given["m"])]
    l = [model.parameters(**{f"l{i}": float(v)}) for i, v in enumerate(given["l"])]
    x, y = model.coordinate("x", "length").q, sp.S.Zero
    model.particle("cart", m[0], (x, 0, 0))
    for i in range(1, n + 1):
        q = model.coordinate(f"q{i}").q
        x, y = x + l[i] * sp.sin(q), y - l[i] * sp.cos(q)
        model.particle(f"bob{i}", m[i], (x, y, 0))
    return model


def ours(system: str, n: int) -> dict[str, Any]:
    import dalembert as da

    derivation, derived = da.derive(model_of(system, 1), "kane", method="graph"), math.inf  # imports
    for _ in range(REPEATS):
        model, began = model_of(system, n), time.process_time()
        derivation = da.derive(model, "kane", method="graph")
        K, k = derivation.mass_matrix, derivation.forcing
        derived = min(derived, time.process_time() - began)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DALEMBERT_CACHE_DIR"] = folder  # nothing is compiled yet
        function = derivation.to_kernel()
        given = numbers(system, n)
        q, u = given["q"], given["u"]
        function(0.0, q, u)
        compiled = derived + time.process_time() - began
    _, acceleration = function(0.0, q, u)
    p = function.parameters
    seconds = clock(lambda: function(0.0, q, u, p))
    return {
        "derived": derived, "compiled": compiled, "evaluation": seconds, "acceleration": list(acceleration),
        "what": f"{len(derivation.definitions)} definitions, {K.shape[0]} × {K.shape[1]}, {len(k)}",
    }  # fmt: skip


def clock(call: Any) -> float:
    """Seconds of one call: the best of several runs."""
    began = time.process_time()
    call()
    count = max(1, int(0.02 / max(time.process_time() - began, 1e-7)))

    def run() -> float:
        began = time.process_time()
        for _ in range(count):
            call()
        return (time.process_time() - began) / count

    return min(run() for _ in range(5))


# SymPy, as its users write it


def sympy_cart(n: int, absolute: bool = False) -> tuple[Any, list[Any], list[Any], list[Any]]:
    """n point masses below each other on a cart; angles against the bar before, as joints have them, or absolute."""
    import sympy as sp
    from sympy.physics.mechanics import KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

    q, u = dynamicsymbols(f"q:{n + 1}"), dynamicsymbols(f"u:{n + 1}")
    m, l, g = sp.symbols(f"m:{n + 1}"), sp.symbols(f"l:{n + 1}"), sp.Symbol("g")
    I, O = ReferenceFrame("I"), Point("O")
    O.set_vel(I, 0)
    P = O.locatenew("P0", q[0] * I.x)
    P.set_vel(I, u[0] * I.x)
    bodies, loads, kinematics = [Particle("C", P, m[0])], [(P, -m[0] * g * I.y)], [q[0].diff() - u[0]]
    frame, rate = I, 0
    for i in range(1, n + 1):
        frame, rate = (I, u[i]) if absolute else (frame, rate + u[i])
        frame = frame.orientnew(f"B{i}", "Axis", [q[i], I.z])
        frame.set_ang_vel(I, rate * I.z)
        Pi = P.locatenew(f"P{i}", -l[i] * frame.y)
        Pi.v2pt_theory(P, I, frame)
        bodies.append(Particle(f"A{i}", Pi, m[i]))
        loads.append((Pi, -m[i] * g * I.y))
        kinematics.append(q[i].diff() - u[i])
        P = Pi
    method = KanesMethod(I, q_ind=q, u_ind=u, kd_eqs=kinematics)
    method.kanes_equations(bodies, loads)
    return method, list(q), list(u), [*m, *l, g]


def sympy_arm(n: int) -> tuple[Any, list[Any], list[Any], list[Any]]:
    """n links, each turning about an axis of the one before."""
    import sympy as sp
    from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

    q, u = dynamicsymbols(f"q:{n}"), dynamicsymbols(f"u:{n}")
    m, l, g = sp.symbols(f"m:{n + 1}"), sp.symbols(f"l:{n + 1}"), sp.Symbol("g")
    N, P = ReferenceFrame("N"), Point("O")
    P.set_vel(N, 0)
    bodies, loads, kinematics, frame = [], [], [], N
    for i in range(n):
        axis = getattr(frame, AXES[i])
        new = frame.orientnew(f"B{i}", "Axis", [q[i], axis])
        new.set_ang_vel(frame, u[i] * axis)
        center = P.locatenew(f"C{i}", l[i] / 4 * new.x + l[i] / 2 * new.z)
        center.v2pt_theory(P, N, new)
        J = m[i] * l[i] ** 2
        central = inertia(new, J / 10, J / 12, J / 20)
        bodies.append(RigidBody(f"L{i}", center, new, m[i], (central, center)))
        loads.append((center, -m[i] * g * N.z))
        kinematics.append(q[i].diff() - u[i])
        after = P.locatenew(f"P{i + 1}", l[i] * new.z)
        after.v2pt_theory(P, N, new)
        P, frame = after, new
    method = KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=kinematics)
    method.kanes_equations(bodies, loads)
    return method, list(q), list(u), [*m, *l, g]


def theirs(system: str, n: int, report: Any) -> None:
    """Times of SymPy, reported as they come."""
    import sympy as sp

    derive = {"cart": sympy_cart, "absolute": lambda n: sympy_cart(n, absolute=True), "arm": sympy_arm}[system]
    derive(1)
    began = time.process_time()
    method, q, u, parameters = derive(n)
    M, F = method.mass_matrix, method.forcing
    derived = time.process_time() - began
    report({"derived": derived})
    function = sp.lambdify([q, u, parameters], [M, F], modules="numpy", cse=True)
    given = numbers(system, n)
    values = [*given["m"], *given["l"], 9.81]
    q0, u0 = given["q"], given["u"]

    def right_hand_side() -> np.ndarray:
        M, F = function(q0, u0, values)
        return np.linalg.solve(M, F[:, 0])

    acceleration = right_hand_side()
    compiled = time.process_time() - began
    found = {"derived": derived, "compiled": compiled, "acceleration": list(acceleration)}
    report(found)
    report({**found, "evaluation": clock(right_hand_side)})


def run_theirs(system: str, n: int, timeout: float) -> dict[str, Any]:
    """What SymPy did before the time was up."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = [sys.executable, __file__, "--theirs", system, str(n), str(path)]
        with contextlib.suppress(subprocess.TimeoutExpired):  # what was reported until then counts
            subprocess.run(command, timeout=timeout, check=True)
        found = json.loads(path.read_text()) if path.exists() else {}
    return {"derived": None, "compiled": None, "evaluation": None, "acceleration": None, **found}


# Comparison


def compare(system: str, n: int, timeout: float) -> dict[str, Any]:
    a, b = ours(system, n), run_theirs(system, n, timeout)
    same = ""
    if b["acceleration"] is not None:
        error = np.max(np.abs(np.array(a["acceleration"]) - b["acceleration"])) / np.max(np.abs(a["acceleration"]))
        assert error < SAME, f"{system} {n}: accelerations differ by {error:.1e}"
        same = f"{error:.0e}"

    def ratio(key: str) -> str:
        return (
            f"{b[key] / a[key]:.0f}"
            if b[key] is not None
            else f"> {timeout / a[key]:.0f}"
            if key != "evaluation"
            else "–"
        )

    def cell(value: float | None, scale: float, unit: str) -> str:
        return (
            f"> {timeout:g} s"
            if value is None and unit == "s"
            else "–"
            if value is None
            else f"{scale * value:.3g} {unit}"
        )

    print(
        f"  {system:<9}{n:>3}  {cell(a['derived'], 1, 's'):>9} {cell(b['derived'], 1, 's'):>9} {ratio('derived'):>7}   "
        f"{cell(a['compiled'], 1, 's'):>9} {cell(b['compiled'], 1, 's'):>9} {ratio('compiled'):>7}   "
        f"{cell(a['evaluation'], 1e6, 'µs'):>9} {cell(b['evaluation'], 1e6, 'µs'):>10} {ratio('evaluation'):>7}   "
        f"{same:>6}  {a['what']}",
        flush=True,
    )
    return {"n": n, "ours": a, "theirs": b}


def picture(rows: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    blue, gray = "#2563eb", "#8b93a1"
    for axes, key, scale in ((left, "derived", 1.0), (left, "compiled", 1.0), (right, "evaluation", 1e6)):
        style = "o--" if key == "compiled" else "o-"
        for who, color, name in (("ours", blue, "dalembert"), ("theirs", gray, "SymPy")):
            shown = [(row["n"], scale * row[who][key]) for row in rows if row[who].get(key) is not None]
            words = {"derived": ", derived", "compiled": ", ready to run", "evaluation": ""}[key]
            if shown:
                axes.loglog(*zip(*shown, strict=True), style, color=color, label=name + words)
    left.set(xlabel="pendulums on a cart", ylabel="s", title="Derivation by Kane's method")
    right.set(xlabel="pendulums on a cart", ylabel="µs", title="One evaluation of the right-hand side")
    ticks = sorted({row["n"] for row in rows})
    for axes in (left, right):
        axes.set_xticks(ticks, [str(n) for n in ticks], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    figure.savefig(PICTURE, dpi=130)
    print(f"wrote {PICTURE}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small systems only, no picture")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each run of SymPy")
    parser.add_argument("--theirs", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.theirs:
        system, n, path = options.theirs
        theirs(system, int(n), lambda found: Path(path).write_text(json.dumps(found)))
        return
    print("Kane's equations, dalembert | SymPy | ratio")
    print(f"{'derived':>27}{'ready to run':>38}{'one evaluation':>35}{'differ':>22}")
    sizes = SIZES[:3] if options.quick else SIZES
    rows = [compare("cart", n, options.timeout) for n in sizes]
    if not options.quick:
        for n in LONGER:
            a = ours("cart", n)
            rows.append({"n": n, "ours": a, "theirs": {}})
            times = f"{a['derived']:.3g} s, ready to run {a['compiled']:.3g} s, {1e6 * a['evaluation']:.3g} µs"
            print(f"  cart     {n:>3}  {times}")
        picture(rows)
    compare("absolute", 3 if options.quick else 10, options.timeout)
    arm = compare("arm", 3 if options.quick else 7, options.timeout)
    if options.quick:
        return
    for what, row in (("cart with 10", next(r for r in rows if r["n"] == 10)), ("arm with 7", arm)):
        a, b = row["ours"], row["theirs"]
        derivation = (b["derived"] or options.timeout) / a["derived"]
        ready = (b["compiled"] or options.timeout) / a["compiled"]
        evaluation = b["evaluation"] / a["evaluation"] if b["evaluation"] else float("nan")
        print(f"{what}: derived {derivation:.0f}, ready to run {ready:.0f}, evaluated {evaluation:.0f} times as fast")
        assert derivation >= FASTER_DERIVATION, f"{what}: derivation is only {derivation:.0f} times as fast"
        assert not evaluation < FASTER_EVALUATION, f"{what}: evaluation is only {evaluation:.0f} times as fast"


if __name__ == "__main__":
    main()
