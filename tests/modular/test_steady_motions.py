"""Steady motions of subsystems: turning, rolling, regular precession, a motor at speed, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin
from test_linear import pendulum, whipple

import dalembert as da
from dalembert.errors import DalembertError

G = 9.8


def test_conical_pendulum() -> None:
    """cos θ = g/(r Ω²), stable; small motions have λ² = −Ω² (1 + 3 cos² θ)."""
    turning = 3.0
    found = da.equilibrium(pendulum(1), {"theta": 0.8}, steady={"phi.d": turning})[0]
    c = G / (2.0 * turning**2)
    assert found.moving and found.kind == "stable"
    assert np.cos(found.state["theta"]) == pytest.approx(c, abs=1e-12)
    assert found.state["phi.d"] == turning and found.state["theta.d"] == pytest.approx(0, abs=1e-12)
    assert np.abs(found.eigenvalues.imag).max() == pytest.approx(turning * np.sqrt(1 + 3 * c**2), rel=1e-9)
    speed = da.equilibrium(pendulum(1), {"theta": 0.8, "phi.d": 2.0}, steady={"phi.d": None}, hold=["theta"])[0]
    assert speed.state["phi.d"] == pytest.approx(np.sqrt(G / (2 * np.cos(0.8))), rel=1e-12)


def rolling_disc() -> da.Subsystem:
    """A thin disc on the ground: heading, lean, speeds about its own axes; it may turn for ever."""
    D = da.Subsystem("D")
    m, r, g = D.parameters(m=1.2, r=0.4, g=G)
    x, y, heading, lean = D.coordinates("x y heading lean")
    a, b, c = D.quasi_velocity("a b c")  # about the line of heading, the axle, and across both in the disc
    D.kinematics({lean.d: a, heading.d: c / cos(lean), x.d: -r * b * cos(heading), y.d: -r * b * sin(heading)})
    It, Ia, tan = m * r**2 / 4, m * r**2 / 2, sin(lean) / cos(lean)
    D.effective_forces({
        a: -(It + m * r**2) * a.d + It * c**2 * tan - (Ia + m * r**2) * b * c + m * g * r * sin(lean),
        b: -(Ia + m * r**2) * b.d + m * r**2 * a * c,
        c: -It * c.d - It * a * c * tan + Ia * a * b,
    })  # fmt: skip
    return D


def test_disc_that_rolls_in_a_circle() -> None:
    """Lean and rate of turning given, the speed follows: I_t c² tan ϑ − (I_a + m r²) b c + m g r sin ϑ = 0."""
    lean, turning, m, r = 0.3, 1.7, 1.2, 0.4
    c = turning * np.cos(lean)
    found = da.equilibrium(rolling_disc(), {"lean": lean, "b": 2.0}, steady={"c": c, "b": None}, hold=["lean"])[0]
    expected = (m * r**2 / 4 * c**2 * np.tan(lean) + m * G * r * np.sin(lean)) / (1.5 * m * r**2 * c)
    assert found.state["b"] == pytest.approx(expected, rel=1e-12)
    assert found.moving and found.linear is not None and found.linear.kind == "steady motion"
    run = da.simulate(rolling_disc(), 2.0, initial={k: v for k, v in found.state.items() if k not in ("x", "y")})
    assert np.abs(run["lean"] - lean).max() < 1e-9
    assert float(run["heading"][-1]) == pytest.approx(2 * turning, rel=1e-9)


@pytest.mark.slow
def test_bicycle_at_speed() -> None:
    """Upright and straight at 5 m/s: stable, with the published weave and capsize."""
    found = da.equilibrium(whipple(), {"A.z": -0.3}, steady={"A.x.d": 5.0})[0]
    assert found.moving and abs(found.state["A.phi"]) < 1e-9
    values = [v for v in found.eigenvalues if abs(v) > 1e-4]
    weave = max(values, key=lambda v: v.imag)
    assert weave == pytest.approx(-0.77534188219585 + 4.46486771378823j, abs=1e-8)
    assert min(values, key=lambda v: abs(v.real + 0.32286642900409)) == pytest.approx(-0.32286642900409, abs=1e-8)


def test_motor_at_speed() -> None:
    """k i = c ω and υ = ρ i + κ ω: the voltage that holds a speed against friction."""
    S = da.Subsystem("S")
    motor = S.include(da.leaves.dc_motor("M"))
    fan = S.coordinates("fan")
    S.invariant(motor.omega - fan.d)
    S.effective_forces({fan: -0.01 * fan.dd - 0.02 * fan.d})
    found = da.equilibrium(S, {"M.i": 0.1}, steady={"fan.d": 10.0}, unknowns=["M.voltage"])[0]
    p = S.equations().parameters
    current = (p["M.b"] + 0.02) * 10.0 / p["M.k"]
    assert found.state["M.i"] == pytest.approx(current, rel=1e-9)
    assert found.state["M.voltage"] == pytest.approx(p["M.resistance"] * current + p["M.kappa"] * 10.0, rel=1e-9)
    assert found.stable


def test_what_cannot_be_steady_is_refused() -> None:
    with pytest.raises(DalembertError, match=r"steady: 'theta' is not a velocity; there are phi\.d, theta\.d"):
        da.equilibrium(pendulum(1), steady={"theta": 1.0})
    P = da.Subsystem("P")
    a = P.coordinates("a")
    P.effective_forces({a: -a.dd - sin(a)})
    with pytest.raises(
        DalembertError, match=r"no steady motion of subsystem 'P'.*accelerations of the reference change"
    ):
        da.equilibrium(P, steady={"a.d": 1.0})
    with pytest.raises(DalembertError, match="At the best place that was found this is left: force on theta"):
        da.equilibrium(pendulum(1), {"theta": 0.8}, steady={"phi.d": 3.0}, hold=["theta"])
