"""``da.compare`` of subsystems: leaves to root, and all at once."""

from __future__ import annotations

import pytest
from test_linear import motor_and_load, pendulum

import dalembert as da


def test_both_ways_agree() -> None:
    S = pendulum(2)
    S.guess({"x": 1.7, "y": 0.9})
    table = da.compare(S, 0.5, rtol=1e-9, atol=1e-9)
    assert [entry.formulation for entry in table] == ["modular", "null space"]
    for entry in table:
        assert entry.status == "trusted" and entry.states == 6 and entry.constraints == 1
        assert entry.pose_difference is not None and entry.pose_difference < 1e-6
        assert entry.position is not None and entry.position < 1e-9
    assert "null space" in str(table)


def test_a_subsystem_without_invariants_and_with_currents() -> None:
    table = da.compare(motor_and_load(), 0.2)
    assert all(entry.status == "trusted" for entry in table)


def test_what_a_subsystem_does_not_take() -> None:
    with pytest.raises(da.DalembertError, match="'S' has its own variables"):
        da.compare(motor_and_load(), 0.2, formulations=["kane"])
