"""Matrices and forces of the node model against mechanics: kinetic energy, power of weights, velocities."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.planar import Planar

M, I, A, G = 1.3, 0.11, 0.8, 9.81


def pendulum() -> Planar:
    """A bar on a pin, its center of mass beside the line of its nodes."""
    w = da.Planar("pendulum", gravity=(0, -G))
    w.base(O=(0, 0))
    bar = w.body("bar", O=(0, 0), tip=(A * 0.6, -A * 0.8), com=(0.4, 0.1), mass=M, inertia=I)
    w.revolute("O", "base.O", bar.O, torque="u")
    return w


def values_of(expression: sp.Expr, known: dict[str, float]) -> float:
    return float(expression.xreplace({s: sp.Float(known[s.name]) for s in expression.free_symbols}))


def test_inertia_matrix_is_that_of_the_kinetic_energy() -> None:
    """½ q̇ᵀ M q̇ = ½ m v*² + ½ I ω², about a pin: ½ (I + m s²) ω² with s² = (γ² + ρ²) a²."""
    matrix = pendulum().inertia_matrix()
    omega, x, y = 0.7, A * 0.6, -A * 0.8
    rates = {"bar.tip.x": -omega * y, "bar.tip.y": omega * x, "bar.omega": omega, "O.omega": omega}
    vector = np.array([rates.get(label.text, 0.0) for label in matrix.columns])
    entries = np.array([[values_of(sp.sympify(v), {}) for v in line] for line in matrix.to_array()])
    assert np.array_equal(entries, entries.T)
    assert vector @ entries @ vector == pytest.approx((I + M * A**2 * (0.4**2 + 0.1**2)) * omega**2, rel=1e-13)


def test_powers_of_active_and_of_inertia_forces() -> None:
    """Σ f q̇ = the power of the weight and of the torque; inertia forces are −M q̈."""
    w = pendulum()
    omega, alpha, x, y, u = 0.7, -1.9, A * 0.6, -A * 0.8, 2.5
    rates = {"bar.tip.x": -omega * y, "bar.tip.y": omega * x, "bar.omega": omega, "O.omega": omega}
    second = {"bar.tip.x": -alpha * y - omega**2 * x, "bar.tip.y": alpha * x - omega**2 * y}
    known = {"u": u, "bar.tip.x": x, "bar.tip.y": y}
    known |= {f"{name}.d": value for name, value in rates.items()}
    known |= {f"{name}.dd": value for name, value in second.items()}
    known |= {"bar.omega": omega, "O.omega": omega, "bar.omega.d": alpha, "O.omega.d": alpha}
    power = sum(values_of(f, known) * rates[name] for name, f in w.active_forces().items())
    height_rate = omega * (0.4 * x - 0.1 * y)  # of the center of mass at γ d + ρ ẑ × d
    assert power == pytest.approx(u * omega - M * G * height_rate, rel=1e-13)
    lost = sum(values_of(f, known) * rates[name] for name, f in w.inertia_forces().items())
    assert lost == pytest.approx(-(I + M * A**2 * 0.17) * omega * alpha, rel=1e-12)


def test_constraint_matrix_in_symbols_and_numbers() -> None:
    """The column of the angular velocity: ẋ = −y ω, ẏ = x ω."""
    w = pendulum()
    symbolic = w.constraint_matrix(independent=["O.omega"])
    numeric = w.constraint_matrix({}, independent=["O.omega"])
    place = {"bar.tip.x": A * 0.6, "bar.tip.y": -A * 0.8}
    expected = {"bar.tip.x": A * 0.8, "bar.tip.y": A * 0.6, "bar.omega": 1.0, "O.omega": 1.0}
    for row in symbolic.rows:
        value = values_of(sp.sympify(symbolic.get(row, symbolic.columns[0])), place)
        assert value == pytest.approx(expected[row.text], abs=1e-12)
        assert float(numeric[row.text, "O.omega"]) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_constraints_by_formulas_hold(level: str) -> None:
    """The tip of an arm of two bars stays at its height, given by a formula of positions or of velocities."""
    w = da.Planar("arm", gravity=(0, -G))
    w.base(O=(0, 0))
    first = w.body("first", O=(0, 0), K=(0.5, 0.5), mass=1, inertia=0.02)
    second = w.body("second", K=(0.5, 0.5), tip=(1.1, 0.2), mass=1, inertia=0.02)
    w.revolute("O", "base.O", first.O)
    w.revolute("K", first.K, second.K)
    w.constraint("level", "second.tip.y - 0.2" if level == "position" else "second.tip.vy", level=level)
    run = da.simulate(w, 0.3, output_step=0.1)
    assert run.certificate.trusted and np.abs(w.values(run, "second.tip.y") - 0.2).max() < 1e-7
    assert np.abs(w.values(run, "second.tip.x") - 1.1).max() > 1e-2
