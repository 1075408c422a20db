"""The 3-RRR mechanism by nodes (example of sec. 5.3.2): grouping, redundant lengths (check 24)."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.expressions import evaluate
from dalembert.modular.compiled_system import CompiledSystem
from dalembert.modular.own_rows import COUNTS
from dalembert.modular.system_functions import solve_tops

BASE = [(3 * math.sqrt(3) / 2, -1.5), (0.0, 3.0), (-3 * math.sqrt(3) / 2, -1.5)]
TIPS = [(math.sqrt(3) / 2, -0.5), (0.0, 1.0), (-math.sqrt(3) / 2, -0.5)]


def knee(k: int) -> tuple[float, float]:
    """Between a pivot and a tip that are 2 apart: both bars have length 2, so the knee is a corner of a triangle."""
    (x, y), (u, v) = BASE[k], TIPS[k]
    mx, my, dx, dy = (x + u) / 2, (y + v) / 2, u - x, v - y
    d = math.hypot(dx, dy)
    h = math.sqrt(4 - d * d / 4)
    return mx - h * dy / d, my + h * dx / d


def parts(mark: str) -> tuple[da.Subsystem, da.Subsystem, da.Subsystem]:
    crank = da.leaves.planar_body("crank", 2, lengths={(1, 2): 2.0}, m=0.5, I=2 / 3, gamma=0.0)
    coupler = da.leaves.planar_body("coupler", 2, lengths={(1, 2): 2.0}, m=0.5, I=1 / 6)
    side = math.sqrt(3)
    sides = {(1, 2): side, (1, 3): side, (2, 3): side}
    platform = da.leaves.planar_body("platform", 3, lengths=sides, m=1.0, I=0.25, gamma=0.5, rho=1 / (2 * side))
    for one in (crank, coupler, platform):
        one.parameters(**{mark: 0.0})
    return crank, coupler, platform


def three_rrr(grouping: str, mark: str = "mark") -> tuple[da.Subsystem, dict[str, str]]:
    """Flat, or with arms of crank and coupler; and the names of the bodies."""
    crank, coupler, platform = parts(mark)
    Q = da.Subsystem("Q")
    Q.include(platform, "L")
    names = {"L": "L"}
    if grouping == "arms":
        arm = da.Subsystem("arm")
        arm.parameters(x0=0, y0=0)
        torque = arm.input("u")
        arm.include(crank, "U")
        arm.include(coupler, "B")
        arm.invariants(arm.U.n1.x - arm.x0, arm.U.n1.y - arm.y0)
        arm.invariants(arm.B.n1.x - arm.U.n2.x, arm.B.n1.y - arm.U.n2.y)
        arm.effective_forces({arm.U.omega: torque})
    for k in range(3):
        (x, y), (u, v) = BASE[k], knee(k)
        if grouping == "arms":
            H = Q.include(arm, f"H{k}", parameters={"x0": x, "y0": y})
            U, B = H.U, H.B
            names |= {f"U{k}": f"H{k}.U", f"B{k}": f"H{k}.B"}
        else:
            U, B = Q.include(crank, f"U{k}"), Q.include(coupler, f"B{k}")
            Q.invariants(U.n1.x - x, U.n1.y - y, B.n1.x - U.n2.x, B.n1.y - U.n2.y)
            Q.effective_forces({U.omega: Q.input(f"u{k}")})
            names |= {f"U{k}": f"U{k}", f"B{k}": f"B{k}"}
        tip = getattr(Q.L, f"n{k + 1}")
        Q.invariants(B.n2.x - tip.x, B.n2.y - tip.y)
        places = ((U.n1, (x, y)), (U.n2, (u, v)), (B.n1, (u, v)), (B.n2, TIPS[k]), (tip, TIPS[k]))
        for node, (a, b) in places:
            Q.guess({node.x: a, node.y: b})
    return Q, names


def motion(grouping: str) -> tuple[Any, dict[str, float]]:
    Q, names = three_rrr(grouping)
    eq = Q.equations()
    torques = ["H0.u", "H1.u", "H2.u"] if grouping == "arms" else ["u0", "u1", "u2"]
    given = {f"{names['L']}.v.x": 0.3, f"{names['L']}.v.y": -0.2, f"{names['L']}.omega": 0.4}
    given |= dict(zip(torques, (1.0, -0.5, 0.7), strict=True))
    found = eq.acceleration(eq.consistent(given))
    wanted = {
        f"{body}.{v}": found[eq.label(f"{path}.{v}")] for body, path in names.items() for v in ("v.x", "v.y", "omega")
    }
    return eq, wanted


def test_grouping_does_not_matter() -> None:
    flat, one = motion("flat")
    arms, two = motion("arms")
    assert flat.degrees_of_freedom == arms.degrees_of_freedom == 3
    for name, value in one.items():
        assert two[name] == pytest.approx(value, abs=1e-10), name
    # Lengths follow from the velocities of the nodes once they are differentiated.
    assert sum(label.name.startswith("length") for label in arms.redundant) == 9


def test_arms_are_derived_once() -> None:
    before = dict(COUNTS)
    Q, _ = three_rrr("arms", "once")
    eq = Q.equations()
    eq.f_bar  # noqa: B018
    # Crank and coupler differ in values only, so they are one; arm, platform, Q.
    assert COUNTS["composed"] - before["composed"] == 4
    assert len(eq.nodes) == 11


@pytest.mark.parametrize("grouping", ["flat", "arms"])
def test_native_numbers_symbols_and_graph_agree(grouping: str) -> None:
    """Check 24: accelerations by machine code, by numbers, by the graph and by SymPy expressions."""
    Q, _ = three_rrr(grouping)
    eq = Q.equations()
    torques = dict(zip(eq.inputs, (1.0, -0.5, 0.7), strict=True))
    state = eq.consistent({"L.v.x": 0.3, "L.v.y": -0.2, "L.omega": 0.4, **torques})
    by_numbers = np.array(list(eq.acceleration(state).values()))
    scale = np.abs(by_numbers).max()

    system = CompiledSystem(eq, torques)
    _, context = system.problem(None, ("rhs",))
    y, x, residual = np.array([[state[name] for name in system.state]]), np.empty((1, len(eq.top))), np.empty(1)
    assert solve_tops(context, np.zeros(1), y, x, residual) == 0
    np.testing.assert_allclose(x[0], by_numbers, rtol=0, atol=1e-12 * scale)

    K, k, A, b = eq.casadi.matrices
    inputs = ca.symvar(ca.veccat(K, k, A, b))
    numbers = ca.Function("rows", inputs, [K, k, A, b])(*[state[symbol.name()] for symbol in inputs])
    K, k, A, b = (np.asarray(one.full()) for one in numbers)
    by_graph = np.linalg.lstsq(np.concatenate([K, A]), -np.concatenate([k, b])[:, 0], rcond=1e-11)[0]
    np.testing.assert_allclose(by_graph, by_numbers, rtol=0, atol=1e-12 * scale)

    # The expressions that are read, at any values of the accelerations.
    known = {**state, **{str(label): value for label, value in zip(eq.top, by_numbers, strict=True)}}
    for symbol, value in eq.definitions.items():
        known[symbol.name] = float(evaluate(NUMPY, value, lambda s: known[s.name]))
    for row in eq.f_bar.rows:
        terms = float(evaluate(NUMPY, eq.f_bar[row], lambda s: known[s.name]))
        assert abs(terms) < 1e-12 * (1 + scale), row
