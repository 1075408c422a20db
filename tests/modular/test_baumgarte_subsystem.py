"""Baumgarte's stabilization of subsystems: errors of invariants decay as asked, of every order."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.modular.compiled_system import CompiledSystem, baumgarte_factors


def pendulum() -> da.Subsystem:
    """A particle on a circle, by coordinates."""
    P = da.Subsystem("P")
    m, g, r = P.parameters(m=1.0, g=9.8, r=1.0)
    x, y = P.coordinates("x y")
    P.effective_forces({x: -m * x.dd, y: -m * y.dd - m * g})
    P.invariant(x**2 + y**2 - r**2, "length")
    return P


def skate() -> da.Subsystem:
    """A knife edge: an invariant of order 1."""
    S = da.Subsystem("S")
    x, y, a = S.coordinates("x y a")
    S.effective_forces({x: -x.dd, y: -y.dd + 1, a: -a.dd})
    S.invariant("x.d*sin(a) - y.d*cos(a)", "edge")
    return S


@pytest.mark.parametrize("gains", [(2.0, 3.0, 5.0), (4.0, 4.0, 1.5)])
def test_errors_obey_the_equations_of_the_text(gains: tuple[float, float, float]) -> None:
    """ḧ + 2 b₁ b₂ ḣ + b₂² h = 0 with α = b₁ b₂, β = b₂, and ḣ + b₃ h = 0 with γ = b₃, off the invariants, too."""
    alpha, beta, gamma = gains
    rng = np.random.default_rng(3)
    for system, name, n in ((pendulum(), "x y", 2), (skate(), "x y a", 3)):
        equations = system.equations()
        y = rng.normal(size=2 * n)
        _, context = CompiledSystem(equations, pull=gains).problem({}, ("rhs",))
        context.rhs(0.3, y, np.empty(2 * n))
        x = dict(zip([f"{one}.dd" for one in name.split()], context.x, strict=True))
        values = dict(zip(map(str, equations.state), y, strict=True)) | x
        if n == 2:
            h = values["x"] ** 2 + values["y"] ** 2 - 1
            rate = 2 * (values["x"] * values["x.d"] + values["y"] * values["y.d"])
            second = 2 * sum(values[f"{a}.d"] ** 2 + values[a] * values[f"{a}.dd"] for a in "xy")
            assert second + 2 * alpha * rate + beta**2 * h == pytest.approx(0, abs=1e-11)
        else:
            s, c, w = np.sin(values["a"]), np.cos(values["a"]), values["a.d"]
            h = values["x.d"] * s - values["y.d"] * c
            rate = values["x.dd"] * s - values["y.dd"] * c + w * (values["x.d"] * c + values["y.d"] * s)
            assert rate + gamma * h == pytest.approx(0, abs=1e-11)


def test_factors_of_higher_orders_have_the_roots_asked_for() -> None:
    assert baumgarte_factors(0, 1, 2, 3) == []
    assert baumgarte_factors(1, 1, 2, 3) == [3]
    assert baumgarte_factors(2, 1, 2, 3) == [4, 2]
    roots = np.roots([1.0, *baumgarte_factors(4, 5.0, 5.0, 1.0)[::-1]])
    assert np.abs(roots + 5.0).max() < 1e-2  # a fourfold root is found to the fourth root of rounding


@pytest.mark.parametrize(("integrator", "less"), [("rk4", 0.05), ("radau", 0.5)])
def test_drift_is_held_without_projection(integrator: str, less: float) -> None:
    """What a step adds decays in 1/β; with the long steps of radau that is no more than a few of them."""
    start = {"x": 1.0, "y": 0.0}
    how: dict[str, object] = {"integrator": integrator, "initial": start}
    how |= {"step": 0.01} if integrator == "rk4" else {"rtol": 1e-5}
    drift = {}
    for name in ("none", "baumgarte"):
        run = da.simulate(pendulum(), 10.0, stabilization=name, **how)
        drift[name] = float(np.abs(run["x"] ** 2 + run["y"] ** 2 - 1).max())
    assert drift["baumgarte"] < less * drift["none"]
    exact = da.simulate(pendulum(), 10.0, initial=start)
    run = da.simulate(pendulum(), 10.0, baumgarte=(5.0, 5.0, 5.0), rtol=1e-11, atol=1e-12, initial=start)
    assert float(np.abs(run["x"] - exact["x"]).max()) < 1e-6


def test_what_excludes_each_other_is_refused() -> None:
    with pytest.raises(DalembertError, match="exclude each other"):
        da.simulate(pendulum(), 1.0, stabilization="projection", baumgarte=3.0, initial={"x": 1.0})
    with pytest.raises(DalembertError, match="subsystem 'P': stabilization must be"):
        da.simulate(pendulum(), 1.0, stabilization="partition", initial={"x": 1.0})
    with pytest.raises(DalembertError, match="one number"):
        da.simulate(pendulum(), 1.0, baumgarte=(1.0, 2.0, 3.0, 4.0), initial={"x": 1.0})
