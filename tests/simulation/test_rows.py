"""The constraint equations of a model: owners, levels, order."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import Level


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "natural"])
def test_rows_know_their_owners_and_levels(coordinates):
    model = da.library.four_bar()
    model.constraint("slow", "u(A) - 1", level="velocity", active=False)
    rows = da.compile(model, formulation="lagrange-multipliers", coordinates=coordinates).rows
    levels = [row.level for row in rows]
    assert levels == sorted(levels)
    assert rows.holonomic == levels.count(Level.POSITION) == sum(row.holonomic for row in rows)
    assert rows.holonomic == len(rows) - 1 and rows.owners(Level.VELOCITY) == ["slow"]
    assert rows.owners() == list(dict.fromkeys([*rows.owners(Level.POSITION), *rows.owners(Level.VELOCITY)]))
    assert [rows[i].owner for i in rows.of(["slow"])] == ["slow"]
    assert rows.of(rows.owners()) == list(range(len(rows)))
    assert all(row.level == Level.POSITION for row in rows[: rows.holonomic])
    assert "slow[0]" in repr(rows)


def test_a_tree_has_none():
    rows = da.compile(da.library.double_pendulum()).rows
    assert not rows and rows.holonomic == 0 and rows.owners() == [] and rows.of(["upper"]) == []


def test_the_facade_and_the_kernel_set_are_one():
    dynamics = da.compile(da.library.four_bar())
    kernels = dynamics.kernels
    assert dynamics.rows is kernels.rows and dynamics.held_ranks is kernels.rows.held
    for name in ("traced", "symbols", "tau", "variables", "dynamics_kernel", "constraint_kernel", "observer"):
        assert getattr(dynamics, name) is getattr(kernels, name)
    assert kernels.reaction_names == [joint.name for joint in dynamics.model.joints]
    np.testing.assert_array_equal(dynamics.parameters(), kernels.defaults)
