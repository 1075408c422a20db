"""What recursive elimination accumulates: against dense solutions, and against the definition of a reduced system."""

import numpy as np
import pytest
from support.cases import case

import dalembert as da
from dalembert.fuzz.physical_states import consistent_state


@pytest.mark.parametrize("name", ["four-bar", "slider-crank-3d", "snakeboard", "three loops", "driven slider crank"])
def test_elimination_solves_the_equations(name: str):
    """u̇ and the forces Aᵀλ are those of all equations at once; M̃ is symmetric."""
    model = da.library.build(name) if "-" in name or name == "snakeboard" else case(name)
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="relative")
    q, u = consistent_state(dynamics, 0, t=0.3)
    found = da.eliminate(dynamics, q, u, t=0.3)
    du, multipliers = dynamics.solve(q, u, t=0.3)
    np.testing.assert_allclose(found.acceleration, du, rtol=1e-8, atol=1e-8 * np.abs(du).max())
    A = np.asarray(dynamics.residuals(0.3, q, u).jacobian)
    np.testing.assert_allclose(A.T @ found.multipliers, A.T @ multipliers, atol=1e-7 * np.abs(A.T @ multipliers).max())
    for body in found.bodies.values():
        np.testing.assert_allclose(body.inertia, body.inertia.T, atol=1e-9 * max(1.0, np.abs(body.inertia).max()))


def test_the_reduced_system_at_a_junction():
    """(3.48): a free base with two arms that are joined at their ends. The base alone, with M̃, g̃ and Ψ of both chains
    and K and γ̃ before the base's own joint, has the acceleration and the multipliers of the whole."""
    model = da.Model("junction", gravity=(0, 0, -9.81))
    model.body("base", mass=3, com=(0, 0, 0), inertia=(0.3, 0.4, 0.5))
    model.free("F", model.ground, "base")
    for side, x in (("l", -0.3), ("r", 0.3)):
        model.body(f"{side}1", mass=1, com=(x, 0, 0.2), inertia=(0.02, 0.03, 0.01))
        model.body(f"{side}2", mass=0.7, com=(x / 2, 0, 0.6), inertia=(0.02, 0.03, 0.01))
        model.revolute(f"{side} low", "base", f"{side}1", point=(x, 0, 0), axis=(0, 1, 0.1))
        model.universal(f"{side} high", f"{side}1", f"{side}2", point=(x, 0, 0.4), axis=(0, 1, 0), axis_2=(1, 0, 0))
    model.spherical("top", "l2", "r2", point=(0, 0, 0.8), cut=True)
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="relative")
    q, u = consistent_state(dynamics, 1)
    found = da.eliminate(dynamics, q, u)
    base = found.bodies["base"]
    M, g, Psi = base.own_inertia + base.inertia, base.own_load + base.load, base.own_jacobian + base.jacobian
    # What the base's own free joint added to K and γ̃ is taken out again: S = 1 in its link axes.
    K, gamma = found.matrix - Psi @ np.linalg.solve(M, Psi.T), found.gamma - Psi @ np.linalg.solve(M, g)
    rows = len(K)
    system = np.block([[M, -Psi.T], [Psi, K]])
    both = np.linalg.solve(system, np.concatenate([g, -gamma]))
    assert rows == 3
    np.testing.assert_allclose(both[6:], found.multipliers, rtol=1e-9)
    np.testing.assert_allclose(both[:6], found.acceleration[dynamics.index("F") : dynamics.index("F") + 6], rtol=1e-9)


def test_wrong_states_are_named():
    with pytest.raises(da.DalembertError, match="expected q of length 3"):
        da.eliminate(da.library.four_bar(), np.zeros(2), np.zeros(3))
