"""The formulation from joint screws: its blocks, and the tables of cut-joint constraints of its source."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import CASES
from support.states import assert_blocks, consistent_state, equations_at
from test_agreement_motion import dynamics_of

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.formulations.lie_group import LieGroup, closure_rates
from dalembert.joints import JOINTS

pytestmark = pytest.mark.checked

TIME = 0.3
ROUND_OFF = 1e-11  # of the largest entry; trees of a dozen bodies

# Table 2: components of the relative twist (ω, v) that a cut joint forbids, its axis along z. For planar motion the
# copy of the source selects (ω_z, v_x, v_y), the free ones; here are the others.
SELECTED = {
    "prismatic": (0, 1, 2, 3, 4),
    "revolute": (0, 1, 3, 4, 5),
    "cylindrical": (0, 1, 3, 4),
    "translational": (0, 1, 2),
    "planar": (0, 1, 5),
    "spherical": (3, 4, 5),
    "fixed": (0, 1, 2, 3, 4, 5),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_blocks_are_those_of_the_recursions(name):
    dynamics = dynamics_of(name, "lagrange-multipliers", "relative")
    e = equations_at(dynamics.coordinates, TIME, *consistent_state(dynamics, 5, t=TIME))
    # Also away from the constraints: rows are derivatives of the residuals, not only where these vanish.
    off = equations_at(dynamics.coordinates, TIME, e.tree.integrate(e.q, np.full(e.nv, 0.01)), e.u)
    for at in (e, off):
        assert_blocks(LieGroup(), at, ROUND_OFF)


@pytest.mark.parametrize("kind", SELECTED)
def test_rows_of_a_closed_joint_are_those_of_the_table(kind):
    """The two span the same space wherever the joint is closed; and no motion of the joint touches them."""
    joint, rng = JOINTS[kind](), np.random.default_rng(0)
    for _ in range(5):
        q = joint.random(rng)
        X = joint.transform(NUMPY, q)
        P = NUMPY.columns(lambda A, X=X: closure_rates(NUMPY, joint, X, np.zeros(6), A), 6)
        assert P.shape == (6 - joint.nv, 6)
        together = np.vstack([P, np.eye(6)[list(SELECTED[kind])]])
        assert np.linalg.matrix_rank(P, tol=1e-9) == np.linalg.matrix_rank(together, tol=1e-9) == 6 - joint.nv
        np.testing.assert_allclose(P @ joint.subspace(NUMPY, q), 0.0, atol=1e-12)


def test_it_runs():
    run = da.simulate(da.library.four_bar(), 1.0, formulation="lie-group")
    assert run.certificate.trusted
    with pytest.raises(da.ModelError, match="absolute coordinates"):
        da.compile(da.library.four_bar(), formulation="lie-group", coordinates="absolute")
