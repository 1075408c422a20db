"""Velocity transformations through natural coordinates (sec. 5.3 of the textbook): eqs. 5.71–5.92."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.equations import Equations
from dalembert.formulations.velocity_transformation import VelocityTransformation, natural_transformation

SAME = 1e-10  # accelerations by two ways, relative to the largest


def test_columns_are_the_velocities_of_points_and_vectors():
    """Eqs. 5.71, 5.73–5.76: each column is a difference of positions for a small turn of one joint."""
    dynamics = da.compile(da.library.double_pendulum())
    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    q, step = np.array([0.3, 0.5]), 1e-6

    def places(q: np.ndarray) -> list[np.ndarray]:
        states = Equations(tree, 0.0, q, np.zeros(2)).states
        return [np.hstack([s.X_WL.p[:, None], s.X_WL.R]) for s in states]

    R = natural_transformation(Equations(tree, 0.0, q, np.zeros(2)))
    assert [sorted(columns) for columns in R] == [[0], [0, 1]]
    for a in (0, 1):
        ahead, behind = (places(q + sign * step * np.eye(2)[a]) for sign in (1, -1))
        for k, columns in enumerate(R):
            moved = (ahead[k] - behind[k]) / (2 * step)
            np.testing.assert_allclose(columns.get(a, np.zeros((3, 4))), moved, atol=1e-9)


@pytest.mark.parametrize("closing", ["multipliers", "independent"])
@pytest.mark.parametrize("name", ["four-bar", "spinning-top", "slider-crank-3d", "snakeboard"])
def test_the_same_accelerations_as_by_twists(name: str, closing: str):
    model = da.library.LIBRARY[name]()
    state = da.assemble(model)
    found = []
    for dependent in ("twists", "natural"):
        way = VelocityTransformation(dependent=dependent, closing=closing)
        dynamics = da.compile(model, formulation=way)
        rng = np.random.default_rng(2)
        q, u = state.to(dynamics.coordinates)
        u = u + 0.5 * rng.normal(size=len(u))  # the equations hold off the constraints too
        found.append(dynamics.acceleration(q, u))
    np.testing.assert_allclose(found[1], found[0], atol=SAME * np.abs(found[0]).max())


def test_unknown_velocities_are_refused():
    with pytest.raises(da.DalembertError, match="unknown dependent velocities 'points'; expected one of twists"):
        VelocityTransformation(dependent="points")
