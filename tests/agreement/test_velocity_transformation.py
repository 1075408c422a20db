"""Velocity transformations: R¹ column by column, blocks equal to those of the recursions, three ways to close loops."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import CASES, TREES, case
from support.states import assert_blocks, consistent_state, equations_at
from test_agreement_motion import dynamics_of

import dalembert as da
from dalembert.dynamics import Dynamics
from dalembert.formulations.velocity_transformation import CLOSINGS, VelocityTransformation, transformation
from dalembert.tree.outward import outward

TIME = 0.3
ROUND_OFF = 1e-11  # of the largest entry; trees of a dozen bodies


def setting(name: str):
    dynamics = dynamics_of(name, "lagrange-multipliers", "relative")
    return equations_at(dynamics.coordinates, TIME, *consistent_state(dynamics, 5, t=TIME))


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_those_of_the_recursions(name):
    """M of composite bodies, f of Newton-Euler, A and γ of joint accelerations."""
    assert_blocks(VelocityTransformation(), setting(name), ROUND_OFF)


@pytest.mark.parametrize("name", TREES)
def test_columns_are_twists_for_unit_speed(name):
    """Eq. 5.71: one joint moves, all others rest; bodies that are not beyond it stay where they are."""
    e = setting(name)
    R = transformation(e)
    for a, unit in enumerate(np.eye(e.nv)):
        for state, columns in zip(outward(e.tree, e.q, unit), R, strict=True):
            np.testing.assert_allclose(columns.get(a, np.zeros(6)), state.V_L, rtol=0, atol=1e-11)


@pytest.mark.parametrize("closing", CLOSINGS)
@pytest.mark.parametrize("name", ["three loops", "a rolling disc in a loop", "driven slider crank"])
def test_closings_agree(name, closing):
    """A penalty leaves an error of the order 1/α of the forces."""
    reference = dynamics_of(name, "lagrange-multipliers", "relative")
    q, u = consistent_state(reference, 1, t=TIME)
    expected, forces = reference.solve(q, u, t=TIME)
    du, multipliers = Dynamics(case(name), VelocityTransformation(closing=closing)).solve(q, u, t=TIME)
    error = 1e-4 if closing == "penalty" else 1e-9
    np.testing.assert_allclose(du, expected, rtol=0, atol=error * np.abs(expected).max())
    np.testing.assert_allclose(multipliers, forces, rtol=0, atol=max(error, 1e-8) * np.abs(forces).max())


def test_a_smaller_penalty_leaves_more_open():
    reference = Dynamics(da.library.four_bar(), "lagrange-multipliers")
    q, u = da.assemble(da.library.four_bar()).to(reference.coordinates)
    expected, errors = reference.acceleration(q, u), []
    for alpha in (1e3, 1e5):
        method = VelocityTransformation(closing="penalty", alpha=alpha)
        errors.append(np.abs(Dynamics(da.library.four_bar(), method).acceleration(q, u) - expected).max())
    assert 50 < errors[0] / errors[1] < 200


@pytest.mark.parametrize("closing", CLOSINGS)
def test_baumgarte_pulls_an_open_loop_together(closing):
    """φ(0) = 1e-4 decays; without it the loop stays open. The penalty has terms of its own."""
    run = da.simulate(
        da.library.four_bar(), 1.0, formulation=VelocityTransformation(closing=closing),
        stabilization="none" if closing == "penalty" else "baumgarte", baumgarte=None if closing == "penalty" else 20,
        initial=_opened(),
    )  # fmt: skip
    residuals = run.dynamics.residuals(run.time.values, run.q.values, run.u.values).position
    sizes = np.abs(np.asarray(residuals)).max(axis=1)
    assert sizes[0] > 5e-5 and sizes[-1] < 0.05 * sizes[0]


def _opened():
    from dataclasses import replace

    state = da.assemble(da.library.four_bar())
    return replace(state, q=state.q + np.array([0.0, 0.0, 1e-4]))


def test_options_are_checked():
    with pytest.raises(da.DalembertError, match="unknown closing 'glue'"):
        VelocityTransformation(closing="glue")
    with pytest.raises(da.DalembertError, match="alpha"):
        VelocityTransformation(closing="penalty", alpha=-1)
    with pytest.raises(da.ModelError, match="absolute coordinates"):
        da.compile(da.library.four_bar(), formulation="velocity-transformation", coordinates="absolute")
