"""The five-bar mechanism of examples 2.7 and 4.3: symbolic matrices (check 11), structure of the derivation (24)."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from five_bar import arm, mechanism, printed_row, robot
from sympy import cos, sin

from dalembert.algebra import NUMPY
from dalembert.expressions import evaluate
from dalembert.modular.own_rows import COUNTS
from dalembert.modular.variables import generic_value


def symbol(name: str) -> sp.Symbol:
    return sp.Symbol(name, real=True)


def number(expression: Any, salt: str = "") -> float:
    return float(evaluate(NUMPY, sp.S(expression), lambda s: generic_value(salt + s.name)))


def test_chain() -> None:
    """C_H (i) and f̄_H (d)."""
    eq = arm().equations()
    th, ph, aU, aB, gB = map(symbol, ("theta", "phi", "aU", "aB", "B.gamma"))
    assert eq.C["B.v.x", "theta"] == -aU * sin(th)
    assert eq.C["B.v.x", "phi"] == -gB * aB * sin(ph)
    assert eq.C["B.v.y", "theta"] == aU * cos(th)
    assert eq.C["B.v.y", "phi"] == gB * aB * cos(ph)
    assert [eq.C[row, "theta"] for row in ("U.omega", "B.omega", "theta", "phi")] == [1, 0, 1, 0]
    assert eq.C.columns == eq.independent == tuple(eq.label(name) for name in ("theta", "phi"))
    s = {
        n: symbol(n)
        for n in ("theta.d", "phi.d", "theta.dd", "phi.dd", "g", "U.gamma", "U.m", "U.I", "U.b", "B.m", "B.I")
    }
    d = th - ph
    first = (
        -gB * aU * aB * s["B.m"] * (s["phi.d"] ** 2 * sin(d) + s["phi.dd"] * cos(d)) - s["U.b"] * s["theta.d"]
        - s["theta.dd"] * (aU**2 * (s["U.gamma"] ** 2 * s["U.m"] + s["B.m"]) + s["U.I"])
        - s["g"] * aU * cos(th) * (s["U.gamma"] * s["U.m"] + s["B.m"])
    )  # fmt: skip
    second = (
        -gB * aB * s["B.m"] * (
            aU * (s["theta.dd"] * cos(d) - s["theta.d"] ** 2 * sin(d)) + gB * aB * s["phi.dd"] + s["g"] * cos(ph)
        ) - s["B.I"] * s["phi.dd"]
    )  # fmt: skip
    assert sp.simplify(eq.f_bar["theta"] - first) == 0
    assert sp.simplify(eq.f_bar["phi"] - second) == 0


def test_closed_loop() -> None:
    """C_R (l)."""
    eq = mechanism().equations()
    tL, tR, pL, pR = map(symbol, ("HL.theta", "HR.theta", "HL.phi", "HR.phi"))
    aUL, aUR, aBL, aBR = map(symbol, ("HL.aU", "HR.aU", "HL.aB", "HR.aB"))
    s = sin(pR - pL)
    expected = {
        ("L.x", "HL.theta"): -sin(tL - pL) * sin(pR) * aUL / s,
        ("L.x", "HR.theta"): sin(pL) * sin(tR - pR) * aUR / s,
        ("L.y", "HL.theta"): cos(pR) * sin(tL - pL) * aUL / s,
        ("L.y", "HR.theta"): -cos(pL) * sin(tR - pR) * aUR / s,
        ("chi", "HL.theta"): -(sin(tL - pR) * aBR - sin(tL - pL) * aBL) * aUL / (s * aBL * aBR),
        ("chi", "HR.theta"): -(sin(tR - pL) * aBL - sin(tR - pR) * aBR) * aUR / (s * aBL * aBR),
        ("HL.phi", "HL.theta"): sin(tL - pR) * aUL / (s * aBL),
        ("HL.phi", "HR.theta"): -sin(tR - pR) * aUR / (s * aBL),
        ("HR.phi", "HL.theta"): sin(tL - pL) * aUL / (s * aBR),
        ("HR.phi", "HR.theta"): -sin(tR - pL) * aUR / (s * aBR),
    }
    for (row, column), value in expected.items():
        assert sp.simplify(sp.expand_trig(eq.expanded(eq.C[row, column]) - value)) == 0, (row, column)
    # The only singularity of the choice: bars B in line.
    zeros = [sp.simplify(sp.expand_trig(one / s)) for one in eq.singularities()]
    assert zeros
    assert all(not one.has(sp.sin, sp.cos) for one in zeros)


@pytest.mark.parametrize("side", ["LR", "RL"])
def test_actuated_mechanism_is_as_printed_with_the_weight_of_the_payload(side: str) -> None:
    """f̄_P: (f), and (g) with T2, at random values of all symbols."""
    eq = robot().equations()
    X, Y = side
    row = eq.expanded(eq.f_bar[f"R.H{X}.theta"])
    printed, missing = printed_row(X, Y, symbol)
    for salt in ("a", "b", "c", "d"):
        ours, theirs, weight = number(row, salt), number(printed, salt), number(missing, salt)
        assert ours == pytest.approx(theirs + weight, rel=1e-12)
        assert abs(weight) > 1e-2 * abs(ours)  # the printed one would not pass
    names = ("voltage", "inductance", "resistance", "kappa", "i", "i.d")
    u, lam, rho, kappa, i, di = (symbol(f"A{X}.{name}") for name in names)
    eta, dth = symbol("eta"), symbol(f"R.H{X}.theta.d")
    assert sp.expand(eq.f_bar[f"A{X}.i"] - (u - lam * di - rho * i - kappa * eta * dth)) == 0


def test_an_arm_used_twice_is_derived_once_and_a_change_derives_its_owners_only() -> None:
    before = dict(COUNTS)
    P = robot("counted")
    P.equations().f_bar  # noqa: B018
    # H, R, P are new; the bars, the payload and the motor may be known from other tests.
    first = COUNTS["composed"] - before["composed"]
    assert 3 <= first <= 7
    R = P._parts["R"].part
    load = R._parts["L"].part
    load.effective_forces({load.x: "0.25"})
    P.equations().f_bar  # noqa: B018
    assert COUNTS["composed"] - before["composed"] == first + 3  # the payload, R and P


def test_energy_and_loops_hold() -> None:
    """Accelerations meet the invariants; without damping and voltage, power is the rate of energy."""
    P = robot()
    eq = P.equations()
    state = eq.consistent()
    for side in ("L", "R"):
        state |= {
            f"A{side}.i": 0.0,
            f"A{side}.k": 0.0,
            f"A{side}.b": 0.0,
            f"R.H{side}.U.b": 0.0,
            f"A{side}.voltage": 0.0,
        }
        state |= {f"A{side}.kappa": 0.0}
    known = {label.at(2): value for label, value in eq.acceleration(state).items()}
    values = eq.values(state)
    numbers = {str(label): value for label, value in known.items()}
    for row in eq.A.rows:
        total = number_at(eq.b.get(row, eq.b.columns[0]), values)
        total += sum(number_at(v, values) * known[c] for c, v in eq.A.entries.get(row, {}).items())
        assert total == pytest.approx(0, abs=1e-9)
    # d/dt (T + V) over all bodies
    rate = 0.0
    for node in eq.nodes:
        path = ".".join(node.path)
        names = node.description.orders
        if "v.x" in names:
            m, inertia, g = (values.get(f"{path}.{n}") for n in ("m", "I", "g"))
            g = 9.8 if g is None else g
            for axis in "xy":
                rate += m * values[f"{path}.v.{axis}"] * numbers[f"{path}.v.{axis}.d"]
            rate += inertia * values[f"{path}.omega"] * numbers[f"{path}.omega.d"] + m * g * values[f"{path}.v.y"]
        elif "x" in names:
            rate += sum(values[f"{path}.m"] * values[f"{path}.{a}.d"] * numbers[f"{path}.{a}.dd"] for a in "xy")
            rate += values[f"{path}.m"] * 9.8 * values[f"{path}.y.d"]
        elif "i" in names:
            rate += values[f"{path}.I"] * values[f"{path}.omega"] * numbers[f"{path}.omega.d"]
    scale = max(abs(value) for value in numbers.values())
    assert rate == pytest.approx(0, abs=1e-9 * scale)


def number_at(expression: Any, values: dict[str, float]) -> float:
    return float(evaluate(NUMPY, sp.S(expression), lambda s: values[s.name]))


def test_graph_and_symbols_agree() -> None:
    """Without identities, which hold for consistent accelerations only: all symbols at random values."""
    import casadi as ca

    P = robot("plain")
    R = P._parts["R"].part
    for S in (P, R._parts["HL"].part):
        S._identities.clear()
        S._version += 1
    eq = P.equations()
    state = eq.values(eq.consistent())
    numeric = eq.at(state).f_bar
    for row in eq.f_bar.rows:
        scalar = eq.casadi.f_bar.get(row, eq.f_bar.columns[0])
        inputs = ca.symvar(scalar.sx)
        graph = float(ca.Function("f", inputs, [scalar.sx])(*[state[s.name()] for s in inputs]))
        known = dict(state)
        for name, value in eq.definitions.items():
            known[name.name] = number_at(value, known)
        size = max(1.0, abs(graph))
        assert number_at(eq.f_bar[row], known) == pytest.approx(graph, abs=1e-12 * size)
        assert numeric[row] == pytest.approx(graph, abs=1e-12 * size)
