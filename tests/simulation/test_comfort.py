"""Small comforts: elements taken out, indices by name, velocities by entry, assembly of compiled equations."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def test_elements_can_be_removed():
    model = da.library.four_bar()
    whole = model.to_data()
    model.body("more", mass=1, inertia=(1, 1, 1))
    model.revolute("extra", model.ground, "more", point=(0, 0, 0), axis="z")
    model.initial("extra", 0.3)
    for name in ("more", "extra"):
        model.remove(name)
    assert model.to_data() == whole
    with pytest.raises(da.ModelError, match="nothing is called 'nobody'"):
        model.remove("nobody")


def test_errors_point_to_the_right_line_after_a_removal():
    model = da.Model("m")
    model.body("a", mass=1, inertia=(1, 1, 1))
    model.body("b", mass=-1, inertia=(1, 1, 1))
    line = model.sources["bodies[1]"]
    model.remove("a")
    assert model.sources == {"bodies[0]": line}
    with pytest.raises(da.ModelError, match="mass must not be negative"):
        model.validate()


def test_velocities_have_an_index():
    dynamics = da.compile(da.library.bicycle())
    for k, name in enumerate(dynamics.u_names):
        assert dynamics.index(name) == k
    assert dynamics.index("steering") == dynamics.u_names.index("steering")
    with pytest.raises(da.DalembertError, match="no velocity is called 'steer'"):
        dynamics.index("steer")


def test_rates_by_entry():
    model = da.library.rolling_disc()
    state = da.assemble(model, initial_rates={"contact[3]": 0.2, "contact[4]": 3.0})
    rates = state.joint("contact")[1]
    np.testing.assert_allclose(rates[3:], (0.2, 3.0), atol=1e-12)
    assert abs(rates[0]) > 0.1  # it rolls
    for given, message in (
        ({"contact[5]": 1.0}, "has 5 velocities"),
        ({"contact[3]": np.nan}, "expected a finite number"),
        ({"contact[3]": 1.0, "contact": (0, 0, 0, 0, 1)}, "given as a whole too"),
    ):
        with pytest.raises(da.ModelError, match=message):
            da.assemble(model, initial_rates=given)


def test_rates_by_entry_of_a_tree():
    model = da.Model("free")
    model.body("stone", mass=1, inertia=(1, 1, 1))
    assert da.assemble(model, initial_rates={"stone[4]": 2.0}).u.tolist() == [0, 0, 0, 0, 2.0, 0]


def test_compiled_equations_can_be_assembled():
    model = da.library.four_bar()
    crank = next(iter(model.joints)).name
    for coordinates in ("relative", "natural"):
        dynamics = da.compile(model, coordinates=coordinates)
        state, other = da.assemble(dynamics, {crank: 0.3}), da.assemble(model, {crank: 0.3})
        np.testing.assert_allclose(state.q, other.q)


def test_the_package_shows_its_own_names_only():
    assert set(dir(da)) == {*da.__all__, "__version__"}
