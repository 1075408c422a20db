"""Redundant, singular and impossible mechanisms: they run, or they say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def parallelogram() -> da.Model:
    model = da.Model("parallelogram", gravity=(0, -9.81, 0))
    left = model.body("left", mass=1, com=(0, 0.5, 0), inertia=(0.1, 0, 0.1))
    top = model.body("top", mass=1, com=(1, 1, 0), inertia=(0, 0.3, 0.3))
    right = model.body("right", mass=1, com=(2, 0.5, 0), inertia=(0.1, 0, 0.1))
    model.revolute("A", model.ground, left, point=(0, 0, 0), axis="z")
    model.revolute("B", left, top, point=(0, 1, 0), axis="z")
    model.revolute("C", top, right, point=(2, 1, 0), axis="z")
    model.revolute("D", model.ground, right, point=(2, 0, 0), axis="z")
    return model


def test_a_door_on_two_hinges_turns():
    model = da.Model("door")
    door = model.body("door", mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.2))
    model.revolute("low", model.ground, door, point=(0, 0, 0), axis="z")
    model.revolute("high", model.ground, door, point=(0, 0, 2), axis="z")
    for coordinates in ("relative", "absolute"):
        run = da.simulate(model, 1.0, initial_rates={"low": 1.0}, coordinates=coordinates)
        assert run.certificate.trusted
        np.testing.assert_allclose(run.joint("low").u, 1.0, rtol=1e-9)
    assert da.inspect(model).freedom == 1


def test_a_change_point_is_reported():
    gentle = da.simulate(parallelogram(), 0.5, initial={"A": 0.3})
    assert gentle.certificate.trusted
    through = da.simulate(parallelogram(), 3.0, initial={"A": 0.3}, initial_rates={"A": 6})
    assert not through.certificate.trusted
    assert any("singular" in remark for remark in through.certificate.remarks)


def test_mass_without_any_is_told_in_words():
    model = da.Model("light")
    model.revolute("A", model.ground, model.body("rod"), point=(0, 0, 0), axis="z")
    for formulation in ("recursive", "lagrange-multipliers"):
        with pytest.raises(da.DalembertError, match="mass"):
            da.compile(model, formulation=formulation).solve([0.0], [0.0])


def test_parameters_that_cannot_be_drawn_are_told_in_words():
    with pytest.raises(da.ModelError, match="coupler = 5"):
        da.simulate(da.library.four_bar(), 1.0, parameters={"coupler": 5})


def test_the_caller_overrides_the_models_own_start():
    model = da.library.four_bar()
    state = da.assemble(model, {"B": -7.0})
    assert state.joint("B")[0][0] == pytest.approx(-7.0)
    assert da.assemble(model, {"A": 7.0}).joint("A")[0][0] == pytest.approx(7.0)
    loop = da.inspect(model).loops[0].cut
    wanted = da.assemble(model, {"A": 1.0}).joint(loop)[0][0]
    back = da.assemble(model, {loop: wanted})
    np.testing.assert_allclose(back.joint(loop)[0], wanted, atol=1e-9)


def test_a_drive_overrides_the_models_own_start():
    model = da.library.four_bar()
    model.drive("A", "0.5 + 3*t")
    run = da.simulate(model, 0.2)
    assert run.certificate.trusted
    np.testing.assert_allclose(run.joint("A").q, 0.5 + 3 * run.time, atol=1e-9)
