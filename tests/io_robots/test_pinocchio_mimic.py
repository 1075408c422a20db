"""Derivatives of accelerations with mimic joints: ours with constraints, Pinocchio's on reduced coordinates."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from io_robots.peers import PinocchioPeer, robot_path

import dalembert as da

SAME = 1e-10


@pytest.mark.parametrize(
    "path",
    ["panda_description/urdf/panda.urdf", pytest.param("talos_data/robots/talos_full_v2.urdf", marks=pytest.mark.slow)],
    ids=lambda path: path.rsplit("/", 1)[1],
)
def test_derivatives_with_mimic_joints(path: str):
    """u = N w leads from the velocities of joints that follow no other to all: M_r = NᵀMN, and so on."""
    peer = PinocchioPeer(robot_path(path), False)
    pin, theirs = peer.pin, peer.model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ReadWarning)
        model = da.read(robot_path(path))
    model.forces.clear()  # Pinocchio's algorithms know no damping
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="relative")
    assert dynamics.nv == theirs.nv and len(dynamics.rows) >= 1
    n, still = dynamics.nv, np.zeros(dynamics.nv)
    A = np.asarray(dynamics.residuals(0.0, still, still).jacobian)
    dependent = [int(np.flatnonzero(np.abs(row) == 1)[-1]) for row in A]
    free = [i for i in range(n) if i not in dependent]
    N = np.zeros((n, len(free)))
    N[free] = np.eye(len(free))
    N[dependent] = np.linalg.solve(A[:, dependent], -A[:, free])
    P = np.zeros((n, n))  # our order to theirs
    P[range(n), [dynamics.u_names.index(name) for name in list(theirs.names)[1:]]] = 1
    rng, B = np.random.default_rng(0), P @ N
    q, u = N @ rng.normal(size=len(free)), N @ rng.normal(size=len(free))
    found = dynamics.acceleration_derivatives(q, u)
    data = theirs.createData()
    M = pin.crba(theirs, data, P @ q)
    M = np.triu(M) + np.triu(M, 1).T
    reduced = B.T @ M @ B
    a = np.linalg.solve(reduced, -B.T @ pin.rnea(theirs, data, P @ q, P @ u, still))
    pin.computeRNEADerivatives(theirs, data, P @ q, P @ u, B @ a)
    for ours, expected in (
        (found.du[free], a),
        ((found.ddu_dq @ N)[free], -np.linalg.solve(reduced, B.T @ data.dtau_dq @ B)),
        ((found.ddu_du @ N)[free], -np.linalg.solve(reduced, B.T @ data.dtau_dv @ B)),
        (found.ddu_dtau[free], np.linalg.solve(reduced, B.T @ P)),
    ):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=SAME * np.abs(expected).max())
