"""Inertia forces by bodies, kinetic energy, Gibbs-Appell and Nielsen's forms (check 22); Chaplygin's sleigh (23)."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError


def symbol(name: str) -> sp.Symbol:
    return sp.Symbol(name, real=True)


@pytest.mark.parametrize("form", [None, 0, 1, 2, 3])
def test_square_of_speed_as_a_variable(form: int | None) -> None:
    """Example A.1: from T = m v/2 with v = ẋ²+ẏ²+ż²."""
    P = da.Subsystem("P")
    m = P.parameters(m=1)
    x, y, z = P.coordinates("x y z")
    v = P.quasi_velocity("v")
    P.kinetic_energy(m * v / 2, definitions={v: x.d**2 + y.d**2 + z.d**2}, nielsen=form)
    assert P._forces == {"x": -symbol("m") * symbol("x.dd"), "y": -symbol("m") * symbol("y.dd"),
                         "z": -symbol("m") * symbol("z.dd"), "v": 0}  # fmt: skip


M1, M2, I1, I2, A1, A2, L1 = 1.1, 0.7, 0.2, 0.3, 0.35, 0.25, 0.8


def double(kind: str) -> da.Subsystem:
    """Two bars in the plane: the second hangs on the first; quasi-velocities are the bars' angular velocities."""
    S = da.Subsystem("S")
    th, ph = S.coordinates("th ph")  # ph from the first bar
    w1, w2 = S.quasi_velocity("w1 w2")
    S.kinematics({th.d: w1, ph.d: w2 - w1})
    second = th + ph
    v1 = (A1 * cos(th) * w1, A1 * sin(th) * w1)
    v2 = (L1 * cos(th) * w1 + A2 * cos(second) * w2, L1 * sin(th) * w1 + A2 * sin(second) * w2)
    square = sum(c**2 for c in v1) * M1 + sum(c**2 for c in v2) * M2
    if kind.startswith("T"):
        S.kinetic_energy(
            square / 2 + I1 * w1**2 / 2 + I2 * w2**2 / 2, nielsen={"T": None, "T0": 0, "T1": 1, "T2": 2}[kind]
        )
    else:
        a1 = (A1 * (cos(th) * w1.d - sin(th) * w1**2), A1 * (sin(th) * w1.d + cos(th) * w1**2))
        a2 = (
            L1 * (cos(th) * w1.d - sin(th) * w1**2) + A2 * (cos(second) * w2.d - sin(second) * w2**2),
            L1 * (sin(th) * w1.d + cos(th) * w1**2) + A2 * (sin(second) * w2.d + cos(second) * w2**2),
        )
        total = sum(c**2 for c in a1) * M1 + sum(c**2 for c in a2) * M2
        S.gibbs_appell(total / 2 + I1 * w1.d**2 / 2 + I2 * w2.d**2 / 2)
    return S


def bodies() -> da.Subsystem:
    """The same by bodies and invariants."""
    S = da.Subsystem("S")
    th, ph = S.coordinates("th ph")
    one = da.leaves.planar_body("one", "newton-euler", m=M1, I=I1)
    two = da.leaves.planar_body("two", "newton-euler", m=M2, I=I2)
    S.include(one)
    S.include(two)
    S.invariants(
        one.p.x - A1 * sin(th), one.p.y + A1 * cos(th), one.th - th,
        two.p.x - L1 * sin(th) - A2 * sin(th + ph), two.p.y + L1 * cos(th) + A2 * cos(th + ph), two.th - th - ph,
    )  # fmt: skip
    S.independent(th, ph)
    return S


def test_all_routes_agree() -> None:
    values = {"th": 0.4, "ph": 0.9}
    w1, w2 = 0.7, -1.2
    found: dict[str, Any] = {}
    for kind in ("T", "T0", "T1", "T2", "S"):
        S = double(kind)
        S.effective_forces({"w1": 0.3, "w2": -0.8})
        eq = S.equations()
        result = eq.acceleration(values | {"w1": w1, "w2": w2})
        found[kind] = [result[eq.label("w1")], result[eq.label("w2")]]
    B = bodies()
    # a torque on each bar: on th the sum, on ph that of the second
    B.effective_forces({"th": 0.3 - 0.8, "ph": -0.8})
    eq = B.equations()
    state = eq.consistent(values | {"th.d": w1, "ph.d": w2 - w1})
    result = eq.acceleration(state)
    found["bodies"] = [result[eq.label("one.omega")], result[eq.label("two.omega")]]
    for kind, value in found.items():
        assert value == pytest.approx(found["bodies"], abs=1e-10), kind


def test_sleigh() -> None:
    """Check 23: all of ∂T/∂q⟨1⟩ take part, also that of the velocity that is zero; printed (3.127) loses terms (T3)."""
    S = da.Subsystem("S")
    m, inertia, a = S.parameters(m=2, I=0.3, a=0.4)
    x, y, psi = S.coordinates("x y psi")
    u, v, w = S.quasi_velocity("u v omega")
    S.kinematics({x.d: u * cos(psi) - v * sin(psi), y.d: u * sin(psi) + v * cos(psi), psi.d: w})
    S.kinetic_energy(m * (u**2 + (v + a * w) ** 2) / 2 + inertia * w**2 / 2)
    S.invariant(v, "blade")
    S.independent(u, w)
    eq = S.equations()
    M, J, A = symbol("m"), symbol("I"), symbol("a")
    still = {symbol("v"): 0, symbol("v.d"): 0}
    first, second = (sp.simplify(eq.expanded(eq.f_bar[name]).subs(still)) for name in ("u", "omega"))
    assert sp.expand(first + M * (symbol("u.d") - A * symbol("omega") ** 2)) == 0
    assert sp.expand(second + (J + M * A**2) * symbol("omega.d") + M * A * symbol("u") * symbol("omega")) == 0
    assert [one.kind for one in eq.invariants] == ["simple nonholonomic"]


def test_more_quasi_velocities_than_the_kinematics_tell() -> None:
    S = da.Subsystem("S")
    x = S.coordinates("x")
    v = S.quasi_velocity("v")
    with pytest.raises(ModelError, match="subsystem 'S': v must be given in terms of rates"):
        S.kinetic_energy(v**2 + x.d**2)


def test_leaves_from_one_function() -> None:
    T = da.leaves.kinetic_energy("P", "x y", "m*(x.d**2 + y.d**2)/2", {"y": "-m*g"}, m=2, g=9.8)
    S = da.leaves.gibbs_appell("P", "x y", "m*(x.dd**2 + y.dd**2)/2", {"y": "-m*g"}, m=2, g=9.8)
    assert T.equations().f_bar == S.equations().f_bar
    assert T.equations().acceleration()[T.equations().label("y")] == pytest.approx(-9.8)
